"""Texts: what stands between quotes and between `**`: escapes, and braces that may be interpolations."""

from __future__ import annotations

import re

from prosec.diagnostics import Edit, Fix
from prosec.source import Span
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.cursor import Cursor

_PIECE = re.compile(r"\\(?s:.)|\$\{+|\{\{+|\{([^{}\n\\]*+)\}")
_NAME = r"[A-Za-z_]\w*+(?:-[A-Za-z0-9]\w*+)*+"
_PATH = re.compile(rf"({_NAME})((?:\.{_NAME}|\[(?:-?[0-9]{{1,18}}|{_NAME})\])*+)\Z", re.ASCII)
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")
_OPERATION = re.compile(r"(?:^|\s)not\s|\s(?:or|and|in|is|==|!=|<=?|>=?|[+\-*/%])\s")
_ESCAPED = {"\\": "\\", '"': '"', "n": "\n", "t": "\t", "{": "{", "}": "}"}

_TRIPLE_KINDS = frozenset({t.TRIPLE, t.OPEN_TRIPLE})


class TextParser(Cursor):
    """Reads the contents of strings and discretions."""

    def text(self) -> n.Text:
        """The string at hand; the token must be one of a string, or in single quotes."""
        at = self.at
        kind = self.kinds[at]
        start, end = self.starts[at], self.ends[at]
        self.at = at + 1
        source = self.source.text
        if kind is t.STRING:
            content = source[start + 1 : end - 1]
            if "{" not in content and "\\" not in content:
                return n.Text(Span(start, end), (content,) if content else (), False)
            return n.Text(Span(start, end), self.parts(start + 1, end - 1, kind), False)
        if kind is t.TRIPLE:
            inner, stop = start + 3, end - 3
        elif kind is t.OPEN_TRIPLE:
            self.unterminated_triple(at)
            inner, stop = start + 3, end
        elif kind is t.OPEN_STRING:
            if (line_end := source.find("\n", start, end)) >= 0:
                end = line_end
            if source[end - 1] == "\r":
                end -= 1
            self.report(
                "E001",
                "unterminated string",
                Span(start, end),
                'close it with a double quote on this line, or use """ for text over several lines',
                label="the string starts here",
            )
            return n.Text(Span(start, end), (source[start + 1 : end],) if end > start + 1 else (), False)
        else:
            wrong = self.single_quotes(at).diagnostic
            assert wrong is not None
            self.diagnostics.append(wrong)
            words = source[start:end].strip("'")
            return n.Text(Span(start, end), (words,) if words else (), False)
        if source.startswith("\n", inner):
            inner += 1
        elif source.startswith("\r\n", inner):
            inner += 2
        return n.Text(Span(start, end), self.parts(inner, max(stop, inner), kind), True)

    def discretion(self) -> n.Discretion:
        """The `**...**` at hand."""
        at = self.at
        start, end = self.starts[at], self.ends[at]
        self.at = at + 1
        source = self.source.text
        if self.kinds[at] is t.OPEN_DISCRETION:
            marks = "***" if source.startswith("***", start) else "**"
            self.report(
                "E049",
                "unterminated discretion",
                Span(start, start + len(marks)),
                f"close it with `{marks}`" + (", or write *** around text over several lines" if marks == "**" else ""),
                label="it starts here",
            )
            return n.Discretion(Span(start, end), (source[start:end].strip("* \t\r\n") or "?",))
        width = 3 if source.startswith("***", start) else 2
        if source.startswith("****", start):
            self.report("E039", "empty discretion", Span(start, end), "write what is to be decided between the `**`")
            return n.Discretion(Span(start, end), ("?",))
        parts = self.parts(start + width, end - width, t.DISCRETION)
        if not parts:
            self.report("E039", "empty discretion", Span(start, end), "write what is to be decided between the `**`")
            return n.Discretion(Span(start, end), ("?",))
        if width == 2 and "\n" in source[start:end]:
            edits = (Edit(Span(start, start), "*"), Edit(Span(end, end), "*"))
            self.report(
                "W027",
                "`**` around text over several lines",
                Span(start, start + 2),
                "write *** around text over several lines",
                Fix("write `***`", edits, safe=True),
            )
        return n.Discretion(Span(start, end), parts)

    def parts(self, start: int, end: int, kind: str) -> tuple[str | n.Hole, ...]:
        """What stands between two offsets, as literal pieces and holes."""
        source = self.source.text
        discretion = kind is t.DISCRETION
        parts: list[str | n.Hole] = []
        literal: list[str] = []
        unknown: list[int] = []
        done = start
        for match in _PIECE.finditer(source, start, end):
            at, after = match.span()
            if source[at] == "\\":
                letter = source[at + 1]
                plain = _ESCAPED.get(letter)
                if discretion:
                    if letter not in "{}":
                        continue
                elif plain is None:
                    unknown.append(at)
                    continue
                assert plain is not None
                literal.append(source[done:at])
                literal.append(plain)
                done = after
                continue
            inner = match[1]
            if not inner:
                continue
            hole = self.hole(inner, at)
            if hole is None:
                continue
            literal.append(source[done:at])
            done = after
            before = "".join(literal)
            literal.clear()
            if discretion:
                before = _join_lines(before)
                if not parts:
                    before = before.lstrip()
            if before:
                parts.append(before)
            parts.append(hole)
        literal.append(source[done:end])
        last = "".join(literal)
        if discretion:
            last = _join_lines(last).rstrip()
            if not parts:
                last = last.lstrip()
        if last:
            parts.append(last)
        if unknown:
            self.unknown_escapes(unknown, kind)
        return tuple(parts)

    def unknown_escapes(self, places: list[int], kind: str) -> None:
        source = self.source.text
        if kind in _TRIPLE_KINDS:
            at = places[0]
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            edits = tuple(Edit(Span(place, place), "\\") for place in places)
            self.report(
                "W027",
                f"unknown escape `{_visible(source[at : at + 2])}`{more}, kept as it is",
                Span(at, at + 2),
                "write two backslashes for one",
                Fix("double the backslash", edits, safe=True),
            )
            return
        for at in places:
            self.report(
                "E002",
                f"unknown escape `{_visible(source[at : at + 2])}`",
                Span(at, at + 2),
                'escapes are \\\\ \\" \\n \\t \\{ \\}; write two backslashes for one',
                Fix("double the backslash", (Edit(Span(at, at), "\\"),)),
            )

    def hole(self, inner: str, at: int) -> n.Hole | None:
        """What stands in braces at an offset, if it may be an interpolation."""
        path = _PATH.match(inner)
        if path is not None:
            value = self.path(path, at + 1)
            if value is None:
                return None
        elif len(inner) <= 2000 and _OPERATION.search(inner):
            value = self.operation_in_hole(at + 1, at + 1 + len(inner))
            if value is None:
                return None
        else:
            return None
        return n.Hole(Span(at, at + len(inner) + 2), "{" + inner + "}", value)

    def path(self, match: re.Match[str], offset: int) -> n.Expression | None:
        """`name.field[0]` as nodes; None when it is longer than a tree may be deep."""
        name = match[1]
        end = offset + len(name)
        value: n.Expression = n.Ref(Span(offset, end), name)
        if not match[2]:
            return value if name not in t.RESERVED else None
        if name in t.RESERVED:
            return None
        steps = 0
        for step in _STEP.finditer(match[2]):
            steps += 1
            if steps > 50:
                return None
            after = end + step.end()
            if step[1]:
                inner = Span(end + step.start() + 1, after)
                value = n.Field(Span(offset, after), value, step[1], inner)
                continue
            inner = Span(end + step.start() + 1, after - 1)
            text = step[2]
            index: n.Expression
            if text[0] == "-":
                index = n.Unary(inner, "-", n.Number(Span(inner.start + 1, inner.end), text[1:]))
            elif text[0].isdigit():
                index = n.Number(inner, text)
            else:
                index = n.Ref(inner, text)
            value = n.Index(Span(offset, after), value, index)
        return value

    def operation_in_hole(self, start: int, end: int) -> n.Expression | None:
        """The operator expression between two offsets; None when it isn't one, and so is plain text."""
        raise NotImplementedError


def _join_lines(literal: str) -> str:
    """A piece of a discretion with its lines joined by single spaces."""
    if "\n" not in literal:
        return literal
    first, *middle, last = literal.split("\n")
    return " ".join([first.rstrip(), *(line for line in map(str.strip, middle) if line), last.lstrip()])


def _visible(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
