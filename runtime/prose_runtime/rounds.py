"""Concurrent loops: rounds that run at once, take their turn where they touch outer variables, and end in order.

The outcome is that of the sequential loop: what a round wrote reaches the outer variables in the order of the
rounds, and a round that has had its turn sees what all earlier ones wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from .errors import BadValue, ProseError, Stop
from .events import BranchStatus, RoundEnded
from .frames import Bound, Filed, Frame, Joining, Strand, strand_here
from .identity import digest_of, round_path
from .racing import Racing, Rerun, Unrecorded, Work, failure_of, record_race
from .values import Value

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")

OnFail = Literal["fail-fast", "continue", "ignore"]

ROOM: Final = 100
"""Rounds that are at work at once, besides as many as there are session slots: others begin when one of them ends, or
waits for its turn. What a loop of thousands has begun and not ended takes memory."""


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

    def __init__(self, run: Run, items: Sequence[Value], on_fail: OnFail, line: int | None) -> None:
        if on_fail not in ("fail-fast", "continue", "ignore"):
            raise BadValue(f"a concurrent loop has no on-fail {on_fail!r}")
        self.run = run
        self.execution = run._execution
        self.strand = strand_here.get()
        self.items = items
        self.on_fail = on_fail
        self.line = line
        self.told = 0
        self._paths = _paths(self.strand.path, items)
        self._begin(None)

    def _begin(self, rerun: Rerun | None) -> None:
        """Nothing has been done yet; `rerun` is the recorded end of the loop that is to be repeated."""
        self._rerun = rerun
        self.merged: dict[tuple[Frame, str], Bound] = {}
        self.filed = Filed()
        self.outputs: dict[tuple[Frame, str], Value] = {}
        self.strands: dict[int, Strand] = {}
        """Of the rounds that have begun and were not merged."""
        self.results: dict[int, T] = {}
        self.failure: ProseError | None = None
        self.stop: Stop | None = None
        self._joining = Joining(self.strand)
        self._asked: set[tuple[str, str]] = set()
        """What was identified in rounds that were merged, if this is a race."""
        self._next = 0
        self._ended: dict[int, bool] = {}
        self._turns: dict[int, asyncio.Future[None]] = {}
        self._stopped: int | None = None
        """The first of the rounds that stopped: those after it have no turn."""
        self._missing: frozenset[int] = frozenset()
        """Rounds that are not started: those that a recorded end of the loop had cancelled."""

    async def perform(self, work: Callable[[int], Work]) -> list[T]:
        """Run the rounds, `work` gives what each does; gives the results of those that succeeded, in order."""
        execution, strand = self.execution, self.strand
        identity = execution.replay.identify(
            strand, "rounds", {"items": [digest_of(item) for item in self.items], "on_fail": self.on_fail}
        )
        self.told = execution.loop_started(self.run._frame, self.line, "concurrent", len(self.items))
        exhausted = False
        try:
            again = Rerun.of(execution, strand, identity)
            if again is None or not await self._repeat(again, work):
                await self._run(identity, work)
            exhausted = not (self.failure or self.stop)
        finally:
            self._close()
            execution.loop_ended(self.told, exhausted)
        if self.failure is not None:
            raise self.failure
        if self.stop is not None:
            strand.stop = self.stop
            raise self.stop
        return [self.results[number] for number in sorted(self.results)]

    def _fork(self, number: int) -> Strand:
        """Make the strand of a round."""
        fork = self.strands[number] = self.strand.fork(self._paths[number])
        fork.rounds = (*self.strand.rounds, number)
        fork.turn = Turn(self, number)
        fork.in_race |= self.on_fail == "fail-fast"
        fork.rerun = fork.rerun or self._rerun
        self.execution.round_started(self.told, number, fork.path)
        return fork

    async def _repeat(self, rerun: Rerun, work: Callable[[int], Work]) -> bool:
        """Take what a loop that was cut short had done from the journal; False where that can't be done."""
        self._begin(rerun)
        numbers = sorted((*rerun.won, *rerun.failed))
        self._missing = frozenset(range(len(self.items))) - frozenset(numbers)
        if numbers[-1] < len(self.items) and await rerun.done(
            lambda: self._running(numbers, work), self._take
        ):
            return True
        self._begin(None)
        return False

    def _running(self, numbers: Sequence[int], work: Callable[[int], Work]) -> Racing:
        room = self.execution.settings.max_concurrency + ROOM
        self._racing = Racing(
            self.execution.replay, numbers, lambda number: (self._fork(number), work(number)), room
        )
        return self._racing

    async def _run(self, identity: str, work: Callable[[int], Work]) -> None:
        racing = self._running(range(len(self.items)), work)
        try:
            while racing.left:
                number, task = await racing.next()
                failure = failure_of(task)
                self._take(number, failure, None if failure else task.result())
                if self.failure is not None:
                    break
        finally:
            for given_up in racing.given_up():
                self._tell(given_up, "cancelled")
            await racing.cancel()
        if self.failure is not None:
            # Also where none was given up: a failure that is raised again from the journal comes sooner than it did.
            record_race(self.execution, identity, sorted(self.results), [number], self._all_asked())

    def _all_asked(self) -> set[tuple[str, str]]:
        return self._asked.union(*(strand.asked for strand in self.strands.values()))

    def _take(self, number: int, failure: BaseException | None, result: Any) -> None:
        """Take in how a round ended."""
        failures = self.strands[number].failures
        if failure is None:
            self.results[number] = result
            self.execution.handled(failures)
            self._tell(number, "complete")
        elif isinstance(failure, ProseError):
            self._tell(number, "failed")
            if self.on_fail == "fail-fast":
                self.strand.failures = (*self.strand.failures, *failures)
                self.failure = failure
                return
            self.execution.handled(failures)
        elif isinstance(failure, Stop):
            # Later rounds can't have their turn before this one has ended, in another life.
            self.stop = self.stop or failure
            self._tell(number, "stopped")
            self._stop_turns_after(number, failure)
            return
        else:
            raise failure
        self._end(number, failure is None)

    def _tell(self, number: int, status: BranchStatus) -> None:
        if self.execution.observed:
            self.execution.tell(RoundEnded(self.told, number, status))

    async def turn_of(self, number: int) -> None:
        if self._next >= number:
            return
        if self._missing and any(n in self._missing for n in range(self._next, number)):
            raise Unrecorded
        if self._stopped is not None and number > self._stopped:
            assert self.stop is not None
            raise self.stop
        turn = self._turns.setdefault(number, asyncio.get_running_loop().create_future())
        await self._racing.wait(turn)

    def _stop_turns_after(self, number: int, stop: Stop) -> None:
        if self._stopped is not None and self._stopped <= number:
            return
        self._stopped = number
        for later in [waiting for waiting in self._turns if waiting > number]:
            turn = self._turns.pop(later)
            if not turn.done():
                turn.set_exception(stop)

    def _end(self, number: int, succeeded: bool) -> None:
        self._ended[number] = succeeded
        while self._next in self._ended:
            round = self.strands.pop(self._next)
            self._asked |= round.asked
            if self._ended.pop(self._next):
                self._merge(round)
            self._next += 1
            turn = self._turns.pop(self._next, None)
            if turn is not None and not turn.done():
                turn.set_result(None)

    def _merge(self, round: Strand) -> None:
        self._joining.add(round)
        for (frame, name), bound in round.writes.items():
            if bound.kind == "left":
                there = self.merged.get((frame, name)) or self.strand.find(frame, name)
                if there is not None and there.kind != "left":
                    continue
            self.merged[(frame, name)] = bound
        self.filed.update(round.filed)
        self.outputs.update(round.outputs)

    def _close(self) -> None:
        """Fold what the rounds did into the strand that forked them."""
        self.strand.fold_names(self.merged)
        self.strand.fold_outputs(self.outputs)
        for number in sorted(self.strands):
            if number in self.results:
                self._joining.add(self.strands[number])
        self._joining.done()
        self.execution.refile(self.strand, self.filed)
        if self.strand.in_race:
            self.strand.asked |= self._all_asked()


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
    line: int | None,
) -> list[T]:
    """Run `body` for every item at once."""
    run._execution.starting(strand_here.get(), run._frame, line)
    loop: ConcurrentLoop[T] = ConcurrentLoop(run, items, on_fail, line)

    def work(number: int) -> Callable[[], Coroutine[Any, Any, T]]:
        async def one_round() -> T:
            item = items[number]
            return await (body(item, Value(number)) if indexed else body(item))

        return one_round

    return await loop.perform(work)


def _paths(path: str, items: Sequence[Value]) -> list[str]:
    """The scope paths of all rounds: of equal items each has a number."""
    equal: dict[str, int] = {}
    paths = []
    for item in items:
        same = equal[digest_of(item)] = equal.get(digest_of(item), -1) + 1
        paths.append(round_path(path, item, same))
    return paths
