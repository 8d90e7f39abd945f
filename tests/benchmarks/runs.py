"""A process that does whole runs of emitted scripts whose model answers at once, and says what each took.

    python -m tests.benchmarks.runs

carries out orders (orders.py). There is neither network nor SDK in it: what it takes is the runtime's own, with a journal
that is fsynced and every file of a real run.
"""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from prose_runtime import running
from prose_runtime.events import Observer
from prose_runtime.listing import Listing
from prose_runtime.narration.narrator import Narrator
from prose_runtime.progress import Lines
from prose_runtime.providers.protocol import JSON, Reply, Request, Usage
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import Resumption, Settings
from prose_runtime.state.state_md import StateFile

from .long_programs import NEXT_STEP
from .orders import Order, resident, serve

if TYPE_CHECKING:
    from prose_runtime.execution import Execution
    from prose_runtime.program import Program

_PAUSE: Final = 0.3
"""Seconds of idleness after which a run writes its files, and some more."""

_IDLE: Final = 0.005
"""Seconds of the processor that an idle process may take in such a pause."""

_NO: Final[Mapping[str, JSON]] = {"reason": "There is more to do.", "answer": False}


def main() -> None:
    """Serve orders until standard input ends."""
    serve(_perform)


def _perform(order: Order) -> dict[str, Any]:
    """One run of the script `script` in `prose_dir`, with inputs from the file `inputs`.

    `latency`: the seconds of a session. `resume`: the newest run of the script goes on. `dies`: so does this process,
    before the last session of the program. `watched`: by "nothing", the state file, or its narration as well.
    `marks`: numbers of sessions before which the run rests until its files are written; the answer says how many
    seconds of the processor it had taken by then.
    """
    program: Program = runpy.run_path(order["script"], run_name="benchmark")["program"]
    model = _Model(order.get("latency", 0.0), order.get("marks", ()), order.get("dies", False))
    watched = order.get("watched", "state")
    running.StateFile = _Unseen if watched == "nothing" else StateFile  # type: ignore[attr-defined]
    with Path(os.devnull).open("w") as nowhere:
        settings = Settings(
            sessions=Sessions(model),
            inputs=json.loads(Path(order["inputs"]).read_text()) if "inputs" in order else {},
            prose_dir=Path(order["prose_dir"]),
            resume=Resumption("last") if order.get("resume") else None,
            observers=_observers(watched, program, nowhere),
        )
        started, worked = time.perf_counter(), time.process_time()
        outcome = asyncio.run(running.execute(program, settings))
    if outcome.status != "completed":
        raise RuntimeError(f"{order} ended as {outcome.status}: {outcome.problem}")
    return {
        "seconds": time.perf_counter() - started,
        "processor": time.process_time() - worked,
        "marks": [mark - worked for mark in model.marked],
        "peak": resident("VmHWM"),
    }


def _observers(watched: str, program: Program, out: TextIO) -> list[Observer]:
    """What a quiet run has, and narration where that is wanted."""
    quiet = Lines(None, quiet=True)
    if watched == "narration":
        listing = Listing.of(program)
        return [quiet, Narrator(out, "text", listing, "filesystem", is_small=False)]
    return [] if watched == "nothing" else [quiet]


class _Model:
    """A provider that answers every session alike, and every question with no."""

    name = "instant"
    simulated = False

    def __init__(self, latency: float, marks: Sequence[int], dies: bool) -> None:
        self.marked: list[float] = []
        self._latency = latency
        self._marks = frozenset(marks)
        self._dies = dies
        self._sessions = 0

    def check(self) -> None:
        """Nothing can be missing."""

    async def complete(self, request: Request) -> Reply:
        if request.kind != "session":
            await asyncio.sleep(self._latency)
            return Reply("", _NO, Usage(12, 9), request.model)
        if self._dies and NEXT_STEP in str(request.messages[0]["content"]):
            await _rest()
            os._exit(0)
        if self._sessions in self._marks:
            await _rest()
            self.marked.append(time.process_time())
        self._sessions += 1
        await asyncio.sleep(self._latency)
        answer = f"An answer of the model, number {self._sessions}."
        return Reply(answer, None, Usage(12, 9), request.model)

    def remarks(self) -> Sequence[str]:
        return ()

    async def close(self) -> None:
        """Nothing is open."""


async def _rest() -> None:
    """Return when this process has nothing left to do: what it had put off is done."""
    while True:
        before = time.process_time()
        await asyncio.sleep(_PAUSE)
        if time.process_time() - before < _IDLE:
            return


class _Unseen(StateFile):
    """A state file that sees nothing and shows nothing: what a run would take without one."""

    def watch(self, execution: Execution) -> None:
        """Nobody is told of anything."""

    def bound(self, name: str, kind: str, path: str, execution_id: int | None) -> None:
        """Not even of files."""

    def render(self) -> str:
        return ""


if __name__ == "__main__":
    main()
