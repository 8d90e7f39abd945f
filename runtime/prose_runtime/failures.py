"""Failed steps whose errors may yet end the run: which of them the program has caught, which still pass through it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .frames import Frame
    from .listing import Listing


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed step by its identity; `passing` is the frame whose `finally` its error was last seen to pass through."""

    identity: str
    passing: Frame | None = None


def judged(
    failures: Sequence[Failure], frame: Frame, line: int | None, listing: Listing
) -> tuple[list[str], list[Failure]]:
    """What the operation that starts now, in `frame` at `line`, says of failures: caught, or passing on.

    An operation that starts after an error was raised stands behind it or in its `catch`, so it was caught; or in a
    `finally`, which runs for errors that nobody has caught as well. There Python is still handling the error, as it is
    in a `catch`: the program's lines tell one from the other.
    """
    unwinding = sys.exception() is not None and listing.is_in_finally(line)
    caught: list[str] = []
    passing: list[Failure] = []
    for failure in failures:
        if failure.passing is not None and failure.passing is not frame and _calls(failure.passing, frame):
            # A block that the finally calls.
            passing.append(failure)
        elif unwinding:
            passing.append(Failure(failure.identity, frame))
        else:
            caught.append(failure.identity)
    return caught, passing


def _calls(outer: Frame, frame: Frame | None) -> bool:
    """`outer` is among the callers of a frame."""
    while frame is not None and frame is not outer:
        frame = frame.caller
    return frame is outer
