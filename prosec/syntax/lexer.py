"""The lexer: text to tokens and comments, in one pass of one regular expression.

Every alternative of the expression is possessive or bounded by what it may not contain, so lexing is linear
whatever the text holds. Nothing is refused here: what makes no sense becomes a token of its own kind, and the
parser, which knows what was being written, says what is wrong. The one exception is tabs in indentation.

Layout is part of a token: NEWLINE carries the column of the line it begins (see tokens). Inside brackets there
is no line structure, but a bracket may never be closed; so line starts inside brackets are held back until the
bracket closes, and become real if it doesn't.
"""

from __future__ import annotations

import re

from prosec.diagnostics import Diagnostic, Edit, Fix
from prosec.source import Source, Span
from prosec.syntax import tokens as t
from prosec.syntax.nodes import Comment
from prosec.syntax.tokens import Tokens

_TAB_WIDTH = 4

_TOKEN = re.compile(
    r"""[ \t]*+(?:
      ([A-Za-z_][A-Za-z0-9_]*+(?:-[A-Za-z0-9][A-Za-z0-9_]*+)*+(?!\w))            # 1 name
    | (->|[=!<>]=|\.\.\.?|&&|\|\||=>|[+]=|[-]=|[+][+]|[:=,.+\-/%<>|?!@&;])          # 2 operator
    | (\r?\n[ \t]*+(?:\r?\n[ \t]*+)*+)                                          # 3 line end, blank lines, indentation
    | ("(?!"")[^"\\\n]*+(?:\\.[^"\\\n]*+)*+")                                   # 4 string
    | ([(\[{])                                                                  # 5 opening bracket
    | ([)\]}])                                                                  # 6 closing bracket
    | (\#[^\n]*+)                                                               # 7 comment
    | ([0-9]++(?:\.[0-9]++)?(?![A-Za-z_0-9]|[^\W_]))                            # 8 number
    | (\"{3}[^"\\]*+(?:(?:\\(?s:.)|"{1,2}(?!"))[^"\\]*+)*+\"{3,})               # 9 triple string
    | (\*{4,}+                                                                  # 10 discretion
      |\*{3}[^*]*+(?:\*{1,2}(?!\*)[^*]*+)*+\*{3,}
      |\*\*(?!\*)[^*\n]*+(?:\*(?!\*)[^*\n]*+)*+\*{2,}
      |\*\*(?!\*)[^*\n]*+(?:\*(?!\*)[^*\n]*+)*+
        (?:\n[ \t]*+(?!\*\*)[^*\n]*+(?:\*(?!\*)[^*\n]*+)*+)*+\n[ \t]*+\*\*)
    | (\*\*\*(?![^\n]*\*\*)(?s:.*)|\*\*[^\n]*+)                                 # 11 unterminated discretion
    | (\"{3}(?s:.*))                                                            # 12 unterminated triple string
    | ("[^"\\\n]*+(?:\\.[^"\\\n]*+)*+\\?)                                       # 13 unterminated string
    | ('[^'\n]*+'?)                                                             # 14 single quotes
    | ([^\W\d]\w*+(?:-\w++)*+)                                                  # 15 name with other letters
    | ([0-9]\w*+)                                                               # 16 number running into letters
    | (\*)                                                                      # 17 times
    | (\Z)                                                                      # 18 the end
    | ([^ \t])                                                                  # 19 anything else
    )""",
    re.VERBOSE,
)
_KINDS = [
    "", t.NAME, "", t.NEWLINE, t.STRING, "", "", "", t.NUMBER, t.TRIPLE, t.DISCRETION, t.OPEN_DISCRETION,
    t.OPEN_TRIPLE, t.OPEN_STRING, t.QUOTED, t.ODD_NAME, t.ODD_NUMBER, "*", t.END, t.ODD,
]  # fmt: skip
_NAME, _OPERATOR, _LINE, _STRING, _OPENING, _CLOSING, _COMMENT, _NUMBER, _TRIPLE = range(1, 10)
_OPEN_TRIPLE, _OPEN_STRING, _TIMES, _END = 12, 13, 17, 18

_CLOSES = {")": "(", "]": "[", "}": "{"}

_ONLY_A_STATEMENT = re.compile(r"(?:let|const|agent|block|loop|repeat|for|use|throw|choice|if)\b(?![-=]|\s*[:,)\]}])")
_ANY_STATEMENT = re.compile(
    r"(?:let|const|agent|block|loop|repeat|for|use|throw|choice|if|elif|else|session|resume|do|parallel|try|catch|"
    r"finally|option|input|output|return|import)\b(?![-=])|[A-Za-z_][\w-]*[ \t]*=(?!=)"
)
_NO_TEXT = rf"{_ANY_STATEMENT.pattern}|[\w-]+[ \t]*:|[#|]|->"
_REST_OF_TEXT = re.compile(
    rf"""
    (?:\r?\n [ \t]*+ (?!{_NO_TEXT}) [^"\n]*+){{0,20}}?                    # lines that are all of it
    \r?\n [ \t]*+ (?!{_NO_TEXT}|"[ \t]*+[^ \t\r\n,)\]}}:]) [^"\n]*+ "     # and its last, with an odd quote
    (?=[^"\n]*+ (?:"[^"\n]*+"[^"\n]*+)*+ (?:\n|\Z))
    """,
    re.VERBOSE,
)
"""The rest of a string that its own line does not close, when lines follow that can only belong to it."""
_ENDS_A_VALUE = frozenset({t.NAME, t.NUMBER, t.STRING, t.TRIPLE, t.OPEN_STRING, t.QUOTED, t.DISCRETION, ")", "]", "}"})


def lex(source: Source) -> Tokens:
    """All tokens of a program; the first is the NEWLINE that begins its first logical line."""
    text = source.text
    start = 1 if text.startswith("\ufeff") else 0
    lexer = _Lexer(text)
    lexer.begin(start)
    lexer.run(start, len(text))
    return lexer.tokens


def lex_expression(text: str, start: int, end: int) -> Tokens:
    """The tokens of one line between two offsets, without the layout of a program."""
    lexer = _Lexer(text)
    lexer.run(start, end)
    return lexer.tokens


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = Tokens()
        self.tabs: list[Edit] = []
        # Of every open bracket: itself, and how many line starts were held when it opened.
        self.brackets: list[tuple[str, int]] = []
        self.open_of_kind = {"(": 0, "[": 0, "{": 0}
        # Line starts inside brackets: the index they would have, kind, start, end.
        self.held: list[tuple[int, str, int, int]] = []

    def begin(self, start: int) -> None:
        """Begin the first line, unless a line end or a comment comes first and will do so."""
        end = start
        while self.text[end : end + 1] in (" ", "\t"):
            end += 1
        if self.text[end : end + 1] not in ("", "\n", "#") and not self.text.startswith("\r\n", end):
            self.line(start, end)

    def run(self, start: int, stop: int) -> None:
        while start >= 0:
            start = self.scan(start, stop)
        if self.held:
            self.release()
        tokens = self.tokens
        for _ in range(3):
            tokens.kinds.append(t.END)
            tokens.texts.append("")
            tokens.starts.append(stop)
            tokens.ends.append(stop)
        if self.tabs:
            self.report_tabs()

    def scan(self, start: int, stop: int) -> int:
        """Add the tokens between two offsets; returns where to go on, or -1 at the end."""
        text = self.text
        tokens = self.tokens
        kinds, texts, starts, ends = tokens.kinds, tokens.texts, tokens.starts, tokens.ends
        add_kind, add_text, add_start, add_end = kinds.append, texts.append, starts.append, ends.append
        for match in _TOKEN.finditer(text, start, stop):
            group = match.lastindex
            assert group is not None
            at, end = match.span(group)
            if group == _NAME:
                add_kind(t.NAME)
                add_text(match[1])
            elif group == _OPERATOR:
                operator = match[2]
                add_kind(operator)
                add_text(operator)
            elif group == _LINE:
                self.line(at, end)
                continue
            elif group == _OPENING:
                bracket = text[at]
                self.brackets.append((bracket, len(self.held)))
                self.open_of_kind[bracket] += 1
                add_kind(bracket)
                add_text(bracket)
            elif group == _CLOSING:
                bracket = text[at]
                self.close(_CLOSES[bracket])
                add_kind(bracket)
                add_text(bracket)
            elif group == _COMMENT:
                self.comment(at, end)
                continue
            elif group in (_NUMBER, _TIMES):
                add_kind(_KINDS[group])
                add_text(match[group])
            elif group == _END:
                break
            elif group == _OPEN_STRING and (rest := _REST_OF_TEXT.match(text, end, stop)) is not None:
                # One mistake, however many lines the text has.
                add_kind(t.OPEN_STRING)
                add_text("")
                add_start(at)
                add_end(rest.end())
                return rest.end()
            else:
                if group in (_TRIPLE, _OPEN_TRIPLE):
                    tokens.last_triple = at
                add_kind(_KINDS[group])
                add_text("")
            add_start(at)
            add_end(end)
        return -1

    def line(self, start: int, end: int) -> None:
        """The start of a line, after all blank ones: `start` is the line end before them."""
        text = self.text
        after = text[end : end + 1]
        if after == "#" or not after:
            return
        start = text.rfind("\n", start, end) + 1 or start
        if "\t" in text[start:end]:
            width = len(text[start:end].expandtabs(_TAB_WIDTH))
            if not self.brackets:
                self.tabs.append(Edit(Span(start, end), " " * width))
                # The column is end - start everywhere, so the start gives way.
                start = end - width
        kind = t.FOLD if after == "|" or (after == "-" and text.startswith("->", end)) else t.NEWLINE
        tokens = self.tokens
        if self.brackets:
            if not self.breaks_out(end):
                self.held.append((len(tokens.kinds), kind, start, end))
                return
            self.release()
        tokens.kinds.append(kind)
        tokens.texts.append("")
        tokens.starts.append(start)
        tokens.ends.append(end)

    def comment(self, start: int, end: int) -> None:
        text = self.text
        before = text[text.rfind("\n", 0, start) + 1 : start]
        if text[end - 1] == "\r":
            end -= 1
        own_line = not before.strip(" \t\ufeff")
        self.tokens.comments.append(Comment(Span(start, end), text[start:end], own_line))

    def close(self, opening: str) -> None:
        """Close the nearest bracket of this kind; those opened inside it are not closed."""
        if not self.open_of_kind[opening]:
            return
        while True:
            bracket, held = self.brackets.pop()
            self.open_of_kind[bracket] -= 1
            if bracket == opening:
                del self.held[held:]
                return

    def breaks_out(self, at: int) -> bool:
        """Whether the line that starts here can't be inside the open brackets, because it is a statement."""
        before = self.tokens.kinds[-1]
        if before in _ENDS_A_VALUE:
            return _ANY_STATEMENT.match(self.text, at) is not None
        return _ONLY_A_STATEMENT.match(self.text, at) is not None

    def release(self) -> None:
        """Give up the open brackets: the line starts held back in them are real."""
        self.brackets.clear()
        self.open_of_kind = dict.fromkeys(self.open_of_kind, 0)
        if not self.held:
            return
        tokens = self.tokens
        first = self.held[0][0]
        tail = list(
            zip(tokens.kinds[first:], tokens.texts[first:], tokens.starts[first:], tokens.ends[first:], strict=True)
        )
        del tokens.kinds[first:], tokens.texts[first:], tokens.starts[first:], tokens.ends[first:]
        done = 0
        for index, kind, start, end in [*self.held, (first + len(tail), "", 0, 0)]:
            for token in tail[done : index - first]:
                tokens.kinds.append(token[0])
                tokens.texts.append(token[1])
                tokens.starts.append(token[2])
                tokens.ends.append(token[3])
            done = index - first
            if kind:
                tokens.kinds.append(kind)
                tokens.texts.append("")
                tokens.starts.append(start)
                tokens.ends.append(end)
        self.held.clear()

    def report_tabs(self) -> None:
        self.tokens.tabbed = True
        first = self.tabs[0].span
        tab = self.text.index("\t", first.start)
        lines = len(self.tabs)
        self.tokens.diagnostics.append(
            Diagnostic(
                "E048",
                "a tab in indentation" + (f", here and on {lines - 1} more lines" if lines > 1 else ""),
                Span(tab, tab + 1),
                help="indent with spaces only",
                fix=Fix(f"replace every tab in indentation by {_TAB_WIDTH} spaces", tuple(self.tabs), safe=True),
            )
        )
