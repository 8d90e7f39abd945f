"""The session side of a run: does sessions with their retries, answers questions, repairs shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from ..agents import Permissions
from ..decisions import decided, question_request
from ..errors import DecisionError, SessionError, ShapeError
from ..models import Models
from ..providers.protocol import Provider, Request
from ..shaping import Shape, refused
from ..tasks import Answer, Decision, Question, Repair, Task
from ..values import Value
from .framing import frame, whole
from .prompts import session_prompt
from .structured import example_schema, json_in_words, schema_of, value_of


@dataclass(slots=True)
class Sessions:
    """Turns what the orchestrating side asks into requests of one provider, and replies into values."""

    provider: Provider
    models: Models = field(default_factory=Models)
    retries: bool = True
    """Off: `retry:` of the program is not done."""
    jitter: Callable[[], float] = random.random
    """A number in 0..1 that spreads retries."""

    def has_tools(self, permissions: Permissions | None) -> bool:
        """No session has tools yet."""
        return False

    async def answer(self, task: Task) -> Answer:
        """Do one session; raises SessionError after its retries, ShapeError where its answer has no such shape."""
        model = self.models.resolve(task.model)
        request = _session_request(task, model)
        retry = task.retry if self.retries else None
        allowed = 1 + (retry.times if retry is not None else 0)
        attempt = min(task.attempts_before + 1, allowed)
        first = attempt
        while True:
            try:
                reply = await self.provider.complete(request)
                break
            except SessionError as error:
                if retry is None or attempt >= allowed:
                    raise
                pause = retry.pause(attempt, self.jitter())
                attempt += 1
                task.reports.retrying(attempt, allowed, error.message, pause)
                if pause:
                    await task.reports.pause(pause)
        usage = reply.usage
        value = value_of(reply, task.shape, task.name)
        if value is None:
            assert task.shape is not None
            repaired = await self.repair(
                Repair(reply.text, task.shape, task.name, task.hints, task.reports)
            )
            value, usage = repaired.value, usage + repaired.usage
        return Answer(reply.text, value, usage, reply.model, attempt - first + 1)

    async def decide(self, question: Question) -> Decision:
        """Answer one question; raises DecisionError."""
        request = question_request(question, self.models.decider_id)
        try:
            reply = await self.provider.complete(request)
        except SessionError as error:
            raise DecisionError(
                f"**{_shortened(question.text)}** was not answered: {error.message}",
                line=error.line,
            ) from None
        return decided(question, reply)

    async def repair(self, repair: Repair) -> Answer:
        """Ask the cheap model once for `text` in `shape`; raises ShapeError."""
        shape = repair.shape
        request = Request(
            "repair",
            self.models.decider_id,
            None,
            ({"role": "user", "content": _repair_prompt(repair.text, shape)},),
            schema_of(shape),
            hints=repair.hints.asking(repair.text, example_schema(shape)),
        )
        given = Value(repair.text)
        try:
            reply = await self.provider.complete(request)
        except SessionError as error:
            said = refused(given, shape, repair.name)
            raise ShapeError(
                f"{said.message}; asking for it failed: {error.message}", line=repair.hints.line
            ) from None
        value = value_of(reply, shape, repair.name)
        if value is None:
            error_ = refused(given, shape, repair.name)
            raise ShapeError(error_.message, line=repair.hints.line)
        return Answer(reply.text, value, reply.usage, reply.model)

    async def close(self) -> None:
        """Close the provider's connections."""
        await self.provider.close()


def _session_request(task: Task, model: str) -> Request:
    shape = task.shape
    example = example_schema(shape) if shape is not None else None
    return Request(
        task.kind,
        model,
        task.system,
        ({"role": "user", "content": session_prompt(task, model)},),
        schema_of(shape) if shape is not None else None,
        hints=task.hints.asking(task.prompt, example),
        on_tokens=task.reports.tokens,
    )


def _repair_prompt(text: str, shape: Shape) -> str:
    if shape.kind == "object" or shape.item is not None:
        kept = "" if shape.exact else ", keeping everything else it says"
        wanted = f"as {json_in_words(shape)}{kept}"
    else:
        wanted = {
            "list": "as a list of its items, each item whole",
            "boolean": "as true for yes or false for no",
            "number": "as a number",
        }[shape.kind]
    shown = frame("An answer that a program could not read:", [whole("answer", text, ("answer",))])
    return f"{shown}\n\nGive what this answer says {wanted}. Add nothing, and change nothing that it says."


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"
