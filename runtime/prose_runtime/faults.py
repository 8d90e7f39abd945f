"""Named points at which a test can make this process die or the system refuse, in everything that keeps a run.

    PROSE_FAULT="journal.append.after:3=kill"     once its third record is written, the process kills itself
    PROSE_FAULT="file.write.before:2+=ENOSPC"     from the second on, no file can be written: the disk is full

There is a point before and one after each of OPERATIONS. Several faults are separated by commas; a fault without a
number means the first time. Nothing but these two things can be asked for. While nothing is, the operations are the
system's own functions and the provider is itself: a point that is not armed costs nothing.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple, ParamSpec, TypeVar

from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .providers.protocol import Provider, Reply, Request

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE: Final = "PROSE_FAULT"
"""The variable that arms points in a script."""

OPERATIONS: Final[Mapping[str, str]] = {
    "folder.make": "a folder of the run is made",
    "folder.sync": "the names in a folder are made durable",
    "journal.open": "the journal is opened, or made",
    "journal.cut": "half a record at its end is cut off",
    "journal.append": "records are written",
    "journal.sync": "they are made durable",
    "file.make": "the temporary file is made that will be a binding, state.md, ...",
    "file.write": "its content is written",
    "file.sync": "it is made durable",
    "file.rename": "it gets its name",
    "call": "a model is called",
}
"""What there is a point before and after."""

_REFUSALS: Final = {"ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "EIO": errno.EIO}

_FAULT: Final = (
    r"(?P<operation>[a-z.]+)\.(?P<when>before|after)(:(?P<first>[1-9]\d*)(?P<on>\+)?)?"
    rf"=(?P<what>kill|{'|'.join(_REFUSALS)})"
)


class _Fault(NamedTuple):
    """What happens at a point: from the `first` time on, or that time alone."""

    first: int
    goes_on: bool
    refusal: int | None
    """The error number that the system gives; None where the process dies."""
    times: Iterator[int]
    """Which time it is that the point is reached; in any thread."""


class Faults:
    """The faults that are armed."""

    def __init__(self, text: str = "") -> None:
        """`text` as the variable has it; raises UsageError for what is no fault."""
        self._armed: dict[str, list[_Fault]] = {}
        for one in filter(None, (part.strip() for part in text.split(","))):
            point, fault = _read(one)
            self._armed.setdefault(point, []).append(fault)

    def around(self, operation: str, function: Callable[P, R]) -> Callable[P, R]:
        """`function` between the two points of an operation; itself where nothing is armed."""
        assert operation in OPERATIONS, operation
        if not self._armed:
            return function

        def surrounded(*arguments: P.args, **named: P.kwargs) -> R:
            self.reach(f"{operation}.before")
            result = function(*arguments, **named)
            self.reach(f"{operation}.after")
            return result

        return surrounded

    def around_calls(self, provider: Provider) -> Provider:
        """A provider whose calls stand between two points; itself where nothing is armed."""
        return _Surrounded(self, provider) if self._armed else provider

    def reach(self, point: str) -> None:
        """Do what is armed here. Raises OSError."""
        for fault in self._armed.get(point, ()):
            time = next(fault.times)
            if time == fault.first or (fault.goes_on and time > fault.first):
                if fault.refusal is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                else:
                    raise OSError(fault.refusal, os.strerror(fault.refusal))


class _Surrounded:
    """A provider between the points of its calls."""

    def __init__(self, faults: Faults, inner: Provider) -> None:
        self._faults = faults
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def simulated(self) -> bool:
        return self._inner.simulated

    def check(self) -> None:
        self._inner.check()

    async def complete(self, request: Request) -> Reply:
        self._faults.reach("call.before")
        reply = await self._inner.complete(request)
        self._faults.reach("call.after")
        return reply

    def remarks(self) -> Sequence[str]:
        return self._inner.remarks()

    async def close(self) -> None:
        await self._inner.close()


def _read(text: str) -> tuple[str, _Fault]:
    found = re.fullmatch(_FAULT, text)
    if found is None or found["operation"] not in OPERATIONS:
        raise UsageError(
            f"{VARIABLE}: '{text}' is no fault; write OPERATION.before:3=kill or OPERATION.after:3+=ENOSPC, where "
            f"OPERATION is one of {', '.join(OPERATIONS)}"
        )
    refusal = _REFUSALS.get(found["what"])
    if found["operation"] == "call" and refusal is not None:
        raise UsageError(f"{VARIABLE}: '{text}': at a call only kill makes sense; a server refuses")
    fault = _Fault(int(found["first"] or 1), found["on"] is not None, refusal, count(1))
    return f"{found['operation']}.{found['when']}", fault


UNARMED: Final = Faults()
"""No faults: what everything has outside of tests."""
