"""A script's options and inputs: what is read, from where, and what is said of a wrong one."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from prose_runtime.errors import UsageError
from prose_runtime.given import environment, given_inputs
from prose_runtime.models import Models
from prose_runtime.options import Declared, Options, read_options

PROGRAM = Declared(
    "brief.prose",
    "One page about 100% of a market.",
    {"topic": "What to write about", "review-depth": None, "json": "clashes", "a_b": "", "a-b": ""},
    ["brief"],
)


def read(*arguments: str, environ: Mapping[str, str] | None = None) -> Options:
    return read_options(PROGRAM, arguments, environ or {}, "python brief.py")


def given(
    *arguments: str, environ: Mapping[str, str] | None = None, stdin: str = ""
) -> dict[str, object]:
    options = read(*arguments)
    found = given_inputs(options, PROGRAM.inputs, environ or {}, lambda: stdin)
    return {
        name: value if isinstance(value, str) else value.plain() for name, value in found.items()
    }


def refused(*arguments: str) -> str:
    with pytest.raises(UsageError) as caught:
        given(*arguments)
    return str(caught.value)


def test_help_names_inputs_outputs_options_and_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        read("--help")
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for words in (
        "One page about 100% of a market.",
        "--topic TEXT",
        "What to write about",
        "the only form for json",
        "outputs:\n  brief",
        "ANTHROPIC_API_KEY",
        "130  interrupted",
        "each = [false, true]",
        "--max-rounds",
    ):
        assert words in text


def test_inputs_as_options() -> None:
    assert given(
        "--topic", "bikes", "--review_depth=3", "--input", "json=x=y", "--a_b", "1", "--a-b", "2"
    ) == {
        "topic": "bikes",
        "review-depth": "3",
        "json": "x=y",
        "a_b": "1",
        "a-b": "2",
    }


def test_inputs_from_files_and_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "topic.txt"
    file.write_bytes("bikes\r\n🚲".encode())
    assert given("--topic", f"@{file}") == {"topic": "bikes\r\n🚲"}
    assert given("--topic", "@@home") == {"topic": "@home"}
    assert given("--topic", "-", stdin="from stdin") == {"topic": "from stdin"}
    assert "can't be read: no such file" in refused("--topic", "@missing.txt")
    file.write_bytes(b"\xff")
    assert "not UTF-8" in refused("--topic", f"@{file}")
    assert "already given to 'topic'" in refused("--topic", "-", "--a_b", "-")


def test_precedence_is_options_file_environment(tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text(json.dumps({"topic": "file", "review-depth": [1, {"x": None}]}))
    environ = {
        "PROSE_INPUT_TOPIC": "environ",
        "PROSE_INPUT_REVIEW_DEPTH": "e",
        "PROSE_INPUT_JSON": "@x",
    }
    found = given("--inputs", str(file), environ=environ)
    assert found == {"topic": "file", "review-depth": [1, {"x": None}], "json": "@x"}
    assert given("--inputs", str(file), "--topic", "o", environ=environ)["topic"] == "o"


@pytest.mark.parametrize(
    ("content", "words"),
    [("{", "not JSON"), ("[1]", "must be one object"), ('{"topc": 1}', "did you mean 'topic'?")],
)
def test_bad_input_files(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "inputs.json"
    file.write_text(content)
    assert words in refused("--inputs", str(file))


def test_a_deep_input_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text('{"topic": ' + "[" * 500 + "]" * 500 + "}")
    assert "nested deeper" in refused("--inputs", str(file))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--topc", "x"], "did you mean --topic?"),
        (["--modle=opus"], "did you mean --model?"),
        (["bikes"], "unexpected argument 'bikes'"),
        (["--topic"], "expected one argument"),
        (["--input", "topic"], "--input NAME=VALUE"),
        (["--input", "topc=x"], "did you mean 'topic'?"),
        (["--secret", "nothing"], "no such input"),
        (["--state", "sqlite"], "not available yet"),
        (["--state", "memory"], "no such mode"),
        (["--max-concurrency", "0"], "above 0"),
        (["--retry", "all"], "invalid choice"),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], words: str) -> None:
    assert words in refused(*arguments)


def test_settings_of_the_run(tmp_path: Path) -> None:
    options = read(
        "--provider", "simulate", "--max-concurrency", "32", "--retry", "none", "--quiet", "--json"
    )
    assert (options.provider, options.max_concurrency, options.retry) == ("simulate", 32, False)
    assert (options.quiet, options.json, options.max_rounds) == (True, True, 1000)
    assert read().prose_dir == Path(".prose")
    assert read(environ={"PROSE_DIR": "/somewhere"}).prose_dir == Path("/somewhere")


def test_the_env_file(tmp_path: Path) -> None:
    assert environment(tmp_path / "none", {"A": "1"}) == {"A": "1"}
    (tmp_path / ".env").write_text(
        "# keys\nexport KEY='a=b'\nA=file\n\nnonsense\nEMPTY=\n", encoding="utf-8"
    )
    assert environment(tmp_path, {"A": "process"}) == {"KEY": "a=b", "A": "process", "EMPTY": ""}


def test_models() -> None:
    models = Models.chosen(
        ["opus", "sonnet=claude-x"],
        None,
        {"PROSE_MODEL_HAIKU": "claude-h", "PROSE_MODEL_SONNET": "y"},
    )
    assert models.resolve(None) == "claude-opus-5-5"
    assert models.resolve("sonnet") == "claude-x"
    assert models.resolve("claude-3") == "claude-3"
    assert models.decider_id == "claude-h"
    assert Models.chosen([], "opus", {}).decider_id == "claude-opus-5-5"
    for wrong in ("sonet", "sonnet=", "sonet=claude-x", ""):
        with pytest.raises(UsageError, match="--model"):
            Models.chosen([wrong], None, {})
    with pytest.raises(UsageError, match="did you mean 'haiku'"):
        Models.chosen([], "haiki", {})
