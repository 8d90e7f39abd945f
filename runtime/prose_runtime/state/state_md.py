"""state.md in a plain form: where the run is, for people. Its cost depends on the program, not on the steps done."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from ..clock import Clock, stamp
from ..events import (
    Event,
    FrameEntered,
    FrameLeft,
    Status,
    StepCancelled,
    StepFailed,
    StepFinished,
    StepRetrying,
    StepStarted,
)
from ..settings import Problem
from ..tasks import Place

if TYPE_CHECKING:
    from ..execution import Execution
    from ..listing import Listing

NEWEST: Final = 100
"""Rows of the index; older ones are only counted."""


class _Row(NamedTuple):
    name: str
    kind: str
    path: str
    execution_id: int | None


class StateFile:
    """Watches a run and renders its state."""

    def __init__(self, listing: Listing, clock: Clock, simulated: bool) -> None:
        self.status: Status = "running"
        self.problem: Problem | None = None
        self._listing = listing
        self._clock = clock
        self._simulated = simulated
        self._started = stamp(clock)
        self._execution: Execution | None = None
        self._running: dict[int, int] = {}
        self._notes: dict[int, str] = {}
        self._rows: OrderedDict[str, _Row] = OrderedDict()
        self._dropped = 0
        self._frames: dict[int | None, Place] = {}

    def watch(self, execution: Execution) -> None:
        self._execution = execution
        execution.watched_by(self)

    def bound(self, name: str, kind: str, path: str, execution_id: int | None) -> None:
        """A binding file was written."""
        self._rows[path] = _Row(name, kind, path, execution_id)
        self._rows.move_to_end(path)
        if len(self._rows) > NEWEST:
            self._rows.popitem(last=False)
            self._dropped += 1

    def see(self, event: Event) -> None:
        match event:
            case StepStarted(step) if step.line is not None:
                self._running[step.line] = self._running.get(step.line, 0) + 1
            case StepFinished(step, path=path) if step.line is not None:
                self._leave(step.line, f"# --> {_short(path)}" if path else "# (complete)")
            case StepFailed(step, reason) if step.line is not None:
                self._leave(step.line, f"# <-- FAILED: {' '.join(reason.split())[:100]}")
            case StepCancelled(step) if step.line is not None:
                self._leave(step.line, "# [skipped]")
            case StepRetrying(step, attempt, of) if step.line is not None:
                self._notes[step.line] = f"# <-- RETRYING (attempt {attempt}/{of})"
            case FrameEntered(place):
                self._frames[place.execution_id] = place
            case FrameLeft(place):
                self._frames.pop(place.execution_id, None)
            case _:
                return
        if self._execution is not None:
            self._execution.store.changed()

    def _leave(self, line: int, note: str) -> None:
        left = self._running.get(line, 1) - 1
        if left > 0:
            self._running[line] = left
        else:
            self._running.pop(line, None)
        self._notes[line] = note

    def render(self) -> str:
        """The whole file."""
        simulated = " (simulated)" if self._simulated else ""
        run = self._execution.store.run_id if self._execution else ""
        lines = [
            "# Execution State",
            "",
            f"run: {run}",
            f"program: {self._listing.name}",
            f"started: {self._started}",
            f"updated: {stamp(self._clock)}",
            f"status: {self.status}{simulated}",
        ]
        if self.problem is not None:
            where = f" (line {self.problem.line})" if self.problem.line else ""
            lines.append(f"reason: {' '.join(self.problem.message.split())}{where}")
        fence = "`" * max(3, _longest_run(self._listing.text) + 1)
        lines += ["", "## Execution Trace", "", f"{fence}prose", *self._trace(), fence]
        lines += ["", "## Active Constructs", "", "## Index", "", "### Bindings", ""]
        lines += ["| Name | Kind | Path | Execution ID |", "| ---- | ---- | ---- | ------------ |"]
        for row in self._rows.values():
            scope = "(root)" if row.execution_id is None else str(row.execution_id)
            lines.append(f"| {row.name} | {row.kind} | {_short(row.path)} | {scope} |")
        if self._dropped:
            lines += ["", f"... {self._dropped:,} earlier"]
        lines += ["", "### Agents", "", "| Name | Scope | Path |", "| ---- | ----- | ---- |"]
        lines += ["", "## Call Stack", "", "| execution_id | block | depth | status |"]
        lines.append("| ------------ | ----- | ----- | ------ |")
        callers = {place.parent for place in self._frames.values()}
        for place in reversed(self._frames.values()):
            status = "waiting" if place.execution_id in callers else "executing"
            lines.append(f"| {place.execution_id} | {place.block} | {place.depth} | {status} |")
        return "\n".join(lines) + "\n"

    def _trace(self) -> list[str]:
        rows = list(self._listing.rows)
        for line in {*self._notes, *self._running}:
            if not 0 < line <= len(rows):
                continue
            running = self._running.get(line, 0) if self.status == "running" else 0
            note = self._notes.get(line, "")
            if running:
                note = "# <-- EXECUTING" + (f" ({running})" if running > 1 else "")
            rows[line - 1] = f"{rows[line - 1]:<43} {note}"
        return rows


def _short(path: str | None) -> str:
    """A path from the run's folder on."""
    return "/".join((path or "").split("/")[-2:])


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
