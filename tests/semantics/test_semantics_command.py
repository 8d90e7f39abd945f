"""A compiled script as a command (runtime.md 8, 11, 12): inputs in every way, secrets, waiting, exit codes, --json."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from playing import built

PROGRAM = """
input topic: "What to write about"
input tone: "How"
let draft = session "Write about {topic} in a {tone} tone"
output draft = draft
"""


class Command:
    """Runs a program's command line in this process, in a directory of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, source: str, *arguments: str, provider: str = "simulate") -> int:
        _, program = built(source)
        with pytest.raises(SystemExit) as ended:
            program.cli(["--provider", provider, *arguments])
        self.out, self.err = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    @property
    def json(self) -> dict[str, object]:
        loaded = json.loads(self.out)
        assert isinstance(loaded, dict)
        return loaded

    @property
    def run(self) -> Path:
        (run,) = (self.folder / ".prose" / "runs").iterdir()
        return run


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("PROSE_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr("sys.argv", ["case.py"])
    return Command(tmp_path, capsys)


def test_inputs_are_options(command: Command) -> None:
    assert command(PROGRAM, "--topic", "bees", "--tone", "dry") == 0
    assert command.out == "[simulated] Write about bees in a dry tone\n"


def test_inputs_by_name_and_by_file(command: Command) -> None:
    Path("topic.txt").write_text("bees\nand wasps")
    assert command(PROGRAM, "--topic", "@topic.txt", "--input", "tone=dry=er") == 0
    text = (command.run / "bindings" / "topic.md").read_text()
    assert text.endswith("\n---\n\nbees\nand wasps")
    assert (command.run / "bindings" / "tone.md").read_text().endswith("\n---\n\ndry=er")


def test_an_at_sign_twice_is_one(command: Command) -> None:
    assert command(PROGRAM, "--topic", "@@bee", "--tone", "dry") == 0
    assert "about @bee in" in command.out


def test_inputs_from_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("bées".encode())))
    assert command(PROGRAM, "--topic", "-", "--tone", "dry") == 0
    assert "about bées in" in command.out


def test_inputs_from_a_json_file_keep_their_kind(command: Command) -> None:
    Path("inputs.json").write_text('{"topic": ["bees", 1], "tone": "dry"}')
    assert command(PROGRAM, "--inputs", "inputs.json") == 0
    assert 'about ["bees", 1] in' in command.out


def test_inputs_from_the_environment_give_way_to_options(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROSE_INPUT_TOPIC", "env")
    monkeypatch.setenv("PROSE_INPUT_TONE", "env")
    assert command(PROGRAM, "--tone", "dry") == 0
    assert "about env in a dry tone" in command.out


def test_inputs_from_the_env_file_of_the_runs(command: Command) -> None:
    Path(".prose").mkdir()
    Path(".prose/.env").write_text('PROSE_INPUT_TOPIC="bees"\nPROSE_INPUT_TONE=dry\n')
    assert command(PROGRAM) == 0
    assert "about bees in a dry tone" in command.out


def test_leading_inputs_that_are_missing_are_named_at_once(command: Command) -> None:
    assert command(PROGRAM) == 2
    assert "--topic" in command.err
    assert "--tone" in command.err
    assert command.out == ""


def test_a_flag_of_the_scripts_own_leaves_only_the_long_form(command: Command) -> None:
    source = 'input model: "A car"\noutput m = model\n'
    assert command(source, "--input", "model=T") == 0
    assert command.out == "T\n"


def test_unknown_inputs_are_wrong_usage(command: Command) -> None:
    assert command(PROGRAM, "--topik", "bees") == 2
    assert "--topic" in command.err
    assert command(PROGRAM, "--input", "topik=bees") == 2
    assert "topic" in command.err


def test_a_later_input_waits_with_the_command_that_resumes(command: Command) -> None:
    source = 'session "First"\ninput topic: "Topic"\nsession "About {topic}"\n'
    assert command(source) == 75
    assert f"python case.py --provider simulate --resume {command.run.name}" in command.err
    assert "topic" in command.err
    assert "status: waiting" in (command.run / "state.md").read_text()


def test_json_of_a_run_that_waits(command: Command) -> None:
    source = 'output early = 1\nsession "First"\ninput topic: "Topic"\noutput late = topic\n'
    assert command(source, "--json") == 75
    assert command.json["status"] == "waiting"
    assert command.json["outputs"] == {"early": 1}
    assert command.json["simulated"] is True
    assert command.json["run"] == command.run.name


def test_a_limit_stops_the_run_resumably(command: Command) -> None:
    source = 'let n = 0\nloop:\n  n = n + 1\n  session "Again"\n'
    assert command(source, "--max-rounds", "3") == 75
    assert f"--resume {command.run.name}" in command.err
    assert "status: stopped" in (command.run / "state.md").read_text()


def test_an_uncaught_error_shows_the_programs_line(command: Command) -> None:
    source = 'session "First"\nlet x = 1\nthrow "no way"\n'
    assert command(source) == 1
    assert "case.prose:3: error: no way" in command.err
    assert '3 | throw "no way"' in command.err
    assert "Traceback" not in command.err


def test_without_a_key_nothing_starts(command: Command) -> None:
    assert command('session "First"\n', provider="anthropic") == 2
    assert "ANTHROPIC_API_KEY" in command.err
    assert "--provider simulate" in command.err
    assert not Path(".prose/runs").exists()


@pytest.mark.parametrize(
    "name", ["api_token", "password", "aws-secret", "signing-key", "credential"]
)
def test_secrets_are_shown_nowhere_but_in_their_file(command: Command, name: str) -> None:
    source = (
        f'input {name}: "For the service"\n'
        f"if {name}.length > 3:\n"
        f'  throw "the service refused {{{name}}}"\n'
    )
    assert command(source, "--input", f"{name}=hunter2-and-more") == 1
    assert "hunter2" not in command.out + command.err
    assert "***" in command.err
    for path in command.run.rglob("*"):
        if path.is_file() and path.name != f"{name}.md":
            assert "hunter2" not in path.read_text(), path
    assert "hunter2" in (command.run / "bindings" / f"{name}.md").read_text()


def test_any_input_can_be_declared_a_secret(command: Command) -> None:
    source = 'input topic: "T"\nthrow "refused {topic}"\n'
    assert command(source, "--topic", "hunter2", "--secret", "topic") == 1
    assert "hunter2" not in command.err


def test_several_outputs_and_json(command: Command) -> None:
    source = 'output a = [1, "x"]\noutput b = null\noutput c = session "C"\n'
    assert command(source, "--json") == 0
    assert command.json["outputs"] == {"a": [1, "x"], "b": None, "c": "[simulated] C"}
    assert command.json["status"] == "completed"


def test_the_run_directory(command: Command) -> None:
    assert command(PROGRAM, "--topic", "bees", "--tone", "dry") == 0
    run = command.run
    assert (run / "program.prose").read_text() == PROGRAM
    assert run.stat().st_mode & 0o777 == 0o700
    for name in ("program.prose", "state.md", "journal.jsonl", "bindings/draft.md"):
        assert (run / name).stat().st_mode & 0o777 == 0o600, name
    assert set((Path(".prose") / ".gitignore").read_text().split()) == {"runs/", ".env"}
    assert all(json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines())


def test_prose_dir_elsewhere(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROSE_DIR", "elsewhere")
    assert command('session "A"\n') == 0
    assert Path("elsewhere/runs").is_dir()
    assert not Path(".prose").exists()
