"""Every error of a run.

    ProseError                     what a program's `catch` can mean (kind)
    ├── Thrown                     throw, assert                        "throw"
    ├── SessionError               a session failed                     "session"
    ├── DecisionError              a **...** failed                     "decision"
    ├── ShapeError                 text that is not the wanted shape    "shape"
    ├── BadValue                   arithmetic, index, wrong type        "value"
    ├── Unbound                    a name that is not bound             "name"
    ├── RecursionLimitExceeded     too many nested blocks               "recursion"
    ├── PermissionRefused          a tool that may not be used          "permission"
    ├── ImportFailed               an imported program failed           "import"
    └── BranchesFailed             too few branches were left           "parallel"

    Stop (a BaseException)         ends the run; no catch sees it       exit code
    ├── UsageError                 missing inputs, key missing/refused  2
    ├── LimitReached               a limit; resumable                   75
    ├── Waiting                    for a person; resumable              75
    ├── Interrupted                Ctrl-C, SIGTERM; resumable           130
    └── StoreFailed                the run can't be recorded            1

Stops derive from BaseException so that neither `except ProseError` nor `except Exception` in a script swallows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from .values import Liftable, Value


line_finder: ContextVar[Callable[[TracebackType | None], int | None] | None] = ContextVar(
    "line_finder", default=None
)
"""From a traceback to the source line that the program was at. Set by the run."""


class ProseError(Exception):
    """An error that the program itself can catch: `message`, `kind` and the source `line` where it happened."""

    kind: str = "error"

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.origin: str | None = None
        """The identity of the step that failed, if it was one."""

    def __str__(self) -> str:
        return self.message

    def __format__(self, spec: str) -> str:
        return format(self.message, spec)

    def value(self) -> Value:
        """This error as a value of the program."""
        from .values import Value

        self.locate()
        return Value(self)

    def locate(self) -> None:
        """Find the source line where this happened, if nobody said it and the run knows its program's lines."""
        find = line_finder.get()
        if self.line is None and find is not None:
            self.line = find(self.__traceback__)

    def __getitem__(self, key: Liftable) -> Value:
        return self.value()[key]


class Thrown(ProseError):
    """The program's own `throw`; `thrown_kind` keeps the kind of an error that is thrown again."""

    kind = "throw"


class SessionError(ProseError):
    """A session failed, after its retries."""

    kind = "session"


class DecisionError(ProseError):
    """A `**...**` could not be answered."""

    kind = "decision"


class ShapeError(ProseError):
    """A text could not be turned into the shape its use needs."""

    kind = "shape"


class BadValue(ProseError):
    """An operation that its values don't allow: text minus text, division by zero, an index out of range."""

    kind = "value"


class Unbound(ProseError):
    """A name was read that nothing has bound yet."""

    kind = "name"


class RecursionLimitExceeded(ProseError):
    """A block called itself deeper than it may."""

    kind = "recursion"


class PermissionRefused(ProseError):
    """A session was refused something by its permissions."""

    kind = "permission"


class ImportFailed(ProseError):
    """An imported program failed."""

    kind = "import"


class BranchesFailed(ProseError):
    """Too few branches of a parallel were left to satisfy its join; the message has all the reasons."""

    kind = "parallel"


class Stop(BaseException):
    """Ends the run, whatever the program catches."""

    exit_code: ClassVar[int] = 1
    status: ClassVar[Literal["failed", "stopped", "waiting", "interrupted"]] = "failed"

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line

    def __str__(self) -> str:
        return self.message


class UsageError(Stop):
    """The run can't start or go on because of how it was started: inputs missing, a key missing or refused."""

    exit_code = 2


class LimitReached(Stop):
    """A limit was reached; what was done is kept and the run can be resumed."""

    exit_code = 75
    status = "stopped"

    def __init__(
        self, message: str, *, line: int | None = None, raising: Mapping[str, str] | None = None
    ) -> None:
        """`raising`: options of the script with which a resumed run goes on, where it needs any."""
        super().__init__(message, line=line)
        self.raising = raising or {}


class Waiting(Stop):
    """An input is missing and nobody is there to ask; the run can be resumed with it."""

    exit_code = 75
    status = "waiting"


class Interrupted(Stop):
    """Somebody stopped the run; it can be resumed."""

    exit_code = 130
    status = "interrupted"


class StoreFailed(Stop):
    """The run directory can't be written: a full disk, missing rights. Nothing recorded before is lost."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        """`gone`: somebody deleted the run, so that nothing is left to resume."""
        super().__init__(message)
        self.gone = gone
