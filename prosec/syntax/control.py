"""Control flow: parallel, loops, if, choice and try."""

from __future__ import annotations

from prosec.diagnostics import Edit, Fix
from prosec.source import Span
from prosec.syntax import foreign
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.cursor import SUITE_DEPTH, Failure
from prosec.syntax.steps import StepParser

_COUNTERS = frozenset({"i", "j", "k", "idx", "index"})
_DISCRETIONS = frozenset({t.DISCRETION, t.OPEN_DISCRETION})
_STRINGS = frozenset({t.STRING, t.TRIPLE, t.OPEN_STRING, t.OPEN_TRIPLE, t.QUOTED})
_FOR_WORDS = frozenset({"on-fail", "count"})
_LOOP_WORDS = frozenset({"max"})


class ControlParser(StepParser):
    """Parses statements with bodies."""

    # --- parallel ------------------------------------------------------------------------------------------------

    def parallel_statement(self) -> n.Statement:
        if self.texts[self.at + 1] == "for":
            return self.for_loop()
        return self.value_statement()

    def value_statement(self) -> n.Statement:
        """A statement that is also a value."""
        return self.expression()

    def parallel(self) -> n.Parallel:
        first = self.at
        self.at = first + 1
        if self.texts[self.at] == "for":
            raise self.not_a_value(first, "for")
        modifiers: tuple[n.Modifier, ...] = ()
        if self.kinds[self.at] == "(":
            modifiers = self.modifiers()
        self.expect(":", "after `parallel`", "write `parallel:` and the branches below, indented")
        at = self.at
        if self.kinds[at] is t.NEWLINE and self.column_at(at) > self.column:
            self.no_brackets(at)
            self.go_into_body(at)
            self.branch_number = 0
            branches = self.branches(self.column_at(at))
            self.depth -= SUITE_DEPTH
        else:
            self.suite(first)
            branches = []
        return n.Parallel(self.span_from(self.starts[first]), modifiers, tuple(branches))

    branch_number = 0

    def branches(self, column: int) -> list[n.Branch]:
        outer = self.branch_number
        self.branch_number = 0
        found = self.lines(column, self.branch, self.lost_branch)
        self.branch_number = outer
        return found

    def branch(self) -> n.Branch:
        at = self.at
        number = self.branch_number
        self.branch_number = number + 1
        declared = self.texts[at] == "let" and self.kinds[at + 1] is t.NAME and self.kinds[at + 2] == "="
        if declared:
            self.at = at = at + 1
        elif self.kinds[at] is not t.NAME or self.kinds[at + 1] != "=":
            if self.kinds[at + 1] == ":" and self.kinds[at] is t.NAME and self.texts[at] not in self.STATEMENTS:
                colon = self.tokens.span(at + 1)
                fix = Fix("write ` =`", (Edit(colon, " ="),), safe=True)
                raise self.fail(
                    "E005", "a branch is named with `=`", colon, f"write `{self.texts[at]} = session ...`", fix
                )
            body = self.body_statement()
            return n.Branch(body.span, None, body)
        start = self.starts[at - 1] if declared else self.starts[at]
        name: n.Name | None = n.Name(self.tokens.span(at), self.texts[at])
        assert name is not None
        if name.text == f"_branch_{number}":
            name = None
        else:
            self.check_name(name)
        self.at = at + 2
        if self.kinds[self.at] in t.LINE_ENDS:
            raise self.unexpected("a value or a statement")
        value = self.expression()
        return n.Branch(self.span_from(start), name, value, declared)

    def lost_branch(self, start: int, failure: Failure) -> n.Branch | None:
        broken = self.lost_statement(start, failure)
        if broken is None:
            return None
        name = None
        at = start + 1 if self.texts[start] == "let" else start
        if self.kinds[at] is t.NAME and self.kinds[at + 1] == "=" and self.texts[at] not in t.RESERVED:
            name = n.Name(self.tokens.span(at), self.texts[at])
        return n.Branch(broken.span, name, broken, at != start)

    def modifiers(self) -> tuple[n.Modifier, ...]:
        """`("any", count: 2, on-fail: "continue")`, of a parallel or a for."""
        found: list[n.Modifier] = []
        outside = self.enter()
        while self.kinds[self.at] != ")":
            found.append(self.modifier())
            if not self.mark(","):
                break
        self.expect(")", "to close the bracket, or `,` before the next")
        self.leave(outside)
        return tuple(found)

    def modifier(self) -> n.Modifier:
        at = self.at
        start = self.starts[at]
        if self.kinds[at] is t.NAME and self.kinds[at + 1] == ":":
            name = self.texts[at]
            self.at = at + 2
            value = self.expression()
            if name not in ("count", "max") and isinstance(value, n.Ref):
                self.unquoted_policy(value)
            return n.Modifier(self.span_from(start), name, value)
        if self.kinds[at] is t.NAME or self.kinds[at] in _STRINGS:
            value = self.expression()
            if isinstance(value, n.Ref):
                self.unquoted_policy(value)
            return n.Modifier(value.span, "strategy", value)
        raise self.unexpected(
            'a strategy such as `"first"`', 'write `parallel ("any", count: 2, on-fail: "continue"):`'
        )

    def unquoted_policy(self, value: n.Ref) -> None:
        self.report(
            "W027",
            f"`{value.name}` without quotes",
            value.span,
            f'write `"{value.name}"`',
            Fix("put quotes around it", (Edit(value.span, f'"{value.name}"'),), safe=True),
        )

    # --- loops ---------------------------------------------------------------------------------------------------

    def repeat(self) -> n.Repeat:
        first = self.at
        self.at = first + 1
        if self.kinds[self.at] == ":":
            raise self.unexpected("how often", "write `repeat 3:`, or `loop until **condition**:`")
        if self.kinds[self.at] is t.NAME and self.texts[self.at] in ("until", "while"):
            word = self.texts[self.at]
            raise self.fail("E005", f"there is no `repeat {word}`", self.here(), f"write `loop {word} **condition**:`")
        count = self.amount()
        if self.kinds[self.at] is t.NAME and self.texts[self.at] in ("times", "time", "x"):
            span = self.here()
            fix = Fix("remove the word", (Edit(Span(self.ends[self.at - 1], span.end), ""),), safe=True)
            raise self.fail(
                "E052",
                f"`repeat ... {self.texts[self.at]}` is not part of this dialect",
                span,
                f"write `repeat {self.source.slice(count.span)}:`",
                fix,
            )
        index = self.as_name()
        self.expect(":", "after the count", "write `repeat 3:` or `repeat 3 as i:`")
        body = self.suite(first)
        return n.Repeat(self.span_from(self.starts[first]), count, index, body)

    def amount(self) -> n.Expression:
        """A count: an expression, or a name in braces as one would write it in a text."""
        value = self.operation(0)
        if isinstance(value, n.ObjectLiteral) and len(value.entries) == 1 and value.entries[0].shorthand:
            inner = value.entries[0].value
            self.report(
                "W027",
                "a name in braces outside a text",
                value.span,
                f"write `{self.source.slice(inner.span)}`",
                Fix("remove the braces", (Edit(value.span, self.source.slice(inner.span)),), safe=True),
            )
            return inner
        return value

    def as_name(self) -> n.Name | None:
        if self.word("as"):
            return self.declared_name("a name for the counter")
        return None

    def for_loop(self) -> n.For:
        first = self.at
        self.at = first + 1
        concurrent = self.texts[first] == "parallel"
        if concurrent:
            self.at = first + 2
        if self.texts[self.at] == "each" and self.kinds[self.at + 1] is t.NAME and self.texts[self.at + 1] != "in":
            span = self.here()
            fix = Fix("remove `each`", (Edit(Span(span.start, self.starts[self.at + 1]), ""),), safe=True)
            raise self.fail("E052", "`for each` is not part of this dialect", span, "write `for item in items:`", fix)
        bracket = self.kinds[self.at] == "("
        if bracket:
            raise self.unexpected("a name", "write `for item, i in items:` without brackets")
        item = self.declared_name("a name for the item", "write `for item in items:`")
        index: n.Name | None = None
        if self.mark(","):
            index = self.declared_name("a name for the index", "write `for item, i in items:`")
        if not self.word("in"):
            raise self.unexpected("`in`", f"write `for {item.text} in items:`")
        words, self.modifier_words = self.modifier_words, _FOR_WORDS
        self.heading = True
        items = self.expression()
        self.heading = False
        self.modifier_words = words
        modifiers: tuple[n.Modifier, ...] = ()
        if self.kinds[self.at] == "(":
            modifiers = self.modifiers()
        self.expect(":", "after the items", f"write `for {item.text} in items:`")
        if index is not None and item.text in _COUNTERS and index.text not in _COUNTERS:
            self.turned_round(item, index)
            item, index = index, item
        if isinstance(items, n.Number):
            self.counted(first, item, items, index is None and not modifiers)
        body = self.suite(first)
        return n.For(self.span_from(self.starts[first]), concurrent, item, index, items, modifiers, body)

    def counted(self, first: int, item: n.Name, count: n.Number, plain: bool) -> None:
        """Report a `for` over a number."""
        help = f"write `repeat {count.text} as {item.text}:`"
        fix = None
        if self.texts[first] == "parallel":
            help += " for one after another; for all at once list the numbers, `[0, 1, 2]`"
        elif plain:
            header = Span(self.starts[first], count.span.end)
            fix = Fix("write `repeat`", (Edit(header, f"repeat {count.text} as {item.text}"),))
        self.report("E005", "a number has no items", count.span, help, fix)

    def turned_round(self, first: n.Name, second: n.Name) -> None:
        span = first.span.to(second.span)
        meant = f"{second.text}, {first.text}"
        self.report(
            "W027",
            "the index stands before the item",
            span,
            f"write `for {meant} in ...`",
            Fix("turn them round", (Edit(span, meant),), safe=True),
        )

    def loop(self) -> n.Loop:
        """`loop`, its condition, and its bracket and counter in either order."""
        first = self.at
        self.at = first + 1
        kind: str | None = None
        condition: n.Expression | None = None
        maximum: n.Expression | None = None
        index: n.Name | None = None
        order: list[tuple[int, Span]] = []
        while True:
            at = self.at
            text = self.texts[at]
            if self.kinds[at] == "(" and maximum is None:
                maximum = self.maximum()
                order.append((1, self.span_from(self.starts[at])))
            elif self.kinds[at] is t.NAME and text in ("until", "while") and kind is None:
                self.at = at + 1
                kind = text
                words, self.modifier_words = self.modifier_words, _LOOP_WORDS
                condition = self.condition()
                self.modifier_words = words
                order.append((0, self.span_from(self.starts[at])))
            elif text == "as" and index is None:
                index = self.as_name()
                order.append((2, self.span_from(self.starts[at])))
            else:
                break
        if self.kinds[self.at] in _DISCRETIONS:
            raise self.unexpected(
                "`until` or `while`", "write `loop until **condition**:` or `loop while **condition**:`"
            )
        if self.kinds[self.at] is t.NUMBER:
            raise self.unexpected(
                "`:`", f"write `repeat {self.texts[self.at]}:`, or `loop (max: {self.texts[self.at]}):`"
            )
        self.expect(":", "after the loop's header", "write `loop until **condition** (max: 5):`")
        if len(order) > 1 and order != sorted(order):
            self.loop_in_order(order)
        body = self.suite(first)
        return n.Loop(self.span_from(self.starts[first]), kind, condition, maximum, index, body)

    def loop_in_order(self, parts: list[tuple[int, Span]]) -> None:
        """Warn that the parts of a loop's header, each with its place among them, stand in another order."""
        span = parts[0][1].to(parts[-1][1])
        meant = " ".join(self.source.slice(part) for _, part in sorted(parts))
        self.report(
            "W027",
            "the parts of this loop stand in another order",
            span,
            f"write `loop {meant}:`" if "\n" not in meant else "write the condition, then `(max: n)`, then `as name`",
            Fix("put them in order", (Edit(span, meant),), safe=True),
        )

    def maximum(self) -> n.Expression:
        """`(max: 5)`"""
        help = "write `(max: 5)`"
        outside = self.enter()
        if self.texts[self.at] != "max":
            raise self.unexpected("`max`", help)
        self.at += 1
        self.expect(":", "after `max`", help)
        value = self.amount()
        self.expect(")", "to close the bracket", help)
        self.leave(outside)
        return value

    # --- decisions -----------------------------------------------------------------------------------------------

    def if_statement(self) -> n.Statement:
        first = self.at
        self.at = first + 1
        clauses = [self.clause(first)]
        otherwise: n.Suite | None = None
        broken = False
        while (header := self.clause_word(("elif", "else"))) is not None:
            word = self.texts[header]
            if otherwise is not None:
                self.out_of_place(header, f"`{word}` after `else`", "`else:` comes last, and once")
                broken = self.clause_of_broken(header) or broken
                continue
            self.at = header + 1
            try:
                if word == "elif":
                    clauses.append(self.clause(header))
                    continue
                if self.texts[self.at] == "if" and self.kinds[self.at] is t.NAME:
                    span = Span(self.starts[header], self.ends[self.at])
                    fix = Fix("write `elif`", (Edit(span, "elif"),), safe=True)
                    raise self.fail("E005", "there is no `else if`", span, "write `elif condition:`", fix)
                self.expect(":", "after `else`", "write `else:`, or `elif condition:`")
                otherwise = self.suite(header)
            except Failure as failure:
                self.failed_clause(header, failure)
                broken = True
        if broken:
            return self.broken(first)
        return n.If(self.span_from(self.starts[first]), tuple(clauses), otherwise)

    def clause(self, header: int) -> n.Clause:
        condition = self.condition()
        if self.kinds[self.at] == "=":
            fix = Fix("write `==`", (Edit(self.here(), "=="),), safe=True)
            raise self.fail("E005", "`=` assigns", self.here(), "to compare, write `==`", fix)
        self.expect(":", "after the condition")
        body = self.suite(header)
        return n.Clause(self.span_from(self.starts[header]), condition, body)

    def clause_word(self, words: tuple[str, ...]) -> int | None:
        """The index of the word that begins a further clause of the statement above, if one does."""
        at = self.at
        if self.kinds[at] is not t.NEWLINE or self.kinds[at + 1] is not t.NAME or self.texts[at + 1] not in words:
            return None
        if self.column_at(at) != self.column or self.kinds[at + 2] == "=":
            return None
        return at + 1

    def failed_clause(self, header: int, failure: Failure) -> None:
        """Go on behind a clause whose header could not be parsed."""
        if failure.diagnostic is not None:
            self.diagnostics.append(failure.diagnostic)
        self.asking = False
        self.modifier_words = frozenset()
        self.open.clear()
        if failure.deep:
            self.skip_deeper()
            return
        self.skip_line()
        self.lost_body(header)

    def clause_of_broken(self, header: int) -> bool:
        self.skip_line_after(header)
        self.lost_body(header)
        return True

    def broken(self, first: int) -> n.Broken:
        return n.Broken(self.span_from(self.starts[first]), self.names_declared(first, self.at))

    def out_of_place(self, at: int, message: str, help: str) -> None:
        self.report("E045", message, self.tokens.span(at), help)

    def orphan(self) -> n.Statement:
        """A clause word that continues nothing."""
        at = self.at
        word = self.texts[at]
        help = {
            "elif": "it follows an `if` with the same indentation",
            "else": "it follows an `if` with the same indentation",
            "catch": "it follows a `try` with the same indentation",
            "finally": "it follows a `try` with the same indentation",
            "option": "it stands in a `choice **...**:`, indented",
        }[word]
        raise self.fail("E045", f"`{word}` belongs to nothing here", self.tokens.span(at), help)

    def choice(self) -> n.Choice:
        first = self.at
        self.at = first + 1
        if self.kinds[self.at] not in _DISCRETIONS:
            raise self.unexpected("`**...**`", "write `choice **what to decide by**:` and the options below")
        criterion = self.discretion()
        self.expect(":", "after the criterion", "write `choice **what to decide by**:`")
        at = self.at
        options: list[n.Option] = []
        lost = len(self.diagnostics)
        if self.kinds[at] is t.NEWLINE and self.column_at(at) > self.column:
            self.no_brackets(at)
            self.go_into_body(at)
            refused, self.refused_in_choice = self.refused_in_choice, False
            options = self.lines(self.column_at(at), self.option, self.lost_option)
            self.refused_in_choice = refused
            self.depth -= SUITE_DEPTH
        elif self.kinds[at] not in t.LINE_ENDS:
            raise self.unexpected("the end of the line", 'write each `option "label":` below, indented')
        if not options and len(self.diagnostics) == lost:
            self.report(
                "E044",
                "choice without options",
                self.span_from(self.starts[first]),
                'write at least one `option "label":` below, indented',
            )
            return n.Choice(self.span_from(self.starts[first]), criterion, ())
        return n.Choice(self.span_from(self.starts[first]), criterion, tuple(options))

    refused_in_choice = False

    def option(self) -> n.Option:
        first = self.at
        if self.texts[first] == "else" and self.kinds[first] is t.NAME:
            raise self.fail(
                "E045", "a choice has no `else`", self.here(), 'write an option for it: `option "something else":`'
            )
        if not self.word("option"):
            if self.refused_in_choice:
                raise Failure(None)
            self.refused_in_choice = True
            raise self.unexpected("`option`", 'a choice holds only `option "label":` and statements below each')
        if self.kinds[self.at] not in _STRINGS:
            raise self.unexpected("a label in quotes", 'write `option "label":`')
        label = self.text()
        self.expect(":", "after the label", 'write `option "label":`')
        body = self.suite(first)
        return n.Option(self.span_from(self.starts[first]), label, body)

    def lost_option(self, start: int, failure: Failure) -> n.Option | None:
        self.lost_statement(start, failure)
        return None

    # --- try -----------------------------------------------------------------------------------------------------

    def try_statement(self) -> n.Try:
        first = self.at
        self.at = first + 1
        self.expect(":", "after `try`", "write `try:` and `catch as err:`")
        body = self.suite(first)
        catch: n.Catch | None = None
        final: n.Suite | None = None
        failed = False
        while (header := self.clause_word(("catch", "finally", "except"))) is not None:
            word = self.texts[header]
            foreign_word = word == "except"
            if foreign_word:
                word = "catch"
                hint = foreign.STATEMENTS[self.texts[header]]
                span = self.tokens.span(header)
                self.report(hint.code, hint.message, span, hint.help, Fix("write `catch`", (Edit(span, "catch"),)))
            if word == "catch" and catch is not None:
                self.out_of_place(header, "a second `catch`", "a try has one `catch`, for every error")
                failed = self.clause_of_broken(header)
                continue
            if final is not None:
                self.out_of_place(header, f"`{word}` after `finally`", "`finally:` comes last, and once")
                failed = self.clause_of_broken(header)
                continue
            self.at = header + 1
            try:
                if word == "catch":
                    catch = self.catch(header)
                else:
                    self.expect(":", "after `finally`", "write `finally:`")
                    final = self.suite(header)
            except Failure as failure:
                self.failed_clause(header, Failure(None, failure.deep) if foreign_word else failure)
                failed = True
        if catch is None and final is None and not failed:
            self.report(
                "E041",
                "try without catch or finally",
                Span(self.starts[first], self.ends[first + 1]),
                "add `catch as err:` or `finally:` below, with the same indentation",
            )
        return n.Try(self.span_from(self.starts[first]), body, catch, final)

    def catch(self, header: int) -> n.Catch:
        at = self.at
        name: n.Name | None = None
        if self.word("as"):
            name = self.declared_name("a name for the error", "write `catch as err:`")
        elif self.kinds[at] is t.NAME:
            fix = Fix("add `as`", (Edit(Span(self.starts[at], self.starts[at]), "as "),), safe=True)
            raise self.fail(
                "E005", "expected `as` before the error's name", self.here(), f"write `catch as {self.texts[at]}:`", fix
            )
        self.expect(":", "after `catch`", "write `catch as err:`")
        body = self.suite(header)
        return n.Catch(self.span_from(self.starts[header]), name, body)

    # --- as values -----------------------------------------------------------------------------------------------

    def refused_value(self) -> n.Expression:
        """A statement that has no value, where a value belongs."""
        raise self.not_a_value(self.at, self.texts[self.at])

    def not_a_value(self, at: int, word: str) -> Failure:
        help = {
            "if": "write `if condition:` and `else:` with an assignment in each",
            "choice": "write the `choice` as a statement with an assignment in each `option`",
        }.get(
            word, "write `let results = []` before, and `results = results + [x]` in its body; or a pipeline, `| map:`"
        )
        return self.fail("E005", f"`{word}` has no value", self.tokens.span(at), help)
