"""Source text and spans: the only place where offsets become lines and columns."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of offsets into a Source's text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The range from where this one starts to where `other` ends."""
        return Span(self.start, other.end)


class Position(NamedTuple):
    """A place as people count it: line and column, both from 1, the column in characters."""

    line: int
    column: int


class Source:
    """One program's text.

    `text` is the file decoded as UTF-8 without its byte order mark; line ends are kept as written, because
    string contents are kept byte for byte.
    """

    def __init__(self, text: str, path: str = "<text>") -> None:
        self.path = path
        self.text = text

    @classmethod
    def read(cls, path: Path, shown_as: str | None = None) -> Source:
        """Read a file; raises OSError, and UnicodeDecodeError when it is not UTF-8."""
        return cls(path.read_bytes().decode("utf-8-sig"), shown_as or str(path))

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the first character of every line."""
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    @property
    def line_count(self) -> int:
        return len(self.line_starts)

    def line_of(self, offset: int) -> int:
        """The number, from 1, of the line that holds `offset`."""
        return bisect_right(self.line_starts, offset)

    def position(self, offset: int) -> Position:
        """The line and column of an offset; the end of the text has a position too."""
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def line_text(self, line: int) -> str:
        """The text of a line (numbered from 1) without its line end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def slice(self, span: Span) -> str:
        return self.text[span.start : span.end]
