"""A tree as short nested tuples, so that a test shows on one line what a text is parsed to."""

from __future__ import annotations

from dataclasses import fields

from prosec.source import Source
from prosec.syntax import Parsed, nodes, parse

Outline = object


def outline(value: object) -> Outline:
    """A node as (class, field, ...) without spans; names, literals and texts as what they say."""
    match value:
        case nodes.Name(text=text):
            return text
        case nodes.Ref(name=name):
            return f"${name}"
        case nodes.Number(text=text):
            return int(text) if text.isdigit() else float(text)
        case nodes.Boolean(value=flag):
            return flag
        case nodes.Null():
            return None
        case nodes.Hole(value=inner):
            return ("Hole", outline(inner))
        case nodes.Text(parts=parts):
            return "".join(parts) if all(isinstance(p, str) for p in parts) else ("Text", *map(outline, parts))
        case nodes.Discretion(parts=parts):
            return ("**", *map(outline, parts))
        case nodes.Suite(statements=statements):
            return [outline(statement) for statement in statements]
        case nodes.Entry(key=key, value=inner):
            return (key, outline(inner))
        case nodes.Property(name=name, value=inner) | nodes.PermissionRule(name=name, value=inner):
            return (name.text, outline(inner))
        case nodes.Node():
            inside = (outline(getattr(value, f.name)) for f in fields(value) if not f.name.endswith("span"))
            return (type(value).__name__, *inside)
        case tuple():
            return [outline(item) for item in value]
        case _:
            return value


def parsed(text: str) -> Parsed:
    return parse(Source(text))


def clean(text: str) -> Parsed:
    """What a text is parsed to, when nothing at all is wrong with it."""
    result = parsed(text)
    assert not result.diagnostics, [(d.code, d.message) for d in result.diagnostics]
    return result


def statements(text: str) -> list[Outline]:
    return [outline(statement) for statement in clean(text).program.statements]


def value(text: str) -> Outline:
    """The outline of an expression."""
    statement = clean(f"let x = {text}\n").program.statements[0]
    assert isinstance(statement, nodes.Let)
    return outline(statement.value)


def found(text: str) -> list[tuple[str, str]]:
    """The code and the marked text of every diagnostic."""
    source = Source(text)
    return [(d.code, source.slice(d.span)) for d in parse(source).diagnostics]


def fixed(text: str) -> str:
    """A text after all its fixes were applied."""
    edits = sorted(
        (edit for d in parse(Source(text)).diagnostics if d.fix for edit in d.fix.edits), key=lambda edit: edit.span
    )
    for edit in reversed(edits):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text
