"""Every file of cases/run is one program, and what must happen when it runs with `simulate`.

    program, up to
    # run              (may be missing) TOML: inputs = {...}, person = {...}, order = [...], max_rounds, max_concurrency
    # answers          (may be missing) TOML, as for --answers
    # output           one expectation per line; lines that begin with # are comments

What is expected, values being JSON:

    exit 0
    output brief = "..."               outputs ["brief"]          last = 3
    problem kind throw                 problem line 4             problem says "no good"
    sessions ["First line of each prompt", ...]                   in the order they start
    asked ["each condition", ...]                                 likewise
    session "Pattern *": CHECK         session "Pattern *" 2: CHECK   the second that matches
    decision "pattern": CHECK
    files ["a", "anon_001"]            the binding files
    value a = [1, 2]                   what a binding file holds
    file a:                            its exact bytes, in the lines that begin with |
    | # a
    warned "part of a warning"         warned none
    repairs 1                          at once 2 (the most calls that ran together)

CHECK is `prompt "..."`, `title "..."`, `system "..."`, `model "sonnet"`, `name "x"`, `kind "resume"` (null: has none),
`context {"a": "..."}` (exactly these, in order; null: none), `so far ["a", ...]` (labels; null: is not told),
`so far a = "..."`, `tells "..."`, `hides "..."` (the whole message), `shape ["list"]`, `scope {"execution_id": 1, ...}`,
`labels [...]`, `cancelled true`, `attempts 2`.

`order` lists patterns of prompts: among the calls that match one, each is answered when the one before has ended.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from semantics.playing import Call, Played, play

CASES = sorted((Path(__file__).parent / "cases" / "run").glob("*.case"))
SECTION = re.compile(r"^# (run|answers|output)\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A program, how to run it, and what must happen."""

    program: str
    run: dict[str, Any]
    answers: str
    expected: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> Case:
        program, *rest = SECTION.split(path.read_text(encoding="utf-8"))
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
        lines: list[str] = []
        for line in sections["output"].splitlines():
            if line.startswith("|"):
                lines[-1] += "\n" + line[1:].removeprefix(" ")
            elif line.strip() and not line.startswith("#"):
                lines.append(line)
        return cls(
            program,
            tomllib.loads(sections.get("run", "")),
            sections.get("answers", ""),
            tuple(lines),
        )


def plain(call: Call) -> dict[str, Any]:
    return {entry.label: entry.value.plain() for entry in call.about}


def shape_of(call: Call) -> list[str] | None:
    shape = call.task.shape if call.task else None
    if shape is None:
        return None
    only = ["only"] if shape.only else []
    return [shape.kind, *shape.fields, *only]


def scope_of(call: Call) -> dict[str, Any]:
    asked = call.task or call.question
    assert asked is not None
    place = asked.place
    return {
        "execution_id": place.execution_id,
        "block": place.block,
        "depth": place.depth,
        "parent": place.parent,
    }


OF_A_CALL: dict[str, Callable[[Call], Any]] = {
    "prompt": lambda call: call.asked,
    "title": lambda call: call.task.title if call.task else None,
    "system": lambda call: call.requests[-1].system,
    "model": lambda call: call.task.model if call.task else None,
    "name": lambda call: call.task.name if call.task else None,
    "kind": lambda call: call.kind,
    "context": lambda call: list(plain(call).items()) if call.about else None,
    "so far": lambda call: None if call.so_far is None else [e.label for e in call.so_far],
    "shape": shape_of,
    "scope": scope_of,
    "labels": lambda call: list(call.question.labels) if call.question else [],
    "cancelled": lambda call: call.cancelled,
    "attempts": lambda call: len(call.requests),
}


def check_call(call: Call, check: str) -> None:
    word = next((w for w in (*OF_A_CALL, "tells", "hides") if check.startswith(w + " ")), None)
    assert word, f"no such check: {check}"
    rest = check.removeprefix(word).strip()
    if word == "so far" and (named := re.fullmatch(r"(\S+) = (.*)", rest)):
        values = {entry.label: entry.value.plain() for entry in call.so_far or ()}
        assert values[named[1]] == json.loads(named[2])
        return
    wanted = json.loads(rest)
    if word == "tells":
        assert wanted in call.told
    elif word == "hides":
        assert wanted not in call.told
    else:
        if word == "context" and wanted is not None:
            wanted = list(wanted.items())
        assert OF_A_CALL[word](call) == wanted


def check_line(ran: Played, line: str) -> None:
    if match := re.fullmatch(r"(session|decision) (\"(?:[^\"\\]|\\.)*\")(?: (\d+))?: (.*)", line):
        find = ran.session if match[1] == "session" else ran.decision
        check_call(find(json.loads(match[2]), int(match[3] or 1)), match[4])
        return
    if line.startswith("file "):
        first, _, content = line.partition("\n")
        assert ran.file(first.removeprefix("file ").removesuffix(":")) == content
        return
    outcome = ran.outcome
    word, _, rest = line.partition(" ")
    if named := re.fullmatch(r"(output|value) (\S+) = (.*)", line):
        found = outcome.outputs[named[2]].plain() if word == "output" else ran.value(named[2])
        assert same(found, json.loads(named[3]))
    elif word == "last":
        assert outcome.last is not None
        assert same(outcome.last.plain(), json.loads(rest.removeprefix("= ")))
    elif word == "exit":
        assert outcome.exit_code == int(rest), outcome.problem
    elif word == "outputs":
        assert list(outcome.outputs) == json.loads(rest)
    elif word == "problem":
        assert outcome.problem is not None, "nothing went wrong"
        what, _, wanted = rest.partition(" ")
        if what == "says":
            assert json.loads(wanted) in outcome.problem.message
        else:
            assert str(getattr(outcome.problem, what)) == wanted
    elif word == "sessions":
        assert [call.first_line for call in ran.sessions] == json.loads(rest)
    elif word == "asked":
        assert [call.first_line for call in ran.questions] == json.loads(rest)
    elif word == "files":
        assert ran.files == sorted(json.loads(rest))
    elif word == "warned":
        if rest == "none":
            assert ran.warnings == []
        else:
            assert any(json.loads(rest) in text for text in ran.warnings), ran.warnings
    elif word == "repairs":
        assert len(ran.repairs) == int(rest)
    elif line.startswith("at once "):
        assert ran.side.most == int(line.removeprefix("at once "))
    else:
        raise AssertionError(f"no such expectation: {line}")


def check_directory(ran: Played, program: str) -> None:
    """What holds of the directory of any run that ended, however it did (runtime.md 1, 2, 4)."""
    directory = ran.directory
    assert (directory / "program.prose").read_bytes().decode() == program
    assert f"status: {ran.outcome.status}" in (directory / "state.md").read_text(encoding="utf-8")
    records = (directory / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(record)["r"] for record in records][:: len(records) - 1] == ["run", "end"]
    for name in ran.files:
        ran.value(name)
    for path in directory.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, f"{path} can be read by others"
        assert path.suffix in (".md", ".prose", ".jsonl") or path.is_dir(), (
            f"{path} was left behind"
        )


def same(found: Any, wanted: Any) -> bool:
    """Equal, true being no number."""
    return json.dumps(found) == json.dumps(wanted)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    case = Case.read(path)
    ran = play(case.program, tmp_path, case.answers, **case.run)
    wrong = []
    if not any(line.startswith("exit ") for line in case.expected):
        wrong.append(f"no line says how it exits ({ran.outcome.exit_code})")
    for line in case.expected:
        try:
            check_line(ran, line)
        except (AssertionError, KeyError, IndexError, FileNotFoundError) as error:
            why = str(error).partition("\n")[0] or error.__class__.__name__
            wrong.append(f"{line}\n    {why}")
    if ran.outcome.directory is not None:
        check_directory(ran, case.program)
    if wrong:
        pytest.fail(f"{path.name}\n" + "\n".join(wrong) + "\n\n" + told(ran), pytrace=False)


def told(ran: Played) -> str:
    """Everything that happened, for whoever reads a failure."""
    outcome = ran.outcome
    lines = [f"exit {outcome.exit_code}", f"problem {outcome.problem}"]
    lines += [f"output {n} = {json.dumps(v.plain())}" for n, v in outcome.outputs.items()]
    if outcome.last is not None:
        lines.append(f"last = {json.dumps(outcome.last.plain())}")
    for call in ran.calls:
        context = json.dumps(plain(call))[:300]
        so_far = None if call.so_far is None else [e.label for e in call.so_far]
        lines.append(f"{call.kind} {call.asked[:80]!r} context {context} so far {so_far}")
    if outcome.directory is not None:
        lines.append(f"files {json.dumps(ran.files)}")
    lines += [f"warned {text}" for text in ran.warnings]
    body = ran.script.partition("\nprogram = ")[2].partition("# The program that this script")[0]
    return "\n".join(lines) + "\n\n" + body
