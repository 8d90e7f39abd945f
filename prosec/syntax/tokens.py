"""Tokens: the kinds, the parallel lists that hold them, and the words that the language knows.

A token is an index into four lists, because a program has a dozen tokens a line and an object for each would
cost more than parsing them. An operator's kind is its own text; every other kind is one of the constants here,
so kinds may be compared with `is` where a constant is meant and with `==` where an operator is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from prosec.diagnostics import Diagnostic
from prosec.source import Span
from prosec.syntax.nodes import Comment

NAME: Final = "name"
NUMBER: Final = "number"
STRING: Final = "string"
TRIPLE: Final = "triple string"
OPEN_STRING: Final = "unterminated string"
OPEN_TRIPLE: Final = "unterminated triple string"
QUOTED: Final = "single quotes"
DISCRETION: Final = "discretion"
OPEN_DISCRETION: Final = "unterminated discretion"
NEWLINE: Final = "newline"
"""The start of a logical line: its span is the indentation, so that end - start is the line's column."""
FOLD: Final = "fold"
"""As NEWLINE, before a line that starts with `|` or `->` and so continues the statement above."""
END: Final = "end"
ODD: Final = "odd character"
ODD_NAME: Final = "odd name"
ODD_NUMBER: Final = "odd number"

LINE_ENDS: Final = frozenset({NEWLINE, FOLD, END})

RESERVED: Final = frozenset(
    {
        *("session", "agent", "parallel", "repeat", "for", "loop", "try", "catch", "finally", "throw", "choice"),
        *("option", "if", "elif", "else", "do", "block", "let", "const", "use", "true", "false", "null"),
    }
)
"""Words that can't be a name."""

CLAUSE_WORDS: Final = frozenset({"elif", "else", "catch", "finally", "option"})
"""Words that only continue a statement."""

STATEMENT_WORDS: Final = frozenset(
    (RESERVED - {"true", "false", "null"})
    | {"import", "input", "output", "resume", "return", "break", "continue", "assert"}
)

_GENERATED = re.compile(r"(?:.*__|anon_|_branch_)[0-9]+\Z", re.DOTALL)


def is_generated_name(text: str) -> bool:
    """Whether a name has a shape that the compiler gives to the files of a run."""
    return text[-1:].isdigit() and _GENERATED.match(text) is not None


@dataclass(slots=True)
class Tokens:
    """A program's tokens, its comments, and what the lexer alone found wrong.

    The lists end with three END tokens, so that looking two tokens ahead needs no test.
    """

    kinds: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Of names, numbers and operators their text; of everything else nothing."""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    last_triple: int = -1
    """The offset of the last string in triple quotes."""
    tabbed: bool = False
    """Whether a tab was used in indentation, so that columns are only guesses."""

    def span(self, index: int) -> Span:
        return Span(self.starts[index], self.ends[index])
