"""Operator expressions, literals, calls and pipelines."""

from __future__ import annotations

import pytest
from syntax_outline import fixed, found, statements, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("0.5", 0.5),
        ("-3", ("Unary", "-", 3)),
        ("true", True),
        ("null", None),
        ("x", "$x"),
        ("(x)", "$x"),
        ("a or b or c", ("Logical", "or", ["$a", "$b", "$c"])),
        ("a and b or c and d", ("Logical", "or", [("Logical", "and", ["$a", "$b"]), ("Logical", "and", ["$c", "$d"])])),
        ("a or (b or c)", ("Logical", "or", ["$a", ("Logical", "or", ["$b", "$c"])])),
        ("not a == b", ("Unary", "not", ("Binary", "==", "$a", "$b"))),
        ("not a and b", ("Logical", "and", [("Unary", "not", "$a"), "$b"])),
        ("not not a", ("Unary", "not", ("Unary", "not", "$a"))),
        ("a is b", ("Binary", "==", "$a", "$b")),
        ("a in b", ("Binary", "in", "$a", "$b")),
        ("a != 1 and b >= 2", ("Logical", "and", [("Binary", "!=", "$a", 1), ("Binary", ">=", "$b", 2)])),
        ("a + b - c", ("Binary", "-", ("Binary", "+", "$a", "$b"), "$c")),
        ("a + b * c % d", ("Binary", "+", "$a", ("Binary", "%", ("Binary", "*", "$b", "$c"), "$d"))),
        ("(a + b) * c", ("Binary", "*", ("Binary", "+", "$a", "$b"), "$c")),
        ("-a * b", ("Binary", "*", ("Unary", "-", "$a"), "$b")),
        ("-a.b", ("Unary", "-", ("Field", "$a", "b"))),
        ("a < b + 1", ("Binary", "<", "$a", ("Binary", "+", "$b", 1))),
        ("a.b[0].c", ("Field", ("Index", ("Field", "$a", "b"), 0), "c")),
        ("a[i + 1]", ("Index", "$a", ("Binary", "+", "$i", 1))),
        ("a.if.session", ("Field", ("Field", "$a", "if"), "session")),
        ('"a" + "b"', ("Binary", "+", "a", "b")),
        ("[]", ("ListLiteral", [], False)),
        ("[1, [2], ]", ("ListLiteral", [1, ("ListLiteral", [2], False)], False)),
        ("{}", ("ObjectLiteral", [], False)),
        (
            '{ a, b.c, d: 1, "e f": 2, }',
            ("ObjectLiteral", [("a", "$a"), ("c", ("Field", "$b", "c")), ("d", 1), ("e f", 2)], False),
        ),
        ("{ model: 1, if: 2 }", ("ObjectLiteral", [("model", 1), ("if", 2)], False)),
        ("f()", ("Call", "f", [])),
        ("f(a: 1, b: [2],)", ("Call", "f", [("Argument", "a", 1), ("Argument", "b", ("ListLiteral", [2], False))])),
        ("f(a: 1).b", ("Field", ("Call", "f", [("Argument", "a", 1)]), "b")),
        ("do b", ("DoCall", "b", [])),
        ("do b(1, x: 2)", ("DoCall", "b", [("Argument", None, 1), ("Argument", "x", 2)])),
        ("resume", "$resume"),
        ("resume or a", ("Logical", "or", ["$resume", "$a"])),
        ('[session "a", do b]', ("ListLiteral", [("Session", "a", None, None, []), ("DoCall", "b", [])], False)),
        ('(session "a")', ("Session", "a", None, None, [])),
        ('session "a" -> session: b', ("Arrow", [("Session", "a", None, None, []), ("Session", None, "b", None, [])])),
    ],
)
def test_values(text: str, expected: object) -> None:
    assert value(text) == expected


def stage(operator: str, body: object, *names: str) -> object:
    return ("Stage", operator, list(names), body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xs | map: item", [stage("map", ["$item"])]),
        ("xs | map: item.a + 1", [stage("map", [("Binary", "+", ("Field", "$item", "a"), 1)])]),
        ("xs | filter: **good**", [stage("filter", ("**", "good"))]),
        ("xs | filter:\n    **good**", [stage("filter", ("**", "good"))]),
        (
            "xs | filter: **good** and item.a",
            [stage("filter", [("Logical", "and", [("**", "good"), ("Field", "$item", "a")])])],
        ),
        ("xs | reduce(a, b): a + b", [stage("reduce", [("Binary", "+", "$a", "$b")], "a", "b")]),
        ("xs | odd: item", [stage("odd", ["$item"])]),
        ("xs | reduce(a): a", [stage("reduce", ["$a"], "a")]),
        (
            'xs | map: session "a" | pmap: do b(item)',
            [
                stage("map", [("Session", "a", None, None, [])]),
                stage("pmap", [("DoCall", "b", [("Argument", None, "$item")])]),
            ],
        ),
        (
            "xs | map:\n    let y = item\n    y | map: z\n  | filter: item",
            [
                stage("map", [("Let", "let", ["y"], False, "$item"), ("Pipeline", "$y", [stage("map", ["$z"])])]),
                stage("filter", ["$item"]),
            ],
        ),
        ("xs\n  | map: item\n# c\n\n| filter: item", [stage("map", ["$item"]), stage("filter", ["$item"])]),
        (
            'xs\n      | map: session "a"\n          context: item\n  | map:\n      session "b"\n      | filter: item',
            [
                stage("map", [("Session", "a", None, None, [("context", "$item")])]),
                stage("map", [("Session", "b", None, None, [])]),
                stage("filter", ["$item"]),
            ],
        ),
        (
            'xs\n  | map:\n      session "b"\n        | filter: item',
            [stage("map", [("Pipeline", ("Session", "b", None, None, []), [stage("filter", ["$item"])])])],
        ),
        (
            "xs | map: (item | map: y) | filter: z",
            [stage("map", [("Pipeline", "$item", [stage("map", ["$y"])])]), stage("filter", ["$z"])],
        ),
        (
            "xs | map: do:\n      item | map: y\n  | filter: z",
            [stage("map", [("DoBlock", [("Pipeline", "$item", [stage("map", ["$y"])])])]), stage("filter", ["$z"])],
        ),
        ("xs | map: if item:\n      throw\n", [stage("map", [("If", [("Clause", "$item", [("Throw", None)])], None)])]),
    ],
)
def test_pipelines(text: str, expected: list[object]) -> None:
    assert value(text) == ("Pipeline", "$xs", expected)
    assert statements(text + "\n") == [("Pipeline", "$xs", expected)]


def test_sources_of_pipelines() -> None:
    one = [stage("map", ["$item"])]
    assert value("[1] | map: item") == ("Pipeline", ("ListLiteral", [1], False), one)
    assert value("(a + b) | map: item") == ("Pipeline", ("Binary", "+", "$a", "$b"), one)
    assert value("a.b[0] | map: item") == ("Pipeline", ("Index", ("Field", "$a", "b"), 0), one)
    assert value('session "a"\n    retry: 2\n  | map: item') == (
        "Pipeline",
        ("Session", "a", None, None, [("retry", 2)]),
        one,
    )
    assert statements("f(a: 1) | map: item") == [("Pipeline", ("Call", "f", [("Argument", "a", 1)]), one)]


def test_a_pipeline_ends_where_the_next_statement_begins() -> None:
    text = "let x = a\n  | map: item\nlet y = b\n| filter: **good**\nthrow\n"
    assert [statement[0] for statement in statements(text)] == ["Let", "Let", "Throw"]


def test_pipeline_inside_a_property_and_an_argument() -> None:
    text = 'session "a"\n  context: xs\n    | map: item\n  retry: 2\n'
    assert statements(text) == [
        ("Session", "a", None, None, [("context", ("Pipeline", "$xs", [stage("map", ["$item"])])), ("retry", 2)])
    ]
    assert statements("do b(xs | map: item)") == [
        ("DoCall", "b", [("Argument", None, ("Pipeline", "$xs", [stage("map", ["$item"])]))])
    ]


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("let x = a ? b : c", "E005", "?"),
        ("let x = a if b else c", "E004", "if"),
        ("let x = if a: b", "E005", "if"),
        ("let x = choice **a**:", "E005", "choice"),
        ("let x = for a in b:\n  throw", "E005", "for"),
        ("let x = loop:\n  throw", "E005", "loop"),
        ("let x = repeat 3:\n  throw", "E005", "repeat"),
        ("let x = parallel for a in b:\n  throw", "E005", "parallel"),
        ("let x = len(y)", "E005", "len"),
        ("let x = y.append(1)", "E005", "y.append"),
        ("let x = y.trim()", "E005", "y.trim"),
        ("let x = 1..5", "E005", ".."),
        ("let x = [...a]", "E005", "..."),
        ("let x = a < b < c", "E005", "< b <"),
        ("let x = a == b is c", "E005", "== b is"),
        ("let x = a && b", "E005", "&&"),
        ("let x = a || b", "E005", "||"),
        ("let x = !a", "E005", "!"),
        ("let x = a is not b", "E005", "is not"),
        ("let x = a not in b", "E005", "not in"),
        ("let x = a => b", "E005", "=>"),
        ("let x = a or b | map: item", "E005", "a or b"),
        ("let x = not a | map: item", "E005", "not a"),
        ("let x = a.", "E005", ""),
        ("let x = a[", "E005", "["),
        ("let x = a[]", "E004", "]"),
        ("let x = (a, b)", "E004", ","),
        ("let x = ()", "E004", ")"),
        ("let x = [a b]", "E004", "b"),
        ("let x = {a b}", "E004", "b"),
        ("let x = {1: 2}", "E004", "1"),
        ("let x = {a[0]}", "E005", "a[0]"),
        ("let x = a +", "E005", ""),
        ("let x = + a", "E004", "+"),
        ("let x = a b", "E004", "b"),
        ("let x = 1 2", "E004", "2"),
        ('let x = a "b"', "E004", '"b"'),
        ("let x = let y", "E004", "let"),
        ('let x = 1 + session "a"', "E005", "session"),
        ("let x = (parallel:\n  a)", "E005", ":"),
        ("let x = [do:\n  throw]", "E005", ":"),
        ("let x = xs | map item", "E004", "item"),
        ("let x = xs |", "E005", ""),
        ("let x = xs | map: let y", "E005", ""),
        ('let x = a -> session "b"', "E004", "->"),
        ('let x = session "a" -> b', "E005", "b"),
        ('let x = session "a" ->', "E005", ""),
        ("let x =", "E005", ""),
        ("let x", "E005", ""),
        ("if a = b:\n  throw", "E005", "="),
        ("if the draft is good:\n  throw", "E005", "the draft is good"),
        ("x.y = 1", "E005", "x.y"),
        ("x[0].y = 1", "E005", "x[0].y"),
        ("x += 1", "E005", "+="),
        ("x ++", "E005", "++"),
        ("x", "E004", "x"),
        ("x.y", "E005", "x.y"),
        ("[1]", "E005", "[1]"),
        ('"a"', "E005", '"a"'),
        ("**a**", "E005", "**a**"),
        ("| map: x", "E004", "|"),
        ('-> session "a"', "E004", "->"),
        ("f(1)", "E005", "f"),
        ('shell("ls")', "E052", "shell"),
    ],
)
def test_mistakes(text: str, code: str, marked: str) -> None:
    assert found(text + "\nlet last = 1\n") == [(code, marked)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("let x = a && b", "let x = a and b"),
        ("let x = a is not b", "let x = a != b"),
        ("let x = not a | map: b", "let x = (not a) | map: b"),
        ("if a = b:\n  throw", "if a == b:\n  throw"),
    ],
)
def test_fixes(text: str, right: str) -> None:
    assert fixed(text) == right
    assert not found(right)
