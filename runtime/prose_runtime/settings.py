"""What a run is started with, what it needs to know of its program, and what comes out of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from .faults import UNARMED, Faults

if TYPE_CHECKING:
    from .clock import Clock
    from .costs import Costs
    from .events import Observer, Status
    from .run import Run
    from .tasks import SessionSide
    from .traits import Traits
    from .values import Value


class Statement(NamedTuple):
    """One source statement (or clause) of the footer's table; lines from 1, both included."""

    start: int
    end: int
    kind: str


class Runnable(Protocol):
    """What `execute` reads of a Program (program.py implements it).

    `lines` maps the line of an emitted call to its source line, as it stands in the footer; empty where the script
    has no footer.
    """

    @property
    def name(self) -> str:
        """The source file's name: `brief.prose`."""

    @property
    def text(self) -> str:
        """The source, whole; empty without a footer."""

    @property
    def lines(self) -> Mapping[int, int]: ...

    @property
    def statements(self) -> Sequence[Statement]: ...

    @property
    def traits(self) -> Traits: ...

    @property
    def inputs(self) -> Mapping[str, str | None]:
        """Declared inputs in written order, with their descriptions."""

    @property
    def outputs(self) -> Sequence[str]:
        """Declared outputs, in written order."""

    @property
    def body(self) -> Callable[[Run], Awaitable[None]]:
        """The function under `@program.main`."""


@dataclass(frozen=True, slots=True)
class InputWanted:
    """An input that nobody gave, for the person to answer."""

    name: str
    text: str | None
    secret: bool


MAX_ROUNDS: Final = 1000
"""The safety cap of rounds where nothing else is said."""

State = Literal["filesystem", "in-context"]
"""Where a run's state is kept."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What stops a run before the step that would pass it; None: nothing does.

    They count the whole run over all its lives, but for `seconds`, which counts this process.
    """

    sessions: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Resumption:
    """Which run is taken up again, and how much of it."""

    run: str
    """Its id, or "last": the latest run of this program."""
    reuse: Literal["unchanged", "all"] = "unchanged"
    """`all` leaves out what changed the working directory and other places (the world) since a step was recorded."""
    strict: bool = False
    """Refuse when the program's source has changed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run a program. The session side brings the provider, the default model and the decider model."""

    sessions: SessionSide
    inputs: Mapping[str, Value | str] = field(default_factory=dict)
    """Values given on the command line, by input name."""
    secrets: frozenset[str] = frozenset()
    """Inputs to show as *** besides those whose name says so."""
    ask: Callable[[InputWanted], Awaitable[str]] | None = None
    """Asks the person; None without a terminal."""
    state: State = "filesystem"
    prose_dir: Path = Path(".prose")
    max_concurrency: int = 10
    max_rounds: int = MAX_ROUNDS
    """The safety cap of loops with neither condition nor max."""
    bounds: Bounds = Bounds()
    resume: Resumption | None = None
    observers: Sequence[Observer] = ()
    simulated: bool = False
    command: str = "python program.py"
    """How this script was started, for the resume command in messages (`{command} --resume RUN`)."""
    version: str = ""
    clock: Clock | None = None
    """Tests give their own; None: the real one."""
    faults: Faults = UNARMED
    """What tests make fail."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """How a resumed run went on: steps that were taken from the journal, and steps that ran."""

    reused: int
    ran: int
    left: int = 0
    """Recorded results that nothing asked for: the program was edited, or a branch was cancelled."""
    worlds_ignored: int = 0
    """Of those reused, the ones whose files may be others now (`--reuse all`)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a run did not complete: message, the source line it is about, and the error's kind."""

    message: str
    kind: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `exit_code` is 0 completed, 1 failed, 2 not started, 75 waiting or stopped, 130 interrupted."""

    run_id: str | None
    status: Status
    exit_code: int
    outputs: Mapping[str, Value]
    """Those that the program gave, in the order declared."""
    last: Value | None
    """The value of the last statement that made one: printed where a program has no outputs."""
    costs: Costs
    """What all its lives have spent."""
    directory: Path | None = None
    problem: Problem | None = None
    resume_command: str | None = None
    """For waiting, stopped and interrupted runs."""
    seconds: float = 0.0
    resumed: Resumed | None = None
    """What was taken from earlier lives; None in a run's first."""
