"""Concurrent loops of many rounds: they begin as others end, and none waits for one that can't begin."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prose_runtime import Run, Value
from prose_runtime.events import RoundEnded, RoundStarted
from prose_runtime.rounds import ROOM
from scripted import Ran, Scripted, failing, played

MANY = 400


def most_begun(ran: Ran) -> int:
    """The most rounds that had begun and not ended."""
    most = begun = 0
    for event in ran.seen.events:
        begun += isinstance(event, RoundStarted) - isinstance(event, RoundEnded)
        most = max(most, begun)
    return most


def test_rounds_begin_as_others_end(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def each(n: Value) -> Value:
            return await run.session(f"round {n}")

        run.output("all", await run.parallel_for(list(range(MANY)), each))

    ran = played(main, tmp_path, max_concurrency=5)
    assert ran.outcome.outputs["all"].plain() == [f"[round {n}]" for n in range(MANY)]
    assert most_begun(ran) == ROOM + 5
    assert len(ran.seen.of(RoundStarted)) == len(ran.seen.of(RoundEnded)) == MANY


def test_rounds_that_wait_for_their_turn_leave_room_for_others(tmp_path: Path) -> None:
    last_asked = asyncio.Event()

    async def asked_last() -> str:
        last_asked.set()
        return "last"

    async def first_of_all() -> str:
        await last_asked.wait()
        return "first"

    side = Scripted({"round 0": first_of_all, f"round {MANY - 1}": asked_last})

    async def main(run: Run) -> None:
        run.let("all", "")

        async def each(n: Value) -> None:
            said = await run.session(f"round {n}")
            await run.turn()
            run.assign("all", f"{run['all']}{n}={said}; ")

        await run.parallel_for(list(range(MANY)), each)
        run.output("said", run["all"])

    ran = played(main, tmp_path, side)
    said = ran.outcome.outputs["said"].text.split("; ")
    assert [said[0], said[1], said[MANY - 1]] == ["0=first", "1=[round 1]", f"{MANY - 1}=last"]


def test_rounds_that_all_take_their_turn_first_end_in_order(tmp_path: Path) -> None:
    order: list[int] = []

    async def main(run: Run) -> None:
        async def each(n: Value) -> None:
            await run.turn()
            await run.session(f"round {n}")
            order.append(int(n.text))

        await run.parallel_for(list(range(MANY)), each)

    ran = played(main, tmp_path)
    assert (ran.outcome.exit_code, order) == (0, list(range(MANY)))


def test_a_round_that_fails_lets_no_other_begin(tmp_path: Path) -> None:
    side = Scripted({"round 3": failing()})

    async def main(run: Run) -> None:
        async def each(n: Value) -> None:
            await run.session(f"round {n}")

        await run.parallel_for(list(range(MANY)), each)

    ran = played(main, tmp_path, side, max_concurrency=2)
    assert ran.outcome.exit_code == 1
    started = [event.round for event in ran.seen.of(RoundStarted)]
    assert sorted(event.round for event in ran.seen.of(RoundEnded)) == started
    assert len(started) < ROOM + 10


def test_every_round_is_reached_where_all_wait_for_a_person(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        async def each(n: Value) -> None:
            await run.turn()
            await run.input("answer", "What?")

        await run.parallel_for(list(range(MANY)), each)

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 75
    assert len(ran.seen.of(RoundEnded)) == MANY


@pytest.mark.parametrize("room", [-9, 0, ROOM])
def test_what_the_rounds_leave_does_not_depend_on_how_many_begin(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prose_runtime.rounds.ROOM", room)
    side = Scripted({f"round {n}": failing() for n in range(0, 40, 7)})

    async def main(run: Run) -> None:
        async def each(n: Value) -> None:
            found = await run.session(f"round {n}", let="found")
            if n % 3 == 0:
                await run.turn()
                run.output("newest", f"{n}: {found}")

        await run.parallel_for(list(range(40)), each, on_fail="continue")
        await run.session("so far", context=run.so_far)

    ran = played(main, tmp_path, side)
    assert ran.outcome.exit_code == 0
    assert ran.outcome.outputs["newest"] == "39: [round 39]"
    assert len(ran.told("so far")) == 30
    assert "round 39" in ran.file("found")
