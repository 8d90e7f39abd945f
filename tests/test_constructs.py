"""Every construct of the language has one of each: a walk, a template, a case, a row in the README."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from prosec.analysis.binding import Binder
from prosec.analysis.model import Analysis, Scope, Unit
from prosec.analysis.walk import Walker
from prosec.emit.templates import folder
from prosec.source import Span
from prosec.syntax import nodes

ROOT = Path(__file__).parent.parent

PARTS = {
    nodes.Node,
    nodes.Name,
    nodes.Comment,
    nodes.Hole,
    nodes.Entry,
    nodes.PermissionRule,
    nodes.Permissions,
    nodes.Property,
    nodes.Argument,
    nodes.Stage,
    nodes.Modifier,
    nodes.Branch,
    nodes.Catch,
    nodes.Suite,
    nodes.Clause,
    nodes.Option,
    nodes.Program,
}
"""Node classes that are parts of a construct."""

VALUES = {
    nodes.Text,
    nodes.Number,
    nodes.Boolean,
    nodes.Null,
    nodes.Ref,
    nodes.ListLiteral,
    nodes.ObjectLiteral,
    nodes.Field,
    nodes.Index,
    nodes.Unary,
    nodes.Binary,
    nodes.Logical,
}
"""Operators and literals: expressions, emitted as syntax trees."""

CONSTRUCTS = {
    nodes.Session: ("session", "session"),
    nodes.Resume: ("resume", "resume"),
    nodes.Discretion: ("discretion", "discretion as a value"),
    nodes.DoCall: ("do_call", "do call"),
    nodes.DoBlock: (None, "do block"),
    nodes.Arrow: (None, "arrow"),
    nodes.Pipeline: ("pipeline", "pipeline"),
    nodes.Parallel: ("parallel", "parallel"),
    nodes.Try: ("try", "try"),
    nodes.Input: ("input", "input"),
    nodes.Output: ("output", "output"),
    nodes.Agent: ("agent", "agent"),
    nodes.Block: ("block", "block"),
    nodes.Let: ("let", "let, const"),
    nodes.Assign: ("assign", "assign"),
    nodes.Repeat: ("repeat", "repeat"),
    nodes.For: ("for", "for"),
    nodes.Loop: ("loop", "loop"),
    nodes.If: ("if", "if"),
    nodes.Choice: ("choice", "choice"),
    nodes.Throw: ("throw", "throw"),
    nodes.Return: ("return", "return, break, continue"),
    nodes.Break: ("break", "return, break, continue"),
    nodes.Continue: ("continue", "return, break, continue"),
    nodes.Assert: ("assert", "assert"),
    # Imports are parsed and checked; a program that has one can't be built.
    nodes.Use: (None, "use, call"),
    nodes.Call: (None, "use, call"),
    nodes.ImportSkill: (None, "import (older)"),
}
"""Of each construct, its template and its row in the README. No template: its parts' statements stand in line."""

CLASSES = [
    kind
    for kind in vars(nodes).values()
    if inspect.isclass(kind) and issubclass(kind, nodes.Node) and kind is not nodes.Broken
]


def test_every_node_class_is_known() -> None:
    assert {kind.__name__ for kind in CLASSES} == {kind.__name__ for kind in PARTS | VALUES | CONSTRUCTS.keys()}


def test_every_construct_and_value_is_walked() -> None:
    analysis = Analysis(nodes.Program(Span(0, 0), (), ()), Scope(None))
    analysis.main = Unit(analysis.root, None, None, None)
    walker: Binder = Walker(analysis)
    assert VALUES | CONSTRUCTS.keys() <= walker.values.keys()


@pytest.mark.parametrize("kind", CONSTRUCTS, ids=lambda kind: kind.__name__)
def test_construct_is_complete(kind: type[nodes.Node]) -> None:
    template, row = CONSTRUCTS[kind]
    if template is not None:
        first = (folder() / f"{template}.py.j2").read_text().splitlines()[0]
        assert first.startswith("{# "), "a template says in its first line what the construct compiles to"
    assert re.search(rf"^\| {re.escape(row)} \|", (ROOT / "README.md").read_text(), re.MULTILINE)


def test_every_template_is_used() -> None:
    used = {template for template, _ in CONSTRUCTS.values()} | {"module", "function", "parallel_for", "unpack", "value"}
    assert {path.name.removesuffix(".py.j2") for path in folder().glob("*.j2")} == used - {None}
