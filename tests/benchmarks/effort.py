"""How much is measured: everything, a quick look, or just enough to see that the benchmarks still run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Long:
    """Sizes and repetitions of long and resumed runs."""

    sorts: tuple[str, ...] | None
    """The programs, by name (long_programs.py); None: all."""
    rounds: int
    """Rounds of a loop, of which the last tenth is compared with the first."""
    through_sdk: int
    """Repetitions of these runs with the SDK and a server; 0 leaves them out."""
    repetitions: int
    """Repetitions of everything else."""
    recorded: tuple[int, ...]
    """Recorded steps of runs that are resumed."""
    resumptions: int
    """How often each is, and a fresh one is started."""
    growth: tuple[int, int]
    """Steps of two runs whose peaks are compared."""
    watched: int
    """Sessions of a run that is watched."""


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
    long: Long
    """Long and resumed runs."""


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
    long=Long(
        sorts=None,
        rounds=10_000,
        through_sdk=3,
        repetitions=3,
        recorded=(1_000, 10_000),
        resumptions=7,
        growth=(1_000, 10_000),
        watched=1_000,
    ),
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
    long=Long(
        sorts=("unnamed", "so_far", "blocks", "at_once"),
        rounds=2_000,
        through_sdk=0,
        repetitions=1,
        recorded=(1_000,),
        resumptions=3,
        growth=(500, 2_000),
        watched=300,
    ),
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
    long=Long(
        sorts=("unnamed",),
        rounds=10,
        through_sdk=1,
        repetitions=1,
        recorded=(3,),
        resumptions=1,
        growth=(2, 4),
        watched=3,
    ),
)
