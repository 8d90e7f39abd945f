"""Summaries of long values where contexts go by value: each is made once in a run, however many sessions need it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .calling import ended_after_cancelling
from .errors import ProseError, SessionError
from .events import StepFailed, StepFinished, StepSeen, StepStarted
from .identity import digest_of
from .records import as_record
from .sessions.by_value import extent
from .tasks import Answer, Entry, Extent, Reports, Summary, Task
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .execution import Execution
    from .frames import Strand
    from .providers.protocol import JSON


@dataclass(slots=True)
class _Making:
    """A summary that is being made, or was; and how many sessions wait for it."""

    task: asyncio.Task[str]
    waiting: int = 0


class Summaries:
    """The summaries of one run, by the digest of what they stand for."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._made: dict[str, _Making] = {}

    async def given_to(self, strand: Strand, task: Task, seen: StepSeen) -> Task:
        """A task that is shown its long values by their summaries; raises SessionError where one can't be made."""
        entries = [*task.context, *(task.so_far or ())]
        if all(extent(entry.value.text) is None for entry in entries):
            return task
        try:
            context = await self._short(strand, task.context, seen)
            so_far = await self._short(strand, task.so_far, seen) if task.so_far else task.so_far
        except SessionError as error:
            # The session fails before it was called: observers hear of both.
            self._execution.tell(StepStarted(seen))
            self._execution.tell(StepFailed(seen, error.message, 0.0))
            raise
        return replace(task, context=context, so_far=so_far)

    async def _short(
        self, strand: Strand, entries: Sequence[Entry], seen: StepSeen
    ) -> tuple[Entry, ...]:
        wanted = [self._of(strand, entry, seen) for entry in entries]
        shown: list[Entry] = []
        # All are waited for, so that none is left behind when one fails.
        for entry, made in zip(
            entries, await asyncio.gather(*wanted, return_exceptions=True), strict=True
        ):
            if isinstance(made, BaseException):
                raise made
            shown.append(entry if made is None else replace(entry, summary=made))
        return tuple(shown)

    async def _of(self, strand: Strand, entry: Entry, seen: StepSeen) -> str | None:
        """The summary of a value; None for one that is given whole."""
        size = extent(entry.value.text)
        if size is None:
            return None
        key = digest_of(entry.value)
        making = self._made.get(key)
        if making is None or (making.task.done() and _failed(making.task)):
            work = self._make(strand, entry, size, seen)
            making = self._made[key] = _Making(asyncio.get_running_loop().create_task(work))
        making.waiting += 1
        try:
            return await asyncio.shield(making.task)
        except ProseError as error:
            raise SessionError(
                f"'{entry.label}' ({len(entry.value.text):,} characters) could not be summarised for this session: "
                f"{error.message}",
                line=seen.line,
            ) from None
        finally:
            making.waiting -= 1
            if not making.waiting and not making.task.done():
                # Whoever needed it was cancelled.
                del self._made[key]
                await ended_after_cancelling([making.task])

    async def _make(self, strand: Strand, entry: Entry, size: Extent, needed: StepSeen) -> str:
        from .asking import Asked, performed

        execution = self._execution
        execution.check(strand)
        parts: Mapping[str, JSON] = {"prompt": digest_of(entry.value)}
        identity = execution.replay.identify(strand, "summary", parts)
        execution.steps += 1
        seen = StepSeen(
            execution.steps,
            "summary",
            f"{size} of {execution.scrubbed(entry.label)} ({len(entry.value.text):,} characters)",
            needed.line,
            None,
            None,
            needed.place,
            branch=needed.branch,
        )
        summary = Summary(entry.value.text, entry.label, size)

        async def call(reports: Reports) -> Answer:
            return await execution.settings.sessions.summarise(replace(summary, reports=reports))

        answer, seen, seconds = await performed(
            execution,
            strand,
            Asked(identity, summary),
            seen,
            call,
            lambda: {"prompt": summary.label},
            lambda made: {"model": made.model, **as_record(made.value)},
            lambda record: Answer(record["text"], Value(record["text"])),
        )
        if execution.observed:
            execution.tell(StepFinished(seen, answer.value, answer.usage, seconds))
        return answer.text


def _failed(task: asyncio.Task[str]) -> bool:
    return task.cancelled() or task.exception() is not None
