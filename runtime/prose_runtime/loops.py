"""Sequential loops: rounds that count and tell where they are, and the elements of lists and text."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Generic, TypeVar

from .errors import BadValue, LimitReached
from .shaping import Shape
from .values import Liftable, Value

if TYPE_CHECKING:
    from .frames import Frame, Strand
    from .run import Run

T = TypeVar("T")


class Rounds:
    """One running loop, as `run.until` and state.md see it."""

    __slots__ = ("bounded", "frame", "line", "number", "of")

    def __init__(self, frame: Frame, line: int | None, of: int | None, bounded: bool) -> None:
        self.frame = frame
        self.line = line
        self.number = -1
        self.of = of
        self.bounded = bounded
        """It has a `max`: after its last round no condition is asked."""

    @property
    def is_last(self) -> bool:
        return self.bounded and self.of is not None and self.number >= self.of - 1


def count_of(value: Liftable, what: str) -> int:
    """A number of rounds; raises BadValue for anything but a whole number from 0."""
    given = Value(value)
    number = given.number
    if number is None or not isinstance(number, int) or number < 0:
        raise BadValue(f"{what} must be a whole number from 0, not {given.text[:60]!r}")
    return number


def count_rounds(
    run: Run, strand: Strand, line: int | None, of: int | None, bounded: bool, cap: int | None
) -> Generator[Value, None, None]:
    """Yield 0, 1, 2, ...; without a bound the safety `cap` ends the run (LimitReached), where there is one."""
    execution = run._execution
    loop = Rounds(run._frame, line, of, bounded)
    strand.loops.append(loop)
    told = execution.loop_started(run._frame, line, "rounds", of)
    exhausted = False
    try:
        number = 0
        while of is None or number < of:
            if cap is not None and number >= cap:
                raise execution.stopped_by(
                    LimitReached(
                        f"a loop without a condition or max has run {cap:,} rounds, which is the safety cap "
                        "(--max-rounds)",
                        line=line,
                        raising={"--max-rounds": str(2 * cap)},
                    )
                )
            execution.check(strand)
            loop.number = number
            execution.round_started(told, number)
            yield Value(number)
            number += 1
        exhausted = True
    finally:
        strand.loops.remove(loop)
        execution.loop_ended(told, exhausted)


class Each(Generic[T]):
    """The elements of a list (or of text, by the shared rules), one by one; needs no closing."""

    __slots__ = ("_indexed", "_items", "_line", "_next", "_run", "_source", "_told")

    def __init__(self, run: Run, source: Liftable, line: int | None, indexed: bool) -> None:
        self._run = run
        self._source = source
        self._line = line
        self._indexed = indexed
        self._items: tuple[Value, ...] | None = None
        self._next = 0
        self._told: int | None = None
        """The number that observers know this loop by, while it runs."""

    def __aiter__(self) -> Each[T]:
        return self

    async def __anext__(self) -> T:
        execution = self._run._execution
        if self._items is None:
            shaped = await execution.shaped(
                self._run, Value(self._source), Shape("list"), None, self._line
            )
            self._items = shaped.items
            self._told = execution.loop_started(self._run._frame, self._line, "each", len(self._items))
        if self._next >= len(self._items):
            self._end(exhausted=True)
            raise StopAsyncIteration
        execution.check()
        number = self._next
        self._next += 1
        if self._told is not None:
            execution.round_started(self._told, number)
        item = self._items[number]
        return (item, Value(number)) if self._indexed else item  # type: ignore[return-value]

    def _end(self, *, exhausted: bool) -> None:
        told, self._told = self._told, None
        if told is not None:
            self._run._execution.loop_ended(told, exhausted)

    def __del__(self) -> None:
        # A loop that is left early drops its iterator and says nothing else.
        self._end(exhausted=False)
