"""What was sent, put together again from the journal: what the server received, and nothing that is secret."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from prose_runtime import Agent, Fields, Program, ProseError, Run, Value
from prose_runtime.__main__ import main as command
from prose_runtime.history import secrets_of
from prose_runtime.past import Record
from prose_runtime.providers.anthropic import AnthropicProvider
from prose_runtime.recorded import RecordedStep, recorded_steps
from prose_runtime.run import execute
from prose_runtime.sent import Message, Sent
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import Outcome, Resumption, Settings
from prose_runtime.shaping import Shape
from prose_runtime.state import stores_of
from prose_runtime.testing.reactions import Fails, Reaction, Says
from prose_runtime.testing.server import Call, LoopbackServer

LONG = "A line that is repeated until it is long.\n" * 60
editor = Agent("editor", model="opus", prompt=lambda run: f"You edit about {run['topic']}.")


def ran(
    program: Program,
    folder: Path,
    answer: Callable[[Call], Reaction],
    inputs: Mapping[str, str],
    resume: Resumption | None = None,
) -> tuple[Outcome, list[Call]]:
    async def whole() -> tuple[Outcome, list[Call]]:
        async with LoopbackServer(answer) as server:
            key = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.base_url}
            settings = Settings(
                Sessions(AnthropicProvider(key, retries=0)),
                prose_dir=folder / ".prose",
                inputs=inputs,
                resume=resume,
                command="python t.py",
            )
            return await asyncio.wait_for(execute(program, settings), 30), server.calls

    return asyncio.run(whole())


def messages(folder: Path) -> Iterator[tuple[RecordedStep, Message]]:
    """Every message with its step."""
    stores = stores_of(folder / ".prose")
    [run_id] = stores.runs()
    records = stores.records(run_id)
    sent = Sent(stores, run_id, records, secrets_of(stores, run_id, records))
    for step in recorded_steps(records, False):
        for message in sent.by(step):
            yield step, message


def in_order(bodies: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """What ran at once arrived in any order."""
    return sorted(bodies)


def of_everything() -> Program:
    """Each way in which a value gets into a message."""
    program = Program("everything.prose")

    @program.block("inspect")
    async def inspect(run: Run, part: Value, depth: Value) -> Value:
        found = await run.session(f"Inspect {part['name']}", context={"part": part}, let="found")
        if depth > 0 and await run.decide("there is more in found", about={"found": found}):
            return await inspect(run, {"name": f"{part['name']}+", "text": LONG}, depth - 1)
        return found

    @program.main
    async def main(run: Run) -> None:
        topic = await run.input("topic")
        notes = await run.session(
            "Take notes", title="Notes", agent=editor, context=run.so_far, let="notes"
        )
        names = await run.session(
            f"Name three parts of {topic}", context=run.so_far, returns=list, let="names"
        )
        count = await run.session("How many are there?", context={"names": names}, returns=int)
        about = await run.session(
            "Who owns it",
            context={"notes": notes},
            returns=Fields("owner", "since", only=True),
            let="about",
        )
        run.let("sum", count + 1)
        await run.session(
            "Look at all of it",
            context={
                "sum": run["sum"],
                "pair": {"a": [1, 2.5, None, True], "b": "x"},
                "notes": notes,
                "owner": about["owner"],
                "long": LONG,
                "list": [LONG, "short"],
            },
        )
        run.output("report", f"{notes}\n{LONG}")
        await run.session("Read the report", context={"report": run["report"]})
        await run.decide("there are enough", about={"names": names, "long": LONG, "sum": 3})
        await run.choose("where to put it", ["shelf", "floor"])

        async def each(item: Value) -> Value:
            first = await run.session(f"Weigh {item}", context={"item": item}, let="weight")
            return await run.session(f"Label {item}", context={"weight": first}, let="label")

        weights = await run.parallel_for(names, each)
        await run.session("Compare", context={"weights": weights})
        await run.parallel(
            left=run.session("Go left", agent=editor, context=run.so_far),
            right=inspect(run, {"name": "engine", "text": "short"}, 1),
        )
        try:
            await run.session("This is refused")
        except ProseError as problem:
            await run.session("What went wrong", context={"problem": problem.value()})
        for round_ in run.rounds(max=2):
            run.assign("notes", f"{run['notes']} {round_}")
            await run.resume(f"Go on ({round_})", agent=editor, context=run.so_far)
            if await run.until("done"):
                break
        # What the rules can't turn into the shape is asked for once more, by the session or by the runtime.
        with suppress(ProseError):
            await run.session("Pairs", returns=[Fields("a", "b")], let="pairs")
        await run.unpack("nothing of the kind", "left", "right")

    return program


def answer(call: Call) -> Reaction:
    if call.prompt.endswith("This is refused"):
        return Fails(400, message="no such thing")
    if call.schema is None:
        return Says(f"Answer to {call.prompt[-20:]!r} of {len(call.prompt)} characters\r\n---\n")
    return Says()


def test_messages_are_those_that_the_server_received(tmp_path: Path) -> None:
    outcome, calls = ran(of_everything(), tmp_path, answer, {"topic": "boats"})
    assert outcome.problem is not None and "left, right" in outcome.problem.message
    told = list(messages(tmp_path))
    assert all(not message.lacking and not message.problem for _, message in told)
    assert in_order((m.system or "", m.user) for _, m in told) == in_order(
        (call.system, call.prompt) for call in calls
    )
    schemas = {call.prompt: call.schema for call in calls}
    assert all(message.schema == schemas[message.user] for _, message in told)
    kinds = {step.kind for step, _ in told}
    assert kinds == {"session", "resume", "decide", "choose", "until", "repair"}
    fates = {step.label: step.fate for step, _ in told}
    assert (fates["This is refused"], fates["notes"]) == ("failed", "answered")
    assert [step.label for step, _ in told].count("pairs") == 2
    numbers = list(dict.fromkeys(step.number for step, _ in told))
    assert numbers == list(range(1, len(told)))


def test_those_of_the_brief(tmp_path: Path) -> None:
    script = runpy.run_path(str(Path(__file__).parent / "scripts" / "brief.py"))
    outcome, calls = ran(script["program"], tmp_path, lambda call: Says(), {"market": "bikes"})
    assert outcome.exit_code == 0, outcome.problem
    told = [message for _, message in messages(tmp_path)]
    assert in_order((m.system or "", m.user) for m in told) == in_order(
        (call.system, call.prompt) for call in calls
    )


def test_a_step_of_two_lives_is_one(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.main
    async def main(run: Run) -> None:
        topic = await run.input("topic")
        await run.session("one", context={"topic": topic}, let="one")
        await run.session("two", context=run.so_far)

    def fails(call: Call) -> Reaction:
        return Fails(400) if call.prompt.endswith("two") else Says("fine")

    failed, _ = ran(program, tmp_path, fails, {"topic": LONG})
    assert failed.exit_code == 1
    again, calls = ran(program, tmp_path, lambda call: Says(), {}, Resumption("last"))
    assert again.exit_code == 0, again.problem
    [call] = calls
    one, (two, message) = messages(tmp_path)
    assert (one[0].asked, two.asked, two.life, two.fate) == (1, 2, 2, "answered")
    assert (message.user, two.number) == (call.prompt, 2)


def secret_run(folder: Path) -> list[Call]:
    program = Program("t.prose")

    @program.main
    async def main(run: Run) -> None:
        token = await run.input("api_token")
        await run.session(f"Log in with {token}", context={"api_token": token}, let="login")
        await run.session("So far", context=run.so_far)
        await run.session("In parts", context={"parts": {"user": "me", "token": token}})

    echo = Says("Logged in with hush-hush-7 as me")
    outcome, calls = ran(program, folder, lambda call: echo, {"api_token": "hush-hush-7"})
    assert outcome.exit_code == 0, outcome.problem
    return calls


def test_secrets_are_never_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = secret_run(tmp_path)
    assert all("hush-hush-7" in call.prompt for call in calls)
    told = list(messages(tmp_path))
    received = [call.prompt.replace("hush-hush-7", "***") for call in calls]
    # Not even how long it is.
    received = [text.replace("api_token.md, 11 char", "api_token.md, 3 char") for text in received]
    assert [message.user for _, message in told] == received
    assert told[0][1].lacking == ("'api_token' is a secret",)
    place = ["--prose-dir", str(tmp_path / ".prose")]
    for options in (["--prompts"], ["--prompts", "--json"], [], ["--json"]):
        assert command(["show", "last", *options, *place]) == 0
        assert "hush" not in capsys.readouterr().out


def test_what_is_not_kept_any_more_is_said(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.main
    async def main(run: Run) -> None:
        await run.session("make", let="made")
        run.assign("made", run["made"] + " twice")
        await run.session("use", context={"made": run["made"], "long": LONG})
        run.assign("made", "something else")

    outcome, calls = ran(program, tmp_path, lambda call: Says("a thing"), {})
    assert outcome.exit_code == 0, outcome.problem
    (_, first), (_, second) = messages(tmp_path)
    assert (first.lacking, first.user) == ((), "make")
    [lack] = second.lacking
    assert lack.startswith("'made' was in ") and "another value now" in lack
    assert "[not kept: it was in " in second.user
    assert LONG in second.user
    assert calls[1].prompt.partition("long:")[2] == second.user.partition("long:")[2]
    for path in tmp_path.glob(".prose/runs/*/attachments/*"):
        path.unlink()
    *_, (_, second) = messages(tmp_path)
    assert len(second.lacking) == 2 and LONG not in second.user


def test_one_step_and_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(of_everything(), tmp_path, answer, {"topic": "bo\x1b[31mats"})
    place = ["--prose-dir", str(tmp_path / ".prose")]
    assert command(["show", "last", "--step", "1", *place]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("1. session notes, answered, opus: claude-opus-5-5, ")
    assert "   system:\n      You edit about bo\\x1b[31mats.\n   user:\n" in shown
    assert "2. session" not in shown
    assert command(["show", "last", "--step", "notes", "--json", *place]) == 0
    [notes] = json.loads(capsys.readouterr().out)
    assert notes["number"] == 1 and notes["sent"][0]["user"].endswith("Notes\n\nTake notes")
    assert command(["show", "last", "--step", "done", *place]) == 0
    assert capsys.readouterr().out.count("until **done**") == 1
    for wrong in ("0", "9999", "nothing"):
        assert command(["show", "last", "--step", wrong, *place]) == 2
        assert "the run has no such step; they are 1 to " in capsys.readouterr().err
    assert command(["show", "last", "--prompts", *place]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.count("\n   user:\n") == len(list(messages(tmp_path)))
    assert shown.count("asked for once more:\n") == 1


@pytest.mark.parametrize(
    "shape",
    [
        Shape("list"),
        Shape("number"),
        Shape("object", ("a", "b"), True),
        Shape("object", ("a",), False, (("a", Shape("list", item=Shape("object", ("c",)))),)),
        Shape("list", item=Shape("object", ("a",), True, (("a", Shape("boolean")),))),
        Shape("object"),
    ],
)
def test_a_shape_is_read_as_it_was_written(shape: Shape) -> None:
    assert Shape.read(json.loads(json.dumps(shape.plain()))) == shape


def test_a_question_whose_record_is_lost(tmp_path: Path) -> None:
    secret_run(tmp_path)
    stores = stores_of(tmp_path / ".prose")
    [run_id] = stores.runs()
    kept: list[Record] = [r for r in stores.records(run_id) if r["r"] != "ask"]
    first, *_ = recorded_steps(kept, False)
    assert (first.fate, first.label) == ("answered", "login")
    [message] = Sent(stores, run_id, kept, secrets_of(stores, run_id, kept)).by(first)
    assert message.problem == "the record of what it was asked is lost"
