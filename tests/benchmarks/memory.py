"""Memory: how much the peak of a run grows with each step."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from .effort import Effort
from .long_programs import ALL, SO_FAR, UNNAMED, Scripts, Sort, chosen
from .processes import Worker, workplace
from .report import Row, megabytes

TITLE = (
    "Memory: the peak of a process that does a long run, beside one that does a shorter run of the same program, by the "
    "steps\nthat it has more. The model answers after 1 ms; each run in a process of its own"
)
LIMIT = 2.0
LATENCY = 0.001


def rows(effort: Effort) -> Iterator[Row]:
    """Whole runs of all sorts, then some that go on after everything but their last step was recorded."""
    few, many = effort.long.growth
    with workplace() as (folder, processes):
        scripts = Scripts(folder, processes)
        sorts = chosen(ALL, effort.long.sorts)
        for sort in sorts:
            scripts.build_sorts([sort], sort.rounds(few), sort.rounds(many))
        for resumed in (False, True):
            for sort in chosen((UNNAMED, SO_FAR), effort.long.sorts) if resumed else sorts:
                peaks = [
                    [_peak(scripts, sort, steps, resumed, number) for steps in (few, many)]
                    for number in range(effort.long.repetitions)
                ]
                yield Row(
                    f"{many:,} steps{', resumed' if resumed else ''}, {sort.what}",
                    megabytes(max(large for _, large in peaks)),
                    f"{few:,} steps {megabytes(max(small for small, _ in peaks))}",
                    median((large - small) / (many - few) / 1_000 for small, large in peaks),
                    "KB/step",
                    LIMIT,
                )


def _peak(scripts: Scripts, sort: Sort, steps: int, resumed: bool, number: int) -> int:
    """The peak of one process, in bytes."""
    rounds = sort.rounds(steps)
    order = {
        "script": scripts.script(scripts.name(sort, rounds)),
        "inputs": str(scripts.inputs(sort, rounds)),
        "prose_dir": str(scripts.folder / f"kept_{resumed}_{sort.name}_{rounds}_{number}"),
        "latency": LATENCY,
    }
    if resumed:
        with Worker.started(scripts.processes, "runs") as worker:
            worker.perform_last({**order, "latency": 0, "dies": True})
    with Worker.started(scripts.processes, "runs") as worker:
        peak: int = worker.perform({**order, "resume": resumed})["peak"]
    return peak
