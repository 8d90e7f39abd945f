"""The walk over a program in the order of execution: who writes, who reads, what is certainly bound where.

What a name means is settled afterwards (resolve.py), because blocks are hoisted and see their callers' names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prosec.analysis.binding import UNREACHABLE
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
    NUMBER,
    WHOLE,
    Analysis,
    Arm,
    Flow,
    Loop,
    Scope,
    Shape,
    Unit,
    Use,
    Variable,
    VariableKind,
    Write,
)
from prosec.analysis.values import ValueWalker
from prosec.diagnostics import Diagnostic, Related
from prosec.source import Span
from prosec.syntax import nodes


class Walker(ValueWalker):
    """Walks one program and fills an Analysis."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self.values: dict[type, Callable[[Any, Use], None]] = {
            nodes.Text: self._text,
            nodes.Discretion: self._discretion_value,
            nodes.Number: self._literal,
            nodes.Boolean: self._literal,
            nodes.Null: self._literal,
            nodes.Broken: self._broken,
            nodes.Ref: self._ref,
            nodes.ListLiteral: self._list,
            nodes.ObjectLiteral: self._object,
            nodes.Field: self._field,
            nodes.Index: self._index,
            nodes.Unary: self._unary,
            nodes.Binary: self._binary,
            nodes.Logical: self._logical,
            nodes.Session: self._session,
            nodes.Resume: self._resume,
            nodes.DoCall: self._do_call,
            nodes.Call: self._call,
            nodes.DoBlock: self._do_block,
            nodes.Arrow: self._arrow,
            nodes.Pipeline: self._pipeline,
            nodes.Parallel: self._parallel,
            nodes.Try: self._try,
            nodes.Let: self._let,
            nodes.Assign: self._assign,
            nodes.Output: self._output,
            nodes.Input: self._input,
            nodes.Repeat: self._repeat,
            nodes.For: self._for,
            nodes.Loop: self._loop,
            nodes.If: self._if,
            nodes.Choice: self._choice,
            nodes.Throw: self._throw,
            nodes.Return: self._return,
            nodes.Break: self._break,
            nodes.Continue: self._continue,
            nodes.Assert: self._assert,
            nodes.Agent: self._definition,
            nodes.Block: self._definition,
            nodes.Use: self._literal,
            nodes.ImportSkill: self._literal,
        }

    # --- the program --------------------------------------------------------------------------------------------

    def program(self, program: nodes.Program) -> None:
        self._statements(program.statements, NOTHING)
        for scope in list(self.analysis.blocks.values()):
            if scope.block is not None:
                self._block(scope, scope.block)

    def _block(self, scope: Scope, block: nodes.Block) -> None:
        self.scope = scope
        self.reads = scope.reads
        self.unit = self.analysis.units[block] = Unit(scope, block, None, None)
        self.arm = Arm(block, 0, None)
        self.loop = None
        self.environment = {}
        self.certain = self.possible = 0
        self.nesting, self.indentation, self.catching = 0, 1, 0
        for position, parameter in enumerate(block.parameters):
            self._twice(parameter, block.parameters[:position], "parameter")
            variable = self._declare(parameter.text, "parameter", parameter.span)
            self._record(variable, Write(parameter.span, self.unit, self.arm, None, None, True))
            scope.parameters.append(variable)
        # Named outputs are a block's value; else its last statement's is.
        self._suite(block.body, NOTHING if scope.outputs_named else Flow(scope), block)

    # --- constructs that are also values ------------------------------------------------------------------------

    def _do_block(self, node: nodes.DoBlock, use: Use) -> None:
        self._suite(node.body, use, node)

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

    def _try(self, node: nodes.Try, use: Use) -> None:
        with self._deep(node):
            before = self.certain, self.possible
            self._suite(node.body, use, node, 0)
            ends = [(self.certain, self.possible)]
            failed = before[0], before[1] | self.possible
            if node.catch is not None:
                self._go(failed)
                name = node.catch.name
                self.catching += 1
                with self._owned(node.catch, (name, "catch")):
                    self._suite(node.catch.body, use, node, 1)
                self.catching -= 1
                ends.append((self.certain, self.possible))
                failed = before[0], failed[1] | self.possible
            self._join(ends)
            if node.final is not None:
                after = self.certain, self.possible
                self._go((before[0], failed[1] | after[1]))
                self.in_final, outer = self.loop or node, self.in_final
                self._suite(node.final, NOTHING, node, 2)
                self.in_final = outer
                gained = self.certain
                self._go((after[0] | (gained & ~before[0]) if gained != -1 else -1, self.possible))

    # --- bindings -----------------------------------------------------------------------------------------------

    def _let(self, node: nodes.Let, use: Use) -> None:
        kind: VariableKind = "const" if node.keyword == "const" else "let"
        if node.destructures:
            self.value(node.value, Shape(fields={name.text: Shape() for name in node.targets}))
            for name in node.targets:
                self._bind(node, name, kind, node.value, True)
            return
        target = Shape()
        self.target_uses[node] = target
        self.handed_on.append((target, use, None))
        self.direct(node.value, target)
        self._bind(node, node.targets[0], kind, node.value, True)

    def _assign(self, node: nodes.Assign, use: Use) -> None:
        target = Shape()
        self.target_uses[node] = target
        self.direct(node.value, target)
        name = node.target
        if name.text in self.environment or name.text in self.scope.names:
            self._bind(node, name, "let", node.value, False)
            return
        # The name of a caller, of the root, or one that is declared nowhere: known when all blocks are.
        write = Write(name.span, self.unit, self.arm, self.loop, node, False)
        self.scope.assigned.setdefault(name.text, write)

    def _output(self, node: nodes.Output, use: Use) -> None:
        in_block = self.scope.block is not None
        if node.name is None:
            self.direct(node.value, Flow(self.scope) if in_block else WHOLE)
            self._leave("output", node)
            return
        target = Shape()
        self.target_uses[node] = target
        # A block with one output has that output's value; with several, the object of them.
        if in_block:
            only = len(self.scope.outputs_named) == 1
            self.result_flows.append((target, self.scope, None if only else node.name.text))
        self.direct(node.value, target)
        self._output_name(node, node.name)

    def _output_name(self, node: nodes.Output, name: nodes.Name) -> None:
        places = self.scope.outputs.setdefault(name.text, [])
        for arm, span in places:
            if arm.left or arm.excludes(self.arm):
                continue
            same = arm is self.arm
            self.report(
                Diagnostic(
                    "E024" if same else "W012",
                    f"output '{name.text}' is given twice" + ("" if same else " on one path: the last one wins"),
                    name.span,
                    "given again here",
                    "give each output once, or choose another name",
                    (Related("first given here", span),),
                )
            )
            break
        places.append((self.arm, name.span))
        exports = isinstance(node.value, nodes.Ref) and node.value.name == name.text
        known = self.environment.get(name.text) or self.scope.names.get(name.text)
        if exports and known is not None:
            self.analysis.variables[node, name.text] = known
            self.analysis.exported.add(name.text)
            return
        if known is None or known.kind != "const":
            self._bind(node, name, "output", node.value, False)

    def _input(self, node: nodes.Input, use: Use) -> None:
        if isinstance(node.description, nodes.Discretion):
            self.question(node.description, "session")
        elif node.description is not None:
            self._text(node.description, WHOLE)
        if node.name is not None:
            self._bind(node, node.name, "input", None, True)

    # --- loops --------------------------------------------------------------------------------------------------

    @contextmanager
    def _rounds(self, node: nodes.Node, at_least_once: bool) -> Iterator[Loop]:
        """A loop's body; afterwards the state is that after the loop."""
        loop = Loop(node, self.unit, self.loop)
        before = self.certain, self.possible
        self.loop = loop
        yield loop
        self.loop = loop.parent
        ends = [(self.certain, self.possible), *loop.breaks, *loop.continues]
        if not at_least_once:
            ends.append(before)
        self._join(ends)

    def _repeat(self, node: nodes.Repeat, use: Use) -> None:
        with self._deep(node):
            self.value(node.count, NUMBER)
            with self._rounds(node, _is_positive(node.count)), self._owned(node, (node.index, "index")):
                self._suite(node.body, NOTHING, node)

    def _loop(self, node: nodes.Loop, use: Use) -> None:
        forever = node.kind is None and node.max is None
        once = forever or (node.kind == "until" and (node.max is None or _is_positive(node.max)))
        with self._deep(node):
            if node.max is not None:
                self.value(node.max, NUMBER)
            with self._rounds(node, once) as loop:
                with self._owned(node, (node.index, "index")):
                    self._loop_body(node, loop)
                if forever:
                    # Without a condition or a bound only `break` leaves.
                    self._go(UNREACHABLE)
                    loop.continues.clear()
        if loop.continues and node.kind == "until":
            self.analysis.continued.add(node)

    def _loop_body(self, node: nodes.Loop, loop: Loop) -> None:
        if node.kind == "while" and node.condition is not None:
            self.condition(node.condition, "while")
            loop.breaks.append((self.certain, self.possible))
        self._suite(node.body, NOTHING, node)
        if node.kind == "until" and node.condition is not None:
            self._join([(self.certain, self.possible), *loop.continues])
            self.condition(node.condition, "until")

    def _for(self, node: nodes.For, use: Use) -> None:
        items = Shape()
        if node.index is not None:
            self._twice(node.index, (node.item,), "loop variable")
        if node.concurrent:
            self.value(node.items, Shape(list=True, item=items))
            self._concurrent_for(node, items)
            return
        with self._deep(node):
            self.value(node.items, Shape(list=True, item=items))
            owned = self._owned(node, (node.item, "item"), (node.index, "index"), value=node.items)
            with self._rounds(node, False), owned:
                self.item_uses.append((items, self.environment[node.item.text]))
                self._suite(node.body, NOTHING, node)

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

    # --- branching ----------------------------------------------------------------------------------------------

    def _if(self, node: nodes.If, use: Use) -> None:
        with self._deep(node):
            self._clauses(node, use)

    def _clauses(self, node: nodes.If, use: Use) -> None:
        ends = []
        for position, clause in enumerate(node.clauses):
            self.condition(clause.condition, "decide")
            state = self.certain, self.possible
            self._suite(clause.body, use, node, position)
            ends.append((self.certain, self.possible))
            self._go(state)
        if node.otherwise is not None:
            self._suite(node.otherwise, use, node, len(node.clauses))
        ends.append((self.certain, self.possible))
        self._join(ends)

    def _choice(self, node: nodes.Choice, use: Use) -> None:
        with self._deep(node):
            self.question(node.criterion, "choose")
            state = self.certain, self.possible
            ends = []
            self.indentation += 1
            for position, option in enumerate(node.options):
                self._go(state)
                self._suite(option.body, use, node, position)
                ends.append((self.certain, self.possible))
            self.indentation -= 1
            self._join(ends or [state])

    # --- leaving ------------------------------------------------------------------------------------------------

    def _leave(self, word: str, node: nodes.Node) -> None:
        """`return`, or `output` of a bare value: ends a block."""
        if self.in_broken:
            pass
        elif self.in_final is not None:
            self.report(_leaves_final(word, node))
        elif self.scope.block is None:
            self.report(
                Diagnostic(
                    "E045",
                    f"`{word}` of a value belongs in a block" if word == "output" else "`return` belongs in a block",
                    node.span,
                    help="at the top level, name the output: `output result = ...`",
                )
            )
        elif self.unit.parent is not None and self.unit.node not in self.analysis.lifted:
            self.report(_crossing(word, node, self.unit))
        self._go(UNREACHABLE)

    def _return(self, node: nodes.Return, use: Use) -> None:
        if node.value is not None:
            self.direct(node.value, Flow(self.scope) if self.scope.block is not None else WHOLE)
        self._leave("return", node)

    def _break(self, node: nodes.Break, use: Use) -> None:
        self._jump("break", node)

    def _continue(self, node: nodes.Continue, use: Use) -> None:
        self._jump("continue", node)

    def _jump(self, word: str, node: nodes.Node) -> None:
        loop = self.loop
        if loop is not None and self.in_final in (loop, loop.node):
            self.report(_leaves_final(word, node))
        elif loop is not None and (loop.unit is not self.unit or loop.node in self.analysis.concurrent):
            self.report(_crossing(word, node, self.unit))
        elif loop is not None:
            (loop.breaks if word == "break" else loop.continues).append((self.certain, self.possible))
        self._go(UNREACHABLE)

    def _throw(self, node: nodes.Throw, use: Use) -> None:
        if node.value is not None:
            self.value(node.value, WHOLE)
        elif not self.catching:
            self.report(
                Diagnostic(
                    "E045",
                    "`throw` without a message raises again what a catch caught; there is nothing caught here",
                    node.span,
                    help='say what is wrong: `throw "..."`',
                )
            )
        self._go(UNREACHABLE)

    def _assert(self, node: nodes.Assert, use: Use) -> None:
        self.condition(node.condition, "decide")
        if node.message is not None:
            self._text(node.message, WHOLE)

    def _definition(self, node: nodes.Node, use: Use) -> None:
        """Agents and blocks are hoisted; blocks are walked after the root."""


def _either(one: nodes.Node, other: nodes.Suite | nodes.Discretion) -> nodes.Suite:
    """Two places that a value may come from, as one node."""
    statements = other.statements if isinstance(other, nodes.Suite) else (other,)
    return nodes.Suite(one.span, (one, *statements))  # type: ignore[arg-type]


def _is_positive(node: nodes.Expression) -> bool:
    """Whether a count is plainly at least one."""
    return isinstance(node, nodes.Number) and node.text.strip("0.") != ""


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


def _leaves_final(word: str, node: nodes.Node) -> Diagnostic:
    return Diagnostic(
        "E045",
        f"`{word}` can't leave a `finally:`",
        node.span,
        help="it would swallow the error that is on its way; put it after the `try`",
    )


def _crossing(word: str, node: nodes.Node, unit: Unit) -> Diagnostic:
    what = {
        nodes.Branch: "a parallel branch",
        nodes.For: "a round of `parallel for`",
        nodes.Stage: "a pipeline body",
    }.get(type(unit.node), "what runs on its own")
    return Diagnostic(
        "E045",
        f"`{word}` can't leave {what}",
        node.span,
        help="bind a value there, and decide after the construct has ended",
    )
