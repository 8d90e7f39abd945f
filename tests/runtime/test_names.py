"""Names that may be unbound, and the latest result of an agent."""

from __future__ import annotations

from pathlib import Path

from prose_runtime import Agent, Program, ProseError, Run, Value
from scripted import Scripted, failing, play, played

analyst = Agent("analyst", model="sonnet")
editor = Agent("editor", model="opus")


def test_bound_gives_the_names_that_are(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        run.let("a", 1)
        run.let("b", 2)
        assert [*run.bound("b", "nothing", "a")] == ["b", "a"]
        assert run.bound("nothing") == {}
        facts = run.let("facts", "f")
        assert await run.decide("is it", about={"facts": facts, **run.bound("a", "x")})
        assert await run.decide("is it now", about=run.bound("x"))

    side = Scripted()
    ran = played(main, tmp_path, side)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert [[entry.label for entry in q.about] for q in side.questions] == [["facts", "a"], []]


def test_latest_is_in_program_order(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        try:
            run.latest(analyst)
        except ProseError as problem:
            assert problem["message"] == "'analyst' has no value yet: no session of this agent has ended"
            assert problem["kind"] == "name"
        await run.session("one", agent=analyst)
        await run.session("other", agent=editor)
        assert run.latest(analyst) == "[one]"

        async def two() -> Value:
            assert run.latest(analyst) == "[one]"
            await run.session("two", agent=analyst)
            return run.latest(analyst)

        async def none() -> Value:
            assert run.latest(analyst) == "[one]"
            return await run.session("none", agent=editor)

        async def lost() -> Value:
            await run.session("lost", agent=analyst)
            return await run.session("fails")

        await run.parallel(two, none, lost, on_fail="ignore")
        assert run.latest(analyst) == "[two]"
        assert run.latest(editor) == "[none]"

        async def each(item: Value) -> Value:
            return await run.resume(f"round {item}", agent=analyst)

        await run.parallel_for([1, 2, 3], each)
        assert run.latest(analyst) == "[round 3]"

    ran = played(main, tmp_path, Scripted({"fails": failing()}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_until_asks_at_the_top_about_the_round_before(tmp_path: Path) -> None:
    side = Scripted(decisions={"done": [False, False]})

    async def main(run: Run) -> None:
        for round_ in run.rounds(max=3):
            if round_ > 0 and await run.until("done", about={}, at_top=True):
                break

    ran = played(main, tmp_path, side)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert [question.hints.round for question in side.questions] == [0, 1]


def test_an_assigned_name_that_a_block_left_is_still_left(tmp_path: Path) -> None:
    program = Program("test.prose")

    @program.block("h")
    async def h(run: Run, n: Value) -> Value:
        return run.let("left", n)

    @program.block("g")
    async def g(run: Run) -> Value:
        await h(run, 1)
        run.assign("left", 5)
        assert run["left"] == 5
        await h(run, 2)
        return run["left"]

    @program.block("assigns")
    async def assigns(run: Run) -> Value:
        return run.assign("left", 7)

    @program.main
    async def main(run: Run) -> None:
        assert await g(run) == 2
        await h(run, 3)
        await assigns(run)
        assert run["left"] == 7
        await h(run, 4)
        assert run["left"] == 4

    ran = play(program, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
