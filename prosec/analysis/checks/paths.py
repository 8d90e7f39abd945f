"""What has come before on the same path through a program, found without comparing every two places."""

from __future__ import annotations

from typing import TypeAlias

from prosec.analysis.checks.walk import Place
from prosec.source import Span
from prosec.syntax import nodes

# The root or a block, or one arm of a fork.
_Stretch: TypeAlias = nodes.Node | tuple[nodes.Node, int] | None


class Earlier:
    """Spans in written order, by place.

    `forks` are the constructs of which two arms never follow each other. A place remembers, for every stretch of
    the way to it, by which fork the way goes on. Of all earlier places in a stretch two are enough to know: if one
    went on by the same fork as the place in question, the other didn't.
    """

    def __init__(self, *forks: type[nodes.Node]) -> None:
        self.forks = forks
        self.seen: dict[_Stretch, list[tuple[nodes.Node | None, Span]]] = {}

    def add(self, place: Place, span: Span) -> None:
        for stretch, onward in self._way(place):
            known = self.seen.setdefault(stretch, [])
            if len(known) < 2 and all(fork is not onward for fork, _ in known):
                known.append((onward, span))

    def before(self, place: Place) -> Span | None:
        """An earlier one, if any, that is not in another arm of a fork that `place` stands in."""
        for stretch, onward in self._way(place):
            for fork, span in self.seen.get(stretch, ()):
                if fork is None or fork is not onward:
                    return span
        return None

    def _way(self, place: Place) -> list[tuple[_Stretch, nodes.Node | None]]:
        """The stretches from the root or block to a place, each with the fork by which it is left."""
        way: list[tuple[_Stretch, nodes.Node | None]] = []
        onward: nodes.Node | None = None
        at: Place | None = place
        while at is not None:
            if isinstance(at.fork, self.forks):
                way.append(((at.fork, at.arm), onward))
                onward = at.fork
            at = at.outer
        way.append((place.block, onward))
        way.reverse()
        return way
