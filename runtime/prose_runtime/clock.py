"""The one seam for time and chance: whatever the runtime reads of either comes through a Clock."""

from __future__ import annotations

import random
import string
import time
from datetime import UTC, datetime
from typing import Final, Protocol

_ALPHABET: Final = string.digits + string.ascii_lowercase


class Clock(Protocol):
    """Time and chance. Tests give one that stands still."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def seconds(self) -> float:
        """A count of seconds that never goes back."""

    async def sleep(self, seconds: float) -> None: ...

    def letters(self, count: int) -> str:
        """Random characters of [0-9a-z]."""

    def jitter(self) -> float:
        """A random number from 0 to 1."""


class SystemClock:
    """The machine's own time and chance."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def seconds(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    def letters(self, count: int) -> str:
        return "".join(random.SystemRandom().choices(_ALPHABET, k=count))

    def jitter(self) -> float:
        return random.random()


def run_name(clock: Clock) -> str:
    """A new run id: 20260115-143052-a7b3c9."""
    return f"{clock.now():%Y%m%d-%H%M%S}-{clock.letters(6)}"


def stamp(clock: Clock) -> str:
    """The time as files have it: 2026-01-15T14:30:52Z."""
    return f"{clock.now():%Y-%m-%dT%H:%M:%SZ}"
