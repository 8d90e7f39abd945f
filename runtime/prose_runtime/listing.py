"""The program's own source as a run uses it: which line a call came from, which statement stands there.

Only messages, binding files and state.md use it; control flow and identity never do.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from textwrap import dedent
from types import FrameType
from typing import Final

from .settings import Runnable, Statement

_DEFINITIONS: Final = frozenset({"use", "import", "input", "output", "agent", "block"})
_INPUT_NAME: Final = re.compile(r"\s*input\s+([\w-]+)")


class Listing:
    """Lines and statements of one program; empty where the script has no footer."""

    def __init__(self, name: str, text: str, lines: Mapping[int, int], statements: Sequence[Statement]) -> None:
        self.name = name
        self.text = text
        # As the compiler counts them: what else ends a line for Python may stand inside of one.
        self.rows = [row.removesuffix("\r") for row in text.removesuffix("\n").split("\n")] if text else []
        self.statements = sorted(statements, key=lambda s: (s.start, -s.end))
        self._lines = lines
        self._emitted = sorted(lines)
        self._starts = [s.start for s in self.statements]
        self._clauses = [s for s in self.statements if s.kind in ("catch", "finally")]
        self._sources: dict[int, str] = {}

    @classmethod
    def of(cls, program: Runnable) -> Listing:
        return cls(program.name, program.text, program.lines, program.statements)

    def line_of(self, frame: FrameType) -> int | None:
        """The source line of the call that `frame` is in; None where the footer doesn't list it."""
        return self.line_near(frame.f_lineno)

    def line_near(self, emitted: int) -> int | None:
        """The source line of an emitted line."""
        line = self._lines.get(emitted)
        if line is not None or not self._emitted:
            return line
        # A call over several lines is listed under its first one, which a method call's own position may miss.
        index = bisect_right(self._emitted, emitted) - 1
        return self._lines[self._emitted[index]] if index >= 0 else None

    def statement_at(self, line: int | None) -> Statement | None:
        """The innermost statement that holds a line."""
        if line is None:
            return None
        index = bisect_right(self._starts, line) - 1
        while index >= 0:
            statement = self.statements[index]
            if statement.end >= line:
                return statement
            index -= 1
        return None

    def is_in_finally(self, line: int | None) -> bool:
        """The innermost catch or finally around a line is a finally."""
        around = [c for c in self._clauses if line is not None and c.start <= line <= c.end]
        return bool(around) and around[-1].kind == "finally"

    def source_at(self, line: int | None) -> str:
        """The whole statement at a line as written, dedented; empty where there is none."""
        if line is None:
            return ""
        known = self._sources.get(line)
        if known is None:
            statement = self.statement_at(line)
            rows = self.rows[statement.start - 1 : statement.end] if statement else []
            known = self._sources[line] = dedent("\n".join(rows)).strip("\n")
        return known

    def row(self, line: int | None) -> str:
        """One line of the source, without its indentation."""
        return self.rows[line - 1].strip() if line is not None and 0 < line <= len(self.rows) else ""

    def binding_line(self, name: str) -> int | None:
        """The first line whose statement would bind a name."""
        bare = re.escape(name)
        bound = re.compile(
            rf"\s*(?:(?:let|const|output)\s+)?{bare}\s*=|\s*input\s+{bare}\s*:|\s*session\s+{bare}\s*:"
            rf"|\s*(?:let|const)\s*\{{[^}}]*(?<![\w-]){bare}(?![\w-])[^}}]*\}}"
        )
        lines = (s.start for s in self.statements) if self.statements else range(1, len(self.rows) + 1)
        return next((n for n in lines if n <= len(self.rows) and bound.match(self.rows[n - 1])), None)

    def only_throws(self, line: int | None) -> bool:
        """The suite of the `if` or `elif` at a line is one throw: what a simulated run must not walk into."""
        if line is None:
            return False
        first = bisect_right(self._starts, line) - 1
        while first >= 0 and self.statements[first].kind not in ("if", "elif"):
            first -= 1
        if first < 0 or first + 1 >= len(self.statements) or self.statements[first].end < line:
            return False
        inside = self.statements[first + 1]
        if inside.kind != "throw" or inside.start > self.statements[first].end:
            return False
        after = self.statements[first + 2] if first + 2 < len(self.statements) else None
        clause_ends = after is None or after.kind in ("elif", "else")
        return clause_ends or (after is not None and after.start > self.statements[first].end)

    def leading_inputs(self) -> list[str]:
        """The inputs that the program asks for before anything else, in order."""
        names: list[str] = []
        past = 0
        for statement in self.statements:
            if statement.start <= past:
                continue
            if statement.kind not in _DEFINITIONS:
                break
            past = statement.end
            row = self.rows[statement.start - 1] if statement.start <= len(self.rows) else ""
            if statement.kind == "input" and (match := _INPUT_NAME.match(row)):
                names.append(match[1])
            elif statement.kind == "output" and "=" in row:
                break
        return names
