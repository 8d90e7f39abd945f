"""The index of a run: its newest bindings, and the agents that keep a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from .outline import Memory
from .tables import table

NEWEST: Final = 100
"""Bindings that are listed; older ones are only counted."""


class _Row(NamedTuple):
    name: str
    kind: str
    path: str
    execution_id: int | None


class Index:
    """Bindings in the order in which they were first made, as many as fit.

    Of the root's own names there are no more than its program has; what repetition makes (sessions without a name,
    files of frames and rounds) goes first where there are too many.
    """

    def __init__(self) -> None:
        self._named: dict[str, _Row] = {}
        self._repeated: dict[str, _Row] = {}
        self._order: dict[str, None] = {}
        self._gone: set[str] = set()
        """Files of root names that had to go."""
        self._earlier = 0

    def add(self, name: str, kind: str, path: str, execution_id: int | None) -> None:
        """A binding has a file, for the first time or once more."""
        row = _Row(name, kind, path, execution_id)
        if execution_id is None and "~" not in path and not name.startswith("anon_"):
            self._named[path] = row
            if path in self._gone:
                self._gone.discard(path)
                self._earlier -= 1
        else:
            self._repeated[path] = row
        self._order.setdefault(path)
        if len(self._order) > NEWEST:
            self._drop()

    def _drop(self) -> None:
        oldest = next(iter(self._repeated or self._named))
        if self._repeated.pop(oldest, None) is None:
            del self._named[oldest]
            self._gone.add(oldest)
        del self._order[oldest]
        self._earlier += 1

    def lines(self, short: Callable[[str], str]) -> list[str]:
        """The table of bindings; `short` gives a path from the run's folder on."""
        rows = [self._named.get(path) or self._repeated[path] for path in self._order]
        shown = [
            (row.name, row.kind, short(row.path), _scope(row.execution_id))
            for row in rows
        ]
        lines = table(("Name", "Kind", "Path", "Execution ID"), shown)
        return [*lines, "", f"... {self._earlier:,} earlier"] if self._earlier else lines


def _scope(execution_id: int | None) -> str:
    return "(root)" if execution_id is None else str(execution_id)


def agents(memories: Iterable[Memory], prose_dir: str) -> list[str]:
    """The table of the agents that keep a memory, and where."""
    rows = []
    for agent, persist in memories:
        if persist in ("true", "execution"):
            rows.append((agent, "execution", f"agents/{agent}/"))
        elif persist == "project":
            rows.append((agent, persist, f"{prose_dir}/agents/{agent}/"))
        elif persist == "user":
            rows.append((agent, persist, f"~/.prose/agents/{agent}/"))
        else:
            rows.append((agent, persist, f"{persist.rstrip('/')}/"))
    return table(("Name", "Scope", "Path"), rows)
