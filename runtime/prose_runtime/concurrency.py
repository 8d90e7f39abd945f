"""parallel: branches that run at once, every join and on-fail policy, and cancellation that leaves nothing running."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .calling import ended_after_cancelling
from .errors import BadValue, BranchesFailed, ProseError, Stop
from .frames import Bound, Strand, strand_here
from .identity import branch_path
from .providers.protocol import JSON
from .steps import Step
from .values import Liftable, Value

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")

Join = Literal["all", "first", "any"]
OnFail = Literal["fail-fast", "continue", "ignore"]
Work = Step[Any] | Callable[[], Awaitable[Liftable]]


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch under its program's name; None: it has none."""

    name: str | None
    work: Work


class Joined(tuple[Value, ...]):
    """One value per branch, in written order. `value` is what the parallel is as a value of the program."""

    value: Value

    @classmethod
    def of(cls, names: Sequence[str | None], values: Sequence[Value]) -> Joined:
        joined = cls(values)
        if any(names):
            joined.value = Value({n: v for n, v in zip(names, values, strict=True) if n is not None})
        else:
            joined.value = Value(list(values))
        return joined


class Racing:
    """Tasks that run at once, handed out one by one as they end."""

    def __init__(self, works: Sequence[tuple[Strand, Callable[[], Coroutine[Any, Any, Any]]]]) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self._numbers: dict[asyncio.Task[Any], int] = {}
        self._ended: deque[asyncio.Task[Any]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        loop = asyncio.get_running_loop()
        for number, (strand, work) in enumerate(works):
            task = loop.create_task(_in_strand(strand, work))
            self._numbers[task] = number
            self.tasks.append(task)
            task.add_done_callback(self._end)
        self.left = len(self.tasks)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._ended.append(task)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> tuple[int, asyncio.Task[Any]]:
        """The number and the task that ended next."""
        while not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        task = self._ended.popleft()
        self.left -= 1
        return self._numbers[task], task

    async def cancel(self) -> None:
        """Cancel what still runs and return when nothing does."""
        await ended_after_cancelling(self.tasks)


async def _in_strand(strand: Strand, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    strand_here.set(strand)
    return await work()


def failure_of(task: asyncio.Task[Any]) -> BaseException | None:
    """What ended a task, None where it succeeded."""
    if task.cancelled():
        return asyncio.CancelledError()
    return task.exception()


def parallel_step(
    run: Run, branches: Sequence[Branch], join: Join, count: int, on_fail: OnFail, line: int | None
) -> Step[Joined]:
    """The step that runs branches at once and joins them."""
    if join not in ("all", "first", "any"):
        raise BadValue(f"parallel has no strategy {join!r}")
    if on_fail not in ("fail-fast", "continue", "ignore"):
        raise BadValue(f"parallel has no on-fail {on_fail!r}")
    needed = len(branches) if join == "all" else 1 if join == "first" else max(1, count)

    async def start() -> Joined:
        return await _Parallel(run, branches, join, needed, on_fail, line).perform()

    return Step(start, line)


class _Parallel:
    """One parallel while it runs."""

    def __init__(
        self, run: Run, branches: Sequence[Branch], join: Join, needed: int, on_fail: OnFail, line: int | None
    ) -> None:
        self.run = run
        self.execution = run._execution
        self.strand = strand_here.get()
        self.branches = branches
        self.names = [b.name or f"_branch_{i}" for i, b in enumerate(branches)]
        self.join = join
        self.needed = needed
        self.on_fail = on_fail
        self.line = line
        self.values: list[Value | None] = [None] * len(branches)
        self.errors: dict[int, ProseError] = {}
        self.stop: Stop | None = None
        self.strands: list[Strand] = []

    async def perform(self) -> Joined:
        execution, strand = self.execution, self.strand
        execution.starting(strand)
        identity = execution.identify(
            strand, "parallel", {"branches": [*self.names], "join": self.join, "needed": self.needed}
        )
        works: list[tuple[Strand, Callable[[], Coroutine[Any, Any, Any]]]] = []
        for name, branch in zip(self.names, self.branches, strict=True):
            fork = strand.fork(branch_path(strand.path, name))
            fork.in_race = strand.in_race or self.join != "all" or self.on_fail == "fail-fast"
            self.strands.append(fork)
            if isinstance(branch.work, Step):
                branch.work.prepare()
                works.append((fork, branch.work.as_branch(name)))
            else:
                works.append((fork, _lifted(branch.work)))
        racing = Racing(works)
        try:
            cut_short = await self._race(racing)
        finally:
            await racing.cancel()
        if cut_short:
            self._record_race(identity)
        if strand.in_race:
            for fork in self.strands:
                strand.paths |= fork.paths
        return self._joined()

    async def _race(self, racing: Racing) -> bool:
        """Wait as long as the join needs; True where some branches were given up."""
        won = 0
        while racing.left:
            number, task = await racing.next()
            failure = failure_of(task)
            if failure is None:
                if self.join == "all" or won < self.needed:
                    result = task.result()
                    self.values[number] = Value(result.value if isinstance(result, Joined) else result)
                    won += 1
                if self.join != "all" and won >= self.needed:
                    return racing.left > 0
            elif isinstance(failure, ProseError):
                self.errors[number] = failure
                if self.on_fail == "fail-fast" and self._is_lost():
                    return racing.left > 0
            elif isinstance(failure, Stop):
                self.stop = self.stop or failure
            else:
                raise failure
        return False

    def _is_lost(self) -> bool:
        """The join can't be reached any more (a branch that waits for a person may still get there)."""
        return len(self.branches) - len(self.errors) < self.needed

    def _joined(self) -> Joined:
        execution, strand = self.execution, self.strand
        won = [n for n, value in enumerate(self.values) if value is not None]
        satisfied = len(won) >= self.needed
        if self.stop is not None and not satisfied and not (self.errors and self.on_fail == "fail-fast" and self._is_lost()):
            strand.stop = self.stop
            raise self.stop
        if execution.stopping is not None:
            raise execution.stopping
        failures = [f for n in sorted(self.errors) for f in self.strands[n].failures]
        if not satisfied and self.on_fail == "fail-fast":
            strand.failures = (*strand.failures, *failures)
            raise self._failure()
        # A branch that succeeded caught what failed in it, even where nothing started after the catch.
        caught = [f for n in won for f in self.strands[n].failures]
        execution.handled((*failures, *caught))
        strand.join([self.strands[n] for n in won])
        values = [self._value(n) for n in range(len(self.branches))]
        for number, (branch, value) in enumerate(zip(self.branches, values, strict=True)):
            if branch.name is not None:
                self._bind(number, branch.name, value)
        joined = Joined.of([branch.name for branch in self.branches], values)
        if self.run._frame is execution.root:
            execution.last = joined.value
        return joined

    def _value(self, number: int) -> Value:
        value = self.values[number]
        if value is not None:
            return value
        error = self.errors.get(number)
        bound_to_error = error is not None and self.on_fail != "ignore" and self._binds_errors()
        return Value(error) if bound_to_error else Value(None)

    def _binds_errors(self) -> bool:
        """A race that was won has no use for its losers' errors; any other parallel binds them."""
        return self.join == "all" or sum(v is not None for v in self.values) < self.needed

    def _failure(self) -> ProseError:
        if self.join == "all":
            return next(iter(self.errors.values()))
        reasons = "; ".join(f"{self.names[n]}: {self.errors[n].message}" for n in sorted(self.errors))
        wanted = "one branch" if self.needed == 1 else f"{self.needed} branches"
        failed = f" ({reasons})" if reasons else ""
        return BranchesFailed(
            f"parallel needs {wanted} to succeed and too few are left{failed}", line=self.line
        )

    def _bind(self, number: int, name: str, value: Value) -> None:
        """Bind a branch's name; the branch may have written its file already."""
        execution, strand, frame = self.execution, self.strand, self.run._frame
        fork, work = self.strands[number], self.branches[number].work
        won = self.values[number] is not None
        if won and isinstance(work, Step) and work.binds_itself():
            path = execution.store.place(name, frame.execution_id, strand.rounds_in(frame))
        else:
            path = execution.write_binding(strand, frame, name, "let", value, self.line)
            if won:
                newest = fork.account.results[-1:] if fork.account.newest_is(value) else ()
                strand.account = strand.account.renamed(newest, name, path)
        strand.write(frame, name, Bound(value, "let", path))

    def _record_race(self, identity: str) -> None:
        """What a later life needs to run only the winners, and to count on from where the losers had got."""
        paths = {path for fork in self.strands for path in fork.paths}
        won: list[JSON] = [n for n, value in enumerate(self.values) if value is not None]
        failed: list[JSON] = [*sorted(self.errors)]
        self.execution.store.record(
            {"r": "race", "id": identity, "won": won, "failed": failed, "counters": self.execution.counters(paths)}
        )


def _lifted(work: Callable[[], Awaitable[Liftable]]) -> Callable[[], Coroutine[Any, Any, Value]]:
    async def branch() -> Value:
        return Value(await work())

    return branch


def named_branches(positional: Sequence[Branch | Work], named: Mapping[str, Work]) -> list[Branch]:
    """The branches of a call in written order."""
    written = [b if isinstance(b, Branch) else Branch(None, b) for b in positional]
    written += [Branch(name, work) for name, work in named.items()]
    # A branch that is called _branch_i in its own place i has no name of its own.
    return [Branch(None, b.work) if b.name == f"_branch_{i}" else b for i, b in enumerate(written)]
