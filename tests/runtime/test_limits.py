"""Limits: a run stops before the call that would pass one, with everything so far kept, and goes on with a higher one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prose_runtime.agents import Retry
from prose_runtime.clock import SystemClock
from prose_runtime.costs import Costs
from prose_runtime.errors import LimitReached, ProseError
from prose_runtime.events import StepStarted, Warned
from prose_runtime.limits import Limits
from prose_runtime.program import Program
from prose_runtime.providers.protocol import Usage
from prose_runtime.run import Run
from prose_runtime.settings import Bounds, Resumption
from prose_runtime.tasks import Answer, Task
from prose_runtime.values import Value
from scripted import Ran, Scripted, failing, play, played, program_of

Main = Callable[[Run], Awaitable[None]]
LAST = Resumption("last")


async def five(run: Run) -> None:
    for number in range(5):
        await run.session(f"Step {number}", let="step")
    run.output("done", "all five")


def stopped(ran: Ran) -> str:
    """The reason why a run was stopped at a limit."""
    outcome = ran.outcome
    assert (outcome.status, outcome.exit_code) == ("stopped", 75)
    assert outcome.problem is not None and outcome.problem.kind == "LimitReached"
    assert "status: stopped" in (ran.directory / "state.md").read_text()
    return outcome.problem.message


@dataclass
class Priced(Scripted):
    """Every session costs the same."""

    usd: float = 0.4

    async def answer(self, task: Task) -> Answer:
        answer = await super().answer(task)
        return Answer(answer.text, answer.value, Usage(10, 5, usd=self.usd), "test-model")


@dataclass
class Passing(SystemClock):
    """Time that passes only where a test, or a pause, lets it."""

    time: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def seconds(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds


# Sessions


def test_the_session_after_the_last_allowed_one_is_never_started(tmp_path: Path) -> None:
    ran = played(five, tmp_path, bounds=Bounds(sessions=3))
    assert stopped(ran) == "the run has started 3 sessions, and --max-sessions allows no more"
    assert ran.prompts == ["Step 0", "Step 1", "Step 2"]
    assert [record["text"] for record in ran.records("result")] == [
        f"[Step {number}]" for number in range(3)
    ]
    assert ran.file("step").endswith("[Step 2]")
    assert [event.step.label for event in ran.seen.of(StepStarted)] == ["step"] * 3
    assert ran.outcome.resume_command == (
        f"python program.py --resume {ran.outcome.run_id} --max-sessions 6"
    )


def test_as_many_sessions_as_are_allowed_are_no_reason_to_stop(tmp_path: Path) -> None:
    assert played(five, tmp_path, bounds=Bounds(sessions=5)).outcome.exit_code == 0


def test_a_higher_limit_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    played(five, tmp_path, bounds=Bounds(sessions=2))
    same = played(five, tmp_path, bounds=Bounds(sessions=2), resume=LAST)
    assert "2 sessions" in stopped(same)
    assert same.prompts == []
    more = played(five, tmp_path, bounds=Bounds(sessions=4), resume=LAST)
    assert "4 sessions" in stopped(more)
    assert more.prompts == ["Step 2", "Step 3"]
    rest = played(five, tmp_path, resume=LAST)
    assert (rest.outcome.status, rest.prompts) == ("completed", ["Step 4"])
    assert (rest.outcome.costs.sessions, rest.outcome.costs.usage.total) == (5, 75)
    identities = [record["id"] for record in rest.records("result")]
    assert len(identities) == len(set(identities)) == 5


@pytest.mark.parametrize("concurrency", [3, 10, 1000])
def test_a_thousand_branches_never_start_more_than_are_allowed(
    concurrency: int, tmp_path: Path
) -> None:
    async def main(run: Run) -> None:
        async def one(item: Value) -> Value:
            return await run.session(f"Do {item}")

        run.output("all", await run.pmap(list(range(1000)), one))

    side = Scripted()
    bounds = Bounds(sessions=5)
    ran = played(main, tmp_path, side, bounds=bounds, max_concurrency=concurrency)
    assert "5 sessions" in stopped(ran)
    assert ran.prompts == [f"Do {number}" for number in range(5)]
    assert len(ran.records("result")) == 5
    assert side.most == min(concurrency, 5)
    again = played(main, tmp_path, resume=LAST)
    assert again.outcome.status == "completed"
    assert sorted(again.prompts) == sorted(f"Do {number}" for number in range(5, 1000))


def test_what_is_under_way_is_finished_and_kept(tmp_path: Path) -> None:
    late = asyncio.Event()

    async def slow() -> str:
        await late.wait()
        return "in the end"

    async def quick() -> str:
        late.set()
        return "at once"

    async def main(run: Run) -> None:
        async def two() -> Value:
            await run.session("quick", let="b")
            return await run.session("one too many")

        await run.parallel(a=run.session("slow"), b=two)

    ran = played(
        main, tmp_path, Scripted({"slow": slow, "quick": quick}), bounds=Bounds(sessions=2)
    )
    assert "2 sessions" in stopped(ran)
    assert {record["text"] for record in ran.records("result")} == {"in the end", "at once"}
    assert ran.file("a").endswith("in the end")


def test_no_catch_swallows_a_limit_and_no_finally_starts_anything(tmp_path: Path) -> None:
    caught: list[str] = []

    async def main(run: Run) -> None:
        try:
            await run.session("first")
            await run.session("second")
        except ProseError:
            caught.append("a program's catch")
        except Exception:
            caught.append("any catch")
        finally:
            await run.session("tidy up")
        await run.session("after")

    ran = played(main, tmp_path, bounds=Bounds(sessions=1))
    stopped(ran)
    assert (caught, ran.prompts) == ([], ["first"])
    again = played(main, tmp_path, resume=LAST)
    assert (caught, again.prompts) == ([], ["second", "tidy up", "after"])


@pytest.mark.parametrize("on_fail", ["fail-fast", "continue", "ignore"])
def test_no_policy_takes_a_limit_for_a_failure(on_fail: str, tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.parallel(
            a=run.session("a"),
            b=run.session("b"),
            c=run.session("c"),
            on_fail=on_fail,  # type: ignore[arg-type]
        )
        await run.session("after")

    ran = played(main, tmp_path, bounds=Bounds(sessions=2))
    stopped(ran)
    assert ran.prompts == ["a", "b"]
    again = played(main, tmp_path, resume=LAST)
    assert again.prompts == ["c", "after"]


def test_a_race_that_met_a_limit_keeps_its_winner(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.parallel(a=run.session("a"), b=run.session("b"), c=run.session("c"), join="first")
        await run.session("after")

    side = Scripted({"b": failing()})
    ran = played(main, tmp_path, side, bounds=Bounds(sessions=2))
    stopped(ran)
    again = played(main, tmp_path, resume=LAST)
    assert (again.outcome.status, again.prompts) == ("completed", ["after"])


def test_decisions_and_repairs_are_no_sessions(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        for _ in range(3):
            await run.decide("is it so")
        items = await run.session("list them", returns=list)
        assert await run.decide("is it enough", about={"items": items})

    side = Scripted({"list them": "- one\n- two"})
    ran = played(main, tmp_path, side, bounds=Bounds(sessions=1))
    assert ran.outcome.exit_code == 0
    assert (ran.outcome.costs.sessions, ran.outcome.costs.decisions) == (1, 4)


def test_failed_and_cancelled_sessions_count_in_all_lives(tmp_path: Path) -> None:
    forever = asyncio.Event()

    async def never() -> str:
        await forever.wait()
        return "never"

    async def main(run: Run) -> None:
        with suppress(ProseError):
            await run.session("breaks")
        await run.parallel(a=run.session("wins"), b=run.session("loses"), join="first")
        await run.session("last")

    side = Scripted({"breaks": failing(), "loses": never})
    ran = played(main, tmp_path, side, bounds=Bounds(sessions=3))
    assert "3 sessions" in stopped(ran)
    assert ran.prompts == ["breaks", "wins", "loses"]
    assert Costs.of(ran.journal).sessions == 3
    again = played(main, tmp_path, bounds=Bounds(sessions=3), resume=LAST)
    assert (stopped(again), again.prompts) == (stopped(ran), [])


# Tokens and dollars


def test_no_call_starts_once_the_tokens_are_used_up(tmp_path: Path) -> None:
    ran = played(five, tmp_path, bounds=Bounds(tokens=31))
    assert stopped(ran) == "the run has used 45 tokens, and --max-tokens allows 31"
    assert len(ran.prompts) == 3
    assert str(ran.outcome.resume_command).endswith("--max-tokens 90")
    again = played(five, tmp_path, bounds=Bounds(tokens=50), resume=LAST)
    assert "60 tokens" in stopped(again)
    assert again.prompts == ["Step 3"]


def test_decisions_meet_the_limit_of_tokens_too(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        for _ in range(9):
            await run.decide("is it so")

    ran = played(main, tmp_path, bounds=Bounds(tokens=9))
    assert "12 tokens" in stopped(ran)
    assert len(ran.side.questions) == 3


def test_calls_under_way_may_pass_the_limit_of_tokens(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.parallel(a=run.session("a"), b=run.session("b"), c=run.session("c"))
        await run.session("after")

    ran = played(main, tmp_path, bounds=Bounds(tokens=1))
    assert "45 tokens" in stopped(ran)
    assert sorted(ran.prompts) == ["a", "b", "c"]


def test_no_call_starts_once_the_dollars_are_spent(tmp_path: Path) -> None:
    ran = played(five, tmp_path, Priced(), bounds=Bounds(usd=1.0))
    assert stopped(ran) == "the run has cost 1.2000 USD, and --max-usd allows 1"
    assert len(ran.prompts) == 3
    assert str(ran.outcome.resume_command).endswith("--max-usd 2.4")
    again = played(five, tmp_path, Priced(), bounds=Bounds(usd=1.5), resume=LAST)
    assert "1.6000 USD" in stopped(again)


def test_the_command_that_goes_on_keeps_the_other_limits(tmp_path: Path) -> None:
    bounds = Bounds(sessions=1, tokens=1000, usd=2.5, seconds=90)
    ran = played(five, tmp_path, bounds=bounds)
    assert str(ran.outcome.resume_command).endswith(
        " --max-sessions 2 --max-tokens 1000 --max-usd 2.5 --timeout 90s"
    )


def test_a_run_whose_cost_is_not_known_is_not_taken_up_under_a_limit_of_dollars(
    tmp_path: Path,
) -> None:
    class Unpriced(Priced):
        async def answer(self, task: Task) -> Answer:
            answer = await Scripted.answer(self, task)
            return Answer(answer.text, answer.value, Usage(10, 5, usd=None), "claude-new")

    played(five, tmp_path, Unpriced(), bounds=Bounds(sessions=1))
    refused = played(five, tmp_path, resume=LAST, bounds=Bounds(usd=1.0))
    assert refused.outcome.exit_code == 2
    assert refused.outcome.problem is not None
    assert "claude-new" in refused.outcome.problem.message
    assert played(five, tmp_path, resume=LAST).outcome.exit_code == 0


# Time


def test_no_call_starts_after_the_time_is_up(tmp_path: Path) -> None:
    clock = Passing()

    async def slow() -> str:
        clock.time += 60
        return "done"

    async def main(run: Run) -> None:
        for _ in range(5):
            await run.session("slow")

    side = Scripted({"slow": slow})
    ran = played(main, tmp_path, side, clock=clock, bounds=Bounds(seconds=90))
    assert stopped(ran) == "the run has taken 2 min 0 s, and --timeout allows 1 min 30 s"
    assert len(ran.prompts) == 2
    # The time is that of one process.
    again = played(main, tmp_path, side, clock=clock, bounds=Bounds(seconds=90), resume=LAST)
    assert len(again.records("result")) == 4


def test_a_pause_that_would_end_after_the_time_is_not_begun() -> None:
    clock = Passing()
    limits = Limits(Bounds(seconds=30), Costs(), clock)
    limits.check(wait=20)
    clock.time = 15
    limits.check()
    with pytest.raises(LimitReached, match="the next attempt would start after 30 s"):
        limits.check(wait=20)


# Retries


@dataclass
class Retrying(Scripted):
    """Fails, reports what it cost, and tries again, as the session side does."""

    async def answer(self, task: Task) -> Answer:
        self.tasks.append(task)
        assert task.retry is not None
        for attempt in range(task.attempts_before + 2, task.retry.times + 2):
            task.reports.spent(Usage(100, 0, usd=0.1), "test-model")
            task.reports.retrying(attempt, task.retry.times + 1, "no", 5.0)
            await task.reports.pause(5.0)
            task.reports.check()
        return Answer("at last", Value("at last"), Usage(10, 5, usd=0.01), "test-model")


async def stubborn(run: Run) -> None:
    await run.session("try", retry=Retry(3))
    run.output("end", "reached")


def test_a_session_with_its_retries_is_one_session(tmp_path: Path) -> None:
    ran = played(stubborn, tmp_path, Retrying(), clock=Passing(), bounds=Bounds(sessions=1))
    assert ran.outcome.exit_code == 0
    assert ran.outcome.costs.usage.total == 315


def test_an_attempt_is_a_call_and_meets_the_limits(tmp_path: Path) -> None:
    clock = Passing()
    ran = played(stubborn, tmp_path, Retrying(), clock=clock, bounds=Bounds(tokens=150))
    assert "200 tokens" in stopped(ran)
    assert [record["attempt"] for record in ran.records("retry")] == [2, 3]
    assert clock.pauses == [5.0], "no pause is begun before an attempt that can't start"
    again = played(stubborn, tmp_path, Retrying(), clock=Passing(), resume=LAST)
    assert again.outcome.exit_code == 0
    assert again.side.tasks[0].attempts_before == 2
    assert again.outcome.costs.usage.total == 315


def test_a_pause_between_attempts_ends_with_the_time(tmp_path: Path) -> None:
    clock = Passing()
    ran = played(stubborn, tmp_path, Retrying(), clock=clock, bounds=Bounds(seconds=12))
    assert "the next attempt would start after 12 s" in stopped(ran)
    assert clock.pauses == [5.0, 5.0]


# What is said before


def notable(traits: str) -> Program:
    program = program_of(five)
    program.source("", traits=traits)
    return program


def warned(program: Program, folder: Path) -> list[str]:
    return [event.text for event in play(program, folder).seen.of(Warned)]


def test_a_run_says_before_it_starts_what_has_no_bound(tmp_path: Path) -> None:
    said = warned(notable("at-once:30 unbounded:4,9"), tmp_path)
    assert said == [
        "this program can start 30 sessions at once; at most 10 of them run at the same time (--max-concurrency)",
        "the loops in lines 4, 9 have no max; --max-sessions, --max-tokens, --max-usd and --timeout bound a run",
    ]
    first, second = warned(notable("unbounded:7 at-once:many later:1"), tmp_path)
    assert first.startswith("this program can start any number of sessions at once")
    assert second.startswith("the loop in line 7 has no max")


def test_other_programs_are_started_without_a_word(tmp_path: Path) -> None:
    assert warned(notable(""), tmp_path) == []
    assert warned(notable("in-context"), tmp_path) == []
