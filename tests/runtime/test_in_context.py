"""In-context mode: nothing is kept, values go to sessions by value, and long ones by summaries that are made once."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prose_runtime import Program, ProseError, Run
from prose_runtime.errors import SessionError
from prose_runtime.events import StepCancelled, StepFailed, StepFinished, StepStarted
from prose_runtime.providers.protocol import Reply, Request, Usage
from prose_runtime.providers.simulate import Simulator
from prose_runtime.run import execute
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import Bounds, Outcome, Resumption, Settings
from prose_runtime.tasks import Summary
from scripted import Seen, program_of

KEY_POINTS = "x" * 2_000
ESSENTIALS = "y" * 8_001


@dataclass
class Noting:
    """A provider that keeps its requests; `replies` answer by the last line of what is asked."""

    replies: dict[str, str | BaseException | Callable[[], Awaitable[str]]] = field(
        default_factory=dict
    )
    requests: list[Request] = field(default_factory=list)

    name = "noting"
    simulated = False

    def check(self) -> None: ...

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        await asyncio.sleep(0)
        reply = self.replies.get(request.hints.asked, f"[{request.hints.asked}]")
        if callable(reply):
            reply = await reply()
        if isinstance(reply, BaseException):
            raise reply
        return Reply(reply, None, Usage(10, 1), request.model)

    def remarks(self) -> Sequence[str]:
        return ()

    async def close(self) -> None: ...

    def prompt(self, asked: str) -> str:
        request = next(r for r in self.requests if r.hints.asked == asked)
        return str(request.messages[0]["content"])

    @property
    def asked(self) -> list[str]:
        return [request.hints.asked for request in self.requests]


def played(
    main: Callable[[Run], Awaitable[None]] | Program,
    folder: Path,
    provider: Noting | None = None,
    **settings: Any,
) -> tuple[Outcome, Noting, Seen]:
    """Run a script in context; no file may come of it, and nothing may be left running."""
    provider = provider or Noting()
    seen = Seen()
    program = main if isinstance(main, Program) else program_of(main)
    prepared = Settings(
        Sessions(provider),
        state="in-context",
        prose_dir=folder / ".prose",
        observers=(seen,),
        **settings,
    )

    async def whole() -> Outcome:
        outcome = await asyncio.wait_for(execute(program, prepared), 10)
        assert not asyncio.all_tasks() - {asyncio.current_task()}
        return outcome

    outcome = asyncio.run(whole())
    assert list(folder.iterdir()) == []
    return outcome, provider, seen


def test_values_go_by_value_in_their_frame(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        short = await run.session("Write", let="research")
        await run.session("Judge", context={"research": short, "notes": "a\n---\nb"})

    outcome, provider, _ = played(main, tmp_path)
    assert (outcome.status, outcome.directory) == ("completed", None)
    assert provider.prompt("Judge").startswith(
        'Context provided:\n---\nresearch: "[Write]"\nnotes: "a\n\\---\nb"\n---\n'
    )


@pytest.mark.parametrize(
    ("size", "extent"),
    [
        (1_999, None),
        (2_000, "Summarise this value to its key points"),
        (8_000, "Summarise this value to its key points"),
        (8_001, "Extract only the essentials"),
    ],
)
def test_three_sizes(size: int, extent: str | None, tmp_path: Path) -> None:
    text = "z" * size

    async def main(run: Run) -> None:
        await run.session("Judge", context={"report": text})

    outcome, provider, _ = played(main, tmp_path, Noting({"Summary of report": "the short of it"}))
    assert outcome.status == "completed"
    if extent is None:
        assert provider.asked == ["Judge"]
        assert f'\nreport: "{text}"\n' in provider.prompt("Judge")
        return
    assert provider.asked == ["Summary of report", "Judge"]
    assert extent in provider.prompt("Summary of report")
    assert text in provider.prompt("Summary of report")
    wanted = extent.split()[-1] if size > 8_000 else "key points"
    assert (
        f'\nreport ({wanted} of text of {size:,} characters): "the short of it"\n---\n'
        in provider.prompt("Judge")
    )
    assert text not in provider.prompt("Judge")


def test_summaries_are_made_by_the_cheap_model_and_cost(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("Judge", context={"report": KEY_POINTS}, model="opus")

    outcome, provider, seen = played(main, tmp_path)
    assert [request.model for request in provider.requests] == [
        "claude-haiku-5-5",
        "claude-opus-5-5",
    ]
    assert outcome.costs.usage.total == 22
    assert outcome.costs.sessions == 1
    kinds = [event.step.kind for event in seen.events if isinstance(event, StepStarted)]
    assert kinds == ["summary", "session"]
    [summary, _] = seen.of(StepFinished)
    assert summary.step.label == "key points of report (2,000 characters)"


def test_a_value_is_summarised_once_in_a_run(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.parallel(
            run.session("A", context={"report": KEY_POINTS}),
            run.session("B", context={"same": KEY_POINTS, "other": ESSENTIALS}),
        )
        await run.session("C", context={"again": ESSENTIALS})

    _, provider, _ = played(main, tmp_path, max_concurrency=1)
    summaries = [asked for asked in provider.asked if asked.startswith("Summary")]
    assert summaries == ["Summary of report", "Summary of other"]
    assert "[Summary of report]" in provider.prompt("B")


def test_what_happened_so_far_goes_by_value_too(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("Write", let="report")
        await run.session("Note")
        await run.session("Judge", context=run.so_far)

    _, provider, _ = played(main, tmp_path, Noting({"Write": ESSENTIALS}))
    told = provider.prompt("Judge")
    assert 'report (essentials of text of 8,001 characters): "[Summary of report]"' in told
    assert 'Note (6 characters): "[Note]"' in told
    assert ".md" not in told and ".prose" not in told


def test_questions_see_values_as_in_any_mode(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        report = run.let("report", ESSENTIALS)
        if await run.decide("the report is good", about={"report": report}):
            await run.session("Praise")

    replies: dict[str, Any] = {}
    provider = Noting(replies)
    outcome, provider, _ = played(main, tmp_path, provider)
    assert outcome.problem is not None and outcome.problem.kind == "decision"
    assert provider.asked == ["the report is good"]
    assert ESSENTIALS in provider.prompt("the report is good")


def test_a_failed_summary_fails_the_sessions_that_need_it(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        problems = []
        for name in ("A", "B"):
            try:
                await run.session(name, context={"report": KEY_POINTS})
            except ProseError as error:
                problems.append(error.message)
        run.output("problems", "\n".join(problems))
        await run.session("C", context={"report": KEY_POINTS})

    down = [SessionError("it is down"), SessionError("it is still down")]

    async def reply() -> str:
        if down:
            raise down.pop(0)
        return "short"

    outcome, provider, seen = played(main, tmp_path, Noting({"Summary of report": reply}))
    problem = "'report' (2,000 characters) could not be summarised for this session: "
    assert outcome.outputs["problems"].text == f"{problem}it is down\n{problem}it is still down"
    assert outcome.status == "completed"
    assert provider.asked == ["Summary of report"] * 3 + ["C"]
    failed = [(event.step.kind, event.step.label) for event in seen.of(StepFailed)]
    assert failed[:2] == [
        ("summary", "key points of report (2,000 characters)"),
        ("session", "A"),
    ]


def test_an_empty_summary_is_a_failure(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("A", context={"report": KEY_POINTS})

    outcome, _, _ = played(main, tmp_path, Noting({"Summary of report": "  \n"}))
    assert outcome.problem is not None
    assert outcome.problem.message.endswith("the answer was empty")


def test_a_summary_lives_as_long_as_anyone_waits_for_it(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def summary() -> str:
            begun.set()
            await may_end.wait()
            return "short"

        async def wins() -> str:
            await begun.wait()
            # The loser beside waits for the summary, as does the session outside.
            return "won"

        async def race() -> None:
            await run.parallel(
                run.session("Loser", context={"report": KEY_POINTS}), wins, join="first"
            )
            may_end.set()

        provider.replies["Summary of report"] = summary
        await run.parallel(race, run.session("Stays", context={"report": KEY_POINTS}))

    provider = Noting()
    outcome, _, _ = played(main, tmp_path, provider)
    assert outcome.status == "completed"
    assert provider.asked == ["Summary of report", "Stays"]


def test_a_summary_that_nobody_waits_for_any_more_is_cancelled(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        begun = asyncio.Event()

        async def summary() -> str:
            begun.set()
            await asyncio.Event().wait()
            return "never"

        async def wins() -> str:
            await begun.wait()
            return "won"

        provider.replies["Summary of report"] = summary
        await run.parallel(run.session("Loser", context={"report": KEY_POINTS}), wins, join="first")
        provider.replies.clear()
        await run.session("Later", context={"report": KEY_POINTS})

    provider = Noting()
    outcome, _, seen = played(main, tmp_path, provider)
    assert outcome.status == "completed"
    assert provider.asked == ["Summary of report", "Summary of report", "Later"]
    assert [event.step.kind for event in seen.of(StepCancelled)] == ["summary"]


def test_a_limit_stops_before_a_summary(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("Write", let="report")
        await run.session("Judge", context={"report": KEY_POINTS})

    outcome, provider, _ = played(main, tmp_path, bounds=Bounds(tokens=5))
    assert (outcome.status, outcome.exit_code) == ("stopped", 75)
    assert provider.asked == ["Write"]
    assert outcome.resume_command is None


def test_simulated_summaries_are_the_same_every_time() -> None:
    async def summarised() -> str:
        side = Sessions(Simulator())
        return (await side.summarise(Summary(ESSENTIALS, "report", "essentials"))).text

    assert asyncio.run(summarised()) == asyncio.run(summarised()) == "[simulated] Summary of report"


def test_an_input_that_is_missing_can_only_be_given_next_time(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("Write")
        await run.input("verdict", "Good?")

    outcome, _, _ = played(main, tmp_path)
    assert (outcome.status, outcome.exit_code) == ("waiting", 75)
    assert outcome.resume_command is None
    assert outcome.problem is not None
    assert outcome.problem.message == (
        "input 'verdict' is needed to go on: Good?\n"
        "an in-context run can't be resumed: start it again with --verdict VALUE"
    )


def test_resume_is_refused(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        raise AssertionError("nothing may start")

    outcome, _, _ = played(main, tmp_path, resume=Resumption("last"))
    assert outcome.exit_code == 2
    assert outcome.problem is not None and "can't be" not in outcome.problem.message


SCRIPT = '''"""A test."""

from prose_runtime import Program, Run

program = Program("small.prose")


@program.main
async def main(run: Run) -> None:
    run.output("greeting", await run.session("Greet"))


program.source("""\\
output greeting = session "Greet"
""", lines="10:1", statements="1-1:output", traits="in-context")

if __name__ == "__main__":
    program.cli()
'''


def started(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    script = folder / "small.py"
    script.write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, "-W", "error", str(script), "--provider", "simulate", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_script_narrates_in_place_of_its_progress(tmp_path: Path) -> None:
    ended = started(tmp_path, "--state", "in-context", "--narration", "emoji", "--quiet")
    assert (ended.returncode, ended.stdout) == (0, "[simulated] Greet\n")
    assert ended.stderr == (
        "OpenProse Program Start\n"
        "State mode: in-context (program is small, fits in context)\n"
        "📋 Program Start\n"
        "  Simulated: no model is called\n"
        "  Collecting definitions...\n"
        '📍 Statement 1: output greeting = session "Greet"\n'
        '✅ Result: "[simulated] Greet"\n'
        '[Output] output greeting = "[simulated] Greet" (will return to caller)\n'
        "📋 Program Complete\n"
    )
    assert not (tmp_path / ".prose").exists()


def test_narrate_tells_of_files_in_filesystem_mode(tmp_path: Path) -> None:
    ended = started(tmp_path, "--narrate")
    assert ended.stderr.startswith("OpenProse Program Start\nState mode: filesystem\n")
    assert re.search(r"\n  Location: \.prose/runs/[\w-]+/bindings/anon_001\.md\n", ended.stderr)
    assert "  done     " not in ended.stderr


def test_an_interrupted_run_says_that_nothing_is_kept(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("Write")
        await run.session("never asked")

    async def interrupted() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        # Time for the signal to arrive: it comes through the event loop.
        for _ in range(50):
            await asyncio.sleep(0)
        return "finished"

    outcome, provider, _ = played(main, tmp_path, Noting({"Write": interrupted}))
    assert (outcome.exit_code, outcome.resume_command) == (130, None)
    assert outcome.problem is not None
    assert outcome.problem.message == "an in-context run keeps nothing"
    assert provider.asked == ["Write"]
