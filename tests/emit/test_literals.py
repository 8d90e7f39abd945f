"""Literals hold exactly the text that they are made from, whatever quotes and backslashes are in it."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from prosec.emit import literals as py

ENDS = [
    '"',
    '""',
    '"""',
    '""""',
    '\\"',
    '\\"""',
    "\\",
    "\\\\",
    "'",
    "'''",
    "",
    "\n",
    "{",
    "}",
    "\r",
    "\u202e",
]


def value_of(code: str) -> object:
    return ast.literal_eval(code.replace(py.BREAK, "\n"))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("start", ENDS)
def test_strings(start: str, end: str) -> None:
    for middle, multiline in product(("a", "a\nb", '\n""\n', "\\"), (False, True)):
        text = start + middle + end
        assert value_of(py.code(py.string(text, multiline=multiline))) == text
        assert value_of(py.code(py.string(text, quote="'"))) == text
        formatted = py.code(py.formatted([text, py.name("x"), text], ["x"], multiline=multiline))
        assert eval(formatted.replace(py.BREAK, "\n"), {"x": "!"}) == f"{text}!{text}"


@pytest.mark.parametrize("end", ENDS)
def test_docstrings(end: str) -> None:
    for text in (f"Say x{end}", f"Say x{end}\n\nand y{end}"):
        found = value_of(py.code(py.docstring(text)))
        assert isinstance(found, str)
        assert found.rstrip("\n") == text.rstrip("\n")
