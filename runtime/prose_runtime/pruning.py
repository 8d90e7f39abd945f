"""Deleting old runs: which ones, and whether it can be done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .errors import StoreFailed, UsageError
from .history import Made
from .state.store import Stores

STATUSES: Final = ("completed", "failed", "waiting", "stopped", "interrupted", "unreadable")
"""Those that can be asked for: a running one is never deleted."""

DONE: Final = ("completed", "failed")
"""Those that are deleted when nothing else is asked for."""

OLD: Final = timedelta(days=30)
"""The age from which they are deleted when nothing else is asked for."""

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Rule:
    """Which runs go: those to which all of this applies."""

    statuses: frozenset[str] = frozenset(DONE)
    older_than: timedelta = OLD
    """Time since anything is known to have worked on it."""
    keep: int = 0
    """As many of the newest runs of each program stay, whatever their status."""


def chosen(runs: Iterable[Made], rule: Rule, now: datetime) -> Sequence[Made]:
    """Those of `runs` (all that there are, newest first) that go."""
    newer: Counter[str] = Counter()
    going = []
    for run in runs:
        newer[run.program] += 1
        if (
            newer[run.program] > rule.keep
            and run.status in rule.statuses
            and now - run.seen >= rule.older_than
        ):
            going.append(run)
    return going


def deleted(stores: Stores, runs: Iterable[Made]) -> Sequence[tuple[Made, str]]:
    """Delete runs; gives each with why it could not be, empty where it is gone."""
    done = []
    for run in runs:
        try:
            stores.remove(run.run_id)
            done.append((run, ""))
        except (UsageError, StoreFailed) as problem:
            done.append((run, problem.message))
    return done


def age(text: str) -> timedelta:
    """90m, 12h, 30d or 2w; raises ValueError."""
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if match is None:
        raise ValueError(text)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
