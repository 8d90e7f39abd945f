"""Structured answers: how a shape is asked for, by JSON schema or in words, and the value in the reply.

The top is always an object, since the API gives nothing back for a bare `false`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..providers.protocol import JSON, Reply
from ..shaping import Shape, refused, turn
from ..values import Value

_TEXT: JSON = {"type": "string"}
_FIELD: JSON = {
    "anyOf": [
        _TEXT,
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array", "items": _TEXT},
    ]
}


@lru_cache(maxsize=256)
def schema_of(shape: Shape) -> Mapping[str, JSON] | None:
    """The schema for a shape; None for one that is asked for in words, because its objects may have more fields."""
    if not shape.exact:
        return None
    part = _part(shape)
    return part if shape.kind == "object" else _object({"items" if shape.kind == "list" else "value": part})


@lru_cache(maxsize=256)
def example_schema(shape: Shape) -> Mapping[str, JSON] | None:
    """What an answer to a shape that is asked for in words looks like; None for one that has a schema."""
    return None if shape.exact else _part(shape)


def asked_in_words(shape: Shape) -> str:
    """The sentence that asks for a shape which has no schema; empty for one that has."""
    if shape.exact:
        return ""
    if not shape.fields and shape.item is None:
        return "Answer with one JSON object; keep everything else you were asked for in it."
    return f"Answer with {json_in_words(shape)}; keep everything else you were asked for."


def json_in_words(shape: Shape) -> str:
    """An object or a list of objects: "one JSON object with at least the field "a"."""
    if shape.item is not None:
        return f"one JSON list of objects{_each_with(shape.item)}"
    return f"one JSON object{_with(shape)}"


def _each_with(item: Shape) -> str:
    return f", each{_with(item)}" if item.fields else ""


def _with(shape: Shape) -> str:
    if not shape.fields:
        return ""
    typed = dict(shape.typed)
    fields = [f'"{name}"' + (f" ({_in_words(typed[name])})" if name in typed else "") for name in shape.fields]
    least = "exactly" if shape.only else "at least"
    return f" with {least} the {'field' if len(fields) == 1 else 'fields'} {', '.join(fields)}"


def _in_words(shape: Shape) -> str:
    if shape.kind == "object":
        return f"an object{_with(shape)}"
    if shape.item is not None:
        return f"a list of objects{_each_with(shape.item)}"
    return {"list": "a list", "boolean": "true or false", "number": "a number"}[shape.kind]


def _part(shape: Shape) -> dict[str, JSON]:
    if shape.kind == "object":
        typed = dict(shape.typed)
        return _object({name: _part(typed[name]) if name in typed else _FIELD for name in shape.fields})
    if shape.kind == "list":
        return {"type": "array", "items": _TEXT if shape.item is None else _part(shape.item)}
    return {"type": shape.kind}


def value_of(reply: Reply, shape: Shape | None, name: str | None) -> Value | None:
    """The value that a reply gives for a shape; None for a text that the shared rules can't turn into it.

    Raises ShapeError for structured data that is not what its schema says.
    """
    if shape is None:
        return Value(reply.text)
    if reply.data is None:
        return turn(Value(reply.text), shape)
    key = {"list": "items", "boolean": "value", "number": "value"}.get(shape.kind)
    found = Value(reply.data if key is None else reply.data.get(key))
    value = turn(found, shape)
    if value is None:
        raise refused(found, shape, name)
    return value


def _object(properties: dict[str, JSON]) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
