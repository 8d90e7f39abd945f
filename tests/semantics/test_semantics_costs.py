"""What compiled programs cost, against the loopback server: in the journal, at the end of a run, and under limits."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playing import built
from prose_runtime.costs import Costs
from prose_runtime.events import Event, StepTokens
from prose_runtime.providers.anthropic import AnthropicProvider
from prose_runtime.run import execute
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import Settings
from prose_runtime.testing.reactions import Reaction, Says, Stalls
from prose_runtime.testing.server import Call, Hold, LoopbackServer, serving

PROGRAM = """
let draft = session "Draft"
if **the draft is good**:
  session "Publish"
    model: opus
output draft = draft
"""


def answer(call: Call) -> Reaction:
    if call.schema is not None:
        said = '{"reason": "it is", "answer": true}'
        return Says(said, input_tokens=400, output_tokens=20)
    return Says("text", input_tokens=1000, output_tokens=200, cache_write=10, cache_read=50)


class Script:
    """Runs compiled programs as scripts in this process, against a server of its own."""

    def __init__(
        self, folder: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self.server = server
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, source: str, *arguments: str) -> int:
        _, program = built(source)
        with pytest.raises(SystemExit) as ended:
            program.cli(arguments)
        self.out, self.err = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    @property
    def usage(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)["usage"]
        return found

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.journal if record["r"] == kind]

    @property
    def journal(self) -> list[dict[str, Any]]:
        [run] = (self.folder / ".prose" / "runs").iterdir()
        lines = (run / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Script]:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("PROSE_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr("sys.argv", ["case.py"])
    with serving(answer) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        yield Script(tmp_path, server, capsys)


def test_every_step_says_what_it_cost_and_the_end_sums_it_up(script: Script) -> None:
    assert script(PROGRAM, "--json") == 0
    found = [(r["kind"], r["model"], r["usage"], r["usd"]) for r in script.records("result")]
    assert found == [
        ("session", "claude-sonnet-5-5", [1000, 200, 10, 50], 0.00403),
        ("decide", "claude-haiku-5-5", [400, 20, 0, 0], 0.00005),
        ("session", "claude-opus-5-5", [1000, 200, 10, 50], 0.00806),
    ]
    assert script.usage == {
        "sessions": 2,
        "decisions": 1,
        "input_tokens": 2400,
        "output_tokens": 420,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "usd": 0.01214,
    }
    table = [line.split() for line in script.err.splitlines() if " claude-" in line]
    assert [row[:2] for row in table] == [
        ["session", "claude-opus-5-5"],
        ["session", "claude-sonnet-5-5"],
        ["decision", "claude-haiku-5-5"],
    ]
    assert "0.0121" in script.err


def test_quiet_runs_show_no_table(script: Script) -> None:
    assert script(PROGRAM, "--quiet") == 0
    assert "claude-" not in script.err


def test_answers_that_were_none_are_paid_for_too(script: Script) -> None:
    script.server.script(
        Says("I won't", stop_reason="refusal", input_tokens=100, output_tokens=1),
        Says("text", input_tokens=100, output_tokens=2),
        Says('{"reason": "?"}', input_tokens=50, output_tokens=3),
        Says('{"reason": "it is", "answer": true}', input_tokens=50, output_tokens=4),
    )
    source = 'session "Draft"\n  retry: 1\nif **the draft is good**:\n  session "Publish"\n'
    assert script(source, "--json") == 0
    spent = [(r["kind"], r["model"], r["usage"]) for r in script.records("spent")]
    assert spent == [
        ("session", "claude-sonnet-5-5", [100, 1, 0, 0]),
        ("decide", "claude-haiku-5-5", [50, 3, 0, 0]),
    ]
    assert script.usage["input_tokens"] == 100 + 100 + 50 + 50 + 1000
    assert script.usage["sessions"] == 2, "a session with its retries is one"


def test_a_failed_session_has_cost_something(script: Script) -> None:
    script.server.script(Says("cut", stop_reason="max_tokens", input_tokens=100, output_tokens=7))
    assert script('session "Draft"\n', "--json") == 1
    assert [r["usage"] for r in script.records("spent")] == [[100, 7, 0, 0]]
    assert (script.usage["sessions"], script.usage["output_tokens"]) == (1, 7)


def test_what_repairs_a_shape_is_paid_for(script: Script) -> None:
    script.server.script(
        Says("nothing of the kind", input_tokens=100, output_tokens=5),
        Says('{"name": "bees"}', input_tokens=30, output_tokens=2),
    )
    source = 'let found = session "Find"\nsession "Use {found.name}"\n  context: found\n'
    assert script(source, "--json") == 0, script.err
    [repair] = script.records("spent")
    assert (repair["model"], repair["usage"]) == ("claude-haiku-5-5", [30, 2, 0, 0])
    assert script.usage["input_tokens"] == 1130


def test_a_limit_of_dollars_stops_a_run_that_a_higher_one_goes_on_with(script: Script) -> None:
    assert script(PROGRAM, "--max-usd", "0.004") == 75
    assert "stopped: the run has cost 0.0040 USD, and --max-usd allows 0.004" in script.err
    assert len(script.server.calls) == 1
    command = next(line for line in script.err.splitlines() if line.startswith("resume with: "))
    _, _, *arguments = command.removeprefix("resume with: ").split()
    assert script(PROGRAM, *arguments[:-1], "1", "--json") == 0
    assert len(script.server.calls) == 3
    assert script.usage["usd"] == 0.01214, "all lives count"


def test_a_limit_of_dollars_needs_the_price_of_every_model(script: Script) -> None:
    assert script(PROGRAM, "--max-usd", "1", "--model", "claude-new") == 2
    assert "no price is known for claude-new" in script.err
    assert "--model-price claude-new=IN/OUT" in script.err
    assert script(PROGRAM, "--max-usd", "1", "--model", "opus=claude-newer") == 2
    assert not (script.folder / ".prose").exists() and not script.server.calls
    priced = ("--model-price", "claude-new=1/1")
    assert script(PROGRAM, "--max-usd", "1", "--model", "claude-new", *priced) == 0


def test_a_model_without_a_price_that_is_met_later_stops_the_run_before_its_call(
    script: Script,
) -> None:
    source = 'session "First"\nsession "Second"\n  model: "claude-new"\n'
    assert script(source, "--max-usd", "1") == 75
    assert [call.model for call in script.server.calls] == ["claude-sonnet-5-5"]
    assert "no price is known for claude-new" in script.err
    again = ("--resume", "last", "--max-usd", "1", "--model-price", "claude-new=2/8")
    assert script(source, *again, "--json") == 0
    assert [call.model for call in script.server.calls] == ["claude-sonnet-5-5", "claude-new"]
    assert script.usage["usd"] == pytest.approx(0.00403 + 0.002 + 0.0016 + 0.000025 + 0.00001)


def test_without_a_price_the_dollars_are_not_known(script: Script) -> None:
    assert script('session "First"\n  model: "claude-new"\n', "--json") == 0
    assert script.usage["usd"] is None
    assert "usd" not in script.records("result")[0]
    assert "no price is known for claude-new" in script.err


def test_a_simulated_run_costs_nothing_and_says_so(script: Script) -> None:
    simulated = ("--provider", "simulate", "--model", "claude-new", "--max-usd", "0.01")
    assert script(PROGRAM, *simulated, "--json") == 0
    assert script.usage["usd"] == 0
    assert "cost: 0 USD (simulated: no model was called)" in script.err


class Releases:
    """Lets the winner be answered once the loser's answer has begun to arrive."""

    def __init__(self) -> None:
        self.hold: Hold | None = None

    def see(self, event: Event) -> None:
        if isinstance(event, StepTokens) and self.hold is not None:
            self.hold.release()


def test_an_answer_that_is_cut_off_by_another_one_is_paid_for(tmp_path: Path) -> None:
    _, program = built('parallel ("first"):\n  session "Win"\n  session "Lose"\n')
    releases = Releases()

    def react(call: Call) -> Reaction:
        return Says("won", input_tokens=5) if call.prompt.endswith("Win") else Stalls("x" * 400)

    async def whole() -> list[dict[str, Any]]:
        async with LoopbackServer(react) as server:
            releases.hold = server.hold(lambda call: call.prompt.endswith("Win"))
            environ = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.base_url}
            side = Sessions(AnthropicProvider(environ))
            settings = Settings(side, prose_dir=tmp_path / ".prose", observers=(releases,))
            outcome = await asyncio.wait_for(execute(program, settings), 20)
            assert outcome.exit_code == 0 and outcome.directory is not None
            lines = (outcome.directory / "journal.jsonl").read_text().splitlines()
            return [json.loads(line) for line in lines]

    records = asyncio.run(whole())
    [spent] = [record for record in records if record["r"] == "spent"]
    assert spent["usage"] == [1, 100, 0, 0]
    assert spent["usd"] == pytest.approx(0.001002)
    assert [record["r"] for record in records].count("cancelled") == 1
    assert Costs.of(records).sessions == 2
