"""From a program's tree to the sessions and decisions that each of its constructs can start."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from prosec.analysis.checks.findings import word_of
from prosec.analysis.model import Analysis
from prosec.plan.known import after, length, number
from prosec.plan.paths import NO_COST, NOTHING, UNBOUNDED, Cost, Exit, Work, product, together
from prosec.plan.recursion import Recursion
from prosec.syntax import nodes

_SILENT: Final = (
    nodes.Text,
    nodes.Number,
    nodes.Boolean,
    nodes.Null,
    nodes.Ref,
    nodes.Name,
    nodes.Agent,
    nodes.Block,
    nodes.Use,
    nodes.ImportSkill,
    nodes.Input,
    nodes.Permissions,
    nodes.Broken,
)
"""What calls no model where it stands."""

_DECISION: Final = Work(
    {
        Exit.FALLS: Cost(decisions=1, most_decisions=1),
        Exit.THROWS: Cost(most_decisions=1).unplanned,
    }
)

_THROW: Final = Work({Exit.THROWS: NO_COST})


@dataclass(slots=True)
class Counter:
    """Counts one program, from its root along everything that it can call."""

    analysis: Analysis
    unbounded: dict[nodes.Node, str] = field(default_factory=dict)
    """The constructs without which the program would have bounds, and why they have none."""
    no_max: list[nodes.Loop] = field(default_factory=list)
    """The loops without a max."""
    recursion: Recursion = field(init=False)
    _known: dict[nodes.Node, Work] = field(default_factory=dict)
    _handlers: dict[type, Callable[[Any], Work]] = field(init=False)

    def __post_init__(self) -> None:
        self.recursion = Recursion(self.analysis)
        self._handlers = {
            nodes.Session: self._session,
            nodes.Resume: self._session,
            nodes.Discretion: self._discretion,
            nodes.DoCall: self._do_call,
            nodes.Call: self._call,
            nodes.Logical: self._logical,
            nodes.Pipeline: self._pipeline,
            nodes.Parallel: self._parallel,
            nodes.Try: self._try,
            nodes.Output: self._output,
            nodes.Repeat: self._repeat,
            nodes.For: self._for,
            nodes.Loop: self._loop,
            nodes.If: self._if,
            nodes.Choice: self._choice,
            nodes.Throw: self._throw,
            nodes.Return: self._return,
            nodes.Break: lambda node: Work({Exit.BREAKS: NO_COST}),
            nodes.Continue: lambda node: Work({Exit.CONTINUES: NO_COST}),
            nodes.Assert: self._assert,
        }

    def program(self, program: nodes.Program) -> Work:
        """What a run of the program costs."""
        return self._all(program.statements)

    def work(self, node: nodes.Node) -> Work:
        """What one construct costs. Of a block that calls itself it is asked again and again."""
        if isinstance(node, _SILENT):
            return NOTHING
        if node in self.recursion.spine:
            return self._counted(node)
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._counted(node)
        return known

    def _counted(self, node: nodes.Node) -> Work:
        handler = self._handlers.get(type(node))
        return handler(node) if handler is not None else self._all(nodes.children(node))

    def _all(self, parts: Iterable[nodes.Node]) -> Work:
        """One after the other."""
        total = NOTHING
        for part in parts:
            total = total.then(self.work(part))
        return total

    # --- what calls a model ---------------------------------------------------------------------------------------

    def _session(self, node: nodes.Session | nodes.Resume) -> Work:
        retries = next((item.value for item in node.properties if item.name.text == "retry"), None)
        times = number(retries, self.analysis) or 0
        return self._all(item.value for item in node.properties).then(_session(node, times))

    def _discretion(self, node: nodes.Discretion) -> Work:
        question = self.analysis.questions.get(node)
        if question is None or question.plain is not None:
            return NOTHING
        return _session(node, 0) if question.kind == "session" else _DECISION

    def _logical(self, node: nodes.Logical) -> Work:
        """The parts that call nothing are looked at first; the others as far as they are needed."""
        parts = [part for part in map(self.work, node.operands) if part is not NOTHING]
        rest = NOTHING
        for part in reversed(parts[1:]):
            rest = part.then(rest).maybe()
        if not parts:
            return NOTHING
        whole = parts[0].then(rest)
        return whole if len(parts) == len(node.operands) else whole.maybe()

    # --- blocks and imports ---------------------------------------------------------------------------------------

    def _do_call(self, node: nodes.DoCall) -> Work:
        return self._all(node.arguments).then(self._block(node.name.text))

    def _block(self, name: str) -> Work:
        """A call of a block: however it returns, its caller goes on."""
        scope = self.analysis.blocks.get(name)
        if scope is None or scope.block is None:
            return NOTHING
        returned = self.recursion.call(name, self._body, self.unbounded)
        return returned.leaving({Exit.RETURNS: Exit.FALLS})

    def _body(self, block: nodes.Block) -> Work:
        return self.work(block.body)

    def _call(self, node: nodes.Call) -> Work:
        self.unbounded[node] = f"the imported program '{node.name.text}' is not compiled yet"
        cost = Cost(0, UNBOUNDED, 0, UNBOUNDED)
        unknown = Work(
            {Exit.FALLS: cost, Exit.THROWS: cost.unplanned}, at_once=UNBOUNDED, widest=node
        )
        return self._all(node.arguments).then(unknown)

    # --- what runs side by side -----------------------------------------------------------------------------------

    def _parallel(self, node: nodes.Parallel) -> Work:
        given = {item.name: item.value for item in node.modifiers}
        needed = len(node.branches)
        strategy = word_of(given.get("strategy"))
        if strategy in ("first", "any"):
            wanted = number(given.get("count"), self.analysis) or 1
            needed = min(needed, 1 if strategy == "first" else int(wanted))
        branches = [self.work(branch.body) for branch in node.branches]
        opening = [_opening(branch.body) for branch in node.branches]
        tolerant = word_of(given.get("on-fail")) in ("continue", "ignore")
        return together(branches, opening, needed, tolerant, node)

    def _pipeline(self, node: nodes.Pipeline) -> Work:
        total = self.work(node.source)
        size = length(node.source, self.analysis)
        for stage in node.stages:
            total = total.then(self._stage(stage, size))
            size = after(stage, size)
        return total

    def _stage(self, stage: nodes.Stage, size: tuple[float, float]) -> Work:
        least, most = size
        if stage.operator.text == "reduce":
            least, most = max(least - 1, 0), max(most - 1, 0)
        what = "how many items the pipeline has shows only when it runs"
        if stage.operator.text == "pmap" and isinstance(stage.body, nodes.Suite):
            first = self.analysis.turns.get(stage, len(stage.body.statements))
            return self._side_by_side(stage, stage.body, first, (least, most), False, what)
        return self._rounds(stage, self.work(stage.body), least, most, what)

    def _side_by_side(
        self,
        owner: nodes.Node,
        body: nodes.Suite,
        free: int,
        size: tuple[float, float],
        tolerant: bool,
        what: str,
    ) -> Work:
        """Rounds at once. From statement `free` on each waits for those before it."""
        freely, in_turn = self._all(body.statements[:free]), self._all(body.statements[free:])
        whole = freely.then(in_turn)
        self._bounded(owner, whole, size[1], what)
        last = max(freely.at_once, in_turn.at_once)
        at_once = product(freely.at_once, max(size[1] - 1, 0)) + (last if size[1] else 0)
        widest = owner if at_once > last else whole.widest
        return Work(whole.alongside(*size, tolerant).exits, at_once, widest)

    # --- loops ----------------------------------------------------------------------------------------------------

    def _rounds(self, owner: nodes.Node, body: Work, least: float, most: float, what: str) -> Work:
        """Rounds one after the other."""
        self._bounded(owner, body, most, what)
        return body.repeated(least, most)

    def _bounded(self, owner: nodes.Node, body: Work, most: float, what: str) -> None:
        """Note a construct that has no bound, if anything is called in it."""
        if math.isinf(most) and not body.highest.is_nothing:
            self.unbounded.setdefault(owner, what)

    def _repeat(self, node: nodes.Repeat) -> Work:
        least, most = self._count(node.count)
        body = self.work(node.body)
        rounds = self._rounds(node, body, least, most, _ROUNDS)
        return self.work(node.count).then(rounds.leaving(_LEFT))

    def _for(self, node: nodes.For) -> Work:
        size = length(node.items, self.analysis)
        what = "how many items it goes over shows only when it runs"
        if node.concurrent:
            plan = self.analysis.concurrent.get(node)
            free = plan.prefix if plan is not None else len(node.body.statements)
            policy = next((item.value for item in node.modifiers if item.name == "on-fail"), None)
            tolerant = word_of(policy) in ("continue", "ignore")
            rounds = self._side_by_side(node, node.body, free, size, tolerant, what)
        else:
            rounds = self._rounds(node, self.work(node.body), *size, what)
        return self.work(node.items).then(rounds.leaving(_LEFT))

    def _loop(self, node: nodes.Loop) -> Work:
        body = self.work(node.body)
        asks = self.work(node.condition) if node.condition is not None else NOTHING
        asked = asks.either(asks.then(Work({Exit.BREAKS: NO_COST})))
        if node.max is None:
            return self._endless(node, body, asked)
        least, most = self._count(node.max)
        if node.condition is None:
            rounds = self._rounds(node, body, least, most, _ROUNDS)
        elif node.kind == "while":
            rounds = self._rounds(node, asked.then(body), least, most, _ROUNDS)
        else:
            # After the last round nobody is asked.
            going_on = body.leaving(_AGAIN).then(asked)
            before = self._rounds(node, going_on, max(least - 1, 0), max(most - 1, 0), _ROUNDS)
            rounds = before.then(body.leaving(_AGAIN))
            if least == 0:
                rounds = rounds.maybe()
        return self.work(node.max).then(rounds.leaving(_LEFT))

    def _endless(self, node: nodes.Loop, body: Work, asked: Work) -> Work:
        """A loop without a max: it ends by its condition, by a `break`, or never."""
        if node not in self.no_max:
            self.no_max.append(node)
        what = "it has no max: nothing but its condition ends it"
        going_on = body.leaving(_AGAIN).then(asked)
        if node.kind == "while":
            going_on = asked.then(body)
        elif node.kind is None:
            what = "it has neither a condition nor a max"
            going_on = body
        rounds = self._rounds(node, going_on, 1, UNBOUNDED, what)
        exits = rounds.without(Exit.FALLS)
        if node.kind is None and Exit.FALLS in rounds.exits:
            # The safety cap ends the run.
            exits[Exit.STOPS] = rounds.exits[Exit.FALLS]
        return Work(exits, rounds.at_once, rounds.widest).leaving(_LEFT)

    def _count(self, node: nodes.Expression) -> tuple[float, float]:
        """How many rounds a count means, at least and at most."""
        known = number(node, self.analysis)
        return (0, UNBOUNDED) if known is None else (max(int(known), 0), max(int(known), 0))

    # --- branching ------------------------------------------------------------------------------------------------

    def _if(self, node: nodes.If) -> Work:
        before = NOTHING
        ways: list[Work] = []
        for clause in node.clauses:
            before = before.then(self.work(clause.condition))
            ways.append(before.then(self.work(clause.body)))
        last = self.work(node.otherwise) if node.otherwise is not None else NOTHING
        return _one_of([*ways, before.then(last)])

    def _choice(self, node: nodes.Choice) -> Work:
        options = [self.work(option.body) for option in node.options]
        return self.work(node.criterion).then(_one_of(options))

    def _try(self, node: nodes.Try) -> Work:
        body = self.work(node.body)
        whole = body
        if node.catch is not None:
            # Whatever stands in a body, it may fail, at the latest when everything in it has been done.
            failed = body.exits.get(Exit.THROWS, NO_COST.unplanned)
            failed = failed.either(body.highest.unplanned)
            caught = Work({Exit.FALLS: failed}).then(self.work(node.catch.body))
            whole = Work(body.without(Exit.THROWS), body.at_once, body.widest).either(caught)
        if node.final is None:
            return whole
        final = self.work(node.final)
        exits: Work | None = None
        for way, cost in whole.exits.items():
            left = Work({Exit.FALLS: cost}).then(final).leaving({Exit.FALLS: way})
            exits = left if exits is None else exits.either(left)
        ended = exits.exits if exits is not None else {}
        wider = whole if whole.at_once >= final.at_once else final
        return Work(ended, wider.at_once, wider.widest)

    # --- leaving --------------------------------------------------------------------------------------------------

    def _output(self, node: nodes.Output) -> Work:
        value = self.work(node.value)
        return value if node.name is not None else value.then(_RETURN)

    def _return(self, node: nodes.Return) -> Work:
        value = self.work(node.value) if node.value is not None else NOTHING
        return value.then(_RETURN)

    def _throw(self, node: nodes.Throw) -> Work:
        return _THROW

    def _assert(self, node: nodes.Assert) -> Work:
        return self.work(node.condition).then(NOTHING.either(_THROW))


_ROUNDS: Final = "how many rounds it has shows only when it runs"
_RETURN: Final = Work({Exit.RETURNS: NO_COST})
_LEFT: Final = {Exit.BREAKS: Exit.FALLS}
_AGAIN: Final = {Exit.CONTINUES: Exit.FALLS}


def _session(node: nodes.Node, retries: float) -> Work:
    """One session, which may also fail."""
    cost = Cost(1, 1, 0, 0, retries)
    return Work({Exit.FALLS: cost, Exit.THROWS: cost.unplanned}, 1, node)


def _one_of(ways: Sequence[Work]) -> Work:
    if not ways:
        return NOTHING
    total = ways[0]
    for way in ways[1:]:
        total = total.either(way)
    return total


def _opening(node: nodes.Node) -> int:
    """How many sessions a branch certainly starts before it waits for anything."""
    if isinstance(node, nodes.Session | nodes.Resume | nodes.Arrow):
        return 1
    if isinstance(node, nodes.Let | nodes.Assign | nodes.Output):
        return _opening(node.value)
    if isinstance(node, nodes.DoBlock):
        return _opening(node.body.statements[0]) if node.body.statements else 0
    if isinstance(node, nodes.Parallel):
        return sum(_opening(branch.body) for branch in node.branches)
    return 0
