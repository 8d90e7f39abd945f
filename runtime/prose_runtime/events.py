"""What happens in a run, as observers see it: the progress display, and later the narration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from .providers.protocol import Kind, Usage
from .tasks import Place

if TYPE_CHECKING:
    from .values import Value

Status = Literal["running", "waiting", "stopped", "completed", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class StepSeen:
    """One step as people see it. `number` counts the steps of this process, from 1."""

    number: int
    kind: Kind | Literal["input"]
    label: str
    """Its name, else its title, else the first line of its prompt; for decisions the condition."""
    line: int | None
    agent: str | None
    model: str | None
    place: Place
    name: str | None = None
    """What the result is bound to, if anything."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    run_id: str
    program: str
    directory: Path | None
    simulated: bool


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The step has a session slot and its call begins."""

    step: StepSeen


@dataclass(frozen=True, slots=True)
class StepTokens:
    step: StepSeen
    output: int


@dataclass(frozen=True, slots=True)
class StepRetrying:
    step: StepSeen
    attempt: int
    of: int
    reason: str
    delay: float


@dataclass(frozen=True, slots=True)
class StepFinished:
    """`reason` is a decision's; `path` the file of the value, if it has one."""

    step: StepSeen
    value: Value
    usage: Usage
    seconds: float
    path: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StepFailed:
    step: StepSeen
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StepCancelled:
    step: StepSeen


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """Round `number` (from 0) of a loop begins; `of` is None where the loop has no bound."""

    line: int | None
    number: int
    of: int | None


@dataclass(frozen=True, slots=True)
class FrameEntered:
    place: Place
    line: int | None


@dataclass(frozen=True, slots=True)
class FrameLeft:
    place: Place


@dataclass(frozen=True, slots=True)
class Bound:
    """A name was bound; `shown` is False for a secret, whose value must not be shown."""

    name: str
    kind: Literal["input", "output", "let", "const", "assign"]
    value: Value
    execution_id: int | None
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Warned:
    """Shown once per text in a run."""

    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """An input is missing; other branches first go on to their end."""

    name: str
    text: str | None


@dataclass(frozen=True, slots=True)
class RunEnded:
    run_id: str
    status: Status
    usage: Usage
    seconds: float


Event = (
    RunStarted
    | StepStarted
    | StepTokens
    | StepRetrying
    | StepFinished
    | StepFailed
    | StepCancelled
    | RoundStarted
    | FrameEntered
    | FrameLeft
    | Bound
    | Warned
    | WaitingFor
    | RunEnded
)


class Observer(Protocol):
    """Sees every event of a run, in order, on the event loop's thread. It must return at once and never raise."""

    def see(self, event: Event) -> None: ...
