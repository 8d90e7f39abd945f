"""The steps of a run as its journal has them: what was asked, in order, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .costs import usage_of
from .identity import identity
from .past import Past, Record
from .providers.protocol import Kind, Usage

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
    asked: int = 0
    """How often it was asked, not counting retries."""
    attempts: int = 1
    """Of the latest life, with its retries."""
    again: Sequence[str] = ()
    """Answers of it that were asked for once more in the shape needed."""
    usage: Usage = field(default_factory=Usage)
    """Of all its calls."""
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

    def read(self, record: Record, life: int) -> None:
        """Take in one more record of this step."""
        match record["r"]:
            case "ask":
                self.ask, self.life, self.asked = record, life, self.asked + 1
                self.attempts, self.again, self.fate, self.end = 1, (), "cut off", {}
            case "retry":
                self.attempts = record["attempt"]
            case "again":
                self.again = (*self.again, record["text"])
            case "result" | "failed" | "cancelled" as kind:
                self.fate, self.end = _ENDS[kind], record
        spent = usage_of(record)
        if spent is not None:
            self.usage += spent


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
        elif kind == "ask" or kind in _ENDS:
            step = steps.get(record["id"])
            if step is None:
                step = RecordedStep(len(steps) + 1, record["id"], record["kind"], {}, life)
                steps[record["id"]] = step
            step.read(record, life)
        elif (step := steps.get(record.get("id", ""))) is not None:
            step.read(record, life)
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
