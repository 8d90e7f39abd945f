"""What a run is doing, for people: plain lines on standard error, or a live display on a terminal.

Both are observers of the run. They write what models said only after control characters are taken out of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from .events import (
    Event,
    Observer,
    RunEnded,
    RunStarted,
    StepCancelled,
    StepFailed,
    StepFinished,
    StepRetrying,
    StepSeen,
    StepStarted,
    StepTokens,
    WaitingFor,
    Warned,
)
from .terminal import one_line, seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

_QUESTIONS = frozenset({"decide", "until", "while", "keep", "choose"})


class Progress(Observer, Protocol):
    """An observer with a display that can stand aside while a person is asked something."""

    def open(self) -> None:
        """Begin to show."""

    def close(self) -> None:
        """Leave the terminal as it was."""

    def aside(self) -> AbstractContextManager[None]:
        """While inside, nothing is drawn."""


def make_progress(out: TextIO | None, *, quiet: bool, now: Callable[[], float]) -> Progress:
    """The progress that suits `out`: live on a terminal, lines elsewhere, warnings alone when quiet."""
    if out is None:
        return Lines(None, quiet=True)
    if quiet or not _is_terminal(out):
        return Lines(out, quiet=quiet)
    return Display(out, now)


class Lines:
    """One line when something starts, ends, waits or goes wrong."""

    def __init__(self, out: TextIO | None, *, quiet: bool = False) -> None:
        self._out = out
        self._quiet = quiet

    def open(self) -> None:
        """Nothing to prepare."""

    def close(self) -> None:
        """Nothing to put back."""

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def see(self, event: Event) -> None:
        if self._quiet and not isinstance(event, Warned):
            return
        line = line_for(event)
        if line is not None:
            self._write(line)

    def _write(self, line: str) -> None:
        if self._out is None:
            return
        try:
            self._out.write(line + "\n")
            self._out.flush()
        except (OSError, ValueError):
            # Nobody reads any more: that is no reason to stop work that costs money.
            self._out = None


class Display:
    """What runs now, how long it has, and its tokens so far, redrawn in place; what ended scrolls by above."""

    def __init__(self, out: TextIO, now: Callable[[], float]) -> None:
        self._out = out
        self._now = now
        self._running: dict[int, tuple[StepSeen, float]] = {}
        self._tokens: dict[int, int] = {}
        self._live: Live | None = None
        self._console: Console | None = None
        self._lines: list[str] = []

    def open(self) -> None:
        # rich takes 0.1 s to import: it is loaded only where a run really draws.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=self._out, highlight=False, markup=False, emoji=False)
        self._live = Live(
            get_renderable=self._drawn,
            console=self._console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def close(self) -> None:
        self._flush()
        live, self._live = self._live, None
        if live is not None:
            with suppress(OSError, ValueError):
                live.stop()

    def aside(self) -> AbstractContextManager[None]:
        return _Aside(self._live) if self._live is not None else nullcontext()

    def see(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self._running[event.step.number] = (event.step, self._now())
            return
        if isinstance(event, StepTokens):
            self._tokens[event.step.number] = event.output
            return
        if isinstance(event, StepFinished | StepFailed | StepCancelled):
            self._running.pop(event.step.number, None)
            self._tokens.pop(event.step.number, None)
        line = line_for(event)
        if line is not None:
            self._later(line)

    def _later(self, line: str) -> None:
        """Print with what comes right after it: each print redraws the display, and a thousand sessions end at once."""
        self._lines.append(line)
        if len(self._lines) > 1:
            return
        try:
            asyncio.get_running_loop().call_later(0.05, self._flush)
        except RuntimeError:
            # After the run, or without one: nothing more comes.
            self._flush()

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        if lines and self._console is not None:
            try:
                self._console.print("\n".join(lines), soft_wrap=True)
            except (OSError, ValueError):
                # The terminal is gone: that is no reason to stop work that costs money.
                self._console = None

    def _drawn(self) -> Table:
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        now = self._now()
        running = list(self._running.values())
        for step, since in running[:8]:
            tokens = self._tokens.get(step.number)
            count = f"~{tokens:,} tokens" if tokens else ""
            table.add_row(
                Spinner("dots"), Text(_named(step)), Text(seconds(now - since)), Text(count)
            )
        if len(running) > 8:
            table.add_row("", Text(f"and {len(running) - 8} more"), "", "")
        return table


class _Aside:
    def __init__(self, live: Live) -> None:
        self._live = live

    def __enter__(self) -> None:
        self._live.stop()

    def __exit__(self, *error: object) -> None:
        self._live.start()


def line_for(event: Event) -> str | None:
    """What people read about an event; None for what needs no line."""
    if isinstance(event, RunStarted):
        marked = " (simulated: no model is called)" if event.simulated else ""
        return f"run {event.run_id} of {event.program}{marked}"
    if isinstance(event, StepStarted):
        return f"  started  {_named(event.step)}{_who(event.step)}"
    if isinstance(event, StepFinished):
        tokens = f", {event.usage.total:,} tokens" if event.usage.total else ""
        took = f"{seconds(event.seconds)}{tokens}"
        if event.step.kind in _QUESTIONS:
            reason = f" ({one_line(event.reason)})" if event.reason else ""
            return (
                f"  decided  {_named(event.step)}: {one_line(event.value.text, 40)}{reason}, {took}"
            )
        # The run's folder was named when it started.
        place = f" -> {'/'.join(event.path.split('/')[-2:])}" if event.path else ""
        return f"  done     {_named(event.step)} in {took}{place}"
    if isinstance(event, StepRetrying):
        wait = f" in {seconds(event.delay)}" if event.delay else ""
        return f"  retrying {_named(event.step)}{wait} (attempt {event.attempt}/{event.of}): {one_line(event.reason, 200)}"
    if isinstance(event, StepFailed):
        return f"  failed   {_named(event.step)} after {seconds(event.seconds)}: {one_line(event.reason, 300)}"
    if isinstance(event, StepCancelled):
        return f"  stopped  {_named(event.step)}"
    if isinstance(event, Warned):
        where = f"line {event.line}: " if event.line is not None else ""
        return f"warning: {where}{one_line(event.text, 400)}"
    if isinstance(event, WaitingFor):
        text = f": {one_line(event.text, 200)}" if event.text else ""
        return f"  waiting  for input {event.name}{text}"
    if isinstance(event, RunEnded):
        tokens = f", {event.usage.total:,} tokens" if event.usage.total else ""
        return f"run {event.run_id} {event.status} after {seconds(event.seconds)}{tokens}"
    return None


def _named(step: StepSeen) -> str:
    label = one_line(step.label, 70)
    if step.kind in _QUESTIONS:
        label = f"**{label}**"
    if step.place.execution_id is not None and step.place.block:
        label = f"{label} in {step.place.block} #{step.place.execution_id}"
    return label


def _who(step: StepSeen) -> str:
    parts = [
        f"line {step.line}" if step.line is not None else "",
        step.agent or "",
        step.model or "",
    ]
    said = ", ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _is_terminal(out: TextIO) -> bool:
    import os

    try:
        return out.isatty() and os.environ.get("TERM", "") != "dumb"
    except ValueError:
        return False
