"""The other end of a Worker: a process that carries out orders from its standard input, and says what each took."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Order = dict[str, Any]
"""What to do; the module that does it says of what it is made."""


def serve(perform: Callable[[Order], dict[str, Any]]) -> None:
    """Answer each order, one JSON object a line, with what `perform` gives, until standard input ends."""
    for line in sys.stdin:
        print(json.dumps(perform(json.loads(line))), flush=True)


def forget_peak() -> None:
    """Let VmHWM begin again from now on, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident(field: str) -> int:
    """A size of this process in bytes: VmRSS now, VmHWM at its peak. Where there is no /proc, the peak for both."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(
        int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{field}:")
    )
