"""Progress for people: lines, the live display, and text from outside made harmless."""

import io
import os
import pty
import select
from pathlib import Path

import pytest
from prose_runtime.events import (
    Event,
    RoundStarted,
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
from prose_runtime.progress import Display, Lines, make_progress
from prose_runtime.providers.protocol import Usage
from prose_runtime.tasks import Place
from prose_runtime.terminal import harmless, one_line, seconds
from prose_runtime.values import Value

SESSION = StepSeen(1, "session", "facts", 20, "analyst", "sonnet", Place(43, "profile", 1), "facts")
QUESTION = StepSeen(2, "until", "it is done", 48, None, None, Place())
EVENTS: list[tuple[Event, str | None]] = [
    (
        RunStarted("R1", "brief.prose", Path("x"), True),
        "run R1 of brief.prose (simulated: no model is called)",
    ),
    (StepStarted(SESSION), "  started  facts in profile #43 (line 20, analyst, sonnet)"),
    (StepTokens(SESSION, 1200), None),
    (RoundStarted(1, 0), None),
    (
        StepFinished(SESSION, Value("x"), Usage(1000, 234), 3.21, "bindings/facts.md"),
        "  done     facts in profile #43 in 3.2 s, 1,234 tokens -> bindings/facts.md",
    ),
    (
        StepFinished(QUESTION, Value(True), Usage(), 0.5, None, "all there"),
        "  decided  **it is done**: true (all there), 0.5 s",
    ),
    (
        StepRetrying(SESSION, 2, 4, "no", 1.0),
        "  retrying facts in profile #43 in 1.0 s (attempt 2/4): no",
    ),
    (
        StepFailed(SESSION, "bad \x1b[2J\x07", 75.0),
        "  failed   facts in profile #43 after 1 min 15 s: bad \\x1b[2J\\x07",
    ),
    (StepCancelled(QUESTION), "  stopped  **it is done**"),
    (Warned("careful", 3), "warning: line 3: careful"),
    (WaitingFor("go", "Go on?"), "  waiting  for input go: Go on?"),
    (RunEnded("R1", "completed", Usage(1, 1), 61.0), "run R1 completed after 1 min 1 s, 2 tokens"),
]


def test_lines() -> None:
    out = io.StringIO()
    lines = Lines(out)
    for event, _ in EVENTS:
        lines.see(event)
    assert out.getvalue().splitlines() == [line for _, line in EVENTS if line is not None]


def test_quiet_leaves_warnings() -> None:
    out = io.StringIO()
    progress = make_progress(out, quiet=True, now=lambda: 0.0)
    for event, _ in EVENTS:
        progress.see(event)
    assert out.getvalue() == "warning: line 3: careful\n"
    make_progress(None, quiet=False, now=lambda: 0.0).see(EVENTS[0][0])


def test_a_closed_stream_stops_nothing() -> None:
    out = io.StringIO()
    lines = Lines(out)
    out.close()
    for event, _ in EVENTS:
        lines.see(event)


def test_the_display_draws_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as out:
        display = make_progress(out, quiet=False, now=lambda: 10.0)
        assert isinstance(display, Display)
        display.open()
        for event, _ in EVENTS[:4]:
            display.see(event)
        assert display._live is not None
        display._live.refresh()
        with display.aside():
            out.write("asked\n")
        display.close()
        out.flush()
        drawn = ""
        while select.select([ours], [], [], 0)[0]:
            drawn += os.read(ours, 100_000).decode()
    os.close(ours)
    assert "run R1 of brief.prose" in drawn
    assert "facts in profile #43" in drawn
    assert "~1,200 tokens" in drawn
    assert "asked" in drawn
    assert "\x1b[?25h" in drawn, "the cursor is back"


def test_text_from_outside_is_harmless() -> None:
    assert harmless("a\x1b]0;title\x07\nb\tc\r\nd\re\u202e\x9b\ud800") == (
        "a\\x1b]0;title\\x07\nb\tc\nd\\x0de\\u202e\\x9b\\ud800"
    )
    assert one_line("a\n b\tc") == "a b c"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"
    assert [seconds(n) for n in (0.04, 9.96, 59.4, 3600)] == [
        "0.0 s",
        "10.0 s",
        "59 s",
        "60 min 0 s",
    ]
