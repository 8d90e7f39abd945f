"""The execution trace: the program's own source, with what became of each statement at the end of its first line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ..events import Status
from ..settings import Problem
from ..terminal import one_line
from .entered import Forked
from .marks import Mark
from .outline import Node
from .walk import Walk
from .whereabouts import Whereabouts

COLUMN: Final = 45
"""Where annotations stand, unless the line is longer."""

_REASON: Final = 200
"""Characters of the reason of a failure."""

_WALKS: Final = 1000
"""Strands and frames that are asked what comes next; more of them stand at the same lines."""


@dataclass(frozen=True, slots=True)
class Coming:
    """What a run has not begun: the first plain statement, and the constructs that it will reach, in written order."""

    next: Node | None
    constructs: list[Node]


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How a run stands as a whole."""

    run_id: str
    status: Status
    problem: Problem | None
    scrubbed: Callable[[str], str]
    """Takes the values of secret inputs out of a text."""

    @property
    def goes_on(self) -> bool:
        return self.status == "running"

    def short(self, path: str) -> str:
        """A path from the run's folder on."""
        return path.partition(f"/{self.run_id}/")[2] or path


def coming(where: Whereabouts, run: RunStatus) -> Coming:
    """What comes next, as far as is known."""
    first: Node | None = None
    constructs: dict[Node, None] = {}
    if run.status == "completed":
        return Coming(None, [])
    asked: set[Walk] = set()
    for leaf in _leaves(where.walks.root):
        walk: Walk | None = leaf
        found = False
        while walk is not None and walk not in asked:
            asked.add(walk)
            for node in _ahead(walk):
                if node.is_construct:
                    if node not in where.sheet.reached:
                        constructs[node] = None
                elif not found and _is_next(node, where.sheet.mark(node), run):
                    found = True
                    if first is None or node.row < first.row:
                        first = node
            walk = walk.parent
    return Coming(first, sorted(constructs, key=lambda node: node.row))


def _is_next(node: Node, mark: Mark, run: RunStatus) -> bool:
    """A plain statement that has not begun, or where what had begun will begin again."""
    if node.sort != "plain" or (run.status == "failed" and node.kind == "throw"):
        # (A bare throw tells nothing of itself: it may be what failed.)
        return False
    return not mark.begun or bool(mark.running and not mark.state and not run.goes_on)


def _leaves(root: Walk) -> Iterator[Walk]:
    """The walks that nothing else goes on for, the newest first, as many as are worth a look."""
    stack, seen = [root], 0
    while stack and seen < _WALKS:
        walk = stack.pop()
        seen += 1
        if walk.children:
            stack.extend(walk.children)
        else:
            yield walk


def _ahead(walk: Walk) -> Iterator[Node]:
    """What comes in a walk: where it stands if that must begin again, branches that have not begun, and the rest."""
    if not walk.children:
        yield walk.at
    for entered in walk.entered:
        if isinstance(entered, Forked):
            yield from (
                clause
                for index, stands in enumerate(entered.stands)
                if stands == "pending" and (clause := entered.clause_of(index)) is not None
            )
    yield from walk.ahead()


def annotated(where: Whereabouts, run: RunStatus, comes: Coming) -> list[str]:
    """The lines of the source with their annotations."""
    rows = list(where.outline.rows)
    trace = _Trace(where, run, comes)
    done: set[int] = set()
    for node in where.outline.nodes:
        note = trace.note(node) if node.row not in done else ""
        if note:
            done.add(node.row)
            rows[node.row - 1] = f"{rows[node.row - 1]:<{COLUMN - 3}}   # {note}"
    return rows


class _Trace:
    """Says of each statement what became of it."""

    def __init__(self, where: Whereabouts, run: RunStatus, comes: Coming) -> None:
        self.where = where
        self.sheet = where.sheet
        self.run = run
        self.comes = comes
        self.failed = self._ended_at()

    def _ended_at(self) -> dict[int, str]:
        """The lines at which the error was not caught that ended the run: where it happened, and the calls around it."""
        run, where = self.run, self.where
        if run.status != "failed" or run.problem is None:
            return {}
        nodes = [walk.parent.at for _, walk in where.walks.frames.values() if walk.parent is not None]
        at = where.outline.at(run.problem.line)
        if at is not None:
            nodes.append(at)
        return {node.row: run.problem.message for node in nodes}

    def note(self, node: Node) -> str:
        """What is said of a statement; empty: nothing."""
        mark = self.sheet.mark(node)
        if mark.running and self.run.goes_on:
            return self._running(mark)
        reason = self._reason(node, mark)
        if reason is not None:
            return f"<-- FAILED: {one_line(self.run.scrubbed(reason), _REASON)}"
        if self._is_inside(node):
            return ""
        if (node.is_construct or node.sort == "block") and not mark.state:
            return "[not yet entered]" if self._may_be_entered(node) else ""
        if mark.state == "skipped":
            return "[skipped]"
        if mark.state == "complete" and self._is_whole(node):
            return self._complete(node, mark)
        return "[...next...]" if node is self.comes.next else ""

    def _running(self, mark: Mark) -> str:
        count, alone = len(mark.running), 0
        if len(mark.retrying) >= count:
            attempt, of = next(reversed(mark.retrying.values()))
            return f"<-- RETRYING (attempt {attempt}/{of})"
        loops: dict[int, int] = {}
        for branch in mark.running:
            loop = self.where.walks.loop_around(branch)
            if loop is None:
                alone += 1
            else:
                loops[loop.number] = loop.of or 0
        of = max(count, alone + sum(loops.values()))
        return f"<-- EXECUTING ({count} of {of})" if of > 1 else "<-- EXECUTING"

    def _reason(self, node: Node, mark: Mark) -> str | None:
        """Why what stands here failed, unless that was caught."""
        if node.row in self.failed:
            return self.failed[node.row]
        failure = mark.failure
        return failure.reason if failure is not None and not failure.caught else None

    def _is_inside(self, node: Node) -> bool:
        """What runs is in this construct; or in this clause of one."""
        construct = node if node.is_construct else node.parent
        entered = self.sheet.newest(construct) if construct is not None else None
        if entered is None:
            return False
        return entered.clause is node or (node.is_construct and node.sort != "if")

    def _may_be_entered(self, node: Node) -> bool:
        """A construct was not reached, and nothing says that it can't be any more."""
        if node in self.sheet.reached or self.run.status == "completed":
            return False
        around = node.parent
        while around is not None:
            if around.sort != "block" and self.sheet.mark(around).state and not self._is_inside(around):
                return False
            around = around.parent
        return True

    def _is_whole(self, node: Node) -> bool:
        """A construct is complete unless the error that ended the run came from inside of it."""
        return not (node.body or node.clauses) or not any(
            node.start <= row <= node.end for row in self.failed
        )

    def _complete(self, node: Node, mark: Mark) -> str:
        if mark.path is None:
            return "(complete)"
        others = f" (+{mark.others})" if mark.others else ""
        around = node.parent
        while around is not None and around not in self.sheet.inside:
            around = around.parent
        return f"--> {self.run.short(mark.path)}{others}{' (complete)' if around is not None else ''}"
