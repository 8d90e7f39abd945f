"""Branches that run at once, and races that were cut short: what is recorded of them, and how they are run again.

A race is recorded with its outcome, so that a later life starts the winners alone, and with the counters of what was
asked in it, so that later steps count on from where the losers had got.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .calling import ended_after_cancelling
from .errors import ProseError
from .frames import Strand, strand_here

if TYPE_CHECKING:
    from .events import Event
    from .execution import Execution
    from .replay import Replay

T = TypeVar("T")

Work = Callable[[], Coroutine[Any, Any, Any]]


class Racing:
    """Tasks that run at once, handed out one by one as they end."""

    def __init__(
        self,
        replay: Replay,
        numbers: Sequence[int],
        begin: Callable[[int], tuple[Strand, Work]],
        room: int | None = None,
    ) -> None:
        """Begin those of these numbers, in order; `begin` gives what one does, and where, when its turn comes.

        No more than `room` of them are at work together: what comes after begins when one was handed out, or waits.
        """
        self.left = len(numbers)
        self._replay = replay
        self._begin = begin
        self._room = len(numbers) if room is None else room
        self._pending = deque(numbers)
        self._numbers: dict[asyncio.Task[Any], int] = {}
        """Those that have begun and were not handed out."""
        self._ended: deque[asyncio.Task[Any]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._begin_some()

    def _begin_some(self) -> None:
        loop = asyncio.get_running_loop()
        while self._pending and self._room > 0:
            self._room -= 1
            number = self._pending.popleft()
            task = loop.create_task(_in_strand(*self._begin(number)))
            self._numbers[task] = number
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._replay.moves += 1
        self._ended.append(task)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> tuple[int, asyncio.Task[Any]]:
        """The number and the task that ended next."""
        while not self._ended:
            self._begin_some()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        task = self._ended.popleft()
        self.left -= 1
        self._room += 1
        return self._numbers.pop(task), task

    async def wait(self, others: Awaitable[None]) -> None:
        """One of these waits for others, which leaves room for one that has not begun."""
        self._room += 1
        self._wake()
        try:
            await others
        finally:
            self._room -= 1

    def given_up(self) -> list[int]:
        """The numbers of those that have begun and were not handed out."""
        return list(self._numbers.values())

    async def cancel(self) -> None:
        """Begin nothing more, cancel what still runs, and return when nothing does."""
        self._pending.clear()
        await ended_after_cancelling([*self._numbers])


async def _in_strand(strand: Strand, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    strand_here.set(strand)
    return await work()


def failure_of(task: asyncio.Task[Any]) -> BaseException | None:
    """What ended a task, None where it succeeded."""
    if task.cancelled():
        return asyncio.CancelledError()
    return task.exception()


class Unrecorded(BaseException):
    """What only the journal may answer is not in it: the record of the race around it is void."""


class Rerun:
    """One attempt to take the outcome of a race from the journal. What it counted and used can be put back."""

    def __init__(
        self, execution: Execution, won: Sequence[int], failed: Sequence[int], counters: Any
    ) -> None:
        self.won = tuple(won)
        self.failed = tuple(failed)
        self.asked: list[tuple[str, str]] = []
        """What was identified in it: scope path and content."""
        self.used: list[str] = []
        """Identities of the records that it took."""
        self.events: list[Event] = []
        """What observers are to hear of it."""
        self._execution = execution
        self._counters = counters

    @classmethod
    def of(cls, execution: Execution, strand: Strand, identity: str) -> Rerun | None:
        """The recorded race of this identity; None where there is none."""
        record = execution.replay.past.race(identity)
        if record is None:
            return None
        return cls(execution, record["won"], record["failed"], record["counters"])

    async def done(
        self, start: Callable[[], Racing], ended: Callable[[int, BaseException | None, Any], None]
    ) -> bool:
        """Let all that `start` starts end; False, with everything put back, where the journal lacks something.

        Observers hear of it once it is known to hold: of what is run again they would hear twice.
        """
        execution, strand = self._execution, strand_here.get()
        strand.repeating = self
        racing = start()
        try:
            while racing.left:
                number, task = await racing.next()
                failure = failure_of(task)
                if (failure is None) != (number in self.won):
                    raise (
                        failure
                        if failure is not None and not isinstance(failure, ProseError)
                        else Unrecorded
                    )
                ended(number, failure, None if failure else task.result())
        except Unrecorded:
            if strand.rerun is not None:
                # The race around this one is run again as a whole.
                raise
            await racing.cancel()
            self.events.clear()
            execution.replay.put_back(self)
            return False
        finally:
            await racing.cancel()
            strand.repeating = None
            for event in self.events:
                execution.tell(event)
        execution.replay.count_on(strand, self._counters)
        return True


def record_race(
    execution: Execution,
    identity: str,
    won: Sequence[int],
    failed: Sequence[int],
    asked: Collection[tuple[str, str]],
) -> None:
    """Record how a race that was cut short came out; `asked` is what was identified in it."""
    execution.store.record(
        {
            "r": "race",
            "id": identity,
            "won": [*won],
            "failed": [*failed],
            "counters": execution.replay.counters(asked),
        }
    )
