"""A run that dies and is taken up again: the whole story, and what must hold at its end."""

from __future__ import annotations

import difflib
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from living import Kept, Life, Nursery
from workloads import RESUME, Workload


@dataclass(frozen=True)
class Undisturbed:
    """A workload's run to which nothing happened; what others are compared with."""

    work: Workload
    restless: bool
    life: Life
    kept: Kept

    @classmethod
    def run(
        cls, nursery: Nursery, work: Workload, folder: Path, *, restless: bool = False
    ) -> Undisturbed:
        """`restless`: files are written at every opportunity and the journal is synced beside the run."""
        folder.mkdir(parents=True)
        life = nursery.live(work.script, work.simulated, folder, counts=True, restless=restless)
        assert life.code == 0, life.err
        kept = Kept.only(folder)
        assert kept is not None
        return cls(work, restless, life, kept)

    def faults(self, what: str = "kill") -> Iterator[str]:
        """A fault for every point that was reached: at its first, its middle and its last time."""
        for point, times in self.life.points.items():
            for time in sorted({1, (times + 1) // 2, times}):
                yield f"{point}:{time}={what}"

    def check_same(self, again: Life, kept: Kept) -> None:
        """The run came out as the undisturbed one.

        The one difference that may be: of a race that was recorded only the winners run in a later life. A loser that had
        its answer before it was cancelled has its line and its file in the undisturbed run, and need not have them here.
        """
        wanted, losers = self.kept, self.work.losers
        assert again.code == 0, again.err
        assert again.outputs == self.life.outputs
        assert len(set(kept.results)) == len(kept.results), "a result is recorded twice"
        assert set(kept.results) == set(wanted.results)
        found, expected = kept.bindings, wanted.bindings
        assert not found.keys() - expected.keys()
        assert expected.keys() - found.keys() <= {f"{name}.md" for name in losers}
        assert found == {name: expected[name] for name in found}
        changed = [
            line
            for line in difflib.ndiff(wanted.state.splitlines(), kept.state.splitlines())
            if line.startswith(("- ", "+ "))
            and not any(text in line for text in losers.values())
            and not any(f"| {name} |" in line for name in losers)
        ]
        assert not changed, "\n".join(["state.md:", *changed])
        kept.check_whole()
        assert not list(kept.directory.rglob("*.tmp")), "a dead process's half-written file is left"


@dataclass(frozen=True)
class Death:
    """A life that ended before its run did."""

    life: Life
    recorded: Sequence[str]
    """The identities of all results that were recorded by then."""


class Crashed:
    """A run of a workload in its lives: each dies where it is told to, until one comes to its end."""

    def __init__(self, nursery: Nursery, whole: Undisturbed, folder: Path) -> None:
        self.nursery = nursery
        self.whole = whole
        self.folder = folder
        self.deaths: list[Death] = []
        folder.mkdir(parents=True)

    def live(self, fault: str = "", lines: int | None = None) -> Life:
        """One more life, the first or one that takes up the run; what it asks is checked.

        It may die by a fault, or be killed from here once it has said so many `lines`.
        """
        whole = self.whole
        recorded = self.deaths[-1].recorded if self.deaths else ()
        born = self.nursery.start(
            whole.work.script,
            self.arguments(),
            self.folder,
            fault=fault,
            restless=whole.restless,
            heard=lines is not None,
        )
        if lines is not None and born.ear is not None:
            born.ear.lines(lines)
            os.kill(born.pid, signal.SIGKILL)
        life = self.nursery.ended(born)
        kept = Kept.only(self.folder)
        assert not Counter(life.calls) - Counter(whole.life.calls), "something else was asked"
        if life.killed:
            results = kept.results if kept is not None else []
            assert set(recorded) <= set(results), "a record is lost"
            # What was asked and is not recorded was under way.
            assert len(results) - len(recorded) <= len(life.calls)
            assert len(life.calls) <= len(whole.life.calls) - len(recorded)
            if kept is not None:
                kept.check_whole()
            self.deaths.append(Death(life, results))
        else:
            # Every step makes one call, so none that was recorded was called again.
            assert len(life.calls) == len(whole.life.calls) - len(recorded), life.err
        return life

    def arguments(self) -> Sequence[str]:
        """How the next life is started: as the first one as long as nothing was recorded."""
        work, kept = self.whole.work, Kept.only(self.folder)
        if kept is None:
            return work.simulated
        given = len(kept.of("input"))
        inputs = work.inputs if given < len(self.whole.kept.of("input")) else ()
        if not kept.records:
            return [*work.inputs, *RESUME[:-1], kept.name]
        return [*inputs, *RESUME]

    def survive(self, fault: str) -> bool:
        """Die at a point and be taken up again; False where the point was not reached this time."""
        life = self.live(fault)
        killed = life.killed
        if killed:
            life = self.live()
        kept = Kept.only(self.folder)
        assert kept is not None
        self.whole.check_same(life, kept)
        return killed
