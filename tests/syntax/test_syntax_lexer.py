"""Tokens, comments, names and layout."""

from __future__ import annotations

import pytest
from syntax_outline import clean, fixed, found, outline, parsed, statements, value

from prosec.source import Source
from prosec.syntax import tokens as t
from prosec.syntax.lexer import lex


def words(text: str) -> list[str]:
    tokens = lex(Source(text))
    return [tokens.texts[at] or kind for at, kind in enumerate(tokens.kinds) if kind not in t.LINE_ENDS]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("review-plan", ["review-plan"]),
        ("depth - 1", ["depth", "-", "1"]),
        ("depth-1", ["depth-1"]),
        ("a-_b", ["a", "-", "_b"]),
        ("a->b", ["a", "->", "b"]),
        ("a- b", ["a", "-", "b"]),
        ("on-fail", ["on-fail"]),
        ("_x1", ["_x1"]),
        ("1.5 2", ["1.5", "2"]),
        ("1..5", ["1", "..", "5"]),
        ("3x", [t.ODD_NUMBER]),
        ("naïve", [t.ODD_NAME]),
        ("a<=b!=c", ["a", "<=", "b", "!=", "c"]),
        ('""', [t.STRING]),
        ('""""""', [t.TRIPLE]),
        ('"a # b"', [t.STRING]),
        ("**a # b**", [t.DISCRETION]),
        ("**a * b**", [t.DISCRETION]),
        ("a * b", ["a", "*", "b"]),
        ("***a\nb***", [t.DISCRETION]),
        ("**a\n  b\n  **", [t.DISCRETION]),
        ("****", [t.DISCRETION]),
        ("**a", [t.OPEN_DISCRETION]),
        ('"a', [t.OPEN_STRING]),
        ('"""a', [t.OPEN_TRIPLE]),
        ("'a'", [t.QUOTED]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_tokens_cover_everything_but_space_and_comments() -> None:
    text = 'let x = [1,\n "a"] # c\nif **b**:\n\tsession """d"""\n'
    tokens = lex(Source(text))
    covered = set()
    for at, kind in enumerate(tokens.kinds):
        if kind not in t.LINE_ENDS:
            covered.update(range(tokens.starts[at], tokens.ends[at]))
    for comment in tokens.comments:
        covered.update(range(*comment.span))
    assert {text[at] for at in range(len(text)) if at not in covered} <= {" ", "\n", "\t"}


def test_comments_are_kept_in_order() -> None:
    text = '# one\r\nlet x = 1 # two\n\n   # three\nlet y = "# no" + "**"\nif **# no**: # four\n  # five\n  throw\n#six'
    comments = clean(text).program.comments
    assert [c.text for c in comments] == ["# one", "# two", "# three", "# four", "# five", "#six"]
    assert [c.own_line for c in comments] == [True, False, True, False, True, True]
    assert [text[c.span.start : c.span.end] for c in comments] == [c.text for c in comments]


def test_comments_in_brackets_are_kept() -> None:
    program = clean("let x = [ # a\n  1, # b\n  # c\n  2\n]\n").program
    assert [c.text for c in program.comments] == ["# a", "# b", "# c"]
    assert [c.own_line for c in program.comments] == [False, False, True]


@pytest.mark.parametrize("text", ["", "\n", "  ", "\ufeff", "# only", "\r\n\r\n", "\n\n  # c\n", "   \n\t\n"])
def test_empty_programs(text: str) -> None:
    assert statements(text) == []


def test_byte_order_mark_is_skipped() -> None:
    assert statements("\ufefflet x = 1") == statements("let x = 1")
    assert clean("\ufeff# c\n").program.comments[0].own_line


def test_line_ends_may_be_crlf() -> None:
    text = 'if x:\n  session "a"\n    context: y\n\nelse:\n  throw "b"\n'
    assert statements(text.replace("\n", "\r\n")) == statements(text)


def test_blank_and_comment_lines_never_affect_indentation() -> None:
    text = 'if x:\n        # far\n  session "a"\n# near\n\n   \n  session "b"\n'
    assert statements(text) == statements('if x:\n  session "a"\n  session "b"\n')


def test_no_line_structure_in_brackets_and_strings() -> None:
    text = 'let x = [\n1,\n      "a",\n{ b:\n2 }\n  ,\n]\nlet y = """\nif x:\n     a"""\n'
    assert statements(text) == statements('let x = [1, "a", {b: 2}]\nlet y = "if x:\\n     a"\n'.replace("\\n", "\\n"))


def test_statements_in_brackets_may_stand_at_any_column() -> None:
    assert value('[\nsession "a",\ndo b\n]') == value('[session "a", do b]')


def test_a_uniformly_indented_program_is_fine() -> None:
    assert statements("  let x = 1\n  if x:\n    throw\n") == statements("let x = 1\nif x:\n  throw\n")


def test_keywords_are_contextual() -> None:
    text = (
        "context = 1\noutput = 2\ninput = 3\nfilter = 4\nlist = 5\nprompt = 6\nmodel = 7\nmap = 8\nuntil = 9\n"
        "let y = [context, output, input, filter, list, prompt, model, map, retry, resume, return]\n"
        "do b(context: context, input)\nprogram(input: output)\nlet z = { context, output: input }\n"
    )
    clean(text)


@pytest.mark.parametrize("word", sorted(t.RESERVED))
def test_reserved_words_are_no_names(word: str) -> None:
    assert found(f"let {word} = 1") == [("E031", word)]
    assert ("E031", word) in found(f"for {word} in xs:\n  throw")
    if word not in ("true", "false", "null"):
        assert found(f"{word} = 1") == [("E031", word)]


@pytest.mark.parametrize("name", ["x__1", "anon_1", "anon_12", "_branch_2", "a__b__33"])
def test_names_of_generated_files_are_reserved(name: str) -> None:
    for text in (
        f"let {name} = 1",
        f"const {name} = 1",
        f"let {{ {name} }} = x",
        f"agent {name}:\n  model: opus",
        f"block {name}:\n  throw",
        f"block b({name}):\n  throw",
        f'input {name}: "x"',
        f"output {name} = 1",
        f'use "a/b" as {name}',
        f"repeat 3 as {name}:\n  throw",
        f"for x, {name} in xs:\n  throw",
        f"loop as {name}:\n  throw",
        f"try:\n  throw\ncatch as {name}:\n  throw",
        f"parallel:\n  {name} = 1",
        f"session {name}: writer",
    ):
        assert found(text) == [("E031", name)], text


@pytest.mark.parametrize("name", ["x_1", "anon_", "anon_x", "anon1", "_branch_", "x__", "branch_1", "my_anon_1"])
def test_names_that_only_look_generated(name: str) -> None:
    clean(f"let {name} = 1")


def test_the_branch_named_by_its_own_place_is_unnamed() -> None:
    text = 'parallel:\n  _branch_0 = session "a"\n  x = session "b"\n  _branch_2 = session "c"\n'
    assert statements(text) == statements('parallel:\n  session "a"\n  x = session "b"\n  session "c"\n')
    assert found('parallel:\n  session "a"\n  _branch_0 = session "b"\n') == [("E031", "_branch_0")]


# --- indentation -----------------------------------------------------------------------------------------------------


def test_tabs_in_indentation_are_one_error_with_a_fix() -> None:
    text = 'if x:\n\tsession "a"\n\tif y:\n\t\tsession "b"\n'
    assert found(text) == [("E048", "\t")]
    assert fixed(text) == text.replace("\t", "    ")
    assert [outline(s) for s in parsed(text).program.statements] == statements(fixed(text))


def test_tabs_elsewhere_are_space() -> None:
    clean('let\tx\t=\t[\n\t1]\t# c\n\t\nlet y = """\n\ta"""\n\t# c\n')


def test_unexpected_indentation() -> None:
    text = "let x = 1\n    let y = 2\n    let z = 3\nlet w = 4\n"
    assert found(text) == [("E048", "    ")]
    assert len(parsed(text).program.statements) == 4


def test_statements_indented_below_a_session_are_one_error() -> None:
    assert found('session "a"\n  session "b"\n  let x = 1\nthrow\n') == [("E048", "  ")]


def test_dedent_to_no_enclosing_column() -> None:
    text = 'if x:\n    throw "a"\n  throw "b"\n  throw "c"\nthrow "d"\n'
    assert found(text) == [("E048", "  ")]
    assert len(parsed(text).program.statements) == 2


def test_first_line_indented_further_than_others() -> None:
    assert found("  let x = 1\nlet y = 2\n") == [("E048", "  ")]


# --- what means nothing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "marked", "after_fix"),
    [
        ("let x = \u00a01", "E004", "\u00a0", "let x =  1"),
        ("let x = 1\u200b", "E004", "\u200b", "let x = 1"),
        ("let x = \x001", "E004", "\x00", "let x = 1"),
        ("let x = 1\rlet y = 2", "E004", "\r", "let x = 1\nlet y = 2"),
        ("let x = \ud800", "E004", "\ud800", "let x = "),
        ("let x = \u201ca\u201d", "E004", "\u201c", None),
        ("let \u00e9t\u00e9 = 1", "E004", "\u00e9t\u00e9", None),
        ("let x = 2nd", "E004", "2nd", None),
        ("let x = $y", "E004", "$", None),
        ("let x = `y`", "E004", "`", None),
        ("\r", "E004", "\r", "\n"),
    ],
)
def test_odd_characters(text: str, code: str, marked: str, after_fix: str | None) -> None:
    assert found(text) == [(code, marked)]
    if after_fix is not None:
        assert fixed(text) == after_fix


def test_odd_characters_are_fine_in_texts_and_comments() -> None:
    clean(
        'session "\u00e9\u00a0\u200b\x00\u201c \ud800 \u65e5\u672c"  # \u00e9\u200b\nif **\u00e9t\u00e9 \u2014 yes**:\n  throw\n'
    )


def test_absurd_numbers() -> None:
    assert [code for code, _ in found(f"let x = {'1' * 5000}")] == ["E005"]


# --- brackets that never close ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["(", "[", "{", "f(", "[1, (2", "[1, {a: [2"])
@pytest.mark.parametrize(
    "following", ["let y = 3", 'session "a"', "y = 3", 'if x:\n  throw "a"', "agent a:\n  model: opus"]
)
def test_an_unclosed_bracket_costs_one_statement(opening: str, following: str) -> None:
    text = f"let x = {opening}\n{following}\n" if opening[-1] in "([{" else f"let x = {opening}, 4\n{following}\n"
    result = parsed(text)
    assert len(result.diagnostics) == 1, result.diagnostics
    assert len(result.program.statements) == 2


def test_an_unclosed_bracket_is_shown_where_it_opens() -> None:
    assert found("let x = [1, 2\nlet y = 3\n") == [("E005", "[")]
    assert found("let x = {\n  a: 1,\n  b: 2\nlet y = 3\n") == [("E005", "{")]
    assert found("let x = (1") == [("E005", "(")]


@pytest.mark.parametrize("text", ["let x = 1)", "let x = ]", ")", "let x = (1]", "let x = [1)", "let x = {a: 1]"])
def test_stray_closing_brackets_are_one_error(text: str) -> None:
    assert len(found(text + "\nlet y = 2\n")) == 1
