"""What happens in a run, as observers see it: state.md, the progress display, the narration.

Events that belong to a place in the program carry its source `line`, the frame (`place`) and the `branch`: the scope
path of the strand that it happened in, "" at the root. What several events speak of (a parallel, a loop, a pipeline)
bears a number that no other bears in this life of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from .immutable import immutable
from .providers.protocol import Kind, Usage
from .tasks import Place

if TYPE_CHECKING:
    from .values import Value

Status = Literal["running", "waiting", "stopped", "completed", "failed", "interrupted"]


@immutable
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
    branch: str = ""
    recorded: bool = False
    """An earlier life of the run paid for it: nobody is called, it ends as soon as it starts."""
    prompt: str = ""
    """The task, or the condition, whole."""

    def taken(self) -> StepSeen:
        """This step where an earlier life paid for it. Spelled out: `replace` takes five times as long."""
        return StepSeen(
            self.number,
            self.kind,
            self.label,
            self.line,
            self.agent,
            self.model,
            self.place,
            self.name,
            self.branch,
            True,
            self.prompt,
        )


@immutable
class RunStarted:
    run_id: str
    program: str
    directory: Path | None
    simulated: bool
    resumed: bool = False


@immutable
class StepStarted:
    """The step has a session slot and its call begins."""

    step: StepSeen


@immutable
class StepTokens:
    step: StepSeen
    output: int


@immutable
class StepRetrying:
    step: StepSeen
    attempt: int
    of: int
    reason: str
    delay: float


@immutable
class AttemptStarted:
    """After the pause that a retry makes: the next attempt begins."""

    step: StepSeen


@immutable
class StepFinished:
    """`reason` is a decision's; `path` the file of the value, if it has one."""

    step: StepSeen
    value: Value
    usage: Usage
    seconds: float
    path: str | None = None
    reason: str | None = None


@immutable
class StepFailed:
    step: StepSeen
    reason: str
    seconds: float


@immutable
class StepCancelled:
    step: StepSeen


@immutable
class ParallelStarted:
    """`names` are those of all branches in written order, `_branch_i` where one has none."""

    number: int
    line: int | None
    place: Place
    branch: str
    names: tuple[str, ...]
    join: Literal["all", "first", "any"]
    needed: int
    on_fail: Literal["fail-fast", "continue", "ignore"]


BranchStatus = Literal["complete", "failed", "cancelled", "stopped"]
"""`stopped`: it waits for a person, or the run stops."""


@immutable
class BranchEnded:
    """A branch of the parallel `number` ended; `index` is its place in the order written."""

    number: int
    index: int
    status: BranchStatus
    value: Value | None = None


@immutable
class ParallelEnded:
    """`values`: what the branches with names are bound to; None where the parallel failed or stopped."""

    number: int
    values: Mapping[str, Value] | None


@immutable
class LoopStarted:
    """`of` is None where the loop has no bound. `rounds` counts, `each` goes over elements, `concurrent` does so at once."""

    number: int
    line: int | None
    place: Place
    branch: str
    sort: Literal["rounds", "each", "concurrent"]
    of: int | None


@immutable
class RoundStarted:
    """Round `round` (from 0) of the loop `number` begins; `branch` is the strand of a concurrent one."""

    number: int
    round: int
    branch: str = ""


@immutable
class RoundEnded:
    """A round of a concurrent loop ended. (One of a sequential loop ends when the next begins, or the loop ends.)"""

    number: int
    round: int
    status: BranchStatus


@immutable
class LoopEnded:
    """`exhausted`: it ran all rounds that its bound or its elements allow, and was not left before."""

    number: int
    exhausted: bool


@immutable
class PipelineStarted:
    """`stages` in written order (map, filter, pmap, reduce); `items` elements go into the first."""

    number: int
    line: int | None
    place: Place
    branch: str
    stages: tuple[str, ...]
    items: int


@immutable
class StageEnded:
    """Stage `stage` (from 0) has its value: a list, or what a reduce made."""

    number: int
    stage: int
    value: Value


@immutable
class PipelineEnded:
    """`value` is None where it failed or stopped."""

    number: int
    value: Value | None


@immutable
class FrameEntered:
    """A block is called; `line` is that of the call, `branch` where it happens. `arguments` by parameter."""

    place: Place
    line: int | None
    branch: str = ""
    arguments: Mapping[str, Value] = field(default_factory=dict)


@immutable
class FrameLeft:
    """`failed`: by an error, a stop or a cancellation."""

    place: Place
    failed: bool = False


@immutable
class Bound:
    """A name was bound; `shown` is False for a secret, whose value must not be shown.

    `was` is what an assigned name stood for before; `execution_id` that of the frame which holds the name.
    """

    name: str
    kind: Literal["input", "output", "let", "const", "assign"]
    value: Value
    execution_id: int | None
    shown: bool = True
    line: int | None = None
    place: Place = field(default_factory=Place)
    branch: str = ""
    was: Value | None = None
    path: str | None = None
    """Its file, if it has one."""


@immutable
class Resolved:
    """A block reads a name of its caller, of one further up, or of the root: `execution_id` is that of the frame."""

    name: str
    execution_id: int | None
    place: Place
    branch: str


@immutable
class Threw:
    """The program makes an error of its own, to be raised there and then."""

    message: str
    line: int | None
    place: Place
    branch: str


@immutable
class Warned:
    """Shown once per text in a run."""

    text: str
    line: int | None = None


@immutable
class WaitingFor:
    """An input is missing; other branches first go on to their end."""

    name: str
    text: str | None
    line: int | None = None
    place: Place = field(default_factory=Place)
    branch: str = ""


@immutable
class PersonAsked:
    """The person is asked for an input, and the strand waits for the answer: until the input is bound."""

    name: str
    line: int | None
    place: Place
    branch: str


@immutable
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
    | AttemptStarted
    | StepFinished
    | StepFailed
    | StepCancelled
    | ParallelStarted
    | BranchEnded
    | ParallelEnded
    | LoopStarted
    | RoundStarted
    | RoundEnded
    | LoopEnded
    | PipelineStarted
    | StageEnded
    | PipelineEnded
    | FrameEntered
    | FrameLeft
    | Bound
    | Resolved
    | Threw
    | Warned
    | WaitingFor
    | PersonAsked
    | RunEnded
)


class Observer(Protocol):
    """Sees every event of a run, in order, on the event loop's thread. It must return at once and never raise."""

    def see(self, event: Event) -> None: ...
