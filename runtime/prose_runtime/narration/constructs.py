"""Narration of what holds several steps: parallels, loops, pipelines and block invocations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..events import (
    BranchEnded,
    BranchStatus,
    FrameEntered,
    FrameLeft,
    LoopEnded,
    LoopStarted,
    ParallelEnded,
    ParallelStarted,
    PipelineEnded,
    PipelineStarted,
    RoundEnded,
    RoundStarted,
    StageEnded,
)
from ..tasks import Place
from ..values import Value
from .places import Key
from .statements import LONGEST
from .telling import Telling
from .wording import RESULT

_STACK_FROM: Final = 3
"""From this depth on the stack is shown when a block is entered: until then two lines tell it."""

_STACK_ROWS: Final = 5


@dataclass(slots=True)
class _Parallel:
    key: Key
    event: ParallelStarted
    ended: dict[int, tuple[BranchStatus, Value | None]] = field(default_factory=dict)
    written: dict[str, Sequence[str]] = field(default_factory=dict)
    """What the sessions of branches wrote, by the branch's scope path."""

    def branch(self, index: int) -> Key:
        return self.key[0], f"{self.event.branch}/{self.event.names[index]}"


@dataclass(slots=True)
class _Loop:
    key: Key
    event: LoopStarted
    heading: str
    bounded: bool
    """It has a `max`."""
    in_pipeline: bool
    round: int = -1
    satisfied: bool = False
    """Its condition has ended it."""
    branches: dict[int, str] = field(default_factory=dict)
    """Scope paths of concurrent rounds."""
    failure: str = ""


@dataclass(slots=True)
class _Pipeline:
    key: Key
    event: PipelineStarted
    heading: str


class Constructs:
    """Tells of parallels, loops, pipelines and frames while they run."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._wording = telling.wording
        self._parallels: dict[int, _Parallel] = {}
        self._forks: dict[str, _Parallel] = {}
        """The parallel of each branch, by its scope path."""
        self._loops: dict[int, _Loop] = {}
        self._pipelines: dict[int, _Pipeline] = {}
        self._frames: dict[int, tuple[Place, str]] = {}

    # Parallels

    def parallel_started(self, event: ParallelStarted) -> None:
        key = (event.place.execution_id, event.branch)
        parallel = self._parallels[event.number] = _Parallel(key, event)
        for index in range(len(event.names)):
            self._forks[parallel.branch(index)[1]] = parallel
        self._telling.go(key, event.line)
        policy = event.join if event.join != "any" else f"any, count: {event.needed}"
        if event.on_fail != "fail-fast":
            policy += f", on-fail: {event.on_fail}"
        count = _counted(len(event.names), "branch", "branches")
        self._telling.say(
            key,
            "Parallel",
            f"Entering parallel block ({count}, strategy: {policy})",
            [f"- {name}: pending" for name in event.names],
        )

    def branch_ended(self, event: BranchEnded) -> None:
        parallel = self._parallels[event.number]
        parallel.ended[event.index] = (event.status, event.value)
        if event.status != "cancelled":
            # What is cancelled still has its finally to go through: all have by the end of the parallel.
            self._telling.places.end(parallel.branch(event.index), event.status != "complete")

    def parallel_ended(self, event: ParallelEnded) -> None:
        parallel = self._parallels.pop(event.number)
        details: list[str] = []
        for index, name in enumerate(parallel.event.names):
            key = parallel.branch(index)
            branch = key[1]
            self._telling.places.end(key, failed=True)
            self._forks.pop(branch, None)
            details.append(f"- {name}{self._outcome(parallel, index)}")
            details += [f"  {line}" for line in parallel.written.get(branch, ())]
        statuses = {status for status, _ in parallel.ended.values()}
        if event.values is not None:
            how = "complete"
        else:
            how = "failed" if "failed" in statuses else "stopped"
        self._telling.say(parallel.key, "Parallel", f"Parallel {how}:", details)
        if event.values:
            self._telling.say(parallel.key, "Binding", f"{', '.join(event.values)} bound")
        if how == "failed":
            failed = min(n for n, (status, _) in parallel.ended.items() if status == "failed")
            error = parallel.ended[failed][1]
            self._telling.fail(parallel.key, error.text if error is not None else "")

    def _outcome(self, parallel: _Parallel, index: int) -> str:
        status, value = parallel.ended.get(index, ("cancelled", None))
        if status == "complete" and value is not None:
            return f" = {self._wording.value(value)}"
        if status == "failed" and value is not None:
            return f": failed ({self._wording.sentence(value.text)})"
        return f": {status}"

    # Loops

    def loop_started(self, event: LoopStarted) -> None:
        telling = self._telling
        key = (event.place.execution_id, event.branch)
        strand = telling.at(key)
        in_pipeline = event.sort == "concurrent" and bool(strand.pipelines)
        path = telling.statements.path(event.line)
        heading = "loop"
        if path:
            heading = self._wording.text(telling.statements.heading(path[-1]), LONGEST)
        bounded = bool(path) and path[-1].kind == "loop" and event.of is not None
        self._loops[event.number] = _Loop(key, event, heading, bounded, in_pipeline)
        if in_pipeline:
            return
        strand.loops.append(event.number)
        if not telling.go(key, event.line) and path and strand.over is path[-1]:
            telling.position(key, path[-1])
        if event.sort == "each":
            heading += f" ({_counted(event.of or 0, 'item')})"
        elif event.sort == "concurrent":
            heading += f" ({_counted(event.of or 0, 'item')} at once)"
        telling.say(key, "Loop", f"Starting {heading}")

    def round_started(self, event: RoundStarted) -> None:
        loop, telling = self._loops[event.number], self._telling
        loop.round = event.round
        if loop.event.sort == "concurrent":
            word = "item" if loop.in_pipeline else "round"
            telling.rounds[event.branch] = f"{word} {event.round + 1}"
            loop.branches[event.round] = event.branch
            return
        telling.places.back_to(loop.key, loop.event.line)
        of = loop.event.of
        bound = "" if of is None else f" of max {of}" if loop.bounded else f" of {of}"
        telling.say(loop.key, "Loop", f"Iteration {event.round + 1}{bound}")

    def round_ended(self, event: RoundEnded) -> None:
        loop, telling = self._loops[event.number], self._telling
        key = (loop.key[0], loop.branches.get(event.round, ""))
        if event.status != "cancelled":
            failure = telling.places.end(key, event.status != "complete")
            if event.status == "failed" and failure is not None:
                loop.failure = loop.failure or failure.message
        if not loop.in_pipeline:
            telling.say(key, "Loop", f"Round {event.status}")
        if event.status != "cancelled":
            del loop.branches[event.round]
            telling.rounds.pop(key[1], None)

    def decided(self, key: Key, ends: bool) -> None:
        """The condition of the innermost loop was answered."""
        loops = self._telling.at(key).loops
        if loops:
            self._loops[loops[-1]].satisfied = ends

    def loop_ended(self, event: LoopEnded) -> None:
        loop, telling = self._loops.pop(event.number), self._telling
        strand = telling.at(loop.key)
        if event.number in strand.loops:
            strand.loops.remove(event.number)
        for branch in loop.branches.values():
            telling.places.end((loop.key[0], branch), failed=True)
            telling.rounds.pop(branch, None)
        if loop.failure and not event.exhausted:
            telling.fail(loop.key, loop.failure)
        if loop.in_pipeline:
            return
        path = telling.statements.path(loop.event.line)
        failed = strand.failure is not None and (not path or path[-1] in strand.failure.path)
        telling.places.back_to(loop.key, loop.event.line)
        telling.say(loop.key, "Loop", f"Loop exited: {_why_ended(loop, event.exhausted, failed)}")
        strand.over = path[-1] if path else None

    # Pipelines

    def pipeline_started(self, event: PipelineStarted) -> None:
        telling = self._telling
        key = (event.place.execution_id, event.branch)
        telling.go(key, event.line)
        collection = self._wording.text(telling.statements.collection(event.line), LONGEST)
        heading = " | ".join([collection, *event.stages])
        self._pipelines[event.number] = _Pipeline(key, event, heading)
        telling.at(key).pipelines.append(event.number)
        telling.say(key, "Pipeline", heading, [f"Starting with {_counted(event.items, 'item')}"])

    def stage_ended(self, event: StageEnded) -> None:
        pipeline = self._pipelines[event.number]
        kind = pipeline.event.stages[event.stage]
        if kind == "reduce":
            came = f"final result = {self._wording.value(event.value, RESULT)}"
        else:
            done = "passed filter" if kind == "filter" else "transformed"
            came = f"{_counted(len(event.value.items), 'item')} {done}"
        self._telling.go_on(pipeline.key, "Pipeline", pipeline.heading, [f"{kind}: {came}"])

    def pipeline_ended(self, event: PipelineEnded) -> None:
        pipeline = self._pipelines.pop(event.number)
        self._telling.at(pipeline.key).pipelines.remove(event.number)
        if event.value is None:
            self._telling.go_on(pipeline.key, "Pipeline", pipeline.heading, ["not completed"])

    def session_finished(self, key: Key, written: Sequence[str]) -> None:
        """A session ended that is all of a branch or of a pipeline's stage; `written` is what it reports."""
        if not written:
            return
        parallel = self._forks.get(key[1])
        if parallel is not None:
            parallel.written[key[1]] = written
            return
        pipelines = self._telling.at(key).pipelines or self._telling.at(_forked(key)).pipelines
        if pipelines:
            pipeline = self._pipelines[pipelines[-1]]
            self._telling.go_on(pipeline.key, "Pipeline", pipeline.heading, written)

    # Frames

    def frame_entered(self, event: FrameEntered) -> None:
        telling, place = self._telling, event.place
        telling.go((place.parent, event.branch), event.line)
        assert place.execution_id is not None, "the root is not entered"
        self._frames[place.execution_id] = (place, event.branch)
        key = (place.execution_id, event.branch)
        telling.places.begin(key)
        details = []
        if event.arguments:
            given = [f"{n}={self._wording.argument(v)}" for n, v in event.arguments.items()]
            details.append(f"Arguments: {', '.join(given)}")
        if place.parent is not None:
            details.append(f"Parent: execution_id {place.parent}")
        number = f"execution_id: {place.execution_id}"
        telling.say(
            key,
            "Frame+",
            f"Entering block: {place.block} ({number}, depth: {place.depth})",
            details,
        )
        if place.depth >= _STACK_FROM:
            telling.say(
                key, "CallStack", f"Current stack (depth: {place.depth}):", self._stack(place)
            )

    def frame_left(self, event: FrameLeft) -> None:
        telling, place = self._telling, event.place
        assert place.execution_id is not None, "the root is not left"
        _, branch = self._frames.pop(place.execution_id)
        key = (place.execution_id, branch)
        failure = telling.places.end(key, event.failed)
        failed = ", failed" if event.failed else ""
        number = f"execution_id: {place.execution_id}"
        telling.say(key, "Frame-", f"Exiting block: {place.block} ({number}{failed})")
        if event.failed and failure is not None:
            telling.fail((place.parent, branch), failure.message)

    def _stack(self, place: Place) -> list[str]:
        """The innermost frames around a place, itself first."""
        rows: list[str] = []
        at: Place | None = place
        while at is not None and len(rows) < _STACK_ROWS:
            status = "waiting" if rows else "executing"
            rows.append(
                f"execution_id: {at.execution_id} | block: {at.block} | depth: {at.depth} | status: {status}"
            )
            parent = self._frames.get(at.parent) if at.parent is not None else None
            at = parent[0] if parent is not None else None
        if place.depth > len(rows):
            rows.append(f"... {place.depth - len(rows)} more, waiting")
        return rows


def _forked(key: Key) -> Key:
    """The strand that forked this one, in the same frame."""
    return key[0], key[1].rpartition("/")[0]


def _why_ended(loop: _Loop, exhausted: bool, failed: bool) -> str:
    sort, of = loop.event.sort, loop.event.of
    if sort == "concurrent":
        if exhausted:
            return f"all {_counted(of or 0, 'round')} ended"
        return "a round failed" if loop.failure else "stopped"
    at = f"at iteration {loop.round + 1}"
    if failed:
        return f"error {at}"
    if loop.satisfied:
        word = "no longer satisfied" if loop.heading.startswith("loop while") else "satisfied"
        return f"condition {word} {at}"
    if not exhausted:
        return f"left {at}"
    if loop.bounded:
        return f"max iterations ({of}) reached"
    return f"all {_counted(of or 0, 'iteration')} done"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
