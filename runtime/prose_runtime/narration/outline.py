"""The program as narration speaks of it: its statements with their nesting, numbers and headings, and its definitions.

Made once, before the run: from a source line to the statements around it is one look-up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from ..listing import Listing
from ..settings import Statement

DEFINITIONS: Final = frozenset({"use", "import", "agent", "block", "input"})
CLAUSES: Final = frozenset({"elif", "else", "catch", "finally", "option", "branch"})
"""Parts of a statement that are no statements themselves."""

_NAMED_BLOCKS: Final = frozenset({"parallel", "try", "do"})
"""Statements whose first row says too little: they are called "parallel block"."""

_PIPED: Final = frozenset({"let", "const", "assign", "output", "pipeline", "branch", "return"})
_STAGE: Final = re.compile(r"\|\s*(map|filter|pmap|reduce)\b")
_NAME: Final = re.compile(r"(?:(?:let|const|output)\s+)?[\w{}, -]+?=(?!=)\s*")
_ASKS: Final = re.compile(r"(?:let\s+)?(?:[\w-]+\s*=\s*)?(?:session|resume)\b")
_LONG_TEXT: Final = re.compile(r'.*?""".*?"""', re.DOTALL)
_CATCH: Final = re.compile(r"catch\s+as\s+([\w-]+)")
_CONTEXT: Final = re.compile(r"\s*context:\s*(.*)")
_MODEL: Final = re.compile(r"\s+(model|persist):\s*(.+?)\s*(?:#.*)?$")


class Node:
    """A statement or clause of the program, in its place."""

    def __init__(self, statement: Statement, parent: Node | None, rows: Sequence[str]) -> None:
        self.start, self.end, self.kind = statement
        self.parent = parent
        self.path: tuple[Node, ...] = (*parent.path, self) if parent else (self,)
        """From the outermost statement around it to itself."""
        self.number: int | None = None
        """Which statement of the root it is, from 1; None inside another one."""
        self.members: list[Node] = []
        self._rows = rows

    @property
    def announced(self) -> bool:
        """It is a statement that the run comes to, and not a part of one that is told of as a whole."""
        return self.kind not in DEFINITIONS and self.kind not in CLAUSES and not self.is_stage

    @cached_property
    def heading(self) -> str:
        """The statement in one row, as written but for its body, the context of a session and a pipeline's stages."""
        row = self._row
        if row.removesuffix(":").split("(")[0].strip() in _NAMED_BLOCKS:
            return f"{self.kind} block"
        if self.is_pipeline:
            return f"{self._before_stages} | {' | '.join(self._stages)}"
        if row.count('"""') == 1 and (text := _LONG_TEXT.match(self._text)):
            row = text[0]
        elif (comment := row.rfind(" #")) > max(row.rfind('"'), row.rfind("**")):
            row = row[:comment].rstrip()
        row = " ".join(row.removesuffix(":").split())
        return f"{row} with context: {self._context}" if self._context else row

    @cached_property
    def collection(self) -> str:
        """What goes into a pipeline, as written."""
        return _NAME.sub("", self._before_stages, count=1)

    @cached_property
    def caught(self) -> str | None:
        """The name that a catch gives to its error."""
        match = _CATCH.match(self._row)
        return match[1] if match else None

    @cached_property
    def is_pipeline(self) -> bool:
        return self.kind in _PIPED and bool(_STAGE.search(self._text))

    @cached_property
    def is_stage(self) -> bool:
        """It is by itself the body of a pipeline's stage."""
        parent = self.parent
        if parent is None or not parent.is_pipeline:
            return False
        first, end = next((lines for lines in parent._stage_lines if self.start < lines[1]), (0, 0))
        if not first <= self.start < end:
            return False
        return bool(_STAGE.search(self._row)) or all(
            member is self or not first <= member.start < end for member in parent.members
        )

    @cached_property
    def _stage_lines(self) -> Sequence[tuple[int, int]]:
        """The lines of each stage of a pipeline: from its own to that of the next, which is not in it."""
        heads = [self.start + number for number, row in enumerate(self._rows) if _STAGE.search(row)]
        return list(pairwise([*heads, self.end + 1]))

    @property
    def is_asking_branch(self) -> bool:
        """It is a branch that is one session and nothing else."""
        return self.kind == "branch" and bool(_ASKS.match(self._row))

    @property
    def _row(self) -> str:
        return self._rows[0].strip() if self._rows else ""

    @property
    def _text(self) -> str:
        return "\n".join(self._rows).strip()

    @property
    def _before_stages(self) -> str:
        return " ".join(_STAGE.split(self._text, maxsplit=1)[0].split())

    @property
    def _stages(self) -> Sequence[str]:
        return _STAGE.findall(self._text)

    @cached_property
    def _context(self) -> str:
        """The context of a session as written, on one row; empty where there is none."""
        if self.members or len(self._rows) == 1:
            return ""
        for number, row in enumerate(self._rows[1:], 2):
            if match := _CONTEXT.match(row):
                given = match[1]
                if not given:
                    given = ", ".join(_below(row, self._rows[number:]))
                elif given[0] in "[{" and given[-1] not in "]}":
                    given = " ".join([given, *_below(row, self._rows[number:])])
                return re.sub(r"([\[{]) | ([\]}])", r"\1\2", " ".join(given.split()))
        return ""


def _below(row: str, rows: Sequence[str]) -> list[str]:
    """The rows that belong to a property: those indented more, and the one that closes its brackets."""
    indent = len(row) - len(row.lstrip())
    found: list[str] = []
    for next_row in rows:
        deeper = len(next_row) - len(next_row.lstrip()) > indent
        if not deeper and next_row.strip()[:1] not in ("]", "}"):
            break
        found.append(next_row.strip())
        if not deeper:
            break
    return found


class Outline:
    """All statements of a program, and what it defines."""

    def __init__(self, listing: Listing) -> None:
        self._at: dict[int, Node] = {}
        """Per line the innermost statement around it."""
        self.nodes: list[Node] = []
        around: list[Node] = []
        number = 0
        for statement in listing.statements:
            while around and around[-1].end < statement.start:
                around.pop()
            parent = around[-1] if around else None
            node = Node(statement, parent, listing.rows[statement.start - 1 : statement.end])
            if parent is not None:
                parent.members.append(node)
            elif node.kind not in DEFINITIONS:
                number += 1
                node.number = number
            self.nodes.append(node)
            around.append(node)
            for line in range(node.start, node.end + 1):
                self._at[line] = node

    def path(self, line: int | None) -> tuple[Node, ...]:
        """The statements around a line, outermost first."""
        node = self._at.get(line or 0)
        return node.path if node is not None else ()

    @property
    def definitions(self) -> list[str]:
        """`Agent: researcher (model: sonnet)`, `Block: process(chunk, depth)`."""
        found = []
        for node in self.nodes:
            if node.kind == "agent":
                properties = [
                    f"{match[1]}: {match[2]}"
                    for row in node._rows[1:]
                    if (match := _MODEL.match(row))
                ]
                about = f" ({', '.join(properties)})" if properties else ""
                found.append(f"Agent: {_defined(node)}{about}")
            elif node.kind == "block":
                found.append(f"Block: {_defined(node)}")
        return found


def _defined(node: Node) -> str:
    return node.heading.partition(" ")[2]
