"""Session slots: how many calls run at once. First come, first served; a waiting step costs one future."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """`count` places. Taking one waits for a place; giving it back hands it to the longest waiting."""

    def __init__(self, count: int) -> None:
        self._free = self._count = max(1, count)
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def idle(self) -> bool:
        """No place is taken."""
        return self._free == self._count

    async def take(self) -> None:
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                # The place was handed over at the moment of the cancellation.
                self.give_back()
            raise

    def give_back(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
