"""Text into shapes: the shared rules, and that no text can make them slow or raise."""

from __future__ import annotations

import time

import pytest
from prose_runtime.numerals import number_in, truth_in
from prose_runtime.shaping import Shape, refused, turn_text
from prose_runtime.values import Value

LIST = Shape("list")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("[]", []),
        ('Here:\n```json\n["a"]\n```\nDone [1].', ["a"]),
        ('I think [1] then ["x", "y"] is it', ["x", "y"]),
        ('{"companies": ["a", "b"], "n": 2}', ["a", "b"]),
        ("Intro:\n\n- a\n- b\n\nThat is all.", ["a", "b"]),
        ("* a\n* b", ["a", "b"]),
        ("1. a\n2) b\n10. c", ["a", "b", "c"]),
        ("1. a\n   - detail\n2. b", ["a\n- detail", "b"]),
        ("- [ ] see [docs](http://x)\n- two [2]", ["[ ] see [docs](http://x)", "two [2]"]),
        ("a\n\nb\n", ["a", "b"]),
        ("just one", ["just one"]),
        ("", []),
    ],
)
def test_lists(text: str, items: list[str]) -> None:
    value = turn_text(text, LIST)
    assert value is not None
    assert value.plain() == items


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"token": "t", "role": "r"}', {"token": "t", "role": "r"}),
        ('Sure:\n```\n{"token": "t"}\n```', {"token": "t"}),
        ('first {"x": 1} then {"token": "t"} end {"y": 2}', {"token": "t"}),
        ("Token: abc\nRole: admin", {"token": "abc", "role": "admin"}),
        ("**Token**: abc\n- **Role:** admin", {"token": "abc", "role": "admin"}),
        ("token: first\nsecond\nrole: x", {"token": "first\nsecond", "role": "x"}),
    ],
)
def test_objects(text: str, fields: dict[str, str]) -> None:
    value = turn_text(text, Shape("object", ("token", "role")))
    assert value is not None
    assert {**value.plain()} == fields  # type: ignore[dict-item]


def test_no_object() -> None:
    assert turn_text("nothing of the kind", Shape("object", ("token",))) is None
    assert turn_text('["a"]', Shape("object", ("token",))) is None


@pytest.mark.parametrize("word", ["yes", "True", "y", "1", "ON", "keep", "**Yes**, it is", '"yes"', "keep it"])
def test_yes(word: str) -> None:
    assert truth_in(word) is True


@pytest.mark.parametrize("word", ["no", "False", "n", "0", "off", "Skip", "drop", "No: because", "(no)"])
def test_no(word: str) -> None:
    assert truth_in(word) is False


@pytest.mark.parametrize("word", ["maybe", "", "notes", "10", "yesterday", "!!!", "0.5"])
def test_neither(word: str) -> None:
    assert truth_in(word) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [(" 12 ", 12), ("-0.5", -0.5), ("14,210", 14210), ("1e3", 1000), (".5", 0.5), ("+3", 3)],
)
def test_numerals(text: str, number: float) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize("text", ["", "-", "1.2.3", "12a", "1,2", "٣", "inf", "nan", "9" * 400, "1e999", "."])
def test_no_numerals(text: str) -> None:
    assert number_in(text) is None


def test_the_number_of_an_answer() -> None:
    assert turn_text("**42**.", Shape("number")) == Value(42)


HOSTILE = {
    "brackets": "[" * 1_000_000,
    "pairs": '["' * 500_000,
    "nested": "[1," * 330_000,
    "objects": '{"a":' * 200_000,
    "closed": "[" * 500_000 + "]" * 500_000,
    "quotes": '"' * 1_000_000,
    "spaces": " " * 1_000_000,
    "bullets": "- " * 500_000,
    "fences": "```\n" * 250_000,
    "names": "a:" * 500_000,
    "words": "word " * 200_000,
    "rules": "_*`" * 330_000,
    "lines": "x\n" * 500_000,
    "digits": "[" + "9" * 1_000_000 + "]",
    "starts": "[1 " * 330_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("shape", [LIST, Shape("object", ("a",)), Shape("boolean"), Shape("number")], ids=str)
def test_hostile_text(name: str, shape: Shape) -> None:
    started = time.process_time()
    turn_text(HOSTILE[name], shape)
    assert time.process_time() - started < 4


def test_a_refusal_names_variable_shape_and_text() -> None:
    error = refused(Value("some prose " * 30), Shape("object", ("token", "role")), "claims")
    assert error.kind == "shape"
    assert "'claims'" in error.message
    assert "an object with token, role" in error.message
    assert '"some prose some' in error.message
    assert len(error.message) < 250
