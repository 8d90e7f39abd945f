"""The benchmarks run: nothing is asserted about time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def output(*options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("compile", ["check, 70 lines", "build, 70 lines", "prosec check, process", "one text"]),
        ("sessions", ["3 at once, cap 2: added per session", "bare raw stream", "memory"]),
        ("startup", ["python -c pass", "prosec --help", "script.py --help"]),
        ("rounds", ["10 rounds, sessions: processor time", "10 rounds, sessions: time"]),
        pytest.param("resume", ["3 steps, sessions", "fresh start"], marks=pytest.mark.long),
        ("memory", ["4 steps, sessions", "4 steps, resumed, sessions"]),
        ("watching", ["3 sessions: state.md", "3 sessions on 3 lines: narrated"]),
    ],
)
def test_a_part_prints_its_table(part: str, lines: list[str]) -> None:
    printed = output("--smallest", "--only", part)
    assert [line for line in lines if line not in printed] == []


@pytest.mark.long
def test_the_quick_form_runs() -> None:
    # One part of it stands for all: each runs in its smallest form by default.
    assert "200 in sequence: added per session" in output("--quick", "--only", "sessions")
