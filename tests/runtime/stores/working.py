"""Working on one run of a store from its beginning to its end, as a run does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from prose_runtime.clock import SystemClock
from prose_runtime.state.store import Store, Stores

Work = Callable[[Store], Awaitable[None]]


async def nothing(store: Store) -> None: ...


def lived(open_store: Callable[[], Store], work: Work = nothing) -> str:
    """Open a store on an event loop, work on it and close it; gives the run's id."""

    async def life() -> str:
        store = open_store()
        try:
            await work(store)
        finally:
            await store.close()
        return store.run_id

    return asyncio.run(life())


def created(
    stores: Stores,
    work: Work = nothing,
    source: str = "the source",
    render: Callable[[], str] = str,
) -> str:
    """A new run's whole life."""
    return lived(lambda: stores.create(SystemClock(), source, render), work)


def reopened(
    stores: Stores,
    run_id: str,
    work: Work = nothing,
    source: str = "the source",
    render: Callable[[], str] = str,
    check: Callable[[Sequence[Mapping[str, Any]]], None] = lambda records: None,
) -> str:
    """Another life of a run."""
    return lived(lambda: stores.reopen(run_id, source, render, check), work)


def numbered(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Records that tell each other apart."""
    return [{"r": "result", "id": f"{number}"} for number in range(first, first + count)]
