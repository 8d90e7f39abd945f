"""What a session is told: its task, what it was given, what happened so far, where it stands.

Context provided:            the values of `context:`, whole
What has happened so far:    where the session names no context of its own
Execution scope:             inside a block
title, task
the fields or the shape asked for
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SessionError
from ..models import WINDOW
from ..tasks import Entry, Place, Task
from .by_value import given, remark
from .framing import by_line, frame, head_and_tail, whole
from .structured import asked_in_words

SHORT = 2_000
"""Characters up to which a value is short."""


def session_prompt(task: Task, model: str) -> str:
    """The user message of a session; raises SessionError where its context is more than the model takes."""
    parts: list[str] = []
    own = _own_part(task)
    room = WINDOW - len(own) - len(task.system or "")
    if task.context:
        context = _context(task.context)
        if len(context) > room:
            raise _too_large(task, model, room)
        room -= len(context)
        parts.append(context)
    elif room < 0:
        raise _too_large(task, model, room)
    if task.so_far:
        parts.append(so_far(task.so_far, max(0, min(room, WINDOW // 2))))
    parts.append(own)
    return "\n\n".join(parts) if len(parts) > 1 else own


def so_far(entries: Sequence[Entry], room: int) -> str:
    """The account of what happened: the newest results whole while they fit into `room`, the older ones by their line."""
    texts: list[str | None] = []
    for entry in reversed(entries):
        text = given(entry)
        # From the first that doesn't fit on only lines: whole results with gaps between them mislead about their order.
        room = room - len(text) if len(text) <= room else -1
        texts.append(text if room >= 0 else None)
    return _account(entries, texts[::-1])


def so_far_for_question(entries: Sequence[Entry], newest: int, limit: int) -> str:
    """The account for a decision: the `newest` results whole up to `limit` characters, of the older ones the short."""
    texts: list[str | None] = []
    for number, entry in enumerate(reversed(entries)):
        text = entry.value.text
        texts.append(head_and_tail(text, limit) if number < newest or len(text) < SHORT else None)
    return _account(entries, texts[::-1])


def _account(entries: Sequence[Entry], texts: Sequence[str | None]) -> str:
    """Each result by its text where there is one, else by its line; both with place and size."""
    labels = [entry.label for entry in entries]
    shown: list[str] = []
    for entry, text in zip(entries, texts, strict=True):
        if text is None:
            shown.append(by_line(entry, entry.value.text))
        else:
            place = f"{entry.path}, " if entry.path else ""
            about = remark(entry) or f" ({place}{len(entry.value.text):,} characters)"
            shown.append(whole(entry.label, text, labels, about))
    return frame("What has happened so far (oldest first):", shown)


def _context(entries: Sequence[Entry]) -> str:
    labels = [entry.label for entry in entries]
    return frame(
        "Context provided:",
        [whole(entry.label, given(entry), labels, remark(entry)) for entry in entries],
    )


def _own_part(task: Task) -> str:
    parts: list[str] = []
    if task.place.execution_id is not None:
        parts.append(_scope(task.place))
    if task.title and task.title != task.prompt:
        parts.append(task.title)
    parts.append(task.prompt)
    if task.shape is not None and (asked := asked_in_words(task.shape)):
        parts.append(asked)
    return "\n\n".join(parts) if len(parts) > 1 else task.prompt


def _scope(place: Place) -> str:
    parent = place.parent if place.parent is not None else "(root)"
    return (
        "Execution scope:\n"
        f"  execution_id: {place.execution_id}\n"
        f"  block: {place.block}\n"
        f"  depth: {place.depth}\n"
        f"  parent_execution_id: {parent}"
    )


def _too_large(task: Task, model: str, room: int) -> SessionError:
    line = task.hints.line
    takes = f"{model} takes about {WINDOW:,} characters"
    if not task.context:
        size = len(task.prompt) + len(task.system or "")
        return SessionError(
            f"the prompt of this session has {size:,} characters, and {takes}; ask for less at once",
            line=line,
        )
    sizes = sorted(((len(entry.value.text), entry.label) for entry in task.context), reverse=True)
    total = sum(size for size, _ in sizes)
    named: list[str] = []
    left = total
    for size, label in sizes:
        if left <= room and named:
            break
        named.append(f"'{label}' ({size:,} characters)")
        left -= size
    verb = "does" if len(named) == 1 else "do"
    return SessionError(
        f"the context of this session is too large: {', '.join(named)} {verb} not fit, and {takes}; "
        "pass a part of it, or a summary",
        line=line,
    )
