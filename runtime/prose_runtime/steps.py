"""Steps: what `run.session(...)`, a block call or `run.parallel(...)` returns. Nothing starts until it is awaited.

A step knows the source line it was written on, and can be started again (a race may be run twice).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from .listing import Listing

T_co = TypeVar("T_co", covariant=True)


class SoFar:
    """The marker `run.so_far`: "tell the session what has happened so far"."""

    __slots__ = ()


class Step(Generic[T_co]):
    """Work that has not begun. Await it, or give it to `run.parallel`."""

    __slots__ = ("line", "start")

    def __init__(self, start: Callable[[], Coroutine[Any, Any, T_co]], line: int | None) -> None:
        self.start = start
        self.line = line
        """The source line, None where it isn't known."""

    def __await__(self) -> Generator[Any, Any, T_co]:
        return self.start().__await__()

    def as_branch(self, name: str) -> Callable[[], Coroutine[Any, Any, T_co]]:
        """What runs this step as the branch `name` of a parallel, also more than once.

        A step that is identified where it is written is identified here and now.
        """
        return self.start

    def binds_itself(self) -> bool:
        """As a branch, this step writes the file of its name."""
        return False


def call_line(listing: Listing) -> int | None:
    """The source line of the call into the runtime that is being made."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("prose_runtime."):
        frame = frame.f_back
    return listing.line_of(frame) if frame is not None else None
