"""Properties: the `name: value` lines under sessions, resumes and agents."""

from __future__ import annotations

from prosec.diagnostics import Edit, Fix
from prosec.source import Span
from prosec.syntax import foreign
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.cursor import Failure
from prosec.syntax.suites import SuiteParser

KNOWN = ("prompt", "model", "context", "retry", "backoff", "skills", "persist", "permissions")

_TEXT_PROPERTIES = frozenset({"prompt", "model", "backoff", "persist"})
_STATEMENT_LIKE = t.STATEMENT_WORDS - {"input", "output", "use"}


class PropertyParser(SuiteParser):
    """Parses property lists."""

    lost_properties = 0
    """How many properties could not be parsed so far."""
    lost_prompt: n.Property | None = None
    """What stands in for a prompt among them."""

    def properties(self) -> tuple[n.Property, ...]:
        """The properties below the line that ends here, if there are any."""
        at = self.at
        if self.kinds[at] is not t.NEWLINE:
            return ()
        column = self.ends[at] - self.starts[at]
        if column <= self.column or self.open or self.statement_stands(at + 1):
            return ()
        outer, self.lost_prompt = self.lost_prompt, None
        found = self.lines(column, self.property, self.lost_property, fold_floor=column + 1)
        lost, self.lost_prompt = self.lost_prompt, outer
        if lost is not None and not any(item.name.text == "prompt" for item in found):
            found.append(lost)
        return tuple(found)

    def statement_stands(self, at: int) -> bool:
        """Whether the line at an index is a statement that was merely indented too far."""
        if self.kinds[at] is not t.NAME:
            return False
        word, following = self.texts[at], self.kinds[at + 1]
        if word in _STATEMENT_LIKE:
            return following != ":" or word in t.RESERVED or word == "resume"
        return following == "=" and word not in KNOWN

    def property(self) -> n.Property:
        at = self.at
        if self.kinds[at] is not t.NAME or self.kinds[at + 1] != ":":
            raise self.no_property(at)
        text = self.texts[at]
        name = n.Name(Span(self.starts[at], self.ends[at]), text)
        self.at = at + 2
        value: n.Expression | n.Permissions
        kind = self.kinds[at + 2]
        if text == "permissions":
            value = self.permissions(name)
        elif kind is t.NEWLINE and self.column_at(at + 2) > self.column:
            value = self.nested_value(name)
        elif kind in t.LINE_ENDS:
            raise self.unexpected(f"a value for `{text}`")
        elif kind in ("|", ">") and self.kinds[at + 3] in (t.NEWLINE, "-", "+"):
            raise self.block_scalar(name)
        else:
            value = self.expression()
            kind = self.kinds[self.at]
            if kind is not t.NEWLINE and kind not in t.LINE_ENDS:
                value = self.unquoted(name, value)
            elif kind is t.NEWLINE and self.column_at(self.at) > self.column:
                raise self.under_a_property(name, self.at + 1)
        return n.Property(Span(name.span.start, self.ends[self.at - 1]), name, value)

    def unquoted(self, name: n.Name, value: n.Expression) -> n.Expression:
        """Words without quotes where a text belongs: an error, read as the text that was meant."""
        texts = self.texts
        at = self.at
        if isinstance(value, n.Text | n.ListLiteral | n.ObjectLiteral) or texts[at] in foreign.AFTER_STATEMENTS:
            raise self.unexpected("the end of the line", foreign.AFTER_STATEMENTS.get(texts[at]))
        if name.text not in _TEXT_PROPERTIES and self.kinds[at] is not t.NAME:
            raise self.unexpected("the end of the line")
        self.skip_line()
        span = Span(value.span.start, self.ends[self.at - 1])
        words = self.source.slice(span)
        fix = None
        if '"' not in words and "\\" not in words and "\n" not in words:
            fix = Fix("put quotes around it", (Edit(span, f'"{words}"'),))
        self.report("E005", "text stands in quotes", span, f'write `{name.text}: "..."`', fix)
        return n.Text(span, (words,), False)

    def nested_value(self, name: n.Name) -> n.Expression:
        """What stands on lines of its own below `name:`."""
        at = self.at
        first = at + 1
        column = self.column_at(at)
        if self.kinds[first] == "-" and (name.text == "skills" or name.text == "context"):
            return self.dash_list(name, column)
        if name.text == "context" and self.kinds[first] is t.NAME and self.kinds[first + 1] == ":":
            start = self.starts[first]
            entries = self.lines(column, self.nested_entry, self.lost_property_line, fold_floor=column + 1)
            return n.ObjectLiteral(self.span_from(start), tuple(entries), nested=True)
        if self.kinds[first] is t.NAME and self.kinds[first + 1] == ":":
            raise self.under_a_property(name, first)
        if self.kinds[first] == "-":
            raise self.fail(
                "E005",
                f"`{name.text}` takes no list of `-` lines",
                self.tokens.span(first),
                f"write `{name.text}: [a, b]`",
            )
        if self.kinds[first] is t.NAME:
            raise self.fail(
                "E005", f"expected a value for `{name.text}`", name.span, f'write `{name.text}: "..."` on one line'
            )
        raise self.fail(
            "E005",
            f"expected a value for `{name.text}` on the same line",
            name.span,
            f'write `{name.text}: """` and the text below, up to a closing `"""`'
            if name.text == "prompt"
            else f"write the value behind `{name.text}:`",
        )

    def nested_entry(self) -> n.Entry:
        """`name: value` as a line of a nested context."""
        at = self.at
        if self.kinds[at] is not t.NAME or self.kinds[at + 1] != ":":
            raise self.unexpected("`name: value`")
        key = self.tokens.span(at)
        self.at = at + 2
        value = self.expression()
        return n.Entry(Span(key.start, self.ends[self.at - 1]), self.texts[at], key, value, False)

    def dash_list(self, name: n.Name, column: int) -> n.ListLiteral:
        """A list of `- item` lines, from the NEWLINE before the first."""
        start = self.starts[self.at + 1]
        items = self.lines(column, self.dash_item, self.lost_property_line, fold_floor=column + 1)
        span = self.span_from(start)
        written = ", ".join(self.source.slice(item.span) for item in items)
        rewritten = Fix("write the list in brackets", (Edit(Span(name.span.end + 1, span.end), f" [{written}]"),))
        self.report(
            "W027",
            "a list of `-` lines",
            Span(start, start + 1),
            f"write `{name.text}: [{written}]`" if len(written) <= 80 else f"write `{name.text}: [a, b]`",
            None if "#" in self.source.slice(Span(name.span.end, span.end)) else rewritten,
        )
        return n.ListLiteral(span, tuple(items), dashed=True)

    def dash_item(self) -> n.Expression:
        self.expect("-", "before the next item")
        return self.expression()

    def permissions(self, name: n.Name) -> n.Permissions:
        """The rules below `permissions:`."""
        at = self.at
        help = 'write each rule on a line of its own below, indented, such as `read: ["src/**"]` or `bash: deny`'
        if self.kinds[at] is t.NEWLINE and self.column_at(at) > self.column and not self.open:
            start = self.ends[at]
            column = self.column_at(at)
            rules = self.lines(column, self.permission, self.lost_property_line, fold_floor=column + 1)
            return n.Permissions(self.span_from(start), tuple(rules))
        if self.kinds[at] in t.LINE_ENDS:
            raise self.fail("E015", "permissions must be a block", name.span, help)
        self.expression()
        raise self.fail("E015", "permissions must be a block", self.span_from(self.starts[at]), help)

    def permission(self) -> n.PermissionRule:
        at = self.at
        if self.kinds[at] is not t.NAME or self.kinds[at + 1] != ":":
            raise self.unexpected('a rule such as `read: ["src/**"]` or `bash: deny`')
        name = n.Name(self.tokens.span(at), self.texts[at])
        self.at = at + 2
        if self.kinds[at + 2] is t.NEWLINE and self.kinds[at + 3] == "-":
            column = self.column_at(at + 2)
            if column > self.column:
                return n.PermissionRule(self.span_from(name.span.start), name, self.dash_list(name, column))
        value = self.expression()
        return n.PermissionRule(self.span_from(name.span.start), name, value)

    # --- mistakes ------------------------------------------------------------------------------------------------

    def no_property(self, at: int) -> Failure:
        """The failure that a line below a session or agent is no property."""
        word = self.texts[at]
        span = self.tokens.span(at)
        if self.kinds[at] is t.NAME:
            if word in _STATEMENT_LIKE or (self.kinds[at + 1] == "=" and word not in KNOWN):
                return self.fail(
                    "E048",
                    "a statement among the properties of the line above",
                    span,
                    "indent it like the statement above; only `name: value` lines are indented below that",
                )
            if self.kinds[at + 1] == "=":
                equals = self.tokens.span(at + 1)
                fix = Fix("write `:`", (Edit(Span(span.end, equals.end), ":"),), safe=True)
                return self.fail("E005", "a property is written with a colon", equals, f"write `{word}: ...`", fix)
            if word in KNOWN:
                fix = Fix("add the colon", (Edit(Span(span.end, span.end), ":"),), safe=True)
                return self.fail("E005", f"expected `:` after `{word}`", span, f"write `{word}: ...`", fix)
            if self.garbled(at - 1):
                return self.quotes_inside_quotes(at - 2)
            if (found := foreign.near(word, KNOWN)) is not None:
                return self.misspelt(found, span)
            return self.fail("E004", "expected a property", span, "properties are written `name: value`")
        if self.garbled(at - 1):
            return self.quotes_inside_quotes(at - 2)
        if self.kinds[at] is t.STRING and self.kinds[at - 2] == ":":
            return self.fail(
                "E005", "the text belongs on the line above, or behind `prompt:`", span, 'write `prompt: "..."`'
            )
        return self.unexpected("a property, `name: value`")

    def block_scalar(self, name: n.Name) -> Failure:
        return self.fail(
            "E005",
            "texts over several lines stand in triple quotes",
            self.tokens.span(self.at),
            f'write `{name.text}: """`, then the text, and `"""` at its end',
        )

    def under_a_property(self, name: n.Name, first: int) -> Failure:
        return self.fail(
            "E005",
            f"`{name.text}` takes no properties of its own",
            self.tokens.span(first),
            f"write one value behind `{name.text}:`, and other properties below it with the same indentation",
        )

    def lost_property(self, start: int, failure: Failure) -> None:
        """Skip a property that could not be parsed; a prompt is kept as text, since sessions need one."""
        self.lost_properties += 1
        self.lost_property_line(start, failure)
        if self.texts[start] == "prompt" and self.kinds[start + 1] == ":":
            name = n.Name(self.tokens.span(start), "prompt")
            span = self.span_from(self.starts[start])
            value = n.Text(Span(self.ends[start + 1], span.end), ("?",), False)
            self.lost_prompt = n.Property(span, name, value)

    def lost_property_line(self, start: int, failure: Failure) -> None:
        if failure.garbled:
            self.skip_garbled()
        else:
            self.skip_deeper()
