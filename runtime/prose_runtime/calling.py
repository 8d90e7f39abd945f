"""Block calls: a frame, a number, and now and then a task of its own, so that 1,000 nested calls need no deep stack."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .events import FrameEntered, FrameLeft
from .frames import Block, Bound, strand_here
from .identity import digest_of
from .steps import Step
from .tasks import Entry
from .values import Liftable, Value

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")

_TOGETHER: Final = 8
"""Nested calls that share a task: one for each would cost three turns of the event loop, also where all is recorded."""


def block_call(
    run: Run,
    block: Block,
    arguments: Sequence[Liftable],
    named: Mapping[str, Liftable],
    line: int | None,
) -> Step[Value]:
    """The step that runs a block with these arguments."""
    execution, caller = run._execution, run._frame

    async def start() -> Value:
        strand = strand_here.get()
        execution.starting(strand, caller, line)
        try:
            caller.check_depth(block)
        except Exception as error:
            error.line = line  # type: ignore[attr-defined]
            raise
        lifted = [Value(argument) for argument in arguments]
        lifted_by_name = {name: Value(argument) for name, argument in named.items()}
        program_names = dict(zip(block.arguments, block.parameters, strict=False))
        given = dict(zip(block.parameters, lifted, strict=False))
        given |= {program_names.get(name, name): value for name, value in lifted_by_name.items()}
        shown = "\n".join([f"{name} {digest_of(value)}" for name, value in sorted(given.items())])
        identity = execution.replay.identify(
            strand, "frame", {"block": block.name, "arguments": shown}
        )
        frame = caller.entered(
            strand, block, execution.replay.execution_id(strand, identity, block.name)
        )
        for name, value in given.items():
            frame.own[name] = Bound(value, "parameter")
        if execution.observed:
            execution.tell(FrameEntered(frame.place, line, strand.path, given))
        failed = True
        try:
            work = block.function(run._in(frame), *lifted, **lifted_by_name)
            if frame.depth % _TOGETHER:
                value = Value(await work)
            else:
                value = Value(await in_own_task(_coroutine(work)))
            failed = False
        finally:
            strand.filed.drop(frame)
            execution.replay.moves += 1
            if execution.observed:
                execution.tell(FrameLeft(frame.place, failed))
        strand.leave(frame)
        if not value.is_null and not strand.account.newest_is(value):
            strand.account = strand.account.with_result(Entry(block.name, value))
        if caller is execution.root:
            strand.last = value
        return value

    return Step(start, line)


async def _coroutine(work: Any) -> Any:
    return await work


async def in_own_task(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` in a task of its own; when this is cancelled the work is cancelled first, and waited for.

    The task is not awaited directly: cancelling a chain of tasks that await each other would recurse in C.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    ended = loop.create_future()

    def end(_: object) -> None:
        if not ended.done():
            ended.set_result(None)

    task.add_done_callback(end)
    try:
        await ended
    except asyncio.CancelledError:
        await ended_after_cancelling([task])
        raise
    return task.result()


async def ended_after_cancelling(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until none is left, however often the wait itself is cancelled. What they raise is dropped."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            # Once more for the impatient: the tasks are told again, and still waited for.
            continue
    for task in tasks:
        if not task.cancelled():
            task.exception()
