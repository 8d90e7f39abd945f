"""Measuring things in turn, so that what else the machine does hits all of them alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

Work = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that each of several works took in each repetition."""

    rounds: Sequence[Sequence[float]]

    def of(self, work: int) -> float:
        """The median time of one work."""
        return median(times[work] for times in self.rounds)

    def ratio(self, work: int, *baseline: int) -> float:
        """The median, over the repetitions, of one work's time to the sum of the baseline's."""
        return median(
            times[work] / sum(times[other] for other in baseline) for times in self.rounds
        )

    def excess(self, work: int, baseline: int) -> float:
        """The median, over the repetitions, of what one work took longer than another."""
        return median(times[work] - times[baseline] for times in self.rounds)


def in_turn(repetitions: int, *works: Work, clock: Clock = time.perf_counter) -> Times:
    """Run all works one after the other, and that again and again."""
    return Times([[elapsed(work, clock) for work in works] for _ in range(repetitions)])


def elapsed(work: Work, clock: Clock) -> float:
    """The seconds that a work takes, without a collection of garbage in between, as in the commands of prosec."""
    gc.collect()
    gc.disable()
    try:
        started = clock()
        work()
        return clock() - started
    finally:
        gc.enable()
