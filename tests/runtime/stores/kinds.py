"""The kinds of stores that this folder's tests hold to the protocol of prose_runtime/state/store.py.

A new store is one file in prose_runtime/state/ and one entry in KINDS; every test here is then run with it too, and
nothing else of the runtime has to change. An entry says how the place is opened where runs are kept (in a folder that is
empty before the first test of each run, which a store on a server may take the name of a schema from), and how the two
things are done to it that no store can do to itself: refuse to be written, and lose a part of what was written. What
can't happen to a store (a database has no record that is cut off) is None, and is not tested.

The tests use nothing but the protocol. Those with `kind` are run with every kind, those with `keeping` with the ones
that keep anything; a second process is a real one (holder.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prose_runtime.clock import SystemClock
from prose_runtime.faults import Faults
from prose_runtime.state.folders import FilesystemStores
from prose_runtime.state.memory import MemoryStore
from prose_runtime.state.store import Store, Stores


@dataclass(frozen=True)
class Kind:
    """One kind of store, and what the tests need to know of it."""

    name: str
    stores: Callable[[Path], Stores] | None = None
    """The place where runs are kept; None for a store that keeps nothing."""
    full: Callable[[Path], Stores] | None = None
    """The same, where nothing can be written but what making or taking up a run needs."""
    unwritable: Callable[[Path], Stores] | None = None
    """The same, where no run can be made."""
    cut: Callable[[Stores, str], None] | None = None
    """Leave half of a run's last record."""
    damage: Callable[[Stores, str, int], None] | None = None
    """Spoil a run's record of this number, from 0."""

    @property
    def keeps(self) -> bool:
        return self.stores is not None

    def new(self, folder: Path, render: Callable[[], str] = str) -> Store:
        """A store for a new run."""
        if self.stores is None:
            return MemoryStore(SystemClock())
        return self.stores(folder).create(SystemClock(), "the source", render)

    def place(self, folder: Path) -> Stores:
        assert self.stores is not None
        return self.stores(folder)


def _journal(stores: Stores, run_id: str) -> Path:
    directory = stores.directory(run_id)
    assert directory is not None
    return directory / "journal.jsonl"


def _cut(stores: Stores, run_id: str) -> None:
    journal = _journal(stores, run_id)
    data = journal.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    journal.write_bytes(data[: (last + len(data)) // 2])


def _damage(stores: Stores, run_id: str, number: int) -> None:
    journal = _journal(stores, run_id)
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[number] = b"\x00\xff" + lines[number][2:]
    journal.write_bytes(b"".join(lines))


def _full(folder: Path) -> Stores:
    # A run is made with two files: .gitignore and its source.
    faults = Faults("journal.append.before:1+=ENOSPC, file.write.before:3+=ENOSPC")
    return FilesystemStores(folder, faults)


KINDS = [
    Kind(
        "filesystem",
        FilesystemStores,
        _full,
        lambda folder: FilesystemStores(folder, Faults("folder.make.before:1+=EACCES")),
        _cut,
        _damage,
    ),
    Kind("memory"),
]
