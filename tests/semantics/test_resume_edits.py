"""A program that was edited between two lives: exactly the steps that the edit touches run again."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from playing import Played, play
from prose_runtime.settings import Resumption

EDITS: dict[str, tuple[str, str, list[str]]] = {
    "nothing but a comment and blank lines": (
        """
        let a = session "A"
        session "B"
        """,
        """
        # Explained.

        let a = session "A"

        session "B"
        """,
        [],
    ),
    "a changed prompt runs again, and what depends on its value": (
        """
        let a = session "A"
        let b = session "B"
          context: a
        let c = session "C"
          context: []
        """,
        """
        let a = session "A, but shorter"
        let b = session "B"
          context: a
        let c = session "C"
          context: []
        """,
        ["A, but shorter", "B"],
    ),
    "a new session on top costs itself and those that are told what happened": (
        """
        let a = session "A"
          context: []
        let b = session "B"
          context: a
        session "Told"
        """,
        """
        session "New"
        let a = session "A"
          context: []
        let b = session "B"
          context: a
        session "Told"
        """,
        ["New", "Told"],
    ),
    "a new session between with a context of its own costs itself alone": (
        """
        let a = session "A"
        let c = session "C"
          context: a
        """,
        """
        let a = session "A"
        let b = session "B"
          context: a
        let c = session "C"
          context: a
        """,
        ["B"],
    ),
    "a renamed block": (
        """
        block look(topic):
          let x = session "Look at {topic}"
          session "Sum up"
            context: x
        do look("one")
        do look("two")
        """,
        """
        block examine(topic):
          let x = session "Look at {topic}"
          session "Sum up"
            context: x
        do examine("one")
        do examine("two")
        """,
        [],
    ),
    "an extracted block": (
        """
        let a = session "A"
          context: []
        let b = session "B"
          context: []
        """,
        """
        block both():
          let a = session "A"
            context: []
          let b = session "B"
            context: []
        do both()
        """,
        [],
    ),
    "reordered branches": (
        """
        parallel:
          a = session "A"
          b = do:
            let x = session "B one"
            session "B two"
              context: x
        session "Join"
          context: { a, b }
        """,
        """
        parallel:
          b = do:
            let x = session "B one"
            session "B two"
              context: x
          a = session "A"
        session "Join"
          context: { a, b }
        """,
        [],
    ),
    "a reordered branch changes the account of what happened": (
        """
        parallel:
          a = session "A"
          b = session "B"
        session "Told"
        """,
        """
        parallel:
          b = session "B"
          a = session "A"
        session "Told"
        """,
        ["Told"],
    ),
    "a renamed branch that is one session": (
        """
        parallel:
          a = session "A"
          b = session "B"
        session "Of b"
          context: b
        """,
        """
        parallel:
          first = session "A"
          b = session "B"
        session "Of b"
          context: b
        """,
        [],
    ),
    "a renamed branch of several statements runs again": (
        """
        parallel:
          a = do:
            session "A one"
            session "A two"
              context: []
          b = session "B"
        """,
        """
        parallel:
          other = do:
            session "A one"
            session "A two"
              context: []
          b = session "B"
        """,
        ["A one", "A two"],
    ),
    "a new branch": (
        """
        parallel:
          a = session "A"
          b = session "B"
        """,
        """
        parallel:
          a = session "A"
          b = session "B"
          c = session "C"
        """,
        ["C"],
    ),
    "a renamed variable costs those that are shown it": (
        """
        let draft = session "Draft"
        session "Review"
          context: draft
        session "Apart {draft}"
        session "Alone"
          context: []
        """,
        """
        let text = session "Draft"
        session "Review"
          context: text
        session "Apart {text}"
        session "Alone"
          context: []
        """,
        ["Review"],
    ),
    "another model": (
        """
        session "A"
          model: sonnet
          context: []
        session "B"
          context: []
        """,
        """
        session "A"
          model: opus
          context: []
        session "B"
          context: []
        """,
        ["A"],
    ),
    "an agent's prompt": (
        """
        agent one:
          prompt: "You are one."
        agent two:
          prompt: "You are two."
        session: one
          prompt: "A"
          context: []
        session: two
          prompt: "B"
          context: []
        """,
        """
        agent one:
          prompt: "You are the one."
        agent two:
          prompt: "You are two."
        session: one
          prompt: "A"
          context: []
        session: two
          prompt: "B"
          context: []
        """,
        ["A"],
    ),
    "an agent's name": (
        """
        agent one:
          prompt: "You are one."
        session: one
          prompt: "A"
        """,
        """
        agent uno:
          prompt: "You are one."
        session: uno
          prompt: "A"
        """,
        [],
    ),
    "the name of an agent with a memory": (
        """
        agent one:
          persist: true
          prompt: "You are one."
        session: one
          prompt: "A"
          context: []
        session "B"
          context: []
        """,
        """
        agent uno:
          persist: true
          prompt: "You are one."
        session: uno
          prompt: "A"
          context: []
        session "B"
          context: []
        """,
        ["A"],
    ),
    "retries": (
        """
        session "A"
        """,
        """
        session "A"
          retry: 3
          backoff: exponential
        """,
        [],
    ),
    "more rounds": (
        """
        repeat 2 as i:
          let a = session "Round {i}"
            context: []
        """,
        """
        repeat 4 as i:
          let a = session "Round {i}"
            context: []
        """,
        ["Round 2", "Round 3"],
    ),
    "items in another order, and a new one": (
        """
        parallel for x in ["p", "q", "q"]:
          let a = session "See {x}"
            context: []
          session "Then {x}"
            context: a
        """,
        """
        parallel for x in ["q", "n", "q", "p"]:
          let a = session "See {x}"
            context: []
          session "Then {x}"
            context: a
        """,
        ["See n", "Then n"],
    ),
    "a session moved into a condition and into a try": (
        """
        let a = session "A"
        session "B"
          context: a
        """,
        """
        let a = session "A"
        try:
          if 1 < 2:
            session "B"
              context: a
        finally:
          let n = 1
        """,
        [],
    ),
    "another condition": (
        """
        let a = session "A"
        if **a is good enough**:
          session "B"
            context: a
        """,
        """
        let a = session "A"
        if **a is excellent, no less**:
          session "B"
            context: a
        """,
        ["a is excellent, no less"],
    ),
    "another shape": (
        """
        let a = session "A"
        session "B"
          context: []
        """,
        """
        let a = session "A"
        for x in a:
          let n = x
        session "B"
          context: []
        """,
        ["A"],
    ),
}


def again(folder: Path, source: str, **settings: object) -> Played:
    given: dict[str, object] = {"resume": Resumption("last"), **settings}
    return play(dedent(source), folder, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_runs_again_what_it_touches(edit: str, tmp_path: Path) -> None:
    before, after, run_again = EDITS[edit]
    assert play(dedent(before), tmp_path).outcome.exit_code == 0
    played = again(tmp_path, after)
    assert played.outcome.exit_code == 0, played.outcome.problem
    assert [call.first_line for call in played.calls] == run_again


def test_the_source_before_an_edit_is_kept(tmp_path: Path) -> None:
    play('session "A"\n', tmp_path)
    again(tmp_path, 'session "B"\n')
    played = again(tmp_path, 'session "C"\n')
    kept = {path.name: path.read_text() for path in played.directory.glob("program*.prose")}
    assert kept == {
        "program.prose": 'session "C"\n',
        "program-1.prose": 'session "A"\n',
        "program-2.prose": 'session "B"\n',
    }
    same = again(tmp_path, 'session "C"\n')
    assert len(list(same.directory.glob("program*.prose"))) == 3


def test_strict_resume_refuses_an_edited_program_and_touches_nothing(tmp_path: Path) -> None:
    first = play('session "A"\n', tmp_path)
    before = {path: path.read_bytes() for path in first.directory.rglob("*") if path.is_file()}
    refused = again(tmp_path, 'session "B"\n', resume=Resumption("last", strict=True))
    assert refused.outcome.exit_code == 2
    assert refused.outcome.problem is not None
    assert "has changed" in refused.outcome.problem.message
    assert {p: p.read_bytes() for p in first.directory.rglob("*") if p.is_file()} == before
    assert again(tmp_path, 'session "A"\n', resume=Resumption("last", strict=True)).calls == []


def test_another_value_of_an_input_is_an_edit(tmp_path: Path) -> None:
    source = dedent(
        """
        input topic: "What about?"
        let a = session "About {topic}"
          context: []
        let b = session "Apart"
          context: []
        """
    )
    play(source, tmp_path, inputs={"topic": "cats"})
    assert again(tmp_path, source, inputs={"topic": "cats"}).calls == []
    assert again(tmp_path, source).calls == []
    other = again(tmp_path, source, inputs={"topic": "dogs"})
    assert [call.first_line for call in other.calls] == ["About dogs"]
    # The newest value is the one that is remembered.
    assert again(tmp_path, source).calls == []
    assert again(tmp_path, source).value("topic") == "dogs"
