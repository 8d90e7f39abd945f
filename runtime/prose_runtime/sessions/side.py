"""The session side of a run: does sessions with their retries, answers questions, repairs shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..agents import Permissions
from ..decisions import decided, question_request
from ..errors import DecisionError, LimitReached, SessionError, ShapeError
from ..models import Models
from ..prices import Prices, lacking
from ..providers.protocol import Provider, Reply, Usage
from ..shaping import refused
from ..tasks import Answer, Decision, Question, Repair, Reports, Summary, Task
from ..values import Value
from .by_value import summary_request
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
    prices: Prices = field(default_factory=Prices)
    priced_only: bool = False
    """The run's cost is bounded: a model without a price isn't called."""

    def has_tools(self, permissions: Permissions | None) -> bool:
        """No session has tools yet."""
        return False

    async def answer(self, task: Task) -> Answer:
        """Do one session; raises SessionError after its retries, ShapeError where its answer has no such shape."""
        model = self._allowed(self.models.resolve(task.model))
        request = session_request(task, model, self._teller(model, task.reports))
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
                task.reports.check()
        usage = self._priced(reply.usage, model, reply.model)
        value = value_of(reply, task.shape, task.name)
        if value is None:
            value = await self._repaired(task, reply, usage)
        return Answer(reply.text, value, usage, reply.model, attempt - first + 1)

    async def _repaired(self, task: Task, reply: Reply, usage: Usage) -> Value:
        """The value of a reply without the shape that the task needs, by one more question."""
        assert task.shape is not None
        try:
            task.reports.check()
            task.reports.again(reply.text)
            repaired = await self.repair(
                Repair(reply.text, task.shape, task.name, task.hints, task.reports)
            )
        except BaseException:
            # There will be no answer to bear what the reply cost.
            task.reports.spent(usage, reply.model)
            raise
        task.reports.spent(repaired.usage, repaired.model or "")
        return repaired.value

    async def decide(self, question: Question) -> Decision:
        """Answer one question; raises DecisionError."""
        model = self._allowed(self.models.decider_id)
        request = question_request(question, model, self._teller(model, question.reports))
        try:
            reply = await self.provider.complete(request)
        except SessionError as error:
            raise DecisionError(
                f"**{_shortened(question.text)}** was not answered: {error.message}",
                line=error.line,
            ) from None
        usage = self._priced(reply.usage, model, reply.model)
        try:
            return replace(decided(question, reply), usage=usage)
        except DecisionError:
            question.reports.spent(usage, reply.model)
            raise

    async def repair(self, repair: Repair) -> Answer:
        """Ask the cheap model once for `text` in `shape`; raises ShapeError."""
        shape = repair.shape
        model = self._allowed(self.models.decider_id)
        request = repair_request(repair, model, self._teller(model, repair.reports))
        given = Value(repair.text)
        try:
            reply = await self.provider.complete(request)
        except SessionError as error:
            said = refused(given, shape, repair.name)
            raise ShapeError(
                f"{said.message}; asking for it failed: {error.message}", line=repair.hints.line
            ) from None
        usage = self._priced(reply.usage, model, reply.model)
        value = value_of(reply, shape, repair.name)
        if value is None:
            repair.reports.spent(usage, reply.model)
            error_ = refused(given, shape, repair.name)
            raise ShapeError(error_.message, line=repair.hints.line)
        return Answer(reply.text, value, usage, reply.model)

    async def summarise(self, summary: Summary) -> Answer:
        """Ask the cheap model once for a value's key points or essentials; raises SessionError."""
        model = self._allowed(self.models.decider_id)
        request = summary_request(summary, model, self._teller(model, summary.reports))
        reply = await self.provider.complete(request)
        usage = self._priced(reply.usage, model, reply.model)
        text = reply.text.strip()
        if not text:
            summary.reports.spent(usage, reply.model)
            raise SessionError("the answer was empty", line=summary.hints.line)
        return Answer(text, Value(text), usage, reply.model)

    async def close(self) -> None:
        """Close the provider's connections."""
        await self.provider.close()

    def _allowed(self, model: str) -> str:
        """The model, which must have a price where the run's cost is bounded; raises LimitReached."""
        if self.priced_only and self.prices.of(model) is None:
            raise LimitReached(f"--max-usd can't be kept: {lacking([model])}")
        return model

    def _priced(self, usage: Usage, asked: str, answered: str) -> Usage:
        if self.provider.simulated:
            return usage
        return self.prices.priced(usage, asked, answered)

    def _teller(self, model: str, reports: Reports) -> Callable[[Usage], None]:
        """Tells `reports` what an exchange without a reply cost."""
        return lambda usage: reports.spent(self._priced(usage, model, model), model)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"
