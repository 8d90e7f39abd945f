"""Programs made at random that meet a limit again and again: what they end with, and that nothing is paid for twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from playing import play
from prose_runtime.settings import Bounds, Resumption
from resuming import results
from test_semantics_generated import maker_of

SEEDS = [
    *range(12),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in range(24, 80)),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_in_small_portions_ends_as_one_in_one_go(seed: int, tmp_path: Path) -> None:
    source, _, _ = maker_of(seed).program()
    whole = play(source, tmp_path / "whole", shuffle=seed)
    sessions = len(whole.sessions)
    portion = max(1, sessions // 5)
    allowed = portion
    ran = play(source, tmp_path / "parts", shuffle=seed, bounds=Bounds(sessions=allowed))
    called = len(ran.sessions)
    while ran.outcome.status == "stopped":
        assert called == allowed, f"{called} of {allowed} allowed were started\n{source}"
        allowed += portion
        ran = play(
            source,
            tmp_path / "parts",
            shuffle=seed + allowed,
            bounds=Bounds(sessions=allowed),
            resume=Resumption("last"),
        )
        called += len(ran.sessions)
        assert called <= allowed, f"{called} were started, {allowed} allowed\n{source}"
    assert ran.outcome.exit_code == whole.outcome.exit_code, f"{source}\n{ran.outcome.problem}"
    assert called == sessions, source
    assert len(results(ran)) == len(results(whole))
    assert ran.outcome.costs.sessions == sessions
    if whole.outcome.exit_code == 0:
        found = {name: value.plain() for name, value in ran.outcome.outputs.items()}
        assert found == {name: value.plain() for name, value in whole.outcome.outputs.items()}
