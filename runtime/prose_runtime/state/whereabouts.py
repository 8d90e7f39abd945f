"""Where a run is, made of its events: what runs on which line, in which constructs and frames, and how it ended there.

What is kept is bounded by the program and by what runs at once, never by what was done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from ..events import (
    AttemptStarted,
    Bound,
    BranchEnded,
    BranchStatus,
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
from .marks import Entered, Failure, Sheet
from .outline import Node, Outline
from .walks import Walk

COMPLETED: Final = 10
"""Frames that are remembered after their end."""

BranchStands = Literal["pending", "executing"] | BranchStatus


class Forked(Entered):
    """A parallel that is running: how each of its branches stands."""

    __slots__ = ("branch", "names", "stands", "walk")

    def __init__(self, node: Node, walk: Walk, branch: str, names: Sequence[str]) -> None:
        super().__init__(node)
        self.walk = walk
        self.branch = branch
        self.names = names
        self.stands: list[BranchStands] = ["pending"] * len(names)

    def clause_of(self, index: int) -> Node | None:
        """The statement of a branch."""
        clauses = self.node.clauses
        return clauses[index] if index < len(clauses) == len(self.names) else None


class Looping(Entered):
    """A loop that is running; `of` rounds, None where nothing bounds it."""

    __slots__ = (
        "branch", "concurrent", "ended", "given_up", "number", "of", "paths", "round", "running", "walk",
    )  # fmt: skip

    def __init__(self, node: Node, walk: Walk, event: LoopStarted) -> None:
        super().__init__(node)
        self.walk = walk
        self.branch = event.branch
        self.number = event.number
        self.of = event.of
        self.concurrent = event.sort == "concurrent"
        self.round = -1
        """The round that a sequential loop is in."""
        self.paths: dict[int, str] = {}
        """The strands of the rounds of a concurrent loop that have not ended."""
        self.running: set[int] = set()
        """Those of them that have begun."""
        self.given_up: set[int] = set()
        """Rounds that are being cancelled."""
        self.ended: dict[BranchStatus, int] = {}


class Piping(Entered):
    """A pipeline that is running, with the loop of its pmap while it is there."""

    __slots__ = ("items", "loop", "results", "stages", "walk")

    def __init__(self, node: Node, walk: Walk, event: PipelineStarted) -> None:
        super().__init__(node)
        self.walk = walk
        self.stages = event.stages
        self.items = event.items
        self.results: list[int | None] = []
        """How many elements each stage has given; None where it gave something else than a list."""
        self.loop: Looping | None = None


class Whereabouts:
    """Follows a run by its events."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.sheet = Sheet(outline)
        self.root = Walk(self.sheet, outline.root, None, "", None)
        self.stopping: Callable[[], bool] = _no
        """Nothing may start in the run any more: what is cancelled now was not given up for another."""
        self.frames: dict[int | None, tuple[Place, Walk]] = {}
        """The frames on the stack, also those that ended badly and whose callers have not gone on since."""
        self.completed: deque[Place] = deque(maxlen=COMPLETED)
        self.asking: set[Walk] = set()
        """Who waits for the answer of a person that was asked."""
        self.steps = 0
        """Steps that are running."""
        self._walks: dict[tuple[int | None, str], Walk] = {(None, ""): self.root}
        self._forks: dict[str, tuple[Forked | Looping, int]] = {}
        """By scope path: the construct that forked a strand, and which of its branches or rounds it is."""
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
        self._files[name] = path

    def loop_around(self, branch: str) -> Looping | None:
        """The innermost concurrent loop that a strand is a round of."""
        while (fork := self._forks.get(branch)) is not None:
            if isinstance(fork[0], Looping):
                return fork[0]
            branch = fork[0].branch
        return None

    # Walks

    def _walk(self, execution_id: int | None, branch: str) -> Walk:
        return self._walks.get((execution_id, branch)) or self._begun(execution_id, branch)

    def _begun(self, execution_id: int | None, branch: str) -> Walk:
        """The walk of a branch or round in which something happens for the first time."""
        fork = self._forks.get(branch)
        if fork is None:
            walk = Walk(self.sheet, self.outline.root, execution_id, branch, self.root)
        else:
            forked, index = fork
            scope: Node | None = None
            if isinstance(forked, Forked):
                forked.stands[index] = "executing"
                scope = forked.clause_of(index)
            else:
                forked.running.add(index)
            walk = Walk(self.sheet, forked.node, execution_id, branch, forked.walk, scope)
        self._walks[execution_id, branch] = walk
        return walk

    def _go(
        self, place: Place, branch: str, line: int | None, *, at_head: bool = False
    ) -> tuple[Walk, Node | None]:
        """Something happens at a line: the walk that is there now, and the statement.

        `at_head`: it is what the line begins with that happens, not something inside of it.
        """
        walk = self._walk(place.execution_id, branch)
        node = walk.statement((self.outline.beginning(line) if at_head else None) or self.outline.at(line))
        if not self.stopping():
            self._go_on(walk)
            walk.move(node or walk.at)
        return walk, node

    def _go_on(self, walk: Walk) -> None:
        """Nothing is left of what ended badly in a walk that goes on."""
        while walk.children:
            self._abandon(next(iter(walk.children)), skipped=False)

    def _abandon(self, walk: Walk, skipped: bool) -> None:
        """A walk ends where it stands, with all that it began."""
        below = [walk]
        for above in below:
            below.extend(above.children)
        for ended in reversed(below):
            if ended in self.asking:
                self.asking.discard(ended)
                self.sheet.mark(ended.at).stop(ended.branch)
            ended.abandon(skipped)
            self._forget(ended)

    def _forget(self, walk: Walk) -> None:
        self._walks.pop((walk.execution_id, walk.branch), None)
        place = self.frames.get(walk.execution_id)
        if place is not None and place[1] is walk:
            del self.frames[walk.execution_id]

    def _end(self, walk: Walk) -> None:
        """A walk came to its end."""
        self._go_on(walk)
        walk.end()
        walk.abandon(skipped=False)
        self._forget(walk)

    def _of(self, step: StepSeen) -> tuple[Walk, Node | None]:
        """The walk and the statement of a step that began before."""
        walk = self._walk(step.place.execution_id, step.branch)
        return walk, walk.statement(self.outline.at(step.line))

    # Steps

    def _step_started(self, event: StepStarted) -> None:
        step = event.step
        _, node = self._go(step.place, step.branch, step.line)
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
            self.sheet.mark(node).wrote(event.path, self._loop_number(step.branch))
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
            mark.put_back() if self.stopping() else mark.skip()

    def _loop_number(self, branch: str) -> int:
        """The outermost concurrent loop that a strand runs in; 0 outside of any."""
        number = 0
        while (fork := self._forks.get(branch)) is not None:
            forked = fork[0]
            if isinstance(forked, Looping):
                number = forked.number
            branch = forked.branch
        return number

    # Names, errors, persons

    def _bound(self, event: Bound) -> None:
        walk, node = self._go(event.place, event.branch, event.line, at_head=True)
        answered = event.kind == "input" and walk in self.asking
        if answered:
            self.asking.discard(walk)
        if node is None:
            return
        mark = self.sheet.mark(node)
        if answered:
            mark.stop(event.branch)
        if event.path is None:
            mark.complete()
        elif node.sort == "plain":
            mark.wrote(event.path, self._loop_number(event.branch))
        else:
            mark.wrote_one(event.path)

    def _threw(self, event: Threw) -> None:
        walk, node = self._go(event.place, event.branch, event.line)
        self._fail(walk, node, event.message)

    def _person_asked(self, event: PersonAsked) -> None:
        walk, node = self._go(event.place, event.branch, event.line)
        self.asking.add(walk)
        if node is not None:
            self.sheet.mark(node).start(event.branch)

    def _waiting_for(self, event: WaitingFor) -> None:
        walk, _ = self._go(event.place, event.branch, event.line)
        walk.stopped = True

    # Frames

    def _frame_entered(self, event: FrameEntered) -> None:
        place = event.place
        caller, node = self._go(Place(place.parent), event.branch, event.line)
        if node is not None:
            self.sheet.mark(node).start(event.branch)
        top = self.outline.block(place.block) or self.outline.root
        self.sheet.reached.add(top)
        walk = Walk(self.sheet, top, place.execution_id, event.branch, caller)
        self._walks[place.execution_id, event.branch] = walk
        self.frames[place.execution_id] = (place, walk)

    def _frame_left(self, event: FrameLeft) -> None:
        if event.place.execution_id not in self.frames:
            return
        _, walk = self.frames[event.place.execution_id]
        caller = walk.parent
        assert caller is not None
        node = caller.at
        mark = self.sheet.mark(node)
        mark.stop(walk.branch)
        if not event.failed:
            self._end(walk)
            self.completed.appendleft(event.place)
        else:
            self._up(walk, caller, node)
        if node.sort == "plain" and not (walk.stopped or self.stopping()):
            mark.skip() if self._is_given_up(walk.branch) else mark.complete()

    def _is_given_up(self, branch: str) -> bool:
        """A strand is not needed any more: another branch won, or one failed."""
        while (fork := self._forks.get(branch)) is not None:
            forked, index = fork
            if isinstance(forked, Forked):
                if forked.stands[index] == "cancelled":
                    return True
            elif index in forked.given_up:
                return True
            branch = forked.branch
        return False

    def _up(self, walk: Walk, above: Walk, node: Node) -> None:
        """A walk ended badly: what it fails with is the matter of the one above."""
        if walk.stopped:
            above.stopped = True
        above.fail(node, walk.failures)
        if walk.failures and node.sort == "plain":
            self.sheet.mark(node).failure = walk.failures[-1]

    # Parallels

    def _parallel_started(self, event: ParallelStarted) -> None:
        walk, node = self._go(event.place, event.branch, event.line, at_head=True)
        forked = Forked(node or self.outline.root, walk, event.branch, event.names)
        walk.start(forked)
        self._constructs[event.number] = forked
        for index, name in enumerate(event.names):
            self._forks[branch_path(event.branch, name)] = (forked, index)

    def _branch_ended(self, event: BranchEnded) -> None:
        forked = self._constructs.get(event.number)
        if not isinstance(forked, Forked):
            return
        status = event.status
        if status == "cancelled" and self.stopping():
            status = "stopped"
        forked.stands[event.index] = status
        branch = branch_path(forked.branch, forked.names[event.index])
        walk = self._walks.get((forked.walk.execution_id, branch))
        clause = forked.clause_of(event.index)
        if status == "complete":
            if walk is not None:
                self._end(walk)
            if clause is not None:
                self.sheet.mark(clause).complete()
        elif status == "cancelled" and clause is not None:
            self.sheet.mark(clause).skip()

    def _parallel_ended(self, event: ParallelEnded) -> None:
        forked = self._constructs.pop(event.number, None)
        if not isinstance(forked, Forked):
            return
        walk = forked.walk
        branches = [branch_path(forked.branch, name) for name in forked.names]
        for index, branch in enumerate(branches):
            child = self._walks.get((walk.execution_id, branch))
            clause = forked.clause_of(index)
            if forked.stands[index] == "cancelled" and clause is not None:
                # What was cancelled too late to notice came to its end meanwhile.
                self.sheet.mark(clause).skip()
            if child is not None and forked.stands[index] == "cancelled":
                self._abandon(child, skipped=True)
            elif child is not None and event.values is None:
                self._up(child, walk, forked.node)
            self._forks.pop(branch, None)
        if event.values is None:
            return
        for child in walk.children:
            _caught(child)
        self._go_on(walk)
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
        walk, node = self._go(event.place, event.branch, event.line, at_head=True)
        looping = Looping(node or self.outline.root, walk, event)
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
            if looping.ended:
                # All rounds are begun before any ends: these begin once more.
                looping.ended.clear()
                looping.given_up.clear()
            looping.paths[event.round] = event.branch
            self._forks[event.branch] = (looping, event.round)
            return
        looping.round = event.round
        if not self.stopping():
            self._go_on(looping.walk)
            looping.walk.move(looping.node)

    def _round_ended(self, event: RoundEnded) -> None:
        looping = self._constructs.get(event.number)
        if not isinstance(looping, Looping):
            return
        looping.running.discard(event.round)
        if event.status == "cancelled":
            looping.given_up.add(event.round)
        looping.ended[event.status] = looping.ended.get(event.status, 0) + 1
        if event.status == "complete":
            branch = looping.paths.pop(event.round, "")
            self._forks.pop(branch, None)
            walk = self._walks.get((looping.walk.execution_id, branch))
            if walk is not None:
                self._end(walk)

    def _loop_ended(self, event: LoopEnded) -> None:
        looping = self._constructs.pop(event.number, None)
        if not isinstance(looping, Looping):
            return
        walk = looping.walk
        for branch in looping.paths.values():
            child = self._walks.get((walk.execution_id, branch))
            self._forks.pop(branch, None)
            if child is None:
                continue
            if event.exhausted:
                _caught(child)
            elif child.failures or child.stopped:
                self._up(child, walk, looping.node)
            elif not self.stopping():
                self._abandon(child, skipped=True)
        over = event.exhausted or not (walk.failures or walk.stopped or self.stopping())
        if over and looping in walk.entered:
            self._go_on(walk)
            walk.finish(looping)

    # Pipelines

    def _pipeline_started(self, event: PipelineStarted) -> None:
        walk, node = self._go(event.place, event.branch, event.line, at_head=True)
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
        self._go_on(self.root)
        self.root.end()
        self.root.abandon(skipped=False)


def _caught(walk: Walk) -> None:
    for failure in walk.failures:
        failure.caught = True
    walk.failures.clear()


def _no() -> bool:
    return False
