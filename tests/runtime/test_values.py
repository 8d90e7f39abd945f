"""Values: every operator by the rules of language.md, and every refusal a ProseError."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from prose_runtime import ProseError, Value
from prose_runtime.errors import BadValue, Thrown


@pytest.mark.parametrize("falsy", [None, "", "  ", [], {}, 0, False, "no", "No.", "FALSE", "off", "no, not yet"])
def test_what_is_false(falsy: object) -> None:
    assert not Value(falsy)  # type: ignore[arg-type]


@pytest.mark.parametrize("truthy", ["yes", "a", "notebook", "none", "0.5", [0], {"a": 0}, 1, -1, True])
def test_what_is_true(truthy: object) -> None:
    assert Value(truthy)  # type: ignore[arg-type]


def test_or_and_and_give_values() -> None:
    assert (Value("no") or Value("b")) == "b"
    assert (Value("a") and Value("b")) == "b"


@pytest.mark.parametrize(
    ("left", "right"),
    [(5, "5"), ("5.0", "5"), ("1,000", 1000), (True, "yes"), ("Yes, it is", True), ([1, "a"], ["1", "a"]), (2.0, 2)],
)
def test_equal(left: object, right: object) -> None:
    assert Value(left) == Value(right)  # type: ignore[arg-type]
    assert Value(left) == right  # type: ignore[arg-type]
    assert hash(Value(left)) == hash(Value(right))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "right"), [("a", "A"), (None, ""), (None, 0), ("5", "6"), ([1], 1), ({"a": 1}, {"a": 2}), (object(), 1)]
)
def test_unequal(left: object, right: object) -> None:
    assert (Value(right) == left) is False  # type: ignore[arg-type]
    assert Value(right) != left  # type: ignore[arg-type]


def test_order() -> None:
    assert Value("10") > 9
    assert Value("b") > "a"
    assert Value(3) >= 3
    assert not 2 > Value("3")  # noqa: SIM300


def test_calculating() -> None:
    assert Value(2) + 3 == 5
    assert 2 + Value(3) == 5
    assert Value("2") * "4" == 8
    assert str(Value(7) / 2) == "3.5"
    assert str(Value(8) / 2) == "4"
    assert 10 - Value(3) == 7
    assert 7 % Value(4) == 3
    assert -Value(3) == -3
    assert str(Value("a") + "b") == "ab"
    assert str("n: " + Value(5)) == "n: 5"
    assert str(Value("1") + Value("2")) == "12"
    assert (Value([1]) + [2, 3]).plain() == [1, 2, 3]  # noqa: RUF005
    assert (Value([1]) + "x").plain() == [1, "x"]
    assert (Value([1]) + Value([[2]])).plain() == [1, [2]]
    assert str(Value(10**200) / 10**100) == str(10**100)


REFUSED: list[Callable[[], object]] = [
    lambda: Value("a") - "b",
    lambda: Value(1) / 0,
    lambda: Value(1) % "0",
    lambda: Value([1])[3],
    lambda: Value([1])["x"],
    lambda: Value(None) + 1,
    lambda: Value(None)["x"],
    lambda: Value("a") < 3,
    lambda: 3 in Value(5),
    lambda: Value([1]) < [2],
    lambda: -Value("x"),
    lambda: Value(10**299) * 10**299,
    lambda: Value(1e300) * 1e300,
    lambda: Value(float("nan")),
    lambda: Value([1])[0.5],
    lambda: Value({"a": 1})[0],
    lambda: list(Value("text")),
    lambda: Value(object()),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("refused", REFUSED)
def test_refusals_are_prose_errors(refused: Callable[[], object]) -> None:
    with pytest.raises(BadValue) as caught:
        refused()
    assert caught.value.kind == "value"
    assert caught.value.message


def test_reading() -> None:
    thing = Value({"name": "n", "items": [1, 2, 3], "length": 9, "2": "two"})
    assert thing["items"]["length"] == 3
    assert thing["length"] == 9
    assert thing[2] == "two"
    assert thing["items"][-1] == 3
    assert thing["nothing"].is_null
    assert Value("abc")["length"] == 3
    assert Value("- a\n- b")[1] == "b"
    assert Value("Name: Ada\nRole: dev")["role"] == "dev"
    assert 2 in thing["items"]
    assert "name" in thing
    assert "b" in Value("abc")
    assert 9 not in thing["items"]


def test_text_forms() -> None:
    assert f"{Value(['ä', 1, True, None, {'a': 1.5}])}" == '["ä", 1, true, null, {"a": 1.5}]'
    assert f"{Value(5.0)}|{Value(True)}|{Value(None)}|{Value('x'):>3}" == "5|true|null|  x"
    assert f"{Thrown('it broke')}" == "it broke"
    assert str(Value(Thrown("it broke"))) == "it broke"


def test_errors_are_values() -> None:
    problem = Thrown("it broke", line=7)
    assert problem["message"] == "it broke"
    assert problem["kind"] == "throw"
    assert problem["line"] == 7
    assert Value(problem)
    assert json.loads(f"{Value([problem])}") == [{"message": "it broke", "kind": "throw", "line": 7}]


def test_immutable() -> None:
    with pytest.raises(AttributeError):
        Value(1).extra = 2  # type: ignore[attr-defined]
    value = Value("x")
    assert Value(value) is value


def test_depth_is_bounded_so_that_no_walk_can_exhaust_the_stack() -> None:
    value = Value([])
    with pytest.raises(ProseError, match="deeper than 200"):
        for _ in range(1000):
            value = Value([]) + Value([value])
            value = Value([value])
    assert str(value)
    assert hash(value) == hash(value)


def test_appending_copies_and_nothing_more() -> None:
    partials = Value([])
    started = time.perf_counter()
    for number in range(10_000):
        partials = partials + [number]  # noqa: RUF005
    assert time.perf_counter() - started < 5
    assert partials["length"] == 10_000
