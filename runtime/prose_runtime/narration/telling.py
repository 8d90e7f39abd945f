"""What all parts of the narrator share: the page, the wording, and where the strands of the run stand."""

from __future__ import annotations

from collections.abc import Sequence

from ..state.outline import Node
from .page import Marker, Page
from .places import Key, Places, Strand
from .statements import LONGEST, Statements
from .wording import Wording


class Telling:
    """Says things about strands, and what they enter and leave."""

    def __init__(self, page: Page, statements: Statements, files: bool) -> None:
        """`files`: the run keeps its values in files, which people are told of."""
        self.page = page
        self.statements = statements
        self.files = files
        self.wording = Wording()
        self.places = Places(statements, self._entered, self._left)
        self.rounds: dict[str, str] = {}
        """What concurrent rounds are called, by their scope path."""

    def say(self, key: Key, marker: Marker, text: str, details: Sequence[str] = ()) -> None:
        self.page.say(marker, self._in(key) + text, details)

    def go_on(self, key: Key, marker: Marker, text: str, details: Sequence[str]) -> None:
        """More details of what was said of a strand before."""
        self.page.go_on(marker, self._in(key) + text, details)

    def at(self, key: Key) -> Strand:
        return self.places.at(key)

    def go(self, key: Key, line: int | None, details: Sequence[str] = ()) -> bool:
        """A strand comes to a line; `details` are those of the statement there. False where it was in it already."""
        return self.places.go(key, line, details)

    def position(self, key: Key, node: Node, details: Sequence[str] = ()) -> None:
        self.say(key, "Position", self.statements.position(node), details)

    def fail(self, key: Key, message: str) -> None:
        """An error comes up in a strand."""
        self.places.fail(key, message)

    def _in(self, key: Key) -> str:
        """`(security > round 2) `: the branches around a strand, so that what interleaves can be told apart."""
        branch = key[1]
        if not branch:
            return ""
        names: list[str] = []
        while branch:
            above, _, name = branch.rpartition("/")
            names.append(self.rounds.get(branch, name))
            branch = above
        return f"({' > '.join(reversed(names))}) "

    def _entered(self, key: Key, node: Node, details: Sequence[str]) -> None:
        if self.statements.is_announced(node):
            self.position(key, node, details)
        if node.sort == "try":
            self.say(key, "Try", "Entering try block")
        elif node.kind == "catch":
            self._catch(key, node)
        elif node.kind == "finally":
            self.say(key, "Try", "Executing finally block")
        elif node.kind == "else":
            self.say(key, "Flow", "Taking the else branch")

    def _catch(self, key: Key, node: Node) -> None:
        strand = self.at(key)
        failure, strand.failure = strand.failure, None
        if failure is not None:
            strand.caught = (node, failure.message)
        name = self.statements.caught(node)
        if failure is not None and failure.message and name is not None:
            message = self.wording.quoted(failure.message, LONGEST)
            self.say(key, "Binding", f"{name} = {{message: {message}}}")
        self.say(key, "Try", "Executing catch block")

    def _left(self, key: Key, node: Node, completed: bool) -> None:
        if completed and node.kind == "catch" and not self.statements.always_throws_on(node):
            self.say(key, "Success", "Recovery complete")
        elif completed and node.kind == "finally":
            self.say(key, "Success", "Cleanup complete")
