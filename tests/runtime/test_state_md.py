"""state.md of odd programs, of runs that end in any way, and of runs that do much."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prose_runtime import Program, Run, Value
from prose_runtime.listing import Listing
from prose_runtime.settings import Statement
from prose_runtime.state.index import NEWEST, Index, agents
from prose_runtime.state.outline import Memory, Outline
from prose_runtime.state.tables import table
from scripted import Ran, Scripted, failing, play, played

NO_SOURCE = """\
# Execution State

run: {run}
program: test.prose
started: T
updated: T
status: completed

## Execution Trace

```prose
```

## Active Constructs

## Index

### Bindings

| Name | Kind | Path          | Execution ID |
| ---- | ---- | ------------- | ------------ |
| a    | let  | bindings/a.md | (root)       |

### Agents

| Name | Scope | Path |
| ---- | ----- | ---- |

## Call Stack

| execution_id | block | depth | status |
| ------------ | ----- | ----- | ------ |
"""


def last(ran: Ran) -> str:
    """The file as the run left it, at no particular time."""
    text = (ran.directory / "state.md").read_text(encoding="utf-8")
    return re.sub(
        r"^(started|updated): \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", r"\1: T", text, flags=re.MULTILINE
    )


# Programs


def test_a_script_without_its_source_has_a_complete_file_too(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("one", let="a")

    ran = played(main, tmp_path)
    assert last(ran) == NO_SOURCE.format(run=ran.outcome.run_id)


def test_without_its_source_constructs_and_frames_are_shown_all_the_same(tmp_path: Path) -> None:
    program = Program("test.prose")

    @program.block("dig")
    async def dig(run: Run, depth: Value) -> Value:
        for _ in run.rounds(max=2):
            await run.parallel(a=run.session("a"), b=run.session("b"))
        return Value(None)

    @program.main
    async def main(run: Run) -> None:
        await dig(run, 1)

    async def fails() -> str:
        raise failing("too hard")

    ran = play(program, tmp_path, Scripted({"b": fails}))
    _, _, text = last(ran).partition("## Active Constructs")
    assert text.startswith(
        "\n\n### Loop\n\n- status: failed\n- iteration: 1/2\n\n### Parallel\n\n- a: complete\n- b: failed\n\n## Index"
    )
    assert text.endswith("\n| 1            | dig   | 1     | waiting |\n")


def test_statements_that_no_source_has_are_left_out() -> None:
    outline = Outline(
        Listing("x.prose", 'session "a"\n', {}, [Statement(1, 1, "session"), Statement(5, 9, "if")])
    )
    assert [node.kind for node in outline.nodes] == ["session"]
    assert outline.at(7) is None
    assert outline.at(None) is None


def test_conditions_bounds_and_labels_are_read_from_heads() -> None:
    source = """\
loop until n > 3 and **it is # not a comment** (max: limit) as i: # a comment
  session "a"
loop while ***
  it (max: 3) goes
  on
*** (max: 12):
  session "b"
repeat 7 as x:
  session "c"
repeat n:
  session "d"
loop:
  session "e"
choice ***
  which
  of them
***:
  option \"\"\"One "or" two\"\"\":
    session "f"
  option "\\"Three\\"":
    session "g"
"""
    kinds = ["loop", "loop", "repeat", "repeat", "loop", "choice"]
    spans = [(1, 2), (3, 7), (8, 9), (10, 11), (12, 13), (14, 21)]
    statements = [Statement(*span, kind) for span, kind in zip(spans, kinds, strict=True)]
    statements += [Statement(18, 19, "option"), Statement(20, 21, "option")]
    outline = Outline(Listing("x.prose", source, {}, statements))
    loops = [node for node in outline.nodes if node.sort == "loop"]
    assert [outline.condition(node) for node in loops] == [
        "n > 3 and **it is # not a comment**",
        "**it (max: 3) goes on**",
        None,
        None,
        None,
    ]
    assert [outline.bound(node) for node in loops] == [None, 12, 7, None, None]
    assert [outline.asks_first(node) for node in loops] == [False, True, False, False, False]
    choice = next(node for node in outline.nodes if node.sort == "choice")
    assert outline.criterion(choice) == "**which of them**"
    assert [outline.label(option) for option in choice.clauses] == ['One "or" two', '"Three"']


# Tables


def test_tables_are_padded_and_their_bars_escaped() -> None:
    assert table(("A", "Bee"), [("one", "x|y"), ("3", "")]) == [
        "| A   | Bee  |",
        "| --- | ---- |",
        "| one | x\\|y |",
        "| 3   |      |",
    ]


def test_agents_have_their_memory_where_they_say() -> None:
    memories = [Memory(name, name) for name in ("true", "execution", "project", "user", "a/b/")]
    assert [line.split()[3:6:2] for line in agents(memories, ".prose")[2:]] == [
        ["execution", "agents/true/"],
        ["execution", "agents/execution/"],
        ["project", ".prose/agents/project/"],
        ["user", "~/.prose/agents/user/"],
        ["a/b/", "a/b/"],
    ]


def test_the_index_is_bounded_and_counts_what_it_leaves_out() -> None:
    index = Index()
    index.add("draft", "let", "draft.md", None)
    for number in range(10_000):
        index.add(f"anon_{number:03d}", "let", f"anon_{number:03d}.md", None)
        index.add("draft", "let", "draft.md", None)
    lines = index.lines(str)
    assert len(lines) == 2 + NEWEST + 2
    assert lines[2].startswith("| draft ")
    assert lines[-3].startswith("| anon_9999 ")
    assert lines[-1] == f"... {10_001 - NEWEST:,} earlier"


def test_the_index_counts_a_name_of_the_root_once() -> None:
    index = Index()
    for _ in range(3):
        for number in range(NEWEST + 5):
            index.add(f"n{number}", "let", f"n{number}.md", None)
    assert index.lines(str)[-1] == "... 5 earlier"


# Runs


def test_an_error_in_the_script_itself_leaves_a_state_too(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        await run.session("one")
        raise ZeroDivisionError("a fault of the script")

    with pytest.raises(ZeroDivisionError):
        played(main, tmp_path)
    [text] = [path.read_text() for path in (tmp_path / ".prose" / "runs").glob("*/state.md")]
    assert "\nstatus: failed\n" in text
    assert "reason: ZeroDivisionError: a fault of the script" in text


def test_events_of_no_place_in_the_program_are_passed_over(tmp_path: Path) -> None:
    """Steps and frames whose lines the footer doesn't know."""
    program = Program("test.prose")
    program.source('session "one"\n', lines="", statements="1-1:session")

    @program.block("b")
    async def b(run: Run) -> Value:
        return await run.session("two")

    @program.main
    async def main(run: Run) -> None:
        await run.session("one")
        await b(run)

    ran = play(program, tmp_path)
    assert ran.outcome.status == "completed"
    assert '```prose\nsession "one"\n```\n' in last(ran)
