"""Runs in the folders of `.prose/runs/`: making, finding, reading and deleting them.

What works on one of them is filesystem.py; it is loaded then only, so that who just looks at runs needs no event loop.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import count, takewhile
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from ..clock import Clock, run_name
from ..errors import StoreFailed, UsageError
from ..faults import UNARMED, Faults
from .bindings import Binding, parsed
from .files import holds, make_folder, remove_unfinished, write_whole
from .reading import JOURNAL, first_record, is_locked, lock, read_journal
from .store import Store

PROGRAM = "program.prose"

_RUN_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-z]{6}")


class FilesystemStores:
    """Runs in the folders of `.prose/runs/`."""

    def __init__(self, prose_dir: Path, faults: Faults = UNARMED) -> None:
        self._faults = faults
        self._prose_dir = prose_dir
        self._runs = prose_dir / "runs"
        self.where = str(self._runs)

    def create(self, clock: Clock, source: str, render: Callable[[], str]) -> Store:
        from ..journal import Journal
        from .filesystem import FilesystemStore

        home, faults = self._runs / run_name(clock), self._faults
        try:
            for folder in _missing(self._runs):
                make_folder(folder, faults)
            ignore = self._prose_dir / ".gitignore"
            if not ignore.exists():
                write_whole(ignore, b"runs/\n.env\n", faults)
            make_folder(home, faults, 0o700)
            make_folder(home / "bindings", faults, 0o700)
            journal = Journal(home / JOURNAL, faults)
            try:
                # After the journal: what makes the one's name durable does so for both.
                write_whole(home / PROGRAM, _bytes(source), faults)
                return FilesystemStore(home, journal, render, faults)
            except BaseException:
                journal.close()
                raise
        except OSError as problem:
            # Nothing was recorded in it.
            rmtree(home, ignore_errors=True)
            why = f"{problem.filename or home}: {problem.strerror or problem}"
            raise StoreFailed(
                f"can't begin a run in {self._runs}: {why}; choose another place with --prose-dir"
            ) from None

    def reopen(
        self,
        run_id: str,
        source: str,
        render: Callable[[], str],
        check: Callable[[Sequence[Mapping[str, Any]]], None],
    ) -> Store:
        from ..journal import Journal
        from .filesystem import FilesystemStore

        home = self._home(run_id)
        try:
            make_folder(home / "bindings", self._faults, 0o700)
            journal = Journal(home / JOURNAL, self._faults)
            try:
                store = FilesystemStore(home, journal, render, self._faults)
                check(store.past)
                remove_unfinished(home)
                _keep_source(home, _bytes(source), self._faults)
                return store
            except BaseException:
                journal.close()
                raise
        except OSError as problem:
            raise _failed("take up", home, problem) from None

    def runs(self) -> Sequence[str]:
        try:
            return sorted(
                entry.name
                for entry in self._runs.iterdir()
                if _RUN_ID.fullmatch(entry.name) and entry.is_dir()
            )
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as problem:
            raise UsageError(
                f"{self._runs}: can't be read: {problem.strerror or problem}"
            ) from None

    def first(self, run_id: str) -> Mapping[str, Any]:
        try:
            return first_record(self._home(run_id) / JOURNAL)
        except OSError:
            return {}

    def records(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        home = self._home(run_id)
        try:
            return read_journal(home / JOURNAL).records
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise _failed("read", home, problem) from None

    def is_held(self, run_id: str) -> bool:
        return is_locked(self._home(run_id) / JOURNAL)

    def sources(self, run_id: str) -> Sequence[str]:
        home = self._home(run_id)
        found: list[str] = []
        for name in (*(f"program-{n}.prose" for n in _replaced(home)), PROGRAM):
            with suppress(OSError):
                found.append((home / name).read_bytes().decode("utf-8", "replace"))
        return found

    def state(self, run_id: str) -> str | None:
        try:
            return (self._home(run_id) / "state.md").read_bytes().decode("utf-8", "replace")
        except OSError:
            return None

    def bindings(self, run_id: str) -> Sequence[str]:
        folder = self._home(run_id) / "bindings"
        return sorted(path.name for path in folder.glob("*.md"))

    def binding(self, run_id: str, file: str) -> Binding | None:
        try:
            return parsed((self._home(run_id) / "bindings" / Path(file).name).read_bytes())
        except (OSError, ValueError):
            # No file can have that name, or what it holds is no binding.
            return None

    def attachment(self, run_id: str, digest8: str) -> str | None:
        for path in sorted((self._home(run_id) / "attachments").glob(f"*-{digest8}.md")):
            with suppress(OSError):
                return path.read_bytes().decode("utf-8", "replace")
        return None

    def directory(self, run_id: str) -> Path | None:
        return self._home(run_id)

    def remove(self, run_id: str) -> None:
        home = self._home(run_id)
        if home.is_symlink():
            raise UsageError(f"{home} is a link to another folder, which is left alone")
        try:
            with ExitStack() as until_gone:
                # Held while it goes, so that nobody takes it up meanwhile.
                with suppress(FileNotFoundError):
                    until_gone.callback(os.close, lock(home / JOURNAL, os.O_RDONLY))
                # Out of sight before any of it goes, so that it is there whole or not at all.
                going = home.with_name(f".{run_id}.deleted")
                home.rename(going)
                rmtree(going)
        except OSError as problem:
            raise _failed("delete", home, problem) from None

    def _home(self, run_id: str) -> Path:
        home = self._runs / run_id
        if not _RUN_ID.fullmatch(run_id) or not home.is_dir():
            raise UsageError(f"there is no run {run_id} in {self._runs}")
        return home


def _failed(what: str, home: Path, problem: OSError) -> StoreFailed:
    why = f"{problem.filename or home}: {problem.strerror or problem}"
    return StoreFailed(f"can't {what} the run in {home}: {why}")


def _bytes(source: str) -> bytes:
    return source.encode("utf-8", "surrogatepass")


def _missing(folder: Path) -> Sequence[Path]:
    """A folder and those above it, as far as they are not there; outermost first."""
    return [*takewhile(lambda path: not path.exists(), (folder, *folder.parents))][::-1]


def _keep_source(home: Path, source: bytes, faults: Faults) -> None:
    """Put the source into the run's folder, and what it replaces beside it: program-1.prose, program-2.prose, ..."""
    path = home / PROGRAM
    if holds(path, source):
        return
    if path.exists():
        number = len(_replaced(home)) + 1
        write_whole(home / f"program-{number}.prose", path.read_bytes(), faults)
    write_whole(path, source, faults)


def _replaced(home: Path) -> Sequence[int]:
    """The numbers of the sources that were replaced, oldest first."""
    return list(takewhile(lambda n: (home / f"program-{n}.prose").exists(), count(1)))
