"""Properties of the compiler that hold for any input: what it refuses, what it emits, and that it does so again."""

from __future__ import annotations

import ast
import keyword
import string
from collections.abc import Iterator

import black
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import HOLE, VOCABULARY, Drawn, programs

from prosec.compiler import analyse, has_errors
from prosec.compiler import compile as build
from prosec.source import Source

LONG = settings(
    max_examples=1_000, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
QUICK = settings(LONG, max_examples=40, derandomize=True)

WORDS = """
session agent block do let const if elif else: for in parallel repeat loop until while try: catch as finally: choice
option output input use import resume: throw return break continue assert pmap map: prompt: context: model: opus
retry: 3 persist: true permissions: skills: null not or and + == -> {x} (max: 3) on-fail: "ignore" x y a-b 0.5 "x"
"""
FRAGMENTS = st.sampled_from(
    [
        *'\n\n\n:=,.()[]{}|"#*-> \t\\\ufeff\x00',
        *("\n  ", "\n    ", "\r\n", '"""', "**", "***"),
        *(f"{word} " for word in WORDS.split()),
    ]
)
ANYTHING = st.one_of(st.text(max_size=80), st.lists(FRAGMENTS, max_size=60).map("".join))


def check_any_text(text: str) -> None:
    source = Source(text, "any.prose")
    for strict in (False, True):
        for diagnostic in analyse(source, strict).diagnostics:
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
    compiled = build(source)
    assert (compiled.text is None) == has_errors(compiled.diagnostics)


@settings(QUICK, max_examples=200)
@given(ANYTHING)
def test_any_text_ends_in_diagnostics(text: str) -> None:
    check_any_text(text)


@pytest.mark.long
@LONG
@given(ANYTHING)
def test_much_text_ends_in_diagnostics(text: str) -> None:
    check_any_text(text)


def check_drawn(drawn: Drawn) -> None:
    """The script of a drawn program is Python that holds the program's texts, and is the same a second time."""
    source = Source(drawn.source, "drawn.prose")
    compiled = build(source)
    assert compiled.text is not None, compiled.diagnostics
    tree = ast.parse(compiled.text)
    compile(tree, "drawn.py", "exec")
    found = set(texts_of(tree))
    assert drawn.texts <= found | {""}, "lost"
    assert found <= drawn.texts | drawn.names | set(VOCABULARY.split()) | labels(drawn), "invented"
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names_of(tree))
    assert build(Source(drawn.source, "drawn.prose")).text == compiled.text


def labels(drawn: Drawn) -> set[str]:
    """What values in a `context:` that have no name of their own, and branches without one, are called."""
    return (
        {"text", "value", "drawn.prose", "drawn.prose."}
        | {f"_branch_{place}" for place in range(9)}
        | {f"{{{n}}}" for n in drawn.names}
    )


def texts_of(tree: ast.Module) -> Iterator[str]:
    """The strings of a script, those of its last call (the footer) aside; HOLE where an f-string has values."""
    stack: list[ast.AST] = [node for node in tree.body if not _is_footer(node)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else HOLE for part in node.values
            )
            stack.extend(part for part in node.values if not isinstance(part, ast.Constant))
            continue
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
        ):
            assert isinstance(node.func.value, ast.Constant)
            pieces = string.Formatter().parse(node.func.value.value)
            yield "".join(
                before + (HOLE if hole is not None else "") for before, hole, _, _ in pieces
            )
            stack.extend(node.args)
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        stack.extend(ast.iter_child_nodes(node))


def _is_footer(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "source"
    )


def names_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.AsyncFunctionDef):
            yield node.name


@QUICK
@given(programs())
def test_scripts_hold_exactly_the_texts_of_programs(drawn: Drawn) -> None:
    check_drawn(drawn)


@pytest.mark.long
@LONG
@given(programs())
def test_many_scripts_hold_exactly_the_texts_of_programs(drawn: Drawn) -> None:
    check_drawn(drawn)


@settings(QUICK, max_examples=10)
@given(programs())
def test_scripts_are_formatted(drawn: Drawn) -> None:
    text = build(Source(drawn.source, "drawn.prose")).text
    assert text is not None
    assert black.format_str(text, mode=black.Mode()) == text
