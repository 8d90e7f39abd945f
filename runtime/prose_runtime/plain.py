"""Runs as plain data, for --json: everything that is shown of them, and under which names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .history import Made
from .providers.protocol import JSON
from .recorded import RecordedStep
from .sent import Message
from .state.store import Stores


def plain_run(run: Made, stores: Stores) -> dict[str, JSON]:
    """A run as `runs --json` lists it."""
    directory = stores.directory(run.run_id)
    return {
        "run": run.run_id,
        "program": run.program,
        "status": run.status,
        "simulated": run.simulated,
        "reason": run.reason or None,
        "line": run.line,
        "started": run.started or None,
        "ended": run.ended or None,
        "lives": run.lives,
        "sessions": run.costs.sessions,
        "decisions": run.costs.decisions,
        "tokens": run.costs.usage.total,
        "usd": run.costs.usage.usd,
        "directory": str(directory) if directory else None,
        "resume": run.resumed_by,
    }


def plain_show(
    run: Made,
    stores: Stores,
    steps: Sequence[RecordedStep],
    left: Iterable[RecordedStep],
) -> dict[str, JSON]:
    """A run as `show --json` has it."""
    last = run.last
    return {
        **plain_run(run, stores),
        "resume_in": last.get("folder"),
        "waiting_for": [*run.waiting_for],
        "next": [step.number for step in left],
        "steps": [plain_step(step) for step in steps],
        "bindings": [*stores.bindings(run.run_id)],
    }


def plain_step(step: RecordedStep) -> dict[str, JSON]:
    """One step, without what it sent."""
    return {
        "number": step.number,
        "id": step.identity,
        "kind": step.kind,
        "label": step.label,
        "line": step.line,
        "status": step.fate,
        "asked": step.asked,
        "attempts": step.attempts,
        "model": step.end.get("model") or step.ask.get("model"),
        "tokens": step.usage.total,
        "usd": step.usage.usd,
    }


def plain_sent(step: RecordedStep, messages: Iterable[Message]) -> dict[str, JSON]:
    """One step with what it sent."""
    return {**plain_step(step), "sent": [_plain_message(message) for message in messages]}


def _plain_message(message: Message) -> JSON:
    return {
        "system": message.system,
        "user": message.user,
        "schema": dict(message.schema) if message.schema else None,
        "lacking": [*message.lacking],
        "problem": message.problem or None,
    }
