"""Python literals and small expressions as libcst nodes: nothing of a program is ever pasted into code as text.

Two characters stand in for what only the finished module knows. `LINE` marks (with a source line between two of
them) come before `run` or a block's name in every call, so that the footer can map emitted lines to source lines:
a letter, because libcst wants names to be names. `BREAK` stands for a line break inside a string, so that indenting
code can't change what strings hold. Neither can come from a program: in literals, both are always escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import libcst as cst

LINE = "\N{OLD SOUTH ARABIAN LETTER HE}"
BREAK = "\x02"
_MARK = re.compile(f"{LINE}(\\d+){LINE}")

_PLAIN_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escaped(character: str) -> str:
    known = _PLAIN_ESCAPES.get(character)
    if known is not None:
        return known
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _printable(text: str) -> str:
    """Everything that a reader of the code could not see becomes an escape."""
    if text.isprintable() and LINE not in text:
        return text
    return "".join(c if c.isprintable() and c != LINE else _escaped(c) for c in text)


def _body(text: str, quote: str) -> str:
    return _printable(text.replace("\\", "\\\\").replace(quote, "\\" + quote))


def unmarked(text: str) -> str:
    """Code without the marks of source lines."""
    return _MARK.sub("", text)


def marks(text: str) -> list[int]:
    """The source lines that code is marked with, in order."""
    return [int(number) for number in _MARK.findall(text)]


def _line(text: str) -> str:
    # A line that begins like this would be taken for a block of script metadata (PEP 723).
    return "\\x23" + text[1:] if text.startswith("# ///") else text


def _lines(text: str, *, ends: bool = True) -> str:
    """The inside of a triple-quoted string, with BREAK for its line breaks; `ends`: the closing quotes follow."""
    last = '\\"' if ends and text.endswith('"') else ""
    kept = text.removesuffix('"') if last else text
    escaped = kept.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + last
    return BREAK.join(_line(_printable(line)) for line in escaped.split("\n"))


def quote_for(text: str) -> Literal['"', "'"]:
    """The quotes that need the fewest escapes, double ones when in doubt (black would choose the same)."""
    return "'" if '"' in text and "'" not in text else '"'


def string(text: str, *, multiline: bool = False, quote: str | None = None) -> cst.SimpleString:
    """A string literal; `multiline` allows the triple-quoted form when the text has line breaks."""
    if multiline and "\n" in text:
        return cst.SimpleString(f'"""\\{BREAK}{_lines(text)}"""')
    quote = quote or quote_for(text)
    return cst.SimpleString(quote + _body(text, quote) + quote)


def formatted(
    parts: Sequence[str | cst.BaseExpression], render: Iterable[str], *, multiline: bool = False
) -> cst.BaseExpression:
    """A text with values in it: an f-string where Python 3.11 can hold the values' code, else `"...".format(...)`.

    `render` gives the code of each value, in order: neither a backslash nor the string's own quote may be in it.
    """
    literal = "".join(part for part in parts if isinstance(part, str))
    many = multiline and "\n" in literal
    quote: Literal['"', "'", '"""'] = '"""' if many else quote_for(literal)
    codes = list(render)
    if any("\\" in code or quote[0] in code or BREAK in code for code in codes):
        template = "".join(part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else "{}" for part in parts)
        values = [part for part in parts if not isinstance(part, str)]
        return call(cst.Attribute(string(template, multiline=multiline), cst.Name("format")), values)
    pieces: list[cst.BaseFormattedStringContent] = []
    for part in parts:
        if isinstance(part, str):
            doubled = part.replace("{", "{{").replace("}", "}}")
            last = part is parts[-1]
            pieces.append(cst.FormattedStringText(_lines(doubled, ends=last) if many else _body(doubled, quote)))
        else:
            pieces.append(cst.FormattedStringExpression(part))
    if many:
        pieces.insert(0, cst.FormattedStringText("\\" + BREAK))
    return cst.FormattedString(pieces, start="f" + quote, end=quote)


def number(value: int | float) -> cst.BaseExpression:
    """A numeral; negative ones are written with a minus."""
    if value < 0:
        return cst.UnaryOperation(cst.Minus(), number(-value))
    return cst.Integer(str(value)) if isinstance(value, int) else cst.Float(repr(value))


def name(text: str) -> cst.Name:
    return cst.Name(text)


def call(
    function: cst.BaseExpression,
    positional: Sequence[cst.BaseExpression] = (),
    keywords: Sequence[tuple[str, cst.BaseExpression]] = (),
) -> cst.Call:
    """`function(positional, keyword=value)`."""
    arguments = [cst.Arg(value) for value in positional]
    arguments += [cst.Arg(value, keyword=cst.Name(key), equal=_TIGHT) for key, value in keywords]
    return cst.Call(function, arguments)


_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def dictionary(entries: Sequence[tuple[str, cst.BaseExpression] | cst.BaseExpression]) -> cst.Dict:
    """`{"key": value, **mapping}`."""
    return cst.Dict(
        [
            cst.DictElement(string(entry[0]), entry[1]) if isinstance(entry, tuple) else cst.StarredDictElement(entry)
            for entry in entries
        ]
    )


def listing(items: Sequence[cst.BaseExpression]) -> cst.List:
    return cst.List([cst.Element(item) for item in items])


def subscript(value: cst.BaseExpression, index: cst.BaseExpression) -> cst.Subscript:
    return cst.Subscript(value, [cst.SubscriptElement(cst.Index(index))])


def attribute(value: cst.BaseExpression, field: str) -> cst.Attribute:
    return cst.Attribute(value, cst.Name(field))


def parenthesised(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def thunk(value: cst.BaseExpression, *parameters: str) -> cst.Lambda:
    """`lambda parameters: value`."""
    return cst.Lambda(
        cst.Parameters([cst.Param(cst.Name(parameter)) for parameter in parameters]),
        value,
        whitespace_after_lambda=cst.SimpleWhitespace(" " if parameters else ""),
    )


_MODULE = cst.Module([])


def code(node: cst.CSTNode) -> str:
    """A node as text."""
    return _MODULE.code_for_node(node)


def docstring(text: str) -> cst.SimpleString:
    """A docstring; its line breaks are indented with the code, as docstrings are."""
    last = '\\"' if text.endswith('"') else ""
    escaped = text.removesuffix('"').replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + last
    body = "\n".join(_printable(line) for line in escaped.split("\n"))
    return cst.SimpleString(f'"""{body}\n"""' if "\n" in body else f'"""{body}"""')
