"""A scripted session side and the way to run a small script against it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prose_runtime.agents import Permissions
from prose_runtime.errors import ProseError, SessionError
from prose_runtime.events import Event
from prose_runtime.program import Program
from prose_runtime.providers.protocol import Usage
from prose_runtime.run import Run, execute
from prose_runtime.settings import Outcome, Settings
from prose_runtime.shaping import refused, turn
from prose_runtime.tasks import Answer, Decision, Question, Repair, Task
from prose_runtime.values import Liftable, Value

Reply = Liftable | BaseException | Callable[[], Awaitable[Liftable]]


@dataclass
class Scripted:
    """Answers by prompt (or the prompt itself in brackets), decisions by text (or true)."""

    answers: Mapping[str, Reply] = field(default_factory=dict)
    decisions: Mapping[str, Any] = field(default_factory=dict)
    repairs: Mapping[str, Liftable] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    repaired: list[Repair] = field(default_factory=list)
    running: int = 0
    most: int = 0
    closed: int = 0

    def has_tools(self, permissions: Permissions | None) -> bool:
        return False

    async def answer(self, task: Task) -> Answer:
        self.tasks.append(task)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0)
            reply = self.answers.get(task.prompt, f"[{task.prompt}]")
            if callable(reply):
                reply = await reply()
            if isinstance(reply, BaseException):
                raise reply
        finally:
            self.running -= 1
        value = Value(reply)
        if task.shape is not None:
            turned = turn(value, task.shape)
            if turned is None:
                raise refused(value, task.shape, task.name)
            value = turned
        return Answer(value.text, value, Usage(10, 5), "test-model")

    async def decide(self, question: Question) -> Decision:
        self.questions.append(question)
        await asyncio.sleep(0)
        reply = self.decisions.get(question.text, question.labels[0] if question.labels else True)
        if isinstance(reply, list):
            reply = reply.pop(0)
        if callable(reply):
            reply = await reply()
        if isinstance(reply, BaseException):
            raise reply
        return Decision(reply, "because", Usage(3, 1), "test-model")

    async def repair(self, repair: Repair) -> Answer:
        self.repaired.append(repair)
        reply = self.repairs.get(repair.text)
        if reply is None:
            raise refused(Value(repair.text), repair.shape, repair.name)
        return Answer("", Value(reply), Usage(1, 1))

    async def close(self) -> None:
        self.closed += 1


@dataclass
class Seen:
    """An observer that keeps everything."""

    events: list[Event] = field(default_factory=list)

    def see(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class Ran:
    outcome: Outcome
    side: Scripted
    seen: Seen

    @property
    def directory(self) -> Path:
        assert self.outcome.directory is not None
        return self.outcome.directory

    def file(self, name: str) -> str:
        return (self.directory / "bindings" / f"{name}.md").read_text()

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in (self.directory / "bindings").iterdir())

    @property
    def journal(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.directory / "journal.jsonl").read_text().splitlines()]

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.journal if record["r"] == kind]

    @property
    def prompts(self) -> list[str]:
        return [task.prompt for task in self.side.tasks]

    def told(self, prompt: str) -> list[str]:
        """The labels of the account that the session with this prompt was told."""
        task = next(task for task in self.side.tasks if task.prompt == prompt)
        return [entry.label for entry in task.so_far or ()]


def play(program: Program, folder: Path, side: Scripted | None = None, **settings: Any) -> Ran:
    """Run a program; nothing may be left running after it."""
    side = side or Scripted()
    seen = Seen()
    prepared = replace(Settings(side, prose_dir=folder / ".prose", observers=(seen,)), **settings)

    async def all_of_it() -> Outcome:
        outcome = await execute(program, prepared)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"still running: {left}"
        return outcome

    return Ran(asyncio.run(all_of_it(), debug=False), side, seen)


def program_of(main: Callable[[Run], Awaitable[None]]) -> Program:
    """A program that has nothing but a main function."""
    program = Program("test.prose")
    program.main(main)
    return program


def played(
    main: Callable[[Run], Awaitable[None]], folder: Path, side: Scripted | None = None, **settings: Any
) -> Ran:
    return play(program_of(main), folder, side, **settings)


def failing(text: str = "no connection") -> ProseError:
    return SessionError(text)
