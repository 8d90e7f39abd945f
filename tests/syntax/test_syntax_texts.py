"""Strings and discretions: escapes, line ends, and what in braces may be an interpolation."""

from __future__ import annotations

import pytest
from syntax_outline import clean, fixed, found, outline, parsed, value

from prosec.syntax import nodes


def text_of(written: str) -> nodes.Text:
    statement = parsed(f"let x = {written}\n").program.statements[0]
    assert isinstance(statement, nodes.Let) and isinstance(statement.value, nodes.Text)
    return statement.value


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r'"a"', "a"),
        (r'""', ""),
        (r'"\\ \" \n \t \{ \}"', '\\ " \n \t { }'),
        (r'"\\n"', "\\n"),
        (r'"\\"', "\\"),
        ('"""a"""', "a"),
        ('""""""', ""),
        ('"""\na\n"""', "a\n"),
        ('"""\r\na\r\n"""', "a\r\n"),
        ('"""\n\n  a  \n"""', "\n  a  \n"),
        ('"""a\nb"""', "a\nb"),
        ('"""a "b" ""c"""', 'a "b" ""c'),
        ('"""a""""', 'a"'),
        ('"""a"""""', 'a""'),
        ('"""a \\""" b"""', 'a """ b'),
        (r'"""a \\ \n \{x}"""', "a \\ \n {x}"),
        ('"""# no comment"""', "# no comment"),
        ('"it\'s"', "it's"),
    ],
)
def test_contents(written: str, expected: str) -> None:
    text = text_of(written)
    assert text.plain == expected
    assert text.triple == written.startswith('"""')
    assert not parsed(f"let x = {written}\n").diagnostics


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{x}", ["$x"]),
        ("a {x} b", ["a ", "$x", " b"]),
        ("{x}{y}", ["$x", "$y"]),
        ("{review-plan}", ["$review-plan"]),
        ("{x.y.z}", [("Field", ("Field", "$x", "y"), "z")]),
        ("{x[0]}", [("Index", "$x", 0)]),
        ("{x[-1].a}", [("Field", ("Index", "$x", ("Unary", "-", 1)), "a")]),
        ("{x[i]}", [("Index", "$x", "$i")]),
        ("{x.a-b}", [("Field", "$x", "a-b")]),
        ("{n + 1}", [("Binary", "+", "$n", 1)]),
        ("{a or b}", [("Logical", "or", ["$a", "$b"])]),
        ("{not done}", [("Unary", "not", "$done")]),
        ("{a.length - b * 2}", [("Binary", "-", ("Field", "$a", "length"), ("Binary", "*", "$b", 2))]),
        ("{a is b}", [("Binary", "==", "$a", "$b")]),
        ("{a + -1}", [("Binary", "+", "$a", ("Unary", "-", 1))]),
        ("{(a + 1) * 2}", [("Binary", "*", ("Binary", "+", "$a", 1), 2)]),
        ("{depth-1}", ["$depth-1"]),
        ('{\\"a\\": {x}}', ['{"a": ', "$x", "}"]),
    ],
)
def test_holes(written: str, expected: list[object]) -> None:
    parts = text_of(f'"{written}"').parts
    assert [part if isinstance(part, str) else outline(part.value) for part in parts] == expected


@pytest.mark.parametrize(
    "written",
    [
        "{}",
        "{ }",
        "{owner/repo}",
        "{a+b}",
        "{a +b}",
        "{several words}",
        "{x",
        "x}",
        "{{x}}",
        "{{ x }}",
        "{{{x}}}",
        "${VAR}",
        "$${VAR}",
        "{1}",
        "{1 + 2}",
        "{x.}",
        "{.x}",
        "{x..y}",
        "{x[]}",
        "{x(1)}",
        "{f (a: 1) + 2}",
        "{x: 1}",
        "{a, b}",
        "{a or}",
        "{a < b < c}",
        "{a or **b**}",
        "{yes | no}",
        "{session}",
        "{true}",
        "{-x}",
        "{a -> b}",
        "{x!}",
        "{a\nb}",
        "{a +\n b}",
        "{this and that and so on please}",
        "{read / write access}",
        "{\u00e9 + a}",
    ],
)
def test_other_braces_are_text(written: str) -> None:
    text = text_of(f'"""{written}"""')
    holes = [part for part in text.parts if isinstance(part, nodes.Hole)]
    assert not holes
    assert text.plain == written


def test_escaped_braces_are_text() -> None:
    assert text_of(r'"\{x} {y\} \\{z}"').plain == r"{x} {y} \{z}"
    assert [type(part).__name__ for part in text_of(r'"\{x} \\{z}"').parts] == ["str", "Hole"]


def test_hole_texts_and_spans_are_those_of_the_source() -> None:
    source = 'let x = "a\\n {items[0].name} and {n + 1}"\n'
    result = parsed(source)
    holes = []
    stack: list[nodes.Node] = [result.program]
    while stack:
        node = stack.pop()
        stack.extend(nodes.children(node))
        if isinstance(node, nodes.Hole):
            holes.append(node)
            assert source[node.span.start : node.span.end] == node.text
        if isinstance(node, nodes.Ref):
            assert source[node.span.start : node.span.end] == node.name
        if isinstance(node, nodes.Field):
            assert source[node.name_span.start : node.name_span.end] == node.name
        if isinstance(node, nodes.Binary):
            assert source[node.span.start : node.span.end] == "n + 1"
    assert len(holes) == 2


def test_json_is_text() -> None:
    json = '{"a": [1, {"b": null}], "c": {"d": "e"}}'
    assert text_of(f'"""{json}"""').parts == (json,)


# --- discretions -----------------------------------------------------------------------------------------------------


def question(written: str) -> nodes.Discretion:
    statement = parsed(f"if {written}:\n  throw\n").program.statements[0]
    assert isinstance(statement, nodes.If)
    condition = statement.clauses[0].condition
    assert isinstance(condition, nodes.Discretion)
    return condition


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("**a b**", "a b"),
        ("**  a  **", "a"),
        ("***a***", "a"),
        ("***a\n   b\r\n\n  c ***", "a b c"),
        ("***\n  a\n***", "a"),
        ("**a * b**", "a * b"),
        ("***a ** b***", "a ** b"),
        ('**say "x" # y: z**', 'say "x" # y: z'),
        (r"**a \{b} \n**", r"a {b} \n"),
    ],
)
def test_discretion_contents(written: str, expected: str) -> None:
    assert question(written).plain == expected
    assert not found(f"if {written}:\n  throw\n")


def test_discretion_holes() -> None:
    parts = question("***the {draft.text}\n   is {n + 1}\n***").parts
    assert [part if isinstance(part, str) else part.text for part in parts] == [
        "the ",
        "{draft.text}",
        " is ",
        "{n + 1}",
    ]


def test_two_stars_over_lines() -> None:
    text = "if **a\n  b\n**:\n  throw\n"
    assert found(text) == [("W027", "**")]
    assert question("**a\n  b\n**").plain == "a b"
    assert fixed(text) == "if ***a\n  b\n***:\n  throw\n"
    clean(fixed(text))


@pytest.mark.parametrize("written", ["****", "** **", "***   ***", "******"])
def test_empty_discretion(written: str) -> None:
    assert found(f"if {written}:\n  throw\n") == [("E039", written)]


@pytest.mark.parametrize("text", ["if **a:\n  throw\n", "if **a\n  b**:\n  throw\n", "loop until **a\n  throw\n"])
def test_unterminated_discretion(text: str) -> None:
    assert found(text + "let x = 1\n") == [("E049", "**")]


def test_unterminated_long_discretion() -> None:
    assert found("if ***a\n b\n:\n  throw\n") == [("E049", "***")]
    assert found("if ***a**:\n  throw\n") == [("E049", "***")]


def test_discretion_as_a_value() -> None:
    assert found("let x = **what now**") == [("W027", "**what now**")]
    assert value("a | filter: **is good**") == ("Pipeline", "$a", [("Stage", "filter", [], ("**", "is good"))])


# --- mistakes --------------------------------------------------------------------------------------------------------


def test_unknown_escapes() -> None:
    assert found(r'session "\q and \d"') == [("E002", r"\q"), ("E002", r"\d")]
    assert fixed(r'session "\q and \d"') == r'session "\\q and \\d"'


def test_unknown_escapes_in_triple_quotes_are_kept() -> None:
    text = 'session """curl \\\n  -x \\d \\n"""\n'
    assert found(text) == [("W027", "\\\n")]
    statement = parsed(text).program.statements[0]
    assert isinstance(statement, nodes.Session) and statement.text
    assert statement.text.plain == "curl \\\n  -x \\d \n"
    again = clean(fixed(text)).program.statements[0]
    assert isinstance(again, nodes.Session) and again.text and again.text.plain == statement.text.plain


def test_unterminated_string_ends_at_the_line_end() -> None:
    assert found('session "a\nsession "b"\n') == [("E001", '"a')]
    assert found('session "a\\') == [("E001", '"a\\')]
    assert found('session "a\r\nthrow\r\n') == [("E001", '"a')]
    assert found('if x == "a:\n  throw\n') == [("E001", '"a:')]
    assert found('let x = ["a, 2]\nlet y = 1\n') == [("E001", '"a, 2]')]


def test_unterminated_triple_string_is_shown_where_it_opens() -> None:
    assert found('session """\nlet x = 1\nif y\n') == [("E001", '"""')]
    assert found('let x = ["""\nlet x = 1\n') == [("E001", '"""')]
    assert found('if """:\n  throw\n') == [("E001", '"""')]


@pytest.mark.parametrize(
    "text",
    [
        'session """say """hello""" there"""\nthrow\n',
        'session """\nUse:\n"""\ncode here\n"""\n"""\nthrow\n',
        'session: a\n  prompt: """\n  Use:\n  """\n  code here\n  """\n  """\nthrow\n',
        'let x = """a """b""" + c"""\nthrow\n',
    ],
)
def test_three_quotes_inside_three_quotes(text: str) -> None:
    result = parsed(text)
    assert [d.code for d in result.diagnostics] == ["E005"]
    assert result.diagnostics[0].span.start == text.index('"""')
    assert result.diagnostics[0].related
    assert isinstance(result.program.statements[-1], nodes.Throw)


def test_single_quotes() -> None:
    assert found("session 'a'\n  context: x\n") == [("E005", "'a'")]
    assert fixed("let x = ['a', 'b']") == 'let x = ["a", "b"]'
