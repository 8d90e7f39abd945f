"""What a script declares about its sessions: agents, permissions, retries and the fields that a result must have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .run import Run

Rule = Literal["allow", "deny", "prompt"] | list[str]
"""One permission: a word for everything, or the globs that are allowed while the rest asks."""

Backoff = Literal["none", "linear", "exponential"]

LONGEST_PAUSE = 60.0
"""Seconds that a retry waits at most."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """What an agent's tools may do; None leaves a kind as it is by default: reading inside the working directory is
    allowed, anything else asks."""

    _: KW_ONLY
    read: Rule | None = None
    write: Rule | None = None
    execute: Rule | None = None
    network: Rule | None = None
    bash: Rule | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """Who does a session: its model, its prompt, its memory (`persist`), what its tools may do, what it knows.

    A prompt or permissions that hold values of the run are functions of it. Agents are compared by identity: two
    declarations are two agents.
    """

    name: str
    _: KW_ONLY
    model: str | None = None
    prompt: str | Callable[[Run], str] | None = None
    persist: str | None = None
    """None: no memory; else "execution", "project", "user" or the folder that holds it."""
    permissions: Permissions | Callable[[Run], Permissions] | None = None
    skills: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed session runs again, and how long it waits before each time."""

    times: int
    _: KW_ONLY
    backoff: Backoff = "none"

    def pause(self, retry: int, jitter: float) -> float:
        """Seconds before the `retry`-th retry, from 1; `jitter` in 0..1 shortens the wait by up to a quarter, so that
        sessions that failed together don't come back together."""
        if self.backoff == "none":
            return 0.0
        steps = float(retry) if self.backoff == "linear" else 2.0 ** min(retry - 1, 10)
        return min(steps, LONGEST_PAUSE) * (1 - 0.25 * jitter)


class Fields:
    """The fields that an object result has at least; with `only`, exactly these.

    Positional names are texts; keywords give a field another shape: `Fields("name", score=float, tags=list, ok=bool,
    owner=Fields("id"), parts=[Fields("path")])`, where `[Fields(...)]` is a list of such objects.
    """

    __slots__ = ("names", "only", "shapes")

    def __init__(self, /, *names: str, only: bool = False, **shapes: FieldShape) -> None:
        self.names = names
        self.only = only
        self.shapes: Mapping[str, FieldShape] = shapes

    def __repr__(self) -> str:
        inside = [*map(repr, self.names), *(f"{name}={_shown(s)}" for name, s in self.shapes.items())]
        return f"Fields({', '.join([*inside, *(['only=True'] if self.only else [])])})"


FieldShape = type[list[Any]] | type[bool] | type[float] | Fields | Sequence[Fields]
"""What a field may be besides text: a list, yes or no, a number, an object, a list of objects."""


def _shown(shape: FieldShape) -> str:
    return shape.__name__ if isinstance(shape, type) else repr(shape)
