"""How much is measured: everything, a quick look, or just enough to see that the benchmarks still run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes and repetitions of a run of the benchmarks."""

    sizes: tuple[tuple[int, int], ...]
    """Programs to compile: (lines, repetitions)."""
    doubling: tuple[tuple[str, int, int], ...]
    """What is done to a program and to one twice as long: ("check" or "build", lines of the shorter, repetitions)."""
    hostile: int
    """The size of hostile inputs, in characters; a tenth of it in lines."""
    sessions: int
    in_turn: int
    """Repetitions of the sessions in sequence; 0 leaves them out."""
    at_once: int
    """Repetitions of the concurrent sessions, for each cap."""
    caps: tuple[int, ...]
    latency: float
    """Milliseconds before the server answers."""
    starts: int
    """How often each command is started."""


FULL = Effort(
    sizes=((140, 15), (1_500, 7), (15_000, 3)),
    doubling=(("check", 15_000, 5), ("build", 7_500, 3)),
    hostile=1_000_000,
    sessions=1_000,
    in_turn=3,
    at_once=7,
    caps=(10, 32, 100),
    latency=20.0,
    starts=15,
)

QUICK = Effort(
    sizes=((140, 5), (1_500, 3)),
    doubling=(("check", 3_000, 5), ("build", 750, 3)),
    hostile=200_000,
    sessions=200,
    in_turn=1,
    at_once=3,
    caps=(32,),
    latency=20.0,
    starts=5,
)

SMALLEST = Effort(
    sizes=((70, 1),),
    doubling=(("check", 70, 1), ("build", 70, 1)),
    hostile=200,
    sessions=3,
    in_turn=0,
    at_once=1,
    caps=(2,),
    latency=1.0,
    starts=1,
)
