"""Programs made at random and then edited: exactly the steps run again that a small model of identity says.

In these programs sessions are shown no more than their prompt. So what makes one the same step in another life is the
branches and concurrent rounds around it, its prompt, and how many such there were before: nothing else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import test_semantics_generated as language
from playing import Played, play
from prose_runtime.settings import Resumption
from resuming import asked
from test_semantics_generated import (
    Broken,
    Do,
    For,
    If,
    Number,
    Pipe,
    Session,
    Suite,
    Try,
    maker_of,
    source_of,
    world_of,
)

SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 60))]

Steps = Counter[tuple[tuple[str, ...], str]]


@dataclass
class Tried:
    """What the model says of a program: how often each step is made, and whether the program fails."""

    steps: Steps
    failed: bool


def tried(bodies: dict[str, Any], main: Suite) -> Tried:
    world = world_of(bodies)
    failed = False
    try:
        main.run(world, world.root)
    except Broken:
        failed = True
    return Tried(Counter(world.steps), failed)


def parts(node: Any) -> Iterator[Any]:
    """A statement and all that stand in it."""
    yield node
    for one in fields(node):
        value = getattr(node, one.name)
        for inner in value if isinstance(value, list) else [value]:
            if hasattr(inner, "__dataclass_fields__"):
                yield from parts(inner)


class Editor:
    """Makes one small edit at a time."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.number = 0

    def edit(self, bodies: dict[str, Any], main: Suite) -> None:
        everything = [part for root in (main, *bodies.values()) for part in parts(root)]
        suites = [part for part in everything if isinstance(part, Suite)]
        way = self.chance.choice(
            ["say", "say", "add", "add", "drop", "twice", "swap", "wrap", "items", "number"]
        )
        getattr(self, f"_{way}")(self.chance.choice(suites), everything)

    def _fresh(self) -> str:
        self.number += 1
        return f"Edit {self.number}"

    def _say(self, suite: Suite, everything: list[Any]) -> None:
        sessions = [part for part in everything if isinstance(part, Session)]
        if sessions:
            self.chance.choice(sessions).words = self._fresh()

    def _add(self, suite: Suite, everything: list[Any]) -> None:
        # Not at the end, where it would be the value of what is around it.
        suite.statements.insert(
            self.chance.randrange(len(suite.statements)), Session(self._fresh(), [])
        )

    def _plain(self, suite: Suite) -> list[int]:
        """Where sessions stand that bind nothing and are not the last."""
        return [n for n, one in enumerate(suite.statements[:-1]) if isinstance(one, Session)]

    def _drop(self, suite: Suite, everything: list[Any]) -> None:
        if places := self._plain(suite):
            del suite.statements[self.chance.choice(places)]

    def _twice(self, suite: Suite, everything: list[Any]) -> None:
        if places := self._plain(suite):
            place = self.chance.choice(places)
            suite.statements.insert(place, deepcopy(suite.statements[place]))

    def _swap(self, suite: Suite, everything: list[Any]) -> None:
        if places := self._plain(suite):
            place = self.chance.choice(places)
            moved = suite.statements.pop(place)
            suite.statements.insert(self.chance.randint(0, place), moved)

    def _wrap(self, suite: Suite, everything: list[Any]) -> None:
        if places := self._plain(suite):
            place = self.chance.choice(places)
            inside = Suite([suite.statements[place]])
            after = Suite([Session(self._fresh(), [])])
            always = language.Test(Number(1), "<", 2)
            suite.statements[place] = self.chance.choice(
                [Do(inside), If(always, inside, None), Try(inside, after, None)]
            )

    def _items(self, suite: Suite, everything: list[Any]) -> None:
        loops = [part for part in everything if isinstance(part, For | Pipe) and part.items]
        if not loops:
            return
        items = self.chance.choice(loops).items
        way = self.chance.randrange(3)
        if way == 0:
            self.chance.shuffle(items)
        elif way == 1:
            items.insert(self.chance.randint(0, len(items)), self.chance.choice([*items, 10]))
        else:
            items.pop(self.chance.randrange(len(items)))

    def _number(self, suite: Suite, everything: list[Any]) -> None:
        numbers = [part for part in everything if isinstance(part, Number)]
        if numbers:
            self.chance.choice(numbers).number += 1


def lived(
    source: str, folder: Path, before: Steps, wanted: Tried, **settings: Any
) -> tuple[Played, Steps]:
    """One life over what earlier ones have recorded; what is recorded after it."""
    played = play(source, folder, shuffle=len(before), **settings)
    assert played.outcome.exit_code == (1 if wanted.failed else 0), f"{source}\n{played.outcome}"
    called = Counter(asked(played))
    missing: Counter[str] = Counter()
    for (_, prompt), count in (wanted.steps - before).items():
        missing[prompt.strip()] += count
    assert called == missing, f"{source}\ncalled {called - missing}, not {missing - called}"
    return played, before | wanted.steps


@pytest.mark.parametrize("seed", SEEDS)
def test_edits_run_again_what_they_touch(seed: int, tmp_path: Path) -> None:
    maker = maker_of(seed)
    source, world, main = maker.program()
    bodies = world.bodies
    _, recorded = lived(source, tmp_path, Counter(), tried(bodies, main))
    editor = Editor(seed)
    for _ in range(3):
        for _ in range(editor.chance.randint(1, 2)):
            editor.edit(bodies, main)
        source = source_of(bodies, main)
        _, recorded = lived(
            source, tmp_path, recorded, tried(bodies, main), resume=Resumption("last")
        )
