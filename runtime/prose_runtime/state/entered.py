"""Constructs while they run: the part that what runs is in, and how branches, rounds and stages stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..events import BranchStatus, LoopStarted, ParallelStarted, PipelineStarted
from .outline import Node

if TYPE_CHECKING:
    from .walk import Walk

BranchStands = Literal["pending", "executing"] | BranchStatus


class Entered:
    """One time that what runs is in a construct.

    `clause` is the part that it is in: the construct itself for its own body, None in a choice that is not made.
    `decided` says of an if that the part was taken, and is not only being asked about.
    """

    __slots__ = ("caught", "clause", "decided", "failed", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.clause: Node | None = None if node.sort == "choice" else node
        self.decided = False
        self.failed = False
        """Of a try: its body failed."""
        self.caught = False
        """Of a try: its catch was entered."""


class Forked(Entered):
    """A parallel that is running: how each of its branches stands."""

    __slots__ = ("branch", "names", "stands", "tolerates", "walk")

    def __init__(self, node: Node, walk: Walk, event: ParallelStarted) -> None:
        super().__init__(node)
        self.walk = walk
        self.branch = event.branch
        self.names = event.names
        self.tolerates = len(event.names) - (event.needed if event.on_fail == "fail-fast" else 0)
        """Branches that may fail without an error of the whole."""
        self.stands: list[BranchStands] = ["pending"] * len(event.names)

    @property
    def is_lost(self) -> bool:
        """So many branches failed that the parallel itself does."""
        return self.stands.count("failed") > self.tolerates

    @property
    def tolerates_all(self) -> bool:
        return self.tolerates == len(self.names)

    def clause_of(self, index: int) -> Node | None:
        """The statement of a branch."""
        clauses = self.node.clauses
        return clauses[index] if index < len(clauses) == len(self.names) else None


class Looping(Entered):
    """A loop that is running; `of` rounds, None where nothing bounds it."""

    __slots__ = (
        "branch", "concurrent", "ended", "given_up", "number", "of", "paths", "round", "running", "tolerant",
        "walk",
    )  # fmt: skip

    def __init__(self, node: Node, walk: Walk, event: LoopStarted, tolerant: bool) -> None:
        super().__init__(node)
        self.walk = walk
        self.branch = event.branch
        self.number = event.number
        self.of = event.of
        self.concurrent = event.sort == "concurrent"
        self.tolerant = tolerant
        """It goes on when a round fails."""
        self.round = -1
        """The round that a sequential loop is in."""
        self.paths: dict[int, str] = {}
        """The strands of the rounds of a concurrent loop that have not ended."""
        self.running: set[int] = set()
        """Those of them that have begun."""
        self.given_up: set[int] = set()
        """Rounds that are being cancelled."""
        self.ended: dict[BranchStatus, int] = {}


class Piping(Entered):
    """A pipeline that is running, with the loop of its pmap while it is there."""

    __slots__ = ("items", "loop", "results", "stages", "walk")

    def __init__(self, node: Node, walk: Walk, event: PipelineStarted) -> None:
        super().__init__(node)
        self.walk = walk
        self.stages = event.stages
        self.items = event.items
        self.results: list[int | None] = []
        """How many elements each stage has given; None where it gave something else than a list."""
        self.loop: Looping | None = None
