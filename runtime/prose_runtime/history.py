"""Runs that were made, as their folders tell: what their journals and binding files say, read without a run."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .providers.protocol import Usage

if TYPE_CHECKING:
    from .state.bindings import Binding

_SESSIONS = ("session", "resume")


@dataclass(frozen=True, slots=True)
class Made:
    """One run as its journal has it."""

    run_id: str
    directory: Path
    program: str
    status: str
    """running, completed, failed, waiting, stopped or interrupted; unreadable without a journal."""
    started: str
    """2026-01-15T14:30:52Z; empty where the journal doesn't say."""
    simulated: bool
    sessions: int
    """Sessions that gave a result."""
    usage: Usage
    """Tokens of every result."""
    reason: str
    """Why it did not complete, if it says so."""


def runs(prose_dir: Path) -> list[Made]:
    """Every run kept in a folder, newest first."""
    try:
        folders = [entry for entry in (prose_dir / "runs").iterdir() if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise UsageError(f"{prose_dir / 'runs'}: can't be read: {problem.strerror or problem}") from None
    return [made(folder) for folder in sorted(folders, reverse=True)]


def find(prose_dir: Path, wanted: str) -> Path:
    """The folder of one run: by its id, the only beginning or end of one, or "last". Raises UsageError."""
    try:
        known = sorted(entry.name for entry in (prose_dir / "runs").iterdir() if entry.is_dir())
    except OSError:
        known = []
    if not known:
        raise UsageError(f"no run is kept in {prose_dir / 'runs'} (--prose-dir says where else to look)")
    if wanted == "last":
        return prose_dir / "runs" / known[-1]
    found = [name for name in known if name == wanted] or [
        name for name in known if wanted and (name.startswith(wanted) or name.endswith(wanted))
    ]
    if len(found) == 1:
        return prose_dir / "runs" / found[0]
    if found:
        raise UsageError(f"{len(found)} runs are called {wanted}...: {', '.join(found[-3:])}")
    raise UsageError(f"there is no run {wanted} in {prose_dir / 'runs'}; `runs` lists them, `last` is the newest")


def made(directory: Path) -> Made:
    """One run, from its journal."""
    first: dict[str, Any] = {}
    ended: dict[str, Any] | None = None
    sessions, usage = 0, Usage()
    try:
        for record in _records(directory / "journal.jsonl"):
            kind = record.get("r")
            if kind == "run":
                first, ended = first or record, None
            elif kind == "end":
                ended = record
            elif kind == "result":
                sessions += record.get("kind") in _SESSIONS
                counts = record.get("usage")
                if isinstance(counts, list) and len(counts) == 4:
                    usage += Usage(*counts)
    except OSError:
        return Made(directory.name, directory, "", "unreadable", "", False, 0, usage, "its journal can't be read")
    if ended is not None:
        status = str(ended.get("status", ""))
        error = ended.get("error")
        reason = str(error.get("message", "")) if isinstance(error, dict) else ""
    elif first and _is_locked(directory / "journal.jsonl"):
        status, reason = "running", ""
    else:
        status, reason = "interrupted", "its process ended without a word"
    return Made(
        directory.name,
        directory,
        str(first.get("program", "")),
        status,
        str(first.get("at", "")),
        bool(first.get("simulated")),
        sessions,
        usage,
        reason,
    )


def bindings(directory: Path) -> Sequence[tuple[str, Binding | None]]:
    """The binding files of a run by name; None for a file that is no binding."""
    from .state.bindings import NotABinding, parsed

    found: list[tuple[str, Binding | None]] = []
    folder = directory / "bindings"
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        try:
            found.append((path.name, parsed(path.read_bytes())))
        except (OSError, NotABinding):
            found.append((path.name, None))
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal; what is not one (a torn last line) is passed over."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def _is_locked(path: Path) -> bool:
    """A process is working on the run."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
