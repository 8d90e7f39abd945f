"""Compile a program, run its script in this process with `simulate`, and keep what every session was told.

Nothing here waits by the clock: `order` decides which of several running calls is answered first, and pauses between
retries are counted instead of waited for.
"""

from __future__ import annotations

import asyncio
import fnmatch
import functools
import io
import json
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from prose_runtime.agents import Permissions
from prose_runtime.events import Event, Warned
from prose_runtime.journal import Journal
from prose_runtime.listing import Listing
from prose_runtime.narration.narrator import Narrator
from prose_runtime.program import Program
from prose_runtime.providers.answers import Answers
from prose_runtime.providers.protocol import Provider, Reply, Request
from prose_runtime.providers.simulate import Simulator
from prose_runtime.run import execute
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import InputWanted, Outcome, Settings
from prose_runtime.tasks import Answer, Decision, Entry, Question, Repair, Task

from prosec.compiler import compile
from prosec.source import Source

MARKED = re.compile(
    r"\[(Program|Position|Binding|Input|Output|Success|Warning|Parallel|Loop|Pipeline|Try|Flow|Frame[+-]|CallStack)\] \S"
)
FRAME = re.compile(r"\[Frame[+-]\] .*\(execution_id: (\d+)")
ENTERED_AND_LEFT = (
    (r"\[Parallel\] (\(.*\) )?Entering", r"\[Parallel\] (\(.*\) )?Parallel (complete|failed|stopped)"),
    (r"\[Loop\] (\(.*\) )?Starting", r"\[Loop\] (\(.*\) )?Loop exited"),
)

SETTLED = 40
"""Turns of the event loop after which everything that an answer set off has happened."""


@dataclass
class Call:
    """One session, question or repair: what was asked, and every request that was made for it."""

    kind: str
    asked: str
    task: Task | None = None
    question: Question | None = None
    repair: Repair | None = None
    requests: list[Request] = field(default_factory=list)
    cancelled: bool = False

    @property
    def first_line(self) -> str:
        return next((line.strip() for line in self.asked.splitlines() if line.strip()), "")

    @property
    def about(self) -> tuple[Entry, ...]:
        """The explicit context of a session, or what a question is about."""
        if self.task is not None:
            return self.task.context
        return self.question.about if self.question is not None else ()

    @property
    def so_far(self) -> tuple[Entry, ...] | None:
        asked = self.task or self.question
        return asked.so_far if asked is not None else None

    @property
    def told(self) -> str:
        """The user message, whole."""
        content = self.requests[-1].messages[-1]["content"]
        assert isinstance(content, str)
        return content


current: ContextVar[Call] = ContextVar("current")


@dataclass
class Watching:
    """An observer that keeps all events."""

    events: list[Event] = field(default_factory=list)

    def see(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class Ordering:
    """A provider that lets another answer, in a given order: a call whose text matches the n-th pattern is answered
    when one that matches the pattern before has been. `*`-free patterns are whole first lines."""

    inner: Provider
    order: Sequence[str] = ()
    shuffle: random.Random | None = None
    """Where it is given, every answer comes after some turns of the event loop, so that calls overtake each other."""
    answered: dict[int, asyncio.Event] = field(default_factory=dict)

    name = "simulate"
    simulated = True

    def check(self) -> None:
        self.inner.check()

    async def complete(self, request: Request) -> Reply:
        call = current.get()
        call.requests.append(request)
        place = self.place(request.hints.asked)
        try:
            await turns(self.shuffle.randint(0, 30) if self.shuffle else 0)
            if place is not None:
                if place > 0:
                    await self.event(place - 1).wait()
                # What runs beside gets as far as it can, and so does what the answer before set off.
                await turns(SETTLED)
            return await self.inner.complete(request)
        except asyncio.CancelledError:
            call.cancelled = True
            raise
        finally:
            if place is not None:
                self.event(place).set()

    def place(self, asked: str) -> int | None:
        lines = [line.strip() for line in asked.splitlines() if line.strip()]
        found = [n for n, pattern in enumerate(self.order) if lines and matches(pattern, lines[0])]
        return found[0] if found else None

    def event(self, place: int) -> asyncio.Event:
        return self.answered.setdefault(place, asyncio.Event())

    def remarks(self) -> Sequence[str]:
        return self.inner.remarks()

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Recording:
    """The real session side, with a note of everything that it was asked."""

    inner: Sessions
    calls: list[Call] = field(default_factory=list)
    running: int = 0
    most: int = 0
    """The most calls that were under way at once."""

    async def noted(self, call: Call, work: Callable[[], Awaitable[Any]]) -> Any:
        self.calls.append(call)
        current.set(call)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await work()
        finally:
            self.running -= 1

    def has_tools(self, permissions: Permissions | None) -> bool:
        return self.inner.has_tools(permissions)

    async def answer(self, task: Task) -> Answer:
        call = Call(task.kind, task.prompt, task=task)
        return await self.noted(call, lambda: self.inner.answer(task))

    async def decide(self, question: Question) -> Decision:
        call = Call(question.kind, question.text, question=question)
        return await self.noted(call, lambda: self.inner.decide(question))

    async def repair(self, repair: Repair) -> Answer:
        call = Call("repair", repair.text, repair=repair)
        return await self.noted(call, lambda: self.inner.repair(repair))

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Still:
    """A clock that stands still; pauses are noted."""

    pauses: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 1, 15, 14, 30, 52, tzinfo=UTC)

    def seconds(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def letters(self, count: int) -> str:
        return "a7b3c9a7b3c9"[:count]

    def jitter(self) -> float:
        return 0.0


@dataclass
class Played:
    """A run that has ended, and everything that can be asked about it."""

    script: str
    program: Program
    outcome: Outcome
    side: Recording
    watching: Watching
    clock: Still

    @property
    def calls(self) -> list[Call]:
        return self.side.calls

    @property
    def sessions(self) -> list[Call]:
        return [call for call in self.calls if call.task is not None]

    @property
    def questions(self) -> list[Call]:
        return [call for call in self.calls if call.question is not None]

    @property
    def repairs(self) -> list[Call]:
        return [call for call in self.calls if call.repair is not None]

    @property
    def directory(self) -> Path:
        assert self.outcome.directory is not None, "the run did not start"
        return self.outcome.directory

    @property
    def files(self) -> list[str]:
        return sorted(path.stem for path in (self.directory / "bindings").iterdir())

    def file(self, name: str) -> str:
        return (self.directory / "bindings" / f"{name}.md").read_bytes().decode()

    def value(self, name: str) -> Any:
        """The value in a binding file, read as runtime.md section 2 describes the file."""
        text = self.file(name)
        kind = re.search(r"^type: (\w+)$", text, re.MULTILINE)
        body = re.split(r"^`{3,}\n\n---\n\n", text, maxsplit=1, flags=re.MULTILINE)[1]
        if kind is None:
            return body
        fence = re.fullmatch(r"```json\n(.*)\n```", body, re.DOTALL)
        assert fence, f"{name}.md is no fenced json: {body!r}"
        return json.loads(fence[1])

    def find(self, calls: Sequence[Call], pattern: str, which: int = 1) -> Call:
        found = [call for call in calls if matches(pattern, call.first_line)]
        assert len(found) >= which, (
            f"{pattern!r} was asked {len(found)} times; asked: {[c.first_line for c in calls]}"
        )
        return found[which - 1]

    def session(self, pattern: str, which: int = 1) -> Call:
        return self.find(self.sessions, pattern, which)

    def decision(self, pattern: str, which: int = 1) -> Call:
        return self.find(self.questions, pattern, which)

    @property
    def warnings(self) -> list[str]:
        return [event.text for event in self.watching.of(Warned)]


async def turns(count: int) -> None:
    """Let everything else run, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


def matches(pattern: str, text: str) -> bool:
    """`*` is any text, everything else itself."""
    escaped = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatch.fnmatchcase(text, escaped)


@functools.lru_cache(maxsize=8)
def built(source: str, name: str = "case.prose") -> tuple[str, Program]:
    """The script of a program, and what it declares; built once for all lives of a run."""
    compiled = compile(Source(source, name))
    assert compiled.text is not None, "it does not build:\n" + "\n".join(
        f"{d.code} {d.message}" for d in compiled.diagnostics
    )
    names: dict[str, Any] = {"__name__": "case"}
    exec(_code(compiled.text, name), names)
    return compiled.text, names["program"]


def _code(text: str, name: str) -> Any:
    import builtins

    return builtins.compile(text, name.replace(".prose", ".py"), "exec", dont_inherit=True)


def play(
    source: str,
    folder: Path,
    answers: str = "",
    *,
    order: Sequence[str] = (),
    shuffle: int | None = None,
    person: Mapping[str, str] | None = None,
    inputs: Mapping[str, Any] | None = None,
    model: Provider | None = None,
    **settings: Any,
) -> Played:
    """Compile `source` and run it to its end. `answers` is the text of an answers file; `person` answers inputs.

    `model` answers instead of `simulate`.
    """
    script, program = built(source)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "answers.toml"
    file.write_text(answers, encoding="utf-8")
    watching, clock = Watching(), Still()
    provider = Ordering(
        model or Simulator(Answers.load(file, source)),
        order,
        None if shuffle is None else random.Random(shuffle),
    )
    side = Recording(Sessions(provider, jitter=clock.jitter))
    narration = io.StringIO()
    narrator = Narrator(narration, "text", Listing.of(program), "filesystem", is_small=False)
    asked: list[str] = []

    async def ask(wanted: InputWanted) -> str:
        asked.append(wanted.name)
        return (person or {})[wanted.name]

    prepared = Settings(
        side,
        inputs={name: _given(value) for name, value in (inputs or {}).items()},
        ask=ask if person is not None else None,
        prose_dir=folder / ".prose",
        observers=(watching, narrator),
        simulated=True,
        command="python case.py",
        clock=clock,
        **settings,
    )

    async def whole() -> Outcome:
        outcome = await asyncio.wait_for(execute(program, prepared), 10)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"still running after the run: {left}"
        return outcome

    # The disk answers at once: no run waits for another program's files.
    with mock.patch.object(Journal, "_sync", lambda journal: None):
        outcome = asyncio.run(whole())
    check_narration(narration.getvalue())
    return Played(script, program, outcome, side, watching, clock)


def check_narration(text: str) -> None:
    """Whatever is narrated, every line is a marker's or a detail, and what was entered was left once."""
    lines = text.splitlines()
    for line in lines[2:]:
        assert line.startswith("  ") or MARKED.match(line), f"no line of a narration: {line!r}"
    assert not lines or lines[-1].startswith("[Program] Program "), lines[-1]
    frames = Counter(match[1] for line in lines if (match := FRAME.match(line)))
    assert all(count == 2 for count in frames.values()), frames
    for entered, left in ENTERED_AND_LEFT:
        counts = [sum(bool(re.match(pattern, line)) for line in lines) for pattern in (entered, left)]
        assert counts[0] == counts[1], f"{entered}: entered and left {counts} times"


def _given(value: Any) -> Any:
    from prose_runtime.values import Value

    return value if isinstance(value, str) else Value(value)
