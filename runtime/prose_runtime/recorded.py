"""The steps of a run as its journal has them: what was asked, in order, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .identity import identity
from .past import Past, Record
from .providers.protocol import Kind

Fate = Literal["answered", "failed", "cancelled", "running", "cut off"]
"""What came of a step. Cut off: its process died, or was stopped, before there was an answer."""

_ENDS: dict[str, Fate] = {"result": "answered", "failed": "failed", "cancelled": "cancelled"}


@dataclass(slots=True)
class RecordedStep:
    """One step that called a model, over all lives."""

    number: int
    """From 1, in the order in which they were asked first."""
    identity: str
    kind: Kind
    ask: Record
    """The latest record of what it was asked and shown; empty where that is lost."""
    life: int
    """The life, from 1, in which it was asked last."""
    asked: int = 1
    """How many lives asked it."""
    attempts: int = 1
    """Of the latest life, with its retries."""
    fate: Fate = "cut off"
    end: Record = field(default_factory=dict)
    """The record of what came of it; empty while nothing did."""

    @property
    def label(self) -> str:
        """What it is called: the name of its result, its title, or what it asks."""
        return str(self.ask.get("label") or self.ask.get("prompt") or self.end.get("name") or "")

    @property
    def line(self) -> int | None:
        return self.ask.get("line")


def recorded_steps(records: Iterable[Record], held: bool) -> Sequence[RecordedStep]:
    """Every step that was asked, in order. `held`: a process is working on the run."""
    steps: dict[str, RecordedStep] = {}
    life, alive = 0, False
    for record in records:
        kind = record["r"]
        if kind == "run":
            life, alive = life + 1, True
        elif kind == "end":
            alive = False
        elif kind == "ask":
            known = steps.get(record["id"])
            if known is None:
                number = len(steps) + 1
                steps[record["id"]] = RecordedStep(
                    number, record["id"], record["kind"], record, life
                )
            else:
                known.ask, known.life, known.asked = record, life, known.asked + 1
                known.attempts, known.fate, known.end = 1, "cut off", {}
        elif kind == "retry" and record["id"] in steps:
            steps[record["id"]].attempts = record["attempt"]
        elif kind in _ENDS and record.get("kind") is not None:
            step = steps.get(record["id"])
            if step is None:
                step = RecordedStep(len(steps) + 1, record["id"], record["kind"], {}, life)
                steps[record["id"]] = step
            step.fate, step.end = _ENDS[kind], record
    if held and alive:
        for step in steps.values():
            if step.fate == "cut off" and step.life == life:
                step.fate = "running"
    return list(steps.values())


def left_to_do(records: Sequence[Record], steps: Iterable[RecordedStep]) -> list[RecordedStep]:
    """The steps that a run was at when it came to its end, which a resumption asks again."""
    past = Past(records)
    settled = _settled(records)
    left = [
        step
        for step in steps
        if step.identity not in settled
        and (
            step.fate in ("cut off", "cancelled")
            or (step.fate == "failed" and not past.is_handled(step.identity))
        )
    ]
    newest = max((step.life for step in left), default=0)
    return [step for step in left if step.life == newest]


def _settled(records: Iterable[Record]) -> set[str]:
    """The steps in races that were won without them: nothing asks those again."""
    return {
        identity(path, content, number)
        for record in records
        if record["r"] == "race"
        for path, content, count in record["counters"]
        for number in range(count)
    }
