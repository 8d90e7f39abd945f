"""Failures over two lives: what the program handled is raised again, what ended the run is tried again."""

from __future__ import annotations

from pathlib import Path

import pytest
from resuming import again, asked, cut, first, records, rewrite, until

FAILS = '"Break*" = { error = "it broke" }\n'

ENDINGS: dict[str, tuple[str, list[str]]] = {
    "a session, with a finally": (
        """
        try:
          session "Break"
        finally:
          session "Clean"
            context: []
        """,
        ["Break"],
    ),
    "every branch of a race": (
        """
        parallel ("first"):
          a = session "Break a"
          b = session "Break b"
        """,
        ["Break a", "Break b"],
    ),
    "every branch of a race, with a finally": (
        """
        try:
          parallel ("first"):
            a = session "Break a"
            b = session "Break b"
        finally:
          session "Clean"
            context: []
        """,
        ["Break a", "Break b"],
    ),
    "too few of a race, with a finally in the branch and around it": (
        """
        try:
          parallel ("any", count: 2):
            a = do:
              try:
                session "Break a"
              finally:
                session "Clean a"
                  context: []
            b = session "B"
        finally:
          session "Clean"
            context: []
        """,
        ["Break a"],
    ),
    "a round, with a finally": (
        """
        try:
          parallel for x in ["one"]:
            session "Break {x}"
        finally:
          session "Clean"
            context: []
        """,
        ["Break one"],
    ),
    "a session deep in blocks that all have a finally": (
        """
        block outer():
          try:
            do inner()
          finally:
            session "Clean outer"
              context: []
        block inner():
          try:
            session "Break"
          finally:
            session "Clean inner"
              context: []
        do outer()
        """,
        ["Break"],
    ),
    "what a catch raises again": (
        """
        try:
          session "Break"
        catch as err:
          session "Note"
            context: []
          throw err
        """,
        ["Break"],
    ),
    "what a catch raises again without a name": (
        """
        try:
          session "Break"
        catch:
          session "Note"
            context: []
          throw
        """,
        ["Break"],
    ),
    "a session in a catch": (
        """
        try:
          session "Break one"
        catch:
          session "Break two"
        """,
        ["Break two"],
    ),
    "a session in a finally": (
        """
        try:
          session "Fine"
        finally:
          session "Break"
        """,
        ["Break"],
    ),
    "a session in a finally after another in the try": (
        """
        try:
          session "Break one"
        finally:
          session "Break two"
        """,
        ["Break one", "Break two"],
    ),
    "a session in a catch in a finally": (
        """
        try:
          session "Fine"
        finally:
          try:
            session "Break one"
          catch:
            session "Break two"
        """,
        ["Break two"],
    ),
    "a question": (
        """
        if **Break this, please**:
          session "Then"
        """,
        ["Break this, please", "Then"],
    ),
    "a question, with a finally": (
        """
        try:
          if **Break this, please**:
            session "Then"
              context: []
        finally:
          session "Clean"
            context: []
        """,
        ["Break this, please", "Then"],
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_ended_the_run_runs_again(ending: str, tmp_path: Path) -> None:
    source, run_again = ENDINGS[ending]
    assert first(tmp_path, source, FAILS).outcome.exit_code == 1
    # It fails once more, and is tried once more.
    assert again(tmp_path, source, FAILS).outcome.exit_code == 1
    done = again(tmp_path, source)
    assert (asked(done), done.outcome.exit_code) == (run_again, 0), done.outcome.problem
    assert again(tmp_path, source).calls == []


HANDLED: dict[str, str] = {
    "by a catch without steps": """
        try:
          session "Break"
        catch:
          let x = 1
        session "After"
          context: []
        """,
    "by a catch around a finally": """
        try:
          try:
            session "Break"
          finally:
            session "Clean"
              context: []
        catch:
          session "Handle"
            context: []
        """,
    "by a catch around a catch that raises again": """
        try:
          try:
            session "Break"
          catch as inner:
            session "Note"
              context: []
            throw inner
        catch as outer:
          session "Handle {outer.message}"
            context: []
        """,
    "in a branch that succeeds": """
        parallel:
          a = do:
            try:
              session "Break a"
            catch:
              let x = 1
          b = session "B"
        """,
    "in a branch that succeeds, while another fails": """
        try:
          parallel:
            a = do:
              try:
                session "Break a"
              catch:
                let x = 1
            b = do:
              session "B"
                context: []
              session "Break b"
                context: []
        catch:
          session "Handle"
            context: []
        """,
    "by a round that goes on": """
        parallel for x in ["one", "two"]:
          try:
            session "Break {x}"
              context: []
          catch:
            let y = 1
        """,
    "by on-fail of a loop": """
        parallel for x in ["one", "two"] (on-fail: "ignore"):
          session "Break {x}"
            context: []
        session "After"
          context: []
        """,
    "by on-fail of a race that is lost": """
        parallel ("any", count: 2, on-fail: "continue"):
          a = session "Break a"
          b = session "Break b"
          c = session "C"
        session "After"
          context: { a, b, c }
        """,
    "by a race that is won": """
        parallel ("first"):
          a = session "Break a"
          b = do:
            session "B one"
            session "B two"
        session "After"
          context: { a, b }
        """,
    "in a catch, in a finally, and in a loop": """
        repeat 2:
          try:
            session "Break one"
              context: []
          catch:
            try:
              session "Break two"
                context: []
            catch:
              session "Handle"
                context: []
          finally:
            try:
              session "Break three"
                context: []
            catch:
              let z = 1
        """,
    "as a question": """
        try:
          if **Break this, please**:
            session "Then"
        catch as err:
          session "Handle {err.kind}"
            context: []
        """,
}


@pytest.mark.parametrize("how", HANDLED)
def test_what_was_handled_is_raised_again(how: str, tmp_path: Path) -> None:
    source = HANDLED[how]
    played = first(tmp_path, source, FAILS, shuffle=3)
    assert played.outcome.exit_code == 0, played.outcome.problem
    count = len(records(played))
    # Nothing would fail any more.
    resumed = again(tmp_path, source)
    assert resumed.calls == []
    assert resumed.outcome.resumed is not None
    assert (resumed.outcome.resumed.ran, resumed.outcome.resumed.left) == (0, 0)
    assert [r["r"] for r in records(resumed)[count:]] == ["run", "end"]


def test_a_failure_is_not_handled_by_a_finally(tmp_path: Path) -> None:
    source = """
        try:
          session "Break"
        finally:
          session "Clean"
            context: []
        """
    played = first(tmp_path, source, FAILS)
    # Killed while the finally cleans up.
    rewrite(played, until("ask", "Clean"))
    resumed = again(tmp_path, source)
    assert (asked(resumed), resumed.outcome.exit_code) == (["Break", "Clean"], 0)


def test_a_failure_is_not_yet_handled_while_a_finally_inside_the_catch_runs(tmp_path: Path) -> None:
    source = """
        block careful():
          try:
            session "Break"
          finally:
            session "Clean one"
              context: []
            session "Clean two"
              context: []
        try:
          do careful()
        catch:
          session "Handle"
            context: []
        """
    played = first(tmp_path, source, FAILS)
    rewrite(played, until("result", "Clean one"))
    resumed = again(tmp_path, source)
    assert asked(resumed) == ["Break", "Clean two"]


def test_a_failure_that_a_catch_in_a_finally_handles_is_handled(tmp_path: Path) -> None:
    source = """
        try:
          let a = session "A"
            context: []
        finally:
          try:
            session "Break"
              context: []
          catch:
            session "Handle one"
              context: []
            session "Handle two"
              context: []
        """
    played = first(tmp_path, source, FAILS)
    rewrite(played, until("result", "Handle one"))
    assert asked(again(tmp_path, source)) == ["Handle two"]


def test_a_handled_failure_whose_step_is_edited_runs(tmp_path: Path) -> None:
    source = """
        try:
          session "Break"
            context: []
          session "More"
            context: []
        catch:
          session "Handle"
            context: []
        """
    first(tmp_path, source, FAILS)
    mended = again(tmp_path, source.replace('"Break"', '"Mended"'))
    assert asked(mended) == ["Mended", "More"]
    # The old step is still what it was.
    assert again(tmp_path, source).calls == []


def test_a_failure_that_was_handled_ends_the_run_where_the_catch_is_gone(tmp_path: Path) -> None:
    source = """
        try:
          session "Break"
        catch:
          session "Handle"
        """
    first(tmp_path, source, FAILS)
    bare = 'session "Break"\n'
    assert again(tmp_path, bare).outcome.exit_code == 1
    # That it ended the run now is what counts.
    tried = again(tmp_path, bare)
    assert (asked(tried), tried.outcome.exit_code) == (["Break"], 0)


def test_retries_count_over_three_lives_that_die_and_start_anew_for_another_prompt(
    tmp_path: Path,
) -> None:
    source = """
        session "Break"
          retry: 5
        """
    made = []
    played = first(tmp_path, source, FAILS)
    for life in range(3):
        made.append(len(played.sessions[0].requests))
        found = records(played)
        retries = [n for n, record in enumerate(found) if record["r"] == "retry"]
        cut(played, retries[life] + 1)
        played = again(tmp_path, source, FAILS)
    assert [*made, len(played.sessions[0].requests)] == [6, 5, 4, 3]
    other = again(tmp_path, source.replace("Break", "Break it"), FAILS)
    assert len(other.sessions[0].requests) == 6


def test_a_retry_that_is_added_counts_the_attempt_that_failed(tmp_path: Path) -> None:
    assert first(tmp_path, 'session "Break"\n', FAILS).outcome.exit_code == 1
    resumed = again(tmp_path, 'session "Break"\n  retry: 2\n', FAILS)
    assert len(resumed.sessions[0].requests) == 2
