"""Records: they come back in order, nobody acts on one that could still be lost, and damage is said."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kinds import Kind
from prose_runtime.providers.protocol import JSON
from prose_runtime.state.store import Store, Stores
from working import created, lived, numbered, reopened

RECORDS: list[dict[str, JSON]] = [
    {"r": "run", "program": "t.prose", "n": 1, "f": 1.5, "none": None, "yes": True},
    {"r": "result", "text": "lines\nand\r\nreturns\u2028and \x00 and \x1b[31m"},
    {
        "r": "result",
        "text": "\U0001f4cb \u00e4\u00f6\u00fc \u65e5\u672c",
        "list": [1, [2, {"a": []}]],
        "o": {},
    },
    {"r": "result", "text": "\ud800 alone"},
    {"r": "result", "text": "x" * 300_000},
    {"r": "result", "text": '{"r":"end"}\n{"r":"end"}\n'},
    {"r": "end", "status": "completed", "": {"": ""}, "large": 10**30, "small": -1e-30},
]


def test_records_come_back_as_they_were_in_order(stores: Stores) -> None:
    async def work(store: Store) -> None:
        assert (list(store.past), list(store.remarks)) == ([], [])
        for record in RECORDS:
            store.record(record)

    run_id = created(stores, work)
    assert list(stores.records(run_id)) == RECORDS
    assert stores.first(run_id) == RECORDS[0]
    past = []

    async def again(store: Store) -> None:
        assert (list(store.past), list(store.remarks)) == (RECORDS, [])
        past.extend(store.past)
        store.record({"r": "run", "program": "other.prose"})

    reopened(stores, run_id, again)
    assert list(stores.records(run_id)) == [*RECORDS, {"r": "run", "program": "other.prose"}]
    assert stores.first(run_id) == RECORDS[0]


def test_a_run_without_records(stores: Stores) -> None:
    run_id = created(stores)
    assert (list(stores.records(run_id)), stores.first(run_id)) == ([], {})

    async def work(store: Store) -> None:
        assert list(store.past) == []

    reopened(stores, run_id, work)


def test_what_is_durable_is_there_for_others(keeping: Kind, tmp_path: Path) -> None:
    others = keeping.place(tmp_path)

    async def work(store: Store) -> None:
        for record in numbered(50):
            store.record(record)
            await store.durable()
            assert (store.recorded, store.durable_to) == (int(record["id"]) + 1,) * 2
            assert others.records(store.run_id)[-1] == record
        for record in numbered(50, 50):
            store.record(record)
        assert store.recorded == 100
        await store.durable(alone=True)
        assert store.durable_to == 100
        assert len(others.records(store.run_id)) == 100

    created(keeping.place(tmp_path), work)


def test_each_of_many_that_wait_waits_for_its_own(keeping: Kind, tmp_path: Path) -> None:
    others = keeping.place(tmp_path)

    async def work(store: Store) -> None:
        async def one(number: int) -> None:
            for record in numbered(5, number * 5):
                store.record(record)
                position = store.recorded
                await store.durable()
                assert store.durable_to >= position
            ids = {record["id"] for record in others.records(store.run_id)}
            assert {str(number * 5 + i) for i in range(5)} <= ids

        await asyncio.gather(*(one(number) for number in range(20)))
        assert (store.recorded, store.durable_to) == (100, 100)

    created(keeping.place(tmp_path), work)


def test_what_nothing_was_paid_for_is_not_counted_and_keeps_its_place(
    keeping: Kind, tmp_path: Path
) -> None:
    others = keeping.place(tmp_path)
    first, taken, told, paid, last = numbered(5)

    async def work(store: Store) -> None:
        store.record(first)
        store.record(taken, paid=False)
        assert store.recorded == 1
        await store.durable()
        store.record(told, paid=False, told=True)
        # Nobody waits for a disk, but whoever is told of it may look.
        await store.durable()
        assert list(others.records(store.run_id)) == [first, taken, told]
        assert (store.recorded, store.durable_to) == (1, 1)
        store.record(paid)
        store.record(last, paid=False)

    run_id = created(keeping.place(tmp_path), work)
    assert list(others.records(run_id)) == [first, taken, told, paid, last]


def test_hastening_changes_nothing(keeping: Kind, tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        store.hasten()
        for record in numbered(3):
            store.record(record)
            store.hasten()
        await store.durable()
        assert (store.recorded, store.durable_to) == (3, 3)

    run_id = created(keeping.place(tmp_path), work)
    assert list(keeping.place(tmp_path).records(run_id)) == numbered(3)


def test_who_asks_is_called_once_everything_so_far_is_durable(kind: Kind, tmp_path: Path) -> None:
    called: list[tuple[str, int]] = []

    async def work(store: Store) -> None:
        def then(name: str, least: int) -> None:
            assert store.durable_to >= least
            called.append((name, least))

        store.when_durable(lambda: then("nothing yet", 0))
        store.record({"r": "a"})
        store.when_durable(lambda: then("one", store.recorded))
        store.when_durable(lambda: then("one again", store.recorded))
        store.record({"r": "b"})
        store.when_durable(lambda: then("two", store.recorded))
        await store.durable()
        while len(called) < 4:
            await asyncio.sleep(0)
        # Also when nobody ever waits.
        store.record({"r": "c"})
        store.when_durable(lambda: then("at the end", store.recorded))

    lived(lambda: kind.new(tmp_path), work)
    names = [name for name, _ in called]
    assert names == ["nothing yet", "one", "one again", "two", "at the end"]


def test_a_record_that_was_cut_off_is_dropped_and_said(stores: Stores, keeping: Kind) -> None:
    if keeping.cut is None:
        pytest.skip("no record of this store is ever cut off")

    async def work(store: Store) -> None:
        for record in numbered(5):
            store.record(record)

    run_id = created(stores, work)
    keeping.cut(stores, run_id)
    # Whoever only looks leaves it as it is.
    assert list(stores.records(run_id)) == numbered(4)

    async def again(store: Store) -> None:
        assert list(store.past) == numbered(4)
        [remark] = store.remarks
        assert "cut off" in remark
        store.record({"r": "new"})

    reopened(stores, run_id, again)
    assert list(stores.records(run_id)) == [*numbered(4), {"r": "new"}]

    async def third(store: Store) -> None:
        assert list(store.remarks) == []

    reopened(stores, run_id, third)


@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_damaged_record_is_passed_over_and_said(
    stores: Stores, keeping: Kind, number: int
) -> None:
    if keeping.damage is None:
        pytest.skip("no record of this store is ever damaged")

    async def work(store: Store) -> None:
        for record in numbered(5):
            store.record(record)

    run_id = created(stores, work)
    keeping.damage(stores, run_id, number)
    left = numbered(5)
    del left[number]
    assert list(stores.records(run_id)) == left

    async def again(store: Store) -> None:
        assert list(store.past) == left
        [remark] = store.remarks
        assert "damaged" in remark
        store.record({"r": "new"})

    reopened(stores, run_id, again)
    assert list(stores.records(run_id)) == [*left, {"r": "new"}]
