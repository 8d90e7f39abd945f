"""What is on the disk before anyone acts on it: before a call that knows of it, before it is shown, before its file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from prose_runtime import Program, ProseError, Run, Value
from prose_runtime import journal as journal_module
from prose_runtime.clock import SystemClock
from prose_runtime.events import Event, RunEnded, StepFinished, StepStarted
from prose_runtime.state.bindings import Binding
from prose_runtime.state.files import write_together
from prose_runtime.state.filesystem import FilesystemStore
from prose_runtime.state.folders import FilesystemStores
from scripted import Scripted, failing, play, played


class Disk:
    """What of the journal would survive a power cut, and a kill."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.synced = 0
        self.syncs = 0
        real = os.fdatasync

        def fdatasync(descriptor: int) -> None:
            reached = os.fstat(descriptor).st_size
            real(descriptor)
            self.synced = max(self.synced, reached)
            self.syncs += 1

        monkeypatch.setattr(os, "fdatasync", fdatasync)

    def kept(self, kind: str, size: int | None = None) -> list[dict[str, object]]:
        """The records of a kind among the first `size` bytes, those on the disk by default."""
        [path] = self.folder.glob(".prose/runs/*/journal.jsonl")
        lines = path.read_bytes()[: self.synced if size is None else size].splitlines()
        return [record for record in map(json.loads, lines) if record["r"] == kind]


@pytest.fixture(params=["here", "beside"])
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Disk]:
    if request.param == "beside":
        monkeypatch.setattr(journal_module, "SLOW", -1.0)
        monkeypatch.setattr(journal_module, "SLOW_ALONE", -1.0)
    else:
        monkeypatch.setattr(journal_module, "SLOW", 60.0)
        monkeypatch.setattr(journal_module, "SLOW_ALONE", 60.0)
    yield Disk(tmp_path, monkeypatch)


def test_a_result_is_on_the_disk_before_the_next_call(tmp_path: Path, disk: Disk) -> None:
    seen: list[int] = []

    async def looks() -> str:
        seen.append(len(disk.kept("result")))
        return "answer"

    async def main(run: Run) -> None:
        for _ in run.rounds(5):
            await run.session("x", let="x")
        await run.decide("sure", about={"x": run["x"]})

    ran = played(main, tmp_path, Scripted({"x": looks}, {"sure": looks}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert seen == [0, 1, 2, 3, 4, 5]


def test_branches_share_the_disk_and_wait_for_what_they_know(tmp_path: Path, disk: Disk) -> None:
    async def main(run: Run) -> None:
        async def each(item: Value) -> Value:
            first = await run.session(f"first {item}")
            kept = [record["text"] for record in disk.kept("result")]
            second = await run.session(f"second {item}", context={"first": first})
            assert f"[first {item}]" in [record["text"] for record in disk.kept("result")], kept
            return second

        await run.parallel_for(list(range(40)), each)

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert len(disk.kept("result")) == 80
    assert disk.syncs < 80


def test_nothing_is_shown_as_done_before(tmp_path: Path, disk: Disk) -> None:
    class Watches:
        def __init__(self) -> None:
            self.events: list[Event] = []
            self.early = 0

        def see(self, event: Event) -> None:
            self.events.append(event)
            done = sum(isinstance(one, StepFinished) for one in self.events)
            self.early += done > len(disk.kept("result"))

    watches = Watches()

    async def main(run: Run) -> None:
        await run.session("one")
        await run.parallel(run.session("a"), run.session("b"))
        with suppress(ProseError):
            await run.session("fails")
        await run.session("last")

    ran = played(main, tmp_path, Scripted({"fails": failing()}), observers=(watches,))
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert sum(isinstance(one, StepFinished) for one in watches.events) == 4
    assert sum(isinstance(one, StepStarted) for one in watches.events) == 5
    assert isinstance(watches.events[-1], RunEnded)
    assert watches.early == 0


def test_no_file_speaks_of_what_is_not_on_the_disk(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prose_runtime.state.filesystem.QUIET", 0.0)
    checked: list[str] = []
    real = os.open

    def look(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        name = str(path)
        if name.startswith(".x") and name.endswith(".tmp"):
            checked.append(name)
            assert int(name[2]) < len(disk.kept("result"))
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("prose_runtime.state.files.os.open", look)

    async def main(run: Run) -> None:
        for i in run.rounds(6):
            await run.session(f"x{i}", let=f"x{i}")

    ran = played(main, tmp_path)
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert len(checked) == 6
    assert not list(ran.directory.rglob("*.tmp"))


def test_the_number_of_a_frame_is_written_before_a_session_is_told_it(tmp_path: Path, disk: Disk) -> None:
    async def looks() -> str:
        assert [record["execution_id"] for record in disk.kept("begin", size=10**9) if "execution_id" in record] == [1]
        return "answer"

    program = Program("test.prose")

    @program.block("b")
    async def b(run: Run) -> Value:
        return await run.session("inside")

    @program.main
    async def main(run: Run) -> None:
        await b(run)

    ran = play(program, tmp_path, Scripted({"inside": looks}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_together(tmp_path, [(f"{n}.md", b"x" * n) for n in range(300)])
    assert len(list(tmp_path.iterdir())) == 300
    assert (tmp_path / "299.md").read_bytes() == b"x" * 299
    real = os.write

    def full_disk(descriptor: int, data: bytes) -> int:
        if bytes(data).endswith(b"!"):
            raise OSError(28, "No space left on device")
        # A system may take less than it is given.
        return real(descriptor, data[:7])

    monkeypatch.setattr("prose_runtime.state.files.os.write", full_disk)
    write_together(tmp_path, [("0.md", b"in several parts")])
    assert (tmp_path / "0.md").read_bytes() == b"in several parts"
    with pytest.raises(OSError, match="No space"):
        write_together(tmp_path, [("a.md", b"fine"), ("1.md", b"not fine!")])
    assert not (tmp_path / "a.md").exists()
    assert (tmp_path / "1.md").read_bytes() == b"x"
    assert len(list(tmp_path.iterdir())) == 300


def test_files_wait_for_a_quiet_moment_and_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []

    def render() -> str:
        rendered.append("x")
        return f"state {len(rendered)}"

    async def quiet(store: FilesystemStore) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
            if store._writing is not None:
                await asyncio.wait([store._writing])

    async def run() -> None:
        store = FilesystemStores(tmp_path).create(SystemClock(), "", render)
        assert isinstance(store, FilesystemStore)
        assert store.directory is not None
        store.bind(Binding("a", "let", Value("one")), ())
        store.bind(Binding("a", "let", Value("two")), ())
        store.bind(Binding("late", "let", Value("three")), (), late=True)
        await quiet(store)
        assert len(rendered) == 1
        assert sorted(path.name for path in (store.directory / "bindings").iterdir()) == ["a.md", "late.md"]
        assert (store.directory / "bindings" / "a.md").read_text().endswith("two")
        await quiet(store)
        assert len(rendered) == 1
        # News that never end are written all the same.
        monkeypatch.setattr("prose_runtime.state.filesystem.QUIET", 3600.0)
        monkeypatch.setattr("prose_runtime.state.filesystem.LATEST", 0.0)
        store.bind(Binding("a", "let", Value("four")), ())
        store._due()
        await quiet(store)
        assert (store.directory / "bindings" / "a.md").read_text().endswith("four")
        await store.close()
        assert (store.directory / "state.md").read_text() == "state 3"

    monkeypatch.setattr("prose_runtime.state.filesystem.QUIET", 0.0)
    asyncio.run(run())
