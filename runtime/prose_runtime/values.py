"""Values: the one immutable, typed class for everything a program can name, and its operators.

Its rules never depend on where a value came from: text that is a numeral counts as a number, wherever it stands. Whatever
an operator can't do raises BadValue, which a program can catch; never a TypeError, KeyError or ZeroDivisionError.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, Union

from .errors import BadValue, ProseError
from .numerals import number_in, truth_in

if TYPE_CHECKING:
    from .providers.protocol import JSON

Kind = Literal["text", "list", "object", "number", "boolean", "null", "error"]

Liftable = Union[
    "Value",
    str,
    int,
    float,
    bool,
    None,
    ProseError,
    Sequence["Liftable"],
    Mapping[str, "Liftable"],
]
"""What may be passed wherever a value is expected."""

DEEPEST: Final = 200
"""Levels of lists and objects in one value. A bound, so that no walk over a value can exhaust the stack."""

LARGEST: Final = 10**300
"""Numbers beyond this are refused: Python could neither divide nor print them."""

notices: ContextVar[Callable[[str], None] | None] = ContextVar("notices", default=None)
"""Where a value reports what is odd but no error (a missing field). Set by the run."""


class Value:
    """An immutable value: text, list, object, number, boolean, null or error.

    `Value(x)` lifts anything liftable; a Value is returned as it is.
    """

    __slots__ = ("_data", "_deep", "_digest", "_kind", "_text")

    _kind: Kind
    _data: str | int | float | bool | ProseError | tuple[Value, ...] | dict[str, Value] | None
    _deep: int
    _text: str | None
    _digest: str | None

    def __new__(cls, raw: Liftable = None) -> Value:
        if type(raw) is Value:
            return raw
        return _lift(raw, 0)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("values are immutable")

    def __reduce__(self) -> tuple[type[Value], tuple[object]]:
        return (Value, (self._data,))

    # What it is

    @property
    def kind(self) -> Kind:
        return self._kind

    @property
    def is_text(self) -> bool:
        return self._kind == "text"

    @property
    def is_null(self) -> bool:
        return self._kind == "null"

    @property
    def text(self) -> str:
        """The text form: what sessions see. Text is itself; lists and objects are JSON; an error is its message."""
        data = self._data
        if isinstance(data, str):
            return data
        if self._text is None:
            _set(self, "_text", _text_form(self))
        assert self._text is not None
        return self._text

    @property
    def items(self) -> tuple[Value, ...]:
        """The elements of a list; BadValue for any other kind."""
        if isinstance(self._data, tuple):
            return self._data
        raise BadValue(f"{_a(self)} has no elements")

    @property
    def fields(self) -> Mapping[str, Value]:
        """The fields of an object (and of an error); BadValue for any other kind."""
        if isinstance(self._data, dict):
            return self._data
        if isinstance(self._data, ProseError):
            return {name: _of_error(self._data, name) for name in ("message", "kind", "line")}
        raise BadValue(f"{_a(self)} has no fields")

    @property
    def error(self) -> ProseError | None:
        """The error that this value is, if it is one."""
        return self._data if isinstance(self._data, ProseError) else None

    @property
    def number(self) -> int | float | None:
        """This value as a number: numbers, and text that is a numeral; else None."""
        data = self._data
        if isinstance(data, bool):
            return None
        if isinstance(data, (int, float)):
            return data
        return number_in(data) if isinstance(data, str) else None

    def plain(self) -> JSON:
        """The value as plain JSON data."""
        data = self._data
        if isinstance(data, tuple):
            return [item.plain() for item in data]
        if isinstance(data, dict):
            return {name: item.plain() for name, item in data.items()}
        if isinstance(data, ProseError):
            return {"message": data.message, "kind": data.kind, "line": data.line}
        return data

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return format(self.text, spec) if spec else self.text

    def __repr__(self) -> str:
        return f"Value({self._data!r})"

    def __bool__(self) -> bool:
        data = self._data
        if isinstance(data, str):
            return bool(data.strip()) and truth_in(data) is not False
        if isinstance(data, ProseError):
            return True
        return bool(data)

    # Comparing

    def __eq__(self, other: object) -> bool:
        try:
            return _equal(self, Value(other))  # type: ignore[arg-type]
        except BadValue:
            return False

    def __hash__(self) -> int:
        data = self._data
        if isinstance(data, str):
            number = number_in(data)
            if number is not None:
                return hash(number)
            truth = truth_in(data)
            return hash(data) if truth is None else hash(truth)
        if isinstance(data, dict):
            return hash(frozenset(data))
        return hash(len(data)) if isinstance(data, tuple) else hash(data)

    def __lt__(self, other: Liftable) -> bool:
        return _order(self, Value(other), "<") < 0

    def __le__(self, other: Liftable) -> bool:
        return _order(self, Value(other), "<=") <= 0

    def __gt__(self, other: Liftable) -> bool:
        return _order(self, Value(other), ">") > 0

    def __ge__(self, other: Liftable) -> bool:
        return _order(self, Value(other), ">=") >= 0

    def __contains__(self, item: Liftable) -> bool:
        wanted = Value(item)
        data = self._data
        if isinstance(data, tuple):
            return any(_equal(element, wanted) for element in data)
        if isinstance(data, dict):
            return wanted.text in data
        if isinstance(data, str):
            return wanted.text in data
        raise BadValue(f"'in' looks into lists, text and objects, not into {_a(self)}")

    # Reading

    def __getitem__(self, key: Liftable) -> Value:
        data = self._data
        wanted = Value(key)
        if isinstance(wanted._data, str) and wanted.number is None:
            return _field(self, wanted._data)
        if isinstance(data, dict) and wanted.text in data:
            return data[wanted.text]
        return _element(self, wanted)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.items)

    # Calculating

    def __add__(self, other: Liftable) -> Value:
        return _add(self, Value(other))

    def __radd__(self, other: Liftable) -> Value:
        return _add(Value(other), self)

    def __sub__(self, other: Liftable) -> Value:
        return _calculate(self, Value(other), "-")

    def __rsub__(self, other: Liftable) -> Value:
        return _calculate(Value(other), self, "-")

    def __mul__(self, other: Liftable) -> Value:
        return _calculate(self, Value(other), "*")

    def __rmul__(self, other: Liftable) -> Value:
        return _calculate(Value(other), self, "*")

    def __truediv__(self, other: Liftable) -> Value:
        return _calculate(self, Value(other), "/")

    def __rtruediv__(self, other: Liftable) -> Value:
        return _calculate(Value(other), self, "/")

    def __mod__(self, other: Liftable) -> Value:
        return _calculate(self, Value(other), "%")

    def __rmod__(self, other: Liftable) -> Value:
        return _calculate(Value(other), self, "%")

    def __neg__(self) -> Value:
        return _calculate(Value(0), self, "-")

    def __pos__(self) -> Value:
        return _calculate(Value(0), self, "+")


_set = object.__setattr__
_new = object.__new__


def _make(
    kind: Kind,
    data: str | int | float | bool | ProseError | tuple[Value, ...] | dict[str, Value] | None,
    deep: int,
) -> Value:
    value = _new(Value)
    _set(value, "_kind", kind)
    _set(value, "_data", data)
    _set(value, "_deep", deep)
    _set(value, "_text", None)
    _set(value, "_digest", None)
    return value


def _lift(raw: Liftable, level: int) -> Value:
    if isinstance(raw, Value):
        return raw
    if isinstance(raw, str):
        return _make("text", str(raw), 0)
    if raw is None:
        return _NULL
    if isinstance(raw, bool):
        return _TRUE if raw else _FALSE
    if isinstance(raw, (int, float)):
        return _make("number", _normal(raw), 0)
    if isinstance(raw, ProseError):
        raw.locate()
        return _make("error", raw, 0)
    if level > DEEPEST:
        raise BadValue(f"a value is nested deeper than {DEEPEST} levels")
    if isinstance(raw, Mapping):
        members = {str(name): _lift(item, level + 1) for name, item in raw.items()}
        return _collection("object", members, max((v._deep for v in members.values()), default=0))
    if isinstance(raw, Sequence):
        elements = tuple([_lift(item, level + 1) for item in raw])
        return _collection("list", elements, max((v._deep for v in elements), default=0))
    raise BadValue(f"{type(raw).__name__} is not something a program can hold")


def _collection(kind: Kind, data: tuple[Value, ...] | dict[str, Value], inner: int) -> Value:
    if inner >= DEEPEST:
        raise BadValue(f"a value is nested deeper than {DEEPEST} levels")
    return _make(kind, data, inner + 1)


def _normal(number: int | float) -> int | float:
    """The one form of a number: whole ones are ints, so that 4 / 2 prints as 2."""
    if isinstance(number, float):
        if not math.isfinite(number):
            raise BadValue("the result is too large for a number")
        if number.is_integer() and abs(number) < 2**53:
            return int(number)
        return number
    if not -LARGEST < number < LARGEST:
        raise BadValue("the result is too large for a number")
    return number


def _text_form(value: Value) -> str:
    data = value._data
    if isinstance(data, ProseError):
        return data.message
    if value._kind == "number" and isinstance(data, int):
        return str(data)
    return json.dumps(value.plain(), ensure_ascii=False)


_KIND_NAMES: Final[Mapping[Kind, str]] = {
    "text": "text",
    "list": "a list",
    "object": "an object",
    "number": "a number",
    "boolean": "a yes/no value",
    "null": "null",
    "error": "an error",
}


def _a(value: Value) -> str:
    """The kind of a value as a message names it, with the start of a text."""
    name = _KIND_NAMES[value._kind]
    return f"{name} {start_of(value.text)}" if isinstance(value._data, str) else name


def start_of(text: str, most: int = 60) -> str:
    """The start of a text as messages quote it: one line, quoted, at most `most` characters."""
    line = " ".join(text[: most * 2].split())
    return f'"{line[:most]}..."' if len(line) > most or len(text) > most * 2 else f'"{line}"'


def _equal(left: Value, right: Value) -> bool:
    if left is right:
        return True
    a, b = left._data, right._data
    if isinstance(a, bool) or isinstance(b, bool):
        return _truth(left) is not None and _truth(left) == _truth(right)
    one, two = left.number, right.number
    if one is not None and two is not None:
        return one == two
    if isinstance(a, ProseError) or isinstance(b, ProseError):
        return a is b
    return left._kind == right._kind and a == b


def _truth(value: Value) -> bool | None:
    """A yes/no value, or text that says yes or no; else None."""
    data = value._data
    if isinstance(data, bool):
        return data
    return truth_in(data) if isinstance(data, str) else None


def _order(left: Value, right: Value, sign: str) -> int:
    one, two = left.number, right.number
    if one is not None and two is not None:
        return (one > two) - (one < two)
    a, b = left._data, right._data
    if isinstance(a, str) and isinstance(b, str):
        return (a > b) - (a < b)
    raise BadValue(f"can't compare {_a(left)} {sign} {_a(right)}")


_JOINS_TEXT: Final = frozenset({"text", "number", "boolean", "object", "error"})


def _add(left: Value, right: Value) -> Value:
    a, b = left._data, right._data
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            return _collection("list", a + b, max(left._deep, right._deep, 1) - 1)
        return _collection("list", (*a, right), max(left._deep - 1, right._deep))
    if isinstance(b, tuple):
        return _collection("list", (left, *b), max(left._deep, right._deep - 1))
    if isinstance(a, str) and isinstance(b, str):
        return _make("text", a + b, 0)
    if left.number is not None and right.number is not None:
        return _calculate(left, right, "+")
    if "text" in (left._kind, right._kind) and {left._kind, right._kind} <= _JOINS_TEXT:
        return _make("text", left.text + right.text, 0)
    raise BadValue(f"can't add {_a(left)} + {_a(right)}")


def _calculate(left: Value, right: Value, sign: str) -> Value:
    one, two = left.number, right.number
    if one is None or two is None:
        raise BadValue(f"can't calculate {_a(left)} {sign} {_a(right)}: both must be numbers")
    try:
        if sign == "+":
            result = one + two
        elif sign == "-":
            result = one - two
        elif sign == "*":
            result = one * two
        elif sign == "/":
            result = one // two if _divides(one, two) else one / two
        else:
            result = one % two
    except ZeroDivisionError:
        raise BadValue(f"can't calculate {one} {sign} {two}: division by zero") from None
    except OverflowError:
        raise BadValue("the result is too large for a number") from None
    return _make("number", _normal(result), 0)


def _divides(one: int | float, two: int | float) -> bool:
    """Whole numbers that divide evenly stay exact, however large."""
    return isinstance(one, int) and isinstance(two, int) and one % two == 0


def _of_error(error: ProseError, name: str) -> Value:
    if name == "message":
        return Value(error.message)
    if name == "kind":
        return Value(error.kind)
    return Value(error.line)


def _field(value: Value, name: str) -> Value:
    data = value._data
    if isinstance(data, dict):
        if name in data:
            return data[name]
        if name == "length":
            return Value(len(data))
        return _missing(name, data)
    if name == "length" and isinstance(data, (str, tuple)):
        return Value(len(data))
    if isinstance(data, ProseError):
        fields = value.fields
        return fields[name] if name in fields else _missing(name, fields)
    if isinstance(data, str):
        from .shaping import Shape, refused, turn

        read = turn(value, Shape("object", (name,)))
        if read is None:
            raise refused(value, Shape("object", (name,)), None)
        return _field(read, name)
    raise BadValue(f"{_a(value)} has no field '{name}'")


def _missing(name: str, fields: Mapping[str, Value]) -> Value:
    tell = notices.get()
    if tell is not None:
        there = ", ".join(list(fields)[:8]) or "no fields"
        tell(f"an object has no field '{name}' (it has: {there}); its value is null")
    return _NULL


def _element(value: Value, key: Value) -> Value:
    position = key.number
    if position is None or not isinstance(position, int):
        raise BadValue(f"{_a(key)} can't be an index")
    if isinstance(value._data, str):
        from .shaping import Shape, refused, turn

        read = turn(value, Shape("list"))
        if read is None:
            raise refused(value, Shape("list"), None)
        value = read
    data = value._data
    if not isinstance(data, tuple):
        raise BadValue(f"{_a(value)} has no element [{position}]")
    if not -len(data) <= position < len(data):
        raise BadValue(f"index {position} is out of range: the list has {len(data)} elements")
    return data[position]


_NULL = _make("null", None, 0)
_TRUE = _make("boolean", True, 0)
_FALSE = _make("boolean", False, 0)
