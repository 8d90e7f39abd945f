"""What a provider is: the one thing that talks to a model, or pretends to.

The session side builds a Request and gives it to `Provider.complete`; whatever goes wrong comes back as one of the
errors of prose_runtime.errors, with secrets scrubbed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from ..immutable import immutable

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

Kind = Literal[
    "session", "resume", "decide", "until", "while", "keep", "choose", "repair", "summary"
]


@immutable
class Hints:
    """What `simulate` and reports need to know about a step beyond what a model is told."""

    name: str | None = None
    """The name that the result is bound to (the program's own), if any."""
    line: int | None = None
    """The source line of the step."""
    title: str | None = None
    only_throws: bool = False
    """The suite that an `if` would enter consists of a throw alone."""
    round: int = 0
    """For until and while: the round, from 0, of the loop that asks."""
    labels: tuple[str, ...] = ()
    """For choose: the option labels, in order."""
    agent: str | None = None
    asked: str = ""
    """The task or condition itself, rendered, without its context."""
    example: Mapping[str, JSON] | None = None
    """The schema of the JSON that an answer must be, where it is asked for in words."""

    def asking(self, asked: str, example: Mapping[str, JSON] | None = None) -> Hints:
        """These hints with what is asked. Spelled out: `replace` takes five times as long, once per step."""
        return Hints(
            self.name,
            self.line,
            self.title,
            self.only_throws,
            self.round,
            self.labels,
            self.agent,
            asked,
            example,
        )


@immutable
class Usage:
    """Tokens of exchanges with a model, as the API counts them, and what they cost."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0
    usd: float | None = 0.0
    """None where no price is known. Providers leave it alone: prices are the session side's."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            None if self.usd is None or other.usd is None else self.usd + other.usd,
        )

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_read


@immutable
class Request:
    """One exchange with a model.

    `schema` is a JSON schema whose top is an object; the reply's `data` then is an object that fits it.
    `messages` is plain Messages API JSON ({"role", "content"}), so that it can be journaled.
    """

    kind: Kind
    model: str
    """A real model id (aliases are resolved before)."""
    system: str | None
    messages: tuple[Mapping[str, JSON], ...]
    schema: Mapping[str, JSON] | None = None
    max_tokens: int = 32_000
    hints: Hints = field(default_factory=Hints)
    on_tokens: Callable[[int], None] | None = None
    """Called with the number of output tokens so far while an answer streams."""
    on_spent: Callable[[Usage], None] | None = None
    """Called with what an exchange cost that is not the one which gave the reply, as soon as that is known."""

    def spent(self, usage: Usage) -> None:
        """Tell of an exchange that gave no reply: it broke, it was refused, it was cancelled, it only paused."""
        if self.on_spent is not None and usage.total:
            self.on_spent(usage)


@immutable
class Reply:
    """What a model answered: `text`, and `data` where a schema was asked for."""

    text: str
    data: Mapping[str, JSON] | None
    usage: Usage
    """Of the exchange that gave it alone: a call of any other length may have another price."""
    model: str
    stop_reason: str = "end_turn"


class Provider(Protocol):
    """A source of answers. One instance serves a whole run, concurrently."""

    @property
    def name(self) -> str: ...

    @property
    def simulated(self) -> bool:
        """Its answers are invented; runs say so."""

    def check(self) -> None:
        """Raise UsageError if calls are bound to fail (no key); called before a run's first step."""

    async def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises SessionError for what may be caught or retried, and UsageError for what a program's catch can't swallow
        (a missing or refused key). Whatever it spends on exchanges that give no reply (attempts of its own that fail, one
        that is cancelled) it tells `request.spent`.
        """

    def remarks(self) -> Sequence[str]:
        """What people should know at the end of the run: answers that were given but never used."""

    async def close(self) -> None:
        """Give back connections; called once, at the end of the run."""
