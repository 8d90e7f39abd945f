"""The filesystem store: one folder per run, with its program, journal, state.md, bindings and attachments.

The journal is the truth and is durable before the run goes on. Files are written whole, but beside the run, in a
thread: several share the fsync of their folder, and what is bound again before it was written is written once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import StoreFailed
from ..faults import UNARMED, Faults
from ..identity import digest_of
from ..journal import Journal
from ..providers.protocol import JSON
from ..values import Value
from .bindings import Binding, NotABinding, body, file_name, parsed, rendered
from .files import holds, make_folder, write_together
from .reading import JOURNAL, Read

QUIET = 0.1
"""Seconds without news after which files are written: while steps follow each other they would make the journal wait."""

LATEST = 2.0
"""Seconds after which files are written in any case."""

APART = 3
"""Quiet times between two rewrites of state.md: people need a few in a second, not ten."""


def _remarks(found: Read, journal: Path) -> list[str]:
    remarks = []
    if found.torn:
        remarks.append(
            f"the last record of {journal} was cut off in the middle and is dropped: its process died"
        )
    if found.damaged:
        lines = ", ".join(map(str, found.damaged[:5])) + (", ..." if len(found.damaged) > 5 else "")
        remarks.append(
            f"{journal} is damaged (line {lines}): what stood there is not known, and is done again"
        )
    return remarks


class FilesystemStore:
    """Keeps a run in `.prose/runs/{run id}/`."""

    keeps = True

    def __init__(
        self, home: Path, journal: Journal, render: Callable[[], str], faults: Faults = UNARMED
    ) -> None:
        """Work on a run in a folder that is there; `render` gives the text of state.md. Raises OSError."""
        self._faults = faults
        self.run_id = home.name
        self.directory: Path | None = home
        self._home = home
        self._journal = journal
        found = journal.read()
        self.past: Sequence[Mapping[str, Any]] = found.records
        self.remarks: Sequence[str] = _remarks(found, home / JOURNAL)
        self._fresh = not found.records
        self._told = _as_told(self.directory)
        self.on_failure: Callable[[StoreFailed], None] = _ignore
        self._render = render
        self._wanted: dict[str, Callable[[], bytes]] = {}
        self._late: dict[str, Callable[[], bytes]] = {}
        self._attached: set[str] = set()
        self._writing: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._news = 0.0
        self._oldest_news = 0.0
        self._rewritten = float("-inf")
        self._failed: StoreFailed | None = None
        journal.on_failure = self._fail

    def record(self, record: Mapping[str, JSON], *, paid: bool = True, told: bool = False) -> None:
        self._journal.add(record, paid=paid, told=told)

    def hasten(self) -> None:
        self._journal.hasten()

    async def durable(self, alone: bool = False) -> None:
        await self._journal.durable(alone)

    @property
    def recorded(self) -> int:
        return self._journal.added

    @property
    def durable_to(self) -> int:
        return self._journal.durable_to

    def when_durable(self, then: Callable[[], None]) -> None:
        self._journal.when_durable(then)

    def place(self, name: str, execution_id: int | None, rounds: tuple[int, ...]) -> str:
        return f"{self._told}/bindings/{file_name(name, execution_id, rounds)}"

    def bind(self, binding: Binding, rounds: tuple[int, ...], *, late: bool = False) -> str:
        file = f"bindings/{file_name(binding.name, binding.execution_id, rounds)}"
        if late:
            self._late[file] = lambda: rendered(binding)
        else:
            self._late.pop(file, None)
            self._wanted[file] = lambda: rendered(binding)
        self.changed()
        return f"{self._told}/{file}"

    def read(self, place: str) -> Binding | None:
        try:
            return parsed((self._home / "bindings" / place.rpartition("/")[2]).read_bytes())
        except (OSError, NotABinding):
            return None

    def attach(self, name: str, value: Value) -> str:
        file = f"attachments/{name}-{digest_of(value)[:8]}.md"
        if file not in self._attached:
            self._attached.add(file)
            self._wanted[file] = lambda: body(value).encode("utf-8", "replace")
            self.changed()
        return f"{self._told}/{file}"

    async def settle(self) -> None:
        while (self._wanted or self._writing) and not self._failed:
            self._start_writing()
            if self._writing:
                await asyncio.wait([self._writing])
        if self._failed:
            raise self._failed

    def changed(self) -> None:
        loop = asyncio.get_running_loop()
        self._news = loop.time()
        if self._timer is None and not self._failed:
            self._oldest_news = self._news
            self._timer = loop.call_later(QUIET, self._due)

    async def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._want_state()
        try:
            await self.durable()
            await self.settle()
        finally:
            if self._writing:
                await asyncio.wait([self._writing])
            if self._timer:
                self._timer.cancel()
            self._journal.close()
        if self._failed:
            raise self._failed

    def _due(self) -> None:
        """Write what there is once nothing more comes; wait on where something just did, or is being written."""
        self._timer = None
        if self._failed:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        just_rewritten = now - self._rewritten < min(APART * QUIET, LATEST)
        unquiet = now - self._news < QUIET * 0.9 and now - self._oldest_news < LATEST
        if self._writing is not None or just_rewritten or unquiet:
            self._timer = loop.call_later(QUIET, self._due)
            return
        self._rewritten = now
        self._want_state()
        self._start_writing()

    def _want_state(self) -> None:
        late, self._late = self._late, {}
        self._wanted.update(late)
        text = self._render()
        self._wanted["state.md"] = lambda: text.encode("utf-8", "replace")

    def _start_writing(self) -> None:
        if self._writing is None and self._wanted and not self._failed:
            batch, self._wanted = self._wanted, {}
            # No file may say that something is done which a power cut could still undo.
            self._journal.write()
            self._writing = asyncio.get_running_loop().run_in_executor(None, self._write, batch)
            self._writing.add_done_callback(self._written)

    def _written(self, done: asyncio.Future[None]) -> None:
        self._writing = None
        problem = None if done.cancelled() else done.exception()
        if problem is not None:
            # Not only what the disk says: whatever stops a file from being written must not pass unseen.
            reason = getattr(problem, "strerror", None) or f"{type(problem).__name__}: {problem}"
            where = getattr(problem, "filename", None) or self._home
            self._fail(
                StoreFailed(f"can't write {where}: {reason}; what was recorded before is kept")
            )

    def _write(self, batch: Mapping[str, Callable[[], bytes]]) -> None:
        """Write files whole, folder by folder; in a thread."""
        self._journal.sync_blocking()
        folders: dict[str, list[tuple[str, bytes]]] = {}
        for file, make in batch.items():
            folder, _, name = file.rpartition("/")
            folders.setdefault(folder, []).append((name, make()))
        # state.md comes last: the files that it names are there.
        for folder, files in sorted(folders.items(), reverse=True):
            place = self._home / folder
            if folder:
                make_folder(place, self._faults, 0o700)
            if not self._fresh:
                # Most of what a resumed run binds first is there from its earlier life.
                files = [(name, data) for name, data in files if not holds(place / name, data)]
            if files:
                write_together(place, files, self._faults)

    def _fail(self, failed: StoreFailed) -> None:
        if self._failed is None:
            self._failed = failed
            self.on_failure(failed)


def _as_told(directory: Path) -> str:
    """A run's folder as sessions are told it: relative to the working directory where it lies below."""
    try:
        return directory.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return directory.as_posix()


def _ignore(failed: StoreFailed) -> None: ...
