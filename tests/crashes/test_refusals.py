"""What can't be written is said in one line, loses nothing that was recorded, and is taken up again."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from crashing import Crashed, Undisturbed
from living import Kept, Life, Nursery, reaching
from prose_runtime.testing.server import serving
from workloads import RESUME, WORKLOADS, Workload, compiled

REASONS = {
    "ENOSPC": "No space left on device",
    "EACCES": "Permission denied",
    "EIO": "Input/output error",
}


def refusals(whole: Undisturbed) -> Iterator[tuple[str, str]]:
    """Every time of every operation, each refused for another reason: (fault, reason)."""
    reasons = list(REASONS)
    number = 0
    for point, times in whole.life.points.items():
        operation, _, when = point.rpartition(".")
        if operation == "call" or when == "after":
            continue
        for time in range(1, times + 1):
            number += 1
            yield f"{point}:{time}", reasons[number % len(reasons)]


def check_said(life: Life, reason: str) -> None:
    """One line says what is wrong, naming the file; there is no traceback."""
    assert life.code == 1, (life.code, life.err)
    said = [line for line in life.err.splitlines() if "error:" in line]
    assert len(said) == 1, life.err
    assert REASONS[reason] in said[0]
    assert ".prose/" in said[0]
    assert "Traceback" not in life.err


def check_refused(nursery: Nursery, whole: Undisturbed, folder: Path, fault: str, why: str) -> bool:
    """Refuse an operation, look at what is said and kept, and go on. False where it was not reached."""
    run = Crashed(nursery, whole, folder)
    life = nursery.live(
        whole.work.script,
        whole.work.simulated,
        folder,
        fault=f"{fault}={why}",
        restless=whole.restless,
    )
    if life.code == 0:
        return False
    check_said(life, why)
    kept = Kept.only(folder)
    if kept is None:
        assert "choose another place with --prose-dir" in life.err
        again = nursery.live(whole.work.script, whole.work.simulated, folder)
        assert again.outputs == whole.life.outputs
        return True
    assert f"--resume {kept.name}" in life.err
    recorded = kept.results
    # Of what was asked, the answers that came too late to be recorded are asked for again; nothing else.
    assert len(life.calls) - len(recorded) <= 3
    again = nursery.live(whole.work.script, run.arguments(), folder)
    assert len(again.calls) == len(whole.life.calls) - len(recorded)
    assert set(recorded) <= set(kept.results)
    whole.check_same(again, kept)
    return True


@pytest.mark.parametrize(
    "on",
    [pytest.param("", id="once"), pytest.param("+", id="from then on", marks=pytest.mark.long)],
)
def test_nothing_is_lost_whichever_write_is_refused(
    on: str, nursery: Nursery, tmp_path: Path
) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS["hello"], tmp_path / "whole")
    refused = [
        check_refused(nursery, whole, tmp_path / f"{number}", f"{fault}{on}", why)
        for number, (fault, why) in enumerate(refusals(whole))
    ]
    # How often the journal is made durable depends on the machine.
    assert sum(refused) >= len(refused) - 2


@pytest.mark.long
@pytest.mark.parametrize("why", REASONS)
def test_nothing_is_lost_for_whichever_reason(why: str, nursery: Nursery, tmp_path: Path) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS["hello"], tmp_path / "whole")
    for number, (fault, _) in enumerate(refusals(whole)):
        check_refused(nursery, whole, tmp_path / f"{number}", fault, why)


@pytest.mark.long
@pytest.mark.parametrize("restless", [False, True], ids=["calm", "restless"])
@pytest.mark.parametrize("name", ["contract-scan", "nightly-import", "question-tree"])
def test_nothing_is_lost_in_longer_programs(
    name: str, restless: bool, nursery: Nursery, tmp_path: Path
) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS[name], tmp_path / "whole", restless=restless)
    for number, (fault, why) in enumerate(refusals(whole)):
        check_refused(nursery, whole, tmp_path / f"{number}", fault, why)
        check_refused(nursery, whole, tmp_path / f"{number}+", f"{fault}+", why)


def test_a_limit_on_the_size_of_files_cuts_a_record_which_is_put_right(
    nursery: Nursery, tmp_path: Path
) -> None:
    # A real refusal, in the middle of a write: part of the record is on the disk when the error comes.
    whole = Undisturbed.run(nursery, WORKLOADS["refund-desk"], tmp_path / "whole")
    sizes = {path.name: path.stat().st_size for path in whole.kept.directory.rglob("*.*")}
    size = sizes.pop("journal.jsonl")
    refused = 0
    for number, limit in enumerate(range(max(sizes.values()), size, size // 8)):
        run = Crashed(nursery, whole, tmp_path / str(number))
        life = nursery.live(
            whole.work.script,
            whole.work.simulated,
            run.folder,
            limits=[(resource.RLIMIT_FSIZE, limit)],
        )
        kept = Kept.only(run.folder)
        assert kept is not None
        assert life.code == 1, life.err
        assert "journal.jsonl: File too large" in life.err
        assert "Traceback" not in life.err
        data = (kept.directory / "journal.jsonl").read_bytes()
        assert data.endswith(b"\n"), "half a record stands in the journal"
        refused += len(data) < limit
        recorded = kept.results
        again = nursery.live(whole.work.script, run.arguments(), run.folder)
        assert len(again.calls) == len(whole.life.calls) - len(recorded)
        whole.check_same(again, kept)
    assert refused, "no record was cut"


ASKS_TWICE = """
let first = session "First"
let second = session "Second"
output both = "{first} {second}"
"""


@pytest.fixture
def asks_twice(tmp_path: Path) -> Workload:
    return compiled(ASKS_TWICE, tmp_path / "program")


@pytest.mark.parametrize("what", ["journal", "folder"])
def test_a_run_that_is_deleted_while_it_works_says_so(
    what: str, asks_twice: Workload, nursery: Nursery, tmp_path: Path
) -> None:
    with serving() as server:
        hold = server.hold()
        born = nursery.start(
            asks_twice.script, ["--json"], tmp_path, environ=reaching(server.base_url)
        )
        assert hold.arrived.wait(30)
        kept = Kept.only(tmp_path)
        assert kept is not None
        if what == "journal":
            (kept.directory / "journal.jsonl").unlink()
        else:
            shutil.rmtree(kept.directory)
        hold.release()
        life = nursery.ended(born)
    assert life.code == 1
    said = [line for line in life.err.splitlines() if "error:" in line]
    assert len(said) == 1, life.err
    assert "deleted while the run was at work" in said[0]
    assert "--resume" not in life.err
    assert "Traceback" not in life.err
    assert len(server.calls) == 1, "answers that can't be kept were asked for"
    assert what == "journal" or not kept.directory.exists()


def test_a_file_stands_where_the_run_is_to_be_kept(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / ".prose").write_text("in the way")
    work = WORKLOADS["hello"]
    life = nursery.live(work.script, work.simulated, tmp_path)
    assert life.code == 1
    assert "can't begin a run in .prose/runs" in life.err
    assert "choose another place with --prose-dir" in life.err
    other = nursery.live(work.script, [*work.simulated, "--prose-dir", "elsewhere"], tmp_path)
    assert other.code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_results_that_can_not_be_printed_are_an_error(nursery: Nursery, tmp_path: Path) -> None:
    work = WORKLOADS["hello"]
    life = nursery.live(work.script, work.simulated, tmp_path, out="/dev/full")
    assert life.code == 1
    kept = Kept.only(tmp_path)
    assert kept is not None
    assert "the results can't be printed: No space left on device" in life.err
    assert kept.name in life.err.splitlines()[-1]
    assert "Traceback" not in life.err
    assert "status: completed" in kept.state


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(nursery: Nursery, tmp_path: Path) -> None:
    work = WORKLOADS["hello"]
    first = nursery.live(work.script, work.simulated, tmp_path)
    assert first.code == 0
    (tmp_path / ".prose" / "runs").chmod(0o500)
    life = nursery.live(work.script, work.simulated, tmp_path)
    (tmp_path / ".prose" / "runs").chmod(0o700)
    check_said(life, "EACCES")
    assert "choose another place with --prose-dir" in life.err


def test_a_refused_resume_leaves_the_run_as_it_was(nursery: Nursery, tmp_path: Path) -> None:
    whole = Undisturbed.run(nursery, WORKLOADS["refund-desk"], tmp_path / "whole")
    run = Crashed(nursery, whole, tmp_path / "run")
    run.live("call.before:3=kill")
    kept = Kept.only(run.folder)
    assert kept is not None
    journal = (kept.directory / "journal.jsonl").read_bytes()
    life = nursery.live(whole.work.script, RESUME, run.folder, fault="journal.open.before=EACCES")
    check_said(life, "EACCES")
    assert "journal.jsonl" in life.err
    assert (kept.directory / "journal.jsonl").read_bytes() == journal
    whole.check_same(run.live(), kept)
