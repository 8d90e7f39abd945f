"""Deleting old runs: which ones go, that nobody loses a run by accident, and that nothing else is touched."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prose_runtime import Run
from prose_runtime.__main__ import main
from prose_runtime.clock import SystemClock
from prose_runtime.history import Made
from prose_runtime.journal import Journal
from prose_runtime.pruning import Rule, age, chosen
from scripted import Scripted, failing, played

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Later(SystemClock):
    """A clock that is so many days ahead."""

    def __init__(self, days: float = 0) -> None:
        self.days = days

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)


class Kept:
    """A folder of runs: one that completed, one that failed, one that waits."""

    def __init__(self, folder: Path) -> None:
        async def one(run: Run) -> None:
            await run.session("One")

        async def waits(run: Run) -> None:
            await run.input("topic")

        self.folder = folder
        self.completed = str(played(one, folder).outcome.run_id)
        self.failed = str(played(one, folder, Scripted({"One": failing()})).outcome.run_id)
        self.waiting = str(played(waits, folder).outcome.run_id)
        self.runs = folder / ".prose" / "runs"

    def prune(self, *options: str, days: float = 40) -> int:
        place = ["--prose-dir", str(self.folder / ".prose")]
        return main(["runs", "--prune", *options, *place], Later(days))

    @property
    def left(self) -> set[str]:
        return {path.name for path in self.runs.iterdir()}


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def run(program: str, status: str, days: float) -> Made:
    """A run that ended so many days ago."""
    ended = NOW - timedelta(days=days)
    name = f"{ended:%Y%m%d-%H%M%S}-aaaaaa"
    return Made(name, program, status, ended=f"{ended:%Y-%m-%dT%H:%M:%SZ}")


RUNS = [
    run("a.prose", "running", 0),
    run("a.prose", "completed", 1),
    run("b.prose", "failed", 29.9),
    run("a.prose", "completed", 30),
    run("a.prose", "interrupted", 60),
    run("b.prose", "completed", 61),
    run("a.prose", "failed", 62),
]


@pytest.mark.parametrize(
    ("rule", "going"),
    [
        (Rule(), [3, 5, 6]),
        (Rule(older_than=timedelta()), [1, 2, 3, 5, 6]),
        (Rule(older_than=timedelta(days=61, hours=12)), [6]),
        (Rule(older_than=timedelta(), keep=1), [1, 3, 5, 6]),
        (Rule(older_than=timedelta(), keep=2), [3, 6]),
        (Rule(keep=9), []),
        (Rule(frozenset({"interrupted"})), [4]),
        (Rule(frozenset({"completed", "interrupted"}), timedelta(), 1), [1, 3, 4, 5]),
    ],
)
def test_which_runs_go(rule: Rule, going: list[int]) -> None:
    assert list(chosen(RUNS, rule, NOW)) == [RUNS[number] for number in going]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
        ("0d", timedelta()),
    ],
)
def test_ages(text: str, time: timedelta) -> None:
    assert age(text) == time


@pytest.mark.parametrize(
    "wrong",
    [
        ["--older-than", "30"],
        ["--older-than", "-1d"],
        ["--older-than", "99999999999d"],
        ["--keep", "0"],
        ["--keep", "many"],
        ["--status", "running"],
        ["--status", "completed,done"],
        ["--status", ""],
    ],
)
def test_wrong_usage(kept: Kept, wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert kept.prune(*wrong, "--yes") == 2
    assert f"argument {wrong[0]}" in capsys.readouterr().err
    assert len(kept.left) == 3


def test_without_a_terminal_nothing_goes_unless_it_is_said(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kept.prune() == 0
    out = capsys.readouterr().out
    assert kept.completed in out and kept.failed in out and kept.waiting not in out
    assert out.endswith("2 runs to delete: nothing was deleted; --yes deletes them\n")
    assert len(kept.left) == 3
    assert kept.prune("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["deleted"], set(found["would_delete"])) == ([], {kept.completed, kept.failed})
    assert len(kept.left) == 3
    assert kept.prune("--yes") == 0
    assert capsys.readouterr().out == "deleted 2 runs\n"
    assert kept.left == {kept.waiting}
    assert kept.prune("--yes") == 0
    assert "no run in " in capsys.readouterr().out
    assert kept.prune("--yes", "--json", "--status", "waiting", "--older-than", "1w") == 0
    assert json.loads(capsys.readouterr().out)["deleted"] == [kept.waiting]
    assert kept.left == set()


def test_runs_of_another_program_stay(kept: Kept) -> None:
    assert kept.prune("--yes", "--program", "other.prose") == 0
    assert len(kept.left) == 3
    assert kept.prune("--yes", days=29) == 0
    assert len(kept.left) == 3
    assert kept.prune("--yes", "--keep", "2", days=0) == 0
    assert len(kept.left) in (2, 3)


@pytest.mark.parametrize(("answer", "left"), [("y\n", 1), ("yes\n", 1), ("n\n", 3), ("", 3)])
def test_on_a_terminal_it_asks(
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    left: int,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stdout", screen)
    assert kept.prune() == 0
    assert "delete these 2 runs for good? [y/N] " in screen.getvalue()
    assert len(kept.left) == left


def test_a_run_that_a_process_works_on_stays(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Journal(kept.runs / kept.failed / "journal.jsonl")):
        assert kept.prune("--yes") == 1
        said = capsys.readouterr()
        assert said.out == "deleted 1 run\n"
        assert f"{kept.failed} is not deleted: process " in said.err
        assert "is working on this run" in said.err
        assert kept.left == {kept.failed, kept.waiting}
        assert (kept.runs / kept.failed / "state.md").exists()
    assert kept.prune("--yes") == 0
    assert kept.left == {kept.waiting}


def test_nothing_outside_is_touched(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    (kept.runs / kept.failed).rename(outside)
    (kept.runs / kept.failed).symlink_to(outside)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("precious")
    (kept.runs / kept.completed / "link").symlink_to(precious)
    (kept.runs / "notes").mkdir()
    assert kept.prune("--yes") == 1
    assert "is a link to another folder, which is left alone" in capsys.readouterr().err
    assert (outside / "journal.jsonl").exists()
    assert (precious / "file").read_text() == "precious"
    assert kept.left == {kept.failed, kept.waiting, "notes"}


def test_what_can_not_be_deleted_is_said(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(self: Path, target: Path) -> Callable[[], None]:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "rename", refuses)
    assert kept.prune("--yes") == 1
    assert "Permission denied" in capsys.readouterr().err
    assert len(kept.left) == 3
    assert (kept.runs / kept.completed / "journal.jsonl").exists()
