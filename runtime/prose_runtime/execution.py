"""The state of one running program that all its frames and branches share, and what they all do with it.

Usage, warnings, stopping, binding of names. What a single step does is in asking.py and
calling.py; how branches run is in concurrency.py.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from .clock import Clock
from .errors import LimitReached, Stop, StoreFailed
from .events import Bound as BoundEvent
from .events import (
    Event,
    LoopEnded,
    LoopStarted,
    Observer,
    Resolved,
    RoundStarted,
    StepFinished,
    Threw,
    Warned,
)
from .failures import Failure, judged
from .frames import Bound, Filed, FiledName, Frame, NameKind, Strand, root_strand, strand_here
from .limits import Limits
from .listing import Listing
from .past import Past
from .providers.protocol import JSON, Usage
from .replay import Replay
from .secrets import Secrets
from .settings import Settings
from .shaping import Shape, turn
from .slots import Slots
from .state.bindings import Binding, BindingKind
from .state.store import Store
from .summaries import Summaries
from .tasks import Entry
from .values import Liftable, Value

if TYPE_CHECKING:
    from .run import Run
    from .state.state_md import StateFile

T = TypeVar("T")

BindKind = Literal["let", "const", "assign", "output"]

GIVEN_WHOLE: Final = 2000
"""Characters from which a value that has no file gets one when a session is told of it."""

_SECRET: Final = re.compile(
    r"credential|password|passwd|secret|token|(?:^|[_-])keys?(?:$|[_-])|apikey", re.IGNORECASE
)


class Execution:
    """One run, from its first step to its last."""

    def __init__(
        self,
        listing: Listing,
        settings: Settings,
        store: Store,
        clock: Clock,
        past: Past | None = None,
    ) -> None:
        self.replay = Replay(past or Past(), store)
        self.listing = listing
        self.settings = settings
        self.store = store
        self.clock = clock
        self.slots = Slots(settings.max_concurrency)
        self.strand = root_strand()
        self.root = Frame(self.strand, None, None, None)
        self.usage = Usage()
        """What this life has spent."""
        self.costs = self.replay.past.costs
        """What all lives have."""
        self.limits = Limits(settings.bounds, self.costs, clock)
        self.stopping: Stop | None = None
        """Set once nothing may start any more; what runs is let finish."""
        self._waits: set[asyncio.Future[Any]] = set()
        self.given = {name: Value(value) for name, value in settings.inputs.items()}
        self.summaries = None if store.keeps else Summaries(self)
        """Of long values: what keeps no files gives values whole or by their summaries."""
        self._loops: set[int] = set()
        """Those that observers know to run."""
        self.steps = 0
        self.calls = 0
        """Steps of this life that were not taken from the journal."""
        self._observers: tuple[Observer, ...] = tuple(settings.observers)
        self._untold: deque[tuple[int, Event]] = deque()
        self._state: StateFile | None = None
        self._constructs = 0
        self._warned: set[str] = set()
        self.secrets = Secrets()

    # Stopping

    def check(self, strand: Strand | None = None) -> None:
        """Raise the Stop that ended this run, or this strand of it."""
        self.replay.moves += 1
        if self.stopping is not None:
            raise self.stopping
        stop = (strand or strand_here.get()).stop
        if stop is not None:
            raise stop

    def stopped_by(self, stop: Stop) -> Stop:
        """Let nothing start any more; gives the first reason back, to be raised."""
        if self.stopping is None:
            self.stopping = stop
            for wait in tuple(self._waits):
                wait.cancel()
        return self.stopping

    async def waited(self, wait: Awaitable[T]) -> T:
        """What is waited for. Raises the Stop that ends the run meanwhile: it is no work that would be let finish."""
        future = asyncio.ensure_future(wait)
        self._waits.add(future)
        task = asyncio.current_task()
        try:
            return await future
        except asyncio.CancelledError:
            if self.stopping is not None and task is not None and not task.cancelling():
                raise self.stopping from None
            raise
        finally:
            self._waits.discard(future)

    def bounded(
        self, line: int | None, kind: str | None = None, strand: Strand | None = None, wait: float = 0.0
    ) -> None:
        """Raise the Stop that forbids a call: the run, or this strand of it, has stopped, or a limit stops it now.

        `kind` is that of a step which is not called yet; `wait` the seconds until the call would start.
        """
        self.check(strand)
        try:
            self.limits.check(kind, wait)
        except LimitReached as reached:
            reached.line = line
            raise self.stopped_by(reached) from None

    def spent(self, kind: str, model: str | None, usage: Usage) -> None:
        """A call was made, and has cost this."""
        self.usage += usage
        self.costs.add(kind, model, usage)

    def starting(self, strand: Strand, frame: Frame, line: int | None) -> None:
        """What comes before any operation: nothing starts in a stopped run, and a failure before it was caught."""
        self.check(strand)
        if strand.failures:
            caught, passing = judged(strand.failures, frame, line, self.listing)
            self._handled(caught)
            strand.failures = tuple(passing)

    def handled(self, failures: Sequence[Failure]) -> None:
        """Record that the program caught these failures: a later life raises them again."""
        self.replay.moves += 1
        self._handled([failure.identity for failure in failures])

    def _handled(self, failures: Sequence[str]) -> None:
        new: list[JSON] = [one for one in failures if not self.replay.past.is_handled(one)]
        if new:
            self.store.record({"r": "handled", "ids": new})

    # Telling

    def watched_by(self, state: StateFile) -> None:
        """Let state.md see what happens."""
        self._state = state

    def tell(self, event: Event) -> None:
        """Tell the observers, once the records of what happened are durable: nothing is shown as done before."""
        if not self.replay.over and (strand := strand_here.get(None)) is not None:
            repeated = strand.rerun or strand.repeating
            if repeated is not None:
                repeated.events.append(event)
                return
        if self._state is not None:
            # Its file is written after the records that it speaks of are durable.
            self._state.see(event)
        if not self._observers:
            return
        store = self.store
        if self._untold or store.durable_to < store.recorded:
            self._untold.append((store.recorded, event))
            if len(self._untold) == 1:
                store.when_durable(self.tell_waiting)
        else:
            for observer in self._observers:
                observer.see(event)

    def tell_waiting(self) -> None:
        """Tell the observers what has become durable meanwhile, in order."""
        untold, store = self._untold, self.store
        lost = isinstance(self.stopping, StoreFailed)
        while untold and (lost or untold[0][0] <= store.durable_to):
            position, event = untold.popleft()
            if position > store.durable_to and isinstance(event, StepFinished):
                continue
            for observer in self._observers:
                observer.see(event)
        if untold:
            store.when_durable(self.tell_waiting)

    def loop_started(
        self,
        frame: Frame,
        line: int | None,
        sort: Literal["rounds", "each", "concurrent"],
        of: int | None,
    ) -> int:
        """A loop begins; `of` is None where it has no bound. Returns the number that observers know it by."""
        number = self.next_construct()
        if self.observed:
            self._loops.add(number)
            self.tell(LoopStarted(number, line, frame.place, self.here().path, sort, of))
        return number

    def round_started(self, number: int, round: int, branch: str = "") -> None:
        """A round (from 0) of a loop begins; `branch` is the scope path of a concurrent one."""
        if self.observed:
            self.tell(RoundStarted(number, round, branch))

    def loop_ended(self, number: int, exhausted: bool) -> None:
        """A loop ended: after all its rounds, or before."""
        if number in self._loops:
            self._loops.remove(number)
            self.tell(LoopEnded(number, exhausted))

    def end_loops(self) -> None:
        """Tell that the loops have ended which a Stop left: their iterators live on in its traceback."""
        for number in sorted(self._loops, reverse=True):
            self.loop_ended(number, exhausted=False)

    def resolved(self, frame: Frame, name: str, found: Frame) -> None:
        """A name was read that stands in another frame."""
        if self.observed:
            self.tell(Resolved(name, found.execution_id, frame.place, self.here().path))

    def threw(self, frame: Frame, message: str, line: int | None) -> None:
        """The program makes an error of its own."""
        if self.observed:
            self.tell(Threw(message, line, frame.place, self.here().path))

    def next_construct(self) -> int:
        """The number under which observers hear of a parallel, a loop or a pipeline."""
        self._constructs += 1
        return self._constructs

    @property
    def observed(self) -> bool:
        return bool(self._observers) or self._state is not None

    def warn(self, text: str, line: int | None = None) -> None:
        """Show a warning, once per text."""
        if text not in self._warned:
            self._warned.add(text)
            self.tell(Warned(self.scrubbed(text), line))

    # Secrets

    def is_secret(self, name: str) -> bool:
        return name in self.settings.secrets or bool(_SECRET.search(name))

    def scrubbed(self, text: str) -> str:
        """A text for people, with the values of secret inputs taken out."""
        return self.secrets.scrubbed(text)

    # Names

    def here(self) -> Strand:
        """The strand that the running task is in."""
        return strand_here.get()

    def bind_item(self, frame: Frame, name: str, value: Value) -> Value:
        """Make a loop item, index or catch variable known by name: no file, not in the account."""
        strand_here.get().write(frame, name, Bound(value, "item"))
        return value

    def bind(
        self,
        frame: Frame,
        name: str,
        kind: BindKind,
        value: Value,
        line: int | None,
        *,
        result: bool = False,
    ) -> Value:
        """Bind a name in `frame` (assign: in the nearest frame that has it).

        A `result` is what a step gave: it has a file and stands in the account. A computed value has a file only if
        its name has one already (or is an output), and that is written late.
        """
        strand = strand_here.get()
        self.replay.moves += 1
        target, known = frame, strand.find(frame, name)
        if kind == "assign":
            found = strand.resolve(frame, name)
            if found is not None:
                target, known = found
        bound_kind = _kept(kind, known)
        file_kind: BindingKind = bound_kind if bound_kind in ("const", "output") else "let"
        path = known.path if known and known.kind != "left" else None
        newest = not result and strand.account.newest_is(value)
        if result or newest:
            path = self.write_binding(strand, target, name, file_kind, value, line)
        elif path is not None or bound_kind == "output":
            path = self.write_binding(strand, target, name, file_kind, value, line, late=True)
        strand.write(target, name, Bound(value, bound_kind, path))
        if result:
            strand.account = strand.account.with_result(Entry(name, value, path))
        elif newest:
            strand.account = strand.account.named(name, value, path)
        if kind == "output":
            strand.give(frame, name, value)
        if frame is self.root:
            strand.last = value
        if self.observed:
            was = known.value if kind == "assign" and known else None
            self.tell(
                BoundEvent(
                    name,
                    kind,
                    value,
                    target.execution_id,
                    True,
                    line,
                    frame.place,
                    strand.path,
                    was,
                    path,
                )
            )
        return value

    def write_binding(
        self,
        strand: Strand,
        frame: Frame,
        name: str,
        kind: BindingKind,
        value: Value,
        line: int | None,
        *,
        late: bool = False,
    ) -> str:
        """Write the file of a name; inside a concurrent round, the round's own file."""
        rounds = strand.rounds_in(frame)
        source = self.listing.source_at(line)
        strand.filed.put(frame, name, FiledName(value, kind, source))
        return self._file(Binding(name, kind, value, source, frame.execution_id), rounds, late)

    def _file(self, binding: Binding, rounds: tuple[int, ...], late: bool) -> str:
        path = self.store.bind(binding, rounds, late=late)
        if self._state is not None:
            self._state.bound(binding.name, binding.kind, path, binding.execution_id)
        return path

    def write_anonymous(self, frame: Frame, name: str, value: Value, line: int | None) -> str:
        """Write the file of a result without a name: its number is its own, so no round can meet it."""
        source = self.listing.source_at(line)
        return self._file(Binding(name, "let", value, source, frame.execution_id), (), False)

    def refile(self, strand: Strand, filed: Filed) -> None:
        """After branches have ended: write the files of these names as they stand in the strand above."""
        for frame, name, last in filed:
            rounds = strand.rounds_in(frame)
            strand.filed.put(frame, name, last)
            binding = Binding(name, last.kind, last.value, last.source, frame.execution_id)
            path = self._file(binding, rounds, False)
            bound = strand.find(frame, name)
            if bound is not None and bound.path is not None and bound.value is last.value:
                strand.write(frame, name, bound._replace(path=path))

    # What sessions are shown

    def entry(self, frame: Frame, label: str, value: Value) -> Entry:
        """A value as a session is shown it, with the place of its file where it has one or needs one."""
        if not self.store.keeps:
            return Entry(label, value)
        strand = strand_here.get()
        found = strand.resolve(frame, label)
        path = found[1].path if found and found[1].value is value else None
        if path is None:
            path = next(
                (e.path for e in reversed(strand.account.entries()) if e.value is value), None
            )
        return self.placed(Entry(label, value, path))

    def placed(self, entry: Entry) -> Entry:
        """The entry, written to a file of its own if it is large and has none."""
        if entry.path is not None or len(entry.value.text) <= GIVEN_WHOLE:
            return entry
        name = re.sub(r"[^\w-]+", "_", entry.label)[:60].strip("_") or "value"
        return Entry(entry.label, entry.value, self.store.attach(name, entry.value))

    def told(self, strand: Strand) -> tuple[Entry, ...]:
        """The account of what happened so far, as a session is told it."""
        entries = strand.account.entries()
        if not self.store.keeps:
            return tuple([Entry(entry.label, entry.value) for entry in entries])
        return tuple([e if e.path is not None else self.placed(e) for e in entries])

    # Shapes

    async def shaped(
        self, run: Run, value: Value, shape: Shape, name: str | None, line: int | None
    ) -> Value:
        """`value` in `shape`, by the shared rules or one repair question; raises ShapeError."""
        turned = turn(value, shape)
        if turned is not None:
            return turned
        from .asking import repaired

        return await repaired(run, value, shape, name, line)

    async def elements(self, run: Run, source: Liftable, line: int | None) -> tuple[Value, ...]:
        """The elements of a list, or of text by the shared rules."""
        return (await self.shaped(run, Value(source), Shape("list"), None, line)).items


def _kept(kind: BindKind, known: Bound | None) -> NameKind:
    """An assignment declares nothing: what it rebinds stays what it was, also what a called block left."""
    if kind != "assign":
        return kind
    return "let" if known is None or known.kind == "input" else known.kind
