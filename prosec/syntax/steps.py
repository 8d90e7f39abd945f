"""Steps: sessions, resumes, arrows, `do`, and pipelines: values that are also statements."""

from __future__ import annotations

from prosec.diagnostics import Edit, Fix
from prosec.source import Span
from prosec.syntax import foreign
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.cursor import Failure
from prosec.syntax.properties import KNOWN, PropertyParser

_STRINGS = frozenset({t.STRING, t.TRIPLE, t.OPEN_STRING, t.OPEN_TRIPLE, t.QUOTED})
_DISCRETIONS = frozenset({t.DISCRETION, t.OPEN_DISCRETION})
_PROPERTY_HELP = "write `{0}: ...` as a property: on a line of its own below, indented"


class StepParser(PropertyParser):
    """Parses what calls a model or runs a block."""

    # --- sessions ------------------------------------------------------------------------------------------------

    def session_value(self) -> n.Session | n.Arrow:
        """A session, or several joined by `->`."""
        first = self.session()
        if not self.arrow_follows():
            return first
        steps = [first]
        while self.arrow_follows():
            if self.kinds[self.at] is t.FOLD:
                self.at += 1
            self.at += 1
            if self.texts[self.at] != "session" or self.kinds[self.at] is not t.NAME:
                raise self.fail(
                    "E005",
                    "`->` stands between sessions only",
                    self.here(),
                    "write the steps as statements below each other",
                )
            steps.append(self.session())
        return n.Arrow(self.span_from(first.span.start), tuple(steps))

    def arrow_follows(self) -> bool:
        kind = self.kinds[self.at]
        if kind is t.FOLD:
            return self.kinds[self.at + 1] == "->" and self.column_at(self.at) >= self.arrow_floor
        return kind == "->"

    def session(self) -> n.Session:
        """`session`, from its first word to its last property."""
        first = self.at
        start = self.starts[first]
        at = self.at = first + 1
        kind = self.kinds[at]
        text: n.Text | None = None
        agent: n.Name | None = None
        name: n.Name | None = None
        colon = False
        if kind in _STRINGS:
            text = self.text()
            colon = not self.heading and self.mark(":")
        elif kind == ":":
            self.at = at + 1
            if self.kinds[at + 1] is t.NAME:
                agent = self.plain_name("an agent's name")
                if self.kinds[self.at] in _STRINGS:
                    text = self.text()
                colon = not self.heading and self.mark(":")
            elif self.kinds[at + 1] in _STRINGS:
                raise self.colon_before_text(at)
            elif self.kinds[at + 1] not in t.LINE_ENDS:
                raise self.unexpected("an agent's name, or the end of the line")
        elif kind is t.NAME and self.kinds[at + 1] == ":":
            name = self.declared_name("a name")
            self.at += 1
            if self.kinds[self.at] is not t.NAME:
                raise self.session_without_agent(name)
            agent = self.plain_name("an agent's name")
            if self.kinds[self.at] in _STRINGS:
                raise self.fail(
                    "E005",
                    "a session with a name of its own takes its text as a property",
                    self.here(),
                    f'write `prompt: "..."` below, or `let {name.text} = session: {agent.text} "..."`',
                )
            colon = not self.heading and self.mark(":")
        else:
            raise self.bad_session(first)
        lost = self.lost_properties
        properties = () if self.heading else self.session_properties()
        end = self.ends[self.at - 1]
        if not properties:
            if text is None and agent is None and self.kinds[self.at] in t.LINE_ENDS and self.lost_properties == lost:
                raise self.fail(
                    "E003",
                    "session without prompt or agent",
                    Span(start, end),
                    'write `session "..."`, `session: agent`, or a `prompt:` below',
                )
            if colon:
                mark = self.tokens.span(self.at - 1)
                self.report(
                    "W018",
                    "nothing stands below this colon",
                    mark,
                    "remove the colon, or write properties below, indented",
                    Fix("remove the colon", (Edit(mark, ""),), safe=True),
                )
        elif (
            text is None
            and agent is None
            and self.lost_properties == lost
            and not any(item.name.text == "prompt" for item in properties)
        ):
            raise self.fail(
                "E003",
                "session without prompt or agent",
                Span(start, self.ends[at]),
                'add `prompt: "..."` to its properties, or write `session: agent`',
            )
        return n.Session(Span(start, end), text, agent, name, properties)

    def session_properties(self) -> tuple[n.Property, ...]:
        """The properties below a session, after making sure that none stand beside it."""
        at = self.at
        kind = self.kinds[at]
        if kind is t.NEWLINE:
            return self.properties()
        if kind is t.NAME:
            word = self.texts[at]
            if word in KNOWN and self.kinds[at + 1] == ":":
                if self.open and "\n" in self.source.text[self.ends[at - 1] : self.starts[at]]:
                    raise self.fail(
                        "E005",
                        "a session inside brackets takes no properties",
                        self.tokens.span(at),
                        "give the session's result a name with `let` before, and use the name in the brackets",
                    )
                raise self.fail(
                    "E005",
                    f"`{word}:` can't stand on the session's own line",
                    self.tokens.span(at),
                    _PROPERTY_HELP.format(word),
                )
        elif kind == "(" and self.kinds[at + 1] is t.NAME and self.kinds[at + 2] == ":":
            word = self.texts[at + 1]
            self.skip_line()
            raise self.fail(
                "E005",
                "a session takes no properties in brackets",
                self.span_from(self.starts[at]),
                _PROPERTY_HELP.format(word),
            )
        return ()

    def colon_before_text(self, colon: int) -> Failure:
        span = self.tokens.span(colon)
        fix = Fix("remove the colon", (Edit(span, ""),), safe=True)
        return self.fail(
            "E005",
            "after `session:` stands an agent's name",
            span,
            'write `session "..."`, or `session: agent "..."`',
            fix,
        )

    def session_without_agent(self, name: n.Name) -> Failure:
        if name.text in KNOWN:
            return self.fail(
                "E005",
                f"`{name.text}:` can't stand on the session's own line",
                name.span,
                _PROPERTY_HELP.format(name.text),
            )
        return self.unexpected("an agent's name", f"write `let {name.text} = session ...` to name a result")

    def bad_session(self, first: int) -> Failure:
        """The failure that nothing which may follow `session` does."""
        at = self.at
        kind = self.kinds[at]
        span = self.tokens.span(first)
        if kind in t.LINE_ENDS:
            if kind is t.NEWLINE and self.column_at(at) > self.column and not self.open:
                fix = Fix("add the colon", (Edit(Span(span.end, span.end), ":"),), safe=True)
                return self.fail("E005", "expected a text, or `:` before properties", span, "write `session:`", fix)
            return self.fail(
                "E003",
                "session without prompt or agent",
                span,
                'write `session "what to do"`, or `session: agent`',
            )
        if kind is t.NAME:
            name = self.tokens.span(at)
            last = self.kinds[at + 1]
            word = self.texts[at]
            if last in t.LINE_ENDS and word in self.declared.names and word not in self.declared.agents:
                return self.variable_as_prompt(at)
            if last in t.LINE_ENDS or last in _STRINGS:
                fix = Fix("add the colon", (Edit(Span(span.end, span.end), ":"),))
                return self.fail(
                    "E005",
                    "expected `:` before the agent's name",
                    name,
                    f'write `session: {self.texts[at]}` for an agent, quotes around a text: `session "..."`',
                    fix,
                )
            self.skip_line()
            end = self.ends[self.at - 1]
            return self.fail("E005", "text stands in quotes", Span(name.start, end), 'write `session "..."`')
        if kind in _DISCRETIONS:
            return self.fail(
                "E005", "a session's text stands in double quotes", self.tokens.span(at), 'write `session "..."`'
            )
        return self.unexpected("a text in quotes, or `:` and an agent's name")

    def variable_as_prompt(self, at: int) -> Failure:
        """The failure that a variable, the token at an index, ends the line of `session`."""
        word = self.texts[at]
        fix = None
        if not self.open and not self.heading:
            below = self.column_at(at + 1) if self.kinds[at + 1] is t.NEWLINE else -1
            column = below if below > self.column else self.column + 2
            place = Span(self.ends[at - 1], self.ends[at])
            fix = Fix("give it as the prompt", (Edit(place, f":\n{' ' * column}prompt: {word}"),))
        return self.fail(
            "E005",
            "a text in quotes or `:` follows `session`, not a variable",
            self.tokens.span(at),
            f'write `session:` and `prompt: {word}` below, indented, or `session "{{{word}}}"`',
            fix,
        )

    def resume_value(self) -> n.Expression:
        """A resume, or a variable that happens to have its name."""
        following = self.kinds[self.at + 1]
        if following == ":" or (following is t.NAME and self.kinds[self.at + 2] in t.LINE_ENDS):
            return self.resume()
        return self.operation(0)

    def resume(self) -> n.Resume:
        first = self.at
        self.at = first + 1
        if self.kinds[self.at] is t.NAME and self.kinds[self.at + 1] in t.LINE_ENDS:
            end = self.ends[first]
            fix = Fix("add the colon", (Edit(Span(end, end), ":"),), safe=True)
            raise self.fail(
                "E005", "expected `:` after `resume`", self.here(), f"write `resume: {self.texts[self.at]}`", fix
            )
        self.expect(":", "after `resume`", "write `resume: agent`")
        agent = self.plain_name("an agent's name", "write `resume: agent`")
        if self.kinds[self.at] in _STRINGS:
            raise self.fail(
                "E005", "a resume takes its text as a property", self.here(), 'write `prompt: "..."` below, indented'
            )
        self.mark(":")
        properties = self.session_properties()
        return n.Resume(self.span_from(self.starts[first]), agent, properties)

    # --- do ------------------------------------------------------------------------------------------------------

    def do(self) -> n.DoBlock | n.DoCall:
        """`do:` and a body, or `do name(arguments)`."""
        first = self.at
        start = self.starts[first]
        self.at = first + 1
        if self.mark(":"):
            body = self.suite(first)
            return n.DoBlock(self.span_from(start), body)
        name = self.plain_name(
            "a block's name, or `:`", "write `do name(...)` for a block, or `do:` and statements below"
        )
        arguments: list[n.Argument] = []
        if self.kinds[self.at] == "(":
            outside = self.enter()
            while self.kinds[self.at] != ")":
                if self.kinds[self.at] is t.NAME and self.kinds[self.at + 1] == ":":
                    arguments.append(self.named_argument())
                else:
                    value = self.expression()
                    arguments.append(n.Argument(value.span, None, value))
                if not self.mark(","):
                    break
            self.expect(")", "to close the arguments, or `,` before the next")
            self.leave(outside)
        elif (
            self.kinds[self.at] in (t.NAME, t.NUMBER, *_STRINGS) and self.texts[self.at] not in foreign.AFTER_STATEMENTS
        ):
            raise self.unexpected("`(`", f"arguments stand in brackets: `do {name.text}(...)`")
        if self.kinds[self.at] == ":" and not self.heading:
            raise self.unexpected(
                "the end of the line", f"`do {name.text}` runs a block; the block is written `block {name.text}:`"
            )
        call = n.DoCall(self.span_from(start), name, tuple(arguments))
        at = self.at
        if (
            self.kinds[at] is t.NEWLINE
            and self.column_at(at) > self.column
            and not self.open
            and self.texts[at + 1] in KNOWN
            and self.kinds[at + 2] == ":"
        ):
            raise self.fail(
                "E005",
                "`do` takes no properties",
                self.tokens.span(at + 1),
                f"give the block what it needs as an argument: `do {name.text}(...)`",
            )
        return call

    # --- pipelines -----------------------------------------------------------------------------------------------

    def stage_follows(self) -> bool:
        kind = self.kinds[self.at]
        if kind is t.FOLD:
            return self.kinds[self.at + 1] == "|" and self.column_at(self.at) >= self.fold_floor
        return kind == "|"

    def piped(self, value: n.Expression, first: int) -> n.Expression:
        if not self.stage_follows():
            return value
        if self.operator_value(value, first):
            span = value.span
            fix = Fix("add brackets", (Edit(Span(span.start, span.start), "("), Edit(Span(span.end, span.end), ")")))
            raise self.fail(
                "E005", "what is piped is ambiguous here", span, "put brackets around what goes before `|`", fix
            )
        stages: list[n.Stage] = []
        while self.stage_follows():
            if self.kinds[self.at] is t.FOLD:
                self.at += 1
            self.at += 1
            stages.append(self.stage())
        self.height = 1
        return n.Pipeline(Span(value.span.start, self.ends[self.at - 1]), value, tuple(stages))

    def stage(self) -> n.Stage:
        """One stage, after its `|`."""
        first = self.at
        operator = self.plain_name("map, filter, pmap or reduce")
        names: list[n.Name] = []
        if self.kinds[self.at] == "(":
            outside = self.enter()
            while self.kinds[self.at] != ")":
                names.append(self.declared_name("a name"))
                if not self.mark(","):
                    break
            self.expect(")", "to close the names", "write `| reduce(total, item): ...`")
            self.leave(outside)
        self.expect(":", f"after `{operator.text}`", f"write `| {operator.text}: ...`")
        body = self.body_of_stage(first)
        if operator.text == "filter" and isinstance(body, n.Suite) and len(body.statements) == 1:
            last = body.statements[0]
            if isinstance(last, n.Text | n.Logical | n.Unary):
                self.refuse_texts(last)
        return n.Stage(self.span_from(operator.span.start), operator, tuple(names), body)

    def body_of_stage(self, first: int) -> n.Suite | n.Discretion:
        """What stands behind a stage's colon; `first` is the index of its operator."""
        self.deeper(1)
        body: n.Suite | n.Discretion
        kind = self.kinds[self.at]
        if kind in _DISCRETIONS:
            body = self.discretion_body()
        elif kind in t.LINE_ENDS:
            at = self.at
            if kind is t.NEWLINE and self.kinds[at + 1] in _DISCRETIONS and self.column_at(at) > self.column:
                self.at = at + 1
                body = self.discretion_body()
            else:
                stage_body, self.stage_body = self.stage_body, True
                body = self.suite(first)
                self.stage_body = stage_body
        else:
            stage_body, self.stage_body = self.stage_body, True
            statement = self.body_statement()
            self.stage_body = stage_body
            body = n.Suite(statement.span, (statement,))
        self.depth -= 1
        return body

    def discretion_body(self) -> n.Suite | n.Discretion:
        asking, self.asking = self.asking, True
        stage_body, self.stage_body = self.stage_body, True
        value = self.operation(0)
        self.asking, self.stage_body = asking, stage_body
        if isinstance(value, n.Discretion):
            return value
        assert isinstance(value, n.Binary | n.Logical | n.Unary | n.Field | n.Index)
        return n.Suite(value.span, (value,))

    def body_statement(self) -> n.Statement:
        """A statement, or a bare value, where one line is a whole body."""
        at = self.at
        if self.kinds[at] is t.NAME:
            word = self.texts[at]
            following = self.kinds[at + 1]
            if following == "=" or (word in t.RESERVED and word in self.STATEMENTS):
                return self.statement()
            if word in self.STATEMENTS and following not in (".", "|", "(", "[") and following not in t.LINE_ENDS:
                return self.statement()
            if word in ("break", "continue", "return"):
                return self.statement()
        return self.expression()
