"""journal.jsonl: what a run has paid for, one JSON record per line, the truth for resume.

Records (`r` says which): `run` and `end` (one per life), `input`, `begin` (the number that a step or frame took),
`result` and `failed` (steps, by identity), `handled` (failures that the program caught), `race` (a parallel that was
cut short), `spent` (usage of an answer that nobody wanted any more).
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from .errors import StoreFailed, UsageError
from .providers.protocol import JSON

SLOW = 0.002
"""Seconds. A disk whose fsync takes longer is waited for in a thread, a faster one where it is: a thread costs more."""


class Journal:
    """Appends records and makes them durable in groups: those that are ready together share one fsync."""

    def __init__(self, path: Path, on_failure: Callable[[StoreFailed], None]) -> None:
        """Open and lock the journal; raises UsageError where another process has it, OSError where it can't be."""
        self._path = path
        self._on_failure = on_failure
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise UsageError(
                f"another process is working on this run ({path.parent}); wait for it or stop it first"
            ) from None
        self._size = os.fstat(self._descriptor).st_size
        self._lines: list[str] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._scheduled = False
        self._syncing: asyncio.Future[None] | None = None
        self._pace = 0.0
        self._failed: StoreFailed | None = None
        self._encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

    def add(self, record: Mapping[str, JSON]) -> None:
        """Append a record; it is written in this turn of the event loop, or the next."""
        self._lines.append(self._encode(record))
        self._schedule()

    async def durable(self) -> None:
        """Return when every record added so far is on the disk; raises StoreFailed."""
        if self._failed:
            raise self._failed
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._schedule()
        await waiter

    def close(self) -> None:
        """Write and sync what is left; raises nothing (a failure has been told)."""
        self._write()
        if self._failed is None:
            with suppress(OSError):
                os.fsync(self._descriptor)
        os.close(self._descriptor)

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        self._write()
        if not self._waiters or self._syncing is not None:
            return
        waiters, self._waiters = self._waiters, []
        if self._failed:
            _settle(waiters, self._failed)
        elif self._pace <= SLOW:
            try:
                self._sync()
            except OSError as problem:
                self._fail(problem)
            _settle(waiters, self._failed)
        else:
            self._syncing = asyncio.get_running_loop().run_in_executor(None, self._sync)
            self._syncing.add_done_callback(lambda done: self._synced(done, waiters))

    def _synced(self, done: asyncio.Future[None], waiters: list[asyncio.Future[None]]) -> None:
        self._syncing = None
        problem = None if done.cancelled() else done.exception()
        if isinstance(problem, OSError):
            self._fail(problem)
        _settle(waiters, self._failed)
        if self._waiters:
            self._schedule()

    def _sync(self) -> None:
        started = time.perf_counter()
        os.fdatasync(self._descriptor)
        # A running mean, so that one hiccup doesn't send every fsync to a thread.
        self._pace += (time.perf_counter() - started - self._pace) / 8

    def _write(self) -> None:
        if not self._lines or self._failed:
            return
        lines, self._lines = self._lines, []
        data = ("\n".join(lines) + "\n").encode()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as problem:
            # Half a record must not stand before what a later life appends.
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            self._fail(problem)
        else:
            self._size += len(data)

    def _fail(self, problem: OSError) -> None:
        if self._failed is None:
            reason = problem.strerror or str(problem)
            self._failed = StoreFailed(
                f"can't write {self._path}: {reason}; what was recorded before is kept"
            )
            self._on_failure(self._failed)


def _settle(waiters: list[asyncio.Future[None]], failed: StoreFailed | None) -> None:
    for waiter in waiters:
        if not waiter.done():
            if failed:
                waiter.set_exception(failed)
            else:
                waiter.set_result(None)
