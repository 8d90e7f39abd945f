"""Structured answers: the JSON schema that a shape is asked for with, and the value in the reply.

The top is always an object, since the API gives nothing back for a bare `false`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..errors import ShapeError
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
    """The schema for a shape; None for an object that is asked for in words."""
    if shape.kind == "list":
        return _top({"items": {"type": "array", "items": _TEXT}})
    if shape.kind == "boolean":
        return _top({"value": {"type": "boolean"}})
    if shape.kind == "number":
        return _top({"value": {"type": "number"}})
    return _top(dict.fromkeys(shape.fields, _FIELD)) if shape.only and shape.fields else None


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
        raise _wrong(found, shape, name)
    return value


def _wrong(found: Value, shape: Shape, name: str | None) -> ShapeError:
    return refused(found, shape, name)


def _top(properties: dict[str, JSON]) -> Mapping[str, JSON]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
