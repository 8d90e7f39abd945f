"""Whatever the text: parsing returns, spans lie inside the text and inside each other, nothing is lost silently."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from syntax_outline import outline, statements

from prosec.diagnostics import CODES, Severity
from prosec.source import Source
from prosec.syntax import nodes, parse
from prosec.syntax import tokens as t
from prosec.syntax.lexer import lex

_WORDS = [
    *sorted(t.STATEMENT_WORDS | t.RESERVED),
    *("x", "y", "review-plan", "as", "in", "until", "while", "max", "count", "on-fail", "map", "filter", "reduce"),
    *("and", "or", "not", "is", "prompt", "context", "skills", "permissions", "retry", "default", "from", "times"),
    *("gate", "sesion", "anon_1", "_branch_0", "1", "2.5", "3x", '"s"', '"{x} {n + 1} {{y}}"', '"""t"""', "**q**"),
    *("***a\n b***", "'q'", "# c", '"', '"""', "**", "***", "\u00e9", "\u00a0", "\x00", "\\", "\ud800", "\t"),
    *("=", ":", ",", ".", "(", ")", "[", "]", "{", "}", "|", "->", "+", "-", "*", "/", "%", "<", ">", "==", "!="),
    *("&&", "!", "?", "..", "@", ";", "$", "`"),
]
_LINES = st.builds(
    lambda indent, words, end: " " * indent + " ".join(words) + end,
    st.integers(0, 8),
    st.lists(st.sampled_from(_WORDS), max_size=8),
    st.sampled_from(["", ":", " ", "\r"]),
)
_PROGRAMS = st.lists(_LINES, max_size=12).map("\n".join)
_TEXTS = st.one_of(_PROGRAMS, st.text(), st.text(alphabet="\n \t\"'*{}()[]|->=:#\\ab1.\r"))


@settings(max_examples=400, deadline=None)
@given(_TEXTS)
def test_any_text_parses(text: str) -> None:
    source = Source(text)
    result = parse(source)
    end = len(text)
    errors = 0
    for diagnostic in result.diagnostics:
        spans = [diagnostic.span, *(related.span for related in diagnostic.related)]
        spans += [edit.span for edit in (diagnostic.fix.edits if diagnostic.fix else ())]
        assert all(0 <= span.start <= span.end <= end for span in spans)
        assert diagnostic.code in CODES
        assert not diagnostic.message[0].isupper() and not diagnostic.message.endswith(".")
        errors += diagnostic.severity is Severity.ERROR
    assert list(result.diagnostics) == sorted(result.diagnostics, key=lambda d: d.span)
    stack: list[nodes.Node] = [result.program]
    while stack:
        node = stack.pop()
        assert 0 <= node.span.start <= node.span.end <= end
        if isinstance(node, nodes.Broken):
            assert errors
        if isinstance(node, nodes.Text | nodes.Discretion):
            pieces = [isinstance(part, str) for part in node.parts]
            assert "" not in node.parts and (True, True) not in pairwise(pieces)
        if isinstance(node, nodes.Ref):
            assert source.slice(node.span) == node.name
        for child in nodes.children(node):
            assert node.span.start <= child.span.start and child.span.end <= node.span.end, (node, child)
            stack.append(child)


@settings(max_examples=200, deadline=None)
@given(_TEXTS)
def test_tokens_cover_any_text(text: str) -> None:
    tokens = lex(Source(text))
    spans = [
        (tokens.starts[at], tokens.ends[at]) for at, kind in enumerate(tokens.kinds) if kind not in t.LINE_ENDS
    ] + [tuple(comment.span) for comment in tokens.comments]
    spans.sort()
    done = 0
    for start, end in spans:
        assert done <= start < end
        assert not text[done:start].strip(" \t\r\n\ufeff")
        done = end
    assert not text[done:].strip(" \t\r\n\ufeff")
    assert tokens.kinds[-3:] == [t.END] * 3


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_can_be_quoted(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\{").replace("}", "\\}")
    assert statements(f'let x = """\n{escaped}"""') == [("Let", "let", ["x"], False, text)]


@settings(max_examples=100, deadline=None)
@given(_PROGRAMS)
def test_a_mistake_never_hides_what_stands_before_it(text: str) -> None:
    before = 'let first = 1\nif first:\n  session "a"\n'
    found = parse(Source(before + text)).program.statements
    if not isinstance(found[1], nodes.If) or text.lstrip(" \t\r\n").startswith(("el", "#", "|", "-")):
        return
    assert outline(found[0]) == ("Let", "let", ["first"], False, 1)
