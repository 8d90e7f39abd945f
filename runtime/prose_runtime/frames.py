"""Names: frames (block invocations), and strands (branches) with their own copies of variables.

A name is looked up in the frame, then its callers, up to the root. A strand is one branch of a fork: it sees the
variables as they stood at the fork and its own writes, which a join folds into the strand above in written order. So
a write goes to the frame itself where no fork lies between, else to the strand's overlay. A fork costs nothing that
grows with the number of variables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from .errors import RecursionLimitExceeded
from .identity import ROOT, folded
from .so_far import Account
from .tasks import Place
from .values import Value

if TYPE_CHECKING:
    from .agents import Agent
    from .errors import Stop
    from .failures import Failure
    from .loops import Rounds
    from .racing import Rerun
    from .rounds import Turn

DEEPEST_BLOCK: Final = 100
DEEPEST_ALL: Final = 1000

NameKind = Literal["let", "const", "input", "output", "parameter", "item", "left"]
"""`item`: loop items, indexes and catch variables. `left`: left behind by a block that was called."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the program: its function takes the run and the lifted arguments."""

    name: str
    function: Callable[..., Awaitable[Value]]
    parameters: tuple[str, ...]
    """The program's names, in order."""
    max_depth: int | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The Python names, in order."""
        code = self.function.__code__
        return tuple(code.co_varnames[1 : code.co_argcount])


class Bound(NamedTuple):
    """What a name stands for, how it was bound, and where its file is (None: it has none)."""

    value: Value
    kind: NameKind
    path: str | None = None


class Frame:
    """One invocation of a block, or the root."""

    __slots__ = ("block", "caller", "depth", "execution_id", "nested", "outputs", "own", "place", "strand")

    def __init__(
        self, strand: Strand, caller: Frame | None, block: str | None, execution_id: int | None
    ) -> None:
        self.strand = strand
        self.caller = caller
        self.block = block
        self.execution_id = execution_id
        self.depth: int = caller.depth + 1 if caller else 0
        self.own: dict[str, Bound] = {}
        self.outputs: dict[str, Value] = {}
        self.nested: Mapping[str, int] = caller.nested if caller else {}
        self.place = Place(execution_id, block, self.depth, caller.execution_id if caller else None)
        """What a session in this frame is told about it."""

    def entered(self, strand: Strand, block: Block, execution_id: int) -> Frame:
        """The frame of a block that this one calls; raises RecursionLimitExceeded."""
        count = self.nested.get(block.name, 0) + 1
        self.check_depth(block)
        frame = Frame(strand, self, block.name, execution_id)
        frame.nested = {**self.nested, block.name: count}
        return frame

    def check_depth(self, block: Block) -> None:
        """Raise RecursionLimitExceeded if calling `block` from here would go too deep."""
        limit = DEEPEST_BLOCK if block.max_depth is None else block.max_depth
        if self.nested.get(block.name, 0) >= limit:
            raise RecursionLimitExceeded(
                f"RecursionLimitExceeded: block '{block.name}' exceeded max_depth {limit}"
            )
        if self.depth >= DEEPEST_ALL:
            raise RecursionLimitExceeded(
                f"RecursionLimitExceeded: block '{block.name}' exceeded max_depth {DEEPEST_ALL} (of all blocks together)"
            )


class FiledName(NamedTuple):
    """A binding file as a strand wrote it: what it is to hold again after branches that came to nothing wrote it too."""

    value: Value
    kind: Literal["input", "output", "let", "const"]
    source: str


class Filed:
    """The binding files that a strand wrote, by frame and name."""

    __slots__ = ("_frames",)

    def __init__(self) -> None:
        self._frames: dict[Frame, dict[str, FiledName]] = {}

    def __iter__(self) -> Iterator[tuple[Frame, str, FiledName]]:
        for frame, names in self._frames.items():
            for name, filed in names.items():
                yield frame, name, filed

    def get(self, frame: Frame, name: str) -> FiledName | None:
        return self._frames.get(frame, {}).get(name)

    def put(self, frame: Frame, name: str, filed: FiledName) -> None:
        self._frames.setdefault(frame, {})[name] = filed

    def update(self, other: Filed) -> None:
        for frame, names in other._frames.items():
            self._frames.setdefault(frame, {}).update(names)

    def drop(self, frame: Frame) -> None:
        """Forget the files of a frame that has ended: nothing writes them any more."""
        self._frames.pop(frame, None)


class Strand:
    """One branch of the run: its scope path, its copies of variables, and its account of what happened."""

    __slots__ = (
        "account",
        "asked",
        "chains",
        "failures",
        "filed",
        "in_race",
        "last",
        "latest",
        "loops",
        "outputs",
        "parent",
        "path",
        "repeating",
        "rerun",
        "rounds",
        "stop",
        "turn",
        "turned",
        "world",
        "writes",
    )

    def __init__(self, parent: Strand | None, path: str) -> None:
        self.parent = parent
        self.path = path
        self.writes: dict[tuple[Frame, str], Bound] = {}
        self.outputs: dict[tuple[Frame, str], Value] = {}
        """Outputs given in this strand to frames that began above it."""
        self.account: Account = parent.account if parent else Account()
        self.chains: Mapping[str, str] = parent.chains if parent else {}
        """Per persistent agent the chain of its invocations: part of the identity of those that follow."""
        self.world: str = parent.world if parent else ""
        """The chain of the steps that changed anything outside the run: part of the identity of sessions with tools."""
        self.latest: Mapping[Agent, Value] = parent.latest if parent else {}
        """Per agent the result of its newest session."""
        self.last: Value | None = None
        """The value of the newest statement of the root that made one, in program order."""
        self.failures: tuple[Failure, ...] = ()
        """Failed steps that may yet end the run: not known to be caught."""
        self.filed = Filed()
        self.in_race: bool = parent.in_race if parent else False
        self.asked: set[tuple[str, str]] = set()
        """What was identified in a race, scope path and content, kept for its record."""
        self.rerun: Rerun | None = parent.rerun if parent else None
        """The recorded race that this strand repeats: in it nobody is called."""
        self.repeating: Rerun | None = None
        """The recorded race below this strand that is being repeated."""
        self.loops: list[Rounds] = []
        self.rounds: tuple[int, ...] = parent.rounds if parent else ()
        """Numbers of the concurrent rounds that this strand is in, outermost first."""
        self.turn: Turn | None = None
        """Where this strand is a concurrent round: its place in the order."""
        self.turned = False
        """The round has had its turn: it sees what the earlier rounds wrote."""
        self.stop: Stop | None = None
        """Why nothing may start in this strand any more, while the rest of the run goes on."""

    def find(self, frame: Frame, name: str) -> Bound | None:
        """What `name` stands for in `frame` itself, as this strand sees it."""
        strand = self
        while strand is not frame.strand:
            if strand.writes and (bound := strand.writes.get((frame, name))):
                return bound
            if strand.turned and strand.turn and (bound := strand.turn.merged.get((frame, name))):
                return bound
            assert strand.parent is not None
            strand = strand.parent
        return frame.own.get(name)

    def resolve(self, frame: Frame, name: str) -> tuple[Frame, Bound] | None:
        """The nearest frame that has `name`, from `frame` up to the root."""
        at: Frame | None = frame
        while at is not None:
            bound = self.find(at, name)
            if bound is not None:
                return at, bound
            at = at.caller
        return None

    def write(self, frame: Frame, name: str, bound: Bound) -> None:
        if frame.strand is self:
            frame.own[name] = bound
        else:
            self.writes[(frame, name)] = bound

    def give(self, frame: Frame, name: str, value: Value) -> None:
        """Give an output of a frame."""
        if frame.strand is self:
            frame.outputs[name] = value
        else:
            self.outputs[(frame, name)] = value

    def rounds_in(self, frame: Frame) -> tuple[int, ...]:
        """The concurrent rounds around this strand that began inside `frame`: its files are told apart by them."""
        return self.rounds[len(frame.strand.rounds) :]

    def leave(self, frame: Frame) -> None:
        """Leave the names that a frame bound to its caller, whose own names go first."""
        caller = frame.caller
        if caller is None:
            return
        for name, bound in frame.own.items():
            if bound.kind in ("parameter", "item"):
                continue
            there = self.find(caller, name)
            if there is None or there.kind == "left":
                self.write(caller, name, bound._replace(kind="left"))

    def fork(self, path: str) -> Strand:
        return Strand(self, path)

    def touch(self, branches: Sequence[Strand]) -> None:
        """Remember what was asked in branches, for the record of a race around this strand."""
        if self.in_race:
            for branch in branches:
                self.asked |= branch.asked

    def misfiled(self, branches: Sequence[Strand], joined: Sequence[Strand]) -> Filed:
        """The files of this strand's names that `branches` wrote, and not just one of those that were `joined`."""
        writers: dict[tuple[Frame, str], list[Strand]] = {}
        for branch in branches:
            for frame, name, _ in branch.filed:
                writers.setdefault((frame, name), []).append(branch)
        wrong = Filed()
        for (frame, name), wrote in writers.items():
            right = self._filed(frame, name)
            if right is not None and (len(wrote) > 1 or wrote[0] not in joined):
                wrong.put(frame, name, right)
        return wrong

    def _filed(self, frame: Frame, name: str) -> FiledName | None:
        """What a file holds as this strand or those around it wrote it; rounds have files of their own."""
        at: Strand | None = self
        while at is not None and at.rounds == self.rounds:
            filed = at.filed.get(frame, name)
            if filed is not None:
                return filed
            at = at.parent
        return None

    def join(self, branches: list[Strand]) -> None:
        """Fold finished branches into this strand, in the order given."""
        for branch in branches:
            self.fold_names(branch.writes)
            self.fold_outputs(branch.outputs)
            self.filed.update(branch.filed)
        joining = Joining(self)
        for branch in branches:
            joining.add(branch)
        joining.done()

    def fold_names(self, writes: Mapping[tuple[Frame, str], Bound]) -> None:
        for (frame, name), bound in writes.items():
            if bound.kind == "left":
                there = self.find(frame, name)
                if there is not None and there.kind != "left":
                    continue
            self.write(frame, name, bound)

    def fold_outputs(self, outputs: Mapping[tuple[Frame, str], Value]) -> None:
        for (frame, name), value in outputs.items():
            self.give(frame, name, value)


class Joining:
    """What branches leave to the strand that forked them, but for names and files: taken in one by one, in order."""

    def __init__(self, strand: Strand) -> None:
        self._strand = strand
        self._known = frozenset(id(entry) for entry in strand.account.entries())
        self._account = strand.account
        self._latest: dict[Agent, Value] = {}
        self._chains: list[Mapping[str, str]] = []
        self._worlds: list[str] = []
        self._last = strand.last

    def add(self, branch: Strand) -> None:
        """Take in a branch that has ended."""
        strand = self._strand
        if branch.account is not strand.account:
            self._account = self._account.joined(branch.account, self._known)
        if branch.latest is not strand.latest:
            for agent, value in branch.latest.items():
                if strand.latest.get(agent) is not value:
                    self._latest[agent] = value
        if branch.chains is not strand.chains:
            self._chains.append(branch.chains)
        if branch.world != strand.world:
            self._worlds.append(branch.world)
        if branch.last is not None:
            self._last = branch.last

    def done(self) -> None:
        """Leave it to the strand."""
        strand = self._strand
        strand.account, strand.last = self._account, self._last
        if self._latest:
            strand.latest = {**strand.latest, **self._latest}
        if self._chains:
            after = dict(strand.chains)
            for name in {name for chains in self._chains for name in chains}:
                after[name] = folded(after.get(name, ""), [c.get(name, "") for c in self._chains])
            strand.chains = after
        strand.world = folded(strand.world, self._worlds)


strand_here: ContextVar[Strand] = ContextVar("strand_here")
"""The strand that the running task is in; set when the task of a branch is made."""


def root_strand() -> Strand:
    return Strand(None, ROOT)


Work = Callable[[], Awaitable[Any]]
