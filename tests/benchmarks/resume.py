"""Resuming: how much later the next call comes than the first call of a fresh start."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial

from prose_runtime.testing.reactions import Silent
from prose_runtime.testing.server import Call, serving

from .effort import Effort
from .long_programs import ALL, FRESH, Scripts, Sort, chosen
from .processes import Processes, Worker, processor_time, workplace
from .report import Row, seconds
from .timing import Times

TITLE = (
    "Resuming: whole processes, from their start to the arrival of the next call at a loopback server, beside a fresh "
    "start\nwhose first call that is; both import the SDK. Elsewhere 1,000 steps are said to take 0.08-0.5 s (LangGraph) "
    "and 1.8 s (DBOS)"
)


def rows(effort: Effort) -> Iterator[Row]:
    """For each number of recorded steps, all sorts of programs."""
    long = effort.long
    with workplace(bytecode=True) as (folder, processes):
        scripts = Scripts(folder, processes)
        for steps in long.recorded:
            # 0.1 s for 1,000 steps, 1 s for 10,000.
            limit = max(0.1, steps / 10_000)
            for sort in chosen(ALL, long.sorts):
                rounds = sort.rounds(steps)
                scripts.build_sorts([sort], rounds)
                _record(scripts, sort, rounds)
                times, worked = _measured(scripts, sort, rounds, long.resumptions)
                yield Row(
                    f"{steps:,} steps, {sort.what}",
                    seconds(times.of(0)),
                    f"fresh start {seconds(times.of(1))}",
                    times.excess(0, 1),
                    "s",
                    limit,
                )
                yield Row(
                    f"{steps:,} steps, {sort.what}: processor time",
                    seconds(worked.of(0)),
                    f"fresh start {seconds(worked.of(1))}",
                    worked.excess(0, 1),
                    "s",
                )


def _record(scripts: Scripts, sort: Sort, rounds: int) -> None:
    """Make a run whose process dies before its last step."""
    with Worker.started(scripts.processes, "runs") as worker:
        worker.perform_last(
            {
                "script": scripts.script(scripts.name(sort, rounds)),
                "inputs": str(scripts.inputs(sort, rounds)),
                "prose_dir": _kept(scripts, sort, rounds),
                "dies": True,
            }
        )


def _kept(scripts: Scripts, sort: Sort, rounds: int) -> str:
    return str(scripts.folder / f"kept_{sort.name}_{rounds}")


def _measured(scripts: Scripts, sort: Sort, rounds: int, repetitions: int) -> tuple[Times, Times]:
    """Times and processor times of resuming, and of a fresh start."""
    python = scripts.processes.python
    resumed = python(
        scripts.script(scripts.name(sort, rounds)),
        *("--quiet", "--resume", "last", "--prose-dir", _kept(scripts, sort, rounds)),
        *("--inputs", str(scripts.inputs(sort, rounds))),
    )
    fresh = python(
        scripts.script(FRESH), "--quiet", "--prose-dir", str(scripts.folder / "fresh_runs")
    )
    first_calls = [
        partial(_until_a_call, scripts.processes, command) for command in (resumed, fresh)
    ]
    for first_call in first_calls:
        first_call()  # Compiles the bytecode.
    taken = [[first_call() for first_call in first_calls] for _ in range(repetitions)]
    times, worked = ([[call[n] for call in calls] for calls in taken] for n in (0, 1))
    return Times(times), Times(worked)


def _until_a_call(processes: Processes, command: Sequence[str]) -> tuple[float, float]:
    """Seconds, and those of the processor, from the start of a process until it calls the model, which kills it."""
    arrivals: list[float] = []
    arrived = threading.Event()

    def silent(call: Call) -> Silent:
        arrivals.append(time.perf_counter())
        arrived.set()
        return Silent()

    with serving(silent) as server:
        variables = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": "loopback"}
        worked, started = processor_time(), time.perf_counter()
        with processes.launched(command, variables) as process:
            while not arrived.wait(0.05) and process.poll() is None:
                pass
            process.kill()
            assert process.stderr is not None
            said = process.stderr.read().decode(errors="replace")
    if not arrivals:
        raise RuntimeError(f"{' '.join(command)} called nobody: {said}")
    return arrivals[0] - started, processor_time() - worked
