"""Suites: indented bodies of statements, and what is kept of a statement that can't be parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from prosec.source import Span
from prosec.syntax import foreign
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.cursor import MAX_DEPTH, SUITE_DEPTH, Failure
from prosec.syntax.expressions import ExpressionParser

_DECLARING = frozenset(
    {"let", "const", "agent", "block", "input", "output", "as", "for", "use", "session"}
    | {"ask", "gate", "approve", "var", "set", "foreach", "requires", "ensures", "each"}
    | foreign.FUNCTIONS
)
_DECLARING_SEVERAL = frozenset({"let", "const", "for", "block", "foreach"}) | foreign.FUNCTIONS


class SuiteParser(ExpressionParser):
    """Parses statements by their first word, and bodies of them."""

    STATEMENTS: ClassVar[Mapping[str, Callable[..., n.Statement]]] = {}
    """Of the words that begin a statement, the methods that parse it."""

    def statement(self) -> n.Statement:
        """The statement whose first token is at hand."""
        at = self.at
        if self.kinds[at] is t.NAME:
            following = self.kinds[at + 1]
            if following == "=":
                return self.assignment()
            text = self.texts[at]
            handler = self.STATEMENTS.get(text)
            if handler is not None and (text in t.RESERVED or following not in (".", "|")):
                return handler(self)
        return self.other_statement()

    def assignment(self) -> n.Statement:
        raise NotImplementedError

    def other_statement(self) -> n.Statement:
        """A statement that begins with no word of the language."""
        raise NotImplementedError

    def suite(self, header: int) -> n.Suite:
        """The body after the colon just read; `header` is the index of the token that began its header."""
        at = self.at
        kind = self.kinds[at]
        if kind is t.NEWLINE and self.column_at(at) > self.column:
            self.no_brackets(at)
            start = self.ends[at]
            self.go_into_body(at)
            statements = self.lines(self.column_at(at), self.statement, self.lost_statement)
            self.depth -= SUITE_DEPTH
            return n.Suite(self.span_from(start), tuple(statements))
        if kind in t.LINE_ENDS:
            end = self.ends[at - 1]
            if kind is t.END and self.open:
                raise self.unexpected("a body")
            self.empty_body(header)
            return n.Suite(Span(end, end), ())
        self.no_brackets(at)
        self.report(
            "E005",
            "a body stands on lines of its own",
            self.here(),
            "put it on the next line, indented further than the line with the colon",
        )
        self.go_into_body(at)
        statement = self.statement()
        self.depth -= SUITE_DEPTH
        return n.Suite(statement.span, (statement,))

    def go_into_body(self, at: int) -> None:
        """Count a body's depth, from the token at its beginning; the caller comes up again by itself."""
        self.depth += SUITE_DEPTH
        if self.depth > MAX_DEPTH:
            raise self.too_deep(
                Span(self.ends[at], self.ends[at + 1]),
                "move the inner part into a `block name:` and run it by `do name`",
            )

    def no_brackets(self, at: int) -> None:
        if self.open:
            if self.kinds[at] in t.LINE_ENDS:
                raise self.unexpected("a value")
            raise self.fail(
                "E005",
                "an indented body can't stand inside brackets",
                self.tokens.span(at - 1),
                "give the value a name with `let` before, and use the name in the brackets",
            )

    def empty_body(self, header: int) -> None:
        self.report(
            "W018",
            "empty body",
            Span(self.starts[header], self.ends[self.at - 1]),
            "write at least one statement below, indented, or remove this one",
        )

    # --- recovery ------------------------------------------------------------------------------------------------

    def lost_statement(self, start: int, failure: Failure) -> n.Statement | None:
        """Skip a statement that could not be parsed, and keep the names that it would have declared.

        The statements in its body are still parsed for their own mistakes; `elif`, `catch` and the like that
        follow it belong to it.
        """
        kinds = self.kinds
        outer, self.kept = self.kept, []
        if failure.deep:
            self.skip_deeper()
        elif failure.garbled:
            self.skip_garbled()
        else:
            self.skip_line()
            self.lost_body(start)
        while (
            kinds[self.at] is t.NEWLINE
            and self.column_at(self.at) == self.column
            and self.texts[self.at + 1] in t.CLAUSE_WORDS
            and not failure.garbled
        ):
            header = self.at + 1
            self.skip_line_after(header)
            self.lost_body(header)
        body, self.kept = tuple(self.kept), outer
        return n.Broken(self.span_from(self.starts[start]), self.names_declared(start, self.at), body)

    def skip_line_after(self, index: int) -> None:
        self.at = index
        self.skip_line()

    def skip_garbled(self) -> None:
        """Go past the last part of a string that ended early: the next string in triple quotes."""
        kinds = self.kinds
        at = self.at
        while kinds[at] is not t.TRIPLE and kinds[at] is not t.OPEN_TRIPLE and kinds[at] is not t.END:
            at += 1
        self.at = at
        self.skip_deeper()

    def lost_body(self, header: int) -> None:
        """Parse the body below a line that could not be parsed, only to find the mistakes in it."""
        at = self.at
        if self.kinds[at] is not t.NEWLINE or self.column_at(at) <= self.column:
            return
        parse = self.body_of_lost(header, at + 1)
        if parse is None:
            self.skip_deeper()
            return
        parse(self.column_at(at))

    def body_of_lost(self, header: int, first: int) -> Callable[[int], object] | None:
        """How to parse the body of a line that could not be parsed; None when it holds no statements."""
        word, following = self.texts[first], self.kinds[first + 1]
        if self.kinds[first] is not t.NAME:
            return None
        if following != "=" and (
            word not in self.STATEMENTS or (following == ":" and word not in t.RESERVED and word != "resume")
        ):
            return None
        return self.lost_suite

    def lost_suite(self, column: int) -> None:
        self.depth += SUITE_DEPTH
        if self.depth > MAX_DEPTH:
            self.skip_deeper()
        else:
            self.kept.extend(self.lines(column, self.statement, self.lost_statement))
        self.depth -= SUITE_DEPTH

    def names_declared(self, first: int, stop: int) -> tuple[str, ...]:
        """The names that the tokens of a range would declare, as far as that can be guessed."""
        kinds, texts = self.kinds, self.texts
        names: dict[str, None] = {}
        several = False
        before = ""
        for at in range(first, stop):
            text = texts[at]
            if kinds[at] is t.NAME:
                if text in _DECLARING_SEVERAL:
                    several = True
                elif text == "in":
                    several = False
                elif text not in t.RESERVED and (several or before in _DECLARING or kinds[at + 1] == "="):
                    names[text] = None
            elif text == "=" or text == ":" or kinds[at] is t.NEWLINE:
                several = False
            before = text
        return tuple(names)

    def unknown_statement(self, at: int) -> Failure:
        """The failure that a line begins with a word which begins no statement."""
        span = self.tokens.span(at)
        word = self.texts[at]
        hint = foreign.STATEMENTS.get(word)
        if hint is not None:
            return self.refused(hint, span)
        if (found := foreign.near(word, t.STATEMENT_WORDS)) is not None:
            return self.misspelt(found, span)
        if self.garbled(at - 1):
            return self.quotes_inside_quotes(at - 2)
        return self.fail(
            "E004",
            f"unexpected {foreign.shown(t.NAME, word)} at the beginning of a statement",
            span,
            'text for the model stands in `session "..."`; values are named with `let`',
        )
