"""Sessions with tools: what changed files or sent something is part of what makes a later step the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from prose_runtime.agents import Permissions
from prose_runtime.run import Run
from prose_runtime.settings import Resumption
from prose_runtime.tasks import Answer, Task
from scripted import Ran, Scripted, play, program_of


@dataclass
class Working(Scripted):
    """Sessions that may write have tools; those whose prompt begins with "Write" change the world."""

    delays: dict[str, int] = field(default_factory=dict)

    def has_tools(self, permissions: Permissions | None) -> bool:
        return permissions is not None

    async def answer(self, task: Task) -> Answer:
        for _ in range(self.delays.get(task.prompt, 0)):
            await asyncio.sleep(0)
        answer = await super().answer(task)
        return replace(answer, changed_world=task.prompt.startswith("Write"))


TOOLS = Permissions(write="allow")

Main = Callable[[Run], Awaitable[None]]


def lives(folder: Path, before: Main, after: Main, **settings: str) -> Ran:
    """What `after` does where `before` had run to its end."""
    play(program_of(before), folder, Working())
    reuse = Resumption("last", **settings)  # type: ignore[arg-type]
    return play(program_of(after), folder, Working(), resume=reuse)


async def written(run: Run) -> None:
    await run.session("Write one", permissions=TOOLS, context={})
    await run.session("Look", permissions=TOOLS, context={})
    await run.session("Think", context={})


async def written_twice(run: Run) -> None:
    await run.session("Write one", permissions=TOOLS, context={})
    await run.session("Write two", permissions=TOOLS, context={})
    await run.session("Look", permissions=TOOLS, context={})
    await run.session("Think", context={})


def test_what_the_world_may_have_changed_for_runs_again(tmp_path: Path) -> None:
    assert lives(tmp_path, written, written_twice).prompts == ["Write two", "Look"]


def test_a_step_that_only_looked_changes_nothing(tmp_path: Path) -> None:
    async def without_look(run: Run) -> None:
        await run.session("Write one", permissions=TOOLS, context={})
        await run.session("Read", permissions=TOOLS, context={})

    async def with_look(run: Run) -> None:
        await run.session("Write one", permissions=TOOLS, context={})
        await run.session("Look", permissions=TOOLS, context={})
        await run.session("Read", permissions=TOOLS, context={})

    assert lives(tmp_path, without_look, with_look).prompts == ["Look"]


def test_reuse_all_leaves_the_world_out_and_says_so(tmp_path: Path) -> None:
    ran = lives(tmp_path, written, written_twice, reuse="all")
    assert ran.prompts == ["Write two"]
    assert ran.outcome.resumed is not None
    assert (ran.outcome.resumed.reused, ran.outcome.resumed.worlds_ignored) == (3, 1)


def test_nothing_is_reused_across_programs_of_another_kind(tmp_path: Path) -> None:
    async def other(run: Run) -> None:
        await run.session("Look", permissions=Permissions(write="deny"), context={})

    assert lives(tmp_path, written, other, reuse="all").prompts == ["Look"]


def test_branches_have_worlds_of_their_own_and_a_join_folds_them_in_written_order(
    tmp_path: Path,
) -> None:
    def program(delays: dict[str, int]) -> tuple[Main, Working]:
        async def main(run: Run) -> None:
            async def left() -> None:
                await run.session("Write left", permissions=TOOLS, context={})
                await run.session("Look left", permissions=TOOLS, context={})

            async def right() -> None:
                await run.session("Write right", permissions=TOOLS, context={})
                await run.session("Look right", permissions=TOOLS, context={})

            await run.parallel(left=left, right=right)
            await run.session("Look at both", permissions=TOOLS, context={})

        return main, Working(delays=delays)

    main, quick_left = program({"Write right": 9})
    play(program_of(main), tmp_path, quick_left)
    main, quick_right = program({"Write left": 9})
    ran = play(program_of(main), tmp_path, quick_right, resume=Resumption("last"))
    assert ran.prompts == []


def test_a_finished_run_replays_whole(tmp_path: Path) -> None:
    ran = lives(tmp_path, written_twice, written_twice)
    assert ran.prompts == []
    assert ran.outcome.resumed is not None
    assert (ran.outcome.resumed.reused, ran.outcome.resumed.left) == (4, 0)
