"""Long loops: what the last rounds of a run cost, beside the first of the same run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import median

from prose_runtime.testing.reactions import Says
from prose_runtime.testing.server import Call, serving

from .effort import Effort
from .long_programs import SEQUENTIAL, SO_FAR, UNNAMED, Scripts, Sort, chosen
from .processes import Worker, workplace
from .report import Row, seconds

TITLE = (
    "Long loops: the last tenth of the rounds beside the first tenth of the same run, journal fsynced. Processor time: "
    "of a\nprocess whose model answers at once, with the files that those rounds left to be written. Time: whole scripts "
    "through the\nSDK and a loopback server with 1 ms of latency, by the arrivals of calls there"
)
LIMIT = 1.2


def rows(effort: Effort) -> Iterator[Row]:
    """Processor time for each sort of round, then time for some."""
    long = effort.long
    sorts = chosen(SEQUENTIAL, long.sorts)
    timed = chosen((UNNAMED, SO_FAR), long.sorts) if long.through_sdk else ()
    with workplace() as (folder, processes):
        scripts = Scripts(folder, processes)
        scripts.build_sorts(sorts, long.rounds)
        for sort in sorts:
            with Worker.started(processes, "runs") as worker:
                taken = [
                    _worked(worker, scripts, sort, long.rounds) for _ in range(long.repetitions)
                ]
            yield _row(f"{sort.what}: processor time", long.rounds, taken)
        for sort in timed:
            with Worker.started(processes, "calls", "script") as worker:
                taken = [
                    _timed(worker, scripts, sort, long.rounds) for _ in range(long.through_sdk)
                ]
            yield _row(f"{sort.what}: time", long.rounds, taken)


def _worked(worker: Worker, scripts: Scripts, sort: Sort, rounds: int) -> tuple[float, float]:
    """Seconds of the processor of the first and of the last tenth."""
    tenth = rounds // 10
    marks = [round * sort.sessions for round in (0, tenth, rounds - tenth, rounds)]
    answer = worker.perform(
        {
            "script": scripts.script(scripts.name(sort, rounds)),
            "prose_dir": str(scripts.folder / "runs"),
            "marks": marks,
        }
    )
    start, first, before, last = answer["marks"]
    return first - start, last - before


def _timed(worker: Worker, scripts: Scripts, sort: Sort, rounds: int) -> tuple[float, float]:
    """Seconds of the first and of the last tenth."""
    arrivals: list[float] = []
    answer = Says("An answer from the loopback server.", latency=0.001)

    def arrived(call: Call) -> Says:
        arrivals.append(time.perf_counter())
        return answer

    tenth = rounds // 10
    options = ["--quiet", "--prose-dir", str(scripts.folder / "runs")]
    with serving(arrived) as server:
        server.keep = False
        worker.perform(
            {
                "url": server.base_url,
                "arguments": [scripts.script(scripts.name(sort, rounds)), *options],
            }
        )
    return arrivals[tenth] - arrivals[0], arrivals[rounds] - arrivals[rounds - tenth]


def _row(what: str, rounds: int, taken: Sequence[tuple[float, float]]) -> Row:
    ratios = [last / first for first, last in taken]
    first, last = median(first for first, _ in taken), median(last for _, last in taken)
    spread = f" ({min(ratios):.2f}-{max(ratios):.2f})" if len(ratios) > 1 else ""
    return Row(
        f"{rounds:,} rounds, {what}",
        seconds(last),
        f"first {seconds(first)}{spread}",
        median(ratios),
        "x",
        LIMIT,
    )
