"""Run a program and look at its state.md at chosen moments: while a call is held, in a pause, at the end.

hold Pattern        while the first call whose first line matches runs, and everything else has got as far as it can
hold Pattern #2     the second such call
hold Pattern x3     three such calls at once, the last of which makes the moment
pause               in the first pause between two attempts; pause 2: the second
ask name            while the person is asked for an input
end                 the last state.md of the run, as it stands on the disk
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from prose_runtime.clock import Clock
from prose_runtime.journal import Journal
from prose_runtime.providers.answers import Answers
from prose_runtime.providers.protocol import Provider, Reply, Request
from prose_runtime.providers.simulate import Simulator
from prose_runtime.run import execute
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import InputWanted, Outcome, Resumption, Settings
from prose_runtime.state.state_md import StateFile
from semantics.playing import SETTLED, Still, built, matches, turns

HOLD = re.compile(r"hold (.*?)(?: ([#x])(\d+))?")


@dataclass
class Moments:
    """The states that were looked at, by moment."""

    wanted: Sequence[str]
    found: dict[str, str] = field(default_factory=dict)
    files: list[StateFile] = field(default_factory=list)
    then: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What happens at a moment, once it was looked at."""
    counts: dict[str, int] = field(default_factory=dict)
    released: dict[str, asyncio.Event] = field(default_factory=dict)

    def number(self, what: str) -> int:
        """How often this has happened now."""
        self.counts[what] = self.counts.get(what, 0) + 1
        return self.counts[what]

    async def called(self, asked: str) -> None:
        """A call begins; returns when it may go on."""
        first = next((line.strip() for line in asked.splitlines() if line.strip()), "")
        for moment in self.wanted:
            match = HOLD.fullmatch(moment)
            if match is None or not matches(match[1], first):
                continue
            number, which = self.number(moment), int(match[3] or 1)
            if number == which:
                await self.look(moment)
                self.released.setdefault(moment, asyncio.Event()).set()
            elif match[2] == "x" and number < which:
                await self.released.setdefault(moment, asyncio.Event()).wait()

    async def happened(self, what: str) -> None:
        """A pause began, or the person was asked."""
        number = self.number(what)
        moment = what if number == 1 else f"{what} {number}"
        if moment in self.wanted:
            await self.look(moment)

    async def look(self, moment: str) -> None:
        await turns(SETTLED)
        self.found[moment] = self.files[-1].render()
        if moment in self.then:
            await self.then[moment]()


@dataclass
class Holding:
    """A provider that answers as simulate does, when the moments allow it."""

    inner: Provider
    moments: Moments

    name = "simulate"
    simulated = True

    def check(self) -> None:
        self.inner.check()

    async def complete(self, request: Request) -> Reply:
        await self.moments.called(request.hints.asked)
        return await self.inner.complete(request)

    def remarks(self) -> Sequence[str]:
        return self.inner.remarks()

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Stopped(Still):
    """A clock that stands still, and whose pauses are moments."""

    moments: Moments = field(default_factory=lambda: Moments(()))

    async def sleep(self, seconds: float) -> None:
        await self.moments.happened("pause")
        await super().sleep(seconds)


@dataclass
class Looked:
    """What came of a run, and its state.md by moment."""

    outcome: Outcome
    found: dict[str, str]
    file: StateFile
    """That of its last life."""


def looked_at(
    source: str,
    moments: Sequence[str],
    answers: str = "",
    *,
    inputs: Mapping[str, Any] | None = None,
    person: Mapping[str, str] | None = None,
    again: Mapping[str, Any] | None = None,
    then: Mapping[str, Callable[[], Awaitable[None]]] | None = None,
    name: str = "case.prose",
    prose_dir: Path = Path(".prose"),
    **settings: Any,
) -> Looked:
    """Run a program in the working directory, and look at its state at these moments.

    `again`: inputs with which the run is taken up again after its end; then the moments are those of the second life.
    `then`: what happens at a moment, after state.md was looked at and before the run goes on.
    """
    _, program = built(source, name)
    Path("answers.toml").write_text(answers, encoding="utf-8")
    seen = Moments([] if again is not None else moments, then=then or {})
    clock: Clock = Stopped(moments=seen)

    async def ask(wanted: InputWanted) -> str:
        await seen.happened(f"ask {wanted.name}")
        return str((person or {})[wanted.name])

    def lived(given: Mapping[str, Any], resume: Resumption | None) -> Outcome:
        provider = Holding(Simulator(Answers.load(Path("answers.toml"), source)), seen)
        prepared = Settings(
            Sessions(provider, jitter=clock.jitter),
            inputs=given,
            ask=ask if person is not None else None,
            prose_dir=prose_dir,
            simulated=True,
            command="python case.py",
            clock=clock,
            resume=resume,
            **settings,
        )
        return asyncio.run(asyncio.wait_for(execute(program, prepared), 10))

    made = StateFile.__init__

    def noted(file: StateFile, *arguments: Any) -> None:
        made(file, *arguments)
        seen.files.append(file)

    # The disk answers at once: no run waits for another program's files.
    with (
        mock.patch.object(Journal, "_sync", lambda journal: None),
        mock.patch.object(StateFile, "__init__", noted),
    ):
        outcome = lived(inputs or {}, None)
        if again is not None:
            seen.wanted = moments
            outcome = lived(again, Resumption("last"))
    if "end" in moments and outcome.directory is not None:
        seen.found["end"] = (outcome.directory / "state.md").read_text(encoding="utf-8")
    return Looked(outcome, seen.found, seen.files[-1])


# Reading a state


def trace(text: str) -> list[str]:
    """The lines of the trace, annotations and all."""
    match = re.search(r"^(`{3,})prose\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL)
    assert match, text
    return match[2].removesuffix("\n").split("\n")


def noted(text: str, start: str) -> str:
    """What is said of the line that begins so."""
    line = next(line for line in trace(text) if line.lstrip().startswith(start))
    return line.rpartition("   # ")[2] if "   # " in line else ""


def constructs(text: str) -> str:
    return text.partition("## Active Constructs\n")[2].partition("\n## Index")[0].strip()


def stack(text: str) -> list[list[str]]:
    """The rows of the call stack."""
    rows = text.partition("## Call Stack\n\n")[2].strip().splitlines()[2:]
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("|")
    ]


def status(text: str) -> str:
    match = re.search(r"^status: (.*)$", text, re.MULTILINE)
    assert match
    return match[1]
