"""Inputs, waiting, limits, interruption, and a store that fails."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from prose_runtime import Agent, Permissions, Program, ProseError, Run, Value
from prose_runtime.errors import StoreFailed, UsageError
from prose_runtime.events import Bound, Warned
from prose_runtime.settings import InputWanted
from prose_runtime.tasks import Answer, Task
from scripted import Scripted, failing, play, played
from test_parallel import never


def test_leading_inputs_are_all_named_before_any_step(tmp_path: Path) -> None:
    program = Program("t.prose")
    program.input("topic", "What about")
    program.input("depth")
    program.source(
        'input topic: "What about"\nagent a:\n  model: opus\ninput depth: "x"\nsession "go"\ninput later: "y"\n',
        statements="1-1:input 2-3:agent 4-4:input 5-5:session 6-6:input",
    )

    @program.main
    async def main(run: Run) -> None:
        raise AssertionError("nothing may start")

    ran = play(program, tmp_path)
    assert ran.outcome.exit_code == 2
    assert ran.outcome.problem is not None
    assert "--topic TEXT  What about" in ran.outcome.problem.message
    assert "--depth" in ran.outcome.problem.message
    assert "later" not in ran.outcome.problem.message
    assert not (tmp_path / ".prose").exists()
    assert ran.side.closed == 1


def test_a_later_input_waits_after_the_other_branches_ended(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        asked = asyncio.Event()

        async def asks() -> None:
            try:
                asked.set()
                await run.input("budget", "How much?")
            except ProseError:
                await run.session("swallowed")
            finally:
                await run.session("must not start")

        async def works() -> None:
            await asked.wait()
            await run.session("one")
            await run.session("two")

        await run.parallel(asks, works)
        await run.session("after")

    ran = played(main, tmp_path, command="python brief.py")
    assert ran.outcome.exit_code == 75
    assert ran.outcome.status == "waiting"
    assert ran.prompts == ["one", "two"]
    assert ran.outcome.problem is not None
    assert f"python brief.py --resume {ran.outcome.run_id} --budget VALUE" in ran.outcome.problem.message
    assert ran.records("end")[0]["status"] == "waiting"
    assert "status: waiting" in (ran.directory / "state.md").read_text()


def test_a_race_that_is_won_has_no_need_of_the_person(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        a, b = await run.parallel(a=run.input("x"), b=run.session("quick"), join="first")
        assert a.is_null
        assert b == "[quick]"
        await run.session("after")

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_inputs_given_and_asked(tmp_path: Path) -> None:
    async def ask(wanted: InputWanted) -> str:
        return f"answer to {wanted.name}"

    async def main(run: Run) -> None:
        for _ in run.rounds(2):
            await run.input("topic")
        await run.session("s", context=run.so_far)

    ran = played(main, tmp_path, inputs={"topic": "given"}, ask=ask)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert [r["text"] for r in ran.records("input")] == ["given", "answer to topic"]
    assert ran.told("s") == ["topic"]
    assert ran.file("topic") == "# topic\n\nkind: input\n\nsource:\n```prose\n\n```\n\n---\n\nanswer to topic"


def test_secrets_stand_in_their_binding_file_only(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        key = await run.input("api_key")
        run.let("copy", 1)
        raise run.error(f"refused {key}")

    ran = played(main, tmp_path, inputs={"api_key": "sk-very-secret"})
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message == "refused ***"
    assert ran.file("api_key").endswith("sk-very-secret")
    for name in ("journal.jsonl", "state.md"):
        assert "sk-very-secret" not in (ran.directory / name).read_text()
    assert [e.shown for e in ran.seen.of(Bound) if e.name == "api_key"] == [False]


def test_ctrl_c_once_finishes_what_runs(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def two() -> None:
            await run.session("two")
            await run.session("must not start")

        try:
            await run.parallel(run.session("one"), two)
        finally:
            await run.session("must not start either")

    async def one() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return await finished()

    async def finished() -> str:
        # Time for the signal to arrive: it comes through the event loop.
        for _ in range(50):
            await asyncio.sleep(0)
        return "finished"

    ran = played(main, tmp_path, Scripted({"one": one, "two": finished}))
    assert ran.outcome.exit_code == 130
    assert ran.outcome.status == "interrupted"
    assert sorted(ran.prompts) == ["one", "two"]
    assert [r["text"] for r in ran.records("result")] == ["finished", "finished"]
    assert ran.outcome.resume_command is not None


def test_ctrl_c_twice_stops_now(tmp_path: Path) -> None:
    async def hang() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)
        return await never()

    async def main(run: Run) -> None:
        await run.parallel(run.session("hang"), run.session("b"))

    ran = played(main, tmp_path, Scripted({"hang": hang}))
    assert ran.outcome.exit_code == 130
    assert ran.records("end")[0]["status"] == "interrupted"


def test_a_refused_key_is_no_error_of_the_program(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        try:
            await run.session("x")
        except ProseError:
            await run.session("swallowed")

    ran = played(main, tmp_path, Scripted({"x": UsageError("the key was refused")}))
    assert ran.outcome.exit_code == 2
    assert ran.outcome.status == "failed"
    assert ran.prompts == ["x"]


def test_a_full_disk_ends_the_run_and_keeps_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = False
    write = os.write

    def full_disk(descriptor: int, data: bytes) -> int:
        if full:
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr("prose_runtime.journal.os.write", full_disk)

    async def fills(*_: object) -> str:
        nonlocal full
        full = True
        return "two"

    async def main(run: Run) -> None:
        await run.session("one")
        try:
            await run.session("two")
        except ProseError:
            await run.session("swallowed")
        await run.session("never asked")

    ran = played(main, tmp_path, Scripted({"two": fills}))
    assert ran.outcome.exit_code == 1
    assert ran.outcome.status == "failed"
    assert ran.outcome.problem is not None
    assert "No space left on device" in ran.outcome.problem.message
    assert ran.prompts == ["one", "two"]
    assert [r["text"] for r in ran.records("result")] == ["[one]"]


def test_a_binding_that_cant_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path).startswith(".x.md"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("prose_runtime.state.files.os.open", refuse)

    async def main(run: Run) -> None:
        await run.session("one", let="x")
        await never()

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 1
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.kind == StoreFailed.__name__
    assert "x.md: Permission denied" in ran.outcome.problem.message


def test_a_folder_that_cant_be_made(tmp_path: Path) -> None:
    (tmp_path / ".prose").write_text("in the way")

    async def main(run: Run) -> None: ...

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 1
    assert ran.outcome.problem is not None
    assert "--prose-dir" in ran.outcome.problem.message


def test_what_is_not_honoured_yet_is_said_once(tmp_path: Path) -> None:
    agent = Agent("a", prompt="be good", persist="project", skills=["s"], permissions=Permissions(bash="deny"))

    async def main(run: Run) -> None:
        for _ in run.rounds(3):
            await run.session("x", agent=agent)

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0
    said = [event.text for event in ran.seen.of(Warned)]
    assert len(said) == 3
    assert all("not honoured yet" in text for text in said)


def test_a_missing_field_is_null_with_one_warning(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        thing = run.let("thing", {"a": 1})
        for _ in run.rounds(3):
            assert thing["b"].is_null

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert len(ran.seen.of(Warned)) == 1


def test_a_finally_on_the_way_out_does_not_make_a_failure_handled(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        try:
            await run.session("bad")
        finally:
            await run.session("clean")

    ran = played(main, tmp_path, Scripted({"bad": failing()}))
    assert ran.outcome.exit_code == 1
    assert ran.prompts == ["bad", "clean"]
    assert ran.records("end")[0]["failed"] == [ran.records("failed")[0]["id"]]


def test_steps_that_nobody_awaits_do_nothing(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        run.session("never")
        run.decide("never")
        run.parallel(run.session("never"))

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0
    assert ran.prompts == []


def test_calls_know_their_lines(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session(
            "a",
        )
        await run.session(
            f"{await run.session('b')}",
            let="x",
        )

    first = main.__code__.co_firstlineno
    program = Program("t.prose")
    program.main(main)
    program.source("one\ntwo\nthree\nfour\n", lines=f"{first + 1}:2 {first + 4}:3 {first + 5}:4")
    ran = play(program, tmp_path)
    assert [task.hints.line for task in ran.side.tasks] == [2, 4, 3]


def test_a_round_that_waits_stops_only_those_that_need_their_turn(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        run.let("n", 0)

        async def one(i: Value) -> None:
            await run.session(f"free {i}")
            if i == 1:
                await run.input("who")
            await run.turn()
            await run.session(f"turn {i}")
            run.assign("n", run["n"] + 1)

        await run.parallel_for([0, 1, 2], one)

    ran = played(main, tmp_path)
    assert ran.outcome.status == "waiting"
    assert sorted(ran.prompts) == ["free 0", "free 1", "free 2", "turn 0"]


def test_a_pause_between_attempts_holds_no_slot_and_can_be_cancelled(tmp_path: Path) -> None:
    class Retrying(Scripted):
        async def answer(self, task: Task) -> Answer:
            if task.prompt == "flaky":
                paused.set()
                task.reports.retrying(2, 3, "overloaded", 1000.0)
                await task.reports.pause(1000.0)
            return await super().answer(task)

    paused = asyncio.Event()

    async def main(run: Run) -> None:
        async def other() -> None:
            await paused.wait()
            await run.session("other")
            raise run.error("enough")

        await run.parallel(run.session("flaky"), other)

    ran = played(main, tmp_path, Retrying(), max_concurrency=1)
    assert ran.prompts == ["other"]
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message == "enough"
    assert ran.records("retry")[0]["reason"] == "overloaded"


def test_a_caught_value_error_knows_its_line(tmp_path: Path) -> None:
    lines: list[object] = []

    async def main(run: Run) -> None:
        try:
            run.let("x", Value("a") - 1)
        except ProseError as problem:
            lines.append(problem["line"].plain())

    program = Program("t.prose")
    program.main(main)
    program.source("one\ntwo\n", lines=f"{main.__code__.co_firstlineno + 2}:2")
    assert play(program, tmp_path).outcome.exit_code == 0
    assert lines == [2]
