"""journal.jsonl: what a run has paid for, one JSON record per line, the truth for resume.

Records (`r` says which; `id` is the identity of a step or frame):

    run      one per life: the program, its source's digest, when, which process
    begin    the number that a step without a name (`anon`) or a frame (`execution_id`) took
    ask      what a step was asked and shown, before it is called
    result   what it gave: `text`, or `value` with its kind; `bare` is the identity without the world; `usage` is that
             of the call which gave it, in tokens of input, output, cache writes and reads, `usd` its price if known
    spent    what a call besides the one that gave the result has cost: one that failed, was cancelled, repaired
    again    a session's answer had not the shape needed, and is asked for in that shape
    retry    an attempt failed, and the next begins
    failed   the step failed
    cancelled  its branch was given up while it was called
    handled  failures that the program caught
    race     how a parallel or concurrent loop came out that may have been cut short: who won, who failed, and the counters below it
    input    a value that was given or asked for (of a secret one its file and digest alone)
    waiting  an input is missing
    end      how a life ended
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from .errors import StoreFailed
from .faults import UNARMED, Faults
from .providers.protocol import JSON
from .state.files import about
from .state.reading import Read, is_deleted, lock, read_journal

SLOW = 0.0005
"""Seconds. A disk whose fsync takes longer is waited for in a thread, a faster one where it is: a thread costs more."""

SLOW_ALONE = 0.02
"""Seconds. The same where nothing else runs that would be kept waiting."""

SOON = 0.01
"""Seconds after which a record is made durable although nobody waits for it."""


class Journal:
    """Appends records, and makes them durable in groups: all that are there when somebody waits share one fsync.

    Whoever acts on a result (calls a model with it, shows it as done) waits first; the program itself goes on.
    """

    def __init__(self, path: Path, faults: Faults = UNARMED) -> None:
        """Open and lock the journal; raises UsageError where another process has it, OSError where it can't be."""
        self._path = path
        self.on_failure: Callable[[StoreFailed], None] = _ignore
        self._append = faults.around("journal.append", os.write)
        self._datasync = faults.around("journal.sync", os.fdatasync)
        self._cut = faults.around("journal.cut", os.ftruncate)
        opened = faults.around("journal.open", lock)
        with about(path):
            self._descriptor = opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._size = os.fstat(self._descriptor).st_size
        self._lines: list[str] = []
        self.added = 0
        """Records so far that must be durable."""
        self.durable_to = 0
        """How many of them are."""
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._syncing: asyncio.Future[None] | None = None
        self._pace = 0.0
        self._closed = False
        self._told = False
        """A line that sessions are told of is not written yet."""
        self._unwritten = False
        """One that was paid for is not."""
        self._failed: StoreFailed | None = None
        self._encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

    def add(self, record: Mapping[str, JSON], *, paid: bool = True, told: bool = False) -> None:
        """Append a record; it is written in this turn of the event loop, or the next.

        One that nothing was `paid` for (a number taken, a question) is not waited for; if sessions are `told` it, it is
        written before the next call.
        """
        self._lines.append(self._encode(record))
        self._told = self._told or told
        if paid:
            self.added += 1
            self._unwritten = True
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    async def durable(self, alone: bool = False) -> None:
        """Return when every record added so far is written, and on the disk if it must be; raises StoreFailed.

        `alone`: nothing else runs that waiting in this thread would hold up.
        """
        slow = SLOW_ALONE if alone else SLOW
        if self.durable_to < self.added and self._syncing is None and self._pace <= slow:
            if self._unwritten:
                self.write()
            self._sync_here()
        if self.durable_to < self.added:
            waiter = asyncio.get_running_loop().create_future()
            self.when_durable(lambda: None if waiter.done() else waiter.set_result(None))
            await waiter
        if self._told:
            self.write()
        if self._failed:
            raise self._failed

    def hasten(self) -> None:
        """Send what was added on its way to the disk; who waits for it soon then waits half as long."""
        self.write()
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def when_durable(self, then: Callable[[], None]) -> None:
        """Call `then` once every record added so far is on the disk, soon; or when none will be any more."""
        if self._closed or self._failed:
            then()
            return
        self._waiting.append((self.added, then))
        if self._pace > SLOW:
            self._sync_beside()
        else:
            self._sync_soon()

    def read(self) -> Read:
        """What stands in it; half a record at its end is cut off. Raises OSError."""
        found = read_journal(self._path, questions=False)
        if found.torn:
            self._cut(self._descriptor, found.size)
            self._size = found.size
        return found

    def write(self) -> None:
        """Hand what was added to the system: from here on it outlives this process, though not a power cut."""
        if self._lines and not self._failed:
            self._write()

    def sync_blocking(self) -> None:
        """Make durable what was written. For a thread that is about to write what follows from it; raises OSError."""
        with about(self._path):
            self._datasync(self._descriptor)

    def close(self) -> None:
        """Write and sync what is left; raises nothing (a failure is told). Nothing may be waited for any more."""
        self.write()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._failed is None:
            self._sync_here()
        self._settled(self.added)
        os.close(self._descriptor)

    def _flush(self) -> None:
        self._scheduled = False
        self.write()
        if self.durable_to < self.added:
            self._sync_soon()

    def _sync_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SOON, self._sync_late)

    def _sync_late(self) -> None:
        self._timer = None
        self.write()
        if self._failed or self.durable_to == self.added:
            return
        if self._pace > SLOW:
            self._sync_beside()
        elif self._syncing is None:
            self._sync_here()

    def _sync_here(self) -> None:
        """Sync on the event loop's own thread."""
        try:
            self._sync()
        except OSError as problem:
            self._fail(problem)
        self._settled(self.added)

    def _sync_beside(self) -> None:
        """Sync in a thread; what is added meanwhile has the next turn."""
        if self._syncing is not None:
            return
        self.write()
        reached = self.added
        self._syncing = asyncio.get_running_loop().run_in_executor(None, self._sync)
        self._syncing.add_done_callback(lambda done: self._synced(done, reached))

    def _synced(self, done: asyncio.Future[None], reached: int) -> None:
        self._syncing = None
        problem = None if done.cancelled() else done.exception()
        if isinstance(problem, OSError):
            self._fail(problem)
        self._settled(reached)
        if self._waiting:
            self._sync_beside()

    def _sync(self) -> None:
        started = time.perf_counter()
        self._datasync(self._descriptor)
        if is_deleted(self._descriptor, self._path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        # A running mean, so that one hiccup doesn't send every fsync to a thread.
        self._pace += (time.perf_counter() - started - self._pace) / 8

    def _settled(self, reached: int) -> None:
        """Tell those who wait: for records up to `reached`, or after a failure all."""
        if self._failed is None:
            self.durable_to = max(self.durable_to, reached)
        waiting, self._waiting = self._waiting, []
        for position, then in waiting:
            if position <= reached or self._failed:
                then()
            else:
                self._waiting.append((position, then))

    def _write(self) -> None:
        self._told = self._unwritten = False
        lines, self._lines = self._lines, []
        data = ("\n".join(lines) + "\n").encode()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._append(self._descriptor, rest) :]
        except OSError as problem:
            # Half a record must not stand before what a later life appends.
            with suppress(OSError):
                self._cut(self._descriptor, self._size)
            self._fail(problem)
        else:
            self._size += len(data)

    def _fail(self, problem: OSError) -> None:
        if self._failed is None:
            self._failed = _failure(self._path, problem)
            self.on_failure(self._failed)


def _failure(path: Path, problem: OSError) -> StoreFailed:
    if isinstance(problem, FileNotFoundError):
        what = f"{path} was deleted while the run was at work, and its records with it"
        return StoreFailed(f"{what}; start a new run", gone=True)
    reason = problem.strerror or str(problem)
    return StoreFailed(f"can't write {path}: {reason}; what was recorded before is kept")


def _ignore(failed: StoreFailed) -> None: ...
