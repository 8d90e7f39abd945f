"""The statements of a program as a tree: what each of them is, where it stands, and what its head says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from ..listing import Listing
    from ..settings import Statement

Sort = Literal[
    "plain", "definition", "block", "clause", "parallel", "loop", "concurrent", "try", "choice", "if",
    "do", "pipeline",
]  # fmt: skip
"""What a statement is to whoever follows a run: `concurrent` is parallel for; let, const, output, assignments and
branches are what their value is."""

CONSTRUCTS: Final = frozenset(
    {"parallel", "loop", "concurrent", "try", "choice", "if", "do", "pipeline"}
)

_SORTS: Final[dict[str, Sort]] = {
    "agent": "definition",
    "use": "definition",
    "import": "definition",
    "block": "block",
    "elif": "clause",
    "else": "clause",
    "catch": "clause",
    "finally": "clause",
    "option": "clause",
    "parallel": "parallel",
    "loop": "loop",
    "repeat": "loop",
    "try": "try",
    "choice": "choice",
    "if": "if",
    "pipeline": "pipeline",
}
_CLAUSES: Final = frozenset({"elif", "else", "catch", "finally", "option", "branch"})
_LEAVING: Final = frozenset({"return", "break", "continue", "throw"})
_OF_ONE_PIECE: Final = frozenset({"session", "resume", "arrow", "call"})
_MAY_BE_SILENT: Final = frozenset({"return", "break", "continue", "assert", "output"})
_NAMED_OUTPUT: Final = re.compile(r"\s*output\s+[\w-]+\s*=(?!=)")
_CALL: Final = re.compile(r"\b(?:session|resume|do)\b")

_NOT_CODE: Final = re.compile(
    r'"""(?:\\.|[^\\])*?""""*|"(?:\\.|[^"\\\n])*"|\*\*\*.*?\*\*\*|\*\*.*?\*\*|#[^\n]*', re.DOTALL
)
_NOT_A_LINE_END: Final = re.compile(r"[^\n]")
_STAGE: Final = re.compile(r"\|\s*(?:map|filter|pmap|reduce)\b")
_HEAD_END: Final = re.compile(r":[ \t]*\r?(?:\n|$)")
_CONDITION: Final = re.compile(r"loop\s+(?:until|while)\b")
_TOLERANT: Final = re.compile(r"\bon-fail\s*:\s*\"?(?:continue|ignore)\b")
_WHILE: Final = re.compile(r"\s*loop\s+while\b")
_MAX: Final = re.compile(r"\(\s*max\s*:")
_AS: Final = re.compile(r"\bas\s+[\w-]+\s*$")
_LONG_DISCRETION: Final = re.compile(r"\*\*\*\s*(.*?)\s*\*\*\*", re.DOTALL)
_ESCAPE: Final = re.compile(r'\\([\\"nt{}])')
_LABEL: Final = re.compile(r'option\s+("""(?:\\.|[^\\])*?""""*|"(?:\\.|[^"\\\n])*")', re.DOTALL)
_NAME: Final = re.compile(r"\w+\s+([\w-]+)")
_PERSIST: Final = re.compile(r"^[ \t]*persist[ \t]*:", re.MULTILINE)


class Node:
    """One statement or clause; lines from 1.

    `row` is the line that is marked: the first, or where the word of an else or finally stands. `body` are the
    statements in it that follow each other, `clauses` its elifs, catches, options and branches.
    """

    __slots__ = (
        "body", "clauses", "depth", "end", "index", "kind", "leaves", "parent", "row", "silent", "sort", "start",
    )  # fmt: skip

    def __init__(self, kind: str, start: int, end: int, parent: Node | None) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.row = start
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.sort: Sort = "plain"
        self.body: list[Node] = []
        self.clauses: list[Node] = []
        self.index = -1
        """The place in its parent's body; -1 for a clause."""
        self.leaves = False
        """From here what runs may leave the statements around it: return, break, continue, throw."""
        self.silent = False
        """Nothing tells that it runs: break, an output that ends a block, an assert without a model."""

    @property
    def is_construct(self) -> bool:
        return self.sort in CONSTRUCTS

    @property
    def lines(self) -> str:
        return f"lines {self.start}-{self.end}" if self.end > self.start else f"line {self.start}"

    def clause(self, kind: str) -> Node | None:
        return next((clause for clause in self.clauses if clause.kind == kind), None)

    def within(self, other: Node) -> bool:
        """It is `other`, or inside of it."""
        node: Node | None = self
        while node is not None and node.depth > other.depth:
            node = node.parent
        return node is other


class Memory(NamedTuple):
    """An agent that keeps a memory: `persist` as written, the value of a string without its quotes."""

    agent: str
    persist: str


class Outline:
    """The tree of a program's statements; empty where a script has no footer."""

    def __init__(self, listing: Listing) -> None:
        self.rows: Sequence[str] = listing.rows
        self.root = Node("program", 1, len(self.rows), None)
        self.root.row = 0
        self.nodes: list[Node] = []
        """All but the root, in written order."""
        self._innermost: list[Node | None] = [None] * (len(self.rows) + 2)
        self._outermost: dict[int, Node] = {}
        self._plant(listing.statements)
        self._blocks = {self._named(node): node for node in self.nodes if node.sort == "block"}

    def _plant(self, statements: Sequence[Statement]) -> None:
        above = [self.root]
        for start, end, kind in statements:
            if not 0 < start <= end <= len(self.rows):
                continue
            while above[-1] is not self.root and end > above[-1].end:
                above.pop()
            parent = above[-1]
            if parent.kind == "branch" and (parent.start, parent.end) == (start, end):
                # A branch that is one construct.
                parent.sort = self._sort(kind, start)
                continue
            node = Node(kind, start, end, parent)
            node.sort = self._sort(kind, start)
            if kind in ("else", "finally"):
                node.row = self._word_above(kind, start, parent)
            if kind in _CLAUSES:
                parent.clauses.append(node)
            else:
                node.index = len(parent.body)
                parent.body.append(node)
            above.append(node)
            self.nodes.append(node)
        for node in self.nodes:
            if node.sort == "plain":
                node.sort = self._sort_by_content(node)
            self._innermost[node.start : node.end + 1] = [node] * (node.end + 1 - node.start)
            self._outermost.setdefault(node.row, node)
        for node in reversed(self.nodes):
            if node.sort == "plain":
                self._judge(node)
            if node.leaves and node.parent is not None:
                node.parent.leaves = True

    def _sort(self, kind: str, start: int) -> Sort:
        if kind == "for":
            return "concurrent" if self.rows[start - 1].lstrip().startswith("parallel") else "loop"
        return _SORTS.get(kind, "plain")

    def _sort_by_content(self, node: Node) -> Sort:
        if node.kind in _OF_ONE_PIECE:
            return "plain"
        if any(clause.kind == "branch" for clause in node.clauses):
            return "parallel"
        if node.clauses:
            return "try"
        text = self.text(node)
        if "|" in text and _STAGE.search(code_of(text)):
            return "pipeline"
        return "do" if node.body else "plain"

    def _judge(self, node: Node) -> None:
        """Say of a plain statement whether it leaves, and whether it is silent."""
        code = code_of(self.text(node)) if node.kind in _MAY_BE_SILENT else ""
        ends_block = node.kind == "output" and not _NAMED_OUTPUT.match(code)
        node.leaves = ends_block or node.kind in _LEAVING
        if ends_block or node.kind in _MAY_BE_SILENT - {"output"}:
            node.silent = "**" not in self.text(node) and not _CALL.search(code)

    def _word_above(self, word: str, start: int, parent: Node) -> int:
        """The line of an else or finally, whose statement is listed from the first line of its suite."""
        for row in range(start, parent.start, -1):
            if self.rows[row - 1].lstrip().startswith(word):
                return row
        return start

    def _named(self, node: Node) -> str:
        match = _NAME.match(self.rows[node.start - 1].lstrip())
        return match[1] if match else ""

    def at(self, line: int | None) -> Node | None:
        """The innermost statement that holds a line."""
        return self._innermost[line] if line is not None and 0 < line <= len(self.rows) else None

    def beginning(self, line: int | None) -> Node | None:
        """The outermost statement that is marked on a line."""
        return self._outermost.get(line) if line is not None else None

    def block(self, name: str | None) -> Node | None:
        return self._blocks.get(name) if name is not None else None

    # What heads say

    def text(self, node: Node) -> str:
        """A statement as written."""
        return "\n".join(self.rows[node.start - 1 : node.end])

    def _head(self, node: Node) -> tuple[str, str]:
        """What stands before the colon that opens a suite, and its code alone."""
        text = self.text(node)
        code = code_of(text)
        for match in _HEAD_END.finditer(code):
            if code.count("(", 0, match.start()) == code.count(")", 0, match.start()):
                return text[: match.start()], code[: match.start()]
        return text, code

    def condition(self, node: Node) -> str | None:
        """The condition of a loop that has one, on one line."""
        text, code = self._head(node)
        begins = _CONDITION.match(code.lstrip())
        if begins is None:
            return None
        start = len(code) - len(code.lstrip()) + begins.end()
        ends = [m.start() for m in (_MAX.search(code, start), _AS.search(code, start)) if m]
        return _flat(text[start : min(ends, default=len(text))])

    def asks_first(self, node: Node) -> bool:
        """The condition of a loop is asked before each round: it is a while."""
        return bool(_WHILE.match(self.text(node)))

    def tolerates_failures(self, node: Node) -> bool:
        """A concurrent loop says that it goes on when a round fails."""
        return bool(_TOLERANT.search(self._head(node)[0]))

    def bound(self, node: Node) -> int | None:
        """The rounds that the head of a loop allows, where it says so by a number."""
        _, code = self._head(node)
        match = re.search(r"\(\s*max\s*:\s*(\d+)\s*\)", code) or re.match(
            r"\s*repeat\s+(\d+)(?:\s+as\b|\s*$)", code
        )
        return int(match[1]) if match else None

    def criterion(self, node: Node) -> str:
        """What a choice asks."""
        text, _ = self._head(node)
        return _flat(text.lstrip().removeprefix("choice"))

    def label(self, option: Node) -> str:
        """The label of an option."""
        match = _LABEL.match(self.text(option).lstrip())
        return _unquoted(match[1]) if match else ""

    def stages(self, node: Node) -> list[str]:
        """The stages of a pipeline, in written order."""
        return [m[0].lstrip("|").strip() for m in _STAGE.finditer(code_of(self.text(node)))]

    def memories(self) -> Iterator[Memory]:
        """The agents that keep a memory, in written order."""
        for node in self.nodes:
            if node.kind != "agent":
                continue
            text = self.text(node)
            match = _PERSIST.search(code_of(text))
            if match is None:
                continue
            value = text[match.end() :].partition("\n")[0].strip()
            quoted = _NOT_CODE.match(value)
            persist = _unquoted(quoted[0]) if quoted else value.partition("#")[0].strip()
            if persist and persist != "false":
                yield Memory(self._named(node), persist)


def code_of(text: str) -> str:
    """A text of the same length in which strings, `**...**` and comments are blank."""
    return _NOT_CODE.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return _NOT_A_LINE_END.sub(" ", match[0])


def _flat(text: str) -> str:
    return " ".join(_LONG_DISCRETION.sub(r"**\1**", text).split())


def _unquoted(literal: str) -> str:
    inner = literal[3:-3] if literal.startswith('"""') else literal[1:-1]
    return _ESCAPE.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner)
