"""Every statement of the grammar, and properties."""

from __future__ import annotations

import pytest
from syntax_outline import clean, fixed, found, outline, parsed, statements

from prosec.syntax import nodes

THROW = ("Throw", None)


def session(text: str | None = None, agent: str | None = None, name: str | None = None, *properties: object) -> object:
    return ("Session", text, agent, name, list(properties))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('use "a/b"', ("Use", "a/b", None)),
        ('use "a/b" as c', ("Use", "a/b", "c")),
        ('input x: "d"', ("Input", "x", "d")),
        ("input x: **d**", ("Input", "x", ("**", "d"))),
        ('input x: """\nd"""', ("Input", "x", "d")),
        ("output x = 1", ("Output", "x", 1)),
        ("output x", ("Output", None, "$x")),
        ("output [x]", ("Output", None, ("ListLiteral", ["$x"], False))),
        ('output session "a"', ("Output", None, session("a"))),
        ("output session: a", ("Output", None, session(None, "a"))),
        ("agent a:\n  model: opus", ("Agent", "a", [("model", "$opus")])),
        ("block b:\n  throw", ("Block", "b", [], None, [THROW])),
        ("block b():\n  throw", ("Block", "b", [], None, [THROW])),
        ("block b(x, y):\n  throw", ("Block", "b", ["x", "y"], None, [THROW])),
        ("block b(x) (max_depth: 5):\n  throw", ("Block", "b", ["x"], 5, [THROW])),
        ("block b (max_depth: 5):\n  throw", ("Block", "b", [], 5, [THROW])),
        ('session "a"', session("a")),
        ('session "a":\n  retry: 2', session("a", None, None, ("retry", 2))),
        ("session: a", session(None, "a")),
        ('session: a "b"', session("b", "a")),
        ('session: a "b":\n  retry: 2', session("b", "a", None, ("retry", 2))),
        ("session: a:\n  retry: 2", session(None, "a", None, ("retry", 2))),
        ("session x: a", session(None, "a", "x")),
        ('session:\n  prompt: "b"', session(None, None, None, ("prompt", "b"))),
        ("resume: a", ("Resume", "a", [])),
        ('resume: a\n  prompt: "b"', ("Resume", "a", [("prompt", "b")])),
        ("let x = 1", ("Let", "let", ["x"], False, 1)),
        ("const x = 1", ("Let", "const", ["x"], False, 1)),
        ("let { a, b, } = x", ("Let", "let", ["a", "b"], True, "$x")),
        ("x = 1", ("Assign", "x", 1)),
        ("do:\n  throw", ("DoBlock", [THROW])),
        ("do b", ("DoCall", "b", [])),
        ("do b(x, y: 1)", ("DoCall", "b", [("Argument", None, "$x"), ("Argument", "y", 1)])),
        ("p(x: 1)", ("Call", "p", [("Argument", "x", 1)])),
        ("repeat 3:\n  throw", ("Repeat", 3, None, [THROW])),
        ("repeat n + 1 as i:\n  throw", ("Repeat", ("Binary", "+", "$n", 1), "i", [THROW])),
        ("for x in xs:\n  throw", ("For", False, "x", None, "$xs", [], [THROW])),
        ("for x, i in [1]:\n  throw", ("For", False, "x", "i", ("ListLiteral", [1], False), [], [THROW])),
        ("for i, j in xs:\n  throw", ("For", False, "i", "j", "$xs", [], [THROW])),
        ("parallel for x in xs:\n  throw", ("For", True, "x", None, "$xs", [], [THROW])),
        (
            'parallel for x in xs (on-fail: "continue"):\n  throw',
            ("For", True, "x", None, "$xs", [("Modifier", "on-fail", "continue")], [THROW]),
        ),
        (
            'for x in xs ("first"):\n  throw',
            ("For", False, "x", None, "$xs", [("Modifier", "strategy", "first")], [THROW]),
        ),
        (
            "for x in p(a: 1) (count: 2):\n  throw",
            ("For", False, "x", None, ("Call", "p", [("Argument", "a", 1)]), [("Modifier", "count", 2)], [THROW]),
        ),
        (
            "for x in a.b (count: 2):\n  throw",
            ("For", False, "x", None, ("Field", "$a", "b"), [("Modifier", "count", 2)], [THROW]),
        ),
        ("loop:\n  break", ("Loop", None, None, None, None, [("Break",)])),
        ("loop (max: 5) as i:\n  continue", ("Loop", None, None, 5, "i", [("Continue",)])),
        ("loop until **a** (max: n):\n  throw", ("Loop", "until", ("**", "a"), "$n", None, [THROW])),
        ("loop while a < 3 as i:\n  throw", ("Loop", "while", ("Binary", "<", "$a", 3), None, "i", [THROW])),
        ("loop until a (max: 5):\n  throw", ("Loop", "until", "$a", 5, None, [THROW])),
        ("try:\n  throw\ncatch:\n  throw", ("Try", [THROW], ("Catch", None, [THROW]), None)),
        (
            "try:\n  throw\ncatch as e:\n  throw\nfinally:\n  throw",
            ("Try", [THROW], ("Catch", "e", [THROW]), [THROW]),
        ),
        ("try:\n  throw\nfinally:\n  throw", ("Try", [THROW], None, [THROW])),
        ("throw", THROW),
        ('throw "a"', ("Throw", "a")),
        ("throw e", ("Throw", "$e")),
        ("return", ("Return", None)),
        ("return x + 1", ("Return", ("Binary", "+", "$x", 1))),
        ("return [x]", ("Return", ("ListLiteral", ["$x"], False))),
        ("return (x)", ("Return", "$x")),
        ('choice **a**:\n  option "b":\n    throw', ("Choice", ("**", "a"), [("Option", "b", [THROW])])),
        ("if a:\n  throw", ("If", [("Clause", "$a", [THROW])], None)),
        (
            "if **a** and not b:\n  throw\nelif c:\n  throw\n\n# d\nelse:\n  throw",
            (
                "If",
                [
                    ("Clause", ("Logical", "and", [("**", "a"), ("Unary", "not", "$b")]), [THROW]),
                    ("Clause", "$c", [THROW]),
                ],
                [THROW],
            ),
        ),
        ("parallel:\n  throw", ("Parallel", [], [("Branch", None, THROW, False)])),
        (
            'parallel ("any", count: 2, on-fail: "ignore"):\n  throw',
            (
                "Parallel",
                [("Modifier", "strategy", "any"), ("Modifier", "count", 2), ("Modifier", "on-fail", "ignore")],
                [("Branch", None, THROW, False)],
            ),
        ),
    ],
)
def test_statements(text: str, expected: object) -> None:
    for ending in ("", "\n", "\n\n# end\n"):
        assert statements(text + ending) == [expected]
    statement = clean(text + "\n# end\n").program.statements[0]
    assert statement.span == (0, len(text))
    inside = f"block outer:\n  {text.replace(chr(10), chr(10) + '  ')}\nthrow\n"
    if '"""' not in text:
        assert statements(inside) == [("Block", "outer", [], None, [expected]), THROW]


def test_branches() -> None:
    text = (
        'parallel:\n  a = session "x"\n    retry: 2\n  let b = do p\n  session: q\n  c = 1 + 2\n  for x in xs:\n    throw\n'
        '  d = do:\n    throw\n  e = parallel:\n    throw\n  xs | map: item\n  let { f } = y\n  throw "z"\n  1 + 1\n'
        "  try:\n    throw\n  catch:\n    throw\n"
    )
    (found,) = statements(text)
    assert isinstance(found, tuple)
    assert [(branch[1], branch[3], branch[2][0]) for branch in found[2]] == [
        ("a", False, "Session"),
        ("b", True, "DoCall"),
        (None, False, "Session"),
        ("c", False, "Binary"),
        (None, False, "For"),
        ("d", False, "DoBlock"),
        ("e", False, "Parallel"),
        (None, False, "Pipeline"),
        (None, False, "Let"),
        (None, False, "Throw"),
        (None, False, "Binary"),
        (None, False, "Try"),
    ]


def test_values_with_bodies() -> None:
    for form, node in (
        ("do:\n  throw", "DoBlock"),
        ("parallel:\n  throw", "Parallel"),
        ("try:\n  throw\ncatch:\n  throw", "Try"),
        ('session "a"\n  retry: 2', "Session"),
        ('session "a"\n  retry: 2\n-> session "b"\n  retry: 3', "Arrow"),
        ("resume: a\n  retry: 2", "Resume"),
    ):
        for start in ("let x = ", "x = ", "output x = ", "return ", "output "):
            first, second = clean(f"{start}{form}\nthrow\n").program.statements
            child = [c for c in nodes.children(first) if not isinstance(c, nodes.Name)][-1]
            assert type(child).__name__ == node
            assert isinstance(second, nodes.Throw)


def test_properties() -> None:
    text = """\
session "a"
  prompt: \"\"\"
b\"\"\"
  model: "claude-x"
  context:
    one: x
    two: session "y"
  retry: 3
  backoff: exponential
  persist: true
  skills: ["s", t]
  permissions:
    read: ["src/**", all]
    bash: deny
  unknown: [1, 2]
throw
"""
    assert statements(text) == [
        session(
            "a",
            None,
            None,
            ("prompt", "b"),
            ("model", "claude-x"),
            ("context", ("ObjectLiteral", [("one", "$x"), ("two", session("y"))], True)),
            ("retry", 3),
            ("backoff", "$exponential"),
            ("persist", True),
            ("skills", ("ListLiteral", ["s", "$t"], False)),
            ("permissions", ("Permissions", [("read", ("ListLiteral", ["src/**", "$all"], False)), ("bash", "$deny")])),
            ("unknown", ("ListLiteral", [1, 2], False)),
        ),
        THROW,
    ]


def test_context_forms() -> None:
    for written, expected in (
        ("x", "$x"),
        ("[]", ("ListLiteral", [], False)),
        ("[a, b.c]", ("ListLiteral", ["$a", ("Field", "$b", "c")], False)),
        ("{ a, b: c }", ("ObjectLiteral", [("a", "$a"), ("b", "$c")], False)),
        ('"text {x}"', ("Text", "text ", ("Hole", "$x"))),
    ):
        assert statements(f'session "a"\n  context: {written}\n') == [session("a", None, None, ("context", expected))]


# --- older and off-grammar forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marked", "right"),
    [
        ('import "a" from "b"\n', 'import "a" from "b"', None),
        ('input x:\n  prompt: "d"\n', "prompt", None),
        ('assert **ok**, "no"\n', "assert", None),
        ('assert x == 1:\n  "no"\n', "assert", None),
        ("assert x\n", "assert", None),
        ('session "a"\n  skills:\n    - "b"\n    - c\n', "-", 'session "a"\n  skills: ["b", c]\n'),
        ('session "a"\n  context:\n    - b\n    - c\n', "-", 'session "a"\n  context: [b, c]\n'),
        ("parallel (first):\n  throw\n", "first", 'parallel ("first"):\n  throw\n'),
        ("parallel (on-fail: continue):\n  throw\n", "continue", 'parallel (on-fail: "continue"):\n  throw\n'),
        ("for i, x in xs:\n  throw\n", "i, x", "for x, i in xs:\n  throw\n"),
        ("repeat {n}:\n  throw\n", "{n}", "repeat n:\n  throw\n"),
        ("loop (max: {n.m}):\n  throw\n", "{n.m}", "loop (max: n.m):\n  throw\n"),
        ("output x = **what**\n", "**what**", None),
        ("loop (max: 5) until **a**:\n  throw\n", "(max: 5) until **a**", "loop until **a** (max: 5):\n  throw\n"),
        ("loop as i (max: 5):\n  throw\n", "as i (max: 5)", "loop (max: 5) as i:\n  throw\n"),
        (
            "loop as n while a < 3 (max: 3):\n  throw\n",
            "as n while a < 3 (max: 3)",
            "loop while a < 3 (max: 3) as n:\n  throw\n",
        ),
    ],
)
def test_older_forms(text: str, marked: str, right: str | None) -> None:
    assert found(text) == [("W027", marked)]
    if right is not None:
        assert fixed(text) == right
        clean(right)


def test_what_older_forms_are_parsed_to() -> None:
    def only(text: str) -> object:
        return outline(parsed(text).program.statements[0])

    assert only('import "a" from "b"') == ("ImportSkill", "a", "b")
    assert only('input x:\n  prompt: "d"\n') == ("Input", "x", "d")
    assert only('assert **ok**, "no"') == ("Assert", ("**", "ok"), "no")
    assert only('assert x == 1:\n  "no"\n') == ("Assert", ("Binary", "==", "$x", 1), "no")
    assert only("for i, x in xs:\n  throw\n") == ("For", False, "x", "i", "$xs", [], [THROW])
    assert only("loop (max: 5) until **a**:\n  throw\n") == ("Loop", "until", ("**", "a"), 5, None, [THROW])
    assert only("repeat {n}:\n  throw\n") == ("Repeat", "$n", None, [THROW])
    assert only('session "a"\n  skills:\n    - "b"\n') == session(
        "a", None, None, ("skills", ("ListLiteral", ["b"], True))
    )
    assert only("parallel (first):\n  throw\n") == (
        "Parallel",
        [("Modifier", "strategy", "$first")],
        [("Branch", None, THROW, False)],
    )


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("if x:\nthrow\n", "if x:"),
        ("if x:\n  # only a comment\nthrow\n", "if x:"),
        ("if x:\n  throw\nelse:\n", "else:"),
        ("loop:\n", "loop:"),
        ("repeat 3:\n", "repeat 3:"),
        ("for x in xs:\n", "for x in xs:"),
        ("do:\n", "do:"),
        ("parallel:\n", "parallel:"),
        ("block b:\n", "block b:"),
        ("agent a:\n", "agent a:"),
        ("try:\ncatch:\n  throw\n", "try:"),
        ('choice **a**:\n  option "b":\n', 'option "b":'),
        ("xs | map:\n", "map:"),
        ('session "a":\n', ":"),
    ],
)
def test_empty_bodies(text: str, marked: str) -> None:
    assert found(text) == [("W018", marked)]


def test_an_empty_body_before_a_fold() -> None:
    assert found("let x = y\n  | map:\n  | filter: item\n") == [("W018", "map:")]


def test_an_arrow_goes_on_with_a_session_where_a_bar_goes_on_with_the_pipeline() -> None:
    arrow = ("Arrow", [session("a"), session("b")])
    for text in (
        'xs | map:\n  session "a"\n  -> session "b"\n',
        'xs | map:\n    session "a"\n  -> session "b"\n',
        'xs\n  | map:\n    session "a"\n    -> session "b"\n',
    ):
        assert statements(text) == [("Pipeline", "$xs", [("Stage", "map", [], [arrow])])]
    stages = [("Stage", "map", [], [arrow]), ("Stage", "filter", [], ["$item"])]
    assert statements('xs | map:\n  session "a"\n  -> session "b"\n  | filter: item\n') == [
        ("Pipeline", "$xs", stages)
    ]
    inner = session("a", None, None, ("context", session("b")))
    assert statements('session "a"\n  context: session "b"\n  -> session "c"\n') == [("Arrow", [inner, session("c")])]
