"""What ends a run from outside: Ctrl-C, SIGTERM, and SIGHUP when the terminal goes away.

They are caught from before there is anything to save until everything is saved.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, Final

CAUGHT: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """The signals of this process, in `with`: given to whoever listens, or kept until somebody does."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[int] = []
        self._then: Callable[[int], None] = self._came.append

    def __enter__(self) -> Signals:
        loop = asyncio.get_running_loop()
        for number in CAUGHT:
            before = signal.getsignal(number)
            if before is signal.SIG_IGN:
                # nohup, or a shell's job in the background: who started us wants none of it.
                continue
            try:
                loop.add_signal_handler(number, partial(self._see, number))
            except (ValueError, RuntimeError, NotImplementedError):
                # Not the main thread, or no signals here: then whoever runs us decides.
                break
            self._before[number] = before
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number, before in self._before.items():
            loop.remove_signal_handler(number)
            if before is not None:
                signal.signal(number, before)

    def listen(self, then: Callable[[int], None]) -> None:
        """From now on `then` is called for each, first for those that came when nobody listened."""
        came, self._came = self._came, []
        self._then = then
        for number in came:
            then(number)

    def _see(self, number: int) -> None:
        self._then(number)
