"""The narrator: an observer that tells a run from its start to its end, marker by marker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TextIO

from ..events import (
    Bound,
    BranchEnded,
    Event,
    FrameEntered,
    FrameLeft,
    LoopEnded,
    LoopStarted,
    ParallelEnded,
    ParallelStarted,
    PersonAsked,
    PipelineEnded,
    PipelineStarted,
    Resolved,
    RoundEnded,
    RoundStarted,
    RunEnded,
    RunStarted,
    StageEnded,
    Status,
    StepCancelled,
    StepFailed,
    StepFinished,
    StepRetrying,
    StepStarted,
    Threw,
    WaitingFor,
    Warned,
)
from ..listing import Listing
from ..settings import State
from .constructs import Constructs
from .page import Page, Style
from .statements import Statements
from .steps import Steps
from .telling import Telling

_ENDS: Final[Mapping[Status, str]] = {
    "completed": "Program Complete",
    "failed": "Program Failed",
    "waiting": "Program Waiting for input",
    "stopped": "Program Stopped at a limit",
    "interrupted": "Program Interrupted",
    "running": "Program Running",
}


class Narrator:
    """Tells a run on a stream."""

    def __init__(
        self, out: TextIO | None, style: Style, listing: Listing, state: State, *, is_small: bool
    ) -> None:
        """`is_small`: in-context mode suits the program."""
        self._page = Page(out, style)
        self._statements = Statements(listing)
        self._state = state
        self._is_small = is_small
        self._telling = Telling(self._page, self._statements, files=state == "filesystem")
        constructs = Constructs(self._telling)
        steps = Steps(self._telling, constructs)
        self._tellers: Mapping[type, Callable[[Any], None]] = {
            RunStarted: self._started,
            StepStarted: steps.started,
            StepRetrying: steps.retrying,
            StepFinished: steps.finished,
            StepFailed: steps.failed,
            StepCancelled: steps.cancelled,
            ParallelStarted: constructs.parallel_started,
            BranchEnded: constructs.branch_ended,
            ParallelEnded: constructs.parallel_ended,
            LoopStarted: constructs.loop_started,
            RoundStarted: constructs.round_started,
            RoundEnded: constructs.round_ended,
            LoopEnded: constructs.loop_ended,
            PipelineStarted: constructs.pipeline_started,
            StageEnded: constructs.stage_ended,
            PipelineEnded: constructs.pipeline_ended,
            FrameEntered: constructs.frame_entered,
            FrameLeft: constructs.frame_left,
            Bound: steps.bound,
            Resolved: steps.resolved,
            Threw: steps.threw,
            PersonAsked: steps.asked,
            WaitingFor: steps.waiting,
            Warned: self._warned,
            RunEnded: self._ended,
        }

    def see(self, event: Event) -> None:
        teller = self._tellers.get(type(event))
        if teller is not None:
            teller(event)

    # As a display of progress

    def open(self) -> None:
        """Nothing to prepare."""

    def close(self) -> None:
        """Nothing to put back."""

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    # The program as a whole

    def _started(self, event: RunStarted) -> None:
        mode: str = self._state
        if self._state == "in-context":
            suits = "program is small, fits in context" if self._is_small else "chosen with --state"
            mode = f"in-context ({suits})"
        self._page.plain("OpenProse Program Start", f"State mode: {mode}")
        details = []
        if event.directory is not None:
            resumed = " (resumed: what is recorded is not asked again)" if event.resumed else ""
            details.append(f"Run: {event.run_id}{resumed}")
        if event.simulated:
            details.append("Simulated: no model is called")
        definitions = [f"- {definition}" for definition in self._statements.definitions]
        details += ["Collecting definitions...", *definitions]
        self._page.say("Program", "Program Start", details)

    def _warned(self, event: Warned) -> None:
        where = f"line {event.line}: " if event.line is not None else ""
        self._page.say("Warning", where + self._telling.wording.sentence(event.text))

    def _ended(self, event: RunEnded) -> None:
        self._telling.places.end((None, ""), event.status != "completed")
        self._page.say("Program", _ENDS[event.status])
