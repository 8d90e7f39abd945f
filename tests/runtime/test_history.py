"""`python -m prose_runtime` and `script.py --runs`: what they say of runs and of the machine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prose_runtime import ProseError, Run, Value
from prose_runtime.__main__ import main
from prose_runtime.history import Made, made, runs
from prose_runtime.options import Declared, carried, option, read_options
from prose_runtime.program import Program
from prose_runtime.recorded import RecordedStep, left_to_do, recorded_steps
from prose_runtime.settings import Resumption
from prose_runtime.state import stores_of
from scripted import Ran, Scripted, failing, play, played

SOURCE = 'input topic: "What about"\nlet draft = session "Write"\noutput brief = draft\nsession "Publish"\n'


async def two_sessions(run: Run) -> None:
    run.output("brief", await run.session("Write", let="draft"))
    await run.session("Publish")


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints, which must succeed."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main([*arguments, "--prose-dir", str(tmp_path / ".prose")]) == 0
        return capsys.readouterr().out

    return run


def steps_of(ran: Ran, held: bool = False) -> list[RecordedStep]:
    return list(recorded_steps(ran.journal, held))


def fates(steps: list[RecordedStep]) -> dict[str, str]:
    return {step.label: step.fate for step in steps}


def cut_off(ran: Ran, records: int) -> None:
    """Leave of a journal what would be left of it, had the process died `records` records before its end."""
    journal = ran.directory / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-records]))


def one(folder: Path) -> Made:
    [only] = runs(stores_of(folder / ".prose"))
    return only


# runs


def test_runs(tmp_path: Path, shown: Callable[..., str]) -> None:
    assert shown("runs").startswith(f"no runs in {tmp_path}")
    ran = played(two_sessions, tmp_path, simulated=True)
    failed = played(two_sessions, tmp_path, Scripted({"Publish": failing("the wiki is down")}))
    ids = (ran.outcome.run_id or "", failed.outcome.run_id or "")
    header, *rows = shown("runs").splitlines()
    assert header.split() == [
        *["RUN", "PROGRAM", "STATUS", "STARTED", "(UTC)", "SESSIONS", "TOKENS", "USD"]
    ]
    assert [row.split()[0] for row in rows] == sorted(ids, reverse=True)
    by_id = {row.split()[0]: row.split() for row in rows}
    assert by_id[ids[0]][1:4] == ["test.prose", "completed", "(simulated)"]
    assert by_id[ids[0]][-3:] == ["2", "30", "-"]
    assert by_id[ids[1]][2] == "failed"
    assert by_id[ids[1]][-3:-1] == ["2", "15"]
    listed = {run["run"]: run for run in json.loads(shown("runs", "--json"))}
    assert listed[ids[1]]["reason"] == "the wiki is down"
    assert (listed[ids[0]]["tokens"], listed[ids[0]]["lives"]) == (30, 1)
    assert listed[ids[0]]["resume"] is None
    assert len(json.loads(shown("runs", "--json", "--program", "test.prose"))) == 2
    assert shown("runs", "--program", "other.prose").startswith("no runs of other.prose in ")


def test_all_lives_of_a_run_count(tmp_path: Path, shown: Callable[..., str]) -> None:
    down = Scripted({"Publish": failing("down")})
    assert played(two_sessions, tmp_path, down).outcome.exit_code == 1
    again = played(two_sessions, tmp_path, resume=Resumption("last"))
    assert again.outcome.exit_code == 0
    run = one(tmp_path)
    assert (run.status, run.lives, run.costs.sessions, run.costs.usage.total) == (
        "completed",
        2,
        3,
        30,
    )
    assert "in 2 lives" in shown("show", "last")
    assert fates(steps_of(again)) == {"draft": "answered", "Publish": "answered"}


def test_a_run_without_an_end(tmp_path: Path, shown: Callable[..., str]) -> None:
    ran = played(two_sessions, tmp_path, command="python t.py")
    cut_off(ran, 2)
    journal = ran.directory / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"r":"resu')
    run = one(tmp_path)
    assert (run.status, run.costs.sessions) == ("interrupted", 1)
    assert run.reason == "its process ended without a word"
    assert run.resumed_by == f"python t.py --resume {run.run_id}"
    assert "next:      session Publish (cut off; line not known)\n" in shown("show", "last")
    journal.unlink()
    assert one(tmp_path).status == "interrupted"
    assert "resume:" not in shown("show", "last")
    journal.write_text('{"r":"retry"}\n')
    assert one(tmp_path).status == "unreadable"
    assert "status:    unreadable\n" in shown("show", "last")
    assert "unreadable" in shown("runs")
    journal.unlink()
    journal.mkdir()
    assert one(tmp_path).status == "unreadable"
    assert main(["show", "last", "--prose-dir", str(tmp_path / ".prose")]) == 1


def test_a_run_that_goes_on(tmp_path: Path, shown: Callable[..., str]) -> None:
    seen: list[str] = []
    looked = asyncio.Event()

    async def waits() -> str:
        await looked.wait()
        return "x"

    async def looks() -> str:
        seen.append(one(tmp_path).status)
        seen.append(shown("show", "last"))
        looked.set()
        return "x"

    async def two(run: Run) -> None:
        await run.parallel(a=run.session("One"), b=run.session("Two"))

    assert played(two, tmp_path, Scripted({"One": waits, "Two": looks})).outcome.exit_code == 0
    status, text = seen
    assert status == "running"
    assert "now:       session a (running; line not known)\n           session b (running" in text
    assert f"held by:   process {os.getpid()} on " in text
    assert "resume:" not in text


def test_what_is_no_run_is_not_listed(tmp_path: Path, shown: Callable[..., str]) -> None:
    ran = played(two_sessions, tmp_path)
    kept = ran.directory.parent
    (kept / "notes").mkdir()
    (kept / "20260101-000000-abcdef").write_text("a file")
    assert one(tmp_path).run_id == ran.outcome.run_id
    for wrong in ("notes", "..", "../runs", "20260101-000000-abcdef"):
        assert main(["show", wrong, "--prose-dir", str(tmp_path / ".prose")]) == 2


# show


def test_show_says_where_a_run_stands(tmp_path: Path, shown: Callable[..., str]) -> None:
    program = Program("brief.prose")
    program.source(SOURCE, statements="1-1:input 2-2:let 3-3:output 4-4:session")
    program.main(two_sessions)
    side = Scripted({"Write": "a \x1b[31mdraft", "Publish": failing("the wiki\x1b[2J is down")})
    failed = play(program, tmp_path, side, inputs={"topic": "x"}, command="python brief.py")
    run_id = failed.outcome.run_id or ""
    text = shown("show", run_id[-6:])
    assert "\x1b" not in text
    facts = text.partition("\n\n")[0]
    assert facts.startswith(f"run:       {run_id} ({failed.directory})\nprogram:   brief.prose\n")
    assert "status:    failed\nreason:    the wiki\\x1b[2J is down\n" in facts
    assert "steps:     1 answered, 1 failed\n" in facts
    assert "next:      session Publish (failed; " in facts
    assert f"resume:    python brief.py --resume {run_id}" in facts
    assert "# Execution State" in text
    assert "\n2 bindings\n" in text
    assert "brief.md  output  12 characters  a \\x1b[31mdraft\n" in text
    told = json.loads(shown("show", "last", "--json"))
    assert told["next"] == [2]
    assert [step["status"] for step in told["steps"]] == ["answered", "failed"]
    assert told["bindings"] == ["brief.md", "draft.md"]
    assert told["resume_in"] == str(Path.cwd())


def test_the_command_for_a_waiting_run_names_what_it_waits_for(
    tmp_path: Path, shown: Callable[..., str]
) -> None:
    async def waits(run: Run) -> None:
        await run.session("Before")
        await run.parallel(a=run.input("max_budget", "How much?"), b=run.input("json"))

    played(waits, tmp_path, command="python 'my brief.py' --secret x")
    run = one(tmp_path)
    given = "--max-budget VALUE --input json=VALUE"
    assert run.resumed_by == f"python 'my brief.py' --secret x --resume {run.run_id} {given}"
    text = shown("show", "last")
    assert "reason:    input 'max_budget' is needed to go on: How much?\n" in text
    assert "waits for: max_budget, json\n" in text
    assert text.partition("\n\n")[0].count("--max-budget VALUE") == 1
    played(waits, tmp_path, resume=Resumption("last"), inputs={"max_budget": "3"})
    assert one(tmp_path).waiting_for == ["json"]


def test_the_folder_to_resume_in_is_told_where_it_is_another(
    tmp_path: Path, shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    played(two_sessions, tmp_path, Scripted({"Publish": failing()}))
    before = Path.cwd()
    assert f"in {before}" not in shown("show", "last")
    monkeypatch.chdir(tmp_path)
    assert f"\n           in {before}\n" in shown("show", "last")


async def a_race(run: Run) -> None:
    async def slow(run: Run) -> Value:
        await run.session("Slow")
        return await run.session("Slower")

    await run.parallel(run.session("Quick"), run.branch("slow", lambda: slow(run)), join="first")
    try:
        await run.session("Handled")
    except ProseError:
        await run.session("Handler")
    await run.session("Last")


def test_what_lost_a_race_or_was_handled_is_not_left_to_do(tmp_path: Path) -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    side = Scripted({"Slow": never, "Handled": failing(), "Last": failing("at the end")})
    ran = played(a_race, tmp_path, side)
    assert ran.outcome.exit_code == 1
    steps = steps_of(ran)
    found = fates(steps)
    assert found.pop("Slow") in ("cancelled", "cut off")
    assert found == {
        "_branch_0": "answered",
        "Handled": "failed",
        "Handler": "answered",
        "Last": "failed",
    }
    assert [step.label for step in left_to_do(ran.journal, steps)] == ["Last"]


def test_many_bindings_are_counted(tmp_path: Path, shown: Callable[..., str]) -> None:
    async def many(run: Run) -> None:
        await run.parallel_for(list(range(120)), lambda item: run.session(f"Do {item}", let="x"))

    played(many, tmp_path)
    text = shown("show", "last")
    assert "\n121 bindings\n" in text
    assert "\n... 21 more\n" in text


def test_a_secret_is_not_shown_however_short(tmp_path: Path, shown: Callable[..., str]) -> None:
    async def logs_in(run: Run) -> None:
        pin = await run.input("pin_token")
        await run.session("Log in", context={"pin": pin}, let="login")

    played(logs_in, tmp_path, inputs={"pin_token": "417"})
    text = shown("show", "last")
    assert "pin_token.md  input" in text
    assert " 417" not in text
    text = shown("show", "last", "--prompts")
    assert '"***"' in text and "417" not in text


# Others


def test_reading_a_large_journal_needs_little(tmp_path: Path) -> None:
    """Neither an event loop nor a client is loaded, and no record is read twice as often as it must be."""
    ran = played(two_sessions, tmp_path)
    cut_off(ran, 1)
    journal = ran.directory / "journal.jsonl"
    text = "x" * 400
    with journal.open("a") as file:
        for number in range(5_000):
            ask = {"r": "ask", "id": f"{number:032x}", "kind": "session", "line": 1, "prompt": text}
            result = {"r": "result", "id": f"{number:032x}", "kind": "session", "text": text}
            file.write(f"{json.dumps(ask)}\n{json.dumps({**result, 'usage': [1, 2, 0, 0]})}\n")
        file.write('{"r":"end","status":"completed","at":"2026-01-15T14:30:52Z"}\n')
    looks = (
        "import sys\nfrom prose_runtime.__main__ import main\n"
        "code = main(sys.argv[1:])\n"
        "heavy = {'asyncio', 'anthropic', 'rich', 'concurrent.futures', 'ssl'} & set(sys.modules)\n"
        "sys.exit(code or (f'loaded {heavy}' if heavy else 0))\n"
    )
    for arguments in (["runs"], ["show", "last"], ["show", "last", "--step", "4000"]):
        command = [sys.executable, "-c", looks, *arguments, "--prose-dir", str(tmp_path / ".prose")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert "completed" in done.stdout or done.stdout.startswith("4000. session")


def test_a_script_lists_its_own_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = played(two_sessions, tmp_path)
    other = Program("other.prose")
    other.main(two_sessions)

    def listed(program: Program, *more: str) -> Any:
        with pytest.raises(SystemExit) as exit:
            program.cli(["--runs", *more])
        assert exit.value.code == 0
        return capsys.readouterr().out

    assert listed(other) == "no runs of other.prose in .prose/runs\n"
    theirs = play(other, tmp_path)
    assert str(theirs.outcome.run_id) in listed(other)
    assert str(mine.outcome.run_id) not in listed(other)
    [run] = json.loads(listed(other, "--json"))
    assert run["run"] == theirs.outcome.run_id
    assert len(stores_of(tmp_path / ".prose").runs()) == 2


def test_any_locale_will_do(tmp_path: Path) -> None:
    played(two_sessions, tmp_path, Scripted({"Write": "gr\u00f6\u00dfer als \U0001f4cb"}))
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "prose_runtime", "show", "last"],
        cwd=tmp_path,
        env={**os.environ, **locale},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr\\xf6\\xdfer als \\U0001f4cb" in done.stdout


def test_the_command_carries_what_a_resumption_needs() -> None:
    given = "--provider simulate --answers a.toml --model opus --model haiku=x --decider opus "
    given += "--prose-dir kept --secret topic"
    options = read_options(
        Declared("t.prose", "", {"topic": None}, ()),
        [*given.split(), "--topic", "x", "--json", "--max-sessions", "3", "--resume", "last"],
        {},
        "python t.py",
    )
    assert " ".join(carried(options)) == given
    assert (option("max_size", "3"), option("json", "x")) == ("--max-size 3", "--input json=x")


def test_a_run_is_told_by_its_id(tmp_path: Path) -> None:
    ran = played(two_sessions, tmp_path)
    told = made(stores_of(tmp_path / ".prose"), str(ran.outcome.run_id))
    assert (told.program, told.status, told.line) == ("test.prose", "completed", None)
    assert f"{told.seen:%Y-%m-%dT%H:%M:%SZ}" == told.ended


def test_doctor_never_shows_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ["doctor", "--prose-dir", str(tmp_path / ".prose")]
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    assert main(place) == 1
    assert "BAD  key: none: set ANTHROPIC_API_KEY" in capsys.readouterr().out
    (tmp_path / ".prose").mkdir()
    (tmp_path / ".prose" / ".env").write_text("ANTHROPIC_API_KEY=sk-very-secret\n")
    assert main(place) == 0
    out = capsys.readouterr().out
    assert "ANTHROPIC_API_KEY is set in" in out
    assert ".env" in out
    assert "very" not in out
    assert [path.name for path in (tmp_path / ".prose").iterdir()] == [".env"]


@pytest.mark.parametrize(
    "wrong", [[], ["what"], ["show"], ["runs", "x"], ["runs", "--yes"], ["runs", "--older-than=0d"]]
)
def test_wrong_usage(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(wrong) == 2
    assert "--help says more" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["runs"], ["show"], ["doctor"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([*command, "--help"])
    assert exit.value.code == 0
    assert "prose_runtime" in capsys.readouterr().out
