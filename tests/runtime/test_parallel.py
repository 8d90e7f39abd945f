"""parallel: every join and on-fail policy, cancellation, forks of variables, and what is recorded."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from prose_runtime import Program, ProseError, Run, Value
from prose_runtime.concurrency import Joined
from scripted import Scripted, failing, play, played


async def never() -> str:
    await asyncio.Event().wait()
    return "never"


def test_all_binds_names_in_written_order(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def two() -> Value:
            await run.session("inner")
            return await run.session("two")

        one, second, third = await run.parallel(a=run.session("one"), b=two, c=run.session("three"))
        assert [one, second, third] == ["[one]", "[two]", "[three]"]
        assert run["b"] == "[two]"
        await run.session("after", context=run.so_far)

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert {"a.md", "b.md", "c.md"} <= {*ran.files}
    assert ran.told("after") == ["a", "inner", "b", "c"]


def test_unnamed_branches_and_value(tmp_path: Path) -> None:
    seen: list[Joined] = []

    async def main(run: Run) -> None:
        seen.append(await run.parallel(run.session("one"), run.session("two")))
        seen.append(await run.parallel(run.branch("review-plan", run.session("x")), run.branch("_branch_1", run.session("y"))))  # fmt: skip

    ran = played(main, tmp_path)
    assert seen[0].value.plain() == ["[one]", "[two]"]
    assert seen[1].value.plain() == {"review-plan": "[x]"}
    assert {"_branch_0.md", "_branch_1.md", "review-plan.md"} <= {*ran.files}


def test_fail_fast_cancels_and_waits_for_finally(tmp_path: Path) -> None:
    done: list[str] = []

    async def main(run: Run) -> None:
        async def slow() -> Value:
            try:
                return await run.session("slow")
            finally:
                await run.session("clean up")
                done.append("cleaned")

        try:
            await run.parallel(a=run.session("bad"), b=slow)
        except ProseError as problem:
            done.append(f"caught {problem}")
            await run.session("handle")

    ran = played(main, tmp_path, Scripted({"bad": failing("broken"), "slow": never}))
    assert done == ["cleaned", "caught broken"]
    assert ran.outcome.exit_code == 0
    assert len(ran.records("race")) == 1
    assert ran.records("handled")[0]["ids"] == [ran.records("failed")[0]["id"]]


@pytest.mark.parametrize(("on_fail", "kind"), [("continue", "error"), ("ignore", "null")])
def test_all_with_failures_bound(tmp_path: Path, on_fail: str, kind: str) -> None:
    async def main(run: Run) -> None:
        a, b = await run.parallel(a=run.session("bad"), b=run.session("good"), on_fail=on_fail)  # type: ignore[arg-type]
        assert a.kind == kind
        assert run["a"].kind == kind
        assert b == "[good]"
        await run.session("next")

    ran = played(main, tmp_path, Scripted({"bad": failing()}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert f"type: {kind}" in ran.file("a")
    order = [record["r"] for record in ran.journal]
    assert order.index("handled") < len(order) - 2


def test_first_wins_and_the_rest_are_null(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        a, b, c = await run.parallel(
            a=run.session("slow"), b=run.session("bad"), c=run.session("quick"), join="first"
        )
        assert [a.kind, b.kind] == ["null", "null"]
        assert c == "[quick]"

    ran = played(main, tmp_path, Scripted({"slow": never, "bad": failing()}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert ran.records("race")[0]["won"] == [2]


def test_any_takes_as_many_as_it_needs(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        joined = await run.parallel(
            run.session("bad"), run.session("b"), run.session("slow"), run.session("d"), join="any", count=2
        )
        assert joined.value.plain() == [None, "[b]", None, "[d]"]

    ran = played(main, tmp_path, Scripted({"slow": never, "bad": failing()}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_too_few_left_raises_with_all_reasons(tmp_path: Path) -> None:
    caught: list[ProseError] = []

    async def main(run: Run) -> None:
        try:
            await run.parallel(a=run.session("bad"), b=run.session("worse"), join="first")
        except ProseError as problem:
            caught.append(problem)

    played(main, tmp_path, Scripted({"bad": failing("one"), "worse": failing("two")}))
    assert "a: one; b: two" in caught[0].message
    assert caught[0].kind == "parallel"


def test_too_few_left_continue_binds_errors(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        a, b = await run.parallel(
            a=run.session("bad"), b=run.session("worse"), join="first", on_fail="continue"
        )
        assert [a["message"], b["message"]] == ["one", "two"]
        c, d = await run.parallel(c=run.session("bad"), d=run.session("x"), join="any", count=2, on_fail="ignore")
        assert c.is_null
        assert d == "[x]"

    ran = played(main, tmp_path, Scripted({"bad": failing("one"), "worse": failing("two")}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_branches_have_their_own_copies_joined_in_written_order(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        run.let("x", 1)
        other = asyncio.Event()

        async def first() -> None:
            await other.wait()
            assert run["x"] == 1
            run.assign("x", run["x"] + 10)
            run.let("only", "a")

        async def second() -> None:
            run.assign("x", run["x"] + 100)
            run.let("only", "b")
            await run.session("s")
            assert run["x"] == 101
            other.set()

        await run.parallel(first, second)
        assert run["x"] == 101
        assert run["only"] == "b"

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_nested_in_everything(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.block("work")
    async def work(run: Run, n: Value) -> Value:
        async def left() -> Value:
            return await run.session(f"left {n}")

        joined = await run.parallel(l=left, r=run.session(f"right {n}"))
        return joined.value

    @program.main
    async def main(run: Run) -> None:
        async def one(n: Value) -> Value:
            a, _ = await run.parallel(a=work(run, n), b=run.map([1, 2], lambda i: run.session(f"m {n} {i}")))
            return a

        values = await run.parallel_for([1, 2, 3], one)
        assert [v["l"] for v in values] == ["[left 1]", "[left 2]", "[left 3]"]

    ran = play(program, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_an_outer_failure_leaves_nothing_running(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.block("deep")
    async def deep(run: Run, n: Value) -> Value:
        if n > 0:
            return await deep(run, n - 1)

        async def one(i: Value) -> Value:
            return await run.session("hang")

        await run.pmap([1, 2, 3], one)
        return Value(None)

    @program.main
    async def main(run: Run) -> None:
        await run.parallel(deep(run, 5), run.session("late"))

    side = Scripted()
    hanging = asyncio.Event()
    count = 0

    async def hang() -> str:
        nonlocal count
        count += 1
        if count == 3:
            hanging.set()
        return await never()

    async def late() -> str:
        await hanging.wait()
        raise failing("late")

    side.answers = {"hang": hang, "late": late}
    ran = play(program, tmp_path, side)
    assert ran.outcome.exit_code == 1
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message == "late"
    assert side.running == 0
    assert ran.records("end")[0]["failed"] == [ran.records("failed")[0]["id"]]
    assert not ran.records("handled")


def test_the_cap_on_sessions(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def one(i: Value) -> Value:
            return await run.session(f"s {i}")

        await run.pmap([*range(200)], one)

    ran = played(main, tmp_path, max_concurrency=7)
    assert ran.side.most == 7
    assert len(ran.side.tasks) == 200


def test_identity_of_an_argument_is_where_it_is_written(tmp_path: Path) -> None:
    """Renaming the branch of a session that is an argument changes nothing; equal ones count up in written order."""

    def ids(name: str, folder: Path) -> list[str]:
        async def main(run: Run) -> None:
            await run.parallel(**{name: run.session("same"), "z": run.session("same")})

        return sorted(record["id"] for record in played(main, folder).records("result"))

    assert ids("a", tmp_path / "1") == ids("b", tmp_path / "2")
    assert len({*ids("a", tmp_path / "3")}) == 2


def test_a_failure_that_is_caught_last_is_handled_all_the_same(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def quiet() -> None:
            with contextlib.suppress(ProseError):
                await run.session("bad")

        async def one(i: Value) -> None:
            await quiet()

        await run.parallel(quiet)
        await run.parallel_for([1], one)
        await quiet()

    ran = played(main, tmp_path, Scripted({"bad": failing()}))
    assert ran.outcome.exit_code == 0
    handled = [i for record in ran.records("handled") for i in record["ids"]]
    assert handled == [record["id"] for record in ran.records("failed")]
    assert len({*handled}) == 3
