"""Sessions: what a run adds to its model calls, beside the same calls made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prose_runtime.testing.server import serving

from .effort import Effort
from .orders import Order
from .processes import Processes, Worker, loopback, workplace
from .report import Row, megabytes, seconds
from .timing import Times

TITLE = (
    "Sessions: whole runs of emitted scripts (anthropic provider, journal fsynced, --quiet) beside a bare "
    "AsyncAnthropic with a\nsemaphore; each in a warm process of its own, all against one loopback server in a process "
    "of its own"
)

_IN_TURN = """\
agent worker:
  model: sonnet
  prompt: "You work through a list."

repeat {count}:
  session: worker
    prompt: "Say something short about the next item."
    context: []
"""

_AT_ONCE = """\
input items: "What to work on, a JSON list"

agent worker:
  model: sonnet
  prompt: "You work through a list."

parallel for item in items:
  session: worker
    prompt: "Say something short about item {item}."
    context: []
"""


def rows(effort: Effort) -> Iterator[Row]:
    """Sessions in sequence, then concurrent ones for each cap."""
    with ExitStack() as open_until_the_end:
        folder, processes = open_until_the_end.enter_context(workplace())
        url = open_until_the_end.enter_context(loopback(processes, effort.latency))
        scripts = _Scripts(folder, processes)
        if effort.in_turn:
            yield from _case(processes, scripts, url, effort, 1, effort.in_turn)
        for cap in effort.caps:
            yield from _case(processes, scripts, url, effort, cap, effort.at_once)


def _case(
    processes: Processes, scripts: _Scripts, url: str, effort: Effort, cap: int, repetitions: int
) -> Iterator[Row]:
    """One way to make the calls: in sequence with a cap of 1, else concurrently."""
    count = effort.sessions
    sides = ("script", "create", "stream")
    with ExitStack() as open_until_the_end:
        callers = [
            open_until_the_end.enter_context(Worker.started(processes, "calls", side)) for side in sides
        ]
        script, *bare = callers
        body = _request(script, scripts.arguments(1, cap))
        orders: list[Order] = [
            {"arguments": scripts.arguments(count, cap)},
            *({"calls": count, "cap": cap, "body": body} for _ in bare),
        ]
        for caller in bare:
            caller.perform({"url": url, "calls": 1, "cap": cap, "body": body})
        taken = [
            [
                caller.perform({"url": url, **order})
                for caller, order in zip(callers, orders, strict=True)
            ]
            for _ in range(repetitions)
        ]
    what = f"{count:,} in sequence" if cap == 1 else f"{count:,} at once, cap {cap}"
    times = Times([[answer["seconds"] for answer in answers] for answers in taken])
    for number, name in ((1, "create"), (2, "raw stream")):
        here, baseline = seconds(times.of(0)), f"bare {name} {seconds(times.of(number))}"
        excess, ratio = times.excess(0, number) / count * 1_000, times.ratio(0, number)
        # The targets are about the plain client.
        limits = (0.6, 1.1 if cap == 32 else None) if name == "create" else (None, None)
        yield Row(f"{what}: added per session", here, baseline, excess, "ms", limits[0])
        yield Row(f"{what}: ratio", here, baseline, ratio, "x", limits[1])
    worked = Times([[answer["processor"] for answer in answers] for answers in taken])
    yield Row(
        f"{what}: processor time added per session",
        seconds(worked.of(0)),
        f"bare create {seconds(worked.of(1))}",
        worked.excess(0, 1) / count * 1_000,
        "ms",
    )
    growth = [max(answers[side]["growth"] for answers in taken) for side in range(len(sides))]
    yield Row(
        f"{what}: memory, peak growth",
        megabytes(growth[0]),
        f"bare create {megabytes(growth[1])}",
        growth[0] / max(1, growth[1]),
        "x",
    )


@dataclass(frozen=True, slots=True)
class _Scripts:
    """The scripts that make the calls, built by prosec."""

    folder: Path
    processes: Processes

    def arguments(self, count: int, cap: int) -> Sequence[str]:
        """The command line of a script, built if need be, that makes `count` calls, `cap` at once."""
        source = self.folder / (f"in_turn_{count}.prose" if cap == 1 else "at_once.prose")
        inputs = self.folder / f"items_{count}.json"
        script = source.with_suffix(".py")
        if not script.exists():
            source.write_text(_IN_TURN.replace("{count}", str(count)) if cap == 1 else _AT_ONCE)
            self.processes.run(self.processes.prosec("build", str(source)))
        inputs.write_text(json.dumps({"items": [f"number {n}" for n in range(count)]}))
        given = [] if cap == 1 else ["--inputs", str(inputs)]
        options = [
            "--quiet",
            "--max-concurrency",
            str(cap),
            "--prose-dir",
            str(self.folder / "runs"),
        ]
        return [str(script), *given, *options]


def _request(script: Worker, arguments: Sequence[str]) -> dict[str, Any]:
    """What a script's run of one session sends, for the bare client to send the same; warms the script up as well."""
    with serving() as server:
        script.perform({"url": server.base_url, "arguments": arguments})
        return server.calls[0].body
