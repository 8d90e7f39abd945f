"""Runs: making, listing, taking up, looking at and deleting them; their sources and their state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kinds import Kind
from prose_runtime.clock import SystemClock
from prose_runtime.errors import StoreFailed, UsageError
from prose_runtime.state.bindings import Binding
from prose_runtime.state.store import Store, Stores
from prose_runtime.values import Value
from working import created, lived, numbered, reopened

WRONG = ["", ".", "..", "last", "20260115-143052-a7b3c9", "../runs", "a/b", "x" * 300, "a\x00b"]


def test_runs_are_listed_oldest_first(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(stores.runs()) == []
    assert stores.where
    made = [created(stores) for _ in range(5)]
    assert sorted(made) == list(stores.runs())
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-z]{6}", run_id) for run_id in made)


def test_two_places_have_their_own_runs(keeping: Kind, tmp_path: Path) -> None:
    one, other = keeping.place(tmp_path / "one"), keeping.place(tmp_path / "other")
    run_id = created(one)
    assert (list(one.runs()), list(other.runs())) == ([run_id], [])


@pytest.mark.parametrize("run_id", WRONG)
def test_there_is_no_such_run(stores: Stores, run_id: str) -> None:
    kept = created(stores)
    looks: list[Callable[[], object]] = [
        lambda: stores.first(run_id),
        lambda: stores.records(run_id),
        lambda: stores.is_held(run_id),
        lambda: stores.sources(run_id),
        lambda: stores.state(run_id),
        lambda: stores.bindings(run_id),
        lambda: stores.binding(run_id, "x.md"),
        lambda: stores.attachment(run_id, "01234567"),
        lambda: stores.directory(run_id),
        lambda: stores.remove(run_id),
        lambda: stores.reopen(run_id, "", str, lambda records: None),
    ]
    for look in looks:
        with pytest.raises(UsageError, match="there is no run"):
            look()
    assert list(stores.runs()) == [kept]


def test_a_run_is_seen_while_it_is_worked_on(keeping: Kind, tmp_path: Path) -> None:
    others = keeping.place(tmp_path)

    async def work(store: Store) -> None:
        run_id = store.run_id
        assert list(others.runs()) == [run_id]
        assert others.is_held(run_id)
        assert list(others.sources(run_id)) == ["the source"]
        store.record({"r": "run", "program": "t.prose"})
        place = store.bind(Binding("x", "let", Value("text")), ())
        await store.durable()
        await store.settle()
        assert others.first(run_id) == {"r": "run", "program": "t.prose"}
        assert list(others.bindings(run_id)) == [place.rpartition("/")[2]]
        directory = others.directory(run_id)
        assert directory == store.directory
        assert directory is None or directory.is_dir()

    run_id = created(keeping.place(tmp_path), work, render=lambda: "the state")
    assert not others.is_held(run_id)
    assert others.state(run_id) == "the state"


def test_the_last_state_is_written_and_not_every_one(stores: Stores) -> None:
    rendered: list[int] = []

    def render() -> str:
        rendered.append(len(rendered))
        return f"state {len(rendered)} \u65e5\n\n"

    async def work(store: Store) -> None:
        for _ in range(1_000):
            store.changed()

    run_id = created(stores, work, render=render)
    assert 1 <= len(rendered) <= 3
    assert stores.state(run_id) == f"state {len(rendered)} \u65e5\n\n"
    reopened(stores, run_id, render=lambda: "another life")
    assert stores.state(run_id) == "another life"


def test_sources_that_were_replaced_are_kept(stores: Stores) -> None:
    first, second = 'session "a"\r\n# \u65e5\n', ""
    run_id = created(stores, source=first)
    for source in (first, second, second, first):
        reopened(stores, run_id, source=source)
    assert list(stores.sources(run_id)) == [first, second, first]
    for number in range(12):
        reopened(stores, run_id, source=f"source {number}")
    assert list(stores.sources(run_id))[2:] == [first, *(f"source {n}" for n in range(12))]


def test_a_refused_run_stays_as_it_was(stores: Stores) -> None:
    async def work(store: Store) -> None:
        for record in numbered(3):
            store.record(record)

    run_id = created(stores, work, render=lambda: "the state")

    def refuses(records: Sequence[Mapping[str, Any]]) -> None:
        assert list(records) == numbered(3)
        raise UsageError("not this one")

    with pytest.raises(UsageError, match="not this one"):
        reopened(stores, run_id, source="edited", check=refuses)
    assert not stores.is_held(run_id)
    assert list(stores.records(run_id)) == numbered(3)
    assert list(stores.sources(run_id)) == ["the source"]
    assert stores.state(run_id) == "the state"
    reopened(stores, run_id)


def test_a_run_has_one_writer(stores: Stores) -> None:
    async def work(store: Store) -> None:
        store.record({"r": "run", "pid": 4711, "host": "here"})
        await store.durable()
        with pytest.raises(UsageError, match="4711 on here is working on this run"):
            stores.reopen(store.run_id, "edited", str, lambda records: None)
        with pytest.raises(UsageError, match="is working on this run"):
            stores.remove(store.run_id)
        store.record({"r": "after"})

    run_id = created(stores, work)
    assert [record["r"] for record in stores.records(run_id)] == ["run", "after"]
    assert list(stores.sources(run_id)) == ["the source"]


def test_a_run_that_is_removed_is_gone(stores: Stores) -> None:
    async def work(store: Store) -> None:
        store.record({"r": "run"})
        store.bind(Binding("x", "let", Value("text")), ())
        store.attach("y", Value("more"))

    kept, gone = created(stores, work), created(stores, work)
    stores.remove(gone)
    assert list(stores.runs()) == [kept]
    with pytest.raises(UsageError, match="there is no run"):
        stores.records(gone)
    assert len(stores.records(kept)) == 1
    assert len(stores.bindings(kept)) == 1


# Failures


def test_a_run_that_can_not_be_made(keeping: Kind, tmp_path: Path) -> None:
    if keeping.unwritable is None:
        pytest.skip("a run of this store can always be made")
    with pytest.raises(StoreFailed, match="can't"):
        keeping.unwritable(tmp_path).create(SystemClock(), "", str)
    assert list(keeping.place(tmp_path).runs()) == []


@pytest.mark.parametrize("what", ["records", "values"])
def test_a_failure_is_told_once_and_raised_from_then_on(
    keeping: Kind, tmp_path: Path, what: str
) -> None:
    if keeping.full is None:
        pytest.skip("this store can always be written")
    full = keeping.full(tmp_path)
    told: list[StoreFailed] = []
    called: list[str] = []

    async def work(store: Store) -> None:
        store.on_failure = told.append
        if what == "records":
            store.record({"r": "lost"})
            store.when_durable(lambda: called.append("then"))
        else:
            store.bind(Binding("x", "let", Value("text")), ())
        with pytest.raises(StoreFailed, match="can't write"):
            await (store.durable() if what == "records" else store.settle())
        assert len(told) == 1
        # Whoever goes on all the same is neither held up nor told that all is well.
        store.record({"r": "lost"})
        store.bind(Binding("y", "let", Value("text")), ())
        store.attach("z", Value("text"))
        store.changed()
        store.hasten()
        store.when_durable(lambda: called.append("later"))
        for _ in range(2):
            with pytest.raises(StoreFailed):
                await store.settle()
        with pytest.raises(StoreFailed):
            await store.durable()

    opened: list[Store] = []

    def make() -> Store:
        opened.append(full.create(SystemClock(), "the source", lambda: "the state"))
        return opened[0]

    with suppress(StoreFailed):
        lived(make, work)
    assert len(told) == 1
    assert called == (["then", "later"] if what == "records" else ["later"])
    others = keeping.place(tmp_path)
    assert not others.is_held(opened[0].run_id)
    assert list(others.records(opened[0].run_id)) == []


def test_what_was_recorded_before_a_failure_is_kept(keeping: Kind, tmp_path: Path) -> None:
    if keeping.full is None:
        pytest.skip("this store can always be written")

    async def work(store: Store) -> None:
        for record in numbered(3):
            store.record(record)

    run_id = created(keeping.place(tmp_path), work)
    full = keeping.full(tmp_path)

    async def fails(store: Store) -> None:
        store.record({"r": "lost"})

    with suppress(StoreFailed):
        reopened(full, run_id, fails)
    assert list(keeping.place(tmp_path).records(run_id)) == numbered(3)
    reopened(keeping.place(tmp_path), run_id)
