"""What the orchestrating side asks of the session side: tasks, questions, repairs, and their answers.

`Run` builds a `Task` or a `Question` from what the script wrote and awaits the `SessionSide`, which turns it into
provider requests (prompt assembly, structured output, retry with backoff) and gives back a value. Run knows no
provider; the session side knows no frames, journal or files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TYPE_CHECKING, Literal, Protocol

from .immutable import immutable
from .providers.protocol import Hints, Usage

if TYPE_CHECKING:
    from .agents import Agent, Permissions, Retry
    from .shaping import Shape
    from .values import Value

TaskKind = Literal["session", "resume"]
QuestionKind = Literal["decide", "until", "while", "keep", "choose"]
Extent = Literal["key points", "essentials"]
"""How much of a value is left in its summary."""


@immutable
class Entry:
    """One value that a session is shown, under the label it is told.

    `path` is the file that holds the value (as a session is told it: relative to the working directory where
    possible), None where it has none. `summary` is shown instead of a value that goes by value and is too long for it.
    """

    label: str
    value: Value
    path: str | None = None
    summary: str | None = None


@immutable
class Place:
    """Where in the run a step stands: what a session inside a block is told as its execution scope."""

    execution_id: int | None = None
    """None at the root."""
    block: str | None = None
    depth: int = 0
    parent: int | None = None
    """The caller's execution id; None where the caller is the root."""


def _no_retry(attempt: int, of: int, reason: str, delay: float) -> None: ...


def _no_tokens(count: int) -> None: ...


def _no_warning(text: str) -> None: ...


def _not_told(usage: Usage, model: str) -> None: ...


def _no_limit() -> None: ...


def _not_asked_again(text: str) -> None: ...


async def _no_pause(seconds: float) -> None: ...


@immutable
class Reports:
    """What the session side calls while it works on a step."""

    tokens: Callable[[int], None] = _no_tokens
    """Output tokens of this step so far, while an answer streams."""
    retrying: Callable[[int, int, str, float], None] = _no_retry
    """(attempt about to start, from 2; of how many; why the last failed; seconds until it starts)."""
    pause: Callable[[float], Awaitable[None]] = _no_pause
    """Waits so many seconds by the run's clock, holding no session slot meanwhile. Use it between attempts."""
    warn: Callable[[str], None] = _no_warning
    """A warning for people, shown once per text in a run."""
    spent: Callable[[Usage, str], None] = _not_told
    """(What one exchange cost, its model). Of every exchange but the one that gave the answer, when it ends."""
    check: Callable[[], None] = _no_limit
    """Raises the Stop that forbids another call. Use it before every call of a step but the first."""
    again: Callable[[str], None] = _not_asked_again
    """(A session's answer that has not the shape needed.) The cheap model is asked for it in that shape."""


@immutable
class Task:
    """One session or resume, with everything that it is asked and shown already rendered."""

    kind: TaskKind
    prompt: str
    """The task itself: the session's own prompt, or the agent's where the session has none."""
    title: str | None = None
    """Shown to people; heads the task."""
    agent: Agent | None = None
    system: str | None = None
    """The agent's prompt, rendered, where it is not itself the task."""
    model: str | None = None
    """As written (an alias or an id), session over agent; None: the run's default."""
    context: tuple[Entry, ...] = ()
    """The explicit `context:`; empty where none is passed."""
    so_far: tuple[Entry, ...] | None = None
    """The account of what happened so far, oldest first, at most 30; None where the session isn't told."""
    place: Place = field(default_factory=Place)
    shape: Shape | None = None
    """What the answer must be; None: text."""
    name: str | None = None
    """The program's name for the result, if any (also in hints)."""
    retry: Retry | None = None
    attempts_before: int = 0
    """Attempts already used in an earlier life of this run; `retry` counts over both."""
    permissions: Permissions | None = None
    skills: tuple[str, ...] = ()
    hints: Hints = field(default_factory=Hints)
    reports: Reports = field(default_factory=Reports)

    def named(
        self, name: str | None, hints: Hints, reports: Reports, attempts_before: int = 0
    ) -> Task:
        """This task once it starts: under its name, with whoever is told how it goes. Spelled out, as in Hints."""
        return Task(
            self.kind,
            self.prompt,
            self.title,
            self.agent,
            self.system,
            self.model,
            self.context,
            self.so_far,
            self.place,
            self.shape,
            name,
            self.retry,
            attempts_before,
            self.permissions,
            self.skills,
            hints,
            reports,
        )


@immutable
class Answer:
    """What a session gave: its value has the shape that the task asked for (text where it asked for none)."""

    text: str
    value: Value
    usage: Usage = field(default_factory=Usage)
    """Of the exchange that gave it; all others were reported (`Reports.spent`)."""
    model: str | None = None
    attempts: int = 1
    changed_world: bool = False
    """A tool of the session wrote, ran or sent something: what sessions with tools find may be another thing now."""


@immutable
class Question:
    """One `**...**`: a closed question without tools."""

    kind: QuestionKind
    text: str
    about: tuple[Entry, ...] = ()
    """The values of the bindings that the text names."""
    so_far: tuple[Entry, ...] | None = None
    """What happened so far, where the text names none (the last two results are shown whole)."""
    labels: tuple[str, ...] = ()
    """For choose: the option labels, in order."""
    place: Place = field(default_factory=Place)
    hints: Hints = field(default_factory=Hints)
    reports: Reports = field(default_factory=Reports)


@immutable
class Decision:
    """The answer to a question: true or false, or one of the labels (choose), with a one-line reason."""

    answer: bool | str
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str | None = None


@immutable
class Repair:
    """A text that no shared rule could turn into a shape, to be put right by one question to the cheap model."""

    text: str
    shape: Shape
    name: str | None = None
    hints: Hints = field(default_factory=Hints)
    reports: Reports = field(default_factory=Reports)


@immutable
class Summary:
    """A value that is too long to go by value, to be put shorter by one question to the cheap model."""

    text: str
    label: str
    extent: Extent
    hints: Hints = field(default_factory=Hints)
    reports: Reports = field(default_factory=Reports)


class SessionSide(Protocol):
    """Does the work of steps. One instance serves a whole run, concurrently.

    Every method raises a `ProseError` for what a program's catch can mean (session, decision, shape) and a `Stop`
    (errors.py) for what it can't: a missing or refused key. Cancelling the awaiting task cancels the call.
    """

    def has_tools(self, permissions: Permissions | None) -> bool:
        """A session with these permissions can look at the world outside the run."""

    async def answer(self, task: Task) -> Answer:
        """Do one session, with its retries, and give its value in the shape asked for."""

    async def decide(self, question: Question) -> Decision:
        """Answer one question."""

    async def repair(self, repair: Repair) -> Answer:
        """Ask once for `text` in `shape`; raises ShapeError (shaping.refused) when that fails too."""

    async def summarise(self, summary: Summary) -> Answer:
        """Put a value shorter; raises SessionError where no summary comes of it."""

    async def close(self) -> None:
        """Give back connections; called once, at the end of the run."""
