"""A plan as text for people and as JSON for programs."""

from __future__ import annotations

import json
import math
from typing import Final

from prosec.plan import Plan, Range
from prosec.report.text import neutralise

_CONCURRENCY: Final = 10
"""How many sessions a run starts at once unless it is told otherwise."""


def as_text(path: str, plan: Plan) -> str:
    """The plan of one program, with the lines that matter."""
    rows = [
        ("sessions", _range(plan.sessions)),
        ("decisions", _range(plan.decisions)),
        ("at once", _at_once(plan)),
    ]
    if plan.retries:
        rows.append(("retries", f"{_count(plan.retries)} more calls at most, where sessions fail"))
    objections = "; ".join(plan.size.objections)
    rows.append(("in-context", "suits it" if not objections else f"doesn't suit it: {objections}"))
    lines = [neutralise(path), *(f"  {name:<10}  {text}" for name, text in rows)]
    if plan.never_ends:
        lines += ["", "Only the safety cap of rounds (--max-rounds) ends a run."]
    if plan.unbounded:
        lines += ["", "Why it has no bound (--max-sessions, --max-usd and others give a run one):"]
        lines += [f"  line {remark.line}: {neutralise(remark.text)}" for remark in plan.unbounded]
    return "\n".join(lines) + "\n"


def as_json(path: str, plan: Plan) -> str:
    """The same as an object; null where there is no bound."""
    return (
        json.dumps(
            {
                "file": path,
                "sessions": _plain(plan.sessions),
                "decisions": _plain(plan.decisions),
                "retries": {"most": _finite(plan.retries)},
                "at_once": {"most": _finite(plan.at_once), "line": plan.widest},
                "unbounded": [
                    {"line": remark.line, "reason": remark.text} for remark in plan.unbounded
                ],
                "loops_without_max": plan.no_max,
                "in_context": {
                    "suits": plan.size.in_context,
                    "statements": plan.size.statements,
                    "branches": _finite(plan.size.branches),
                    "imports": plan.size.imports,
                    "nesting": plan.size.nesting,
                },
            },
            indent=2,
        )
        + "\n"
    )


def _range(counts: Range) -> str:
    if counts.least == counts.most:
        return _count(counts.least)
    return f"{_count(counts.least)} to {_count(counts.most)}"


def _at_once(plan: Plan) -> str:
    if plan.at_once <= 1:
        return _count(plan.at_once)
    where = f" (line {plan.widest})" if plan.widest is not None else ""
    limited = ""
    if plan.at_once > _CONCURRENCY:
        limited = f"; a run starts {_CONCURRENCY} at a time (--max-concurrency)"
    many = _count(plan.at_once) if math.isinf(plan.at_once) else f"up to {_count(plan.at_once)}"
    return f"{many}{where}{limited}"


def _count(count: float) -> str:
    return "unbounded" if math.isinf(count) else f"{count:,.0f}"


def _plain(counts: Range) -> dict[str, int | None]:
    return {"least": _finite(counts.least), "most": _finite(counts.most)}


def _finite(count: float) -> int | None:
    return None if math.isinf(count) else int(count)
