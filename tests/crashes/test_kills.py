"""A process that is killed, anywhere, loses nothing that was recorded, and its run comes out as if nothing had been."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import pytest
from crashing import Crashed, Undisturbed
from living import Kept, Nursery
from workloads import EXAMPLES, WORKLOADS, compiled

CHOSEN = ["contract-scan", "headline-race"]
"""Examples for the default suite: a loop whose rounds run at once, and races."""

RANDOM_RUNS = 40
"""Runs of the long suite that die at random points, several times each."""


def test_every_example_is_a_workload() -> None:
    assert sorted(WORKLOADS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", CHOSEN)
def test_a_kill_at_every_point_is_survived(name: str, nursery: Nursery, tmp_path: Path) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS[name], tmp_path / "whole")
    for point, times in whole.life.points.items():
        place = tmp_path / point
        assert Crashed(nursery, whole, place).survive(f"{point}:{(times + 1) // 2}=kill"), point


@pytest.mark.long
@pytest.mark.parametrize("restless", [False, True], ids=["calm", "restless"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_kills_at_the_first_middle_and_last_time_of_every_point(
    name: str, restless: bool, nursery: Nursery, tmp_path: Path
) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS[name], tmp_path / "whole", restless=restless)
    kills = 0
    for number, fault in enumerate(whole.faults()):
        kills += Crashed(nursery, whole, tmp_path / str(number)).survive(fault)
    # How often files are written depends on the machine: a last time may not come.
    assert kills >= number * 0.8
    print(f"{name}: {kills} kills")


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, RANDOM_RUNS))]
)
def test_several_kills_at_random_points_are_survived(
    seed: int, nursery: Nursery, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    work = WORKLOADS[chance.choice(sorted(WORKLOADS))]
    whole = Undisturbed.run(nursery, work, tmp_path / "whole", restless=chance.random() < 0.5)
    run = Crashed(nursery, whole, tmp_path / "run")
    points = sorted(whole.life.points.items())
    for life in count():
        point, times = chance.choice(points)
        fault = f"{point}:{chance.randint(1, times)}=kill" if life < 6 else ""
        print(f"seed {seed}, {work.script.stem}, life {life}: {fault}")
        ended = run.live(fault)
        if not ended.killed:
            break
    kept = Kept.only(tmp_path / "run")
    assert kept is not None
    whole.check_same(ended, kept)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, RANDOM_RUNS))]
)
def test_several_kills_from_outside_are_survived(
    seed: int, nursery: Nursery, tmp_path: Path
) -> None:
    # The seed says after which line of its progress a life is killed; where it is by then, no seed can say.
    chance = random.Random(seed)
    work = WORKLOADS[chance.choice(sorted(WORKLOADS))]
    whole = Undisturbed.run(nursery, work, tmp_path / "whole", restless=chance.random() < 0.5)
    lines = whole.life.err.count("\n")
    run = Crashed(nursery, whole, tmp_path / "run")
    for life in count():
        after = chance.randint(1, lines) if life < 5 else None
        print(f"seed {seed}, {work.script.stem}, life {life}: killed after {after} lines")
        ended = run.live(lines=after)
        if not ended.killed:
            break
    kept = Kept.only(tmp_path / "run")
    assert kept is not None
    whole.check_same(ended, kept)


def test_a_record_torn_anywhere_is_dropped_and_its_step_is_done_again(
    nursery: Nursery, tmp_path: Path
) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS["refund-desk"], tmp_path / "whole")
    for number, torn in enumerate((1, 2, 30, -1)):
        run = Crashed(nursery, whole, tmp_path / str(number))
        run.live("call.before:4=kill")
        kept = Kept.only(run.folder)
        assert kept is not None
        journal = kept.directory / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        last = max(n for n, line in enumerate(lines) if b'"r":"result"' in line)
        journal.write_bytes(b"".join(lines[:last]) + lines[last][:torn])
        recorded = kept.results
        # Whoever cuts it off may die, too.
        dying = "journal.cut.before=kill" if number % 2 else "journal.cut.after=kill"
        assert nursery.live(whole.work.script, run.arguments(), run.folder, fault=dying).killed
        assert kept.results == recorded
        journal.write_bytes(b"".join(lines[:last]) + lines[last][:torn])
        life = nursery.live(whole.work.script, run.arguments(), run.folder)
        assert life.err.count("cut off in the middle and is dropped") == 1
        assert len(life.calls) == len(whole.life.calls) - len(recorded)
        whole.check_same(life, kept)


SECRET = """
input api-key: "The key"
input topic: "The topic"
let first = session "Fetch {topic}"
  context: { api-key }
output told = session "Tell of {first}"
"""


def test_a_secret_survives_a_kill_at_every_moment(nursery: Nursery, tmp_path: Path) -> None:
    # It stands in its binding file alone, so that file has to be there before the record of it is.
    work = compiled(SECRET, tmp_path / "program", "--api-key", "sk-secret", "--topic", "rain")
    whole = Undisturbed.run(nursery, work, tmp_path / "whole")
    for point, times in whole.life.points.items():
        if not point.startswith(("file.rename", "journal.append")):
            continue
        for time in range(1, times + 1):
            run = Crashed(nursery, whole, tmp_path / f"{point}-{time}")
            assert run.survive(f"{point}:{time}=kill")
            kept = Kept.only(run.folder)
            assert kept is not None
            told = [kept.state, *(run.folder.glob("*.err"))]
            assert "sk-secret" not in (kept.directory / "journal.jsonl").read_text()
            assert "sk-secret" not in "".join(
                each if isinstance(each, str) else each.read_text() for each in told
            )
