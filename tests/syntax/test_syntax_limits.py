"""Deep nesting and large inputs: always an answer, in an amount of work that grows with the input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from syntax_outline import found, parsed

from prosec.source import Source
from prosec.syntax import nodes, parse


def walked(node: nodes.Node) -> int:
    """How deep a tree is, measured by a walk that takes three frames for each level."""

    def visit(child: nodes.Node) -> int:
        return walked(child)

    return 1 + max((visit(child) for child in nodes.children(node)), default=0)


def nested(header: str, levels: int, last: str = "throw") -> str:
    return "".join(" " * level + header + "\n" for level in range(levels)) + " " * levels + last + "\n"


DEEP = {
    "brackets": lambda k: "let x = " + "(" * k + "1" + ")" * k,
    "lists": lambda k: "let x = " + "[" * k + "]" * k,
    "objects": lambda k: "let x = " + "{a: " * k + "1" + "}" * k,
    "indices": lambda k: "let x = " + "a[" * k + "1" + "]" * k,
    "calls": lambda k: "let x = " + "f(a: " * k + "1" + ")" * k,
    "arguments": lambda k: "do " + "b(do " * k + "b" + ")" * k,
    "every precedence": lambda k: "let x = " + "1 or 1 and 1 == 1 + 1 * (" * k + "1" + ")" * k,
    "sums": lambda k: "let x = " + " + ".join(["a"] * k),
    "sums on the left": lambda k: "let x = " + "(" * 40 + (" + a" * (k // 40 + 3) + ")").join(["a"] + [""] * 40),
    "nots": lambda k: "let x = " + "not " * k + "a",
    "signs": lambda k: "let x = " + "- " * k + "a",
    "fields": lambda k: "let x = a" + ".b" * k,
    "items": lambda k: "let x = a" + "[0]" * k,
    "stage bodies": lambda k: "let x = " + "(a | map: " * k + "a" + ")" * k,
    "if": lambda k: nested("if x:", k),
    "else": lambda k: "".join(" " * i + "if x:\n" + " " * i + " throw\n" + " " * i + "else:\n" for i in range(k)),
    "loop": lambda k: nested("loop until **abc**:", k),
    "for": lambda k: nested("for x in xs:", k),
    "do": lambda k: nested("do:", k),
    "values": lambda k: nested("let x = do:", k),
    "block": lambda k: nested("block b:", k),
    "parallel": lambda k: nested("parallel:", k),
    "pipeline": lambda k: nested("xs | map:", k),
    "pipeline values": lambda k: nested("let x = xs | map:", k),
    "choice": lambda k: "".join(f'{"  " * i}choice **a**:\n{"  " * i} option "b":\n' for i in range(k)),
    "lines in lines": lambda k: "do: " * k,
    "misspelt": lambda k: nested("lop x:", k),
    "broken": lambda k: nested("loop x y:", k),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_one_clear_error(name: str) -> None:
    for levels in (500, 10_000):
        if levels > 500 and "\n" in DEEP[name](2):
            continue
        result = parsed(DEEP[name](levels) + "\nlet last = 1\n")
        deep = [d for d in result.diagnostics if d.message == "nested too deeply"]
        if name not in ("lines in lines", "misspelt", "broken"):
            assert [d.message for d in result.diagnostics] == ["nested too deeply"]
            assert deep[0].help and ("`let`" in deep[0].help or "`block" in deep[0].help)
        assert isinstance(result.program.statements[-1], nodes.Let)
        walked(result.program)


@pytest.mark.parametrize("name", DEEP)
def test_the_deepest_accepted_trees_can_be_walked(name: str) -> None:
    for levels in range(1, 120):
        result = parsed(DEEP[name](levels))
        assert walked(result.program) < 160
        if any(d.message == "nested too deeply" for d in result.diagnostics):
            break


@pytest.mark.parametrize(
    ("name", "levels"),
    [("brackets", 40), ("lists", 40), ("sums", 100), ("nots", 90), ("if", 50), ("for", 50), ("pipeline values", 35)],
)
def test_sane_nesting_is_accepted(name: str, levels: int) -> None:
    assert not found(DEEP[name](levels))


def test_everything_deep_at_once() -> None:
    for levels in range(1, 60, 7):
        text = nested("let x = xs | map:", levels, "let y = " + "1 or 1 and 1 == [1 + 1 * -(" * 30 + "1")
        walked(parsed(text).program)


def calls_during(work: Callable[[], object]) -> int:
    """How many Python and built-in functions are called: the measure of work that no machine changes."""
    count = 0

    def count_call(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


LARGE = {
    "sessions": lambda k: 'session "a {x} b"\n  context: y\n' * k,
    "comments": lambda k: "let x = 1 # a\n# b\n" * k,
    "or": lambda k: "let x = " + " or ".join(["a"] * k),
    "list": lambda k: "let x = [" + "a, \n" * k + "]",
    "holes": lambda k: 'session "' + "{a.b[0]} {n + 1}" * k + '"',
    "braces": lambda k: 'session "' + "{" * k + "{}" * k + "}" * k + '"',
    "stages": lambda k: "xs" + "\n | map: item" * k,
    "arrows": lambda k: 'session "a"' + ' -> session "b"' * k,
    "elif": lambda k: "if a:\n  throw\n" + "elif b:\n  throw\n" * k,
    "branches": lambda k: "parallel:\n" + '  a = session "b"\n' * k,
    "unclosed brackets": lambda k: "let x = [(\nlet y = 1\n" * k,
    "open brackets": lambda k: "[" * k + "\n" + "(" * k,
    "stray brackets": lambda k: "let x = " + "([)" * k,
    "unclosed strings": lambda k: 'session "a\n' * k,
    "unclosed discretions": lambda k: "if **a:\n" * k,
    "unknown lines": lambda k: "a b\n" * k,
    "columns": lambda k: "".join(" " * (i * 7 % 5) + "throw\n" for i in range(k)),
    "tabs": lambda k: "if x:\n\tthrow\n" * k,
    "catches": lambda k: "try:\n  throw\n" + "catch:\n  throw\n" * k,
    "broken headers": lambda k: "if x y:\n  let a = 1\nelse:\n  let b = 2\n" * k,
    "garbled strings": lambda k: 'session """a """b""" c"""\n' * k,
}


@pytest.mark.parametrize("name", LARGE)
def test_work_grows_with_the_input(name: str) -> None:
    small, large = (Source(LARGE[name](k)) for k in (250, 1000))
    parse(small)
    ratio = calls_during(lambda: parse(large)) / calls_during(lambda: parse(small))
    assert ratio < 6


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('session "' + "a" * 1_000_000 + '"', id="long string"),
        pytest.param('session "' + "{" * 1_000_000 + '"', id="braces"),
        pytest.param('session """' + '""' * 500_000, id="quotes"),
        pytest.param('session """' + "\\" * 1_000_001 + '"""', id="backslashes"),
        pytest.param("*" * 1_000_000, id="stars"),
        pytest.param("if **" + "* " * 500_000, id="stars in a discretion"),
        pytest.param("if **a" + " " * 1_000_000 + "b**:\n  throw", id="spaces in a discretion"),
        pytest.param("let x = 1" + " " * 1_000_000, id="spaces at the end"),
        pytest.param(" " * 1_000_000 + "throw", id="spaces at the start"),
        pytest.param(" \n" * 500_000, id="blank lines"),
        pytest.param("let " + "x" * 1_000_000 + " = 1", id="long name"),
        pytest.param("let a" + "-a" * 500_000 + " = 1", id="long name with dashes"),
        pytest.param("let x = " + "1" * 1_000_000, id="long number"),
        pytest.param("[" * 300_000, id="open brackets"),
        pytest.param(")" * 300_000, id="closed brackets"),
        pytest.param("let x = " + " + ".join(["a"] * 100_000), id="sum"),
        pytest.param("\u00e9" * 1_000_000, id="letters"),
        pytest.param("\x00" * 200_000, id="nul"),
        pytest.param('session "{' + "a." * 500_000 + 'a}"', id="long path"),
        pytest.param('session "{' + "a + " * 250_000 + 'a}"', id="long operation"),
        pytest.param('"""' * 300_000, id="triple quotes"),
        pytest.param('session "a"\n' * 100_000, id="lines"),
    ],
)
def test_large_inputs_have_an_answer(text: str) -> None:
    assert len(parsed(text).diagnostics) <= 1
