"""What a run needs of the place that keeps its state: one protocol, one file per kind of store.

`Stores` is the place where runs are kept, `Store` one run that is being worked on. Run and emitted code know neither
which store they have nor how it keeps anything; every store must pass the same tests (tests/runtime/stores/).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..clock import Clock
from ..errors import StoreFailed
from ..providers.protocol import JSON
from ..values import Value
from .bindings import Binding


class Store(Protocol):
    """Keeps one run. All methods are called on the event loop's thread and return at once, but for the async ones.

    A store that can't write calls `on_failure` once and raises StoreFailed from then on.
    """

    keeps: bool
    """Something is left of the run: it can be resumed, and sessions can read at its places."""
    run_id: str
    directory: Path | None
    on_failure: Callable[[StoreFailed], None]
    past: Sequence[Mapping[str, Any]]
    """The records of earlier lives, in order, but for what was asked (`ask`); empty in a new run, and once they are read."""
    remarks: Sequence[str]
    """What people must be told of how the run was found: half a record dropped, damaged ones passed over."""

    @property
    def recorded(self) -> int:
        """Records so far that must be durable before anyone acts on them."""

    @property
    def durable_to(self) -> int:
        """How many of them are."""

    def record(self, record: Mapping[str, JSON], *, paid: bool = True, told: bool = False) -> None:
        """Append to the journal: soon for whoever looks at the run, and after what was recorded before.

        Nobody waits for what nothing was `paid` for (a number that was taken, a question), but for what sessions are
        `told`: that is there before the next call (`durable`).
        """

    def hasten(self) -> None:
        """Begin to make durable what was recorded, without waiting: the next call will need it."""

    def when_durable(self, then: Callable[[], None]) -> None:
        """Call `then` once every record so far is durable, within a moment; or when the store has failed."""

    async def durable(self, alone: bool = False) -> None:
        """Return when every record so far is written, and would survive a power cut where it was paid for.

        `alone`: nothing else runs, so that the store may as well wait on the event loop's thread.
        """

    def place(self, name: str, execution_id: int | None, rounds: tuple[int, ...]) -> str:
        """Where a binding's file is or will be, as a session is told it."""

    def bind(self, binding: Binding, rounds: tuple[int, ...], *, late: bool = False) -> str:
        """Write a binding's file, soon; a later one for the same place replaces it. Returns its place.

        `late` waits for the next state.md: for values that are computed often and read rarely.
        """

    def read(self, place: str) -> Binding | None:
        """A binding as an earlier life left it at a place that `bind` gave; None where it can't be read."""

    def attach(self, name: str, value: Value) -> str:
        """Write a value that has no file of its own where a session can read it. Returns its place."""

    async def settle(self) -> None:
        """Return when every file asked for so far is written."""

    def changed(self) -> None:
        """Something that state.md shows has changed."""

    async def close(self) -> None:
        """Write what is left, a last state.md among it, and give the run up; raises StoreFailed after that."""


class Stores(Protocol):
    """Where runs are kept. Nothing here is done while a run works, but for `create` and `reopen` at its start.

    What looks at one run raises UsageError where there is none of that id, and reads also while a process works on it.
    """

    where: str
    """The place, for messages."""

    def create(self, clock: Clock, source: str, render: Callable[[], str]) -> Store:
        """A new run of a program with this source; `render` gives the text of state.md. Raises StoreFailed."""

    def reopen(
        self,
        run_id: str,
        source: str,
        render: Callable[[], str],
        check: Callable[[Sequence[Mapping[str, Any]]], None],
    ) -> Store:
        """A run taken up again. Keeps the old source beside a changed one.

        `check` is given the records once nobody else can work on the run, and raises where it must not be touched.
        Raises UsageError where there is no such run or another process works on it, StoreFailed where it can't be
        read or written.
        """

    def runs(self) -> Sequence[str]:
        """The ids of all runs, oldest first. Raises UsageError where the place can't be read."""

    def first(self, run_id: str) -> Mapping[str, Any]:
        """The record that a run's journal begins with; empty where there is none or it can't be read."""

    def records(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        """The journal of a run, empty where nothing was recorded; raises StoreFailed where it can't be read."""

    def is_held(self, run_id: str) -> bool:
        """A process is working on the run."""

    def sources(self, run_id: str) -> Sequence[str]:
        """The program's source, after those that it replaced in this run, oldest first; what is not kept is left out."""

    def state(self, run_id: str) -> str | None:
        """The newest state.md of a run; None where it has none yet."""

    def bindings(self, run_id: str) -> Sequence[str]:
        """The names of a run's binding files, sorted: each is the last part of a place that `bind` gave."""

    def binding(self, run_id: str, file: str) -> Binding | None:
        """What a binding file holds; None where there is none of that name, or what stands there is no binding."""

    def attachment(self, run_id: str, digest8: str) -> str | None:
        """The text of an attached value, by the first eight digits of its digest; None where there is none."""

    def directory(self, run_id: str) -> Path | None:
        """The folder of a run, for people; None where it has none."""

    def remove(self, run_id: str) -> None:
        """Delete a run for good, whole or not at all.

        Raises UsageError where a process works on it or it is not this store's own, StoreFailed where it can't be done.
        """
