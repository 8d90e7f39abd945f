"""Which comment belongs to which statement, so that each is carried to where it stood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prosec.emit.literals import LINE
from prosec.source import Source
from prosec.syntax import nodes

_DIRECTIVE = re.compile(
    r"[#;]\s*(?:(?:fmt|yapf|isort|ruff|flake8|type|pylint|mypy|pyright|pragma|noqa|nosec)\b|///|!)|-\*-|coding[:=]", re.I
)


def safe(text: str) -> str:
    """A comment as Python can have it: one line of visible characters that no tool takes for an instruction."""
    text = text.replace("\t", "    ").replace(LINE, "\N{REPLACEMENT CHARACTER}")
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text).rstrip()
    if _DIRECTIVE.search(text):
        words = re.sub(r"(?i)coding([:=])", r"coding \1", text).replace("-*-", "").replace("///", "//")
        return "# | " + re.sub(r"[#;]\s*", "| ", words.lstrip("#! ").rstrip())
    return text


class Comments:
    """The comments of a program: `above` a statement or branch, at the `end` of a suite, and the program's own."""

    def __init__(self, program: nodes.Program, source: Source) -> None:
        self.source = source
        self.above: dict[nodes.Node, list[nodes.Comment]] = {}
        self.end: dict[nodes.Node, list[nodes.Comment]] = {}
        self._comments = program.comments
        self._next = 0
        self.opening: list[str] = self._opening(program)
        """The first block of comments, which becomes the script's docstring."""
        if self._comments:
            self._sequence(program.statements, program, 0)

    def _opening(self, program: nodes.Program) -> list[str]:
        """The comments at the top of the file, up to the first blank line or statement."""
        first = program.statements[0].span.start if program.statements else len(self.source.text)
        lines: list[str] = []
        previous = 0
        for comment in program.comments:
            line = self.source.line_of(comment.span.start)
            if comment.span.start > first or not comment.own_line or (lines and line != previous + 1):
                break
            lines.append(comment.text)
            previous = line
            self._next += 1
        return lines

    # --- what emission asks ---------------------------------------------------------------------------------------

    def lines_above(self, item: nodes.Node) -> list[str]:
        """The comments that go above a statement, groups set apart as they were."""
        return self._spaced(self.above.get(item, []), self.source.line_of(item.span.start))

    def lines_at_end(self, suite: nodes.Node) -> list[str]:
        """The comments that follow the last statement of a suite."""
        return self._spaced(self.end.get(suite, []), 0)

    def directly_above(self, item: nodes.Node) -> tuple[list[str], list[str], list[str]]:
        """The comments of a definition: earlier groups, the group that stands directly above it, those inside it."""
        comments = self.above.get(item, [])
        line = self.source.line_of(item.span.start)
        first = len(comments)
        while first and self.source.line_of(comments[first - 1].span.start) >= line:
            first -= 1
        inside = comments[first:]
        last = first
        while first and self.source.line_of(comments[first - 1].span.start) == line - 1:
            first -= 1
            line -= 1
        return self._spaced(comments[:first], 0), self._spaced(comments[first:last], 0), self._spaced(inside, 0)

    def blank_before(self, item: nodes.Node) -> bool:
        """Whether an empty line stands before a statement and the comments that belong to it."""
        comments = self.above.get(item)
        start = min(item.span.start, comments[0].span.start) if comments else item.span.start
        line = self.source.line_of(start)
        return line > 1 and not self.source.line_text(line - 1).strip()

    def _spaced(self, comments: list[nodes.Comment], following: int) -> list[str]:
        # A lone `#` at either end of a group says nothing.
        while comments and not comments[0].text.strip("# \t"):
            comments = comments[1:]
        while comments and not comments[-1].text.strip("# \t"):
            comments = comments[:-1]
        lines: list[str] = []
        previous = 0
        for comment in comments:
            line = self.source.line_of(comment.span.start)
            if lines and not self.source.line_text(line - 1).strip():
                lines.append("")
            lines.append(safe(comment.text))
            previous = line
        if lines and following > previous + 1 and not self.source.line_text(following - 1).strip():
            lines.append("")
        return lines

    # --- attaching ----------------------------------------------------------------------------------------------

    def _sequence(self, items: tuple[nodes.Node, ...], owner: nodes.Node, column: int) -> None:
        for item in items:
            for comment in self._take(item.span.start):
                self.above.setdefault(item, []).append(comment)
            self._inside(item)
        after = self._line_end(items[-1].span.end if items else owner.span.end)
        for comment in self._take(self._suite_end(after, column)):
            self.end.setdefault(owner, []).append(comment)

    def _inside(self, item: nodes.Node) -> None:
        for suite, statements in suites_of(item):
            start = statements[0].span.start if statements else suite.span.end
            # On the header's lines: above the statement. On lines of their own: with what follows in the suite.
            while self._next < len(self._comments):
                comment = self._comments[self._next]
                if comment.span.start >= start or comment.own_line:
                    break
                self.above.setdefault(item, []).append(comment)
                self._next += 1
            column = self._column(start) if statements else self._column(item.span.start) + 1
            self._sequence(statements, suite, column)
        for comment in self._take(self._line_end(item.span.end)):
            self.above.setdefault(item, []).append(comment)

    def _line_end(self, offset: int) -> int:
        end = self.source.text.find("\n", offset)
        return len(self.source.text) if end < 0 else end

    def _take(self, limit: int) -> Iterator[nodes.Comment]:
        """The comments that start before an offset, and are not attached yet."""
        while self._next < len(self._comments) and self._comments[self._next].span.start < limit:
            yield self._comments[self._next]
            self._next += 1

    def _suite_end(self, after: int, column: int) -> int:
        """How far the comments go that follow a suite's last statement, at its column or deeper."""
        for position in range(self._next, len(self._comments)):
            comment = self._comments[position]
            start = comment.span.start
            if not comment.own_line or self._column(start) < column or self.source.text[after:start].strip():
                break
            after = comment.span.end
        return after

    def _column(self, offset: int) -> int:
        return offset - (self.source.text.rfind("\n", 0, offset) + 1)


def _suites(item: nodes.Node) -> Iterator[tuple[nodes.Node, tuple[nodes.Node, ...]]]:
    """The outermost suites in a statement, in written order, each with its statements."""
    for child in nodes.children(item):
        if isinstance(child, nodes.Suite):
            yield child, child.statements
        elif isinstance(child, nodes.Parallel):
            yield child, child.branches
        else:
            yield from _suites(child)


def suites_of(item: nodes.Node) -> Iterator[tuple[nodes.Node, tuple[nodes.Node, ...]]]:
    """As `_suites`, for a statement that may itself be a parallel."""
    if isinstance(item, nodes.Parallel):
        yield item, item.branches
    else:
        yield from _suites(item)
