"""What a run needs of the place that keeps its state: one protocol, one store per mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from ..errors import StoreFailed
from ..providers.protocol import JSON
from ..values import Value
from .bindings import Binding


class Store(Protocol):
    """Keeps one run. All methods are called on the event loop's thread and return at once, but for the async ones.

    A store that can't write calls `on_failure` once and raises StoreFailed from then on.
    """

    run_id: str
    directory: Path | None
    on_failure: Callable[[StoreFailed], None]

    @property
    def recorded(self) -> int:
        """Records so far that must be durable before anyone acts on them."""

    @property
    def durable_to(self) -> int:
        """How many of them are."""

    def record(self, record: Mapping[str, JSON], *, paid: bool = True, told: bool = False) -> None:
        """Append to the journal. Written before the event loop goes on to the next round, not yet durable.

        What nothing was `paid` for (a number that was taken) is written with the next record, and in any case before
        the next call (`durable`) if sessions are `told` it.
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

    def attach(self, name: str, value: Value) -> str:
        """Write a value that has no file of its own where a session can read it. Returns its place."""

    async def settle(self) -> None:
        """Return when every file asked for so far is written."""

    def changed(self) -> None:
        """Something that state.md shows has changed."""

    async def close(self) -> None:
        """Write what is left, a last state.md among it, and give the run up."""
