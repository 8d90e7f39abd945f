"""A crash after any record of the journal: nothing recorded is called again, and the outcome is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from resuming import check_replay, check_same, every_crash
from test_semantics_generated import maker_of

SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 80))]

PROGRAMS = {
    "race": """
        parallel ("first"):
          a = session "Slow"
          b = session "Quick"
        session "After"
          context: { a, b }
    """,
    "any of three in a loop": """
        repeat 3 as i:
          parallel ("any", count: 2):
            a = session "One {i}"
            b = session "Two"
            c = session "Three"
          session "Told"
            context: [a, b, c]
    """,
    "nested race": """
        parallel ("first"):
          left = do:
            let x = session "Left one"
            parallel ("first"):
              p = session "P"
              q = session "Q"
            session "Left two"
              context: [p, q]
          right = do:
            session "Right one"
            session "Right two"
        let end = session "End"
    """,
    "caught failures": """
        try:
          parallel:
            a = session "Works"
            b = session "Breaks"
            c = session "Works too"
        catch as err:
          let told = session "Tell of {err.message}"
        parallel (on-fail: "continue"):
          d = session "Breaks"
          e = session "Fine"
        session "Sum up"
          context: { d, e }
    """,
    "concurrent loops": """
        let results = []
        parallel for x in ["p", "q", "r"]:
          let y = session "Look at {x}"
          results = results + [y]
          let z = session "After {y}"
        let all = results | pmap:
          session "Mark {item}"
        try:
          parallel for x in ["one", "two", "three"]:
            let v = session "Try {x}"
            session "Breaks on {x}"
        catch:
          session "Recover"
        output all = all
    """,
    "blocks": """
        block deepen(topic, depth) (max_depth: 5):
          let a = session "Study {topic}"
          if depth > 0:
            do deepen(a, depth - 1)
          session "No name"
          output a
        parallel:
          u = do deepen("one", 2)
          v = do deepen("two", 1)
        loop until **they agree** (max: 4) as i:
          let w = session "Reconcile {i}"
            context: [u, v]
        choice **who is right**:
          option "u":
            session "Write u"
          option "v":
            session "Write v"
        output w = w
    """,
    "a retry and a throw": """
        let a = session "Breaks once"
          retry: 2
        try:
          throw "no"
        catch as err:
          let b = session "Handle {err.message}"
        finally:
          session "Clean"
        if **all is lost**:
          throw "lost"
        output a = a
    """,
}

ANSWERS = """
"Breaks*" = { error = "it broke" }
"""


RACY = ("race", "any of three in a loop", "nested race", "caught failures", "concurrent loops")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_every_crash_is_survived(name: str, shuffle: int | None, tmp_path: Path) -> None:
    source, racy = PROGRAMS[name], name in RACY
    for first, again, kept in every_crash(source, tmp_path, ANSWERS, shuffle=shuffle):
        check_same(first, again, kept, racy=racy, concurrent=name == "blocks")
        if again.outcome.exit_code == 0:
            check_replay(again, source, tmp_path / f"replay-{kept}", ANSWERS, shuffle=shuffle)


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_programs_survive_crashes(seed: int, tmp_path: Path) -> None:
    maker = maker_of(seed)
    source, _, _ = maker.program()
    for first, again, kept in every_crash(source, tmp_path, shuffle=seed, most=6):
        check_same(first, again, kept, concurrent=maker.concurrent)
        if again.outcome.exit_code == 0:
            check_replay(again, source, tmp_path / f"replay-{kept}", "", shuffle=seed)
