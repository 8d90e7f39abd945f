"""Replaying: who is identified how, which number it takes, and what an earlier life of the run has left for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .identity import content, identity
from .past import Past, Record
from .providers.protocol import JSON
from .racing import Rerun, Unrecorded

if TYPE_CHECKING:
    from .frames import Strand
    from .state.store import Store

_STILL: Final = 12
"""Turns of the event loop without a move, after which nothing is being taken from the journal: one operation wakes the
next within four."""


_HEARD: Final = 3
"""Turns of the event loop in which it hears of a signal: while steps are taken from the journal it doesn't turn."""


class Replay:
    """The identities and numbers of one life of a run, over the records of its earlier lives."""

    def __init__(self, past: Past, store: Store) -> None:
        self.past = past
        self.moves = 0
        """Counts whatever the program does."""
        self.reused = 0
        """Steps that were taken from the journal."""
        self._store = store
        self._anonymous = past.anonymous
        self._frames = past.frames
        self._secrets: dict[str, int] = {}
        self._occurrences: dict[tuple[str, str], int] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._listened = False
        self.over = past.is_empty
        """Nothing is left to be taken, and whatever came of it has come."""

    # Identities

    def identify(self, strand: Strand, kind: str, parts: Mapping[str, JSON]) -> str:
        """The identity of a step or frame that is made here and now; counts its occurrence."""
        key = (strand.path, content(kind, parts))
        occurrence = self._occurrences.get(key, 0)
        self._occurrences[key] = occurrence + 1
        if strand.in_race:
            strand.asked.add(key)
            if strand.rerun is not None:
                strand.rerun.asked.append(key)
        return identity(key[0], key[1], occurrence)

    def counters(self, asked: Iterable[tuple[str, str]]) -> JSON:
        """How often these were asked so far: [scope path, content, count]."""
        return [[path, digest, self._occurrences[path, digest]] for path, digest in asked]

    def count_on(self, strand: Strand, counters: Sequence[Sequence[Any]]) -> None:
        """Count on from where a recorded race had got."""
        for path, digest, count in counters:
            key = (path, digest)
            more = count - self._occurrences.get(key, 0)
            if more > 0:
                self._occurrences[key] = count
                if strand.rerun is not None:
                    strand.rerun.asked += [key] * more
            if strand.in_race:
                strand.asked.add(key)

    # Numbers

    def anonymous(self, strand: Strand, identity: str) -> str:
        """The name of a session that binds none, recorded before anything bears it."""
        number = self._known(strand, identity)
        if number is None:
            number = self._anonymous = self._anonymous + 1
            record: dict[str, JSON] = {"r": "begin", "id": identity, "kind": "session", "anon": number}
            self._store.record(record, paid=False)
        return f"anon_{number:03d}"

    def execution_id(self, strand: Strand, identity: str, block: str) -> int:
        """The number of a frame, recorded before anything bears it."""
        number = self._known(strand, identity)
        if number is None:
            number = self._frames = self._frames + 1
            record: dict[str, JSON] = {"r": "begin", "id": identity, "kind": "frame", "block": block}
            self._store.record({**record, "execution_id": number}, paid=False, told=True)
        return number

    def secret_place(self, identity: str, name: str) -> int:
        """How many secret inputs of this name came before, one of which this is if it was recorded."""
        record = self.past.input(identity)
        if record is not None:
            return int(record.get("place", 0))
        place = self._secrets.get(name, self.past.secrets(name))
        self._secrets[name] = place + 1
        return place

    def _known(self, strand: Strand, identity: str) -> int | None:
        number = self.past.number(identity)
        if number is None and strand.rerun is not None:
            raise Unrecorded
        return number

    # Results

    def taken(self, strand: Strand, identity: str, bare: str | None) -> Record | None:
        """The recorded result of a step, if there is one."""
        record = self.past.result(identity, bare)
        if record is not None:
            self.reused += 1
            if strand.rerun is not None:
                strand.rerun.used.append(record["id"])
        return record

    def put_back(self, rerun: Rerun) -> None:
        """Forget what a race that could not be repeated has counted and taken."""
        for key in rerun.asked:
            self._occurrences[key] -= 1
        for taken in rerun.used:
            self.past.put_back(taken)
        self.reused -= len(rerun.used)

    async def live(self, strand: Strand) -> None:
        """Wait before a call until no branch takes results from the journal any more.

        So a recorded winner wins before a loser is called. A branch that still replays waits for nothing but other
        branches, and whatever it does is a move: when none comes for some turns of the event loop, none will. Raises
        Unrecorded where nobody may be called.
        """
        if strand.rerun is not None:
            raise Unrecorded
        if self.over:
            return
        if strand.parent is None:
            if not self._listened:
                self._listened = True
                for _ in range(_HEARD):
                    await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        still = loop.create_future()
        self._waiting.append(still)
        if len(self._waiting) == 1:
            loop.call_soon(self._watch, 0, -1)
        await still

    def _watch(self, still: int, seen: int) -> None:
        """Let those go on who wait, once nothing has moved for some turns."""
        still = still + 1 if self.moves == seen else 0
        if still < _STILL:
            asyncio.get_running_loop().call_soon(self._watch, still, self.moves)
            return
        self.over = not self.past.left
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)
