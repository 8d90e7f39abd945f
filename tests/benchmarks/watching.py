"""Watching: what state.md and narration add to a run."""

from __future__ import annotations

from collections.abc import Iterator

from .effort import Effort
from .long_programs import BLOCKS, RACES, UNNAMED, Scripts, chosen, written_out
from .processes import Worker, workplace
from .report import Row, seconds
from .timing import Times

TITLE = (
    "Watching: runs whose sessions take 1 ms, with state.md and with narration too (to nowhere), beside the same runs "
    "in which\nnothing sees what happens and state.md is empty; in turn, in one warm process. What they add, to a session "
    "of 1 ms"
)
LIMIT = 10.0
LATENCY = 0.001
WATCHED = ("nothing", "state", "narration")


def rows(effort: Effort) -> Iterator[Row]:
    """A short program, and one of as many lines as sessions; block calls and parallels."""
    count = effort.long.watched
    with workplace() as (folder, processes):
        scripts = Scripts(folder, processes)
        sorts = chosen((UNNAMED, BLOCKS, RACES), effort.long.sorts)
        cases = {sort.what: scripts.name(sort, count // sort.sessions) for sort in sorts}
        cases[f"sessions on {count:,} lines"] = "written_out"
        for sort in sorts:
            scripts.build_sorts([sort], count // sort.sessions)
        scripts.build([("written_out", written_out(count))])
        for what, name in cases.items():
            with Worker.started(processes, "runs") as worker:
                orders = [
                    {
                        "script": scripts.script(name),
                        "prose_dir": str(folder / "runs"),
                        "latency": LATENCY,
                        "watched": watched,
                    }
                    for watched in WATCHED
                ]
                for order in orders:
                    worker.perform(order)  # Imports what is needed.
                taken = [
                    [worker.perform(order) for order in orders]
                    for _ in range(2 * effort.long.repetitions + 1)
                ]
            yield from _case(what, count, taken)


def _case(what: str, count: int, taken: list[list[dict[str, float]]]) -> Iterator[Row]:
    worked = Times([[answer["processor"] for answer in answers] for answers in taken])
    times = Times([[answer["seconds"] for answer in answers] for answers in taken])
    share = 100 / (count * LATENCY)
    shown = (
        ("state.md, processor time", worked, 1, None),
        ("narrated, processor time", worked, 2, LIMIT),
        ("narrated, time", times, 2, LIMIT),
    )
    for name, measured, side, limit in shown:
        yield Row(
            f"{count:,} {what}: {name}",
            seconds(measured.excess(side, 0) / count),
            f"unwatched {seconds(measured.of(0))}",
            measured.excess(side, 0) * share,
            "%",
            limit,
        )
