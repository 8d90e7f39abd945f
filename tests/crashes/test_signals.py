"""Ctrl-C, SIGTERM and SIGHUP: the run's state is saved, the exit code says it, nothing is left, and it can go on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from crashing import Crashed, Undisturbed
from living import Born, Kept, Life, Nursery, reaching
from prose_runtime import Program, Run
from prose_runtime.providers.simulate import Simulator
from prose_runtime.running import execute
from prose_runtime.sessions.side import Sessions
from prose_runtime.settings import Bounds, InputWanted, Resumed, Resumption, Settings
from prose_runtime.testing.reactions import Fails
from prose_runtime.testing.server import Hold, LoopbackServer, serving
from workloads import WORKLOADS, Workload, compiled

NOW = [signal.SIGTERM, signal.SIGHUP]
"""Signals that stop at once."""

ONCE = "finishing what runs, starting nothing more; Ctrl-C again stops at once"

TWO_AND_ONE = """
parallel:
  a = session "One"
  b = session "Two"
let c = session "Three"
output all = "{a} {b} {c}"
"""


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as opened:
        yield opened


@dataclass
class AtWork:
    """A life with two calls under way, and what it needs to be taken up again."""

    born: Born
    nursery: Nursery
    server: LoopbackServer
    work: Workload
    folder: Path
    holds: list[Hold]

    def release(self) -> None:
        for hold in self.holds:
            hold.release()

    def send(self, number: int) -> None:
        os.kill(self.born.pid, number)

    def hear(self, text: str) -> None:
        assert self.born.ear is not None
        self.born.ear.hear(text)

    def check_interrupted(self, results: int) -> Life:
        """It ended as it should; what it began has ended too."""
        life = self.nursery.ended(self.born)
        assert life.code == 130, life.err
        assert "Traceback" not in life.err
        kept = Kept.only(self.folder)
        assert kept is not None
        assert "status: interrupted" in kept.state
        assert [record["status"] for record in kept.of("end")] == ["interrupted"]
        assert len(kept.results) == results
        assert f"--resume {kept.name}" in life.err
        kept.check_whole()
        with pytest.raises(ProcessLookupError):
            os.killpg(self.born.pid, 0)
        return life

    def check_goes_on(self, asks: list[str]) -> None:
        asked = self.server.count
        life = self.nursery.live(
            self.work.script,
            ["--json", "--resume", "last"],
            self.folder,
            environ=reaching(self.server.base_url),
        )
        assert life.code == 0, life.err
        assert sorted(call.prompt.split()[-1] for call in self.server.calls[asked:]) == asks
        kept = Kept.only(self.folder)
        assert kept is not None
        assert "status: completed" in kept.state


@pytest.fixture
def at_work(server: LoopbackServer, nursery: Nursery, tmp_path: Path) -> AtWork:
    work = compiled(TWO_AND_ONE, tmp_path / "program")
    holds = [
        server.hold(lambda call: call.prompt.endswith("One")),
        server.hold(lambda call: call.prompt.endswith("Two")),
    ]
    born = nursery.start(
        work.script, ["--json"], tmp_path, environ=reaching(server.base_url), heard=True
    )
    for hold in holds:
        assert hold.arrived.wait(30)
    return AtWork(born, nursery, server, work, tmp_path, holds)


def test_ctrl_c_lets_what_runs_finish_and_starts_nothing(at_work: AtWork) -> None:
    at_work.send(signal.SIGINT)
    at_work.hear(ONCE)
    at_work.release()
    at_work.check_interrupted(results=2)
    assert at_work.server.count == 2
    at_work.check_goes_on(["Three"])


def test_ctrl_c_twice_stops_now(at_work: AtWork) -> None:
    at_work.send(signal.SIGINT)
    at_work.hear(ONCE)
    at_work.send(signal.SIGINT)
    at_work.check_interrupted(results=0)
    at_work.release()
    at_work.check_goes_on(["One", "Three", "Two"])


@pytest.mark.parametrize("number", NOW)
def test_the_other_signals_stop_now(number: int, at_work: AtWork) -> None:
    at_work.send(number)
    at_work.check_interrupted(results=0)
    at_work.release()
    at_work.check_goes_on(["One", "Three", "Two"])


def test_a_terminal_that_goes_away_stops_the_run_and_its_state_is_saved(
    server: LoopbackServer, nursery: Nursery, tmp_path: Path
) -> None:
    work = compiled('session "One"\n', tmp_path / "program")
    hold = server.hold()
    here, there = os.openpty()
    born = nursery.start(
        work.script, [], tmp_path, environ=reaching(server.base_url), terminal=os.ttyname(there)
    )
    assert hold.arrived.wait(30)
    os.close(there)
    os.close(here)
    life = nursery.ended(born)
    assert life.code == 130
    kept = Kept.only(tmp_path)
    assert kept is not None
    assert "status: interrupted" in kept.state
    assert not (kept.directory / "traceback.txt").exists()


@pytest.mark.parametrize("number", NOW)
def test_who_ignores_a_signal_goes_on_ignoring_it(
    number: int, server: LoopbackServer, nursery: Nursery, tmp_path: Path
) -> None:
    # As nohup does, and a shell with the jobs of a script.
    work = compiled('session "One"\n', tmp_path / "program")
    hold = server.hold()
    born = nursery.start(
        work.script, ["--json"], tmp_path, environ=reaching(server.base_url), ignored=[number]
    )
    assert hold.arrived.wait(30)
    os.kill(born.pid, number)
    hold.release()
    life = nursery.ended(born)
    assert life.code == 0, life.err


def test_ctrl_c_ends_a_pause_between_attempts(
    server: LoopbackServer, nursery: Nursery, tmp_path: Path
) -> None:
    work = compiled('session "Flaky"\n  retry: 3\n  backoff: exponential\n', tmp_path / "program")
    server.script(Fails(400))
    born = nursery.start(
        work.script, ["--json"], tmp_path, environ=reaching(server.base_url), heard=True
    )
    assert born.ear is not None
    born.ear.hear("attempt 2/4")
    os.kill(born.pid, signal.SIGINT)
    life = nursery.ended(born)
    assert life.code == 130, life.err
    assert server.count == 1
    kept = Kept.only(tmp_path)
    assert kept is not None
    assert [record["attempt"] for record in kept.of("retry")] == [2]
    again = nursery.live(
        work.script, ["--json", "--resume", "last"], tmp_path, environ=reaching(server.base_url)
    )
    assert again.code == 0, again.err
    assert server.count == 2


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(number, marks=pytest.mark.long) for number in NOW)],
)
def test_a_signal_at_any_moment_saves_the_state(
    number: int, nursery: Nursery, tmp_path: Path
) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS["refund-desk"], tmp_path / "whole")
    codes = set()
    for point, times in whole.life.points.items():
        folder = tmp_path / point
        run = Crashed(nursery, whole, folder)
        life = nursery.live(
            whole.work.script,
            whole.work.simulated,
            folder,
            signal=(point, (times + 1) // 2, number),
        )
        codes.add(life.code)
        kept = Kept.only(folder)
        assert kept is not None
        assert "Traceback" not in life.err
        assert not list(kept.directory.rglob("*.tmp"))
        if life.code == 0:
            # It came when the run had ended, and was only being saved.
            whole.check_same(life, kept)
            continue
        assert life.code == 130, life.err
        assert "status: interrupted (simulated)" in kept.state
        recorded = kept.results
        again = nursery.live(whole.work.script, run.arguments(), folder)
        assert len(again.calls) == len(whole.life.calls) - len(recorded)
        whole.check_same(again, kept)
    assert codes == {0, 130}


def test_ctrl_c_at_a_question_to_a_person_needs_no_answer(tmp_path: Path) -> None:
    program = Program("made.prose")

    @program.main
    async def main(run: Run) -> None:
        await run.input("topic")

    async def ask(wanted: InputWanted) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return await asyncio.get_running_loop().create_future()

    settings = Settings(
        Sessions(Simulator()), prose_dir=tmp_path / ".prose", simulated=True, ask=ask
    )
    outcome = asyncio.run(execute(program, settings))
    assert outcome.exit_code == 130
    assert outcome.resume_command is not None


def test_ctrl_c_while_recorded_steps_are_taken_starts_nothing(tmp_path: Path) -> None:
    program = Program("made.prose")
    pressed_at = -1

    @program.main
    async def main(run: Run) -> None:
        for number in run.rounds(20):
            if number == pressed_at:
                os.kill(os.getpid(), signal.SIGINT)
            await run.session("again")

    settings = Settings(
        Sessions(Simulator()),
        prose_dir=tmp_path / ".prose",
        simulated=True,
        bounds=Bounds(sessions=10),
    )
    assert asyncio.run(execute(program, settings)).exit_code == 75
    resumed = replace(settings, bounds=Bounds(), resume=Resumption("last"))
    pressed_at = 5
    again = asyncio.run(execute(program, resumed))
    assert again.exit_code == 130
    assert again.resumed == Resumed(reused=10, ran=0)
    pressed_at = -1
    last = asyncio.run(execute(program, resumed))
    assert last.exit_code == 0
    assert last.resumed == Resumed(reused=10, ran=10)
