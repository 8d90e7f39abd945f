"""Diagnostics as text: what people see on a terminal, to the column."""

from __future__ import annotations

from textwrap import dedent

import pytest

from prosec.diagnostics import Diagnostic, Edit, Fix, Related
from prosec.report.text import WIDEST, neutralise, render
from prosec.source import Source, Span


def excerpt(text: str, needle: str, label: str = "") -> list[str]:
    """The two lines that show `needle` underlined, without their gutter."""
    at = text.index(needle)
    shown = render(
        Source(text, "a.prose"), [Diagnostic("E004", "m", Span(at, at + len(needle)), label)]
    )
    return [line[4:] for line in shown.splitlines()[2:]]


def test_the_example_of_the_language_page() -> None:
    text = 'input a: "A"\n\n\n\nsession "Hello\n'
    at = text.index('"Hello')
    found = Diagnostic(
        "E001",
        "unterminated string",
        Span(at, at + 6),
        "the string starts here",
        'close it with a double quote on this line, or use """ for text over several lines',
    )
    assert render(Source(text, "brief.prose"), [found]) == dedent(
        '''\
        brief.prose:5:9: error E001: unterminated string
          |
        5 | session "Hello
          |         ^^^^^^ the string starts here
          = help: close it with a double quote on this line, or use """ for text over several lines
        '''
    )


def test_second_spans_and_fixes_share_one_gutter() -> None:
    text = "agent a:\n" + "\n" * 8 + "agent a:\n"
    at = text.rindex("a:")
    found = Diagnostic(
        "E006",
        "agent 'a' is defined twice",
        Span(at, at + 1),
        related=(Related("first defined here", Span(6, 7)),),
        fix=Fix("rename it", (Edit(Span(6, 7), "b"),)),
    )
    assert render(Source(text, "a.prose"), [found]) == dedent(
        """\
        a.prose:10:7: error E006: agent 'a' is defined twice
           |
        10 | agent a:
           |       ^
           |
         1 | agent a:
           |       - first defined here
           = fix: rename it
        """
    )


def test_a_raised_warning_says_why_it_is_an_error() -> None:
    found = Diagnostic("W027", "older form", Span(0, 1), raised=True)
    shown = render(Source("x", "a.prose"), [found])
    assert shown.startswith("a.prose:1:1: error W027: older form\n")
    assert "note: a warning, which --strict turns into an error" in shown


@pytest.mark.parametrize(
    ("text", "needle", "shown", "underline"),
    [
        ("\tx = y", "y", "    x = y", "        ^"),
        ("a\tb", "b", "a   b", "    ^"),
        ('"日本" x', "x", '"日本" x', "       ^"),
        ("日本", "本", "日本", "  ^^"),
        ("e\u0301e\u0301 x", "x", "e\u0301e\u0301 x", "   ^"),
        ("a \x1b[31m x", "x", "a ␛[31m x", "        ^"),
        ("a \u202e x", "x", "a <U+202E> x", "           ^"),
        ("a\rb x", "x", "a␍b x", "    ^"),
        ("a \x9b x", "x", "a <9B> x", "       ^"),
    ],
)
def test_columns_are_those_of_the_terminal(
    text: str, needle: str, shown: str, underline: str
) -> None:
    assert excerpt(text, needle) == [shown, underline]


def test_a_span_over_several_lines_shows_its_first_and_last() -> None:
    text = 'let x = """one\n  two\n  three\n  four"""\n'
    assert excerpt(text, text[8:-1], "never used") == [
        'let x = """one',
        "        ^^^^^^",
        "... (2 lines)",
        '  four"""',
        "  ^^^^^^^ never used",
    ]


def test_a_span_over_three_lines_shows_all_of_them() -> None:
    assert excerpt("ab\ncd\nef\n", "b\ncd\ne") == ["ab", " ^", "cd", "ef", "^"]


@pytest.mark.parametrize("needle", ["XX", "X" * 300])
@pytest.mark.parametrize("before", [0, 1, 20, 5_000])
@pytest.mark.parametrize("after", [0, 1, 5_000])
@pytest.mark.parametrize("filler", ["a", "日", "\t"])
def test_a_long_line_is_clipped_around_the_span(
    needle: str, before: int, after: int, filler: str
) -> None:
    shown, underline = excerpt(filler * before + needle + filler * after, needle)
    columns = sum(2 if char == "日" else 1 for char in shown)
    assert columns <= WIDEST
    assert "XX" in shown
    start = sum(2 if char == "日" else 1 for char in shown[: shown.index("X")])
    assert underline.index("^") == start
    assert underline.count("^") == shown.count("X")


def test_the_end_of_the_file_has_a_place() -> None:
    found = Diagnostic("E005", "unfinished", Span(2, 2), "here")
    assert render(Source("x\n", "a.prose"), [found]).splitlines()[1:] == [
        "  |",
        "2 |",
        "  | ^ here",
    ]
    found = Diagnostic("E005", "unfinished", Span(0, 0))
    assert render(Source("", "a.prose"), [found]).splitlines()[1:] == ["  |", "1 |", "  | ^"]


def test_colour_only_when_asked() -> None:
    found = [Diagnostic("E005", "m", Span(0, 1), "l", "h")]
    plain = render(Source("x", "a.prose"), found)
    painted = render(Source("x", "a.prose"), found, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31merror E005\x1b[0m" in painted


def test_what_comes_from_a_program_cannot_steer_the_terminal() -> None:
    hostile = "a\x1b]0;title\x07\u202eb\u2066\udcff\n"
    assert neutralise(hostile) == "a␛]0;title␇<U+202E>b<U+2066><U+DCFF>␊"
    found = Diagnostic("E029", hostile, Span(0, 3), hostile, hostile, fix=Fix(hostile, ()))
    shown = render(Source(hostile, hostile), [found])
    assert not any(char in shown for char in "\x1b\x07\u202e\u2066\udcff")


def test_a_line_of_a_megabyte_is_shown_at_once() -> None:
    text = "x" * 1_000_000 + " ? " + "y" * 1_000_000
    assert "?" in excerpt(text, "?")[0]
