"""Running a program from its first step to its outcome: start, signals, the last record, and how it ended."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .calling import in_own_task
from .clock import SystemClock, stamp
from .costs import Costs
from .errors import Interrupted, ProseError, Stop, StoreFailed, UsageError, Waiting, line_finder
from .events import RunEnded, RunStarted, Status
from .execution import Execution
from .frames import strand_here
from .identity import digest
from .limits import resume_command, resume_limits
from .listing import Listing
from .opening import opened
from .options import option
from .providers.protocol import JSON
from .run import Run
from .settings import Outcome, Problem, Resumed, Runnable, Settings
from .signals import Signals
from .state.state_md import StateFile
from .values import notices

if TYPE_CHECKING:
    from types import TracebackType


async def execute(program: Runnable, settings: Settings) -> Outcome:
    """Run a program to its end. Never raises for what a run can meet: the outcome says how it ended."""
    listing = Listing.of(program)
    clock = settings.clock or SystemClock()
    state = StateFile(listing, clock, settings.simulated)
    with Signals() as signals:
        try:
            if settings.resume is None:
                _check_inputs(program, listing, settings)
            store, past = opened(settings, listing, clock, state.render)
        except Stop as stop:
            await settings.sessions.close()
            return _not_started(stop)
        execution = Execution(listing, settings, store, clock, past)
        if store.keeps:
            state.watch(execution)
        return await _Life(program, execution, state, signals).lived()


def _check_inputs(program: Runnable, listing: Listing, settings: Settings) -> None:
    """Raise UsageError where inputs that the program begins with are missing and nobody is there to ask."""
    missing = [name for name in listing.leading_inputs() if name not in settings.inputs]
    if missing and settings.ask is None:
        raise _missing(program, missing)


def _missing(program: Runnable, names: list[str]) -> UsageError:
    """Every leading input that nobody gave, at once."""
    lines = []
    for name in names:
        about = program.inputs.get(name)
        lines.append(f"  {option(name, 'TEXT')}" + (f"  {about}" if about else ""))
    what = "this input is missing" if len(names) == 1 else "these inputs are missing"
    return UsageError(f"{what}; give them as options:\n" + "\n".join(lines))


def _not_started(stop: Stop) -> Outcome:
    kind = _kind(stop)
    return Outcome(
        None,
        "failed",
        stop.exit_code,
        {},
        None,
        Costs(),
        problem=Problem(stop.message, kind, stop.line),
    )


def _kind(stop: Stop) -> str:
    return type(stop).__name__


class _Life:
    """One life of a run."""

    def __init__(
        self, program: Runnable, execution: Execution, state: StateFile, signals: Signals
    ) -> None:
        self.program = program
        self.signals = signals
        self.execution = execution
        self.state = state
        self.started = execution.clock.seconds()
        self.main: asyncio.Task[Any] | None = None

    async def lived(self) -> Outcome:
        execution, store = self.execution, self.execution.store
        settings = execution.settings
        execution.store.on_failure = self._store_failed
        execution.store.record(
            {
                "r": "run",
                "format": 1,
                "run": store.run_id,
                "program": execution.listing.name,
                "source": digest(execution.listing.text),
                "version": settings.version,
                "at": stamp(execution.clock),
                "simulated": settings.simulated,
                "command": settings.command,
                "limits": resume_limits(settings),
                "folder": str(Path.cwd()),
                "pid": os.getpid(),
                "host": platform.node(),
            }
        )
        store.changed()
        resumed = not execution.replay.past.is_empty
        execution.tell(
            RunStarted(
                store.run_id, execution.listing.name, store.directory, settings.simulated, resumed
            )
        )
        for remark in store.remarks:
            execution.warn(remark)
        for caution in self.program.traits.cautions(settings.max_concurrency):
            execution.warn(caution)
        self.main = asyncio.get_running_loop().create_task(self._body())
        self.signals.listen(self._interrupt)
        failure = await self._ended(self.main)
        # What comes now comes too late: the run has ended, and is being saved.
        self.signals.listen(lambda number: None)
        return await self._finish(failure)

    async def _body(self) -> None:
        execution = self.execution
        strand_here.set(execution.strand)
        notices.set(execution.warn)
        line_finder.set(self._line_in)
        if not execution.replay.past.is_empty:
            # Nothing that is taken from the journal waits for the disk: observers hear of it there and then.
            await execution.store.durable(alone=True)
        await in_own_task(_coroutine(self.program.body(Run(execution, execution.root))))

    async def _ended(self, main: asyncio.Task[Any]) -> BaseException | None:
        """Wait for the program; what ended it, None where it came to its end."""
        try:
            await asyncio.wait([main])
        except asyncio.CancelledError:
            self.execution.stopped_by(Interrupted(f"the run was cancelled; {self._kept()}"))
            main.cancel()
            await asyncio.wait([main])
        return self.execution.stopping if main.cancelled() else main.exception()

    def _interrupt(self, number: int) -> None:
        """Ctrl-C once: finish what runs, start nothing. Twice, and the other signals: stop now."""
        execution = self.execution
        at_once = number != signal.SIGINT or isinstance(execution.stopping, Interrupted)
        execution.stopped_by(Interrupted(self._kept()))
        if not at_once:
            execution.warn("finishing what runs, starting nothing more; Ctrl-C again stops at once")
        elif self.main is not None:
            self.main.cancel()

    def _kept(self) -> str:
        if self.execution.store.keeps:
            return "what was done is kept"
        return "an in-context run keeps nothing"

    def _store_failed(self, failed: StoreFailed) -> None:
        # Answers that can't be recorded would be paid for twice: nothing goes on.
        self.execution.stopped_by(failed)
        if self.main is not None:
            self.main.cancel()

    async def _finish(self, failure: BaseException | None) -> Outcome:
        execution, settings = self.execution, self.execution.settings
        store = execution.store
        if isinstance(failure, Waiting):
            execution.stopping = execution.stopping or failure
        status, exit_code, problem = self._judged(failure)
        if failure is None:
            execution.handled(execution.strand.failures)
        record: dict[str, JSON] = {"r": "end", "status": status, "at": stamp(execution.clock)}
        if problem is not None:
            record["error"] = {
                "message": problem.message,
                "kind": problem.kind,
                "line": problem.line,
            }
        if status == "stopped":
            record["limits"] = resume_limits(settings, execution.stopping)
        if isinstance(failure, ProseError):
            ended_by = [one.identity for one in execution.strand.failures]
            record["failed"] = [*dict.fromkeys([*ended_by, *filter(None, [failure.origin])])]
        store.record(record)
        self.state.status = status
        self.state.problem = problem
        unkept = failure if isinstance(failure, StoreFailed) else None
        try:
            await store.close()
        except StoreFailed as failed:
            unkept = failed
            status, exit_code = "failed", failed.exit_code
            problem = Problem(failed.message, _kind(failed))
        await settings.sessions.close()
        seconds = execution.clock.seconds() - self.started
        execution.end_loops()
        execution.tell(RunEnded(store.run_id, status, execution.usage, seconds))
        if failure is not None and not isinstance(failure, (ProseError, Stop)):
            raise failure
        resumable = store.keeps and (
            status in ("waiting", "stopped", "interrupted") if unkept is None else not unkept.gone
        )
        given = execution.root.outputs
        names = [*(n for n in self.program.outputs if n in given)]
        names += [n for n in given if n not in names]
        return Outcome(
            store.run_id,
            status,
            exit_code,
            {name: given[name] for name in names},
            execution.strand.last,
            execution.costs,
            store.directory,
            problem,
            resume_command(settings, store.run_id, execution.stopping) if resumable else None,
            seconds,
            self._resumed(),
        )

    def _resumed(self) -> Resumed | None:
        execution, past = self.execution, self.execution.replay.past
        if past.is_empty:
            return None
        reused = execution.replay.reused
        return Resumed(reused, execution.calls, len(past.unused), past.worlds_ignored)

    def _judged(self, failure: BaseException | None) -> tuple[Status, int, Problem | None]:
        scrubbed = self.execution.scrubbed
        if failure is None:
            return "completed", 0, None
        if isinstance(failure, Stop):
            return (
                failure.status,
                failure.exit_code,
                Problem(scrubbed(failure.message), _kind(failure), failure.line),
            )
        if isinstance(failure, ProseError):
            line = failure.line or self._line_in(failure.__traceback__)
            return "failed", 1, Problem(scrubbed(failure.message), failure.kind, line)
        return "failed", 1, Problem(f"{type(failure).__name__}: {failure}", "internal", None)

    def _line_in(self, traceback: TracebackType | None) -> int | None:
        """The source line that the innermost frame of the script was at."""
        line = None
        while traceback is not None:
            name = traceback.tb_frame.f_globals.get("__name__", "")
            if not name.startswith("prose_runtime."):
                line = self.execution.listing.line_near(traceback.tb_lineno)
            traceback = traceback.tb_next
        return line


async def _coroutine(work: Any) -> None:
    await work
