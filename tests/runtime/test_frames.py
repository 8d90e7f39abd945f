"""Blocks: dynamic scoping, names left behind, recursion, and the account of what happened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prose_runtime import Program, ProseError, Run, Value
from scripted import Scripted, failing, play, played
from test_parallel import never


def test_names_are_looked_up_in_the_callers(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.block("inner")
    async def inner(run: Run) -> Value:
        assert run["where"] == "outer"
        assert run["root"] == "r"
        run.assign("where", "changed")
        run.assign("root", "changed too")
        return Value(None)

    @program.block("outer")
    async def outer(run: Run, where: Value) -> Value:
        await inner(run)
        return run["where"]

    @program.main
    async def main(run: Run) -> None:
        run.let("root", "r")
        assert await outer(run, "outer") == "changed"
        assert run["root"] == "changed too"
        with pytest.raises(ProseError, match="'where' has no value yet"):
            run["where"]

    ran = play(program, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_a_block_leaves_its_names_to_its_caller(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.block("b")
    async def b(run: Run, n: Value) -> Value:
        run.let("found", n)
        run.let("own", "b's")
        run.output("report", n)
        return run.outputs("report", "missing")

    @program.block("middle")
    async def middle(run: Run) -> Value:
        return await b(run, 7)

    @program.main
    async def main(run: Run) -> None:
        run.let("own", "main's")
        assert (await b(run, 1)).plain() == {"report": 1, "missing": None}
        assert [run["found"], run["report"], run["own"]] == [1, 1, "main's"]
        await run.parallel(b(run, 2), b(run, 3))
        assert run["found"] == 3
        await middle(run)
        assert run["found"] == 7
        run.let("found", "mine")
        await b(run, 4)
        assert run["found"] == "mine"
        with pytest.raises(ProseError):
            run["n"]

    ran = play(program, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert "report__1.md" in ran.files
    assert "kind: output\nexecution_id: 1\ntype: number" in ran.file("report__1")


def chain(limit: int | None) -> Program:
    program = Program("t.prose")

    @program.block("process", max_depth=limit)
    async def process(run: Run, n: Value) -> Value:
        if n <= 1:
            return await run.session("bottom")
        return await process(run, n - 1)

    @program.main
    async def main(run: Run) -> None:
        run.output("end", await process(run, int(str(depth[0]))))

    return program


depth = [0]


def test_a_thousand_nested_blocks(tmp_path: Path) -> None:
    depth[0] = 1000
    ran = play(chain(1000), tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert ran.outcome.outputs["end"] == "[bottom]"


@pytest.mark.parametrize(("limit", "nested"), [(50, 51), (None, 101)])
def test_the_limit_of_a_block(tmp_path: Path, limit: int | None, nested: int) -> None:
    depth[0] = nested
    ran = play(chain(limit), tmp_path)
    assert ran.outcome.exit_code == 1
    assert ran.outcome.problem is not None
    expected = f"RecursionLimitExceeded: block 'process' exceeded max_depth {limit or 100}"
    assert ran.outcome.problem.message == expected
    depth[0] = nested - 1
    assert play(chain(limit), tmp_path).outcome.exit_code == 0


def test_the_limit_of_all_blocks_together(tmp_path: Path) -> None:
    depth[0] = 1001
    ran = play(chain(5000), tmp_path)
    assert ran.outcome.problem is not None
    assert "exceeded max_depth 1000" in ran.outcome.problem.message


def test_a_thousand_nested_blocks_are_cancelled_whole(tmp_path: Path) -> None:
    depth[0] = 990
    program = chain(1000)
    body = program.body
    reached = asyncio.Event()

    async def bottom() -> str:
        reached.set()
        return await never()

    async def main(run: Run) -> None:
        async def stop() -> None:
            await reached.wait()
            raise run.error("enough")

        async def deep() -> None:
            await body(run)

        await run.parallel(deep, stop)

    program.main(main)
    ran = play(program, tmp_path, Scripted({"bottom": bottom}))
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message == "enough"
    assert ran.side.running == 0


def test_what_happened_so_far(tmp_path: Path) -> None:
    program = Program("t.prose")

    @program.block("research")
    async def research(run: Run) -> Value:
        return await run.session("look it up\nin detail")

    @program.main
    async def main(run: Run) -> None:
        await run.input("topic")
        run.let("computed", 5)
        await run.session("the whole prompt", title="a title")
        await run.session("draft it", let="draft")
        await run.session("again", assign="draft")
        run.let("facts", await research(run))

        async def branch() -> None:
            await run.session("in the branch", context=run.so_far)

        await run.parallel(a=branch, b=run.session("b's", context=run.so_far))
        await run.session("end", context=run.so_far)

    ran = play(program, tmp_path, inputs={"topic": "x"})
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    before = ["topic", "a title", "draft", "facts"]
    assert ran.told("in the branch") == before
    assert ran.told("b's") == before
    assert ran.told("end") == [*before, "in the branch", "b"]
    end = next(t for t in ran.side.tasks if t.prompt == "end")
    assert [e.path.rsplit("/")[-1] for e in end.so_far or () if e.path] == [
        "topic.md", "anon_001.md", "draft.md", "facts.md", "anon_003.md", "b.md",
    ]  # fmt: skip


def test_the_account_is_bounded(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        for i in run.rounds(50):
            await run.session(f"s{i}")
        await run.session("end", context=run.so_far)

    ran = played(main, tmp_path)
    assert ran.told("end") == [f"s{i}" for i in range(20, 50)]


def test_identities_are_the_same_in_every_run(tmp_path: Path) -> None:
    def ids(folder: Path, cap: int) -> set[str]:
        program = Program("t.prose")

        @program.block("b")
        async def b(run: Run, x: Value) -> Value:
            await run.session(f"in b {x}", context=run.so_far)
            if await run.decide("is it so?", about={"x": x}):
                return await run.session("more")
            return x

        @program.main
        async def main(run: Run) -> None:
            async def one(item: Value) -> Value:
                return await b(run, item)

            await run.pmap(["a", "b", "a"], one)
            await run.parallel(x=one_more(run), y=run.session("same"), z=run.session("same"))

        def one_more(run: Run) -> object:
            async def branch() -> None:
                await run.session("same")

            return branch

        ran = play(program, folder, max_concurrency=cap)
        assert ran.outcome.exit_code == 0, ran.outcome.problem
        found = [r["id"] for r in ran.journal if r["r"] in ("result", "begin")]
        return set(found)

    first = ids(tmp_path / "1", 10)
    assert first == ids(tmp_path / "2", 1)
    assert len(first) == 3 * 4 + 3


def test_unbound_names_the_line_that_would_bind_it(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        try:
            run["facts"]
        except ProseError as problem:
            raise run.error(f"{problem}") from None

    program = Program("t.prose")
    program.main(main)
    program.source('if **x**:\n  let facts = session "Find"\n', statements="1-2:if 2-2:let")
    ran = play(program, tmp_path)
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message == (
        "'facts' has no value yet; line 2 would bind it: let facts = session \"Find\""
    )


def test_filled_and_unpack(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        assert run.filled("{x}", lambda: run["x"]) == "{x}"
        run.let("x", 3)
        assert run.filled("{x}", lambda: run["x"]) == "3"
        a, b = await run.unpack("a: 1\nb: two", "a", "b")
        assert [a, run["b"]] == [1, b]
        c, _ = await run.unpack("prose only", "c", "d", const=True)
        assert c == "mended"
        await run.unpack("hopeless", "e")

    side = Scripted(repairs={"prose only": {"c": "mended"}})
    ran = played(main, tmp_path, side)
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.message.startswith("'e' can't be read as an object with e")


def test_errors_caught_rethrown_and_thrown(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        try:
            await run.session("bad")
        except ProseError as problem:
            await run.session("look", context={"problem": problem})
            raise run.error(Value(problem)) from None

    ran = played(main, tmp_path, Scripted({"bad": failing("broken")}))
    assert ran.outcome.exit_code == 1
    assert ran.outcome.problem is not None
    assert ran.outcome.problem.kind == "session"
    assert ran.records("end")[0]["failed"] == [ran.records("failed")[0]["id"]]


def test_choose_and_decisions_are_recorded_with_reasons(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        match await run.choose("which", ["A", "B"], about=run.so_far):
            case "B":
                run.output("chosen", "b")

    ran = played(main, tmp_path, Scripted(decisions={"which": "B"}))
    assert ran.outcome.outputs["chosen"] == "b"
    assert ran.records("result")[0]["value"] == "B"
    assert ran.records("result")[0]["reason"] == "because"


@pytest.mark.parametrize(
    ("source", "statements", "expected"),
    [
        ('if **x**:\n  throw "no"\nsession "a"\n', "1-2:if 2-2:throw 3-3:session", True),
        ('if **x**:\n  throw "no"\nelse:\n  session "a"\n', "1-4:if 2-2:throw 3-4:else 4-4:session", True),
        ('if **x**:\n  throw "no"\n  session "a"\n', "1-3:if 2-2:throw 3-3:session", False),
        ('if **x**:\n  session "a"\n', "1-2:if 2-2:session", False),
    ],
)
def test_an_if_that_only_throws_is_known(
    tmp_path: Path, source: str, statements: str, expected: bool
) -> None:
    async def main(run: Run) -> None:
        await run.decide("x", about=run.so_far)

    program = Program("t.prose")
    program.main(main)
    program.source(source, lines=f"{main.__code__.co_firstlineno + 1}:1", statements=statements)
    ran = play(program, tmp_path)
    assert ran.side.questions[0].hints.only_throws is expected
