"""The parser: definitions and plain statements, the table of statements, and the way in, `parse`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from prosec.diagnostics import Diagnostic, Edit, Fix
from prosec.source import Source, Span
from prosec.syntax import foreign
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.control import ControlParser
from prosec.syntax.cursor import Failure
from prosec.syntax.lexer import lex
from prosec.syntax.properties import KNOWN

_STRINGS = frozenset({t.STRING, t.TRIPLE, t.OPEN_STRING, t.OPEN_TRIPLE, t.QUOTED})
_DISCRETIONS = frozenset({t.DISCRETION, t.OPEN_DISCRETION})
_FRONT_MATTER = re.compile(r"\ufeff?\s*---[ \t]*(?:\r?\n|\Z)")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A program's tree, its comments inside, and everything that syntax alone can say about it."""

    program: n.Program
    diagnostics: tuple[Diagnostic, ...]


def parse(source: Source) -> Parsed:
    """Parse a program. Never raises: what can't be parsed is a Broken node and a diagnostic."""
    if _FRONT_MATTER.match(source.text):
        return _later_format(source)
    tokens = lex(source)
    parser = Parser(source, tokens)
    statements = parser.program()
    found = sorted([*tokens.diagnostics, *parser.diagnostics], key=lambda item: item.span)
    program = n.Program(Span(0, len(source.text)), tuple(statements), tuple(tokens.comments))
    return Parsed(program, tuple(found))


def _later_format(source: Source) -> Parsed:
    """A file that starts with `---`."""
    start = source.text.index("---")
    diagnostic = Diagnostic(
        "E052",
        "a file that starts with `---` is of a later format, not of this dialect",
        Span(start, start + 3),
        help="write the program as statements: `input`, `agent`, `session`, `output` and so on, without `---`",
    )
    everything = Span(0, len(source.text))
    return Parsed(n.Program(everything, (n.Broken(everything, ()),), ()), (diagnostic,))


class Parser(ControlParser):
    """Parses whole programs."""

    def program(self) -> list[n.Statement]:
        while self.kinds[0] is t.FOLD:
            # Nothing above that the first line could continue: its mark is the mistake.
            self.kinds[0] = t.NEWLINE
        if self.kinds[0] is not t.NEWLINE:
            return []
        column = self.column_at(0)
        if column and any(kind is t.NEWLINE and self.column_at(at) < column for at, kind in enumerate(self.kinds)):
            column = 0
            self.column = 0
            self.indented_too_far(self.column_at(0))
            self.column = -1
            self.starts[0] = self.ends[0]
        statements: list[n.Statement] = []
        while self.kinds[self.at] is not t.END:
            statements += self.lines(column, self.statement, self.lost_statement)
            if self.kinds[self.at] is t.FOLD:
                self.diagnostics.append(_diagnostic(self.not_the_end()))
                self.skip_line()
        return statements

    def body_of_lost(self, header: int, first: int) -> Callable[[int], object] | None:
        if self.texts[first] == "option" and self.kinds[first] is t.NAME:
            return lambda column: self.lines(column, self.option, self.lost_option)
        if self.texts[header] == "parallel" and self.texts[header + 1] != "for":
            return self.branches
        return super().body_of_lost(header, first)

    # --- definitions ---------------------------------------------------------------------------------------------

    def use(self) -> n.Use:
        first = self.at
        self.at = first + 1
        if self.kinds[self.at] not in _STRINGS:
            raise self.unexpected("a path in quotes", 'write `use "handle/slug"` or `use "file.prose" as name`')
        path = self.text()
        alias: n.Name | None = None
        if self.word("as"):
            alias = self.declared_name("a name", 'write `use "handle/slug" as name`')
        return n.Use(self.span_from(self.starts[first]), path, alias)

    def import_skill(self) -> n.ImportSkill:
        first = self.at
        self.at = first + 1
        help = 'write `import "skill" from "source"`, or `use "handle/slug"` for a program'
        if self.kinds[self.at] not in _STRINGS:
            raise self.unexpected("a skill's name in quotes", help)
        skill = self.text()
        if not self.word("from"):
            raise self.unexpected("`from`", help)
        if self.kinds[self.at] not in _STRINGS:
            raise self.unexpected("a source in quotes", help)
        origin = self.text()
        span = self.span_from(self.starts[first])
        self.report("W027", "the older `import`", span, "name the skill in the `skills:` of the agents that use it")
        return n.ImportSkill(span, skill, origin)

    def input(self) -> n.Input:
        first = self.at
        at = self.at = first + 1
        help = 'write `input name: "what it is"`'
        kind = self.kinds[at]
        name: n.Name | None = None
        if kind == ":" or kind in _STRINGS or kind in t.LINE_ENDS:
            span = self.here() if kind in _STRINGS else Span(self.starts[first], self.ends[first])
            if kind in _STRINGS and len(self.source.slice(span)) > 2 and self.kinds[at + 1] == ":":
                name = self.declared_name("an input's name")
            self.report("E020", "empty input name", span, help)
            if kind in _STRINGS:
                self.at = at + 1
                if self.kinds[self.at] in t.LINE_ENDS:
                    # Only the description was written: that the name is missing has been said.
                    return n.Input(self.span_from(self.starts[first]), None, None)
        else:
            name = self.declared_name("an input's name", help)
        if kind in t.LINE_ENDS:
            return n.Input(self.span_from(self.starts[first]), None, None)
        if self.kinds[self.at] == "=":
            raise self.no_default()
        self.expect(":", "after the input's name", help)
        description = self.input_description(first)
        if self.kinds[self.at] == "=" or self.texts[self.at] in ("default", "or"):
            raise self.no_default()
        return n.Input(self.span_from(self.starts[first]), name, description)

    def input_description(self, first: int) -> n.Text | n.Discretion | None:
        at = self.at
        kind = self.kinds[at]
        if kind in _STRINGS:
            return self.text()
        if kind in _DISCRETIONS:
            return self.discretion()
        help = 'write `input name: "what it is"`'
        if kind is t.NEWLINE and self.column_at(at) > self.column:
            found = self.lines(self.column_at(at), self.input_prompt, self.lost_property_line)
            if not found:
                raise Failure(None)
            return found[0]
        if kind is t.NAME:
            raise self.unexpected("a description in quotes", f"inputs have no types; {help}")
        raise self.unexpected("a description in quotes", help)

    def input_prompt(self) -> n.Text:
        """`prompt: "..."` below an input."""
        at = self.at
        if self.kinds[at] is t.NAME and self.texts[at] == "prompt" and self.kinds[at + 1] == ":":
            self.at = at + 2
            if self.kinds[self.at] not in _STRINGS:
                raise self.unexpected("a description in quotes")
            text = self.text()
            self.report(
                "W027", "an input's description below it", self.tokens.span(at), 'write `input name: "what it is"`'
            )
            return text
        if self.texts[at] == "default":
            raise self.no_default()
        raise self.unexpected('`prompt: "..."`', 'write `input name: "what it is"` on one line')

    def no_default(self) -> Failure:
        return self.fail(
            "E005",
            "inputs and parameters have no defaults",
            self.here(),
            'give the value where the program is run or the block called, or write `let x = name or "default"`',
        )

    def output(self) -> n.Output:
        first = self.at
        at = self.at = first + 1
        kind = self.kinds[at]
        help = "write `output name = value`"
        name: n.Name | None = None
        if kind is t.NAME and self.kinds[at + 1] == "=":
            name = self.declared_name("an output's name")
            self.at = at + 2
        elif kind is t.NAME and self.kinds[at + 1] == ":" and self.texts[at] not in self.VALUE_FORMS:
            mark = self.tokens.span(at + 1)
            fix = Fix("write `=`", (Edit(mark, " ="),), safe=True)
            raise self.fail(
                "E005", "an output is given with `=`", mark, f"write `output {self.texts[at]} = value`", fix
            )
        elif kind in t.LINE_ENDS or kind == ":" or (kind in _STRINGS and self.kinds[at + 1] == "="):
            raise self.fail("E023", "empty output name", self.tokens.span(first), help)
        value = self.value(help)
        return n.Output(self.span_from(self.starts[first]), name, value)

    def agent(self) -> n.Agent:
        first = self.at
        self.at = first + 1
        help = "write `agent name:` and properties below, indented"
        name = self.declared_name("an agent's name", None if self.kinds[self.at] is t.STRING else help)
        self.expect(":", "after the agent's name", help)
        reported = len(self.diagnostics)
        if self.kinds[self.at] not in t.LINE_ENDS:
            raise self.unexpected("the end of the line", "properties stand on lines of their own below, indented")
        properties = self.properties()
        if not properties and len(self.diagnostics) == reported:
            self.report(
                "W018",
                "empty body",
                self.span_from(self.starts[first]),
                'write properties below, indented, such as `prompt: "..."`',
            )
        return n.Agent(self.span_from(self.starts[first]), name, properties)

    def block(self) -> n.Block:
        first = self.at
        self.at = first + 1
        help = "write `block name(a, b):` and statements below, indented"
        name = self.declared_name("a block's name", None if self.kinds[self.at] is t.STRING else help)
        parameters: list[n.Name] = []
        depth: n.Number | None = None
        if self.kinds[self.at] == "(" and not self.max_depth_follows():
            outside = self.enter()
            while self.kinds[self.at] != ")":
                parameters.append(self.declared_name("a parameter's name"))
                if self.kinds[self.at] == ":":
                    raise self.unexpected("`,` or `)`", "parameters have no types: `block name(a, b):`")
                if self.kinds[self.at] == "=":
                    raise self.no_default()
                if not self.mark(","):
                    break
            self.expect(")", "to close the parameters, or `,` before the next")
            self.leave(outside)
        if self.kinds[self.at] == "(":
            depth = self.max_depth()
        self.expect(":", "after the block's name", help)
        body = self.suite(first)
        return n.Block(self.span_from(self.starts[first]), name, tuple(parameters), depth, body)

    def max_depth_follows(self) -> bool:
        return self.texts[self.at + 1] == "max_depth" and self.kinds[self.at + 2] == ":"

    def max_depth(self) -> n.Number:
        help = "write `(max_depth: 20)`"
        if not self.max_depth_follows():
            self.at += 1
            raise self.unexpected("`max_depth`", help)
        outside = self.enter()
        self.at += 2
        if self.kinds[self.at] is not t.NUMBER or "." in self.texts[self.at]:
            raise self.unexpected("a whole number", help)
        depth = self.number()
        self.expect(")", "to close the bracket", help)
        self.leave(outside)
        return depth

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, help: str) -> n.Expression:
        """A value that must follow on the same line."""
        if self.kinds[self.at] in t.LINE_ENDS:
            raise self.unexpected("a value", help)
        return self.expression()

    def let(self) -> n.Let:
        first = self.at
        at = self.at = first + 1
        keyword = self.texts[first]
        targets: list[n.Name] = []
        destructures = self.kinds[at] == "{"
        if destructures:
            outside = self.enter()
            while self.kinds[self.at] != "}":
                targets.append(self.declared_name("a field's name"))
                if self.kinds[self.at] == ":":
                    raise self.unexpected(
                        "`,` or `}`", "a field keeps its name; write `let x = value.field` for another"
                    )
                if not self.mark(","):
                    break
            self.expect("}", "to close the names, or `,` before the next")
            self.leave(outside)
            if not targets:
                raise self.fail("E005", "no names to declare", self.tokens.span(at), "write `let { a, b } = value`")
        elif self.kinds[at] == "[":
            raise self.unexpected("a name", "lists are taken apart by index: `let a = items[0]`")
        else:
            targets.append(self.declared_name("a name", f"write `{keyword} name = value`"))
        if self.kinds[self.at] == ":":
            raise self.unexpected("`=`", f"variables have no types; write `{keyword} {targets[0].text} = value`")
        if self.kinds[self.at] == "," and not destructures:
            raise self.unexpected("`=`", f"write `{keyword} {{ a, b }} = value` for the fields of an object")
        self.expect("=", "and a value", f"write `{keyword} {targets[0].text} = value`")
        value = self.value(f"write `{keyword} {targets[0].text} = value` on one line")
        return n.Let(self.span_from(self.starts[first]), keyword, tuple(targets), destructures, value)

    def assignment(self) -> n.Assign:
        at = self.at
        target = n.Name(Span(self.starts[at], self.ends[at]), self.texts[at])
        self.check_name(target)
        self.at = at + 2
        value = self.value(f"write `{target.text} = value` on one line")
        return n.Assign(self.span_from(target.span.start), target, value)

    def throw(self) -> n.Throw:
        first = self.at
        self.at = first + 1
        value: n.Text | n.Ref | None = None
        kind = self.kinds[self.at]
        if kind in _STRINGS:
            value = self.text()
        elif kind is t.NAME:
            at = self.at
            if self.texts[at] in t.RESERVED:
                raise self.unexpected("a text in quotes or a caught error", 'write `throw "message"`')
            value = n.Ref(self.tokens.span(at), self.texts[at])
            self.at = at + 1
        elif kind not in t.LINE_ENDS:
            raise self.unexpected("a text in quotes or a caught error", 'write `throw "message"`')
        if self.kinds[self.at] not in t.LINE_ENDS:
            raise self.unexpected("the end of the line", 'write `throw "text with a {value}"`')
        return n.Throw(self.span_from(self.starts[first]), value)

    def return_statement(self) -> n.Return:
        first = self.at
        self.at = first + 1
        value = None if self.kinds[self.at] in t.LINE_ENDS else self.expression()
        return n.Return(self.span_from(self.starts[first]), value)

    def break_statement(self) -> n.Break:
        self.at += 1
        return n.Break(self.tokens.span(self.at - 1))

    def continue_statement(self) -> n.Continue:
        self.at += 1
        return n.Continue(self.tokens.span(self.at - 1))

    def assertion(self) -> n.Assert:
        first = self.at
        self.at = first + 1
        condition = self.condition()
        self.report(
            "W027",
            "`assert`",
            self.tokens.span(first),
            'write `if not condition:` and `throw "message"` in its body',
        )
        message: n.Text | None = None
        if self.mark(","):
            if self.kinds[self.at] not in _STRINGS:
                raise self.unexpected("a message in quotes")
            message = self.text()
        elif self.mark(":"):
            at = self.at
            if self.kinds[at] in _STRINGS:
                message = self.text()
            elif self.kinds[at] is t.NEWLINE and self.column_at(at) > self.column:
                found = self.lines(self.column_at(at), self.assertion_message, self.lost_property_line)
                message = found[0] if found else None
            else:
                raise self.unexpected("a message in quotes below, indented")
        return n.Assert(self.span_from(self.starts[first]), condition, message)

    def assertion_message(self) -> n.Text:
        if self.kinds[self.at] not in _STRINGS:
            raise self.unexpected("a message in quotes")
        return self.text()

    # --- everything else -----------------------------------------------------------------------------------------

    def other_statement(self) -> n.Statement:
        at = self.at
        kind = self.kinds[at]
        if kind is t.NAME:
            return self.name_statement(at)
        if kind in t.LINE_ENDS:
            raise self.unexpected("a statement")
        if kind == "---" or (kind == "-" and self.kinds[at + 1] is t.STRING):
            raise self.unexpected("a statement", "lists are written in brackets: `[a, b]`")
        if kind in _STRINGS:
            value = self.expression()
            if isinstance(value, n.Pipeline):
                return value
            if self.garbled(at - 1):
                raise self.quotes_inside_quotes(at - 2)
            raise self.fail("E005", "a text alone does nothing", value.span, 'write `session "..."` or `let x = "..."`')
        if kind in ("(", "[", "{") or kind is t.NUMBER:
            value = self.expression()
            return self.used(value)
        if kind in _DISCRETIONS:
            raise self.fail(
                "E005", "a question alone does nothing", self.tokens.span(at), 'write `if **...**:` or `session "..."`'
            )
        if self.garbled(at - 1):
            raise self.quotes_inside_quotes(at - 2)
        raise self.unexpected("a statement")

    def name_statement(self, at: int) -> n.Statement:
        """A statement that begins with a name: a call, a pipeline, or a mistake."""
        following = self.kinds[at + 1]
        if self.texts[at] in t.RESERVED:
            raise self.unexpected("a statement")
        if following is t.NAME and self.texts[at] in foreign.FUNCTIONS and self.kinds[at + 2] in ("(", ":"):
            return self.function(at)
        if following == "(" or following == "|" or following in (".", "[") or following is t.FOLD:
            near = following == "(" and self.unknown_call(at)
            if near:
                raise self.unknown_statement(at)
            value = self.expression()
            if self.kinds[self.at] == "=":
                raise self.part_assigned(value)
            return self.used(value)
        if following in ("+=", "-=", "++", "@"):
            self.at = at + 1
            raise self.unexpected("`=`")
        if following == ":" and self.texts[at] in KNOWN:
            raise self.fail(
                "E005",
                f"the property `{self.texts[at]}` belongs to nothing here",
                self.tokens.span(at),
                "properties are indented below a session, resume or agent",
            )
        raise self.unknown_statement(at)

    def function(self, at: int) -> n.Statement:
        """What is called a function and is a block: read as one, so that this is the only mistake."""
        self.diagnostics.append(_diagnostic(self.unknown_statement(at)))
        name = n.Name(self.tokens.span(at + 1), self.texts[at + 1])
        parameters: list[n.Name] = []
        self.skip_line()
        for index in range(at + 3, self.at):
            if self.kinds[index] is t.NAME and self.kinds[index - 1] in ("(", ","):
                parameters.append(n.Name(self.tokens.span(index), self.texts[index]))
        following, end = self.at, self.ends[self.at - 1]
        if self.kinds[following] is t.NEWLINE and self.column_at(following) > self.column:
            body = self.suite(at)
        else:
            body = n.Suite(Span(end, end), ())
        return n.Block(self.span_from(self.starts[at]), name, tuple(parameters), None, body)

    def unknown_call(self, at: int) -> bool:
        """Whether `name(` is a misspelt or foreign word rather than a call."""
        return self.kinds[at + 2] is t.STRING and self.texts[at] in ("exec", "shell", "ask", "gate", "approve")

    def part_assigned(self, value: n.Expression) -> Failure:
        name = value
        while isinstance(name, n.Field | n.Index):
            name = name.value
        shown = name.name if isinstance(name, n.Ref) else "x"
        return self.fail(
            "E005",
            "a part of a value can't be assigned",
            value.span,
            f"assign the whole: `{shown} = ...`",
        )

    def used(self, value: n.Expression) -> n.Statement:
        """A value as a statement: only what does something may be one."""
        if isinstance(value, n.Call | n.Pipeline):
            return value
        if self.kinds[self.at] not in t.LINE_ENDS:
            raise self.not_the_end()
        raise self.fail("E005", "a value alone does nothing", value.span, "write `let x = ...` or `output name = ...`")

    STATEMENTS: ClassVar[Mapping[str, Callable[..., n.Statement]]] = {
        "use": use,
        "import": import_skill,
        "input": input,
        "output": output,
        "agent": agent,
        "block": block,
        "session": ControlParser.value_statement,
        "resume": ControlParser.value_statement,
        "do": ControlParser.value_statement,
        "try": ControlParser.value_statement,
        "parallel": ControlParser.parallel_statement,
        "let": let,
        "const": let,
        "repeat": ControlParser.repeat,
        "for": ControlParser.for_loop,
        "loop": ControlParser.loop,
        "throw": throw,
        "choice": ControlParser.choice,
        "if": ControlParser.if_statement,
        "return": return_statement,
        "break": break_statement,
        "continue": continue_statement,
        "assert": assertion,
        **dict.fromkeys(sorted(t.CLAUSE_WORDS), ControlParser.orphan),
    }

    VALUE_FORMS: ClassVar[Mapping[str, Callable[..., n.Expression]]] = {
        "session": ControlParser.session_value,
        "resume": ControlParser.resume_value,
        "do": ControlParser.do,
        "parallel": ControlParser.parallel,
        "try": ControlParser.try_statement,
        **dict.fromkeys(("if", "choice", "loop", "repeat", "for"), ControlParser.refused_value),
    }


def _diagnostic(failure: Failure) -> Diagnostic:
    assert failure.diagnostic is not None
    return failure.diagnostic
