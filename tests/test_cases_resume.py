"""Every file of cases/run and every example, run and then resumed: whatever has ended comes out again without a call.

The long tests resume it after a crash, too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prose_runtime.settings import Resumption
from semantics.playing import Played, built, play
from test_cases_run import CASES, Case

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.prose"))
SOME = 12
"""Every so many-th case is in the default suite."""


@dataclass(frozen=True)
class Run:
    """How a program is run."""

    program: str
    answers: str = ""
    given: dict[str, Any] = field(default_factory=dict)

    def first(self, folder: Path) -> Played:
        return play(self.program, folder, self.answers, **self.given)

    def again(self, folder: Path, **others: Any) -> Played:
        given = {**self.given, "resume": Resumption("last"), **others}
        return play(self.program, folder, self.answers, **given)


def cases() -> Iterator[Any]:
    for number, path in enumerate(CASES):
        case = Case.read(path)
        marks = pytest.mark.long if number % SOME else ()
        yield pytest.param(Run(case.program, case.answers, case.run), id=path.stem, marks=marks)


def examples() -> Iterator[Any]:
    for path in EXAMPLES:
        source = path.read_text(encoding="utf-8")
        inputs = {name: f"something about {name}" for name in built(source)[1].inputs}
        yield pytest.param(Run(source, "", {"inputs": inputs}), id=path.stem)


def lines_of(played: Played) -> list[bytes]:
    return (played.directory / "journal.jsonl").read_bytes().splitlines(keepends=True)


def kinds(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["r"] for line in lines]


def files_of(played: Played) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (played.directory / "bindings").iterdir()}


def crashed(played: Played, kept: int, folder: Path) -> None:
    """A copy of the run that has lost all but so many records, and no file."""
    there = folder / ".prose" / "runs" / played.directory.name
    shutil.copytree(played.directory, there)
    (there / "journal.jsonl").write_bytes(b"".join(lines_of(played)[:kept]))


def check_ends_the_same(found: Played, wanted: Played) -> None:
    assert found.outcome.exit_code == wanted.outcome.exit_code, found.outcome.problem
    assert found.outcome.outputs == wanted.outcome.outputs
    assert found.outcome.last == wanted.outcome.last
    if wanted.outcome.problem is not None:
        assert found.outcome.problem is not None
        assert found.outcome.problem.kind == wanted.outcome.problem.kind
        assert found.outcome.problem.line == wanted.outcome.problem.line


def check_replays(run: Run, folder: Path) -> None:
    played = run.first(folder)
    if played.outcome.directory is None:
        # It could not start.
        return
    before, files = lines_of(played), files_of(played)
    # The files are written again from the journal, but for those of branches that lost.
    shutil.rmtree(played.directory / "bindings")
    if any(json.loads(line).get("secret") for line in before):
        (played.directory / "bindings").mkdir()
        for name, data in files.items():
            (played.directory / "bindings" / name).write_bytes(data)
    again = run.again(folder, inputs={}, person=None)
    check_ends_the_same(again, played)
    found = files_of(again)
    assert found == {name: files[name] for name in found}
    new = kinds(lines_of(again)[len(before) :])
    resumed = again.outcome.resumed
    assert resumed is not None
    if played.outcome.exit_code == 1 and played.outcome.problem is not None:
        # What ended the run was tried once more.
        assert len(again.calls) <= 1
        return
    assert [call.asked for call in again.calls] == []
    assert new in (["run", "end"], ["run", "waiting", "end"])
    assert resumed.ran == 0
    if "race" not in kinds(before):
        assert resumed.left == 0
        assert found == files


def check_crash(run: Run, folder: Path, *, alike: bool) -> None:
    """`alike`: the model gives every prompt the same answer in any life, whatever the order."""
    played = run.first(folder / "whole")
    if played.outcome.directory is None:
        return
    lines = lines_of(played)
    # Another moment in every program, the same each time.
    kept = 1 + len(run.program) % (len(lines) - 1)
    crashed(played, kept, folder / "crashed")
    again = run.again(folder / "crashed")
    if "race" not in kinds(lines) and alike:
        check_ends_the_same(again, played)
    records = [json.loads(line) for line in lines_of(again)]
    results = [record["id"] for record in records if record["r"] == "result"]
    assert len(results) == len(set(results)), f"paid for twice after {kept} records"


@pytest.mark.parametrize("run", [*cases(), *examples()])
def test_a_run_that_has_ended_comes_out_again(run: Run, tmp_path: Path) -> None:
    check_replays(run, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("run", [*cases(), *examples()])
def test_a_run_that_died_goes_on(run: Run, tmp_path: Path) -> None:
    check_crash(run, tmp_path, alike=not run.answers and "order" not in run.given)
