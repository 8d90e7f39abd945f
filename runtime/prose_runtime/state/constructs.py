"""The active constructs: what each parallel, loop, try, choice and pipeline that is running has come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..terminal import one_line
from .entered import BranchStands, Entered, Forked, Looping, Piping
from .outline import Node, Outline
from .trace import Coming, RunStatus
from .whereabouts import Whereabouts

AHEAD: Final = 5
"""Constructs not yet entered that are shown; others are only counted."""

_WIDTH: Final = 300
"""Characters of a condition."""

_LABEL: Final = 80
"""Characters of an option's label."""

_TITLES: Final = {
    "parallel": "Parallel",
    "loop": "Loop",
    "concurrent": "Parallel For",
    "try": "Try",
    "choice": "Choice",
    "pipeline": "Pipeline",
}
"""Those that are listed, by the sort of their statement."""


def active(where: Whereabouts, run: RunStatus, comes: Coming) -> list[str]:
    """The sections of what is running and of what comes next, in written order."""
    ahead = [node for node in comes.constructs if node.sort in _TITLES]
    shown = ahead[:AHEAD]
    sections: list[tuple[int, list[str]]] = []
    for node, times in where.sheet.inside.items():
        # Without the program's source nothing tells one construct from another.
        told = list(times) if node.parent is None else [next(reversed(times))]
        for entered in told:
            bullets = list(_bullets(where.outline, run, entered))
            if bullets and len(times) > len(told):
                bullets.insert(0, f"at once: {len(times)}")
            if bullets:
                sections.append((node.row, _section(_title(entered), node, bullets)))
    for node in shown:
        sections.append((node.row, _section(_TITLES[node.sort], node, list(_not_entered(where.outline, node)))))
    lines = [line for _, section in sorted(sections, key=lambda s: s[0]) for line in ("", *section)]
    if len(ahead) > len(shown):
        lines += ["", f"... {len(ahead) - len(shown):,} more not yet entered"]
    return lines


def _section(title: str, node: Node, bullets: list[str]) -> list[str]:
    where = f" ({node.lines})" if node.parent is not None else ""
    return [f"### {title}{where}", "", *[f"- {bullet}" for bullet in bullets]]


def _title(entered: Entered) -> str:
    match entered:
        case Forked():
            return "Parallel"
        case Looping():
            return "Parallel For" if entered.concurrent else "Loop"
        case Piping():
            return "Pipeline"
    return _TITLES.get(entered.node.sort, "")


def _bullets(outline: Outline, run: RunStatus, entered: Entered) -> Iterator[str]:
    """What is said of a construct that is running; nothing of an if and a do."""
    match entered:
        case Forked():
            for name, stands in zip(entered.names, entered.stands, strict=True):
                yield f"{name}: {_stands(stands, run)}"
        case Looping():
            yield f"status: {_now(run)}"
            yield from _rounds(outline, entered, run)
        case Piping():
            yield f"status: {_now(run)}"
            yield f"items: {entered.items:,}"
            yield from _stages(entered, _now(run))
        case _:
            yield from _silent(outline, entered, run)


def _stands(stands: BranchStands, run: RunStatus) -> str:
    return "waiting" if stands == "stopped" and run.status in ("running", "waiting") else stands


def _now(run: RunStatus) -> str:
    """What is said of what runs; in a run that has ended, of where it stands."""
    if run.goes_on:
        return "executing"
    return run.status if run.status in ("failed", "waiting") else "stopped"


def _rounds(outline: Outline, loop: Looping, run: RunStatus) -> Iterator[str]:
    if not loop.concurrent:
        asked = loop.walk.at is loop.node and outline.asks_first(loop.node)
        yield f"iteration: {_of(loop.round + (not asked), loop.of)}"
        condition = outline.condition(loop.node)
        if condition is not None:
            yield f"condition: {one_line(condition, _WIDTH)}"
        return
    ended, running = sum(loop.ended.values()), len(loop.running)
    yield f"iteration: {_of(ended - loop.ended.get('stopped', 0), loop.of)}"
    yield f"executing: {running:,}"
    yield f"pending: {(loop.of or 0) - ended - running:,}"
    for status in ("failed", "cancelled", "stopped"):
        if status in loop.ended:
            yield f"{_stands(status, run)}: {loop.ended[status]:,}"


def _of(number: int, of: int | None) -> str:
    return str(number) if of is None else f"{number}/{of}"


def _stages(piping: Piping, now: str) -> Iterator[str]:
    for number, stage in enumerate(piping.stages):
        if number < len(piping.results):
            items = piping.results[number]
            yield f"{stage}: complete" + (f" ({items:,} items)" if items is not None else "")
        elif number == len(piping.results):
            loop = piping.loop
            rounds = f" ({sum(loop.ended.values()):,} of {loop.of:,})" if loop is not None and loop.of else ""
            yield f"{stage}: {now}{rounds}"
        else:
            yield f"{stage}: pending"


def _silent(outline: Outline, entered: Entered, run: RunStatus) -> Iterator[str]:
    """A try or a choice; a loop that was entered without saying so."""
    node, clause, now = entered.node, entered.clause, _now(run)
    if node.sort == "try":
        yield f"status: {now}"
        yield f"try: {now if clause is node else 'failed' if entered.failed else 'complete'}"
        for part in node.clauses:
            if part is clause:
                # A run that fails goes through its finally bodies.
                over = part.kind == "finally" and run.status == "failed"
                yield f"{part.kind}: {'complete' if over else now}"
            elif part.kind == "catch" and clause is not node:
                yield f"catch: {'complete' if entered.caught else 'skipped'}"
            else:
                yield f"{part.kind}: not yet entered"
    elif node.sort == "choice":
        yield "status: deciding" if clause is None and run.goes_on else f"status: {now}"
        yield f"condition: {one_line(outline.criterion(node), _WIDTH)}"
        for option in node.clauses:
            stands = "pending" if clause is None else now if option is clause else "skipped"
            yield f"{one_line(outline.label(option), _LABEL)}: {stands}"
    elif node.sort in _TITLES:
        yield f"status: {now}"


def _not_entered(outline: Outline, node: Node) -> Iterator[str]:
    yield "status: not yet entered"
    if node.sort == "loop":
        yield f"iteration: {_of(0, outline.bound(node))}"
        condition = outline.condition(node)
        if condition is not None:
            yield f"condition: {one_line(condition, _WIDTH)}"
    elif node.sort == "choice":
        yield f"condition: {one_line(outline.criterion(node), _WIDTH)}"
