"""Fault points: what can be armed, that they cost nothing while nothing is, and that no operation is without them."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import prose_runtime
import pytest
from living import Nursery
from prose_runtime.errors import UsageError
from prose_runtime.faults import OPERATIONS, UNARMED, Faults
from prose_runtime.providers.simulate import Simulator
from workloads import WORKLOADS

PACKAGE = Path(prose_runtime.__file__).parent

OF_OS = {
    "write",
    "fsync",
    "fdatasync",
    "rename",
    "replace",
    "ftruncate",
    "truncate",
    "mkdir",
    "makedirs",
    "link",
}
"""Functions of `os` that change what is kept."""

OF_PATHS = {"write_text", "write_bytes", "mkdir", "rename"}
"""Methods that do."""

ELSEWHERE = {
    "doctor.py": "tries whether a folder can be written to, and keeps nothing",
    "state/folders.py": "deletes a run that a person wants deleted",
}
"""Modules that write without fault points, and why they may."""


def test_unarmed_points_are_not_there() -> None:
    provider = Simulator()
    assert UNARMED.around("journal.append", os.write) is os.write
    assert UNARMED.around_calls(provider) is provider
    assert Faults("").around("file.sync", os.fsync) is os.fsync


def test_a_fault_happens_at_its_time_and_no_other(tmp_path: Path) -> None:
    faults = Faults("folder.make.before:2=EACCES, folder.make.after:3+=EIO")
    make = faults.around("folder.make", os.mkdir)
    make(tmp_path / "first")
    with pytest.raises(PermissionError):
        make(tmp_path / "second")
    make(tmp_path / "third")
    assert not (tmp_path / "second").exists()
    # The second time that one was made, and the third.
    make_again = faults.around("folder.make", os.mkdir)
    with pytest.raises(OSError, match="Input/output error"):
        make_again(tmp_path / "fourth")
    with pytest.raises(OSError, match="Input/output error"):
        make(tmp_path / "fifth")
    assert (tmp_path / "fourth").is_dir()


@pytest.mark.parametrize(
    "text",
    [
        "journal.append=kill",
        "journal.append.during=kill",
        "journal.appends.before=kill",
        "journal.append.before:0=kill",
        "journal.append.before=rm -rf",
        "call.before=ENOSPC",
        "kill",
    ],
)
def test_nothing_else_can_be_armed(text: str) -> None:
    with pytest.raises(UsageError, match="PROSE_FAULT"):
        Faults(text)


def test_a_script_says_what_is_wrong_with_the_variable(nursery: Nursery, tmp_path: Path) -> None:
    work = WORKLOADS["hello"]
    life = nursery.live(work.script, work.simulated, tmp_path, fault="nowhere.before=kill")
    assert life.code == 2
    assert "'nowhere.before=kill' is no fault" in life.err
    assert not (tmp_path / ".prose").exists()


def test_a_process_of_its_own_dies_and_its_run_goes_on(tmp_path: Path) -> None:
    # As people do it: no nursery, no counting.
    command = [sys.executable, str(WORKLOADS["hello"].script), "--provider", "simulate", "--json"]
    armed = {**os.environ, "PROSE_FAULT": "journal.append.after:2=kill"}
    first = subprocess.run(command, cwd=tmp_path, env=armed, capture_output=True, timeout=60)
    assert first.returncode == -signal.SIGKILL
    again = subprocess.run(
        [*command, "--resume", "last"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["status"] == "completed"


def test_a_run_reaches_both_points_of_every_operation(nursery: Nursery, tmp_path: Path) -> None:
    work = WORKLOADS["hello"]
    whole = nursery.live(work.script, work.simulated, tmp_path / ".", counts=True)
    reached = set(whole.points)
    # Half a record at the journal's end has to be there to be cut off.
    assert {f"{name}.{when}" for name in OPERATIONS for when in ("before", "after")} - reached == {
        "journal.cut.before",
        "journal.cut.after",
    }


def test_nothing_is_written_without_a_fault_point() -> None:
    found = []
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).as_posix()
        if module in ELSEWHERE or module.startswith("testing/"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        surrounded = {
            argument
            for call in calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == "around"
            for argument in call.args
        }
        for node in nodes:
            of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
            writes = node.attr in (OF_OS if of_os else OF_PATHS)
            if writes and node not in surrounded:
                found.append(f"{module}:{node.lineno}: {ast.unparse(node)}")
    assert not found, found
