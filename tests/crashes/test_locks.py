"""One process works on a run; another is refused, and told which one it is, until that one is gone."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from living import Born, Kept, Nursery, reaching
from prose_runtime.testing.server import Hold, LoopbackServer, serving
from workloads import WORKLOADS, Workload, compiled

MODEL = ["--json", "--resume", "last"]


@pytest.fixture
def work(tmp_path: Path) -> Workload:
    return compiled('let a = session "First"\nlet b = session "Second"\n', tmp_path / "program")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as opened:
        yield opened


@pytest.fixture
def at_work(
    work: Workload, server: LoopbackServer, nursery: Nursery, tmp_path: Path
) -> tuple[Born, Hold]:
    """A life that waits for its second answer."""
    hold = server.hold(lambda call: call.prompt.endswith("Second"))
    born = nursery.start(work.script, ["--json"], tmp_path, environ=reaching(server.base_url))
    assert hold.arrived.wait(30)
    return born, hold


def check_refused(
    work: Workload, server: LoopbackServer, nursery: Nursery, folder: Path, said: str
) -> None:
    kept = Kept.only(folder)
    assert kept is not None
    before = {path: path.read_bytes() for path in kept.directory.rglob("*.*")}
    asked = server.count
    life = nursery.live(work.script, MODEL, folder, environ=reaching(server.base_url))
    assert life.code == 2, life.err
    assert said in life.err
    assert "wait for it or stop it first" in life.err
    assert "Traceback" not in life.err
    assert server.count == asked
    assert {path: path.read_bytes() for path in kept.directory.rglob("*.*")} == before


def test_a_second_process_is_refused_and_the_first_goes_on(
    at_work: tuple[Born, Hold],
    work: Workload,
    server: LoopbackServer,
    nursery: Nursery,
    tmp_path: Path,
) -> None:
    born, hold = at_work
    check_refused(work, server, nursery, tmp_path, f"process {born.pid} on {os.uname().nodename}")
    hold.release()
    assert nursery.ended(born).code == 0
    assert server.count == 2


def test_a_stopped_process_still_has_its_run_and_a_killed_one_has_not(
    at_work: tuple[Born, Hold],
    work: Workload,
    server: LoopbackServer,
    nursery: Nursery,
    tmp_path: Path,
) -> None:
    born, hold = at_work
    os.kill(born.pid, signal.SIGSTOP)
    check_refused(work, server, nursery, tmp_path, f"process {born.pid} ")
    os.kill(born.pid, signal.SIGKILL)
    assert nursery.ended(born).killed
    hold.release()
    life = nursery.live(work.script, MODEL, tmp_path, environ=reaching(server.base_url))
    assert life.code == 0, life.err
    assert [call.prompt.split()[-1] for call in server.calls] == ["First", "Second", "Second"]
    kept = Kept.only(tmp_path)
    assert kept is not None
    assert len({record["pid"] for record in kept.of("run")}) == 2


def test_a_holder_that_has_not_said_its_name_is_not_taken_for_a_dead_one(
    nursery: Nursery, tmp_path: Path
) -> None:
    hello = WORKLOADS["hello"]
    assert nursery.live(hello.script, hello.simulated, tmp_path, fault="call.before=kill").killed
    kept = Kept.only(tmp_path)
    assert kept is not None
    with (kept.directory / "journal.jsonl").open("rb") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        life = nursery.live(hello.script, [*hello.simulated, "--resume", "last"], tmp_path)
    assert life.code == 2
    assert "another process is working on this run" in life.err


def test_of_two_that_take_up_a_run_at_once_one_does(nursery: Nursery, tmp_path: Path) -> None:
    work = WORKLOADS["refund-desk"]
    again = [*work.simulated, "--resume", "last"]
    assert nursery.live(work.script, work.simulated, tmp_path, fault="call.before:3=kill").killed
    both = [nursery.start(work.script, again, tmp_path) for _ in range(2)]
    lives = [nursery.ended(born) for born in both]
    # The second may also come when the first has ended; then there is nothing left to ask.
    assert {life.code for life in lives} <= {0, 2}, [life.err for life in lives]
    assert any(life.code == 0 for life in lives)
    asked = [call for life in lives for call in life.calls]
    assert len(asked) == len(set(asked))
    kept = Kept.only(tmp_path)
    assert kept is not None
    assert len(kept.results) == len(set(kept.results))
    assert len(kept.of("run")) == 1 + sum(life.code == 0 for life in lives)
