"""An answer that fits a JSON schema, the same every time: for `simulate` and for the loopback server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .protocol import JSON


def example_of(schema: Mapping[str, Any], about: str = "example") -> JSON:
    """A value that fits `schema`: first choices, true, lists of three, texts that say what they stand for."""
    if "const" in schema:
        made: JSON = schema["const"]
        return made
    if schema.get("enum"):
        first: JSON = schema["enum"][0]
        return first
    for alternatives in ("anyOf", "oneOf"):
        if schema.get(alternatives):
            return example_of(schema[alternatives][0], about)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or (kind is None and "properties" in schema):
        properties: Mapping[str, Any] = schema.get("properties", {})
        return {name: example_of(part, _about(name, about)) for name, part in properties.items()}
    if kind == "array":
        items: Mapping[str, Any] = schema.get("items") or {"type": "string"}
        return [example_of(items, f"{about} ({number})") for number in (1, 2, 3)]
    if kind == "boolean":
        return True
    if kind == "integer":
        return 3
    if kind == "number":
        return 3
    if kind == "null":
        return None
    return about


def _about(name: str, about: str) -> str:
    return about if name in ("items", "value") else f"{name}: {about}"
