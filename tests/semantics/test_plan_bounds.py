"""What `prosec plan` says of a program holds for its runs: programs made at random, run by the small interpreter."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from playing import built, play
from prose_runtime.traits import Traits
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


MANY = 'let xs = session "List"\n' + 'parallel for x in xs:\n  session "Do {x}"\n' * 2
LOOPS = 'loop until **done**:\n  session "Work"\nloop:\n  if **over**:\n    break\n'
LONG = "".join(f'let x{n} = session "Step {n}"\n' for n in range(30))


@pytest.mark.parametrize(
    ("text", "traits"),
    [
        ('session "Hello"\n', Traits(in_context=True)),
        (MANY, Traits(at_once=None)),
        (LOOPS, Traits(in_context=True, unbounded=(1, 3))),
        (LONG, Traits()),
    ],
)
def test_scripts_carry_what_is_notable(text: str, traits: Traits) -> None:
    script, program = built(text)
    assert program.traits == traits
    assert ("traits=" in script) == (traits != Traits()), "what is not notable costs no line"


def test_a_run_says_first_that_it_has_no_bound(tmp_path: Path) -> None:
    ran = play(LOOPS, tmp_path)
    assert ran.warnings[0].startswith("the loops in lines 1, 3 have no max")
    assert play(LONG, tmp_path / "other").warnings == []
