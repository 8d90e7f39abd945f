"""state.md of compiled programs: odd texts, runs that end in any way, runs that do much."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from prose_runtime.state.state_md import FRAMES
from prose_runtime.state.trace import COLUMN
from prose_runtime.state.whereabouts import COMPLETED
from semantics.moments import constructs, looked_at, noted, stack, status, trace
from semantics.playing import Still


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def row(source: str, note: str) -> str:
    return f"{source:<{COLUMN}}# {note}"


# Programs


def test_a_program_of_nothing() -> None:
    text = looked_at("", ["end"]).found["end"]
    assert (
        "status: completed (simulated)\n\n## Execution Trace\n\n```prose\n```\n\n## Active Constructs\n\n## Index\n"
        in text
    )
    assert stack(text) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_are_those_of_the_file(end: str) -> None:
    source = f'session "One"{end}repeat 2:{end}  session "Two"{end}'
    found = looked_at(source, ["hold Two", "end"]).found
    assert trace(found["hold Two"]) == [
        row('session "One"', "--> bindings/anon_001.md"),
        "repeat 2:",
        row('  session "Two"', "<-- EXECUTING"),
    ]
    assert "\r" not in found["end"]


def test_what_ends_a_line_elsewhere_does_not_end_one_here() -> None:
    source = 'let a = "one\N{LINE SEPARATOR}two\x0cthree\x85four"\nsession "Five"\n'
    found = looked_at(source, ["hold Five"]).found
    first, second = trace(found["hold Five"])
    assert first.startswith('let a = "one\N{LINE SEPARATOR}two\x0cthree\x85four"')
    assert second == row('session "Five"', "<-- EXECUTING")


def test_the_fence_is_longer_than_any_in_the_program() -> None:
    source = 'session """\n````\ncode\n````\n"""\n'
    found = looked_at(source, ["end"]).found
    assert "\n`````prose\n" in found["end"]
    assert trace(found["end"])[1:] == ["````", "code", "````", '"""']


def test_long_lines_push_the_annotation_out() -> None:
    source = f'session "{"x" * 100}"\nlet y = 1\n'
    found = looked_at(source, ["end"]).found
    assert trace(found["end"]) == [
        f'session "{"x" * 100}"   # --> bindings/anon_001.md',
        row("let y = 1", "(complete)"),
    ]


# Ends


SOURCE = """\
session "First"
parallel:
  a = session "One"
  b = do:
    session "Two"
    session "Three"
session "Last"
"""


async def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    # Time for the signal to arrive: it comes through the event loop.
    for _ in range(50):
        await asyncio.sleep(0)


async def interrupt_twice() -> None:
    await interrupt()
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()


async def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.Event().wait()


def test_a_run_that_is_interrupted_finishes_what_runs() -> None:
    looked = looked_at(SOURCE, ["hold Two", "end"], then={"hold Two": interrupt})
    text = looked.found["end"]
    assert looked.outcome.status == "interrupted"
    assert status(text) == "interrupted (simulated)"
    assert noted(text, "a =") == "--> bindings/a.md (complete)"
    assert noted(text, 'session "Two"') == "--> bindings/anon_002.md (complete)"
    assert noted(text, 'session "Three"') == "[...next...]"
    assert noted(text, 'session "Last"') == ""
    assert constructs(text) == "### Parallel (lines 2-6)\n\n- a: complete\n- b: stopped"


@pytest.mark.parametrize("stop", [interrupt_twice, terminate])
def test_a_run_that_is_stopped_at_once(stop: Callable[[], Awaitable[None]]) -> None:
    looked = looked_at(SOURCE, ["hold Two", "end"], then={"hold Two": stop})
    text = looked.found["end"]
    assert looked.outcome.status == "interrupted"
    assert status(text) == "interrupted (simulated)"
    assert noted(text, 'session "Two"') == "[...next...]"
    assert noted(text, "parallel:") == ""
    assert constructs(text) == "### Parallel (lines 2-6)\n\n- a: complete\n- b: stopped"


def test_the_last_file_is_written_at_every_end() -> None:
    ends: dict[str, tuple[str, dict[str, int]]] = {
        "completed": ('session "a"\n', {}),
        "failed": ('throw "no"\n', {}),
        "waiting": ('session "a"\ninput x: "x"\n', {}),
        "stopped": ('loop:\n  session "a"\n', {"max_rounds": 2}),
    }
    for wanted, (source, settings) in ends.items():
        looked = looked_at(source, ["end"], prose_dir=Path(wanted), **settings)
        assert looked.outcome.status == wanted
        assert status(looked.found["end"]) == f"{wanted} (simulated)"


def test_a_run_that_is_taken_up_again_began_when_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(
        Still,
        "now",
        lambda clock: datetime(2026, 1, 15, tzinfo=UTC) + timedelta(minutes=next(ticks)),
    )
    looked = looked_at('session "a"\ninput x: "x"\n', ["end"], again={"x": "given"})
    assert looked.outcome.status == "completed"
    assert looked.outcome.directory is not None
    records = (looked.outcome.directory / "journal.jsonl").read_text().splitlines()
    lives = [json.loads(record)["at"] for record in records if json.loads(record)["r"] == "run"]
    assert len(lives) == 2
    assert f"\nstarted: {lives[0]}\n" in looked.found["end"]


def test_secrets_are_not_shown() -> None:
    source = 'input api-key: "The key"\nsession "Use it"\nthrow "refused: {api-key}"\n'
    found = looked_at(source, ["end"], inputs={"api-key": "sk-very-secret"}).found
    assert "sk-very-secret" not in found["end"]
    assert noted(found["end"], "throw") == "<-- FAILED: refused: ***"


def test_a_reason_is_one_line_and_short() -> None:
    source = 'session "a"\n'
    answers = '"a" = { error = "no\\n\\u001b[31m```answer ' + "x" * 400 + '" }\n'
    found = looked_at(source, ["end"], answers).found
    note = noted(found["end"], "session")
    assert note.startswith("<-- FAILED: no \\x1b[31m```answer xxx")
    assert len(note) < 250


# Much


def test_what_is_kept_does_not_grow_with_the_steps() -> None:
    """Also where steps fail and are caught, in branches, frames, rounds and races."""
    source = """\
block work(x):
  try:
    session "work {x}"
  catch:
    session "mend {x}"
loop until **never ever** (max: LIMIT):
  parallel ("first"):
    do work("a")
    session "race"
  parallel for y in ["1", "2"] (on-fail: "continue"):
    session "round {y}"
  do work("b")
  let z = ["p", "q"] | pmap: session "piped {item}"
"""
    answers = '"work b" = { error = "no" }\n"round 2" = { error = "no" }\n"never ever" = false\n'
    sizes = []
    for limit in (3, 30):
        place = Path(str(limit))
        looked = looked_at(source.replace("LIMIT", str(limit)), [], answers, prose_dir=place)
        where = looked.file._where
        sizes.append(
            [
                len(where.walks),
                len(where.walks.forks),
                len(where._constructs),
                len(where.walks.frames),
            ]
        )
        assert len(where.completed) <= COMPLETED
        assert where.sheet.inside == {}
        assert all(not mark.running and not mark.retrying for mark in where.sheet.marks.values())
    assert sizes[0] == sizes[1] == [1, 0, 0, 0]


def test_a_deep_stack_is_cut() -> None:
    source = """\
block dig(depth) (max_depth: 300):
  if depth > 0:
    do dig(depth - 1)
  else:
    session "Bottom"
do dig(149)
"""
    found = looked_at(source, ["hold Bottom"]).found
    rows = stack(found["hold Bottom"])
    assert rows[0] == ["150", "dig", "150", "executing"]
    assert rows[1] == ["149", "dig", "149", "waiting"]
    assert len(rows) == FRAMES
    assert found["hold Bottom"].endswith("\n\n... 50 further out\n")
    assert noted(found["hold Bottom"], "do dig(depth") == "<-- EXECUTING"
    assert constructs(found["hold Bottom"]) == ""
