"""`python -m prose_runtime`: what it says of runs and of the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prose_runtime import Run
from prose_runtime.__main__ import main
from prose_runtime.history import bindings, made, runs
from scripted import Scripted, failing, played


async def two_sessions(run: Run) -> None:
    run.output("brief", await run.session("Write", let="draft"))
    await run.session("Publish")


def test_runs_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--prose-dir", str(tmp_path / ".prose")]
    assert main(["runs", *place]) == 0
    assert "no runs in" in capsys.readouterr().out
    ran = played(two_sessions, tmp_path, simulated=True)
    failed = played(two_sessions, tmp_path, Scripted({"Publish": failing("the wiki is down")}))
    ids = (ran.outcome.run_id, failed.outcome.run_id)
    assert main(["runs", *place]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["RUN", "PROGRAM", "STATUS", "STARTED", "(UTC)", "SESSIONS", "TOKENS"]
    by_id = {row.split()[0]: row for row in rows}
    assert set(by_id) == set(ids)
    assert by_id[ids[0] or ""].split()[2:4] == ["completed", "(simulated)"]
    assert by_id[ids[0] or ""].split()[-2:] == ["2", "30"]
    assert by_id[ids[1] or ""].split()[2] == "failed"
    assert by_id[ids[1] or ""].split()[-2:] == ["1", "15"]
    assert main(["runs", "--json", *place]) == 0
    listed = {run["run"]: run for run in json.loads(capsys.readouterr().out)}
    assert listed[ids[1]]["reason"] == "the wiki is down"
    assert listed[ids[0]]["tokens"] == 30

    assert main(["show", (failed.outcome.run_id or "")[-6:], *place]) == 0
    shown = capsys.readouterr().out
    assert "failed: the wiki is down" in shown
    assert "# Execution State" in shown
    assert "2 binding files" in shown
    assert "brief.md  output  7 characters" in shown
    assert main(["show", "nothing", *place]) == 2
    assert "there is no run nothing" in capsys.readouterr().err
    assert main(["show", "last", *place]) == 0


def test_a_run_without_an_end(tmp_path: Path) -> None:
    ran = played(two_sessions, tmp_path)
    journal = ran.directory / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]) + '{"r":"resu')
    run = made(ran.directory)
    assert (run.status, run.sessions) == ("interrupted", 2)
    assert [name for name, binding in bindings(ran.directory) if binding] == ["anon_001.md", "brief.md", "draft.md"]
    journal.unlink()
    assert [one.status for one in runs(tmp_path / ".prose")] == ["unreadable"]


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    seen: list[str] = []

    async def looks(run: Run) -> None:
        await run.session("One")
        seen.extend(one.status for one in runs(tmp_path / ".prose"))

    assert played(looks, tmp_path).outcome.exit_code == 0
    assert seen == ["running"]


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


@pytest.mark.parametrize("wrong", [[], ["what"], ["show"], ["runs", "x"]])
def test_wrong_usage(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(wrong) == 2
    assert "--help says more" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["runs"], ["show"], ["doctor"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([*command, "--help"])
    assert exit.value.code == 0
    assert "prose_runtime" in capsys.readouterr().out
