"""What a run has cost, in all its lives: sessions, calls, tokens and dollars, by kind of step and model, and as a table.

The journal says it record by record: `result` and `spent` bear `usage` (tokens of input, output, cache writes, cache
reads) and `usd` (left out where no price was known).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .providers.protocol import JSON, Usage
from .terminal import one_line

_SESSIONS: Final = frozenset({"session", "resume"})
_DECISIONS: Final = frozenset({"decide", "until", "while", "keep", "choose"})
_ENDED: Final = frozenset({"result", "failed", "cancelled"})
"""Records of which each step that was called leaves one per life."""

_HEADS: Final = ("", "model", "calls", "input", "output", "cache write", "cache read", "USD")


@dataclass(slots=True)
class Line:
    """The calls of one kind of step to one model."""

    calls: int = 0
    """Those that the API counted tokens for, also where they gave no answer."""
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Costs:
    """What was spent so far."""

    sessions: int = 0
    """Sessions that were started, whichever way they ended; one with its retries is one."""
    decisions: int = 0
    usage: Usage = field(default_factory=Usage)
    lines: dict[tuple[str, str], Line] = field(default_factory=dict)
    """By kind ("session", "decision", "repair", ...) and model."""

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> Costs:
        """What the records of a journal tell."""
        costs = cls()
        for record in records:
            costs.read(record)
        return costs

    def read(self, record: Mapping[str, Any]) -> None:
        """Take in one record; those that speak of nothing spent change nothing."""
        kind = record.get("kind", "")
        if record["r"] in _ENDED:
            self.start(kind)
        usage = usage_of(record)
        if usage is not None:
            self.add(kind, record.get("model"), usage)

    def start(self, kind: str) -> None:
        """A step of this kind is called."""
        self.sessions += is_session(kind)
        self.decisions += kind in _DECISIONS

    def add(self, kind: str, model: str | None, usage: Usage) -> None:
        """One call was made, and cost this."""
        self.usage += usage
        key = (_sort(kind), model or "")
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line()
        line.calls += 1
        line.usage += usage

    @property
    def unpriced(self) -> list[str]:
        """The models of which some call has no known price."""
        return sorted({model for (_, model), line in self.lines.items() if line.usage.usd is None})

    def table(self) -> str:
        """Calls, tokens and dollars by kind and model, for people; empty where nothing was called or all was free."""
        if not self.usage.total and not self.usage.usd:
            return ""
        rows = [
            (kind, one_line(model, 40) or "?", *_cells(line))
            for (kind, model), line in sorted(self.lines.items(), key=_order)
        ]
        if len(rows) > 1:
            rows.append(("total", "", *self._total()))
        table = [_HEADS, *rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(_HEADS))]
        lines = [
            "  ".join(
                cell.ljust(width) if column < 2 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        if self.unpriced:
            models = ", ".join(one_line(model, 40) or "?" for model in self.unpriced)
            lines.append(f"no price is known for {models}: give it with --model-price MODEL=IN/OUT")
        return "\n".join(lines)

    def _total(self) -> tuple[str, ...]:
        lines = self.lines.values()
        cells = _cells(Line(sum(line.calls for line in lines), self.usage))
        if self.usage.usd is not None:
            return cells
        known = sum(line.usage.usd for line in lines if line.usage.usd is not None)
        return (*cells[:-1], f"{dollars(known)} + ?")


def table(records: Iterable[Mapping[str, Any]]) -> str:
    """The table of a run, from the records of its journal; empty where nothing was spent (a simulated run)."""
    return Costs.of(records).table()


def is_session(kind: str | None) -> bool:
    """A step of this kind is counted as a session."""
    return kind in _SESSIONS


def usage_of(record: Mapping[str, Any]) -> Usage | None:
    """What a record says was spent; None where it says nothing."""
    counts = record.get("usage")
    if not isinstance(counts, list) or len(counts) != 4:
        return None
    input, output, cache_write, cache_read = counts
    return Usage(input, output, cache_write, cache_read, record.get("usd"))


def spent_in(usage: Usage) -> dict[str, JSON]:
    """A usage as records have it."""
    fields: dict[str, JSON] = {
        "usage": [usage.input, usage.output, usage.cache_write, usage.cache_read]
    }
    if usage.usd is not None:
        fields["usd"] = round(usage.usd, 9)
    return fields


def dollars(usd: float | None) -> str:
    """An amount for people: four decimals while it is small; "?" where no price is known."""
    if usd is None:
        return "?"
    return f"{usd:,.2f}" if usd >= 100 else f"{usd:.4f}"


def _sort(kind: str) -> str:
    if is_session(kind):
        return "session"
    return "decision" if kind in _DECISIONS else kind


def _order(item: tuple[tuple[str, str], Line]) -> tuple[int, str, str]:
    (kind, model), _ = item
    known = ("session", "decision")
    return (known.index(kind) if kind in known else len(known), kind, model)


def _cells(line: Line) -> tuple[str, ...]:
    usage = line.usage
    counts = (line.calls, usage.input, usage.output, usage.cache_write, usage.cache_read)
    return (*(f"{count:,}" for count in counts), dollars(usage.usd))
