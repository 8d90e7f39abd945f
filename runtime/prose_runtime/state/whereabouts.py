"""Where a run is, made of its events: what runs on which line, in which constructs and frames, and how it ended there.

What is kept is bounded by the program and by what runs at once, never by what was done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from ..events import (
    AttemptStarted,
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
    RoundEnded,
    RoundStarted,
    StageEnded,
    StepCancelled,
    StepFailed,
    StepFinished,
    StepRetrying,
    StepSeen,
    StepStarted,
    Threw,
    WaitingFor,
)
from ..identity import branch_path
from ..tasks import Place
from .entered import Forked, Looping, Piping
from .marks import Failure, Sheet
from .outline import Node, Outline
from .walk import Walk
from .walks import Walks

COMPLETED: Final = 10
"""Frames that are remembered after their end."""


class Whereabouts:
    """Follows a run by its events."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.sheet = Sheet(outline)
        self.walks = Walks(outline, self.sheet)
        self.completed: deque[Place] = deque(maxlen=COMPLETED)
        self.steps = 0
        """Steps that are running."""
        self._constructs: dict[int, Forked | Looping | Piping] = {}
        self._files: dict[str, str] = {}
        """The newest file of every name."""
        self._seen: dict[type[Event], Callable[[Any], None]] = {
            StepStarted: self._step_started,
            StepRetrying: self._step_retrying,
            AttemptStarted: self._attempt_started,
            StepFinished: self._step_finished,
            StepFailed: self._step_failed,
            StepCancelled: self._step_cancelled,
            Bound: self._bound,
            Threw: self._threw,
            PersonAsked: self._person_asked,
            WaitingFor: self._waiting_for,
            FrameEntered: self._frame_entered,
            FrameLeft: self._frame_left,
            ParallelStarted: self._parallel_started,
            BranchEnded: self._branch_ended,
            ParallelEnded: self._parallel_ended,
            LoopStarted: self._loop_started,
            RoundStarted: self._round_started,
            RoundEnded: self._round_ended,
            LoopEnded: self._loop_ended,
            PipelineStarted: self._pipeline_started,
            StageEnded: self._stage_ended,
            PipelineEnded: self._pipeline_ended,
        }

    def see(self, event: Event) -> bool:
        """Take in an event; False for one that says nothing of where the run is."""
        seen = self._seen.get(type(event))
        if seen is None:
            return False
        seen(event)
        return True

    def filed(self, name: str, path: str) -> None:
        """The file of a name was written."""
        if not name.startswith("anon_"):
            self._files[name] = path

    def _of(self, step: StepSeen) -> tuple[Walk, Node | None]:
        """The walk and the statement of a step that began before."""
        walk = self.walks.here(step.place.execution_id, step.branch)
        return walk, walk.statement(self.outline.at(step.line))

    # Steps

    def _step_started(self, event: StepStarted) -> None:
        step = event.step
        if step.recorded:
            # It ends as soon as it starts: then it is seen.
            return
        _, node = self.walks.go(step.place, step.branch, step.line)
        self.steps += 1
        if node is not None:
            self.sheet.mark(node).start(step.branch)

    def _step_retrying(self, event: StepRetrying) -> None:
        _, node = self._of(event.step)
        if node is not None:
            self.sheet.mark(node).retrying[event.step.number] = (event.attempt, event.of)

    def _attempt_started(self, event: AttemptStarted) -> None:
        _, node = self._of(event.step)
        if node is not None:
            self.sheet.mark(node).retrying.pop(event.step.number, None)

    def _step_ended(self, step: StepSeen) -> tuple[Walk, Node | None]:
        if step.recorded:
            walk, node = self.walks.go(step.place, step.branch, step.line)
            if node is not None:
                self.sheet.mark(node).begun = True
            return walk, node
        self.steps -= 1
        walk, node = self._of(step)
        if node is not None:
            mark = self.sheet.mark(node)
            mark.stop(step.branch)
            mark.retrying.pop(step.number, None)
        return walk, node

    def _step_finished(self, event: StepFinished) -> None:
        step = event.step
        walk, node = self._step_ended(step)
        if node is None:
            return
        if event.path is not None:
            self.sheet.mark(node).wrote(event.path, self.walks.outermost_loop(step.branch))
        elif node.sort == "plain" and step.kind != "repair":
            self.sheet.mark(node).complete()
        if step.kind == "choose":
            walk.chose(event.value.text)

    def _step_failed(self, event: StepFailed) -> None:
        walk, node = self._step_ended(event.step)
        self._fail(walk, node, event.reason)

    def _fail(self, walk: Walk, node: Node | None, reason: str) -> None:
        failure = Failure(reason)
        walk.fail(node or walk.at, [failure])
        if node is not None:
            mark = self.sheet.mark(node)
            mark.failure = failure
            if node.sort == "plain":
                mark.complete()

    def _step_cancelled(self, event: StepCancelled) -> None:
        _, node = self._step_ended(event.step)
        if node is not None:
            mark = self.sheet.mark(node)
            mark.put_back() if self.walks.stopping() else mark.skip()

    # Names, errors, persons

    def _bound(self, event: Bound) -> None:
        walk, node = self.walks.go(event.place, event.branch, event.line, at_head=True)
        answered = event.kind == "input" and walk in self.walks.asking
        if answered:
            self.walks.asking.discard(walk)
        if node is None:
            return
        mark = self.sheet.mark(node)
        if answered:
            mark.stop(event.branch)
        if event.path is None:
            mark.complete()
        elif node.sort == "plain":
            mark.wrote(event.path, self.walks.outermost_loop(event.branch))
        else:
            mark.wrote_one(event.path)

    def _threw(self, event: Threw) -> None:
        walk, node = self.walks.go(event.place, event.branch, event.line)
        self._fail(walk, node, event.message)

    def _person_asked(self, event: PersonAsked) -> None:
        walk, node = self.walks.go(event.place, event.branch, event.line)
        self.walks.asking.add(walk)
        if node is not None:
            self.sheet.mark(node).start(event.branch)

    def _waiting_for(self, event: WaitingFor) -> None:
        walk, _ = self.walks.go(event.place, event.branch, event.line)
        walk.stopped = True

    # Frames

    def _frame_entered(self, event: FrameEntered) -> None:
        place = event.place
        caller, node = self.walks.go(Place(place.parent), event.branch, event.line)
        if node is not None:
            self.sheet.mark(node).start(event.branch)
        self.walks.call(caller, place, event.branch)

    def _frame_left(self, event: FrameLeft) -> None:
        if event.place.execution_id not in self.walks.frames:
            return
        _, walk = self.walks.frames[event.place.execution_id]
        caller = walk.parent
        assert caller is not None
        node = caller.at
        mark = self.sheet.mark(node)
        mark.stop(walk.branch)
        if not event.failed:
            self.walks.end(walk)
            self.completed.appendleft(event.place)
        else:
            caller.stopped |= walk.stopped
            self._up(walk, caller, node)
        if node.sort == "plain" and not (walk.stopped or self.walks.stopping()):
            mark.skip() if self.walks.is_given_up(walk.branch) else mark.complete()

    def _up(self, walk: Walk, above: Walk, node: Node) -> None:
        """A walk ended badly: what it failed with is the matter of the one above."""
        above.fail(node, walk.failures)
        if walk.failures and node.sort == "plain":
            self.sheet.mark(node).failure = walk.failures[-1]

    # Parallels

    def _parallel_started(self, event: ParallelStarted) -> None:
        walk, node = self.walks.go(event.place, event.branch, event.line, at_head=True)
        forked = Forked(node or self.outline.root, walk, event)
        walk.start(forked)
        self._constructs[event.number] = forked
        for index, name in enumerate(event.names):
            self.walks.forks[branch_path(event.branch, name)] = (forked, index)

    def _branch_ended(self, event: BranchEnded) -> None:
        forked = self._constructs.get(event.number)
        if not isinstance(forked, Forked):
            return
        status = event.status
        if status == "cancelled" and self.walks.stopping():
            status = "stopped"
        forked.stands[event.index] = status
        branch = branch_path(forked.branch, forked.names[event.index])
        walk = self.walks.find(forked.walk.execution_id, branch)
        clause = forked.clause_of(event.index)
        if status == "complete":
            if walk is not None:
                self.walks.end(walk)
            if clause is not None:
                self.sheet.mark(clause).complete()
        elif status == "cancelled" and clause is not None:
            self.sheet.mark(clause).skip()
        elif status == "failed" and forked.tolerates_all and walk is not None:
            self.walks.tolerate(walk)

    def _parallel_ended(self, event: ParallelEnded) -> None:
        forked = self._constructs.pop(event.number, None)
        if not isinstance(forked, Forked):
            return
        walk = forked.walk
        branches = [branch_path(forked.branch, name) for name in forked.names]
        for index, branch in enumerate(branches):
            child = self.walks.find(walk.execution_id, branch)
            clause = forked.clause_of(index)
            if forked.stands[index] == "cancelled" and clause is not None:
                # What was cancelled too late to notice came to its end meanwhile.
                self.sheet.mark(clause).skip()
            if child is not None and forked.stands[index] == "cancelled":
                self.walks.abandon(child, skipped=True)
            elif child is not None and event.values is None:
                # Where enough failed the error goes on, whoever else waits for a person.
                walk.stopped |= child.stopped and not forked.is_lost
                self._up(child, walk, forked.node)
            self.walks.forks.pop(branch, None)
        if event.values is None:
            return
        for child in walk.children:
            child.catch()
        self.walks.go_on(walk)
        walk.finish(forked)
        for name, value in event.values.items():
            index = forked.names.index(name)
            clause = forked.clause_of(index)
            path = self._files.get(name)
            if clause is None or path is None:
                continue
            if forked.stands[index] == "complete" or not value.is_null:
                self.sheet.mark(clause).wrote_one(path)

    # Loops

    def _loop_started(self, event: LoopStarted) -> None:
        walk, node = self.walks.go(event.place, event.branch, event.line, at_head=True)
        tolerant = event.sort == "concurrent" and node is not None and self.outline.tolerates_failures(node)
        looping = Looping(node or self.outline.root, walk, event, tolerant)
        self._constructs[event.number] = looping
        around = walk.entered[-1] if walk.entered else None
        if isinstance(around, Piping) and around.node is looping.node:
            around.loop = looping
        else:
            walk.start(looping)

    def _round_started(self, event: RoundStarted) -> None:
        looping = self._constructs.get(event.number)
        if not isinstance(looping, Looping):
            return
        if event.branch:
            looping.paths[event.round] = event.branch
            self.walks.forks[event.branch] = (looping, event.round)
            return
        looping.round = event.round
        if not self.walks.stopping():
            self.walks.go_on(looping.walk)
            looping.walk.move(looping.node)

    def _round_ended(self, event: RoundEnded) -> None:
        looping = self._constructs.get(event.number)
        if not isinstance(looping, Looping):
            return
        looping.running.discard(event.round)
        if event.status == "cancelled":
            looping.given_up.add(event.round)
        looping.ended[event.status] = looping.ended.get(event.status, 0) + 1
        if event.status == "complete" or (event.status == "failed" and looping.tolerant):
            branch = looping.paths.pop(event.round, "")
            walk = self.walks.find(looping.walk.execution_id, branch)
            if walk is not None:
                self.walks.end(walk) if event.status == "complete" else self.walks.tolerate(walk)
            self.walks.forks.pop(branch, None)

    def _loop_ended(self, event: LoopEnded) -> None:
        looping = self._constructs.pop(event.number, None)
        if not isinstance(looping, Looping):
            return
        walk = looping.walk
        failed = not looping.tolerant and "failed" in looping.ended
        for branch in looping.paths.values():
            child = self.walks.find(walk.execution_id, branch)
            self.walks.forks.pop(branch, None)
            if child is None:
                continue
            if event.exhausted:
                child.catch()
            if child.failures or child.stopped:
                # Where a round failed the error goes on, whoever else waits for a person.
                walk.stopped |= child.stopped and not failed
                self._up(child, walk, looping.node)
            elif not (event.exhausted or self.walks.stopping()):
                self.walks.abandon(child, skipped=True)
        over = event.exhausted or not (walk.failures or walk.stopped or self.walks.stopping())
        if over and looping in walk.entered:
            self.walks.go_on(walk)
            walk.finish(looping)

    # Pipelines

    def _pipeline_started(self, event: PipelineStarted) -> None:
        walk, node = self.walks.go(event.place, event.branch, event.line, at_head=True)
        piping = Piping(node or self.outline.root, walk, event)
        walk.start(piping)
        self._constructs[event.number] = piping

    def _stage_ended(self, event: StageEnded) -> None:
        piping = self._constructs.get(event.number)
        if isinstance(piping, Piping):
            value = event.value
            piping.results.append(len(value.items) if value.kind == "list" else None)
            piping.loop = None

    def _pipeline_ended(self, event: PipelineEnded) -> None:
        piping = self._constructs.pop(event.number, None)
        if isinstance(piping, Piping) and event.value is not None:
            piping.walk.finish(piping)

    # The end

    def complete(self) -> None:
        """The program came to its end."""
        self.walks.end(self.walks.root)
