"""The checks that need no scopes: what each reports, where, and what it leaves alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from prosec.analysis.checks import check_structure
from prosec.diagnostics import Diagnostic
from prosec.source import Source
from prosec.syntax import parse

WRITER = "agent writer:\n  persist: true\n  prompt: 'x'\n".replace("'", '"')


def findings(text: str, skills: tuple[str, ...] = ()) -> list[Diagnostic]:
    source = Source(dedent(text), "a.prose")
    return check_structure(parse(source).program, source, skills)


def reported(text: str) -> list[tuple[str, str]]:
    """Codes with the text that is underlined, E022 aside, which only --strict shows."""
    source = Source(dedent(text), "a.prose")
    found = check_structure(parse(source).program, source)
    return [(each.code, source.slice(each.span)) for each in found if each.code != "E022"]


CASES: dict[str, tuple[str, list[tuple[str, str]]]] = {
    # --- sessions and prompts
    "prompt": ('session "Say hello"', []),
    "empty prompt": ('session ""', [("W001", '""')]),
    "blank prompt": ('session "  "', [("W002", '"  "')]),
    "title": ('session ""\n  prompt: "Say hello"', []),
    "empty prompt property": ('session "t"\n  prompt: ""', [("W004", '""')]),
    "blank prompt property": ('session "t"\n  prompt: " "', [("W002", '" "')]),
    "empty agent prompt": ('agent a:\n  prompt: ""', [("W004", '""')]),
    "agent prompt": ('agent a:\n  prompt: "p"\nsession: a', []),
    "nobody asks": ("agent a:\n  model: opus\nsession: a\n  context: []", [("W001", "a")]),
    "undefined agent is not ours": ("session: nobody\nresume: nobody", []),
    "session of a fresh agent": (WRITER + "session: writer", []),
    "session after a session": (WRITER + "session: writer\nsession: writer", [("W011", "writer")]),
    "session after a resume": (WRITER + "resume: writer\nsession: writer", [("W011", "writer")]),
    "resume after a session": (WRITER + "session: writer\nresume: writer", []),
    "session in the other arm": (
        WRITER + "if **it is a very good day**:\n  session: writer\nelse:\n  session: writer",
        [],
    ),
    "sessions at the same time": (
        WRITER + "parallel:\n  a = session: writer\n  b = session: writer",
        [],
    ),
    "session in a block": (
        WRITER + "block b:\n  session: writer\nsession: writer",
        [],
    ),
    "resume without memory": ('agent a:\n  prompt: "p"\nresume: a', [("E017", "a")]),
    "resume with memory off": (
        'agent a:\n  prompt: "p"\n  persist: false\nresume: a',
        [("W027", "persist: false"), ("E017", "a")],
    ),
    # --- properties
    "models": (
        "\n".join(
            f"agent a{i}:\n  model: {model}"
            for i, model in enumerate(
                ("opus", "sonnet", "haiku", '"opus"', '"claude-3-5-haiku-20241022"', "claude-x")
            )
        ),
        [],
    ),
    "invalid model": ("agent a:\n  model: gpt", [("E008", "gpt")]),
    "invalid quoted model": ('session "x"\n  model: "claude-"', [("E008", '"claude-"')]),
    "duplicate property": ('session "x"\n  retry: 2\n  retry: 3', [("E009", "retry")]),
    "unknown property": ('session "x"\n  temprature: 1', [("W005", "temprature")]),
    "persist on a session": ('session "x"\n  persist: true', [("W005", "persist")]),
    "agent ignores": (
        'agent a:\n  retry: 3\n  backoff: "linear"\n  context: x',
        [("W021", "retry"), ("W021", "backoff"), ("W021", "context")],
    ),
    "retry": ('session "x"\n  retry: 10\n  backoff: linear', []),
    "retry zero": ('session "x"\n  retry: 0', [("E042", "0")]),
    "retry fraction": ('session "x"\n  retry: 1.5', [("E042", "1.5")]),
    "retry negative": ('session "x"\n  retry: -1', [("E042", "-1")]),
    "retry text": ('session "x"\n  retry: "3"', [("E042", '"3"')]),
    "retry name": ('session "x"\n  retry: n', [("E042", "n")]),
    "many retries": ('session "x"\n  retry: 11', [("W020", "11")]),
    "backoff": ('session "x"\n  retry: 1\n  backoff: slow', [("E043", "slow")]),
    "backoff alone": ('session "x"\n  backoff: linear', [("W005", "backoff")]),
    "memory scopes": (
        "\n".join(
            f"agent a{i}:\n  persist: {scope}"
            for i, scope in enumerate(("true", "project", "user", '"notes/a"'))
        ),
        [],
    ),
    "no such memory scope": ("agent a:\n  persist: projct", [("E005", "projct")]),
    "quoted memory scope": ('agent a:\n  persist: "user"', [("W027", '"user"')]),
    "numbered memory": ("agent a:\n  persist: 3", [("E005", "3")]),
    # --- permissions
    "permissions": (
        'agent a:\n  permissions:\n    read: ["src/**", ROOT]\n    write: []\n    bash: deny\n'
        "    network: allow\n    execute: prompt",
        [],
    ),
    "permission type": ("agent a:\n  permissions:\n    reed: allow", [("W008", "reed")]),
    "permission value": ("agent a:\n  permissions:\n    read: alow", [("W009", "alow")]),
    "bash patterns": ('agent a:\n  permissions:\n    bash: ["ls"]', [("W009", '["ls"]')]),
    "permission pattern": ("agent a:\n  permissions:\n    read: [1]", [("E016", "1")]),
    "permission string": ('agent a:\n  permissions:\n    read: "x"', [("E016", '"x"')]),
    "permission number": ("agent a:\n  permissions:\n    read: 1", [("E016", "1")]),
    "permission twice": (
        "agent a:\n  permissions:\n    read: allow\n    read: deny",
        [("E009", "read")],
    ),
    # --- skills
    "skill of nobody": ('agent a:\n  skills: ["s"]', [("W007", '"s"')]),
    "imported skill": ('import "s" from "./s"\nagent a:\n  skills: ["s"]', []),
    "skill of a program": ('use "x/s"\nagent a:\n  skills: ["s"]', []),
    "skill that is not text": ("agent a:\n  skills: [s]", [("E014", "s")]),
    "skills on lines": ('import "s" from "./s"\nagent a:\n  skills:\n    - s\n    - "s"', []),
    "one skill": ('agent a:\n  skills: "s"', [("E013", '"s"')]),
    "no skills": ("agent a:\n  skills: []", [("W010", "[]")]),
    # --- parallel
    "joins": (
        "\n".join(
            f'parallel {mods}:\n  session "a"\n  session "b"'
            for mods in ('("all")', '("first", on-fail: "ignore")', '("any")', '("any", count: 2)')
        ),
        [],
    ),
    "join strategy": ('parallel ("fist"):\n  session "a"', [("E034", '"fist"')]),
    "on-fail": ('parallel (on-fail: "collect"):\n  session "a"', [("E035", '"collect"')]),
    "modifier": ('parallel (on-fial: "ignore"):\n  session "a"', [("E005", "on-fial")]),
    "named strategy": (
        'parallel (strategy: "any"):\n  session "a"',
        [("E034", 'strategy: "any"')],
    ),
    "all modifiers wrong": (
        'parallel ("quick", on-fail: "panic", count: 0):\n  session "a"',
        [("E035", '"panic"'), ("E034", '"quick"'), ("E036", "0")],
    ),
    "count of zero": ('parallel ("any", count: 0):\n  session "a"', [("E036", "0")]),
    "count alone": ('parallel (count: 1):\n  session "a"', [("E036", "count: 1")]),
    "count of first": ('parallel ("first", count: 1):\n  session "a"', [("E036", "count: 1")]),
    "count over branches": ('parallel ("any", count: 2):\n  session "a"', [("W022", "2")]),
    "parallel for": (
        'parallel for x in ["a"] (on-fail: "continue"):\n  session "a"',
        [],
    ),
    "parallel for joins all": (
        'parallel for x in ["a"] ("first"):\n  session "a"',
        [("E034", '"first"')],
    ),
    "for has no on-fail": (
        'for x in ["a"] (on-fail: "continue"):\n  session "a"',
        [("W005", 'on-fail: "continue"')],
    ),
    # --- loops
    "repeats": ('repeat 3:\n  session "a"\nlet n = 2\nrepeat n:\n  session "a"', []),
    "repeat zero": ('repeat 0:\n  session "a"', [("E037", "0")]),
    "repeat fraction": ('repeat 3.5:\n  session "a"', [("E037", "3.5")]),
    "repeat negative": ('repeat -2:\n  session "a"', [("E037", "-2")]),
    "repeat text": ('repeat "5":\n  session "a"', [("E037", '"5"')]),
    "unbounded": ('loop:\n  session "a"', [("W014", "loop")]),
    "bounded": ('loop (max: 3):\n  session "a"\nloop until **all is well**:\n  session "a"', []),
    "max zero": ('loop (max: 0):\n  session "a"', [("E038", "0")]),
    "max depth zero": ('block b() (max_depth: 0):\n  session "a"', [("E038", "0")]),
    "break outside": ("break", [("E045", "break")]),
    "continue in a block": ("block b:\n  continue", [("E045", "continue")]),
    "break in a parallel": ("parallel:\n  break\n", [("E045", "break")]),
    "break inside": ("loop (max: 3):\n  if **this is enough**:\n    break", []),
    # --- questions
    "short condition": ('if **ok**:\n  session "a"', [("W015", "**ok**")]),
    "short condition of a value": ('let ok = true\nif **ok**:\n  session "a"', []),
    "short condition of a path": ('let a = {}\nif **not a.b**:\n  session "a"', []),
    "short part of a condition": (
        'let x = 1\nif x > 0 and **ok**:\n  session "a"',
        [("W015", "**ok**")],
    ),
    "short filter": ("let y = [1] | filter: **good**", [("W015", "**good**")]),
    "short criterion": ('choice **which**:\n  option "a":\n    session "b"', []),
    # --- pipelines
    "pipeline": (
        'let y = [1] | filter: **item is a good one** | map: session "{item}"\n'
        'let z = y | reduce(sum, each): session "{sum} {each}"',
        [],
    ),
    "same names": (
        'let z = [1] | reduce(a, a): session "{a}"',
        [("E040", "a")],
    ),
    # --- choices
    "same option": (
        'choice **which way to go**:\n  option "a":\n    session "b"\n  option "a":\n    session "c"',
        [("W017", '"a"')],
    ),
    # --- definitions
    "agent twice": ("agent a:\n  model: opus\nagent a:\n  model: opus", [("E006", "a")]),
    "block twice": (
        'block b:\n  session "a"\nblock b:\n  session "a"',
        [("E033", "b")],
    ),
    "agent and block": ('agent a:\n  model: opus\nblock a:\n  session "a"', []),
    "agent inside": ("do:\n  agent a:\n    model: opus", [("E046", "a")]),
    "block inside": ('if **all is well**:\n  block b:\n    session "a"', [("E046", "b")]),
    "use inside": ('do:\n  use "a/b"', [("E046", 'use "a/b"')]),
    # --- imports
    "uses": (
        'use "a/b"\nuse "@a/c" as d\nuse "https://example.org/e"\nuse "http://localhost:8000/f"\n'
        'use "dir/g.prose"\nuse "../h.prose"\nuse "./i.prose"\nuse "a.b/deep-research"',
        [],
    ),
    "use nothing": ('use ""', [("E011", '""')]),
    "use words": ('use "some program"', [("E012", '"some program"')]),
    "use plain http": ('use "http://example.org/a"', [("E012", '"http://example.org/a"')]),
    "use an absolute file": ('use "/etc/a.prose"', [("E012", '"/etc/a.prose"')]),
    "use another scheme": ('use "file:///etc/a.prose"', [("E012", '"file:///etc/a.prose"')]),
    "use without a name": ('use "a/2fast"', [("E012", '"a/2fast"')]),
    "use with a name": ('use "a/2fast" as fast', []),
    "use twice": ('use "a/b"\nuse "@a/b" as c', [("E010", '"@a/b"')]),
    "names twice": ('use "a/b"\nuse "c/b"', [("E010", '"c/b"')]),
    "skill source": ('import "s" from "somewhere"', [("W006", '"somewhere"')]),
    "skill twice": ('import "s" from "./a"\nimport "s" from "./b"', [("E010", '"s"')]),
    # --- inputs
    "inputs": ('input a: "A"\ninput b: "B"', []),
    "input twice": ('input a: "A"\ninput a: "B"', [("E021", "a")]),
    "input in two arms": (
        'if **all is well**:\n  input a: "A"\nelse:\n  input a: "B"',
        [],
    ),
    "input without words": ('input a: " "', [("W025", '" "')]),
    # --- values
    "empty throw": ('throw ""', [("W019", '""')]),
    "throw": ('throw "no"', []),
    "same key": ("let y = {}\nlet x = { y.a, b: 1, a: 2 }", [("E009", "a")]),
}


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    text, expected = CASES[case]
    assert reported(text) == expected


@pytest.mark.parametrize(
    ("text", "help", "fix"),
    [
        ("agent a:\n  model: sonet", "did you mean 'sonnet'?", "sonnet"),
        ('session "x"\n  promt: "y"', "did you mean 'prompt'?", "prompt"),
        ("agent a:\n  persist: projct", "did you mean 'project'?", "project"),
        ("agent a:\n  permissions:\n    read: alow", "did you mean 'allow'?", "allow"),
        ('parallel ("frist"):\n  session "a"', 'did you mean "first"?', '"first"'),
        ('agent a:\n  skills: "s"', 'write skills: ["s"]', '["s"]'),
        ("agent a:\n  skills: [s]", 'write "s"', '"s"'),
        ('repeat "5":\n  session "a"', "without quotes: 5", "5"),
        (WRITER + "session: writer\nsession: writer", None, "resume"),
    ],
)
def test_a_near_miss_comes_with_its_fix(text: str, help: str | None, fix: str) -> None:
    found = findings(text)[0]
    if help is not None:
        assert found.help == help
    assert found.fix is not None
    assert [edit.text for edit in found.fix.edits] == [fix]
    assert not found.fix.safe


def test_second_spans_point_at_the_first_of_two() -> None:
    text = "agent a:\n  model: opus\nagent a:\n  model: opus\n"
    (found,) = findings(text)
    (related,) = found.related
    assert related.span.start == text.index("a:")


def test_an_input_after_a_statement_is_found_for_strict() -> None:
    text = 'input a: "A"\nsession "x"\ninput b: "B"\nif **all is well**:\n  input c: "C"\n'
    assert [found.code for found in findings(text)] == ["E022", "E022"]


def test_a_long_prompt() -> None:
    assert findings(f'session "{"x" * 10_000}"') == []
    (found,) = findings(f'session "{"x" * 10_001}"')
    assert (found.code, found.message) == ("W003", "this prompt has 10,001 characters")


def test_installed_skills_are_known() -> None:
    text = 'agent a:\n  skills: ["search", "serch"]\n'
    (found,) = findings(text, ("search",))
    assert (found.code, found.help) == ("W007", "did you mean 'search'?")
