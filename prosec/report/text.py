"""Diagnostics as text for people: place, excerpt with the span underlined, help and fix."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import category, east_asian_width

from prosec.diagnostics import Diagnostic, Severity
from prosec.source import Source, Span

WIDEST = 110
"""Columns of an excerpt; a longer line is clipped around the span."""

_TAB = 4
_BEFORE = 30
"""Columns kept in front of a span when its line is clipped."""

_ELLIPSIS = "…"
_RESET = "\x1b[0m"
_COLOURS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    "frame": "\x1b[34m",
    "related": "\x1b[1;34m",
    "strong": "\x1b[1m",
}
# Zero-width joiner and non-joiner: many scripts and emoji need them, and they hide nothing.
_HARMLESS_FORMATS = {"\u200c", "\u200d"}


def render(source: Source, diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """All diagnostics of one file, one after the other, each ending in a newline; "" when there are none."""
    painter = _Painter(colour)
    return "".join(_render_one(source, diagnostic, painter) for diagnostic in diagnostics)


def neutralise(text: str) -> str:
    """`text` with whatever could move a terminal's cursor, colour or reading direction made visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char) for char in text)


class _Painter:
    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, style: str, text: str) -> str:
        return f"{_COLOURS[style]}{text}{_RESET}" if self.colour and text else text


def _render_one(source: Source, diagnostic: Diagnostic, paint: _Painter) -> str:
    severity = diagnostic.severity
    spans = [diagnostic.span, *(related.span for related in diagnostic.related)]
    gutter = max(len(str(source.position(_last(span)).line)) for span in spans)
    margin = " " * gutter

    start = source.position(diagnostic.span.start)
    place = f"{neutralise(source.path)}:{start.line}:{start.column}"
    code = paint(severity, f"{severity} {diagnostic.code}")
    lines = [f"{paint('strong', place)}: {code}: {neutralise(diagnostic.message)}"]
    bar = paint("frame", f"{margin} |")
    lines.append(bar)
    lines += _excerpt(source, diagnostic.span, diagnostic.label, "^", severity, gutter, paint)
    for related in diagnostic.related:
        lines.append(bar)
        lines += _excerpt(source, related.span, related.message, "-", "related", gutter, paint)
    equals = paint("frame", f"{margin} =")
    if diagnostic.help is not None:
        lines.append(f"{equals} help: {_indented(diagnostic.help, gutter)}")
    if diagnostic.raised:
        lines.append(f"{equals} note: a warning, which --strict turns into an error")
    if diagnostic.fix is not None:
        lines.append(f"{equals} fix: {_indented(diagnostic.fix.title, gutter)}")
    return "\n".join(lines) + "\n"


def _indented(text: str, gutter: int) -> str:
    return ("\n" + " " * (gutter + 9)).join(neutralise(line) for line in text.split("\n"))


def _excerpt(
    source: Source, span: Span, label: str, mark: str, style: str, gutter: int, paint: _Painter
) -> list[str]:
    """The lines of a span with what is meant underlined; of several lines, the first and the last."""
    first = source.position(span.start)
    last = source.position(_last(span))
    label = neutralise(label)
    bar = paint("frame", f"{' ' * gutter} |")

    def numbered(line: int, shown: str) -> str:
        return f"{paint('frame', f'{line:>{gutter}} |')} {shown}".rstrip()

    def underlined(before: int, width: int, text: str) -> str:
        marks = mark * max(width, 1) + (f" {text}" if text else "")
        return f"{bar} {' ' * before}{paint(style, marks)}"

    if first.line == last.line:
        text = source.line_text(first.line)
        shown, before, width = _clip(
            text, first.column - 1, first.column - 1 + span.end - span.start
        )
        return [numbered(first.line, shown), underlined(before, width, label)]

    text = source.line_text(first.line)
    shown, before, width = _clip(text, first.column - 1, len(text))
    lines = [numbered(first.line, shown), underlined(before, width, "")]
    left_out = last.line - first.line - 1
    if left_out == 1:
        shown, _, _ = _clip(source.line_text(first.line + 1), 0, 0)
        lines.append(numbered(first.line + 1, shown))
    elif left_out:
        lines.append(f"{bar} ... ({left_out} lines)")
    text = source.line_text(last.line)
    indent = len(text) - len(text.lstrip())
    shown, before, width = _clip(text, min(indent, last.column - 1), last.column)
    lines += [numbered(last.line, shown), underlined(before, width, label)]
    return lines


def _last(span: Span) -> int:
    """The offset of a span's last character, or its start when it is empty."""
    return max(span.start, span.end - 1)


def _clip(text: str, start: int, end: int) -> tuple[str, int, int]:
    """What is shown of a line, the columns before its characters start..end, and the columns these take.

    Only what can be seen is measured, however long the line.
    """
    end = min(max(end, start), len(text))
    first = 0
    # What stands before the span gives way first: what is shown begins a little before it.
    if _columns(text, 0, end) > WIDEST - 2 * len(_ELLIPSIS):
        first = start
        while first > 0 and _columns(text, first - 1, start) <= _BEFORE:
            first -= 1
        if first == 1:
            first = 0
    shown: list[str] = [_ELLIPSIS] if first else []
    column = len(_ELLIPSIS) if first else 0
    before = column
    stop = column
    clipped = False
    for at in range(first, len(text)):
        cell = _cell(text[at], column)
        width = _width(cell)
        if column + width > WIDEST - len(_ELLIPSIS) and at < len(text) - 1:
            clipped = True
            break
        if at == start:
            before = column
        shown.append(cell)
        column += width
        if at < end:
            stop = column
    if start >= len(text):
        before = stop = column
    return "".join(shown) + (_ELLIPSIS if clipped else ""), before, stop - before


def _columns(text: str, start: int, end: int) -> int:
    """About how many columns text[start:end] takes; no more are counted than a line may have."""
    columns = 0
    for at in range(start, end):
        columns += _width(_cell(text[at], 0))
        if columns > WIDEST:
            break
    return columns


def _cell(char: str, column: int) -> str:
    """What stands for one character of the source at a column of the excerpt."""
    if char == "\t":
        return " " * (_TAB - column % _TAB)
    return char if " " <= char <= "~" else _visible(char)


def _visible(char: str) -> str:
    kind = category(char)
    if kind == "Cc":
        code = ord(char)
        if code < 0x20:
            return chr(0x2400 + code)
        return "\u2421" if code == 0x7F else f"<{code:02X}>"
    if kind in ("Cs", "Co", "Zl", "Zp") or (kind == "Cf" and char not in _HARMLESS_FORMATS):
        return f"<U+{ord(char):04X}>"
    return char


def _width(text: str) -> int:
    """The columns that a terminal gives to `text`."""
    if text.isascii():
        return len(text)
    width = 0
    for char in text:
        if east_asian_width(char) in "WF":
            width += 2
        elif category(char) not in ("Mn", "Me", "Cf"):
            width += 1
    return width
