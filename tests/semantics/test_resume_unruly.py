"""Programs made at random, killed at random in one life after the other: nothing is paid for twice, and whatever came
of a run comes of it again.

Every answer is another text, so that a step that took the answer of another one can't go unnoticed.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from playing import Played, play
from prose_runtime.settings import Resumption
from resuming import asked, crashed, records, results
from unruly import Maker, Unruly

SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 44))]
LIVES = 3
"""The most lives of a run after its first."""


class Forbidden(Unruly):
    """Whoever asks it fails the test."""

    async def complete(self, request: object) -> None:  # type: ignore[override]
        raise AssertionError(f"called: {request}")


def check_replays(played: Played, source: str, folder: Path) -> None:
    """The run that has ended, its files gone, comes out as it did, and nothing is left to record."""
    count = len(records(played))
    crashed(played, count, folder)
    silent = Forbidden(random.Random(0))
    replayed = play(source, folder, resume=Resumption("last"), model=silent)
    assert asked(replayed) == []
    assert replayed.outcome.exit_code == 0, replayed.outcome.problem
    assert replayed.outcome.outputs == played.outcome.outputs
    assert replayed.outcome.last == played.outcome.last
    assert [record["r"] for record in records(replayed)[count:]] == ["run", "end"]
    resumed = replayed.outcome.resumed
    assert resumed is not None
    assert resumed.ran == 0
    if not any(record["r"] == "race" for record in records(played)):
        assert resumed.left == 0, "a record was not used"


def died(played: Played, chance: random.Random, folder: Path) -> int:
    """Leave in `folder` what a crash at some moment of the newest life leaves; the records that are kept."""
    found = records(played)
    newest = max(n for n, record in enumerate(found) if record["r"] == "run")
    kept = chance.randint(newest + 1, len(found))
    if chance.random() < 0.5:
        crashed(played, kept, folder)
    else:
        # Its files may be ahead of its journal.
        shutil.copytree(played.directory.parents[2], folder)
        there = folder / ".prose" / "runs" / played.directory.name / "journal.jsonl"
        there.write_bytes(b"".join(there.read_bytes().splitlines(keepends=True)[:kept]))
    return kept


@pytest.mark.parametrize("fails", [0.0, 0.2], ids=["sure", "failing"])
@pytest.mark.parametrize("races", [True, False], ids=["races", "all"])
@pytest.mark.parametrize("seed", SEEDS)
def test_lives_agree(seed: int, races: bool, fails: float, tmp_path: Path) -> None:
    source = Maker(seed, races=races).program()
    chance = random.Random(seed)
    model = Unruly(random.Random(seed + 1), fails)
    played = play(source, tmp_path / "whole", shuffle=seed, model=model)
    assert played.outcome.exit_code == 0, played.outcome.problem
    check_replays(played, source, tmp_path / "replay")
    for life in range(chance.randint(1, LIVES)):
        folder = tmp_path / f"life-{life}"
        kept = died(played, chance, folder)
        before = {r["id"] for r in records(played)[:kept] if r["r"] == "result"}
        played = play(
            source,
            folder,
            shuffle=chance.randint(0, 1_000_000),
            model=model,
            resume=Resumption("last"),
            max_concurrency=chance.choice([1, 2, 10]),
        )
        assert played.outcome.exit_code == 0, played.outcome.problem
        called = {r["id"] for r in records(played)[kept:] if r["r"] == "result"}
        assert not before & called, "a recorded step was called again"
        results(played)
        resumed = played.outcome.resumed
        assert resumed is not None
        assert resumed.ran == len(played.calls)
        if not races and not fails:
            assert resumed.left == 0, "a record was not used"
    check_replays(played, source, tmp_path / "replay-in-the-end")
