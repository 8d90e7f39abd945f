"""Concurrent loops: rounds that run at once, take their turn where they touch outer variables, and end in order.

The outcome is that of the sequential loop: what a round wrote reaches the outer variables in the order of the
rounds, and a round that has had its turn sees what all earlier ones wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .concurrency import Racing, failure_of
from .errors import BadValue, ProseError, Stop
from .frames import Bound, FiledName, Frame, Strand, strand_here
from .identity import digest_of, round_path
from .values import Value

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")

OnFail = Literal["fail-fast", "continue", "ignore"]


class Turn:
    """A round's place in the order of its loop."""

    __slots__ = ("_loop", "_number")

    def __init__(self, loop: ConcurrentLoop[Any], number: int) -> None:
        self._loop = loop
        self._number = number

    @property
    def merged(self) -> dict[tuple[Frame, str], Bound]:
        """What the earlier rounds wrote, once they have all ended."""
        return self._loop.merged

    async def come(self) -> None:
        """Return when all earlier rounds have ended."""
        await self._loop.turn_of(self._number)


class ConcurrentLoop(Generic[T]):
    """One concurrent loop while it runs."""

    def __init__(self, run: Run, items: Sequence[Value], on_fail: OnFail) -> None:
        if on_fail not in ("fail-fast", "continue", "ignore"):
            raise BadValue(f"a concurrent loop has no on-fail {on_fail!r}")
        self.execution = run._execution
        self.strand = strand_here.get()
        self.on_fail = on_fail
        self.merged: dict[tuple[Frame, str], Bound] = {}
        self.filed: dict[tuple[Frame, str], FiledName] = {}
        self.strands: list[Strand] = []
        self._next = 0
        self._ended: dict[int, bool] = {}
        self._turns: dict[int, asyncio.Future[None]] = {}
        equal: dict[str, int] = {}
        for number, item in enumerate(items):
            same = equal[digest_of(item)] = equal.get(digest_of(item), -1) + 1
            fork = self.strand.fork(round_path(self.strand.path, item, same))
            fork.rounds = (*self.strand.rounds, number)
            fork.turn = Turn(self, number)
            fork.in_race = self.strand.in_race
            self.strands.append(fork)

    async def perform(self, works: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
        """Run the rounds; gives the results of those that succeeded, in order."""
        racing = Racing(list(zip(self.strands, works, strict=True)))
        results: dict[int, T] = {}
        stop: Stop | None = None
        try:
            while racing.left:
                number, task = await racing.next()
                failure = failure_of(task)
                if failure is None:
                    results[number] = task.result()
                    self.execution.handled(self.strands[number].failures)
                elif isinstance(failure, ProseError):
                    failures = self.strands[number].failures
                    if self.on_fail == "fail-fast":
                        self.strand.failures = (*self.strand.failures, *failures)
                        raise failure
                    self.execution.handled(failures)
                elif isinstance(failure, Stop):
                    # Later rounds can't have their turn before this one has ended, in another life.
                    stop = stop or failure
                    self._stop_turns_after(number, failure)
                    continue
                else:
                    raise failure
                self._end(number, failure is None)
        finally:
            await racing.cancel()
            self._close(results)
        if stop is not None:
            self.strand.stop = stop
            raise stop
        return [results[number] for number in sorted(results)]

    async def turn_of(self, number: int) -> None:
        if self._next >= number:
            return
        turn = self._turns.setdefault(number, asyncio.get_running_loop().create_future())
        await turn

    def _stop_turns_after(self, number: int, stop: Stop) -> None:
        for later, turn in self._turns.items():
            if later > number and not turn.done():
                turn.set_exception(stop)
        for later in range(number + 1, len(self.strands)):
            if later not in self._turns:
                self._turns[later] = asyncio.get_running_loop().create_future()
                self._turns[later].set_exception(stop)
                self._turns[later].exception()

    def _end(self, number: int, succeeded: bool) -> None:
        self._ended[number] = succeeded
        while self._next in self._ended:
            if self._ended[self._next]:
                self._merge(self.strands[self._next])
            self._next += 1
        for waiting in [n for n in self._turns if n <= self._next]:
            turn = self._turns.pop(waiting)
            if not turn.done():
                turn.set_result(None)

    def _merge(self, round: Strand) -> None:
        for (frame, name), bound in round.writes.items():
            if bound.kind == "left":
                there = self.merged.get((frame, name)) or self.strand.find(frame, name)
                if there is not None and there.kind != "left":
                    continue
            self.merged[(frame, name)] = bound
        self.filed.update(round.filed)

    def _close(self, results: dict[int, T]) -> None:
        """Fold what the rounds did into the strand that forked them."""
        self.strand.fold_names(self.merged)
        self.strand.join_accounts([self.strands[number] for number in sorted(results)])
        self.execution.refile(self.strand, self.filed)
        if self.strand.in_race:
            for fork in self.strands:
                self.strand.paths |= fork.paths


async def turn_here(strand: Strand) -> None:
    """Wait for the turn of the innermost concurrent round that this strand is in; elsewhere there is nothing to wait for."""
    at: Strand | None = strand
    while at is not None and at.turn is None:
        at = at.parent
    if at is not None and at.turn is not None:
        await at.turn.come()
        at.turned = True


async def concurrent_rounds(
    run: Run,
    items: Sequence[Value],
    body: Callable[..., Awaitable[T]],
    on_fail: OnFail,
    indexed: bool,
) -> list[T]:
    """Run `body` for every item at once."""
    run._execution.starting(strand_here.get())
    loop: ConcurrentLoop[T] = ConcurrentLoop(run, items, on_fail)

    def work(item: Value, number: int) -> Callable[[], Coroutine[Any, Any, T]]:
        async def one_round() -> T:
            return await (body(item, Value(number)) if indexed else body(item))

        return one_round

    return await loop.perform([work(item, number) for number, item in enumerate(items)])
