"""The store of in-context mode: values stay in memory, nothing is on disk, and no journal is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..clock import Clock, run_name
from ..errors import StoreFailed
from ..providers.protocol import JSON
from ..values import Value
from .bindings import Binding, file_name


class MemoryStore:
    """Keeps nothing but the run's id. Its places are names that tell values apart; nothing can be read there."""

    keeps = False
    directory: Path | None = None
    past: Sequence[Mapping[str, Any]] = ()
    remarks: Sequence[str] = ()
    recorded = 0
    durable_to = 0

    def __init__(self, clock: Clock) -> None:
        self.run_id = run_name(clock)
        self.on_failure: Callable[[StoreFailed], None] = _never

    def record(self, record: Mapping[str, JSON], *, paid: bool = True, told: bool = False) -> None:
        """There is no journal."""

    def hasten(self) -> None:
        """There is nothing to write."""

    def when_durable(self, then: Callable[[], None]) -> None:
        then()

    async def durable(self, alone: bool = False) -> None:
        """Everything is as durable as it will ever be."""

    def place(self, name: str, execution_id: int | None, rounds: tuple[int, ...]) -> str:
        return file_name(name, execution_id, rounds)

    def bind(self, binding: Binding, rounds: tuple[int, ...], *, late: bool = False) -> str:
        return self.place(binding.name, binding.execution_id, rounds)

    def read(self, place: str) -> Binding | None:
        return None

    def attach(self, name: str, value: Value) -> str:
        return file_name(name, None, ())

    async def settle(self) -> None:
        """There is nothing to write."""

    def changed(self) -> None:
        """Nobody reads a state.md."""

    async def close(self) -> None:
        """There is nothing to give up."""


def _never(failed: StoreFailed) -> None: ...
