"""The walks of a run: which strands and frames there are, who forked or called them, and how they come to their ends."""

from __future__ import annotations

from collections.abc import Callable

from ..tasks import Place
from .entered import Forked, Looping
from .marks import Sheet
from .outline import Node, Outline
from .walk import Walk


class Walks:
    """All walks that are under way, and those that ended badly and whose callers or forks have not gone on since."""

    def __init__(self, outline: Outline, sheet: Sheet) -> None:
        self.outline = outline
        self.sheet = sheet
        self.root = Walk(sheet, outline.root, None, "", None)
        self.stopping: Callable[[], bool] = _no
        """Nothing may start in the run any more: what is cancelled now was not given up for another."""
        self.frames: dict[int | None, tuple[Place, Walk]] = {}
        """Those of frames, by execution id."""
        self.asking: set[Walk] = set()
        """Those that wait for the answer of a person who was asked."""
        self.forks: dict[str, tuple[Forked | Looping, int]] = {}
        """By scope path: the construct that forked a strand, and which of its branches or rounds it is."""
        self._walks: dict[tuple[int | None, str], Walk] = {(None, ""): self.root}

    def __len__(self) -> int:
        return len(self._walks)

    def find(self, execution_id: int | None, branch: str) -> Walk | None:
        """The walk of a strand in a frame, if anything has happened in it."""
        return self._walks.get((execution_id, branch))

    def here(self, execution_id: int | None, branch: str) -> Walk:
        """The walk of a strand in a frame; in a branch or round this may be how it begins."""
        walk = self._walks.get((execution_id, branch))
        if walk is not None:
            return walk
        fork = self.forks.get(branch)
        if fork is None:
            return self._new(self.outline.root, execution_id, branch, self.root)
        forked, index = fork
        if isinstance(forked, Looping):
            forked.running.add(index)
            return self._new(forked.node, execution_id, branch, forked.walk)
        forked.stands[index] = "executing"
        return self._new(forked.node, execution_id, branch, forked.walk, forked.clause_of(index))

    def call(self, caller: Walk, place: Place, branch: str) -> None:
        """A block is called: its frame has a walk of its own."""
        block = self.outline.block(place.block) or self.outline.root
        self.sheet.reached.add(block)
        walk = self._new(block, place.execution_id, branch, caller)
        self.frames[place.execution_id] = (place, walk)

    def _new(
        self, top: Node, execution_id: int | None, branch: str, parent: Walk, scope: Node | None = None
    ) -> Walk:
        walk = Walk(self.sheet, top, execution_id, branch, parent, scope)
        self._walks[execution_id, branch] = walk
        return walk

    # Going on and ending

    def go(
        self, place: Place, branch: str, line: int | None, *, at_head: bool = False
    ) -> tuple[Walk, Node | None]:
        """Something happens at a line: the walk that is there now, and the statement.

        `at_head`: it is what the line begins with that happens, not something inside of it.
        """
        walk = self.here(place.execution_id, branch)
        node = walk.statement((self.outline.beginning(line) if at_head else None) or self.outline.at(line))
        if not self.stopping():
            self.go_on(walk)
            walk.move(node or walk.at)
        return walk, node

    def go_on(self, walk: Walk) -> None:
        """Nothing is left of what ended badly below a walk that goes on."""
        while walk.children:
            child = next(iter(walk.children))
            if child.stopped and child.scope is not None:
                # It waits for a person whom nobody needs any more.
                self.sheet.mark(child.scope).skip()
            self.abandon(child, skipped=child.stopped)

    def end(self, walk: Walk) -> None:
        """A walk came to its end."""
        self.go_on(walk)
        walk.end()
        walk.abandon(skipped=False)
        if walk is not self.root:
            self._forget(walk)

    def tolerate(self, walk: Walk) -> None:
        """A branch or round failed where that is no error."""
        walk.catch()
        self.abandon(walk, skipped=False)

    def abandon(self, walk: Walk, *, skipped: bool) -> None:
        """A walk ends where it stands, with all that it began."""
        below = [walk]
        for above in below:
            below.extend(above.children)
        for ended in reversed(below):
            if ended in self.asking:
                self.asking.discard(ended)
                self.sheet.mark(ended.at).stop(ended.branch)
            ended.abandon(skipped)
            self._forget(ended)

    def _forget(self, walk: Walk) -> None:
        self._walks.pop((walk.execution_id, walk.branch), None)
        _, frame = self.frames.get(walk.execution_id, (None, None))
        if frame is walk:
            del self.frames[walk.execution_id]

    # Strands

    def loop_around(self, branch: str) -> Looping | None:
        """The innermost concurrent loop that a strand is a round of."""
        while (fork := self.forks.get(branch)) is not None:
            if isinstance(fork[0], Looping):
                return fork[0]
            branch = fork[0].branch
        return None

    def outermost_loop(self, branch: str) -> int:
        """The number of the outermost concurrent loop that a strand runs in; 0 outside of any."""
        number = 0
        while (fork := self.forks.get(branch)) is not None:
            if isinstance(fork[0], Looping):
                number = fork[0].number
            branch = fork[0].branch
        return number

    def is_given_up(self, branch: str) -> bool:
        """A strand is not needed any more: another branch won, or one failed."""
        while (fork := self.forks.get(branch)) is not None:
            forked, index = fork
            if isinstance(forked, Forked) and forked.stands[index] == "cancelled":
                return True
            if isinstance(forked, Looping) and index in forked.given_up:
                return True
            branch = forked.branch
        return False


def _no() -> bool:
    return False
