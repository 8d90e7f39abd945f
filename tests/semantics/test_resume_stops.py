"""Runs that stopped, for a person, at a limit or by a signal: no catch or finally begins, and the try goes on later."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from playing import SETTLED, Played, turns
from prose_runtime.providers.protocol import Reply, Request
from prose_runtime.settings import Bounds
from resuming import again, asked, bindings, cut, first, records
from unruly import Unruly

# Waiting

TRIES: dict[str, tuple[str, list[str], list[str]]] = {
    "a try with all its parts": (
        """
        try:
          session "A"
            context: []
          input topic: "What about?"
          session "About {topic}"
            context: []
        catch:
          session "Handle"
            context: []
        finally:
          session "Clean"
            context: []
        """,
        ["A"],
        ["About tea", "Clean"],
    ),
    "tries in tries, in a block and in a loop": (
        """
        block ask():
          try:
            try:
              input topic: "What about?"
              session "About {topic}"
                context: []
            finally:
              session "Clean one"
                context: []
          finally:
            session "Clean two"
              context: []
        repeat 2:
          try:
            do ask()
          catch:
            session "Handle"
              context: []
          break
        """,
        [],
        ["About tea", "Clean one", "Clean two"],
    ),
    "a catch that asks": (
        """
        try:
          session "Break"
            context: []
        catch as err:
          input topic: "What about?"
          session "About {topic}, {err.message}"
            context: []
        finally:
          session "Clean"
            context: []
        """,
        ["Break"],
        ["About tea, it broke", "Clean"],
    ),
    "a finally that asks": (
        """
        try:
          session "A"
            context: []
        finally:
          session "Clean"
            context: []
          input topic: "What about?"
          session "About {topic}"
            context: []
        """,
        ["A", "Clean"],
        ["About tea"],
    ),
    "a finally that asks after a failure": (
        """
        try:
          try:
            session "Break"
              context: []
          finally:
            input topic: "What about?"
            session "About {topic}"
              context: []
        catch as err:
          session "Handle {err.message}"
            context: []
        """,
        ["Break"],
        ["Break", "About tea", "Handle it broke"],
    ),
    "a branch of a parallel in a try": (
        """
        try:
          parallel:
            a = do:
              try:
                input topic: "What about?"
                session "About {topic}"
                  context: []
              finally:
                session "Clean a"
                  context: []
            b = do:
              try:
                session "B"
                  context: []
              finally:
                session "Clean b"
                  context: []
        catch:
          session "Handle"
            context: []
        finally:
          session "Clean"
            context: []
        """,
        ["B", "Clean b"],
        ["About tea", "Clean a", "Clean"],
    ),
    "a round among others": (
        """
        let all = []
        try:
          parallel for x in ["1", "2", "3"]:
            let y = session "Look {x}"
              context: []
            if x == "2":
              input topic: "What about?"
              y = session "About {topic}"
                context: []
            all = all + [y]
            session "Then {x}"
              context: []
        finally:
          session "Clean"
            context: []
        session "All {all}"
          context: []
        """,
        ["Look 1", "Look 2", "Look 3", "Then 1"],
        [
            "About tea",
            "Then 2",
            "Then 3",
            "Clean",
            'All ["[simulated] Look 1", "[simulated] About tea", "[simulated] Look 3"]',
        ],
    ),
    "a pipeline": (
        """
        let all = ["1", "2"] | map:
          if item == "2":
            input topic: "What about?"
          session "Look {item}"
            context: []
        """,
        ["Look 1"],
        ["Look 2"],
    ),
}

FAILS = '"Break*" = { error = "it broke" }\n'


@pytest.mark.parametrize("what", TRIES)
def test_a_try_that_waited_goes_on(what: str, tmp_path: Path) -> None:
    source, before, after = TRIES[what]
    waiting = first(tmp_path, source, FAILS)
    assert (sorted(asked(waiting)), waiting.outcome.status) == (sorted(before), "waiting")
    # Whoever resumes without a value gets nowhere, and pays for nothing.
    still = again(tmp_path, source, FAILS)
    tried_again = ["Break"] if after[0] == "Break" else []
    assert (asked(still), still.outcome.status) == (tried_again, "waiting")
    done = again(tmp_path, source, FAILS, inputs={"topic": "tea"})
    assert (asked(done), done.outcome.status) == (after, "completed")
    assert again(tmp_path, source).calls == []


def test_two_branches_wait_for_different_inputs(tmp_path: Path) -> None:
    source = """
        parallel:
          p = do:
            input one: "One?"
            session "P {one}"
              context: []
          q = do:
            session "Q"
              context: []
            input two: "Two?"
            session "Q {two}"
              context: []
          r = do:
            session "R"
              context: []
            session "R more"
              context: []
        session "Join"
          context: { p, q, r }
        """
    waiting = first(tmp_path, source)
    assert sorted(asked(waiting)) == ["Q", "R", "R more"]
    assert asked(again(tmp_path, source, inputs={"two": "2"})) == ["Q 2"]
    done = again(tmp_path, source, inputs={"one": "1"})
    assert (asked(done), done.outcome.status) == (["P 1", "Join"], "completed")


def test_rounds_that_all_wait_for_one_input_are_given_a_value_each(tmp_path: Path) -> None:
    source = """
        parallel for x in ["1", "2", "2"]:
          input topic: "For {x}?"
          session "{x} about {topic}"
            context: []
        """
    assert first(tmp_path, source).outcome.status == "waiting"
    lives = [again(tmp_path, source, inputs={"topic": f"t{n}"}) for n in range(3)]
    assert [life.outcome.status for life in lives] == ["waiting", "waiting", "completed"]
    assert sorted(prompt for life in lives for prompt in asked(life)) == [
        "1 about t0",
        "2 about t1",
        "2 about t2",
    ]
    assert again(tmp_path, source).calls == []


def test_a_person_s_answer_is_journaled_once_and_never_asked_for_again(tmp_path: Path) -> None:
    source = """
        repeat 2 as i:
          input topic: "Round {i}?"
          parallel:
            a = session "A {topic}"
            b = do:
              input other: "And {i}?"
              session "B {other}"
                context: []
        """
    person = {"topic": "tea", "other": "cake"}
    played = first(tmp_path / "whole", source, person=person)
    total = len(records(played))
    for kept in range(1, total + 1):
        folder = tmp_path / f"crash-{kept}"
        copy(played, folder, kept)
        known = [r["id"] for r in records_in(folder, played) if r["r"] == "input"]
        resumed = again(folder, source, person=person)
        given = [r["id"] for r in records(resumed) if r["r"] == "input"]
        assert len(given) == len(set(given)) == 4
        assert given[: len(known)] == known
        assert bindings(resumed) == bindings(played)


def copy(played: Played, folder: Path, kept: int) -> None:
    there = folder / ".prose" / "runs" / played.directory.name
    there.mkdir(parents=True)
    lines = (played.directory / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (there / "journal.jsonl").write_bytes(b"".join(lines[:kept]))


def records_in(folder: Path, played: Played) -> list[dict[str, Any]]:
    journal = folder / ".prose" / "runs" / played.directory.name / "journal.jsonl"
    return [json.loads(line) for line in journal.read_text().splitlines()]


# Limits


def test_the_safety_cap_counts_rounds_not_lives(tmp_path: Path) -> None:
    source = """
        try:
          loop as i:
            session "Round {i}"
              context: []
        catch:
          session "Handle"
        finally:
          session "Clean"
        """
    stopped = first(tmp_path, source, max_rounds=3)
    assert (stopped.outcome.status, stopped.outcome.exit_code) == ("stopped", 75)
    assert asked(again(tmp_path, source, max_rounds=3)) == []
    more = again(tmp_path, source, max_rounds=5)
    assert (asked(more), more.outcome.status) == (["Round 3", "Round 4"], "stopped")


@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_a_run_of_one_session_at_a_time_comes_to_its_end(
    shuffle: int | None, tmp_path: Path
) -> None:
    source = """
        block look(x):
          try:
            session "Look {x}"
            session "Look again {x}"
          catch:
            session "Handle {x}"
          finally:
            session "Clean {x}"
        parallel:
          a = do look("a")
          b = do look("b")
          c = session "C"
        parallel for y in ["1", "1", "2"]:
          do look(y)
        session "End"
        """
    whole = first(tmp_path / "whole", source, shuffle=shuffle)
    played = first(tmp_path, source, shuffle=shuffle, bounds=Bounds(sessions=1))
    lives, prompts = 1, asked(played)
    while played.outcome.status == "stopped":
        lives += 1
        bounds = Bounds(sessions=lives)
        played = again(tmp_path, source, shuffle=shuffle, bounds=bounds)
        prompts += asked(played)
        assert lives < 40
    assert played.outcome.status == "completed"
    assert sorted(prompts) == sorted(asked(whole))
    assert {name.split("_")[0] for name in bindings(played)} == {
        name.split("_")[0] for name in bindings(whole)
    }


# Signals


class Interrupting(Unruly):
    """Sends this process a signal while a session runs, and then answers."""

    def __init__(self, when: str, times: int = 1) -> None:
        super().__init__(random.Random(0))
        self.when = when
        self.times = times

    async def complete(self, request: Request) -> Reply:
        if request.hints.asked == self.when:
            for _ in range(self.times):
                os.kill(os.getpid(), signal.SIGINT)
                await turns(SETTLED)
            self.when = ""
        return await super().complete(request)


INTERRUPTED = """
    try:
      parallel:
        a = do:
          session "A one"
            context: []
          session "A two"
            context: []
        b = session "B"
      try:
        session "C one"
          context: []
        session "C two"
          context: []
      finally:
        session "Clean inside"
          context: []
    catch:
      session "Handle"
        context: []
    finally:
      session "Clean"
        context: []
    """


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("when", ["A one", "B", "A two", "C one", "C two", "Clean inside", "Clean"])
def test_an_interrupted_run_goes_on_where_it_was(when: str, times: int, tmp_path: Path) -> None:
    stopped = first(tmp_path, INTERRUPTED, model=Interrupting(when, times))
    if stopped.outcome.status == "completed":
        assert (when, times) == ("Clean", 1)
        return
    assert (stopped.outcome.status, stopped.outcome.exit_code) == ("interrupted", 130)
    last = [record for record in records(stopped) if record["r"] == "result"]
    resumed = again(tmp_path, INTERRUPTED)
    assert resumed.outcome.status == "completed"
    everything = ["A one", "B", "A two", "C one", "C two", "Clean inside", "Clean"]
    assert len(last) + len(resumed.calls) == len(everything)
    assert "Handle" not in asked(stopped) + asked(resumed)
    if times == 1:
        # What ran was let finish, and counts.
        assert when not in asked(resumed)
    else:
        assert when in asked(resumed)


def test_a_run_that_was_killed_in_the_middle_of_stopping_goes_on(tmp_path: Path) -> None:
    stopped = first(tmp_path, INTERRUPTED, model=Interrupting("C one"))
    cut(stopped, len(records(stopped)) - 1)
    resumed = again(tmp_path, INTERRUPTED)
    assert asked(resumed) == ["C two", "Clean inside", "Clean"]
