"""parallel: branches that run at once, every join and on-fail policy, and cancellation that leaves nothing running."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .errors import BadValue, BranchesFailed, ProseError, Stop
from .events import BranchEnded, BranchStatus, ParallelEnded, ParallelStarted
from .frames import Bound, Strand, strand_here
from .identity import branch_path
from .racing import Racing, Rerun, failure_of, record_race
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
            joined.value = Value(
                {n: v for n, v in zip(names, values, strict=True) if n is not None}
            )
        else:
            joined.value = Value(list(values))
        return joined


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
        self,
        run: Run,
        branches: Sequence[Branch],
        join: Join,
        needed: int,
        on_fail: OnFail,
        line: int | None,
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
        self.number = self.execution.next_construct()
        self.works: list[Callable[[], Coroutine[Any, Any, Any]]] = []
        self.values: list[Value | None] = [None] * len(branches)
        self.errors: dict[int, ProseError] = {}
        self.stop: Stop | None = None
        self.strands: list[Strand] = []

    async def perform(self) -> Joined:
        execution, strand = self.execution, self.strand
        execution.starting(strand, self.run._frame, self.line)
        identity = execution.replay.identify(
            strand,
            "parallel",
            {
                "branches": [*self.names],
                "join": self.join,
                "needed": self.needed,
                "on_fail": self.on_fail,
            },
        )
        self.works = [
            branch.work.as_branch(name) if isinstance(branch.work, Step) else _lifted(branch.work)
            for name, branch in zip(self.names, self.branches, strict=True)
        ]
        if execution.observed:
            execution.tell(self._started())
        joined: Joined | None = None
        try:
            again = Rerun.of(execution, strand, identity)
            if again is None or not await self._repeat(again):
                self._fork(None)
                cut_short = await self._race(self._running(range(len(self.works))))
                raced = self.join != "all" or (self.errors and self.on_fail == "fail-fast")
                if self._is_settled() and (cut_short or raced):
                    # Also where the last to end decided it: in a replay the branches end in another order.
                    asked = set().union(*(strand.asked for strand in self.strands))
                    record_race(execution, identity, self._won(), sorted(self.errors), asked)
            joined = self._joined()
        finally:
            strand.touch(self.strands)
            won = [self.strands[n] for n in self._won()] if joined is not None else []
            execution.refile(strand, strand.misfiled(self.strands, won))
            if execution.observed:
                execution.tell(ParallelEnded(self.number, self._named(joined)))
        return joined

    def _fork(self, rerun: Rerun | None) -> None:
        """Make the strands of all branches."""
        self.strands = []
        for name in self.names:
            fork = self.strand.fork(branch_path(self.strand.path, name))
            fork.in_race |= self.join != "all" or self.on_fail == "fail-fast"
            fork.rerun = fork.rerun or rerun
            self.strands.append(fork)

    def _running(self, numbers: Iterable[int]) -> Racing:
        return Racing(self.execution.replay, [*numbers], lambda n: (self.strands[n], self.works[n]))

    async def _repeat(self, rerun: Rerun) -> bool:
        """Take the winners of a race that was cut short from the journal; False where that can't be done."""
        won = len(rerun.won)
        needed = (
            rerun.won if self.join != "all" and won >= self.needed else (*rerun.won, *rerun.failed)
        )
        if any(n >= len(self.works) for n in needed):
            return False
        self._fork(rerun)
        if await rerun.done(lambda: self._running(needed), self._ended):
            return True
        self.values, self.errors, self.stop = [None] * len(self.branches), {}, None
        return False

    def _ended(self, number: int, failure: BaseException | None, result: Any) -> None:
        """Take in how a branch ended, where it counts."""
        status: BranchStatus = "complete"
        if failure is None:
            value = Value(result.value if isinstance(result, Joined) else result)
            self.values[number] = value
            self._tell(number, status, value)
            return
        if isinstance(failure, ProseError):
            self.errors[number] = failure
            status = "failed"
        elif isinstance(failure, Stop):
            self.stop = self.stop or failure
            status = "stopped"
        else:
            raise failure
        self._tell(number, status, Value(failure) if isinstance(failure, ProseError) else None)

    # Telling

    def _started(self) -> ParallelStarted:
        return ParallelStarted(
            self.number,
            self.line,
            self.run._frame.place,
            self.strand.path,
            tuple(self.names),
            self.join,
            self.needed,
            self.on_fail,
        )

    def _tell(self, number: int, status: BranchStatus, value: Value | None = None) -> None:
        if self.execution.observed:
            self.execution.tell(BranchEnded(self.number, number, status, value))

    def _named(self, joined: Joined | None) -> Mapping[str, Value] | None:
        if joined is None:
            return None
        return {b.name: v for b, v in zip(self.branches, joined, strict=True) if b.name is not None}

    async def _race(self, racing: Racing) -> bool:
        """Wait as long as the join needs; True where some branches were given up."""
        try:
            while racing.left:
                number, task = await racing.next()
                failure = failure_of(task)
                self._ended(number, failure, None if failure else task.result())
                if self.join != "all" and len(self._won()) >= self.needed:
                    return racing.left > 0
                if self.on_fail == "fail-fast" and self.errors and self._is_lost():
                    return racing.left > 0
            return False
        finally:
            for number in racing.given_up():
                self._tell(number, "cancelled")
            await racing.cancel()

    def _won(self) -> list[int]:
        return [n for n, value in enumerate(self.values) if value is not None]

    def _is_settled(self) -> bool:
        """No branch that waits for a person, or was stopped, can change the outcome any more."""
        lost = self.errors and self.on_fail == "fail-fast" and self._is_lost()
        return self.stop is None or len(self._won()) >= self.needed or bool(lost)

    def _is_lost(self) -> bool:
        """The join can't be reached any more (a branch that waits for a person may still get there)."""
        return len(self.branches) - len(self.errors) < self.needed

    def _joined(self) -> Joined:
        execution, strand = self.execution, self.strand
        won = self._won()
        satisfied = len(won) >= self.needed
        if not self._is_settled():
            assert self.stop is not None
            strand.stop = self.stop
            raise self.stop
        if execution.stopping is not None:
            raise execution.stopping
        # A branch that succeeded caught what failed in it, even where nothing started after the catch.
        execution.handled([f for n in won for f in self.strands[n].failures])
        failures = [f for n in sorted(self.errors) for f in self.strands[n].failures]
        if not satisfied and self.on_fail == "fail-fast":
            strand.failures = (*strand.failures, *failures)
            raise self._failure()
        execution.handled(failures)
        strand.join([self.strands[n] for n in won])
        values = [self._value(n) for n in range(len(self.branches))]
        for number, (branch, value) in enumerate(zip(self.branches, values, strict=True)):
            if branch.name is not None:
                self._bind(number, branch.name, value)
        joined = Joined.of([branch.name for branch in self.branches], values)
        if self.run._frame is execution.root:
            strand.last = joined.value
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
        return self.join == "all" or len(self._won()) < self.needed

    def _failure(self) -> ProseError:
        if self.join == "all":
            return next(iter(self.errors.values()))
        reasons = "; ".join(
            f"{self.names[n]}: {self.errors[n].message}" for n in sorted(self.errors)
        )
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
