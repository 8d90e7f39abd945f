"""Runs that were made, as their journals tell: read without working on them, so also while another process does."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .costs import Costs
from .errors import StoreFailed, UsageError
from .options import option
from .past import Past, Record
from .secrets import Secrets
from .state.store import Stores

RESUMABLE = ("waiting", "stopped", "interrupted", "failed")
"""Statuses of runs of which there is something left to do."""


@dataclass(frozen=True, slots=True)
class Made:
    """One run as its journal has it, over all its lives."""

    run_id: str
    program: str
    """Empty where the journal doesn't say."""
    status: str
    """running, completed, failed, waiting, stopped or interrupted; unreadable where its journal is."""
    reason: str = ""
    """Why it did not complete, if it says so."""
    line: int | None = None
    """The source line that it stopped at, if it says so."""
    started: str = ""
    """2026-01-15T14:30:52Z."""
    ended: str = ""
    """When its latest life ended; empty where that doesn't say so."""
    simulated: bool = False
    lives: int = 0
    costs: Costs = field(default_factory=Costs)
    waiting_for: Sequence[str] = ()
    """The inputs that it waits for."""
    last: Record = field(default_factory=dict)
    """What its latest life began with."""
    limits: str = ""
    """The options that bound it, raised where one of them stopped it."""

    @property
    def seen(self) -> datetime:
        """The last time that it is known to have been worked on."""
        for stamp in (self.ended, str(self.last.get("at", ""))):
            try:
                return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            except ValueError:
                continue
        return datetime.strptime(self.run_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)

    @property
    def resumed_by(self) -> str | None:
        """The command line that takes it up again, in the folder where it was started; None where nothing is left to do."""
        command = self.last.get("command")
        if self.status not in RESUMABLE or not isinstance(command, str):
            return None
        limits = [self.limits] if self.limits else []
        inputs = [option(name, "VALUE") for name in self.waiting_for]
        return " ".join([command, "--resume", shlex.quote(self.run_id), *limits, *inputs])


def made(stores: Stores, run_id: str) -> Made:
    """One run."""
    try:
        return told_by(stores, run_id, stores.records(run_id))
    except StoreFailed as problem:
        return Made(run_id, "", "unreadable", problem.message)


def told_by(stores: Stores, run_id: str, records: Sequence[Record]) -> Made:
    """One run, by the records of its journal."""
    try:
        past = Past(records)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        why = f"a record of its journal is not as this version writes it ({problem!r})"
        return Made(run_id, "", "unreadable", why)
    status, reason, line = _ending(past, stores.is_held(run_id) if past.end is None else False)
    secrets = secrets_of(stores, run_id, records)
    return Made(
        run_id,
        str(past.first.get("program", "")),
        status,
        secrets.scrubbed(reason),
        line,
        str(past.first.get("at", "")),
        str((past.end or {}).get("at", "")),
        bool(past.first.get("simulated")),
        sum(record["r"] == "run" for record in records),
        past.costs,
        past.waiting_for if status == "waiting" else (),
        past.last,
        str((past.end or {}).get("limits") or past.last.get("limits") or ""),
    )


def _ending(past: Past, held: bool) -> tuple[str, str, int | None]:
    """The status of a run, why, and the line that it stopped at."""
    if past.end is not None:
        error = past.end.get("error") or {}
        return str(past.end.get("status", "")), str(error.get("message", "")), error.get("line")
    if held:
        return "running", "", None
    return "interrupted", "its process ended without a word", None


def runs(stores: Stores, program: str | None = None) -> list[Made]:
    """Every run that is kept, newest first; with a `program`, those of it. Raises UsageError."""
    found = []
    for run_id in reversed(stores.runs()):
        # One that is deleted while we look is not there.
        with suppress(UsageError):
            if program is None or stores.first(run_id).get("program") == program:
                found.append(made(stores, run_id))
    return found


def secrets_of(stores: Stores, run_id: str, records: Iterable[Record]) -> Secrets:
    """The values of a run's secret inputs, which stand in their binding files alone."""
    secrets = Secrets()
    for file in secret_files(records):
        binding = stores.binding(run_id, file)
        if binding is not None:
            secrets.keep(binding.value)
    return secrets


def secret_files(records: Iterable[Record]) -> set[str]:
    """The binding files of a run's secret inputs."""
    return {
        str(record.get("path", "")).rpartition("/")[2]
        for record in records
        if record["r"] == "input" and record.get("secret")
    }
