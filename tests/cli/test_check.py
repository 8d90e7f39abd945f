"""`prosec check`: what it prints where, and what it exits with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from invoking import Prosec

GOOD = 'session "Say hello to the world"\n'
BAD = 'session "Say hello"\n  model: gpt\n'
DOUBTFUL = 'import "s" from "./s"\nsession "Say hello"\n'


@pytest.fixture(autouse=True)
def programs(here: Path) -> None:
    Path("good.prose").write_text(GOOD)
    Path("bad.prose").write_text(BAD)
    Path("doubtful.prose").write_text(DOUBTFUL)


def test_a_good_program_is_passed_in_silence(prosec: Prosec) -> None:
    assert prosec("check", "good.prose") == (0, "", "")


def test_errors_go_to_standard_error(prosec: Prosec) -> None:
    code, out, err = prosec("check", "good.prose", "bad.prose")
    assert (code, out) == (1, "")
    assert err.startswith("bad.prose:2:10: error E008: invalid model 'gpt'\n")
    assert err.endswith("1 error\n")


def test_strict_turns_warnings_into_errors(prosec: Prosec) -> None:
    code, _, err = prosec("check", "doubtful.prose")
    assert code == 0
    assert "warning W027" in err
    code, _, err = prosec("check", "--strict", "doubtful.prose")
    assert code == 1
    assert "error W027" in err
    assert "--strict turns into an error" in err


def test_strict_shows_what_is_otherwise_not_reported(prosec: Prosec) -> None:
    Path("late.prose").write_text('session "Say hello"\ninput a: "A"\nsession "Say {a}"\n')
    assert prosec("check", "late.prose").code == 0
    code, _, err = prosec("check", "--strict", "late.prose")
    assert code == 1
    assert "error E022" in err


def test_json_goes_to_standard_output(prosec: Prosec) -> None:
    code, out, err = prosec("check", "--format", "json", "good.prose", "./bad.prose")
    assert (code, err) == (1, "")
    report = json.loads(out)
    assert [file["path"] for file in report["files"]] == ["good.prose", "./bad.prose"]
    assert report["files"][0]["diagnostics"] == []
    (found,) = report["files"][1]["diagnostics"]
    assert found["code"] == "E008"
    assert found["span"]["start"] == {"line": 2, "column": 10}


def test_an_empty_program_is_a_program(prosec: Prosec) -> None:
    Path("empty.prose").touch()
    assert prosec("check", "empty.prose").code == 0


def test_any_number_of_programs(prosec: Prosec) -> None:
    assert prosec("check", *["good.prose"] * 300).code == 0


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.prose", "missing.prose: no such file"),
        ("good", "good: no such file; did you mean good.prose?"),
        (".", ". is a folder"),
        ("a.py", "a.py is a Python file"),
        ("a\0b", "a␀b can't be read"),
    ],
)
def test_what_cannot_be_read_is_a_matter_of_usage(prosec: Prosec, path: str, message: str) -> None:
    code, _, err = prosec("check", path, "good.prose")
    assert code == 2
    assert err.startswith(f"prosec: {message}")
    assert err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(prosec: Prosec) -> None:
    Path("good.prose").chmod(0)
    code, _, err = prosec("check", "good.prose")
    assert (code, err) == (2, "prosec: good.prose can't be read: permission denied\n")


def test_bytes_that_are_not_utf8_have_a_place(prosec: Prosec) -> None:
    Path("latin.prose").write_bytes('\ufeffsession "é"\nsession "'.encode() + b'caf\xe9"\n')
    code, _, err = prosec("check", "latin.prose")
    assert code == 1
    assert err.startswith("latin.prose:2:13: error E005: the file is not UTF-8")
    Path("wide.prose").write_bytes('session "a"\n'.encode("utf-16"))
    assert "it looks like UTF-16" in prosec("check", "wide.prose").err


def test_without_files_it_says_what_is_missing(prosec: Prosec) -> None:
    code, _, err = prosec("check")
    assert code == 2
    assert "Missing argument 'FILE...'" in err


def test_a_bug_is_owned_up_to_and_the_next_file_is_checked(
    prosec: Prosec, monkeypatch: pytest.MonkeyPatch
) -> None:
    import prosec.compiler as compiler

    analyse = compiler.analyse

    def fails_once(source: object, *rest: object) -> object:
        if getattr(source, "path", "") == "good.prose":
            raise KeyError("x")
        return analyse(source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("prosec.compiler.analyse", fails_once)
    code, _, err = prosec("check", "good.prose", "bad.prose")
    assert code == 1
    assert err.startswith("good.prose: internal error: KeyError: 'x'\n")
    assert "a bug in prosec" in err
    assert "Traceback" not in err
    assert "E008" in err
    monkeypatch.setenv("PROSEC_DEBUG", "1")
    assert "Traceback" in prosec("check", "good.prose").err


def test_an_interrupt_exits_as_the_shell_expects(
    prosec: Prosec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*rest: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("prosec.compiler.analyse", interrupted)
    code, _, err = prosec("check", "good.prose")
    assert code == 130
    assert "Traceback" not in err


def test_installed_skills_are_known(prosec: Prosec, here: Path) -> None:
    Path("skilled.prose").write_text('agent a:\n  prompt: "p"\n  skills: ["search"]\nsession: a\n')
    assert "W007" in prosec("check", "skilled.prose").err
    skill = here / ".claude" / "skills" / "search"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").touch()
    assert prosec("check", "skilled.prose").err == ""


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "prosec", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_a_locale_that_is_not_utf8_spoils_nothing(here: Path) -> None:
    program = here / "ä.prose"
    program.write_text('session "日本"\n  model: gpt\n', encoding="utf-8")
    for locale in ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}):
        done = command("check", program.name, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", **locale)
        assert done.returncode == 1
        assert b"E008" in done.stderr
        assert b"Traceback" not in done.stderr
        done = command("check", "--format", "json", program.name, **locale)
        assert json.loads(done.stdout)["files"][0]["diagnostics"]


def test_a_reader_that_stops_reading_is_no_error_of_ours(here: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "prosec", "check", "--format", "json", *["bad.prose"] * 2_000],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert err == b""


def test_closed_streams_are_survived(here: Path) -> None:
    for closing in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            f"'{sys.executable}' -m prosec check bad.prose {closing}",
            shell=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr


def test_no_colour_in_a_pipe(here: Path) -> None:
    assert b"\x1b" not in command("check", "bad.prose").stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_colour_on_a_terminal_unless_refused(here: Path, no_colour: str, coloured: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": no_colour}
    subprocess.run(
        [sys.executable, "-m", "prosec", "check", "bad.prose"],
        stderr=theirs,
        env=environment,
        check=False,
    )
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert (b"\x1b[1;31merror" in shown) is coloured
