"""The walk over what runs side by side: parallel, pipelines and concurrent rounds, and what they share."""

from __future__ import annotations

from prosec.analysis.lifting import (
    assigned_names,
    needs_function,
    read_names,
    split_rounds,
    turn_of,
)
from prosec.analysis.model import (
    BOOLEAN,
    NOTHING,
    WHOLE,
    Arm,
    Loop,
    Shape,
    Use,
    Variable,
)
from prosec.analysis.values import ValueWalker
from prosec.diagnostics import Diagnostic, Related
from prosec.source import Span
from prosec.syntax import nodes


class ConcurrentWalker(ValueWalker):
    """Walks branches, stages and rounds, each as the function that it may become."""

    def _pipeline(self, node: nodes.Pipeline, use: Use) -> None:
        items = Shape()
        self.value(node.source, Shape(list=True, item=items))
        # What the items come from: the source, and what earlier stages made of it.
        origin: nodes.Node = node.source
        for stage in node.stages:
            with self._nested(stage), self._away():
                state = self.certain, self.possible
                names = stage.names or (nodes.Name(stage.operator.span, "item"),)
                with self._owned(stage, *((name, "item") for name in names), value=origin):
                    self.item_uses.append((items, self.environment[names[-1].text]))
                    if stage.operator.text == "filter":
                        body_use: Shape = BOOLEAN
                    else:
                        body_use = items = Shape()
                    if isinstance(stage.body, nodes.Discretion):
                        self.question(stage.body, "keep")
                    else:
                        if stage.operator.text == "pmap":
                            first = turn_of(stage.body, self._shared(stage.body), self.analysis.blocks)
                            if first is not None:
                                self.analysis.turns[stage] = first
                        self._suite(stage.body, body_use, stage)
                self._join(((self.certain, self.possible), state))
            if stage.operator.text == "filter":
                continue
            made = _either(origin, stage.body)
            if stage.names:
                # What reduce has so far is what its body made of the items.
                self.analysis.variables[stage, stage.names[0].text].writes[0].value = made
            origin = made
        self.item_flows.append((items, use))

    def _parallel(self, node: nodes.Parallel, use: Use) -> None:
        strategy, tolerant = _join_policy(node.modifiers)
        certainly = strategy == "all" and not tolerant
        fork = self.certain, self.possible
        certain, possible = fork
        shared: list[tuple[int, int]] = []
        starts: list[tuple[int, int]] = []
        named: dict[int, tuple[Variable, Span]] = {}
        for position, branch in enumerate(node.branches):
            self._go(fork)
            starts.append((len(self.seen), len(self.writes)))
            outer = self.arm
            self.arm = Arm(node, position, outer)
            # Each branch's value goes to its name, to the whole parallel's value, or nowhere.
            target = Shape() if branch.name is not None else NOTHING if use is NOTHING else WHOLE
            if branch.name is not None:
                self.target_uses[branch] = target
                self.handed_on.append((target, use, branch.name.text))
            nested_step, self.in_step = self.in_step, True
            with self._away():
                if needs_function(branch.body):
                    self.in_step = False
                    with self._nested(branch):
                        self.values[type(branch.body)](branch.body, target)
                else:
                    self.values[type(branch.body)](branch.body, target)
            self.in_step = nested_step
            self.arm = outer
            shared.append((len(self.seen), len(self.writes)))
            if branch.name is not None:
                known = self.environment.get(branch.name.text) or self.scope.names.get(branch.name.text)
                if known is not None and known.bit & fork[1]:
                    named[position] = known, branch.name.span
            if certainly:
                certain |= self.certain
            possible |= self.possible
        self._shared_variables(starts, shared, named, fork[1])
        self._go((certain, possible))
        as_value = use is not NOTHING
        seen: set[str] = set()
        for position, branch in enumerate(node.branches):
            if branch.name is None or branch.name.text.startswith("_branch_"):
                continue
            if branch.name.text in seen:
                self.report(
                    Diagnostic(
                        "E019",
                        f"two branches are named '{branch.name.text}'",
                        branch.name.span,
                        help="give each branch its own name",
                    )
                )
                continue
            seen.add(branch.name.text)
            # `let` in a branch stands in a nested construct; without it the branch names what it makes.
            arm = Arm(node, position, self.arm) if branch.declared else None
            variable = self._bind(branch, branch.name, "let", branch.body, branch.declared, arm)
            variable.forced |= as_value or self.in_step

    def _shared_variables(
        self,
        starts: list[tuple[int, int]],
        ends: list[tuple[int, int]],
        named: dict[int, tuple[Variable, Span]],
        before: int,
    ) -> None:
        """Report variables from before the fork that one branch writes and another writes or reads (W030)."""
        touched: dict[Variable, list[tuple[int, Span, bool]]] = {}
        for position, ((read, write), (reads, writes)) in enumerate(zip(starts, ends, strict=True)):
            for variable, place in self.writes[write:writes]:
                if variable.bit & before and variable.owner is None:
                    touched.setdefault(variable, []).append((position, place.span, True))
            for item in self.seen[read:reads]:
                if item.variable is not None and item.variable.bit & before:
                    touched.setdefault(item.variable, []).append((position, item.node.span, False))
            if position in named:
                variable, span = named[position]
                touched.setdefault(variable, []).append((position, span, True))
        for variable, places in touched.items():
            first = next((place for place in places if place[2]), None)
            other = first and next((place for place in places if place[0] != first[0]), None)
            if first and other:
                self.report(
                    Diagnostic(
                        "W030",
                        f"branches share '{variable.name}': each has its own copy, joined in written order",
                        first[1],
                        "assigned here",
                        "let each branch bind a name of its own, and combine them after the parallel",
                        (Related("used by another branch here", other[1]),),
                    )
                )

    def _concurrent_for(self, node: nodes.For, items: Shape) -> None:
        shared = self._shared(node.body)
        plan = self.analysis.concurrent[node] = split_rounds(node, shared, self.analysis.blocks)
        free, rest = node.body.statements[: plan.prefix], node.body.statements[plan.prefix :]
        loop = Loop(node, self.unit, self.loop)
        before = self.certain, self.possible
        self.loop = loop
        with self._away(), self._owned(node, (node.item, "item"), (node.index, "index"), value=node.items):
            self.item_uses.append((items, self.environment[node.item.text]))
            outer_arm = self.arm
            self.arm = Arm(node, 0, outer_arm)
            with self._nested(node):
                for name in (node.item, node.index):
                    if name is not None:
                        self.environment[name.text].writes[-1].unit = self.unit
                started = len(self.writes)
                self._statements(free, NOTHING)
                bound = list(dict.fromkeys(variable for variable, _ in self.writes[started:]))
                # What not every round binds can't be returned from it: then each round waits for its turn.
                needed = read_names(rest)
                bound = [variable for variable in bound if variable.owner is None and variable.name in needed]
                plan.split = plan.split and all(self.certain & variable.bit for variable in bound)
                if not plan.split:
                    self._statements(rest, NOTHING)
            if plan.split:
                seen = len(self.seen)
                self._statements(rest, NOTHING)
                used = {read.variable for read in self.seen[seen:]}
                own = [self.environment[name.text] for name in (node.item, node.index) if name is not None]
                plan.carried = [variable for variable in own + bound if variable in used]
            self.arm = outer_arm
        self.loop = loop.parent
        self._join(((self.certain, self.possible), before))

    def _shared(self, body: nodes.Suite) -> set[str]:
        """The names from outside that a concurrent body gives a value."""
        assigned, declared = assigned_names(body, self.analysis.blocks)
        around = {self.arm, *self.arm.around()}
        found: set[str] = set()
        for name in assigned | declared:
            variable = self.environment.get(name) or self.scope.names.get(name)
            if variable is None:
                # A caller's or the root's.
                outside = name in assigned and self.scope.block is not None
            elif variable.owner is not None:
                outside = variable.owner.span.start < body.span.start and not isinstance(variable.owner, nodes.Stage)
            else:
                # What another loop's body declares, this one declares afresh each round.
                outside = not around.isdisjoint(variable.arms) or name not in declared
            if outside:
                found.add(name)
        return found


def _either(one: nodes.Node, other: nodes.Suite | nodes.Discretion) -> nodes.Suite:
    """Two places that a value may come from, as one node."""
    statements = other.statements if isinstance(other, nodes.Suite) else (other,)
    # Only looked through, never walked: anything may stand in it.
    return nodes.Suite(one.span, (one, *statements))  # type: ignore[arg-type]


def _join_policy(modifiers: tuple[nodes.Modifier, ...]) -> tuple[str, bool]:
    """The join strategy, and whether failed branches are tolerated."""
    strategy, tolerant = "all", False
    for modifier in modifiers:
        value = modifier.value
        word = value.plain if isinstance(value, nodes.Text) else value.name if isinstance(value, nodes.Ref) else ""
        if modifier.name == "strategy":
            strategy = word
        elif modifier.name == "on-fail":
            tolerant = word in ("continue", "ignore")
    return strategy, tolerant
