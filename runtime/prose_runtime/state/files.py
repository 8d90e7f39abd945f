"""Writing files so that a reader never sees half of one, and a crash never leaves one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..faults import UNARMED, Faults

AT_ONCE = 128
"""Files that are open together."""

_TEMPORARY = ".tmp"
"""How the names of files end that are not finished."""


def write_whole(path: Path, data: bytes, faults: Faults = UNARMED) -> None:
    """Write one file: temporary in the same folder, flush, fsync, rename, fsync of the folder."""
    write_together(path.parent, [(path.name, data)], faults)


def write_together(
    folder: Path, files: Sequence[tuple[str, bytes]], faults: Faults = UNARMED
) -> None:
    """Write several files of one folder, each as `write_whole` does; they share the fsync of the folder.

    Raises OSError, whose `filename` is the file that could not be written, or the folder.
    """
    with _opened(folder) as place:
        for first in range(0, len(files), AT_ONCE):
            _put(place, folder, files[first : first + AT_ONCE], faults)
        _sync_folder(place, folder, faults)


def make_folder(path: Path, faults: Faults = UNARMED, mode: int = 0o777) -> None:
    """Make a folder in one that is there, and make its name durable; one that is there is left as it is.

    Raises OSError, whose `filename` is the folder, or that around it.
    """
    try:
        with about(path):
            faults.around("folder.make", os.mkdir)(path, mode)
    except FileExistsError:
        if path.is_dir():
            return
        raise
    with _opened(path.parent) as place:
        _sync_folder(place, path.parent, faults)


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that died left half written, in a folder and those in it. No other may be writing there.

    Raises OSError.
    """
    for path in folder.rglob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


@contextmanager
def about(folder: Path, name: str = "") -> Iterator[None]:
    """An OSError in it is about this file; the system's own name of it may be none, or a temporary one."""
    try:
        yield
    except OSError as problem:
        problem.filename = str(folder / name)
        raise


def holds(path: Path, data: bytes) -> bool:
    """A file holds exactly this."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _mark() -> str:
    return f".{os.getpid()}{_TEMPORARY}"


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    # Names relative to an open folder: the system looks the path up once.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_folder(place: int, folder: Path, faults: Faults) -> None:
    with about(folder):
        faults.around("folder.sync", os.fsync)(place)


def _put(place: int, folder: Path, files: Sequence[tuple[str, bytes]], faults: Faults) -> None:
    """All of `write_together` but the fsync of the folder. Writes all, then syncs all, then names all."""
    make = faults.around("file.make", os.open)
    write = faults.around("file.write", os.write)
    sync = faults.around("file.sync", os.fsync)
    rename = faults.around("file.rename", os.rename)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    mark = _mark()
    made: list[str] = []
    descriptors: list[int] = []
    try:
        try:
            for name, data in files:
                temporary = f".{name}{mark}"
                made.append(temporary)
                with about(folder, name):
                    descriptor = make(temporary, flags, 0o600, dir_fd=place)
                    descriptors.append(descriptor)
                    left = memoryview(data)
                    while left:
                        left = left[write(descriptor, left) :]
            _send_on(descriptors)
            for (name, _), descriptor in zip(files, descriptors, strict=True):
                with about(folder, name):
                    sync(descriptor)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        for (name, _), temporary in zip(files, made, strict=True):
            with about(folder, name):
                rename(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        for temporary in made:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=place)
        raise


def _send_on(descriptors: Sequence[int]) -> None:
    """Send what was written to several files on its way: each fsync then finds most of its work done."""
    if len(descriptors) > 1 and hasattr(os, "posix_fadvise"):
        for descriptor in descriptors:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
