"""Opening a run: a new one, or one that is taken up again, with what its earlier lives left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .clock import Clock
from .errors import UsageError
from .identity import digest
from .listing import Listing
from .past import Past, Record
from .settings import Resumption, Settings
from .state import stores_of
from .state.memory import MemoryStore
from .state.store import Store, Stores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def opened(
    settings: Settings, listing: Listing, clock: Clock, render: Callable[[], str]
) -> tuple[Store, Past]:
    """The store of this run and what is in its journal; raises UsageError or StoreFailed."""
    if settings.state == "in-context":
        if settings.resume is not None:
            raise UsageError("an in-context run keeps nothing that could be resumed")
        return MemoryStore(clock), Past()
    stores = stores_of(settings.prose_dir, settings.faults)
    wanted = settings.resume
    if wanted is None:
        return stores.create(clock, listing.text, render), Past()
    run_id = found(stores, wanted.run, listing.name)
    kept: list[Past] = []

    def check(records: Sequence[Record]) -> None:
        past = Past(records, wanted.reuse)
        _check(past, run_id, wanted, listing, settings.simulated)
        if settings.bounds.usd is not None and past.costs.unpriced:
            raise UsageError(
                f"--max-usd can't be kept: run {run_id} has called {', '.join(past.costs.unpriced)}, of which no price "
                "was known; bound it with --max-tokens or --max-sessions"
            )
        kept.append(past)

    store = stores.reopen(run_id, listing.text, render, check)
    # What is needed of them is in the Past: of a long run they are most of the memory.
    store.past = ()
    return store, kept[0]


def found(stores: Stores, wanted: str, program: str | None = None) -> str:
    """The id of a run: itself, the only beginning or end of one, or "last". Raises UsageError.

    With a `program`, "last" means its latest run.
    """
    known = stores.runs()
    if not known:
        raise UsageError(f"no run is kept in {stores.where} (--prose-dir says where else to look)")
    if wanted == "last":
        for run_id in reversed(known):
            if program is None or stores.first(run_id).get("program") == program:
                return run_id
        raise UsageError(
            f"no run of {program} is kept in {stores.where} (--prose-dir says where else to look)"
        )
    matching = [name for name in known if name == wanted] or [
        name for name in known if wanted and (name.startswith(wanted) or name.endswith(wanted))
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(f"{len(matching)} runs are called {wanted}...: {', '.join(matching[-3:])}")
    raise UsageError(
        f"there is no run {wanted} in {stores.where}; `runs` lists them, `last` is the newest"
    )


def _check(
    past: Past, run_id: str, wanted: Resumption, listing: Listing, simulated: bool
) -> None:
    """Refuse a run that this script can't go on with."""
    if past.is_empty:
        # Its process died before there was anything to record.
        return
    if past.last["program"] != listing.name:
        raise UsageError(f"run {run_id} is one of {past.last['program']}, not of {listing.name}")
    if past.last["simulated"] and not simulated:
        raise UsageError(
            f"run {run_id} was simulated: its results are invented; resume it with --provider simulate, or start anew"
        )
    if simulated and not past.last["simulated"]:
        raise UsageError(
            f"run {run_id} has results of a model, which invented ones must not join; leave out --provider simulate"
        )
    if wanted.strict and past.last["source"] != digest(listing.text):
        raise UsageError(
            f"{listing.name} has changed since run {run_id} (--strict-resume); the run keeps its own copy of it"
        )
