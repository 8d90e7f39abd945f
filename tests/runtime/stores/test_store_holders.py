"""Several processes: one works on a run, others look; what it recorded outlives it, and its hold ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kinds import Kind
from prose_runtime.errors import UsageError
from prose_runtime.state.store import Store
from working import created, reopened


@contextmanager
def held(kind: Kind, folder: Path, *run_id: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process that works on a run, a new one unless it is said which."""
    script = str(Path(__file__).with_name("holder.py"))
    process = subprocess.Popen(
        [sys.executable, script, kind.name, str(folder), *run_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def test_a_killed_process_loses_nothing_that_was_durable(keeping: Kind, tmp_path: Path) -> None:
    stores = keeping.place(tmp_path)
    with held(keeping, tmp_path) as (run_id, process):
        assert stores.is_held(run_id)
        with pytest.raises(
            UsageError, match=f"process {process.pid} on here is working on this run"
        ):
            reopened(stores, run_id)
        with pytest.raises(UsageError, match="is working on this run"):
            stores.remove(run_id)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not stores.is_held(run_id)
        records = stores.records(run_id)
        assert [record["id"] for record in records[1:101]] == [str(n) for n in range(100)]
        assert [record["id"] for record in records[101:]] in ([], ["late"])

        async def again(store: Store) -> None:
            assert list(store.past) == list(records)
            store.record({"r": "run"})

        reopened(stores, run_id, again)
        assert len(stores.records(run_id)) == len(records) + 1
        stores.remove(run_id)
        assert list(stores.runs()) == []


def test_a_run_goes_from_process_to_process(keeping: Kind, tmp_path: Path) -> None:
    stores = keeping.place(tmp_path)
    run_id = created(stores)
    for life in (1, 2):
        with held(keeping, tmp_path, run_id) as (same, process):
            assert same == run_id
            assert stores.is_held(run_id)
            process.kill()
            process.wait()
        lives = [record for record in stores.records(run_id) if record["r"] == "run"]
        assert len(lives) == life


def test_a_deleted_run_is_not_taken_up(keeping: Kind, tmp_path: Path) -> None:
    stores = keeping.place(tmp_path)
    run_id = created(stores)
    stores.remove(run_id)
    with held(keeping, tmp_path, run_id) as (said, process):
        assert said == f"there is no run {run_id}"
        assert process.wait(60) == 2
    assert list(stores.runs()) == []
