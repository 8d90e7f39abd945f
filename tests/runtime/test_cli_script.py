"""A script as a process: what it prints, where, and with which exit code."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prose_runtime.testing.reactions import Fails, Says
from prose_runtime.testing.server import LoopbackServer, serving

BRIEF = Path(__file__).parent / "scripts" / "brief.py"
HEAD = '''"""A test."""

from prose_runtime import Agent, Fields, Permissions, Program, ProseError, Retry, Run, Value

program = Program("test.prose")
'''
FOOT = """

if __name__ == "__main__":
    program.cli()
"""


def environ(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC", "PROSE"))
    }
    return {**kept, **more}


def run(
    script: Path, *arguments: str, cwd: Path, stdin: str | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(script), *arguments],
        cwd=cwd,
        env=environ(**more),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=60,
    )


def written(folder: Path, body: str, source: str = "", declared: str = "") -> Path:
    """A script whose main function is `body`; its first line came from line 2 of `source`."""
    path = folder / "test.py"
    before = f"{HEAD}{declared}\n\n@program.main\nasync def main(run: Run) -> None:\n"
    lines = f"{before.count(chr(10)) + 1}:2"
    footer = f"\n\nprogram.source({source!r}, lines={lines!r})" if source else ""
    main = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    path.write_text(f"{before}{main}{footer}{FOOT}", encoding="utf-8")
    return path


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as started:
        yield started


def live(server: LoopbackServer) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "sk-ant-test-key", "ANTHROPIC_BASE_URL": server.base_url}


def test_the_brief_runs_to_its_end_simulated(tmp_path: Path) -> None:
    ended = run(BRIEF, "--market", "bikes", "--provider", "simulate", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("[simulated] editor: Tighten the draft (round 1)")
    assert "(simulated" in ended.stderr
    assert "decided  **the draft fits one page" in ended.stderr
    [folder] = (tmp_path / ".prose" / "runs").iterdir()
    assert (folder / "bindings" / "draft.md").exists()
    assert "status: completed (simulated)" in (folder / "state.md").read_text(encoding="utf-8")


def test_json_is_exact_and_alone_on_standard_output(tmp_path: Path) -> None:
    ended = run(BRIEF, "--market=b", "--provider=simulate", "--json", "--quiet", cwd=tmp_path)
    found = json.loads(ended.stdout)
    assert list(found) == ["run", "status", "simulated", "outputs", "usage"]
    assert (found["status"], found["simulated"]) == ("completed", True)
    assert found["outputs"]["brief"].startswith("[simulated]")
    assert "done" not in ended.stderr


def test_the_brief_runs_against_a_server(tmp_path: Path, server: LoopbackServer) -> None:
    ended = run(BRIEF, "--market", "bikes", cwd=tmp_path, **live(server))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("An answer to:")
    models = {call.model for call in server.calls}
    assert models == {"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"}
    edited = next(call for call in server.calls if call.prompt.endswith("Write a one-page brief"))
    assert edited.system == "You edit for a busy executive in the bikes business."
    assert "Context provided:\n---\nprofiles: " in edited.prompt


def test_particular_answers(tmp_path: Path) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text(
        'companies = ["A"]\n"who should see*" = "Board"\n"*wiki" = { error = "the wiki is down" }\n'
    )
    ended = run(
        BRIEF, "--market", "b", "--provider", "simulate", "--answers", "answers.toml", cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    assert "Add a table of figures" in ended.stderr
    assert "Tell the author what went wrong" in ended.stderr


def test_no_key_ends_before_the_first_step(tmp_path: Path) -> None:
    ended = run(BRIEF, "--market", "b", cwd=tmp_path)
    assert ended.returncode == 2
    assert "ANTHROPIC_API_KEY" in ended.stderr and "--provider simulate" in ended.stderr
    assert not (tmp_path / ".prose" / "runs").exists()


def test_a_key_from_the_env_file(tmp_path: Path, server: LoopbackServer) -> None:
    (tmp_path / ".prose").mkdir()
    lines = [f"{name}={value}" for name, value in live(server).items()]
    (tmp_path / ".prose" / ".env").write_text("\n".join(lines))
    script = written(tmp_path, 'await run.session("Hello")')
    ended = run(script, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "An answer to: Hello\n")


def test_missing_leading_inputs_are_all_named(tmp_path: Path) -> None:
    ended = run(BRIEF, "--provider", "simulate", cwd=tmp_path)
    assert ended.returncode == 2
    assert "--market" in ended.stderr and "Market to cover" in ended.stderr
    assert not (tmp_path / ".prose" / "runs").exists()


def test_a_refused_key_ends_the_run_past_its_catch(tmp_path: Path, server: LoopbackServer) -> None:
    server.script(Fails(401, message="invalid x-api-key sk-ant-test-key"))
    script = written(
        tmp_path,
        'try:\n    await run.session("Hello")\nexcept ProseError:\n    await run.session("Again")',
    )
    ended = run(script, cwd=tmp_path, **live(server))
    assert ended.returncode == 2
    assert "refused the key" in ended.stderr and "sk-ant" not in ended.stderr
    assert server.count == 1


def test_a_failure_shows_the_programs_own_line(tmp_path: Path, server: LoopbackServer) -> None:
    server.script(Fails(400, message="no \x1b[31mgood"))
    body = 'await run.session("Hello")'
    script = written(tmp_path, body, source='# a program\nsession "Hello"\n')
    ended = run(script, cwd=tmp_path, **live(server))
    assert ended.returncode == 1
    assert "test.prose:2: error:" in ended.stderr
    assert '2 | session "Hello"' in ended.stderr
    assert "\x1b" not in ended.stderr and "Traceback" not in ended.stderr


def test_an_error_nobody_expected_is_no_traceback(tmp_path: Path) -> None:
    ended = run(written(tmp_path, 'raise TypeError("odd")'), "--provider", "simulate", cwd=tmp_path)
    assert ended.returncode == 1
    assert "TypeError: odd" in ended.stderr and "Traceback" not in ended.stderr
    [trace] = (tmp_path / ".prose" / "runs").glob("*/traceback.txt")
    assert "TypeError: odd" in trace.read_text()
    assert trace.stat().st_mode & 0o777 == 0o600


def test_a_program_without_outputs_prints_its_last_value(tmp_path: Path) -> None:
    script = written(tmp_path, 'await run.session("Hello")\nrun.let("n", Value(3) + 4)')
    assert run(script, "--provider", "simulate", cwd=tmp_path).stdout == "7\n"


def test_several_outputs_stand_under_their_names(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        'run.output("b", "two")\nrun.output("a", ["one"])',
        declared='program.output("a")\nprogram.output("b")\n',
    )
    assert run(script, "--provider", "simulate", cwd=tmp_path).stdout == 'a:\n["one"]\n\nb:\ntwo\n'


def test_usage_errors(tmp_path: Path) -> None:
    ended = run(BRIEF, "--markt", "x", cwd=tmp_path)
    assert ended.returncode == 2
    assert "did you mean --market?" in ended.stderr
    assert run(BRIEF, "--provider", "openai", "--market", "x", cwd=tmp_path).returncode == 2


def test_help_works_without_anything(tmp_path: Path) -> None:
    ended = run(BRIEF, "--help", cwd=tmp_path)
    assert ended.returncode == 0
    assert "Competitor brief" in ended.stdout and "--market TEXT" in ended.stdout


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    script = written(tmp_path, 'run.output("o", "x" * 1_000_000)', declared='program.output("o")\n')
    command = (
        f'"{sys.executable}" "{script}" --provider simulate | head -c 1; exit ${{PIPESTATUS[0]}}'
    )
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environ(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (0, "x")
    assert "rror" not in ended.stderr


def test_closed_streams_and_a_plain_locale(tmp_path: Path) -> None:
    script = written(tmp_path, 'run.output("o", "smile 🙂")', declared='program.output("o")\n')
    command = f'"{sys.executable}" "{script}" --provider simulate <&- 2>&-'
    ended = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=environ(), capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (0, "smile 🙂\n")
    ended = run(script, "--provider", "simulate", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stdout) == (0, "smile \\U0001f642\n")


def start(script: Path, cwd: Path, server: LoopbackServer) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(script)],
        cwd=cwd,
        env=environ(**live(server)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_one_interrupt_finishes_what_runs_and_starts_nothing(
    tmp_path: Path, server: LoopbackServer
) -> None:
    hold = server.hold()
    script = written(tmp_path, 'await run.session("One", let="one")\nawait run.session("Two")')
    process = start(script, tmp_path, server)
    assert hold.arrived.wait(30)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    for line in process.stderr:
        if "finishing what runs" in line:
            break
    hold.release()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert server.count == 1
    assert "Traceback" not in errors
    [folder] = (tmp_path / ".prose" / "runs").iterdir()
    assert (folder / "bindings" / "one.md").exists()
    assert "status: interrupted" in (folder / "state.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_two_interrupts_and_sigterm_stop_at_once(
    tmp_path: Path, server: LoopbackServer, signals: tuple[signal.Signals, ...]
) -> None:
    hold = server.hold()
    process = start(written(tmp_path, 'await run.session("One")'), tmp_path, server)
    assert hold.arrived.wait(30)
    process.send_signal(signals[0])
    if len(signals) > 1:
        assert process.stderr is not None
        for line in process.stderr:
            if "finishing what runs" in line:
                break
        process.send_signal(signals[1])
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    [folder] = (tmp_path / ".prose" / "runs").iterdir()
    assert "status: interrupted" in (folder / "state.md").read_text(encoding="utf-8")
    hold.release()


def test_retries_of_the_program_and_without(tmp_path: Path, server: LoopbackServer) -> None:
    body = 'await run.session("Hello", retry=Retry(2))'
    script = written(tmp_path, body)
    server.script(Fails(400), Fails(400), Says("third"))
    ended = run(script, cwd=tmp_path, **live(server))
    assert (ended.returncode, ended.stdout) == (0, "third\n")
    assert "(attempt 3/3)" in ended.stderr
    server.script(Fails(400))
    assert run(script, "--retry", "none", cwd=tmp_path, **live(server)).returncode == 1


def test_on_a_terminal_inputs_are_asked_for_and_progress_is_drawn(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(BRIEF), "--provider", "simulate"],
        cwd=tmp_path,
        env=environ(TERM="xterm"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    answered = False
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:
            break
        if not part:
            break
        shown += part
        if not answered and b"> " in shown:
            os.write(ours, b"electric bikes\n")
            answered = True
    output, _ = process.communicate(timeout=30)
    os.close(ours)
    assert process.returncode == 0, shown
    assert output.startswith(b"[simulated]")
    assert b"market: Market to cover, for example 'electric bikes'" in shown
    assert b"done     companies" in shown
    [folder] = (tmp_path / ".prose" / "runs").iterdir()
    binding = (folder / "bindings" / "market.md").read_text(encoding="utf-8")
    assert binding.endswith("---\n\nelectric bikes")
