"""Steps that ask a model: sessions, resumes, decisions and repair questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .costs import spent_in
from .errors import LimitReached, ProseError, Stop
from .events import (
    AttemptStarted,
    StepCancelled,
    StepFailed,
    StepFinished,
    StepRetrying,
    StepSeen,
    StepStarted,
    StepTokens,
)
from .execution import BindKind, Execution
from .failures import Failure
from .frames import Frame, Strand, strand_here
from .identity import chained, labelled
from .immutable import immutable
from .past import Record
from .providers.protocol import JSON, Hints, Kind, Usage
from .records import as_record, sent_of, value_of_record
from .shaping import Shape, refused
from .state.bindings import error_from
from .steps import SoFar, Step
from .tasks import Answer, Decision, Entry, Question, QuestionKind, Repair, Reports, Task, TaskKind
from .values import Liftable, Value

if TYPE_CHECKING:
    from .agents import Agent, Permissions, Retry
    from .run import Run

T = TypeVar("T")
A = TypeVar("A", Answer, Decision)

_SPENT_BEFORE = Usage()
"""What a recorded answer costs now."""

_LABEL = 80
"""Characters of a prompt that stand for a session without a name or title."""


@immutable
class Target:
    """What the call says about the name of its result."""

    name: str
    kind: BindKind


@immutable
class Asked(Generic[T]):
    """A step whose question is fixed: its identity and everything it shows."""

    identity: str
    asked: T
    bare: str | None = None
    """The identity without the world, where that is another."""


def label_of(name: str | None, title: str | None, prompt: str) -> str:
    """What a step is called where people or sessions are told of it."""
    if name or title:
        return name or title or ""
    first = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return first if len(first) <= _LABEL else first[: _LABEL - 3] + "..."


async def performed(
    execution: Execution,
    strand: Strand,
    asked: Asked[Any],
    seen: StepSeen,
    call: Callable[[Reports], Coroutine[Any, Any, A]],
    sent: Callable[[], Mapping[str, JSON]],
    record: Callable[[A], Mapping[str, JSON]],
    read: Callable[[Record], A],
) -> tuple[A, StepSeen, float]:
    """What a step gives: taken from the journal without suspending, else by one call, of which is recorded what came.

    `sent` is what the journal keeps of the question; `record` and `read` lead from an answer to its record and back.
    Also returns the step as observers know it, and the seconds that it took.
    """
    taken = execution.replay.taken(strand, asked.identity, asked.bare)
    if taken is not None:
        seen = seen.taken()
        if execution.observed:
            execution.tell(StepStarted(seen))
        return read(taken), seen, 0.0
    failure = execution.replay.past.failure(asked.identity)
    if failure is not None:
        seen = seen.taken()
        raise _again(execution, strand, asked.identity, seen, failure)
    await execution.replay.live(strand)
    answer, seconds = await _called(execution, strand, asked, seen, call, sent, record)
    return answer, seen, seconds


def _again(
    execution: Execution, strand: Strand, identity: str, seen: StepSeen, failure: Record
) -> ProseError:
    """The error of a step that failed in an earlier life, where the program handled it."""
    error = error_from({**failure["error"], "line": seen.line})
    error.origin = identity
    strand.failures = (*strand.failures, Failure(identity))
    execution.replay.reused += 1
    if execution.observed:
        execution.tell(StepStarted(seen))
        execution.tell(StepFailed(seen, error.message, 0.0))
    return error


async def _called(
    execution: Execution,
    strand: Strand,
    asked: Asked[Any],
    seen: StepSeen,
    call: Callable[[Reports], Coroutine[Any, Any, A]],
    sent: Callable[[], Mapping[str, JSON]],
    record: Callable[[A], Mapping[str, JSON]],
) -> tuple[A, float]:
    """Make one call: wait until what it is told is durable, and for a slot; record what came of it."""
    identity = asked.identity
    slots = execution.slots
    execution.bounded(seen.line, seen.kind, strand)
    execution.store.record(
        {"r": "ask", "id": identity, "kind": seen.kind, "line": seen.line, **sent()}, paid=False
    )
    await execution.store.durable(alone=slots.idle)
    await slots.take()
    held = True
    started = execution.clock.seconds()

    async def pause(seconds: float) -> None:
        nonlocal held
        execution.bounded(seen.line, wait=seconds, strand=strand)
        slots.give_back()
        held = False
        await execution.waited(execution.clock.sleep(seconds))
        await slots.take()
        held = True
        execution.check(strand)
        execution.tell(AttemptStarted(seen))

    def retrying(attempt: int, of: int, reason: str, delay: float) -> None:
        execution.store.record({"r": "retry", "id": identity, "attempt": attempt, "reason": reason})
        execution.tell(StepRetrying(seen, attempt, of, reason, delay))

    def tokens(count: int) -> None:
        execution.tell(StepTokens(seen, count))

    def spent(usage: Usage, model: str) -> None:
        execution.spent(seen.kind, model, usage)
        execution.store.record(
            {"r": "spent", "id": identity, "kind": seen.kind, "model": model, **spent_in(usage)}
        )

    def check() -> None:
        execution.bounded(seen.line, strand=strand)

    def again(text: str) -> None:
        execution.store.record({"r": "again", "id": identity, "text": text}, paid=False)

    called = False
    try:
        execution.bounded(seen.line, seen.kind, strand)
        called = True
        execution.calls += 1
        execution.costs.start(seen.kind)
        if execution.observed:
            execution.tell(StepStarted(seen))
        reports = Reports(tokens, retrying, pause, execution.warn, spent, check, again)
        answer = await call(reports)
    except ProseError as error:
        if error.line is None:
            error.line = seen.line
        error.origin = identity
        strand.failures = (*strand.failures, Failure(identity))
        fields: dict[str, JSON] = {"message": execution.scrubbed(error.message), "kind": error.kind}
        execution.store.record({"r": "failed", "id": identity, "kind": seen.kind, "error": fields})
        execution.tell(
            StepFailed(seen, execution.scrubbed(error.message), execution.clock.seconds() - started)
        )
        raise
    except asyncio.CancelledError:
        execution.store.record({"r": "cancelled", "id": identity, "kind": seen.kind}, paid=False)
        execution.tell(StepCancelled(seen))
        raise
    except Stop as stop:
        if called:
            execution.tell(StepCancelled(seen))
        if isinstance(stop, LimitReached):
            raise execution.stopped_by(stop) from None
        raise
    finally:
        if held:
            slots.give_back()
    seconds = execution.clock.seconds() - started
    execution.spent(seen.kind, answer.model, answer.usage)
    execution.store.record(
        {
            "r": "result",
            "id": identity,
            "kind": seen.kind,
            **({"bare": asked.bare} if asked.bare else {}),
            **record(answer),
            **spent_in(answer.usage),
        }
    )
    if slots.idle:
        # Nothing else runs: whatever comes next, its call waits for this.
        execution.store.hasten()
    return answer, seconds


class SessionStep(Step[Value]):
    """One `session` or `resume`."""

    __slots__ = (
        "agent",
        "context",
        "execution",
        "frame",
        "kind",
        "model",
        "permissions",
        "prompt",
        "retry",
        "run",
        "shape",
        "skills",
        "target",
        "title",
    )

    def __init__(
        self,
        run: Run,
        kind: TaskKind,
        prompt: str | None,
        line: int | None,
        *,
        agent: Agent | None,
        title: str | None,
        context: Mapping[str, Liftable] | SoFar | None,
        model: str | None,
        permissions: Permissions | None,
        skills: Sequence[str] | None,
        retry: Retry | None,
        shape: Shape | None,
        target: Target | None,
    ) -> None:
        super().__init__(self._perform, line)
        self.run = run
        self.execution = run._execution
        self.frame: Frame = run._frame
        self.kind = kind
        self.prompt = prompt
        self.agent = agent
        self.title = title
        self.context = context
        self.model = model
        self.permissions = permissions
        self.skills = tuple(skills or (agent.skills if agent else ()))
        self.retry = retry
        self.shape = shape
        self.target = target

    def binds_itself(self) -> bool:
        return True

    def as_branch(self, name: str) -> Callable[[], Coroutine[Any, Any, Value]]:
        asked = self._ask()

        async def branch() -> Value:
            return await self._perform(Target(name, "let"), bound=False, prepared=asked)

        return branch

    def _ask(self) -> Asked[Task]:
        """Render what is asked and shown, and identify it, in the strand that is running now."""
        execution, agent, strand = self.execution, self.agent, strand_here.get()
        prompt, system = self.prompt, None
        if agent is not None and agent.prompt is not None:
            system = agent.prompt if isinstance(agent.prompt, str) else agent.prompt(self.run)
            if prompt is None:
                prompt, system = system, None
        prompt = prompt if prompt is not None else self.title or ""
        context: tuple[Entry, ...] = ()
        so_far: tuple[Entry, ...] | None = None
        if isinstance(self.context, SoFar):
            so_far = execution.told(strand)
        elif self.context is not None:
            context = tuple(
                [execution.entry(self.frame, label, Value(v)) for label, v in self.context.items()]
            )
        permissions = self.permissions
        if permissions is None and agent is not None:
            declared = agent.permissions
            permissions = declared(self.run) if callable(declared) else declared
        model = self.model or (agent.model if agent else None)
        memory = agent.name if agent is not None and agent.persist is not None else None
        parts: dict[str, JSON] = {
            "title": self.title,
            "prompt": prompt,
            "system": system,
            "model": model,
            "permissions": repr(permissions) if permissions else None,
            "skills": list(self.skills),
            "shape": self.shape.plain() if self.shape else None,
            "context": labelled(context),
            "memory": memory,
        }
        if so_far is not None:
            parts["so_far"] = [labelled(so_far)]
        if memory is not None and self.kind == "resume":
            parts["chain"] = strand.chains.get(memory, "")
        self._warn_of_what_is_not_honoured(permissions)
        bare: str | None = None
        if execution.settings.sessions.has_tools(permissions):
            bare = execution.replay.identify(strand, f"bare {self.kind}", parts)
            parts["world"] = strand.world
        task = Task(
            self.kind,
            prompt,
            self.title,
            agent,
            system,
            model,
            context,
            so_far,
            self.frame.place,
            self.shape,
            None,
            self.retry,
            0,
            permissions,
            self.skills,
        )
        return Asked(execution.replay.identify(strand, self.kind, parts), task, bare)

    def _warn_of_what_is_not_honoured(self, permissions: Permissions | None) -> None:
        warn, agent = self.execution.warn, self.agent
        if permissions is not None:
            warn("permissions are not honoured yet: sessions run without tools")
        if self.skills:
            warn("skills are not honoured yet: sessions are not given them")
        if agent is not None and agent.persist is not None:
            warn("persist is not honoured yet: agents keep no memory between sessions")

    async def _perform(
        self, target: Target | None = None, bound: bool = True, prepared: Asked[Task] | None = None
    ) -> Value:
        execution, strand, frame = self.execution, strand_here.get(), self.frame
        execution.starting(strand, self.frame, self.line)
        prepared = prepared or self._ask()
        target = target or self.target
        name = target.name if target else None
        task = prepared.asked
        label = execution.scrubbed(label_of(name, self.title, task.prompt))
        agent = self.agent.name if self.agent else None
        execution.steps += 1
        seen = StepSeen(
            execution.steps,
            self.kind,
            label,
            self.line,
            agent,
            task.model,
            task.place,
            name,
            strand.path,
            prompt=execution.scrubbed(task.prompt),
        )
        if execution.summaries is not None:
            task = await execution.summaries.given_to(strand, task, seen)
        file = name or execution.replay.anonymous(strand, prepared.identity)

        async def call(reports: Reports) -> Answer:
            hints = Hints(name, self.line, self.title, agent=agent)
            attempts = execution.replay.past.attempts(prepared.identity)
            return await execution.settings.sessions.answer(
                task.named(name, hints, reports, attempts)
            )

        def sent() -> Mapping[str, JSON]:
            asked: dict[str, JSON] = {"label": label, **sent_of(execution, task)}
            return asked

        def record(answer: Answer) -> Mapping[str, JSON]:
            fields: dict[str, JSON] = {
                "name": file,
                "execution_id": frame.execution_id,
                "model": answer.model,
            }
            if answer.changed_world:
                fields["world"] = True
            return {**fields, **as_record(answer.value)}

        answer, seen, seconds = await performed(
            execution, strand, prepared, seen, call, sent, record, _answer_of
        )
        value = answer.value
        if answer.changed_world:
            strand.world = chained(strand.world, prepared.identity)
        if self.agent is not None:
            strand.latest = {**strand.latest, self.agent: value}
        if self.agent is not None and self.agent.persist is not None:
            chain = strand.chains.get(self.agent.name, "")
            strand.chains = {**strand.chains, self.agent.name: chained(chain, prepared.identity)}
        if target is None or not bound:
            named = target is not None
            path: str | None = (
                execution.write_binding(strand, frame, file, "let", value, self.line)
                if named
                else execution.write_anonymous(frame, file, value, self.line)
            )
            strand.account = strand.account.with_result(Entry(label, value, path), new=not named)
            if frame is execution.root:
                strand.last = value
        else:
            execution.bind(frame, target.name, target.kind, value, self.line, result=True)
            path = strand.account.results[-1].path
        if execution.observed:
            execution.tell(StepFinished(seen, value, answer.usage, seconds, path))
        return value


class DecisionStep(Step[T]):
    """One `**...**`: a question with a closed answer."""

    __slots__ = (
        "about",
        "execution",
        "frame",
        "kind",
        "labels",
        "only_throws",
        "round",
        "run",
        "text",
    )

    def __init__(
        self,
        run: Run,
        kind: QuestionKind,
        text: str,
        about: Mapping[str, Liftable] | SoFar | None,
        line: int | None,
        *,
        labels: tuple[str, ...] = (),
        round: int = 0,
        only_throws: bool = False,
    ) -> None:
        super().__init__(self._perform, line)
        self.run = run
        self.execution = run._execution
        self.frame: Frame = run._frame
        self.kind = kind
        self.text = text
        self.about = about
        self.labels = labels
        self.round = round
        self.only_throws = only_throws

    def as_branch(self, name: str) -> Callable[[], Coroutine[Any, Any, T]]:
        asked = self._ask()
        return lambda: self._perform(asked)

    def _ask(self) -> Asked[Question]:
        execution, strand = self.execution, strand_here.get()
        about: tuple[Entry, ...] = ()
        so_far: tuple[Entry, ...] | None = None
        if isinstance(self.about, SoFar) or not self.about:
            # Names of which none has a value yet are no names: what has happened so far is all there is to go by.
            so_far = execution.told(strand)
        else:
            about = tuple([execution.entry(self.frame, n, Value(v)) for n, v in self.about.items()])
        parts: dict[str, JSON] = {
            "prompt": self.text,
            "labels": list(self.labels),
            "context": labelled(about),
        }
        if so_far is not None:
            parts["so_far"] = [labelled(so_far)]
        hints = Hints(None, self.line, None, self.only_throws, self.round, self.labels)
        question = Question(
            self.kind, self.text, about, so_far, self.labels, self.frame.place, hints
        )
        return Asked(execution.replay.identify(strand, self.kind, parts), question)

    async def _perform(self, prepared: Asked[Question] | None = None) -> T:
        execution, strand = self.execution, strand_here.get()
        execution.starting(strand, self.frame, self.line)
        prepared = prepared or self._ask()
        execution.steps += 1
        text = execution.scrubbed(self.text)
        label = label_of(None, None, text)
        seen = StepSeen(
            execution.steps,
            self.kind,
            label,
            self.line,
            None,
            None,
            self.frame.place,
            branch=strand.path,
            prompt=text,
        )

        async def call(reports: Reports) -> Decision:
            return await execution.settings.sessions.decide(
                replace(prepared.asked, reports=reports)
            )

        def record(decision: Decision) -> Mapping[str, JSON]:
            return {"value": decision.answer, "reason": decision.reason, "model": decision.model}

        def sent() -> Mapping[str, JSON]:
            return sent_of(execution, prepared.asked)

        decision, seen, seconds = await performed(
            execution, strand, prepared, seen, call, sent, record, _decision_of
        )
        if execution.observed:
            answer = Value(decision.answer)
            execution.tell(
                StepFinished(seen, answer, decision.usage, seconds, None, decision.reason)
            )
        return decision.answer  # type: ignore[return-value]


async def repaired(
    run: Run, value: Value, shape: Shape, name: str | None, line: int | None
) -> Value:
    """Ask once for a text in a shape that the shared rules couldn't give it; raises ShapeError."""
    execution, strand, frame = run._execution, strand_here.get(), run._frame
    if not value.is_text or not value.text.strip():
        error = refused(value, shape, name)
        error.line = line
        raise error
    execution.starting(strand, frame, line)
    parts: dict[str, JSON] = {"prompt": value.text, "shape": shape.plain()}
    identity = execution.replay.identify(strand, "repair", parts)
    execution.steps += 1
    seen = StepSeen(
        execution.steps, _REPAIR, name or "repair", line, None, None, frame.place, name, strand.path
    )

    repair = Repair(value.text, shape, name, Hints(name, line))

    async def call(reports: Reports) -> Answer:
        return await execution.settings.sessions.repair(replace(repair, reports=reports))

    answer, seen, seconds = await performed(
        execution,
        strand,
        Asked(identity, repair),
        seen,
        call,
        lambda: sent_of(execution, repair),
        lambda made: {"model": made.model, **as_record(made.value)},
        _answer_of,
    )
    if execution.observed:
        execution.tell(StepFinished(seen, answer.value, answer.usage, seconds))
    return answer.value


_REPAIR: Kind = "repair"


def _answer_of(record: Record) -> Answer:
    value = value_of_record(record)
    return Answer(value.text, value, _SPENT_BEFORE, record.get("model"), 1, bool(record.get("world")))


def _decision_of(record: Record) -> Decision:
    return Decision(record["value"], record.get("reason", ""), model=record.get("model"))
