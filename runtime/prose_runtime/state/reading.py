"""journal.jsonl as others see it: its whole records, and whether a process is at work on the run."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import UsageError

JOURNAL = "journal.jsonl"
"""The name of a run's journal."""

_ASK: Final = b'{"r":"ask",'
"""How the record of a question begins."""

_TOGETHER: Final = 500
"""Lines that are read in one go."""


class Read(NamedTuple):
    """What a journal holds."""

    records: list[dict[str, Any]]
    size: int
    """Bytes up to the end of the last whole record."""
    torn: bool
    """Half a record stands behind it: its process died while writing."""
    damaged: list[int]
    """Lines, from 1, that are no records."""


def first_record(path: Path) -> dict[str, Any]:
    """The record that a journal begins with; empty where it has none. Raises OSError."""
    with path.open("rb") as lines:
        return _record(lines.readline()) or {}


def read_journal(path: Path, *, questions: bool = True) -> Read:
    """Read a journal; raises OSError.

    Without `questions` what was asked (most of a long journal) is passed over unread: only what came of it is there.
    """
    records: list[dict[str, Any]] = []
    damaged: list[int] = []
    size = 0
    torn = False
    with path.open("rb") as file:
        lines = enumerate(file, 1)
        while some := list(islice(lines, _TOGETHER)):
            if not some[-1][1].endswith(b"\n"):
                torn = True
                some.pop()
            size += sum(len(line) for _, line in some)
            if not questions:
                some = [(number, line) for number, line in some if not line.startswith(_ASK)]
            whole = _records([line for _, line in some])
            if whole is not None:
                records += whole
                continue
            for number, line in some:
                if (record := _record(line)) is not None:
                    records.append(record)
                elif line.strip():
                    damaged.append(number)
    return Read(records, size, torn, damaged)


def _records(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The records on some lines; None where not each of them is one."""
    # In one go: that is quicker, and the names of their fields are in memory once.
    found = _parsed(b"[" + b",".join(lines) + b"]")
    if not isinstance(found, list) or len(found) != len(lines):
        return None
    return found if all(_is_record(record) for record in found) else None


def _record(line: bytes) -> dict[str, Any] | None:
    """The record on a line; None where it is none."""
    found = _parsed(line)
    return found if _is_record(found) else None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_record(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("r"), str)


def is_locked(path: Path) -> bool:
    """A process is working on the run of this journal."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    except OSError:
        # A file system without locks: nobody can have one.
        return False
    finally:
        os.close(descriptor)


def lock(path: Path, flags: int) -> int:
    """Open a journal as the only one; the lock ends with the descriptor, so with its process at the latest.

    Raises UsageError where another process has it or the run was deleted meanwhile, OSError where it can't be opened.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        while not _locked(descriptor, fcntl.LOCK_EX):
            # Who only looks whether there is a lock (`is_locked`) has half of one for that moment.
            if not _locked(descriptor, fcntl.LOCK_SH):
                raise UsageError(
                    f"{_holder(path)} is working on this run ({path.parent}); wait for it or stop it first"
                )
        if is_deleted(descriptor, path):
            raise UsageError(f"this run ({path.parent}) was deleted just now")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_deleted(descriptor: int, path: Path) -> bool:
    """The file that is open here is not there any more under its name."""
    here = os.fstat(descriptor)
    if here.st_nlink:
        return False
    try:
        # There are file systems that count no links at all.
        return not os.path.samestat(here, path.stat())
    except FileNotFoundError:
        return True


def _locked(descriptor: int, sort: int) -> bool:
    """Whether the lock was to be had."""
    try:
        fcntl.flock(descriptor, sort | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(path: Path) -> str:
    """Which process has the journal, as its newest life says."""
    with suppress(OSError):
        lives = [record for record in read_journal(path).records if record["r"] == "run"]
        if lives and _may_live(lives[-1]):
            return f"process {lives[-1]['pid']} on {lives[-1].get('host', 'this machine')}"
    return "another process"


def _may_live(life: Mapping[str, Any]) -> bool:
    """The process of a life is there, as far as can be seen from here.

    Where it isn't, somebody else has taken up the run just now, and has not said yet who it is.
    """
    pid = life.get("pid")
    if not isinstance(pid, int):
        return False
    if life.get("host") == os.uname().nodename:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            # There it is, and somebody else's.
            return True
    return True
