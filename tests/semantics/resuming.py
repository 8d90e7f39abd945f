"""Runs that die after any record of their journal and are taken up again.

A journal is written in order, so every prefix of it is what a crash can leave. `every_crash` resumes from all of them (or
from some, spread evenly) and compares with the undisturbed run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

from playing import Played, play
from prose_runtime.settings import Resumption


def first(folder: Path, source: str, answers: str = "", **settings: Any) -> Played:
    return play(dedent(source), folder, answers, **settings)


def again(folder: Path, source: str, answers: str = "", **settings: Any) -> Played:
    return play(dedent(source), folder, answers, **{"resume": Resumption("last"), **settings})


def asked(played: Played) -> list[str]:
    return [call.first_line for call in played.calls]


def rewrite(played: Played, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Leave another journal than the run did."""
    lines = [json.dumps(record) + "\n" for record in change(records(played))]
    (played.directory / "journal.jsonl").write_text("".join(lines), encoding="utf-8")


def cut(played: Played, kept: int) -> None:
    """Leave so many records of the journal, as a crash does."""
    rewrite(played, lambda found: found[:kept])


def until(kind: str, text: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """The journal up to the first record of a kind that has a text in it, that one included."""

    def cut(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for number, record in enumerate(found):
            if record["r"] == kind and text in json.dumps(record):
                return found[: number + 1]
        raise AssertionError(f"no {kind} with {text!r}")

    return cut


def records(played: Played) -> list[dict[str, Any]]:
    lines = (played.directory / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def results(played: Played) -> dict[str, dict[str, Any]]:
    """The results in a run's journal, by identity; none stands there twice."""
    found = [record for record in records(played) if record["r"] == "result"]
    by_identity = {record["id"]: record for record in found}
    assert len(by_identity) == len(found), "a step was paid for twice"
    return by_identity


def bindings(played: Played) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (played.directory / "bindings").iterdir()}


def crashed(played: Played, kept: int, folder: Path) -> None:
    """A folder with the run as it stood after `kept` records: no file but the journal and what secrets need."""
    run = folder / ".prose" / "runs" / played.directory.name
    run.mkdir(parents=True)
    lines = (played.directory / "journal.jsonl").read_bytes().splitlines(keepends=True)[:kept]
    (run / "journal.jsonl").write_bytes(b"".join(lines))
    shutil.copy(played.directory / "program.prose", run)
    for record in map(json.loads, lines):
        if record.get("secret"):
            (run / "bindings").mkdir(exist_ok=True)
            name = Path(record["path"]).name
            shutil.copy(played.directory / "bindings" / name, run / "bindings" / name)


def resumed(
    source: str, folder: Path, run: str = "last", answers: str = "", **settings: Any
) -> Played:
    reuse = {"resume": Resumption(run), **settings}
    return play(source, folder, answers, **reuse)


def every_crash(
    source: str, folder: Path, answers: str = "", *, most: int = 1000, **settings: Any
) -> Iterator[tuple[Played, Played, int]]:
    """Run `source`, then resume it after each crash: (undisturbed, resumed, records kept)."""
    first = play(source, folder / "whole", answers, **settings)
    count = len(records(first))
    step = max(1, -(-count // most))
    for kept in [*range(1, count, step), count]:
        place = folder / f"crash-{kept}"
        crashed(first, kept, place)
        yield first, resumed(source, place, answers=answers, **settings), kept


def check_same(
    first: Played, again: Played, kept: int, *, racy: bool = False, concurrent: bool = False
) -> None:
    """Nothing was lost and nothing was called twice.

    Where branches race, another one may win after a crash; where they are concurrent, numbers may fall otherwise.
    """
    assert again.outcome.exit_code == first.outcome.exit_code, again.outcome.problem
    before = {r["id"] for r in records(first)[:kept] if r["r"] == "result"}
    called = [r["id"] for r in records(again)[kept:] if r["r"] == "result"]
    assert not before & set(called), "a recorded step was called again"
    results(again)
    if not racy:
        assert again.outcome.outputs == first.outcome.outputs
        assert concurrent or bindings(again) == bindings(first)


def check_replay(again: Played, source: str, folder: Path, answers: str, **settings: Any) -> None:
    """The run that has ended replays without a call, from its journal alone, and comes out as it did."""
    crashed(again, len(records(again)), folder)
    replayed = resumed(source, folder, answers=answers, **settings)
    assert not replayed.calls, [call.asked for call in replayed.calls]
    assert replayed.outcome.exit_code == again.outcome.exit_code
    assert replayed.outcome.outputs == again.outcome.outputs
    assert replayed.outcome.last == again.outcome.last
    found, wanted = bindings(replayed), bindings(again)
    assert found == {name: wanted[name] for name in found}
