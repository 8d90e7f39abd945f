"""What holds of state.md at any moment of any run: a complete file, the source whole, annotations of known forms."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import test_cases_run
import test_cases_state
from prose_runtime.events import Event, Status
from prose_runtime.state.state_md import StateFile
from semantics.moments import constructs, looked_at, stack, trace
from semantics.playing import play

FILE = re.compile(
    r"""\# Execution State

run: \d{8}-\d{6}-[0-9a-z]{6}
program: case\.prose
started: 2026-01-15T14:30:52Z
updated: 2026-01-15T14:30:52Z
status: (running|waiting|stopped|completed|failed|interrupted)\ \(simulated\)
(reason: [^\n]+\n)?
## Execution Trace

(`{3,})prose
(.*\n)?\3

## Active Constructs
(.*)
## Index

### Bindings

\| Name [^\n]+
\| -[^\n]+
(\| [^\n]+\n)*(\n\.\.\. [\d,]+ earlier\n)?
### Agents

\| Name [^\n]+
\| -[^\n]+
(\| [^\n]+\n)*
## Call Stack

\| execution_id \| block[^\n]+
\| -[^\n]+
(\| [^\n]+\n)*(\n\.\.\. [\d,]+ further out\n)?""".replace("\\#", "#").replace("\\ ", " "),
    re.DOTALL,
)

FILE_NAME = r"bindings/[\w-]+(__\d+)?(~[\d.]+)?\.md"
NOTE = re.compile(
    rf" +# (--> {FILE_NAME}( \(\+[\d,]+\))?( \(complete\))?|<-- EXECUTING( \(\d+ of \d+\))?|\(complete\)"
    r"|\[not yet entered\]|\[\.\.\.next\.\.\.\]|<-- RETRYING \(attempt \d+/\d+\)|<-- FAILED: .+|\[skipped\])"
)
SECTION = re.compile(
    r"\n?### (Parallel|Loop|Parallel For|Try|Choice|Pipeline) \((lines \d+-\d+|line \d+)\)\n\n(- [^\n]+: [^\n]+\n)+"
)


def check(text: str, source: str, status: Status) -> None:
    """One state of a run."""
    assert FILE.fullmatch(text), text
    rows = [line.removesuffix("\r") for line in source.removesuffix("\n").split("\n")]
    notes = [line.removeprefix(row) for line, row in zip(trace(text), rows, strict=True)]
    assert all(line.startswith(row) for line, row in zip(trace(text), rows, strict=True))
    assert all(NOTE.fullmatch(note) for note in notes if note), notes
    assert sum("...next..." in note for note in notes) <= 1
    told = SECTION.sub("", constructs(text) + "\n").strip()
    assert re.fullmatch(r"(\.\.\. \d+ more not yet entered)?", told), told
    if status != "running":
        assert not any("EXECUTING" in note or "RETRYING" in note for note in notes)
        assert all(row[3] != "executing" for row in stack(text))
    if status == "completed":
        assert constructs(text) == ""
        assert all(row[3] == "completed" for row in stack(text))
        assert not any(
            word in note for note in notes for word in ("...next...", "[not yet", "<-- ")
        )


Watch = Callable[[], StateFile]


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Checks the state after every event of the runs that follow; gives the latest run's."""
    monkeypatch.chdir(tmp_path)
    seen: list[StateFile] = []
    see = StateFile.see

    def see_and_check(file: StateFile, event: Event) -> None:
        see(file, event)
        seen.append(file)
        check(file.render(), file._listing.text, file.status)

    monkeypatch.setattr(StateFile, "see", see_and_check)
    yield lambda: seen[-1]


def at_the_end(file: StateFile) -> None:
    """Nothing is left of a run that is over."""
    where = file._where
    assert where.steps == 0
    assert not where.walks.asking
    if file.status == "completed":
        assert not where.sheet.inside
        assert not where.walks.frames
        assert not where.walks.root.children
        assert len(where.walks) == 1
        assert not (where.walks.forks or where._constructs)
        assert not any(mark.running or mark.retrying for mark in where.sheet.marks.values())


@pytest.mark.parametrize("path", test_cases_state.CASES, ids=lambda path: path.stem)
def test_at_every_event(path: Path, watched: Watch) -> None:
    program, *rest = test_cases_state.SECTION.split(path.read_text(encoding="utf-8"))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    run = tomllib.loads(sections.get("run", ""))
    looked_at(program, [], sections.get("answers", ""), **run)
    at_the_end(watched())


@pytest.mark.long
@pytest.mark.parametrize("path", test_cases_run.CASES, ids=lambda path: path.stem)
def test_at_every_event_of_all_cases(path: Path, watched: Watch, tmp_path: Path) -> None:
    case = test_cases_run.Case.read(path)
    ran = play(case.program, tmp_path, case.answers, **case.run)
    if ran.outcome.directory is not None:
        at_the_end(watched())
