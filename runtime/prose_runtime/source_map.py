"""The footer of a script: its program's text, and the two tables that lead from emitted code to source lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .settings import Statement


@dataclass(frozen=True, slots=True)
class Source:
    """A program's text; `lines` leads from the line of an emitted call to its source line; both tables may be empty."""

    text: str = ""
    lines: Mapping[int, int] = field(default_factory=dict)
    statements: Sequence[Statement] = ()

    @classmethod
    def read(cls, text: str, lines: str, statements: str) -> Source:
        """From the footer's strings: "34:20 41:24" and "3-3:input 5-11:agent". Raises ValueError for another form."""
        pairs = (pair.partition(":") for pair in lines.split())
        return cls(
            text,
            {int(emitted): int(line) for emitted, _, line in pairs},
            tuple(_statement(entry) for entry in statements.split()),
        )

    def excerpt(self, line: int | None) -> str:
        """The line of the program that an error is about, as diagnostics show it; empty where it isn't known."""
        all_lines = self.text.split("\n")
        if line is None or not 1 <= line <= len(all_lines):
            return ""
        gutter = " " * len(str(line))
        return f"{gutter} |\n{line} | {all_lines[line - 1]}\n{gutter} |"


def _statement(entry: str) -> Statement:
    span, _, kind = entry.partition(":")
    start, _, end = span.partition("-")
    return Statement(int(start), int(end), kind)
