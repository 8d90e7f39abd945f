"""Where every strand of a run stands in the program: what it enters and leaves as it moves from line to line.

try, if and choice are the script's own control flow and tell nobody: that they were entered or left shows in the lines
of what happens next. A strand is one frame in one branch: there, one thing happens after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..events import Bound, StepSeen
from ..state.outline import Node
from .statements import Statements

Key = tuple[int | None, str]
"""The execution id of a frame (None: the root) and the scope path of a branch in it."""


class Failure(NamedTuple):
    """An error on its way out: its message, and the statements around the place where it happened."""

    message: str
    path: tuple[Node, ...]


class Strand:
    """Where one strand stands, and what goes on in it."""

    __slots__ = (
        "base",
        "caught",
        "failure",
        "held",
        "line",
        "loops",
        "over",
        "path",
        "pipelines",
        "resolved",
        "step",
    )

    def __init__(self, base: tuple[Node, ...]) -> None:
        self.base = base
        """What was entered before this strand began: it is left by another."""
        self.path = base
        self.line = 0
        self.failure: Failure | None = None
        """What nothing has caught yet."""
        self.caught: tuple[Node, str] | None = None
        """The catch that was entered last, and the message of its error."""
        self.over: Node | None = None
        """The loop that ended last: what a script does for it afterwards still belongs to it."""
        self.step: StepSeen | None = None
        """The session that runs."""
        self.held: Bound | None = None
        """What that session has bound: told after its result."""
        self.loops: list[int] = []
        self.pipelines: list[int] = []
        """Numbers of the loops and pipelines that run, outermost first."""
        self.resolved: set[str] = set()
        """Names that were looked up in callers."""


class Places:
    """All strands of a run."""

    def __init__(
        self,
        statements: Statements,
        entered: Callable[[Key, Node, Sequence[str]], None],
        left: Callable[[Key, Node, bool], None],
    ) -> None:
        """`entered` is told the statement and the details to give with it, `left` whether it came to its end."""
        self._statements = statements
        self._entered = entered
        self._left = left
        self._strands: dict[Key, Strand] = {}

    def at(self, key: Key) -> Strand:
        """The strand of a frame in a branch; one that is new begins where the one that forked it stands."""
        strand = self._strands.get(key)
        if strand is None:
            frame, branch = key
            base = self.at((frame, branch.rpartition("/")[0])).path if branch else ()
            strand = self._strands[key] = Strand(base)
        return strand

    def begin(self, key: Key) -> None:
        """A frame is entered."""
        self._strands[key] = Strand(())

    def go(self, key: Key, line: int | None, details: Sequence[str] = ()) -> bool:
        """Move a strand to a line; `details` belong to the statement there. False where it stood in that statement."""
        strand = self.at(key)
        path = self._statements.path(line)
        if line is None or not path:
            return False
        before = strand.path
        if line < strand.line:
            # Only the next element of a pipeline leads back: its body begins anew.
            repeated = next(
                (n for n, node in enumerate(path) if node.sort == "pipeline"), len(path)
            )
            before = before[: max(repeated + 1, len(strand.base))]
        strand.line = line
        if path == before == strand.path:
            return False
        shared = _shared(before, path)
        if strand.failure is None and any(node.kind == "catch" for node in path[shared:]):
            strand.failure = Failure(self._rethrown(strand), strand.path)
        self._leave(key, strand, shared)
        for depth in range(shared, len(path)):
            strand.path = path[: depth + 1]
            self._entered(key, path[depth], details if depth == len(path) - 1 else ())
        strand.path = path
        return shared < len(path)

    def back_to(self, key: Key, line: int | None) -> None:
        """A construct at a line begins its next round, or ended: what was entered in it is left."""
        strand = self.at(key)
        self._leave(key, strand, _shared(strand.path, self._statements.path(line)))
        strand.line = line or 0

    def end(self, key: Key, failed: bool = False) -> Failure | None:
        """A strand ended; gives what nothing in it caught."""
        strand = self._strands.pop(key, None)
        if strand is None:
            return None
        if failed and strand.failure is None:
            strand.failure = Failure("", strand.path)
        self._leave(key, strand, 0)
        return strand.failure

    def fail(self, key: Key, message: str) -> None:
        """Something failed in a strand, at the place where it stands."""
        strand = self.at(key)
        strand.failure = Failure(message, strand.path)

    def _rethrown(self, strand: Strand) -> str:
        """The message of an error that nobody told of: that of the catch which throws it on, else unknown."""
        if strand.caught is None:
            return ""
        catch, message = strand.caught
        return message if catch in strand.path and self._statements.throws_on(catch) else ""

    def _leave(self, key: Key, strand: Strand, depth: int) -> None:
        depth = max(depth, len(strand.base))
        for node in reversed(strand.path[depth:]):
            failure = strand.failure
            self._left(key, node, failure is None or node not in failure.path)
        strand.path = strand.path[:depth]


def _shared(one: Sequence[Node], other: Sequence[Node]) -> int:
    """How many statements two paths have in common."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours is not theirs:
            break
        count += 1
    return count
