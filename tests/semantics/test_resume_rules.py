"""What a resumed run takes from its journal and what it does again: failures, retries, races, inputs, numbers, refusals."""

from __future__ import annotations

import json
from pathlib import Path

from prose_runtime.settings import Resumption
from resuming import again, asked, bindings, first, records, rewrite, until

# Failures

FAILS = '"Break*" = { error = "it broke" }\n'

CAUGHT = """
    try:
      session "Break"
    catch as err:
      session "Handle {err.message} {err.kind} {err.line}"
    session "Go on"
      context: []
    """


def test_a_failure_that_was_handled_is_raised_again(tmp_path: Path) -> None:
    played = first(tmp_path, CAUGHT, FAILS)
    rewrite(played, until("handled", ""))
    # Nothing fails any more, and yet the handler runs: that is what the run had decided.
    resumed = again(tmp_path, CAUGHT)
    assert asked(resumed) == ["Handle it broke session 3", "Go on"]
    assert again(tmp_path, CAUGHT).calls == []


def test_a_failure_whose_handling_was_not_recorded_runs_again(tmp_path: Path) -> None:
    played = first(tmp_path, CAUGHT, FAILS)
    rewrite(played, until("failed", "it broke"))
    assert asked(again(tmp_path, CAUGHT)) == ["Break", "Go on"]


def test_the_failure_that_ended_the_run_is_not_replayed(tmp_path: Path) -> None:
    source = """
        let a = session "A"
        try:
          session "Break"
        finally:
          session "Clean"
            context: []
        output a = a
        """
    assert first(tmp_path, source, FAILS).outcome.exit_code == 1
    resumed = again(tmp_path, source)
    assert resumed.outcome.exit_code == 0
    # The cleaning was recorded; what failed runs again although a finally had followed it.
    assert asked(resumed) == ["Break"]


def test_on_fail_is_handling(tmp_path: Path) -> None:
    source = """
        parallel (on-fail: "continue"):
          a = session "Break a"
          b = session "B"
        session "After"
          context: { a, b }
        """
    played = first(tmp_path, source, FAILS)
    rewrite(played, until("ask", "After"))
    resumed = again(tmp_path, source)
    assert asked(resumed) == ["After"]
    assert resumed.value("a")["message"] == "it broke"


def test_retries_count_over_both_lives(tmp_path: Path) -> None:
    source = """
        session "Break"
          retry: 3
        """
    played = first(tmp_path, source, FAILS)
    assert len(played.sessions[0].requests) == 4
    # It died while the third of four attempts ran.
    retries = [n for n, record in enumerate(records(played)) if record["r"] == "retry"]
    rewrite(played, lambda found: found[: retries[1] + 1])
    resumed = again(tmp_path, source, FAILS)
    assert len(resumed.sessions[0].requests) == 2
    # All are used up: a step that ended the run is tried once more.
    assert len(again(tmp_path, source, FAILS).sessions[0].requests) == 1
    assert again(tmp_path, source).outcome.exit_code == 0


# Races

RACE = """
    parallel ("first"):
      a = session "A"
      b = do:
        session "B one"
        session "B two"
          context: []
    session "After"
      context: { a, b }
    """


def test_a_recorded_winner_wins_before_a_loser_is_called(tmp_path: Path) -> None:
    played = first(tmp_path, RACE, order=["A", "B one"])
    # The race itself was not recorded.
    rewrite(played, until("result", '"name": "a"'))
    resumed = again(tmp_path, RACE)
    assert "B one" not in asked(resumed)
    assert asked(resumed)[-1] == "After"
    assert resumed.value("b") is None


def test_a_recorded_race_runs_its_winner_alone(tmp_path: Path) -> None:
    played = first(tmp_path, RACE, order=["B one", "B two"])
    winner = next(record for record in records(played) if record["r"] == "race")
    assert winner["won"] in ([0], [1])
    resumed = again(tmp_path, RACE)
    assert resumed.calls == []
    assert bindings(resumed) == bindings(played)


def test_a_race_whose_records_are_incomplete_is_run_again(tmp_path: Path) -> None:
    played = first(tmp_path, RACE, order=["A", "B one"])
    lost = next(r["id"] for r in records(played) if r["r"] == "result" and r["name"] == "a")
    rewrite(played, lambda found: [r for r in found if not (r["r"] == "result" and r["id"] == lost)])
    resumed = again(tmp_path, RACE, order=["A", "B one"])
    assert "A" in asked(resumed)
    assert resumed.outcome.exit_code == 0
    assert resumed.value("a") == "[simulated] A"
    assert again(tmp_path, RACE).calls == []


def test_what_losers_had_asked_is_counted(tmp_path: Path) -> None:
    source = """
        repeat 3:
          parallel ("first"):
            a = session "Quick"
            b = do:
              let x = session "Same"
                context: []
              session "More"
                context: []
        """
    played = first(tmp_path, source, order=["Same", "Quick"])
    assert len([record for record in records(played) if record["r"] == "race"]) == 3
    resumed = again(tmp_path, source)
    assert resumed.calls == []
    assert bindings(resumed).items() <= bindings(played).items()


def test_a_concurrent_loop_that_was_cut_short_is_not_run_on(tmp_path: Path) -> None:
    source = """
        repeat 2:
          try:
            parallel for x in ["a", "b", "c"]:
              session "Look at {x}"
                context: []
              session "Break {x}"
                context: []
          catch:
            session "Recover"
              context: []
        """
    first(tmp_path, source, FAILS, shuffle=3)
    assert again(tmp_path, source).calls == []


# Inputs

WAITS = """
    let a = session "A"
    input topic: "What next?"
    let b = session "B {topic}"
      context: []
    input more: "And then?"
    session "C {more}"
      context: []
    """


def test_a_run_that_waits_goes_on_with_the_value(tmp_path: Path) -> None:
    waiting = first(tmp_path, WAITS)
    assert (waiting.outcome.status, waiting.outcome.exit_code) == ("waiting", 75)
    assert waiting.outcome.problem is not None
    command = f"python case.py --resume {waiting.outcome.run_id} --topic VALUE"
    assert command in waiting.outcome.problem.message
    still = again(tmp_path, WAITS)
    assert (still.calls, still.outcome.status) == ([], "waiting")
    resumed = again(tmp_path, WAITS, inputs={"topic": "tea"})
    assert (asked(resumed), resumed.outcome.status) == (["B tea"], "waiting")
    done = again(tmp_path, WAITS, inputs={"more": "cake"})
    assert (asked(done), done.outcome.status) == (["C cake"], "completed")


def test_nobody_is_asked_twice(tmp_path: Path) -> None:
    first(tmp_path, WAITS, person={"topic": "tea", "more": "cake"})
    resumed = again(tmp_path, WAITS, person={})
    assert (resumed.calls, resumed.outcome.status) == ([], "completed")


def test_in_a_loop_the_value_is_for_the_round_that_waits(tmp_path: Path) -> None:
    source = """
        repeat 3 as i:
          input topic: "Round {i}?"
          session "About {topic}"
            context: []
        """
    first(tmp_path, source, inputs={"topic": "one"})
    second = again(tmp_path, source, inputs={"topic": "two"})
    assert (asked(second), second.outcome.status) == (["About two"], "waiting")
    third = again(tmp_path, source, inputs={"topic": "three"})
    assert (asked(third), third.outcome.status) == (["About three"], "completed")


SECRET = """
    input api-key: "The key"
    session "Use it"
      context: []
    session "Use {api-key}"
      context: []
    """


def test_a_secret_stands_in_its_own_file_alone(tmp_path: Path) -> None:
    played = first(tmp_path, SECRET, inputs={"api-key": "sesame-open"})
    resumed = again(tmp_path, SECRET)
    assert (resumed.calls, resumed.outcome.exit_code) == ([], 0)
    holding = [
        path.relative_to(played.directory).as_posix()
        for path in played.directory.rglob("*")
        if path.is_file() and b"sesame-open" in path.read_bytes()
    ]
    # What a model says of it is the model's own text.
    assert sorted(holding) == ["bindings/anon_002.md", "bindings/api-key.md", "journal.jsonl"]
    assert [r["r"] for r in records(played) if "sesame-open" in json.dumps(r)] == ["result"]


def test_a_secret_whose_file_is_gone_is_asked_for_again(tmp_path: Path) -> None:
    played = first(tmp_path, SECRET, inputs={"api-key": "sesame-open"})
    (played.directory / "bindings" / "api-key.md").unlink()
    resumed = again(tmp_path, SECRET)
    assert resumed.outcome.status == "waiting"
    assert any("api-key" in warning for warning in resumed.warnings)
    assert again(tmp_path, SECRET, inputs={"api-key": "sesame-open"}).calls == []


# Numbers


def test_numbers_come_back_and_new_ones_go_on_above(tmp_path: Path) -> None:
    before = """
        block look(x):
          session "Look at {x}"
            context: []
        do look("a")
        do look("b")
        """
    after = """
        block look(x):
          session "Look at {x}"
            context: []
        do look("new")
        do look("b")
        do look("a")
        """
    first(tmp_path, before)
    resumed = again(tmp_path, after)
    assert asked(resumed) == ["Look at new"]
    assert "execution_id: 1\n" in resumed.file("anon_001__1")
    assert "[simulated] Look at a" in resumed.file("anon_001__1")
    assert "[simulated] Look at new" in resumed.file("anon_003__3")


# Finding and refusing


def test_another_program_s_run_is_refused(tmp_path: Path) -> None:
    played = first(tmp_path, 'session "A"')
    journal = played.directory / "journal.jsonl"
    journal.write_text(journal.read_text().replace("case.prose", "other.prose"))
    refused = again(tmp_path, 'session "A"', resume=Resumption(played.directory.name))
    assert refused.outcome.exit_code == 2
    assert refused.outcome.problem is not None
    assert "other.prose" in refused.outcome.problem.message
    unknown = again(tmp_path, 'session "A"')
    assert unknown.outcome.problem is not None
    assert "no run of case.prose" in unknown.outcome.problem.message


def test_invented_results_never_join_real_ones(tmp_path: Path) -> None:
    played = first(tmp_path, 'session "A"')
    journal = played.directory / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"simulated":true', '"simulated":false'))
    refused = again(tmp_path, 'session "A"')
    assert refused.outcome.exit_code == 2
    assert refused.outcome.problem is not None
    assert "--provider simulate" in refused.outcome.problem.message


def test_a_torn_last_record_is_dropped_and_said(tmp_path: Path) -> None:
    source = 'session "A"\nsession "B"\n  context: []\n'
    played = first(tmp_path, source)
    journal = played.directory / "journal.jsonl"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"result"' in line)
    journal.write_bytes(b"".join(lines[:last]) + lines[last][:-20])
    resumed = again(tmp_path, source)
    assert asked(resumed) == ["B"]
    assert any("cut off" in warning for warning in resumed.warnings)
    assert [json.loads(line)["r"] for line in journal.read_bytes().splitlines()].count("result") == 2


def test_a_damaged_record_is_done_again_and_said(tmp_path: Path) -> None:
    source = 'session "A"\nsession "B"\n  context: []\n'
    played = first(tmp_path, source)
    journal = played.directory / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"result"' in line)
    lines[at] = b"\0" * 20 + b"\n"
    journal.write_bytes(b"".join(lines))
    resumed = again(tmp_path, source)
    assert asked(resumed) == ["A"]
    assert any(f"line {at + 1}" in warning for warning in resumed.warnings)


def test_how_many_steps_were_reused(tmp_path: Path) -> None:
    source = 'let a = session "A"\nif **a is fine**:\n  session "B"\n    context: a\n'
    first(tmp_path, source)
    resumed = again(tmp_path, source).outcome.resumed
    assert resumed is not None
    assert (resumed.reused, resumed.ran, resumed.left) == (3, 0, 0)
    edited = again(tmp_path, source.replace("B", "C")).outcome.resumed
    assert edited is not None
    assert (edited.reused, edited.ran, edited.left) == (2, 1, 1)


def test_secrets_of_one_name_have_a_file_each(tmp_path: Path) -> None:
    source = """
        repeat 2 as i:
          input token: "Token {i}"
          session "Use {token}"
            context: []
        """
    first(tmp_path, source, inputs={"token": "sesame-one"})
    second = again(tmp_path, source, inputs={"token": "sesame-two"})
    assert asked(second) == ["Use sesame-two"]
    assert (second.file("token")[-10:], second.file("token~1")[-10:]) == ("sesame-one", "sesame-two")
    finished = again(tmp_path, source)
    assert (finished.calls, finished.outcome.exit_code) == ([], 0)
