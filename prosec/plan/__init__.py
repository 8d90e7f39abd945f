"""What a program can cost, before it runs: the bounds that follow from its text alone.

*Sessions* are those that a run counts: each `session`, `resume` and `**...**` used as a value, once, however often it is
retried. *Decisions* are the `**...**` that a model answers. Repair questions and memory updates are neither: whether
there are any shows only when a run makes them.

`most` counts every way that a run can take, also those on which sessions fail and are caught; `least` only those on which
nothing fails (the program itself may throw). Both hold for any answers, and may not be reached: conditions are taken as
if they had nothing to do with each other. All branches of a race count as started; its least is what its winners need
and what the others start at once. A loop or pipeline over a list has as many rounds as the list has items, which is
known of list literals and of names that are bound to nothing else; a block that calls itself does so as deep as
`max_depth` lets it. What has no bound is UNBOUNDED.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from prosec.analysis.model import Analysis
from prosec.plan.counting import Counter
from prosec.plan.paths import NO_COST, UNBOUNDED, Exit
from prosec.plan.size import Size, size_of
from prosec.source import Source
from prosec.syntax import nodes

__all__ = ["UNBOUNDED", "Plan", "Range", "Remark", "plan"]

AT_ONCE: Final = 25
"""Sessions at once of which a run says nothing."""


@dataclass(frozen=True, slots=True)
class Range:
    """How many of something, at least and at most (UNBOUNDED: nothing in the program says)."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a line of the program, from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The bounds of one program."""

    sessions: Range
    decisions: Range
    retries: float
    """Calls that sessions with `retry:` can make besides, at most."""
    at_once: float
    """The most sessions that can be going at the same time, if nothing else limits them."""
    widest: int | None
    """The line of the construct that has so many going."""
    unbounded: list[Remark]
    """Why there is no bound, in the order of lines."""
    no_max: list[int]
    """The lines of the loops that have no max."""
    never_ends: bool
    """Nothing but the safety cap of rounds can end a run."""
    size: Size

    @property
    def traits(self) -> str:
        """What a script should know of its program, in the form of its footer; empty where nothing is notable."""
        words = ["in-context"] if self.size.in_context else []
        if self.at_once > AT_ONCE:
            words.append(
                "at-once:many" if math.isinf(self.at_once) else f"at-once:{self.at_once:g}"
            )
        if self.no_max:
            words.append(f"unbounded:{','.join(map(str, self.no_max))}")
        return " ".join(words)


def plan(program: nodes.Program, analysis: Analysis, source: Source) -> Plan:
    """Find the bounds of a program without errors."""
    counter = Counter(analysis)
    work = counter.program(program)
    total = work.highest if work.exits else NO_COST

    def line(node: nodes.Node) -> int:
        return source.line_of(node.span.start)

    unbounded = {Remark(line(node), why) for node, why in counter.unbounded.items()}
    return Plan(
        Range(total.sessions, total.most_sessions),
        Range(total.decisions, total.most_decisions),
        total.most_retries,
        work.at_once,
        line(work.widest) if work.widest is not None else None,
        sorted(unbounded, key=lambda remark: (remark.line, remark.text)),
        sorted({line(node) for node in counter.no_max}),
        {way for way, cost in work.exits.items() if cost.is_planned} == {Exit.STOPS},
        size_of(program, analysis),
    )
