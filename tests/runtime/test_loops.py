"""Sequential and concurrent loops, turns, pipelines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prose_runtime import ProseError, Run, Value
from scripted import Scripted, failing, played
from test_parallel import never


def test_rounds_close_however_they_are_left(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        from prose_runtime.frames import strand_here

        strand = strand_here.get()
        for i in run.rounds(max=3):
            if i == 1:
                break
        assert not strand.loops
        try:
            for _ in run.rounds(2):
                raise run.error("x")
        except ProseError:
            assert not strand.loops

        async def returns() -> Value:
            for i in run.rounds("5"):
                if i == 2:
                    return i
            return Value(None)

        assert await returns() == 2
        assert not strand.loops
        assert [n.plain() for n in run.rounds(3)] == [0, 1, 2]
        assert [n.plain() for n in run.rounds("0")] == []

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem


@pytest.mark.parametrize("bad", ["many", -1, 1.5, [1]])
def test_counts_must_be_whole_numbers(tmp_path: Path, bad: object) -> None:
    async def main(run: Run) -> None:
        for _ in run.rounds(bad):  # type: ignore[arg-type]
            pass

    ran = played(main, tmp_path)
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.kind == "value"


def test_until_and_while(tmp_path: Path) -> None:
    rounds: list[str] = []

    async def main(run: Run) -> None:
        for i in run.rounds(max=3):
            rounds.append(f"u{i}")
            if await run.until("done", about={"i": i}):
                break
        for i in run.rounds(max=5):
            if not await run.while_("more", about={"i": i}):
                break
            rounds.append(f"w{i}")

    ran = played(main, tmp_path, Scripted(decisions={"done": False, "more": [True, True, False]}))
    assert rounds == ["u0", "u1", "u2", "w0", "w1"]
    assert [(q.text, q.hints.round) for q in ran.side.questions] == [
        ("done", 0), ("done", 1), ("more", 0), ("more", 1), ("more", 2),
    ]  # fmt: skip


def test_the_safety_cap_stops_the_run_resumably(tmp_path: Path) -> None:
    caught: list[str] = []

    async def main(run: Run) -> None:
        try:
            for _ in run.rounds():
                await run.session("again")
        except ProseError:
            caught.append("swallowed")
        finally:
            await run.session("must not start")

    ran = played(main, tmp_path, max_rounds=5)
    assert ran.outcome.exit_code == 75
    assert ran.outcome.status == "stopped"
    assert ran.prompts == ["again"] * 5
    assert not caught
    assert ran.outcome.resume_command == f"python program.py --resume {ran.outcome.run_id} --max-rounds 10"
    assert "status: stopped" in (ran.directory / "state.md").read_text()


def test_each(tmp_path: Path) -> None:
    seen: list[object] = []

    async def main(run: Run) -> None:
        async for x in run.each(["a", "b"]):
            seen.append(x.plain())
        async for x, i in run.each("- c\n- d", index=True):
            seen.append((x.plain(), i.plain()))
            if i == 0:
                break
        async for _ in run.each(5):
            pass

    ran = played(main, tmp_path)
    assert seen == ["a", "b", ("c", 0)]
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.kind == "shape"


def test_parallel_for_gives_results_in_order(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        ready = asyncio.Event()

        async def slow() -> str:
            await ready.wait()
            return "slow"

        async def quick() -> str:
            ready.set()
            return "quick"

        side.answers = {"s0": slow, "s1": quick}

        async def one(x: Value, i: Value) -> Value:
            return run.let("result", await run.session(f"s{i}"))

        results = await run.parallel_for(["a", "b"], one, index=True)
        assert results == ["slow", "quick"]
        run.let("partials", [])
        for result in results:
            run.assign("partials", run["partials"] + [result])
        assert run["partials"] == ["slow", "quick"]
        assert run["result"] == "quick"

    side = Scripted()
    ran = played(main, tmp_path, side)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert {"result~0.md", "result~1.md", "result.md"} <= {*ran.files}
    assert ran.file("result").endswith("---\n\nquick")


def test_turns_make_it_the_sequential_loop_and_hold_no_slot(tmp_path: Path) -> None:
    order: list[int] = []

    async def main(run: Run) -> None:
        run.let("total", "")

        async def one(i: Value) -> None:
            if i == 0:
                await run.session("first")
            await run.turn()
            order.append(i.plain())  # type: ignore[arg-type]
            seen = run["total"]
            await run.session(f"with {seen}")
            if i == 2:
                raise run.error("no")
            run.assign("total", run["total"] + f"{i}")

        await run.parallel_for([0, 1, 2, 3], one, on_fail="continue")
        assert run["total"] == "013"

    ran = played(main, tmp_path, max_concurrency=1)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert order == [0, 1, 2, 3]
    assert ran.prompts == ["first", "with ", "with 0", "with 01", "with 01"]


def test_a_failed_round_ends_the_loop_and_cancels_the_rest(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        run.let("n", 0)

        async def one(i: Value) -> Value:
            await run.turn()
            run.assign("n", run["n"] + 1)
            return await run.session(f"s{i}")

        try:
            await run.parallel_for([0, 1, 2], one)
        except ProseError:
            assert run["n"] == 1
            raise

    ran = played(main, tmp_path, Scripted({"s1": failing("one"), "s2": never}))
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message == "one"


def test_pipelines(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def keep(item: Value) -> bool:
            return await run.keep("good", about={"item": item})

        async def summarise(item: Value) -> Value:
            return await run.session(f"sum {item}")

        async def merge(so_far: Value, item: Value) -> Value:
            return so_far + "+" + item

        result = await run.pipeline(
            "- a\n- b\n- c", ("filter", keep), ("pmap", summarise), ("reduce", merge), let="x"
        )
        assert result == "[sum a]+[sum c]"
        assert (await run.reduce([], merge)).is_null
        assert (await run.filter(["x"], lambda i: run.session("yes?"))).plain() == ["x"]
        assert run["x"] == result

    ran = played(main, tmp_path, Scripted({"yes?": "Yes, it is"}, {"good": [True, False, True]}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert ran.file("x").endswith("[sum a]+[sum c]")


def test_a_filter_that_says_neither_asks_once_and_then_fails(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        assert (await run.filter(["x"], lambda i: run.session("hm"))).plain() == []
        await run.filter(["x"], lambda i: run.session("huh"))

    side = Scripted({"hm": "perhaps", "huh": "who knows"}, repairs={"perhaps": False})
    ran = played(main, tmp_path, side)
    assert [r.text for r in side.repaired] == ["perhaps", "who knows"]
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.kind == "shape"


def test_nested_rounds_have_files_of_their_own(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def outer(i: Value) -> None:
            async def inner(j: Value) -> None:
                await run.session(f"{i}.{j}", let="r")

            await run.parallel_for([0, 1], inner)

        await run.parallel_for([0, 1], outer)

    ran = played(main, tmp_path)
    assert {"r~0.0.md", "r~0.1.md", "r~1.0.md", "r~1.1.md", "r~0.md", "r~1.md", "r.md"} == {*ran.files}
    assert ran.file("r").endswith("[1.1]")


def test_ten_thousand_computed_appends_write_no_files(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        run.let("partials", [])
        for i in run.rounds(5_000):
            run.assign("partials", run["partials"] + [i])

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert ran.files == []


def test_branches_in_rounds_have_files_of_their_own(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def one(i: Value) -> None:
            async def inner() -> None:
                await run.session(f"in {i}", let="deep")

            await run.parallel(run.session(f"unnamed {i}"), run.branch("a", run.session(f"a {i}")), run.branch("b", inner))

        await run.parallel_for([0, 1], one)
        assert run["deep"] == "[in 1]"

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    plain = {"_branch_0.md", "a.md", "b.md", "deep.md"}
    assert plain | {name.replace(".md", f"~{i}.md") for name in plain for i in (0, 1)} == {*ran.files}
    assert ran.file("_branch_0").endswith("[unnamed 1]")


def test_the_cap_is_for_loops_without_condition_and_max(tmp_path: Path) -> None:
    async def ends_by_itself(run: Run) -> None:
        for i in run.rounds(max=None):
            if i == 30:
                break

    assert played(ends_by_itself, tmp_path, max_rounds=10).outcome.exit_code == 0

    async def goes_on(run: Run) -> None:
        for _ in run.rounds():
            pass

    outcome = played(goes_on, tmp_path, max_rounds=10).outcome
    assert (outcome.status, outcome.exit_code) == ("stopped", 75)
