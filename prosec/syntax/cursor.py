"""The cursor: where the parser stands in the tokens, how it fails, and how it goes on at the next line.

A construct that can't be parsed raises Failure. `lines` catches it, keeps the diagnostic, and goes on at the
next line of the same column, so that one mistake is one error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from prosec.diagnostics import Diagnostic, Edit, Fix, Related
from prosec.source import Source, Span
from prosec.syntax import foreign
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.tokens import Tokens

MAX_DEPTH = 150
"""How deep the tree may become, so that whoever walks it may take five frames for each level."""
MAX_HEIGHT = 100
"""How deep one operator expression may become, chains such as `a + b + c` included."""

SUITE_DEPTH = 3
"""What a suite counts, since If, Clause and Suite nest."""

T = TypeVar("T")


class Failure(Exception):
    """The construct at hand can't be parsed.

    `deep` when that is only because it is nested too deeply; `garbled` when it is most likely the inside of a
    string in triple quotes that ended early. A failure without a diagnostic has been reported already.
    """

    def __init__(self, diagnostic: Diagnostic | None, deep: bool = False, garbled: bool = False) -> None:
        super().__init__()
        self.diagnostic = diagnostic
        self.deep = deep
        self.garbled = garbled


class Cursor:
    """A position in the tokens, and what is true there."""

    def __init__(self, source: Source, tokens: Tokens) -> None:
        self.source = source
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.at = 0
        self.diagnostics: list[Diagnostic] = []
        # The column of the suite or list of lines that is being parsed.
        self.column = -1
        # A line that starts with `|` left of this column continues something further out.
        self.fold_floor = 0
        # The same for a line that starts with `->`, which is never a pipeline's.
        self.arrow_floor = 0
        # Whether the statement being parsed is a pipeline stage's body on the same line, which `|` ends.
        self.stage_body = False
        # Whether `**...**` is a question here rather than a value.
        self.asking = False
        # Whether the values of a `for` are being parsed, whose colon is the loop's.
        self.heading = False
        # The words which, before a colon, make a bracket after a value one of modifiers.
        self.modifier_words: frozenset[str] = frozenset()
        self.depth = 0
        # The statements in the bodies of the statement that is being skipped.
        self.kept: list[n.Statement] = []
        # The indices of the brackets that are open.
        self.open: list[int] = []
        # Whether a string that never ends took the rest of the program.
        self.swallowed = False

    # --- reading -------------------------------------------------------------------------------------------------

    def span_from(self, start: int) -> Span:
        """From an offset to the end of the last token read."""
        return Span(start, self.ends[self.at - 1])

    def here(self) -> Span:
        """The token at hand; before the end of a line, the place right after the last token."""
        at = self.at
        if self.kinds[at] in t.LINE_ENDS:
            end = self.ends[at - 1] if at else self.ends[at]
            return Span(end, end)
        return Span(self.starts[at], self.ends[at])

    def column_at(self, index: int) -> int:
        return self.ends[index] - self.starts[index]

    def word(self, text: str) -> bool:
        """Step over this word if it stands here."""
        if self.texts[self.at] == text and self.kinds[self.at] is t.NAME:
            self.at += 1
            return True
        return False

    def mark(self, operator: str) -> bool:
        """Step over this operator or bracket if it stands here."""
        if self.kinds[self.at] == operator:
            self.at += 1
            return True
        return False

    def expect(self, operator: str, purpose: str, help: str | None = None, fix: Fix | None = None) -> None:
        """Step over an operator that must stand here; `purpose` is said behind "expected `:`"."""
        if self.kinds[self.at] == operator:
            self.at += 1
            return
        if operator == ":" and self.kinds[self.at] is t.NEWLINE:
            fix = Fix("add the colon", (Edit(self.here(), ":"),), safe=True)
        raise self.unexpected(f"`{operator}` {purpose}", help, fix)

    def declared_name(self, what: str, help: str | None = None) -> n.Name:
        """A name that is declared here; a reserved one is reported and kept."""
        at = self.at
        kind = self.kinds[at]
        if kind is not t.NAME:
            if kind is t.STRING and help is None:
                text = self.source.text[self.starts[at] + 1 : self.ends[at] - 1]
                if text.isidentifier() and text.isascii():
                    fix = Fix("remove the quotes", (Edit(self.tokens.span(at), text),), safe=True)
                    raise self.fail(
                        "E005", f"{what} is a plain name, without quotes", self.here(), f"write `{text}`", fix
                    )
            raise self.unexpected(what, help)
        self.at = at + 1
        name = n.Name(Span(self.starts[at], self.ends[at]), self.texts[at])
        self.check_name(name)
        return name

    def check_name(self, name: n.Name) -> None:
        text = name.text
        if text in t.RESERVED:
            self.report(
                "E031",
                f"`{text}` is a reserved word and can't be a name",
                name.span,
                help=f"choose another name, such as `{foreign.RENAMED.get(text, 'the_' + text)}`",
            )
        elif t.is_generated_name(text):
            self.report(
                "E031",
                f"`{text}` can't be a name: the files of a run have names of this shape",
                name.span,
                help="choose a name that does not end in `__` and digits, nor is `anon_` or `_branch_` and digits",
            )

    def plain_name(self, what: str, help: str | None = None) -> n.Name:
        """The name of something that is declared elsewhere."""
        at = self.at
        if self.kinds[at] is not t.NAME:
            raise self.unexpected(what, help)
        self.at = at + 1
        return n.Name(Span(self.starts[at], self.ends[at]), self.texts[at])

    # --- failing -------------------------------------------------------------------------------------------------

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        help: str | None = None,
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
        label: str = "",
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, label, help, related, fix))

    def fail(
        self,
        code: str,
        message: str,
        span: Span,
        help: str | None = None,
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
        label: str = "",
    ) -> Failure:
        """A failure to raise."""
        return Failure(Diagnostic(code, message, span, label, help, related, fix))

    def too_deep(self, span: Span, help: str) -> Failure:
        return Failure(Diagnostic("E005", "nested too deeply", span, help=help), deep=True)

    def deeper(self, by: int) -> None:
        """Go down; the caller comes up again by `self.depth -= by` when all went well."""
        self.depth += by
        if self.depth > MAX_DEPTH:
            raise self.too_deep(self.here(), "give a part of the expression a name with `let`, then use the name")

    def unexpected(self, expected: str, help: str | None = None, fix: Fix | None = None) -> Failure:
        """The failure that what stands here is not what must stand here.

        Words and marks of other languages, unclosed brackets and strings, and characters that mean nothing
        explain themselves; `help` and `fix` are for everything else.
        """
        at = self.at
        kind = self.kinds[at]
        before = self.kinds[at - 1] if at else ""
        if before is t.OPEN_STRING:
            return Failure(None)
        if kind in t.LINE_ENDS:
            if before in (t.OPEN_TRIPLE, t.OPEN_DISCRETION):
                return Failure(None)
            if self.open and self.open[-1] < at:
                bracket = self.tokens.span(self.open[-1])
                text = self.source.slice(bracket)
                return self.fail(
                    "E005",
                    f"`{text}` is never closed",
                    bracket,
                    f"close it with `{foreign.CLOSING[text]}` before the next statement",
                    label="opened here",
                )
            if help is None and expected == "a value":
                help = "write it on this line, or put brackets around a value that goes over several lines"
            return self.fail("E005", f"expected {expected}", self.here(), help, fix)
        if before is t.TRIPLE and not self.texts[at]:
            return self.quotes_inside_quotes(at - 1)
        span = self.tokens.span(at)
        text = self.source.slice(span)
        if kind is t.ODD:
            return Failure(foreign.odd_character(text, span))
        if kind is t.ODD_NAME:
            return self.bad_name(span)
        if kind is t.ODD_NUMBER:
            return self.fail(
                "E004", f"`{text}` is neither a number nor a name", span, "a name begins with a letter or `_`"
            )
        if before is t.TRIPLE and kind is t.NAME and text not in foreign.AFTER_A_VALUE:
            return self.quotes_inside_quotes(at - 1)
        if kind is t.NAME and text == "not" and self.texts[at + 1] == "in":
            whole = Span(span.start, self.ends[at + 1])
            return self.fail("E005", "there is no `not in`", whole, "write `not x in items`")
        if text == "@" and before is t.NAME and self.ends[at - 1] == span.start and self.kinds[at + 1] is t.NAME:
            return self.bad_name(Span(self.starts[at - 1], self.ends[at + 1]))
        if text in ("/", "*"):
            marked = self.comment_mark(at) or self.single_stars(at)
            if marked is not None:
                return marked
        if before is t.NAME and (refused := self.foreign_value(at - 1)) is not None:
            return refused
        hint = foreign.MARKS.get(text)
        if hint is not None and kind is not t.NAME:
            code, message, marks_help, replacement = hint
            if replacement:
                fix = Fix(f"write `{replacement}`", (Edit(span, replacement),), safe=True)
            return self.fail(code, message, span, marks_help, fix)
        if kind is t.QUOTED:
            return self.single_quotes(at)
        if help is None and before is t.NAME and text in (")", "]", "}") and not self.open:
            help = f"remove it, or open it with `{foreign.OPENING[text]}`"
        shown = foreign.shown(kind, text)
        return self.fail("E004", f"unexpected {shown}, expected {expected}", span, help, fix)

    def bad_name(self, span: Span) -> Failure:
        return self.fail(
            "E004",
            "a name is made of the letters a to z, digits, `_` and `-`",
            span,
            "other letters and marks may stand in strings only; choose another name",
        )

    def comment_mark(self, at: int) -> Failure | None:
        """The failure that `//` or `/*` stands here, if it does."""
        if self.texts[at] == "/" and self.texts[at - 1] == "/" and self.ends[at - 1] == self.starts[at]:
            at -= 1
        if self.kinds[at] != "/" or self.starts[at + 1] != self.ends[at]:
            return None
        mark = self.source.text[self.starts[at] : self.starts[at] + 2]
        if mark not in ("//", "/*"):
            return None
        span = Span(self.starts[at], self.starts[at] + 2)
        fix = Fix("write `#`", (Edit(span, "#"),)) if mark == "//" else None
        return self.fail("E004", f"there is no `{mark}`", span, "comments begin with `#`, on every line", fix)

    def single_stars(self, at: int) -> Failure | None:
        """The failure that words stand between single stars here, if they do."""
        if self.kinds[at] != "*":
            return None
        last = at + 1
        while self.kinds[last] not in t.LINE_ENDS and self.kinds[last] != "*":
            last += 1
        if self.kinds[last] != "*" or last == at + 1:
            return None
        span = Span(self.starts[at], self.ends[last])
        edits = (Edit(Span(span.start, span.start), "*"), Edit(Span(span.end, span.end), "*"))
        help = f"write `*{self.source.slice(span)[:60]}*`"
        return self.fail("E005", "a question stands between two stars", span, help, Fix("write `**`", edits))

    def foreign_value(self, at: int) -> Failure | None:
        """The failure that the name at an index, which something follows, is a word that makes no value here."""
        word = self.texts[at]
        hint = foreign.VALUES.get(word)
        if hint is None or self.kinds[at + 1] not in foreign.AFTER_VALUES:
            return None
        if self.kinds[at - 1] not in foreign.BEFORE_VALUES and self.texts[at - 1] not in foreign.BEFORE_VALUES:
            return None
        span = self.tokens.span(at)
        if word == "await" and self.kinds[at + 1] is t.NAME:
            fix = Fix("remove `await`", (Edit(Span(span.start, self.starts[at + 1]), ""),), safe=True)
            return self.fail(hint.code, hint.message, span, hint.help, fix)
        if word == "input" and self.kinds[at - 1] == "=" and self.texts[at - 3] in ("let", "const"):
            text = at + 2 if self.kinds[at + 1] == "(" else at + 1
            last = text + 1 if self.kinds[at + 1] == "(" else text
            if self.kinds[text] is t.STRING and self.kinds[last + 1] in t.LINE_ENDS:
                declared = f"input {self.texts[at - 2]}: {self.source.slice(self.tokens.span(text))}"
                fix = Fix("declare the input", (Edit(Span(self.starts[at - 3], self.ends[last]), declared),))
                return self.fail(hint.code, hint.message, span, f"write `{declared[:100]}`", fix)
        return self.refused(hint, span)

    def quotes_inside_quotes(self, index: int) -> Failure:
        """The failure that what follows a string in triple quotes makes no sense: most likely it ended early."""
        start, end = self.starts[index], self.ends[index]
        diagnostic = Diagnostic(
            "E005",
            'what follows the end of this string can\'t be parsed; does it contain a `"""`?',
            Span(start, start + 3),
            "the string starts here",
            'write `\\"""` for three quotes inside a string in triple quotes',
            (Related("the string ends here", Span(end - 3, end)),),
        )
        return Failure(diagnostic, garbled=True)

    def garbled(self, index: int) -> bool:
        """Whether the line whose NEWLINE is at an index may be the inside of a string that ended early."""
        return self.kinds[index - 1] is t.TRIPLE and self.tokens.last_triple > self.starts[index]

    def single_quotes(self, index: int) -> Failure:
        span = self.tokens.span(index)
        inner = self.source.slice(span).strip("'")
        fix = None
        if '"' not in inner and "\\" not in inner:
            fix = Fix("use double quotes", (Edit(span, f'"{inner}"'),), safe=True)
        return self.fail("E005", "strings are written in double quotes", span, f'write "{inner[:40]}"', fix)

    # --- lines ---------------------------------------------------------------------------------------------------

    def lines(
        self,
        column: int,
        parse: Callable[[], T],
        lost: Callable[[int, Failure], T | None],
        fold_floor: int | None = None,
    ) -> list[T]:
        """Parse every logical line of one column, from the NEWLINE at hand to the one that leaves the column.

        `lost(start, failure)` is called after a failure, with the index of the line's first token; it skips
        what belongs to the line and may return something in its place. Unexpected columns are reported here.
        """
        kinds = self.kinds
        outer, outer_floor, outer_stage = self.column, self.fold_floor, self.stage_body
        outer_arrow = self.arrow_floor
        asking, words, depth, brackets = self.asking, self.modifier_words, self.depth, len(self.open)
        if fold_floor is not None:
            self.fold_floor = self.arrow_floor = fold_floor
        elif outer_stage:
            # A `|` at the column of a stage's body goes on with the pipeline, not with the statement above it.
            self.fold_floor = column + 1
        floor, arrow_floor = self.fold_floor, self.arrow_floor
        self.column = column
        self.stage_body = self.asking = False
        self.modifier_words = frozenset()
        parsed: list[T] = []
        while True:
            self.at += 1
            start = self.at
            try:
                parsed.append(parse())
                kind = kinds[self.at]
                if (
                    kind is not t.NEWLINE
                    and kind is not t.END
                    and not (kind is t.FOLD and self.column_at(self.at) < floor)
                ):
                    parsed.pop()
                    raise self.not_the_end()
            except Failure as failure:
                self.stage_body = self.asking = self.heading = False
                self.modifier_words = frozenset()
                self.column, self.fold_floor, self.arrow_floor, self.depth = column, floor, arrow_floor, depth
                del self.open[brackets:]
                if failure.diagnostic is not None and not self.already_said(failure.diagnostic):
                    self.diagnostics.append(failure.diagnostic)
                instead = lost(start, failure)
                if instead is not None:
                    parsed.append(instead)
                kind = kinds[self.at]
            while kind is t.NEWLINE:
                found = self.ends[self.at] - self.starts[self.at]
                if found <= column:
                    break
                self.indented_too_far(found)
                parsed.extend(self.lines(found, parse, lost))
                kind = kinds[self.at]
            if kind is not t.NEWLINE or (found <= outer and found < column):
                break
            if found < column:
                self.between_columns(found)
                column = self.column = found
        self.column, self.fold_floor, self.stage_body = outer, outer_floor, outer_stage
        self.arrow_floor = outer_arrow
        self.asking, self.modifier_words = asking, words
        return parsed

    def not_the_end(self) -> Failure:
        """The failure that something follows a complete statement."""
        at = self.at
        if self.kinds[at] is t.FOLD:
            self.at = at = at + 1
        text = self.texts[at]
        return self.unexpected("the end of the line", foreign.AFTER_STATEMENTS.get(text))

    def already_said(self, diagnostic: Diagnostic) -> bool:
        """Whether the rest of the program was swallowed by a string that never ends."""
        return self.swallowed and diagnostic.span.start >= self.starts[-1]

    def indented_too_far(self, found: int) -> None:
        span = self.tokens.span(self.at)
        if self.tokens.tabbed or self.garbled(self.at):
            return
        self.report(
            "E048",
            "unexpected indentation: nothing above it takes an indented body",
            Span(span.end - (found - self.column), span.end),
            f"indent this line by {self.column} spaces, like the statement above",
            Fix("remove the extra indentation", (Edit(span, " " * self.column),)),
        )

    def between_columns(self, found: int) -> None:
        if self.tokens.tabbed:
            return
        span = self.tokens.span(self.at)
        self.report(
            "E048",
            "this line is indented less than the lines above it, but no enclosing block has this column",
            Span(span.start, span.end),
            f"indent it by {self.column} spaces to stay in the block above",
            Fix(f"indent by {self.column} spaces", (Edit(span, " " * self.column),)),
        )

    def skip_line(self) -> None:
        """Go to the end of the logical line."""
        kinds = self.kinds
        at = self.at
        while kinds[at] is not t.NEWLINE and kinds[at] is not t.END:
            if kinds[at] is t.OPEN_TRIPLE and not self.swallowed:
                self.unterminated_triple(at)
            at += 1
        self.at = at

    def skip_deeper(self) -> None:
        """Go to the end of the logical line, and over all lines right of the current column."""
        self.skip_line()
        while self.kinds[self.at] is t.NEWLINE and self.column_at(self.at) > self.column:
            self.at += 1
            self.skip_line()

    def unterminated_triple(self, index: int) -> None:
        start = self.starts[index]
        self.swallowed = True
        self.report(
            "E001",
            "unterminated string",
            Span(start, start + 3),
            'close it with """',
            label="the string starts here",
        )

    def refused(self, hint: foreign.Hint, span: Span) -> Failure:
        """The failure that a word of another language stands here."""
        fix = None
        if hint.replacement:
            fix = Fix(f"write `{hint.replacement}`", (Edit(span, hint.replacement),))
        return self.fail(hint.code, hint.message, span, hint.help, fix)

    def misspelt(self, meant: str, span: Span) -> Failure:
        word = self.source.slice(span)
        fix = Fix(f"write `{meant}`", (Edit(span, meant),))
        return self.fail("E004", f"unknown word `{word}`", span, f"did you mean `{meant}`?", fix)
