"""Turning text into shapes: the one set of rules that the runtime and the session side share.

Lists: JSON (whole, in a fence, or the last in the text), bullets, numbering, lines. Fields: JSON, `name: value` lines.
Yes/no words, numerals. Everything here is linear in the size of the text and never raises on any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

from .errors import BadValue, ShapeError
from .numerals import number_in, truth_in
from .values import Value, start_of

if TYPE_CHECKING:
    from .agents import FieldShape
    from .providers.protocol import JSON


Returns: TypeAlias = "FieldShape | None"
"""What `returns=` may be; None is text."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value must be.

    `fields` are an object's needed fields, `only` says that it has no others, and `typed` has the shapes of those
    fields that are no texts. `item` is what the elements of a list must be: an object, or None for texts.
    """

    kind: Literal["list", "boolean", "number", "object"]
    fields: tuple[str, ...] = ()
    only: bool = False
    typed: tuple[tuple[str, Shape], ...] = ()
    item: Shape | None = None

    @classmethod
    def of(cls, returns: Returns) -> Shape | None:
        """The shape that a call's `returns=` stands for."""
        return None if returns is None else _shape(returns)

    @property
    def exact(self) -> bool:
        """A schema can say all of it: no object in it may have more fields than those named."""
        if self.kind == "list":
            return self.item is None or self.item.exact
        return self.kind != "object" or (self.only and bool(self.fields) and all(s.exact for _, s in self.typed))

    def plain(self) -> JSON:
        """The shape as part of an identity, and in the journal."""
        parts: list[JSON] = [self.kind, list(self.fields), self.only]
        if self.typed:
            parts.append({name: shape.plain() for name, shape in self.typed})
        return parts if self.item is None else [*parts, self.item.plain()]

    @classmethod
    def read(cls, plain: Sequence[Any]) -> Shape:
        """The shape that `plain` wrote."""
        kind, fields, only, *rest = plain
        typed: tuple[tuple[str, Shape], ...] = ()
        if rest and isinstance(rest[0], dict):
            typed = tuple([(name, cls.read(shape)) for name, shape in rest.pop(0).items()])
        return cls(kind, tuple(fields), only, typed, cls.read(rest[0]) if rest else None)

    def __str__(self) -> str:
        if self.kind == "object" and self.fields:
            return "an object with " + ", ".join(self.fields)
        if self.item is not None:
            return "a list of objects" + (f" with {', '.join(self.item.fields)}" if self.item.fields else "")
        return {"list": "a list", "boolean": "yes or no", "number": "a number", "object": "an object"}[
            self.kind
        ]


_LIST: Final = Shape("list")
_BOOLEAN: Final = Shape("boolean")
_NUMBER: Final = Shape("number")


def _shape(of: FieldShape) -> Shape:
    if isinstance(of, type):
        return _LIST if of is list else _BOOLEAN if of is bool else _NUMBER
    if isinstance(of, Sequence):
        (item,) = of
        return Shape("list", item=_shape(item))
    typed = tuple([(name, _shape(shape)) for name, shape in of.shapes.items()])
    return Shape("object", (*of.names, *of.shapes), of.only, typed)


def turn(value: Value, shape: Shape) -> Value | None:
    """`value` in `shape`, or None where the shared rules can't turn it."""
    if value.is_text:
        return turn_text(value.text, shape)
    if shape.kind == "list":
        listed = _as_list(value)
        return listed if listed is None or shape.item is None else _with_items(listed, shape.item)
    if shape.kind == "object":
        return _with_fields(value, shape) if value.kind in ("object", "error") else None
    if shape.kind == "boolean":
        if value.kind == "boolean":
            return value
        return Value(bool(value)) if value.kind in ("number", "null") else None
    return value if value.kind == "number" else None


def turn_text(text: str, shape: Shape) -> Value | None:
    """`text` in `shape`, or None where the shared rules can't turn it."""
    if shape.kind == "number":
        number = number_in(text.lstrip(" \t\r\n*`\"'").rstrip(" \t\r\n*`\"'.")) if len(text) < 400 else None
        return None if number is None else Value(number)
    if shape.kind == "boolean":
        truth = truth_in(text)
        return None if truth is None else Value(truth)
    if shape.kind == "list":
        if shape.item is not None:
            return _objects_in(text, shape.item)
        listed = _list_in_json(text)
        return _list_in_lines(text) if listed is None else listed
    read = _object_in_json(text, shape.fields)
    read = _object_in_lines(text, shape.fields) if read is None else read
    return None if read is None else _with_fields(read, shape)


def _with_fields(value: Value, shape: Shape) -> Value | None:
    """An object whose typed fields have their shapes; None where one can't be turned. Missing ones stay so."""
    if not shape.typed or value.kind != "object":
        return value
    fields = dict(value.fields)
    for name, of in shape.typed:
        there = fields.get(name)
        if there is None or there.is_null:
            continue
        turned = turn(there, of)
        if turned is None:
            return None
        fields[name] = turned
    return Value(fields)


def _with_items(value: Value, item: Shape) -> Value | None:
    """A list whose elements have their shape; None where one can't be turned."""
    elements: list[Value] = []
    for element in value.items:
        turned = turn(element, item)
        if turned is None:
            return None
        elements.append(turned)
    return Value(elements)


def refused(value: Value, shape: Shape, name: str | None) -> ShapeError:
    """The error for a value that neither the rules nor the repair question could turn."""
    what = f"'{name}'" if name else "a value"
    if value.is_text:
        found = f"its text begins {start_of(value.text)}" if value.text.strip() else "its text is empty"
    else:
        found = f"it is {value.kind}"
    return ShapeError(f"{what} can't be read as {shape}: {found}")


# JSON


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_no_constant)
_START: Final = re.compile(r'\[(?=\s*(?:["\[{\]]|-?\d|true|false|null))|\{(?=\s*["}])')
_REACH: Final = 50_000
_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*$", re.MULTILINE)


def _parsed(text: str) -> Value | None:
    """`text` as a JSON list or object, or None."""
    bare = text.strip()
    if not bare or bare[0] not in "[{" or bare[-1] not in "]}":
        return None
    try:
        found: JSON = _DECODER.decode(bare)
        return Value(found)
    except (ValueError, RecursionError, BadValue):
        return None


def _fenced(text: str) -> Iterator[str]:
    """The contents of the fences in `text`, last first."""
    contents: list[str] = []
    opened: tuple[str, int] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = (match[1], match.end())
        elif match[1][0] == opened[0][0] and len(match[1]) >= len(opened[0]):
            contents.append(text[opened[1] : match.start()])
            opened = None
    return reversed(contents)


def _inside(text: str) -> list[Value]:
    """The outermost JSON lists and objects that stand in a text, in order.

    A failed attempt costs what it read. The sum is bounded, so that a text made of opening brackets costs no more
    than a few readings of it.
    """
    found: list[Value] = []
    budget = 4 * len(text) + 10_000
    position = 0
    while budget > 0 and (match := _START.search(text, position)):
        start = match.start()
        if start > _REACH:
            # json counts lines from the text's beginning for every error; so the beginning is kept near.
            text, start = text[start:], 0
        try:
            data, position = _DECODER.raw_decode(text, start)
            found.append(Value(data))
        except json.JSONDecodeError as error:
            budget -= max(error.pos - start, 0) + 40
            position = start + 1
        except (ValueError, RecursionError, BadValue):
            budget -= len(text) // 8 + 1_000
            position = start + 1
    return found


def _list_in_json(text: str) -> Value | None:
    whole = _parsed(text)
    if whole is not None:
        return _as_list(whole)
    for content in _fenced(text):
        fenced = _parsed(content)
        if fenced is not None and (listed := _as_list(fenced)) is not None:
            return listed
    if _listed_lines(text):
        # A list written as such comes before brackets that stand in its items: links, [1], {placeholders}.
        return None
    for value in reversed(_inside(text)):
        if (listed := _as_list(value)) is not None:
            return listed
    return None


def _objects_in(text: str, item: Shape) -> Value | None:
    """The list of objects in a text: the first JSON list that is one, else the items of a list written as lines."""
    whole = _parsed(text)
    if whole is not None:
        listed = _as_list(whole)
        return None if listed is None else _with_items(listed, item)
    for candidate in (*map(_parsed, _fenced(text)), *reversed(_inside(text))):
        listed = None if candidate is None else _as_list(candidate)
        if listed is not None and (objects := _with_items(listed, item)) is not None:
            return objects
    written = _with_items(_list_in_lines(text), item)
    # A line is easily taken for a field: only items that have them all are objects of this list.
    complete = written is not None and all(f in one.fields for one in written.items for f in item.fields)
    return written if complete else None


def _as_list(value: Value) -> Value | None:
    """A list, or the only list in an object."""
    return value if value.kind == "list" else _only_list(value) if value.kind == "object" else None


def _only_list(value: Value) -> Value | None:
    """The list of an object that holds exactly one: {"companies": [...]}."""
    lists = [member for member in value.fields.values() if member.kind == "list"]
    return lists[0] if len(lists) == 1 else None


def _object_in_json(text: str, fields: tuple[str, ...]) -> Value | None:
    whole = _parsed(text)
    if whole is not None:
        return whole if whole.kind == "object" else None
    candidates = [v for c in _fenced(text) if (v := _parsed(c)) is not None]
    candidates += reversed(_inside(text))
    for value in candidates:
        if value.kind == "object" and (not fields or any(f in value.fields for f in fields)):
            return value
    return None


# Lines

_BULLET: Final = re.compile(r"([ \t]*)(?:[-*+•‣▪\u2013][ \t]+)(\S.*)")
_NUMBERED: Final = re.compile(r"([ \t]*)(?:\(?\d{1,6}[.)][ \t]+)(\S.*)")


def _listed_lines(text: str) -> list[str]:
    """The items of the bulleted or numbered list in a text; what stands deeper belongs to its item."""
    items: list[list[str]] = []
    pattern: re.Pattern[str] | None = None
    indent = 0
    blank = False
    for line in text.splitlines():
        if pattern is None:
            pattern = next((p for p in (_BULLET, _NUMBERED) if p.match(line)), None)
            if pattern is None:
                continue
            indent = len(line) - len(line.lstrip())
        match = pattern.match(line)
        if match and len(match[1]) <= indent:
            items.append([match[2].rstrip()])
        elif not line.strip():
            blank = True
            continue
        elif not blank or line[: indent + 1].isspace():
            items[-1].append(line.strip())
        blank = False
    return ["\n".join(item) for item in items]


def _list_in_lines(text: str) -> Value:
    listed = _listed_lines(text)
    if not listed:
        listed = [line.strip() for line in text.splitlines() if line.strip()]
    return Value(listed)


_NAMED: Final = re.compile(r"[ \t]*(?:[-*+•][ \t]+)?[*_`\"]{0,3}([^\W\d][\w \t-]{0,60}?)[*_`\"]{0,3}[ \t]*:[*_`\"]{0,3}(?:[ \t]+(.*)|$)")


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


def _object_in_lines(text: str, fields: tuple[str, ...]) -> Value | None:
    wanted = {_key(field): field for field in fields}
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        match = _NAMED.match(line)
        if match:
            name = match[1].strip()
            current = found.setdefault(wanted.get(_key(name), name), [])
            current.append((match[2] or "").strip())
        elif current is not None:
            current.append(line.strip())
    if not found or (fields and not any(field in found for field in fields)):
        return None
    return Value({name: "\n".join(lines).strip() for name, lines in found.items()})
