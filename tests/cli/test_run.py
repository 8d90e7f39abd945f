"""`prosec run` and the commands of the runtime: another process takes over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from invoking import HEADER, Prosec

SCRIPT = HEADER.format(name="flow.prose") + (
    "import json, signal, sys\n"
    "if '--wait' in sys.argv:\n"
    "    print('waiting', flush=True)\n"
    "    signal.pause()\n"
    "print(json.dumps(sys.argv))\n"
    "sys.exit(75)\n"
)


@pytest.fixture(autouse=True)
def program(here: Path) -> Path:
    path = here / "flow.prose"
    path.write_text('session "Say hello"\n')
    return path


@pytest.fixture
def taken_over(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have replaced this process."""
    commands: list[list[str]] = []

    def execv(path: str, arguments: list[str]) -> None:
        assert path == sys.executable
        commands.append(arguments[1:])
        sys.exit(0)

    monkeypatch.setattr(os, "execv", execv)
    return commands


@pytest.mark.usefixtures("emission")
def test_all_further_options_are_the_scripts(prosec: Prosec, taken_over: list[list[str]]) -> None:
    assert prosec("run", "flow.prose", "--help", "-x", "--topic", "a b", "--", "c").code == 0
    assert taken_over == [["-P", "flow.py", "--help", "-x", "--topic", "a b", "--", "c"]]
    assert Path("flow.py").exists()


@pytest.mark.usefixtures("emission")
def test_errors_start_nothing(prosec: Prosec, program: Path, taken_over: list[list[str]]) -> None:
    program.write_text('session "x"\n  retry: 0\n')
    assert prosec("run", "flow.prose").code == 1
    assert prosec("run", "missing.prose").code == 2
    assert taken_over == []


@pytest.mark.usefixtures("emission")
def test_a_folder_that_cannot_be_written_is_left_alone(
    prosec: Prosec,
    here: Path,
    taken_over: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT and Path(path).parent == here:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    assert prosec("run", "flow.prose", "--quiet").code == 0
    ((_, script, option),) = taken_over
    assert option == "--quiet"
    assert Path(script).is_file()
    assert Path(script).parent.parent == here.parent / "home" / ".cache" / "prosec"
    assert not (here / "flow.py").exists()


@pytest.mark.usefixtures("emission")
def test_a_file_of_somebody_else_is_not_run(prosec: Prosec, taken_over: list[list[str]]) -> None:
    Path("flow.py").write_text("print('mine')\n")
    assert prosec("run", "flow.prose").code == 2
    assert taken_over == []


@pytest.mark.parametrize("command", ["runs", "show", "doctor"])
def test_commands_of_the_runtime(prosec: Prosec, taken_over: list[list[str]], command: str) -> None:
    assert prosec(command, "last", "--json", "--help").code == 0
    assert taken_over == [["-P", "-m", "prose_runtime", command, "last", "--json", "--help"]]


def become(*arguments: str) -> subprocess.Popen[bytes]:
    code = f"import sys; from prosec.cli import _become; sys.exit(_become({list(arguments)!r}))"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


def test_the_exit_code_is_the_scripts(here: Path) -> None:
    (here / "flow.py").write_text(SCRIPT)
    (here / "json.py").write_text("raise SystemExit('a neighbour was imported')\n")
    process = become("flow.py", "--topic", "x")
    out, _ = process.communicate()
    assert (process.returncode, out) == (75, b'["flow.py", "--topic", "x"]\n')


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signals_reach_the_script(here: Path, number: signal.Signals) -> None:
    (here / "flow.py").write_text(SCRIPT)
    process = become("flow.py", "--wait")
    assert process.stdout is not None
    assert process.stdout.readline() == b"waiting\n"
    process.send_signal(number)
    process.communicate()
    assert process.returncode == -number


def test_help_answers_at_once(here: Path) -> None:
    """What compiling needs must not be loaded to print a help text; the time itself is for the benchmarks."""
    code = (
        "import sys\n"
        "from prosec.cli import main\n"
        "sys.argv = ['prosec', *{arguments}]\n"
        "try:\n    main()\n"
        "finally:\n"
        "    heavy = {{'black', 'libcst', 'jinja2', 'prosec.compiler', 'prosec.syntax.parser', 'rich',\n"
        "        'asyncio', 'difflib'}}\n"
        "    print(sorted(heavy & set(sys.modules)))\n"
    )
    for arguments in (["--help"], ["check", "--help"], ["build", "--help"], ["run", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(arguments=arguments)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: prosec")
        assert done.stdout.endswith("\n[]\n")
