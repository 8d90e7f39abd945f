"""What is known of every line of a program and of every construct in it: what state.md shows of them."""

from __future__ import annotations

from typing import Literal

from .entered import Entered
from .outline import Node, Outline


class Failure:
    """An error on its way up; `caught` once anything went on after it."""

    __slots__ = ("caught", "reason")

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.caught = False


class Mark:
    """The latest state of what begins on one line."""

    __slots__ = ("_loop", "begun", "failure", "others", "path", "retrying", "running", "state")

    def __init__(self) -> None:
        self.begun = False
        self.running: dict[str, int] = {}
        """What runs here now, by the scope path of its strand."""
        self.retrying: dict[int, tuple[int, int]] = {}
        """Steps between two attempts: the one to come, and of how many."""
        self.state: Literal["", "complete", "skipped"] = ""
        self.path: str | None = None
        """The file of the latest output."""
        self.others = 0
        """Files of earlier ones."""
        self.failure: Failure | None = None
        self._loop = 0

    def start(self, branch: str) -> None:
        self.begun = True
        self.running[branch] = self.running.get(branch, 0) + 1

    def stop(self, branch: str) -> None:
        left = self.running.get(branch, 0) - 1
        if left > 0:
            self.running[branch] = left
        else:
            self.running.pop(branch, None)

    def put_back(self) -> None:
        """What began here came to nothing, and will begin again."""
        if not self.running and not self.state:
            self.begun = False

    def complete(self) -> None:
        self.begun = True
        self.state = "complete"

    def skip(self) -> None:
        self.state = "skipped"

    def wrote(self, path: str, loop: int) -> None:
        """It is complete, with a file; `loop` is the concurrent loop that it ran in, 0 outside of any."""
        self.complete()
        if path == self.path:
            return
        if self.path is not None:
            # A loop that runs again in its frame writes the same files again.
            again = loop != self._loop and _without_round(path) == _without_round(self.path)
            self.others = 0 if again else self.others + 1
        self.path = path
        self._loop = loop

    def wrote_one(self, path: str) -> None:
        """It is complete as a whole, with one file: those of its parts don't count."""
        self.complete()
        self.path = path
        self.others = 0


def _without_round(path: str) -> str:
    return path.partition("~")[0]


class Sheet:
    """Marks by line, and who is in which construct."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.marks = {node.row: Mark() for node in (outline.root, *outline.nodes)}
        self.reached: set[Node] = set()
        self.inside: dict[Node, dict[Entered, None]] = {}
        """Constructs that are running, each with the times that it does so at once, the newest last."""

    def mark(self, node: Node) -> Mark:
        return self.marks[node.row]

    def enter(self, entered: Entered) -> None:
        self.reached.add(entered.node)
        self.inside.setdefault(entered.node, {})[entered] = None

    def leave(self, entered: Entered) -> None:
        times = self.inside.get(entered.node)
        if times is not None:
            times.pop(entered, None)
            if not times:
                del self.inside[entered.node]

    def newest(self, node: Node) -> Entered | None:
        """The newest time that a construct runs now."""
        times = self.inside.get(node)
        return next(reversed(times)) if times else None
