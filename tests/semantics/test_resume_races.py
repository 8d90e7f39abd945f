"""Races over two lives: who wins, what is counted, what becomes of a record that no longer fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playing import Played
from resuming import again, asked, bindings, cut, first, records, rewrite, until

FAILS = '"Break*" = { error = "it broke" }\n'


def races(played: Played) -> list[tuple[list[int], list[int]]]:
    """Who won and who failed, race by race."""
    return [(r["won"], r["failed"]) for r in records(played) if r["r"] == "race"]


def check_replays(folder: Path, source: str, played: Played) -> None:
    """The run that has ended comes out as it did, without a call, and records nothing more."""
    count, files = len(records(played)), bindings(played)
    resumed = again(folder, source)
    assert asked(resumed) == []
    assert [r["r"] for r in records(resumed)[count:]] == ["run", "end"]
    assert resumed.outcome.outputs == played.outcome.outputs
    assert resumed.outcome.last == played.outcome.last
    assert bindings(resumed) == files


# A recorded winner wins before a loser is called

WINNERS = {
    "at the end of many blocks": """
        block deep(n):
          if n > 0:
            do deep(n - 1)
          else:
            session "Last"
        parallel ("first"):
          a = do deep(60)
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
    "after many blocks, one after the other": """
        block small(n):
          let m = n + 1
        parallel ("first"):
          a = do:
            repeat 60:
              do small(1)
            session "Last"
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
    "at the end of nested parallels": """
        parallel ("first"):
          a = do:
            parallel:
              do:
                parallel:
                  do:
                    parallel:
                      do:
                        parallel:
                          session "Deep"
                      session "Deeper"
            session "Last"
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
    "after a race whose loser is deep in blocks": """
        block deep(n):
          if n > 0:
            do deep(n - 1)
          else:
            session "Lose below"
        parallel ("first"):
          a = do:
            parallel ("first"):
              x = session "Win below"
              y = do deep(40)
            session "Last"
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
    "at the end of concurrent rounds that take turns": """
        let all = []
        parallel ("first"):
          a = do:
            parallel for x in [1, 2, 3, 4, 5, 6, 7, 8]:
              let y = session "Round {x}"
                context: []
              all = all + [y]
            session "Last"
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
    "after a caught failure": """
        parallel ("first"):
          a = do:
            try:
              session "Break"
            catch:
              session "Last"
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
    "in a list of many": """
        let all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
        parallel ("first"):
          a = do:
            let texts = all | map:
              let more = item + 1
            let many = texts | filter:
              let enough = item > 3
            let sum = many | reduce(before, item):
              let together = before + item
            session "Last {sum}"
          b = session "Lose"
        session "After"
          context: { a, b }
        """,
}


@pytest.mark.parametrize("where", WINNERS)
def test_a_recorded_winner_wins_before_a_loser_is_called(where: str, tmp_path: Path) -> None:
    source = WINNERS[where]
    played = first(tmp_path, source, FAILS, order=["Last*", "Lose*"])
    rewrite(played, until("result", "Last"))
    resumed = again(tmp_path, source)
    assert asked(resumed) == ["After"]
    assert resumed.value("b") is None


def test_a_loser_is_called_once_no_winner_is_left_to_replay(tmp_path: Path) -> None:
    source = """
        parallel ("first"):
          a = do:
            session "A one"
            session "A two"
          b = session "B"
        """
    played = first(tmp_path, source, order=["A one", "A two", "B"])
    rewrite(played, until("result", "A one"))
    assert sorted(asked(again(tmp_path, source, order=["A two", "B"]))) == ["A two", "B"]


# Whatever decided a race, its replay comes out the same

ORDERED: dict[str, tuple[str, list[str]]] = {
    "the last branch to end fails": (
        """
        block look(x):
          session "Look {x}"
            context: []
          session "Look again {x}"
            context: []
        repeat 2:
          try:
            parallel:
              a = session "Break"
              b = do look("b")
          catch:
            let e = 1
          session "Told"
        """,
        ["Look b", "Look again b", "Break"],
    ),
    "the last branch to end throws": (
        """
        try:
          parallel ("any", count: 2):
            a = do:
              session "One"
              throw "no"
            b = session "Three"
        catch:
          let e = 1
        session "Told"
        """,
        ["Three", "One"],
    ),
    "the last round to end fails": (
        """
        block look(x):
          session "Look {x}"
            context: []
          session "Look again {x}"
            context: []
        try:
          parallel for x in ["1", "2", "3"]:
            if x == "1":
              session "Wait"
                context: []
              session "Break"
                context: []
            else:
              do look(x)
        catch:
          let e = 1
        session "Told"
        """,
        ["Look 2", "Look 3", "Look again 2", "Look again 3", "Wait", "Break"],
    ),
    "the first round fails while another runs": (
        """
        try:
          let all = ["0", "2"] | pmap:
            session "Two {item}"
              context: []
            throw "no"
        catch:
          let e = 1
        session "Told"
        """,
        ["Two 0", "Two 2"],
    ),
    "a round in the middle fails after others": (
        """
        try:
          parallel for x in ["0", "1", "2", "3"]:
            let y = session "Do {x}"
              context: []
            if x == "2":
              throw "no"
            session "And {x}"
              context: []
        catch:
          let e = 1
        session "Told"
        """,
        ["Do 1", "And 1", "Do 3", "Do 2", "Do 0", "And*"],
    ),
    "a loser fails before the winner wins": (
        """
        block fails():
          session "Before"
            context: []
          session "Break"
            context: []
        repeat 2 as i:
          parallel ("first"):
            a = session "A {i}"
            b = do fails()
          session "Told {i}"
        """,
        ["Before", "Break", "A 0"],
    ),
    "a loser ends in the same moment": (
        """
        block two(x):
          session "One {x}"
            context: []
          session "Two {x}"
            context: []
        repeat 3 as i:
          parallel ("any", count: 2):
            a = do two("a")
            b = do two("b")
            c = session "Slow {i}"
          session "Told {i}"
        """,
        ["One a", "One b", "Two a", "Two b", "Slow 0"],
    ),
    "a loser is in a parallel of its own": (
        """
        repeat 2 as i:
          parallel ("first"):
            a = session "Quick {i}"
            b = do:
              parallel:
                p = do:
                  session "Inner"
                    context: []
                q = session "Other"
                  context: []
          session "Told {i}"
        """,
        ["Other", "Quick 0", "Inner", "Quick 1"],
    ),
    "a loser is in a race of its own, in a loop, in a block": (
        """
        block search(n):
          parallel ("first"):
            x = do:
              session "Same"
                context: []
              session "Same"
                context: []
            y = do:
              parallel for z in ["1", "1"]:
                session "Same"
                  context: []
                session "Else"
                  context: []
        repeat 3:
          parallel ("first"):
            a = do search(1)
            b = do search(2)
          session "Told"
        """,
        [],
    ),
}


@pytest.mark.parametrize("what", ORDERED)
@pytest.mark.parametrize(
    "shuffle", [None, 1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 8))]
)
def test_a_race_replays_as_it_was_decided(what: str, shuffle: int | None, tmp_path: Path) -> None:
    source, order = ORDERED[what]
    given = {"order": order} if shuffle is None else {"shuffle": shuffle}
    played = first(tmp_path, source, FAILS, **given)
    assert played.outcome.exit_code == 0, played.outcome.problem
    check_replays(tmp_path, source, played)


# A record that no longer fits

CUT_SHORT = """
    try:
      parallel:
        a = session "Break"
        b = do:
          session "B one"
            context: []
          session "B two"
            context: []
    catch:
      session "Handle"
        context: []
    session "End"
      context: []
    """

ROUNDS_CUT_SHORT = """
    try:
      parallel for x in ["1", "2"]:
        session "Do {x}"
          context: []
        session "Break {x}"
          context: []
    catch:
      session "Handle"
        context: []
    session "End"
      context: []
    """


@pytest.mark.parametrize("on_fail", ["continue", "ignore"])
def test_where_failures_end_it_no_more_all_branches_run(on_fail: str, tmp_path: Path) -> None:
    played = first(tmp_path, CUT_SHORT, FAILS, order=["Break", "B one"])
    assert races(played) == [([], [0])]
    edited = CUT_SHORT.replace("parallel:", f'parallel (on-fail: "{on_fail}"):')
    resumed = again(tmp_path, edited, FAILS)
    # The failure was handled and stays one.
    assert asked(resumed) == ["B one", "B two"]
    assert resumed.value("b") == "[simulated] B two"
    assert again(tmp_path, edited).calls == []


@pytest.mark.parametrize("on_fail", ["continue", "ignore"])
def test_where_failures_end_it_no_more_all_rounds_run(on_fail: str, tmp_path: Path) -> None:
    played = first(tmp_path, ROUNDS_CUT_SHORT, FAILS, order=["Do 1", "Break 1", "Do 2"])
    assert races(played) == [([], [0])]
    edited = ROUNDS_CUT_SHORT.replace('"2"]:', f'"2"] (on-fail: "{on_fail}"):')
    resumed = again(tmp_path, edited, FAILS)
    assert asked(resumed) == ["Do 2", "Break 2"]
    assert again(tmp_path, edited).calls == []


def test_where_failures_end_it_now_the_first_does(tmp_path: Path) -> None:
    loose = CUT_SHORT.replace("parallel:", 'parallel (on-fail: "continue"):')
    first(tmp_path, loose, FAILS, order=["B one", "B two", "Break"])
    resumed = again(tmp_path, CUT_SHORT)
    assert asked(resumed) == ["Handle"]
    assert again(tmp_path, CUT_SHORT).calls == []


RACE = """
    parallel ("first"):
      a = do:
        session "A one"
          context: []
        session "A two"
          context: []
      b = do:
        session "B one"
          context: []
        session "B two"
          context: []
    session "After"
      context: { a, b }
    """

RACE_EDITS: dict[str, tuple[tuple[str, str], list[str], list[str]]] = {
    "the loser's steps": (("B two", "B too"), [], []),
    "the winner's last step": (("A two", "A too"), ["A too", "B one"], ["A too", "B one", "After"]),
    "the winner's first step": (("A one", "A won"), ["A won", "B one"], ["A won", "B one"]),
    "another branch": (
        ('    session "After"', '      c = session "C"\n    session "After"'),
        [],
        [],
    ),
    "how many are wanted": (('("first")', '("any", count: 2)'), [], ["B one", "B two", "After"]),
    "one of any is the first": (('("first")', '("any", count: 1)'), [], []),
    "all are wanted": ((' ("first")', ""), [], ["B one", "B two", "After"]),
}


@pytest.mark.parametrize("edit", RACE_EDITS)
def test_an_edited_race(edit: str, tmp_path: Path) -> None:
    (before, after), order, run_again = RACE_EDITS[edit]
    played = first(tmp_path, RACE, order=["A one", "A two", "B one"])
    assert races(played) == [([0], [])]
    resumed = again(tmp_path, RACE.replace(before, after), order=order)
    assert asked(resumed) == run_again
    assert again(tmp_path, RACE.replace(before, after)).calls == []


def test_a_void_record_counts_and_uses_nothing(tmp_path: Path) -> None:
    source = """
        repeat 2 as i:
          parallel ("first"):
            a = do:
              session "Same"
                context: []
              parallel ("first"):
                x = session "X"
                y = do:
                  session "Y"
                    context: []
                  session "Y"
                    context: []
              session "Last {i}"
                context: []
            b = do:
              session "Lose {i}"
                context: []
              session "More {i}"
                context: []
        session "End"
          context: []
        """
    order = ["Same", "X", "Last 0", "Lose 0", "Last 1", "Lose 1"]
    played = first(tmp_path, source, order=order)
    lost = next(
        r["id"] for r in records(played) if r["r"] == "result" and "Last 0" in json.dumps(r)
    )
    rewrite(played, lambda all: [r for r in all if not (r["r"] == "result" and r["id"] == lost)])
    resumed = again(tmp_path, source, order=["Last 0", "Lose 0"])
    assert "Last 0" in asked(resumed)
    assert set(asked(resumed)) <= {"Last 0", "Lose 0"}
    assert resumed.outcome.resumed is not None
    assert resumed.outcome.resumed.ran == len(resumed.calls)
    check_replays(tmp_path, source, resumed)


def test_a_branch_that_waits_is_not_out_of_the_race(tmp_path: Path) -> None:
    source = """
        try:
          parallel ("first"):
            a = do:
              input topic: "What about?"
              session "About {topic}"
                context: []
            b = do:
              session "B"
              throw "no"
        catch as err:
          session "Handle {err.message}"
        """
    assert first(tmp_path, source).outcome.status == "waiting"
    resumed = again(tmp_path, source, inputs={"topic": "tea"})
    assert (asked(resumed), resumed.outcome.status) == (["About tea"], "completed")
    assert again(tmp_path, source).calls == []


def test_what_a_losing_branch_gives_as_output_does_not_count(tmp_path: Path) -> None:
    source = """
        output o = "before"
        parallel ("first"):
          a = session "A"
          b = do:
            output p = "b"
            session "B one"
            session "B two"
        """
    played = first(tmp_path, source, order=["A", "B one"])
    assert {name: v.plain() for name, v in played.outcome.outputs.items()} == {"o": "before"}
    check_replays(tmp_path, source, played)


def test_a_parallel_in_a_block_in_a_branch_of_a_concurrent_round(tmp_path: Path) -> None:
    source = """
        block f(p):
          parallel:
            session "Four {p}"
            v = session "Five {p}"
        parallel for x in ["2", "3"]:
          parallel (on-fail: "continue"):
            b = do f(x)
        """
    played = first(tmp_path, source)
    assert played.outcome.exit_code == 0
    check_replays(tmp_path, source, played)


def test_many_rounds_that_are_cut_short(tmp_path: Path) -> None:
    items = ", ".join(f'"{n}"' for n in range(300))
    source = f"""
        try:
          parallel for x in [{items}]:
            session "Do {{x}}"
              context: []
            if x == "290":
              throw "no"
        catch:
          let e = 1
        session "Told"
          context: []
        """
    played = first(tmp_path, source)
    assert len(races(played)) == 1
    resumed = again(tmp_path, source)
    assert resumed.calls == []
    assert resumed.outcome.exit_code == 0


def test_only_what_was_called_ran(tmp_path: Path) -> None:
    source = """
        parallel ("first"):
          a = session "A"
          b = session "B"
          c = session "C"
        """
    played = first(tmp_path, source)
    cut(played, 1)
    resumed = again(tmp_path, source, max_concurrency=1)
    assert resumed.outcome.resumed is not None
    assert resumed.outcome.resumed.ran == len(resumed.calls)
