"""Values: what is bound or attached is there for whoever is told of it, byte for byte, under any name."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from kinds import Kind
from prose_runtime.errors import ProseError
from prose_runtime.identity import digest_of
from prose_runtime.state.bindings import Binding, value_in
from prose_runtime.state.store import Store, Stores
from prose_runtime.values import Liftable, Value
from working import created, lived, reopened

VALUES: dict[str, Liftable] = {
    "text": "some text",
    "empty": "",
    "no_end": "without a line break at the end",
    "ends": "with two of them\n\n",
    "breaks": "a\r\nb\rc\u2028d\x0be\x00f",
    "letters": "\u00e4\u65e5\u672c \U0001f4cb e\u0301",
    "large": "x" * 1_000_000,
    "like_a_binding": "# x\n\nkind: let\n\nsource:\n```prose\nx\n```\n\n---\n\nvalue",
    "like_json": "```json\n[1]\n```",
    "numeral": "42",
    "list": ["a", 1, 2.5, None, True, ["b", []], {"c": {}}],
    "no_items": [],
    "object": {"b": 1, "a": "x\n```\ny", "": None},
    "number": -17,
    "fraction": 1e-9,
    "boolean": False,
    "null": None,
    "error": ProseError("it broke\n---\n", line=7),
}

NAMES = [
    "x",
    "X",
    "a-b",
    "a_b",
    "_private",
    "anon_001",
    "_branch_0",
    "gr\u00f6\u00dfe",
    "\u540d\u524d",
    "n" * 150,
    "con",
    "x2",
]

PLACES = [(None, ()), (1, ()), (12, ()), (1, (2,)), (None, (2,)), (None, (2, 5)), (1, (0, 0, 13))]


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back(stores: Stores, name: str) -> None:
    value = Value(VALUES[name])
    binding = Binding(name, "const", value, 'const x = session "```"\n  # ---\n', 43)
    places: list[str] = []

    async def work(store: Store) -> None:
        places.append(store.bind(binding, ()))
        places.append(store.bind(Binding("late", "output", value), (), late=True))
        await store.settle()
        assert same(store.read(places[0]), binding)

    run_id = created(stores, work)

    async def again(store: Store) -> None:
        assert same(store.read(places[0]), binding)
        late = store.read(places[1])
        assert late is not None and digest_of(late.value) == digest_of(value)

    reopened(stores, run_id, again)
    files = [place.rpartition("/")[2] for place in places]
    assert list(stores.bindings(run_id)) == sorted(files)
    assert same(stores.binding(run_id, files[0]), binding)


def same(found: Binding | None, wanted: Binding) -> bool:
    assert found is not None
    assert (found.value.kind, found.value.text) == (wanted.value.kind, wanted.value.text)
    assert digest_of(found.value) == digest_of(wanted.value)
    return (found.name, found.kind, found.source, found.execution_id) == (
        wanted.name,
        wanted.kind,
        wanted.source,
        wanted.execution_id,
    )


def test_every_name_scope_and_round_has_a_place_of_its_own(kind: Kind, tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        places: set[str] = set()
        for name, (execution_id, rounds) in product(NAMES, PLACES):
            place = store.bind(Binding(name, "let", Value(name), "", execution_id), rounds)
            assert place == store.place(name, execution_id, rounds)
            places.add(place)
        assert len(places) == len(NAMES) * len(PLACES)
        await store.settle()

    lived(lambda: kind.new(tmp_path), work)


def test_values_under_all_these_names_come_back(stores: Stores) -> None:
    kept: dict[str, str] = {}

    async def work(store: Store) -> None:
        for name, (execution_id, rounds) in product(NAMES, PLACES):
            text = f"{name} in {execution_id} of {rounds}"
            kept[store.bind(Binding(name, "let", Value(text), "", execution_id), rounds)] = text

    run_id = created(stores, work)

    async def again(store: Store) -> None:
        for place, text in kept.items():
            binding = store.read(place)
            assert binding is not None and binding.value.text == text

    reopened(stores, run_id, again)
    assert len(stores.bindings(run_id)) == len(kept)


def test_the_newest_value_of_a_place_stays(stores: Stores) -> None:
    def bound(store: Store, name: str, value: int, late: bool = False) -> str:
        return store.bind(Binding(name, "let", Value(value)), (), late=late)

    async def work(store: Store) -> None:
        for value in range(20):
            place = bound(store, "x", value)
        await store.settle()
        found = store.read(place)
        assert found is not None and found.value == Value(19)
        bound(store, "x", 20)
        bound(store, "late_then_now", 1, late=True)
        bound(store, "late_then_now", 2)
        bound(store, "now_then_late", 1)
        bound(store, "now_then_late", 2, late=True)
        for value in range(20):
            bound(store, "always_late", value, late=True)

    run_id = created(stores, work)
    found = {name: stores.binding(run_id, name) for name in stores.bindings(run_id)}
    values = sorted(str(binding.value) for binding in found.values() if binding)
    assert values == ["19", "2", "2", "20"]


def test_there_is_nothing_at_other_places(stores: Stores) -> None:
    async def work(store: Store) -> None:
        assert store.read(store.place("never", None, ())) is None
        assert store.read("") is None
        assert store.read("elsewhere/../never.md") is None

    run_id = created(stores, work)
    assert list(stores.bindings(run_id)) == []
    for file in ("never.md", "", "..", "../journal.jsonl", "a/b.md"):
        assert stores.binding(run_id, file) is None
    assert stores.attachment(run_id, "0" * 8) is None


def test_an_earlier_lifes_bindings_stay_and_can_be_bound_again(stores: Stores) -> None:
    async def work(store: Store) -> None:
        for name in ("a", "b"):
            store.bind(Binding(name, "let", Value(f"first {name}")), ())

    run_id = created(stores, work)

    async def again(store: Store) -> None:
        place = store.bind(Binding("a", "let", Value("second a")), ())
        await store.settle()
        found = store.read(place)
        assert found is not None and found.value.text == "second a"

    reopened(stores, run_id, again)
    found = [stores.binding(run_id, file) for file in stores.bindings(run_id)]
    assert [binding.value.text for binding in found if binding] == ["second a", "first b"]


@pytest.mark.parametrize("name", VALUES)
def test_an_attached_value_can_be_read_where_it_is_said_to_be(stores: Stores, name: str) -> None:
    value = Value(VALUES[name])

    async def work(store: Store) -> None:
        place = store.attach("part", value)
        assert store.attach("part", value) == place
        assert store.attach("part", Value("another")) != place
        await store.settle()
        text = stores.attachment(store.run_id, digest_of(value)[:8])
        assert text is not None
        kind = None if value.is_text else value.kind
        assert digest_of(value_in(text, kind)) == digest_of(value)

    run_id = created(stores, work)
    assert stores.attachment(run_id, digest_of(Value("another"))[:8]) == "another"


def test_every_store_takes_values(kind: Kind, tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        for name, value in VALUES.items():
            store.bind(Binding(name, "let", Value(value)), ())
            assert store.attach(name, Value(value))
        await store.settle()

    lived(lambda: kind.new(tmp_path), work)
