"""What `prosec plan` says of a program holds for its runs: programs made at random, run by the small interpreter."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from playing import play
from test_semantics_generated import Broken, Frame, World, maker_of

from prosec.compiler import analyse
from prosec.plan import Plan, plan
from prosec.source import Source


def planned(text: str) -> Plan:
    source = Source(text, "case.prose")
    analysed = analyse(source)
    return plan(analysed.program, analysed.analysis, source)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_runs_stay_within_the_bounds(first: int) -> None:
    for seed in range(first, first + 50):
        text, world, main = maker_of(seed).program()
        unbound = False
        read = World.read

        def noting(world: World, frame: Frame, name: str) -> Any:
            nonlocal unbound
            try:
                return read(world, frame, name)  # noqa: B023
            except Broken:
                unbound = True
                raise

        with mock.patch.object(World, "read", noting), suppress(Broken):
            main.run(world, world.root)
        found = planned(text)
        asked = len(world.log)
        assert asked <= found.sessions.most, f"seed {seed}: {asked}, {found.sessions}\n{text}"
        if not unbound:
            # The least is that of a run in which nothing fails but by the program's own throw.
            assert asked >= found.sessions.least, f"seed {seed}: {asked}, {found.sessions}\n{text}"


@pytest.mark.parametrize("seed", range(12))
def test_no_more_run_at_once_than_was_said(seed: int, tmp_path: Path) -> None:
    text, _, _ = maker_of(seed).program()
    ran = play(text, tmp_path, shuffle=seed, max_concurrency=1000)
    assert ran.side.most <= planned(text).at_once
