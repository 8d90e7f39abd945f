"""The statements of a program as narration speaks of them: where they stand, what they are called, what is defined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..listing import Listing
from ..state.outline import Node, Outline, code_of
from .wording import beginning

LONGEST: Final = 120
"""Characters of a heading where it is said."""

_PARTS: Final = frozenset({"elif", "else", "catch", "finally", "option", "branch"})
_DEFINITIONS: Final = frozenset({"use", "import", "agent", "block", "input"})
_ASKING: Final = frozenset({"session", "resume"})
_STAGE: Final = re.compile(r"\|\s*(map|filter|pmap|reduce)\b")
_ASKS: Final = re.compile(r"(?:let\s+)?(?:[\w-]+\s*=\s*)?(?:session|resume)\b")
_BLOCK: Final = re.compile(r"(parallel|try|do)\s*(?:\(.*\))?\s*:$")
_TARGET: Final = re.compile(r"(?:(?:let|const|output)\s+)?[\w{}, -]+?=(?!=)\s*")
_LONG_TEXT: Final = re.compile(r'.*?""".*?"""', re.DOTALL)
_BARE_THROW: Final = re.compile(r"throw\s*(?:#.*)?")
_CATCH: Final = re.compile(r"catch\s+as\s+([\w-]+)")
_CONTEXT: Final = re.compile(r"\s*context:\s*(.*)")


class Statements:
    """The statements of one program."""

    def __init__(self, listing: Listing) -> None:
        self._outline = Outline(listing)
        root = [node for node in self._outline.root.body if node.kind not in _DEFINITIONS]
        self._numbers = {node: number for number, node in enumerate(root, 1)}
        self._paths: dict[int, tuple[Node, ...]] = {}
        self._headings: dict[Node, str] = {}
        self._wholes: dict[Node, bool] = {}
        self._positions: dict[Node, str] = {}

    def path(self, line: int | None) -> tuple[Node, ...]:
        """The statements and their parts around a line, outermost first."""
        path = self._paths.get(line or 0)
        if path is None:
            found: list[Node] = []
            node = self._outline.at(line)
            while node is not None and node is not self._outline.root:
                found.append(node)
                node = node.parent
            path = self._paths[line or 0] = tuple(reversed(found))
        return path

    def is_announced(self, node: Node) -> bool:
        """It is a statement that the run comes to, and not a part of one that is told of as a whole."""
        return node.kind not in _DEFINITIONS and node.kind not in _PARTS and not self.is_whole(node)

    def is_whole(self, node: Node) -> bool:
        """It is one session, and all of a branch or of a pipeline's stage: these say what came of it."""
        known = self._wholes.get(node)
        if known is None:
            if node.kind == "branch":
                known = node.sort == "plain" and bool(_ASKS.match(self._row(node)))
            else:
                known = self._is_stage(node)
            known = known and "->" not in code_of(self._outline.text(node))
            self._wholes[node] = known
        return known

    def throws_on(self, catch: Node) -> bool:
        """Somewhere in a catch is a bare `throw`."""
        inside = (n for n in self._outline.nodes if catch.start <= n.start <= catch.end)
        return any(self._is_bare_throw(node) for node in inside)

    def always_throws_on(self, catch: Node) -> bool:
        """A catch ends with a bare `throw`."""
        return bool(catch.body) and self._is_bare_throw(catch.body[-1])

    def _is_bare_throw(self, node: Node) -> bool:
        return node.kind == "throw" and bool(_BARE_THROW.fullmatch(self._row(node)))

    def _is_stage(self, node: Node) -> bool:
        pipeline = node.parent
        if node.kind not in _ASKING or pipeline is None or pipeline.sort != "pipeline":
            return False
        heads = self._stage_lines(pipeline)
        if node.start in heads:
            return True
        begin = max((line for line in heads if line < node.start), default=None)
        end = min((line for line in heads if line > node.start), default=pipeline.end + 1)
        return begin is not None and all(
            other is node or not begin <= other.start < end for other in pipeline.body
        )

    def _stage_lines(self, pipeline: Node) -> list[int]:
        code = code_of(self._outline.text(pipeline))
        return [pipeline.start + code.count("\n", 0, m.start()) for m in _STAGE.finditer(code)]

    # What they are called

    def position(self, node: Node) -> str:
        """`Statement 2: parallel block`; without a number inside another statement."""
        known = self._positions.get(node)
        if known is None:
            number = self._numbers.get(node)
            numbered = f"Statement {number}: " if number is not None else ""
            known = self._positions[node] = numbered + beginning(self.heading(node), LONGEST)
        return known

    def heading(self, node: Node) -> str:
        """A statement in one row, as written but for its body, the context of a session and a pipeline's stages."""
        known = self._headings.get(node)
        if known is None:
            known = self._headings[node] = self._heading(node)
        return known

    def _heading(self, node: Node) -> str:
        row = self._row(node)
        if block := _BLOCK.fullmatch(row):
            return f"{block[1]} block"
        if node.sort == "pipeline":
            return " | ".join([self._before_stages(node), *self._outline.stages(node)])
        if row.count('"""') == 1 and (text := _LONG_TEXT.match(self._outline.text(node).lstrip())):
            row = text[0]
        elif (comment := row.rfind(" #")) > max(row.rfind('"'), row.rfind("**")):
            row = row[:comment].rstrip()
        context = self._context(node)
        row = " ".join(row.removesuffix(":").split())
        return f"{row} with context: {context}" if context else row

    def collection(self, line: int | None) -> str:
        """What goes into the pipeline at a line, as written."""
        for node in reversed(self.path(line)):
            if node.sort == "pipeline":
                source = self._before_stages(node)
                target = _TARGET.match(source)
                return source[target.end() :] if target else source
        return "items"

    def caught(self, catch: Node) -> str | None:
        """The name that a catch gives to its error."""
        match = _CATCH.match(self._row(catch))
        return match[1] if match else None

    def _row(self, node: Node) -> str:
        return self._outline.rows[node.start - 1].strip()

    def _before_stages(self, node: Node) -> str:
        text = self._outline.text(node)
        stage = _STAGE.search(code_of(text))
        return " ".join(text[: stage.start() if stage else None].split())

    def _context(self, node: Node) -> str:
        """The context of a session as written, on one row; empty where there is none."""
        if node.body or node.clauses:
            return ""
        rows = self._outline.rows[node.start : node.end]
        for number, row in enumerate(rows, 1):
            if match := _CONTEXT.match(row):
                given = match[1]
                if not given:
                    given = f"{{{', '.join(_below(row, rows[number:]))}}}"
                elif given[0] in "[{" and given[-1] not in "]}":
                    given = " ".join([given, *_below(row, rows[number:])])
                return re.sub(r"([\[{]) | ([\]}])", r"\1\2", " ".join(given.split()))
        return ""

    @property
    def definitions(self) -> list[str]:
        """`Agent: researcher (model: sonnet)`, `Block: process(chunk, depth)`."""
        found = []
        for node in self._outline.root.body:
            name = self.heading(node).partition(" ")[2]
            if node.kind == "agent":
                rows = self._outline.rows[node.start : node.end]
                given = [row for row in map(_property, rows) if row is not None]
                found.append(f"Agent: {name}" + (f" ({', '.join(given)})" if given else ""))
            elif node.kind == "block":
                found.append(f"Block: {name}")
        return found


def _property(row: str) -> str | None:
    """`model: sonnet` of a row of an agent that says so, without a comment."""
    name, _, value = row.partition(":")
    if name.strip() not in ("model", "persist"):
        return None
    return f"{name.strip()}: {value.partition(' #')[0].strip()}"


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
