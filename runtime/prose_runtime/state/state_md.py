"""state.md: where a run is, for people. A complete file at any moment, whose cost depends on the program and on what
runs at once, never on what was done."""

from __future__ import annotations

import re
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from ..clock import Clock, stamp
from ..events import Bound, Event, Status
from ..settings import Problem
from ..terminal import one_line
from .constructs import active
from .index import Index, agents
from .outline import Outline
from .tables import table
from .trace import RunStatus, annotated, coming
from .whereabouts import Whereabouts

if TYPE_CHECKING:
    from ..execution import Execution
    from ..listing import Listing

FRAMES: Final = 100
"""Frames of the call stack that are listed; outer ones are only counted."""

_BACKTICKS: Final = re.compile("`+")


class StateFile:
    """Watches a run and renders its state. `status` and `problem` say how it ended, once it has."""

    def __init__(self, listing: Listing, clock: Clock, simulated: bool) -> None:
        self.status: Status = "running"
        self.problem: Problem | None = None
        self._listing = listing
        self._clock = clock
        self._simulated = simulated
        self._started = stamp(clock)
        self._execution: Execution | None = None
        outline = Outline(listing)
        self._memories = tuple(outline.memories())
        longest = max((len(run) for run in _BACKTICKS.findall(listing.text)), default=0)
        self._fence = "`" * max(3, longest + 1)
        self._where = Whereabouts(outline)
        self._index = Index()

    def watch(self, execution: Execution) -> None:
        """Follow a run from its start; one that is taken up again was started when its first life was."""
        self._execution = execution
        self._started = execution.replay.past.first.get("at", self._started)
        self._where.walks.stopping = lambda: execution.stopping is not None
        execution.watched_by(self)

    def bound(self, name: str, kind: str, path: str, execution_id: int | None) -> None:
        """A binding file was written."""
        self._index.add(name, kind, path, execution_id)
        self._where.filed(name, path)

    def see(self, event: Event) -> None:
        if isinstance(event, Bound) and event.kind == "input" and event.path is not None:
            self.bound(event.name, event.kind, event.path, event.execution_id)
        if self._where.see(event) and self._execution is not None:
            self._execution.store.changed()

    def render(self) -> str:
        """The whole file."""
        execution, where = self._execution, self._where
        if self.status == "completed":
            where.complete()
        run = RunStatus(
            execution.store.run_id if execution is not None else "",
            self.status,
            self.problem,
            execution.scrubbed if execution is not None else str,
        )
        comes = coming(where, run)
        prose_dir = execution.settings.prose_dir.as_posix() if execution is not None else ".prose"
        lines = [
            *self._head(run),
            *("", "## Execution Trace", "", f"{self._fence}prose"),
            *annotated(where, run, comes),
            self._fence,
            *("", "## Active Constructs"),
            *active(where, run, comes),
            *("", "## Index", "", "### Bindings", ""),
            *self._index.lines(run.short),
            *("", "### Agents", ""),
            *agents(self._memories, prose_dir),
            *("", "## Call Stack", ""),
            *_call_stack(where, run),
        ]
        return "\n".join(lines) + "\n"

    def _head(self, run: RunStatus) -> list[str]:
        waits = run.goes_on and self._where.walks.asking and not self._where.steps
        status = "waiting" if waits else run.status
        lines = [
            "# Execution State",
            "",
            f"run: {run.run_id}",
            f"program: {self._listing.name}",
            f"started: {self._started}",
            f"updated: {stamp(self._clock)}",
            f"status: {status}{' (simulated)' if self._simulated else ''}",
        ]
        if run.problem is not None:
            where = f" (line {run.problem.line})" if run.problem.line else ""
            lines.append(f"reason: {one_line(run.problem.message, 1000)}{where}")
        return lines


def _call_stack(where: Whereabouts, run: RunStatus) -> list[str]:
    """The frames, innermost first; then the newest of those that are complete."""
    frames = where.walks.frames
    callers = {place.parent for place, _ in frames.values()}
    innermost = nlargest(FRAMES, frames.values(), key=lambda f: (f[0].depth, f[0].execution_id or 0))
    rows = []
    for place, walk in innermost:
        executing = run.goes_on and not walk.stopped and place.execution_id not in callers
        rows.append((place, "executing" if executing else "waiting"))
    rows += [(place, "completed") for place in where.completed]
    lines = table(
        ("execution_id", "block", "depth", "status"),
        [(str(p.execution_id), p.block or "", str(p.depth), status) for p, status in rows],
    )
    left = len(frames) - len(innermost)
    return [*lines, "", f"... {left:,} further out"] if left else lines
