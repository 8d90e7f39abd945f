"""Counts over the paths of a program: how much each way through a construct costs, and how ways are put together.

A `Work` says of a construct what it costs to leave it in each of the ways that it can be left, and how many sessions it
has going at once. Constructs are put together with `then`, `either`, `together` and `repeated`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from prosec.syntax import nodes

UNBOUNDED: Final = math.inf
LARGEST: Final = 10**9
"""Counts above this are as good as unbounded."""


class Exit(Enum):
    """How a construct is left."""

    FALLS = "falls through"
    BREAKS = "break"
    CONTINUES = "continue"
    RETURNS = "return"
    THROWS = "throw"
    STOPS = "stopped by the safety cap of rounds"


class Cost(NamedTuple):
    """Bounds of what one way costs. A way that is taken only where something fails has no least: it is UNBOUNDED."""

    sessions: float = 0
    """At least."""
    most_sessions: float = 0
    decisions: float = 0
    """At least."""
    most_decisions: float = 0
    most_retries: float = 0

    def plus(self, other: Cost) -> Cost:
        return Cost(*map(_sum, self, other))

    def either(self, other: Cost) -> Cost:
        return Cost(
            min(self.sessions, other.sessions),
            max(self.most_sessions, other.most_sessions),
            min(self.decisions, other.decisions),
            max(self.most_decisions, other.most_decisions),
            max(self.most_retries, other.most_retries),
        )

    def times(self, least: float, most: float) -> Cost:
        """So many times."""
        return Cost(
            product(self.sessions, least),
            product(self.most_sessions, most),
            product(self.decisions, least),
            product(self.most_decisions, most),
            product(self.most_retries, most),
        )

    @property
    def is_nothing(self) -> bool:
        """Nothing is called, whatever happens."""
        return not self.most_sessions and not self.most_decisions

    @property
    def unplanned(self) -> Cost:
        """The same, where it comes to that only because something fails."""
        return self._replace(sessions=UNBOUNDED, decisions=UNBOUNDED)

    @property
    def is_planned(self) -> bool:
        """It comes to that without anything failing."""
        return not math.isinf(self.sessions)


NO_COST: Final = Cost()


@dataclass(frozen=True, slots=True)
class Work:
    """What a construct costs by the way that it is left, and the most sessions that it has going at once."""

    exits: Mapping[Exit, Cost] = field(default_factory=lambda: {Exit.FALLS: NO_COST})
    at_once: float = 0
    widest: nodes.Node | None = None
    """Where that many are."""

    def then(self, other: Work) -> Work:
        """This, and where it is not left otherwise the other."""
        before = self.exits.get(Exit.FALLS)
        if before is None or other is NOTHING:
            return self
        if self is NOTHING:
            return other
        exits = self.without(Exit.FALLS)
        for way, cost in other.exits.items():
            _add(exits, way, before.plus(cost))
        return self._wider(exits, other)

    def without(self, left_out: Exit) -> dict[Exit, Cost]:
        """The ways of leaving it but for one."""
        return {way: cost for way, cost in self.exits.items() if way is not left_out}

    def either(self, other: Work) -> Work:
        """One of the two."""
        exits = dict(self.exits)
        for way, cost in other.exits.items():
            _add(exits, way, cost)
        return self._wider(exits, other)

    def maybe(self) -> Work:
        """This, or nothing at all."""
        return self if self is NOTHING else self.either(NOTHING)

    def leaving(self, ways: Mapping[Exit, Exit]) -> Work:
        """The same, with some ways of leaving it turned into others."""
        exits: dict[Exit, Cost] = {}
        for way, cost in self.exits.items():
            _add(exits, ways.get(way, way), cost)
        return Work(exits, self.at_once, self.widest)

    def repeated(self, least: float, most: float) -> Work:
        """Rounds of this one after the other, `least` to `most` of them unless one leaves the loop (BREAKS stays)."""
        body = self.leaving({Exit.CONTINUES: Exit.FALLS})
        a_round = body.exits.get(Exit.FALLS)
        exits: dict[Exit, Cost] = {}
        earlier = NO_COST if a_round is None else a_round.times(0, max(most - 1, 0))
        for way, cost in body.exits.items():
            if way is not Exit.FALLS and most > 0:
                exits[way] = earlier.plus(cost)
        if a_round is not None:
            exits[Exit.FALLS] = a_round.times(least, most)
        elif least == 0:
            exits[Exit.FALLS] = NO_COST
        return Work(exits, self.at_once if most > 0 else 0, self.widest)

    def alongside(self, least: float, most: float, tolerant: bool) -> Work:
        """Rounds of this all at once, `least` to `most` of them; where a round may fail (`tolerant`) all go to their end."""
        body = self.leaving(_CLOSED)
        if tolerant:
            body = body.leaving(_TOLERATED)
        a_round = body.exits.get(Exit.FALLS)
        exits: dict[Exit, Cost] = {}
        if most > 0:
            # One that fails stops the others, but not before they may have done everything.
            whole = body.highest.times(0, most)
            for way, cost in body.exits.items():
                exits[way] = whole._replace(sessions=cost.sessions, decisions=cost.decisions)
        if a_round is not None:
            exits[Exit.FALLS] = a_round.times(least, most)
        elif least == 0:
            exits[Exit.FALLS] = NO_COST
        return Work(exits, product(self.at_once, most), self.widest)

    @property
    def highest(self) -> Cost:
        """The bounds over all ways of leaving it."""
        costs = list(self.exits.values())
        total = costs[0] if costs else NO_COST
        for cost in costs[1:]:
            total = total.either(cost)
        return total

    def _wider(self, exits: Mapping[Exit, Cost], other: Work) -> Work:
        wider = self if self.at_once >= other.at_once else other
        return Work(exits, wider.at_once, wider.widest)


NOTHING: Final = Work()


def together(
    branches: Sequence[Work],
    opening: Sequence[int],
    needed: int,
    tolerant: bool,
    owner: nodes.Node,
) -> Work:
    """Branches that run at once until `needed` of them have succeeded.

    `opening`: sessions that each branch starts before it could be cancelled. `tolerant`: a branch may fail.
    """
    closed = [branch.leaving(_CLOSED) for branch in branches]
    if tolerant and needed == len(branches):
        closed = [branch.leaving(_TOLERATED) for branch in closed]
    whole = NO_COST
    for branch in closed:
        whole = whole.plus(branch.highest)
    exits: dict[Exit, Cost] = {}
    through = [branch.exits.get(Exit.FALLS) for branch in closed]
    ways = [cost for cost in through if cost is not None]
    if len(ways) >= needed:
        exits[Exit.FALLS] = _won(through, opening, needed, whole)
    failing = [branch.exits[Exit.THROWS] for branch in closed if Exit.THROWS in branch.exits]
    enough = len(branches) - needed + 1
    if len(failing) >= enough and not tolerant:
        exits[Exit.THROWS] = whole._replace(
            sessions=_smallest((cost.sessions for cost in failing), enough),
            decisions=_smallest((cost.decisions for cost in failing), enough),
        )
    elif tolerant and needed < len(branches):
        # Too few winners: the program goes on, with errors or nulls in their place.
        exits[Exit.FALLS] = exits.get(Exit.FALLS, whole.unplanned)
    stopped = [branch.exits[Exit.STOPS] for branch in closed if Exit.STOPS in branch.exits]
    if stopped:
        least = stopped[0]
        for cost in stopped[1:]:
            least = least.either(cost)
        exits[Exit.STOPS] = whole._replace(sessions=least.sessions, decisions=least.decisions)
    at_once = 0.0
    for branch in branches:
        at_once = _sum(at_once, branch.at_once)
    alone = next((branch for branch in branches if branch.at_once == at_once), None)
    return Work(exits, at_once, alone.widest if alone is not None else owner)


_CLOSED: Final = {
    Exit.BREAKS: Exit.FALLS,
    Exit.CONTINUES: Exit.FALLS,
    Exit.RETURNS: Exit.FALLS,
}
_TOLERATED: Final = {Exit.THROWS: Exit.FALLS}


def _won(through: Sequence[Cost | None], opening: Sequence[int], needed: int, whole: Cost) -> Cost:
    """The cost of a join: the winners whole, and of the others at least what they start at once."""
    extra = [
        cost.sessions - started
        for cost, started in zip(through, opening, strict=True)
        if cost is not None
    ]
    decisions = (cost.decisions for cost in through if cost is not None)
    return whole._replace(
        sessions=sum(opening) + _smallest(extra, needed), decisions=_smallest(decisions, needed)
    )


def _smallest(counts: Iterable[float], number: int) -> float:
    return sum(sorted(counts)[:number])


def product(one: float, other: float) -> float:
    """One count times another; nothing stays nothing."""
    return capped(one * other) if one and other else 0


def capped(count: float) -> float:
    return count if count <= LARGEST else UNBOUNDED


def _sum(one: float, other: float) -> float:
    return capped(one + other)


def _add(exits: dict[Exit, Cost], way: Exit, cost: Cost) -> None:
    known = exits.get(way)
    exits[way] = cost if known is None else known.either(cost)
