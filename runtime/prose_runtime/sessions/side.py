"""The session side of a run: does sessions with their retries, answers questions, repairs shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from ..agents import Permissions
from ..decisions import decided, question_request
from ..errors import DecisionError, SessionError, ShapeError
from ..models import Models
from ..providers.protocol import Provider
from ..shaping import refused
from ..tasks import Answer, Decision, Question, Repair, Task
from ..values import Value
from .requests import repair_request, session_request
from .structured import value_of


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
        request = session_request(task, model)
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
        request = repair_request(repair, self.models.decider_id)
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


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"
