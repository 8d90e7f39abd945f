"""Operator expressions: literals, names, paths, calls, operators and their precedence, and pipelines over them.

`height` is how deep the tree of the operand parsed last is; chains such as `a + b + c` make it grow without any
recursion here, but whoever walks the tree later recurses through them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar, NamedTuple

from prosec.diagnostics import Edit, Fix
from prosec.source import Span
from prosec.syntax import nodes as n
from prosec.syntax import tokens as t
from prosec.syntax.cursor import MAX_DEPTH, MAX_HEIGHT, Failure
from prosec.syntax.lexer import lex_expression
from prosec.syntax.texts import TextParser
from prosec.syntax.tokens import Tokens

_OR, _AND, _NOT, _COMPARE = 1, 2, 3, 4
_POWERS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "is"), _COMPARE),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys("*/%", 6),
}
_STRINGS = frozenset({t.STRING, t.TRIPLE, t.OPEN_STRING, t.OPEN_TRIPLE, t.QUOTED})
_DISCRETIONS = frozenset({t.DISCRETION, t.OPEN_DISCRETION})
_SPLIT_HELP = "give a part of the expression a name with `let`, then use the name"

FUNCTIONS = {
    "len": "write `x.length`",
    "length": "write `x.length`",
    "count": "write `x.length`",
    "range": "write `repeat 5 as i:`, or list the numbers: `[0, 1, 2]`",
    "append": "write `x = x + [item]`",
    "push": "write `x = x + [item]`",
    "add": "write `x = x + [item]`",
    "map": "write `x | map: ...`",
    "filter": "write `x | filter: ...`",
    "reduce": "write `x | reduce(total, item): ...`",
    "join": 'write `x | reduce(a, b): ...`, or let a session join them: `session "..."` with `context: x`',
    "concat": "write `a + b`",
    "contains": "write `item in x`",
    "includes": "write `item in x`",
    "has": "write `item in x`",
}


class Declared(NamedTuple):
    """What the tokens of a program declare somewhere, as far as that can be guessed."""

    names: frozenset[str]
    """Everything that may be a value."""
    blocks: frozenset[str]
    agents: frozenset[str]
    imports: bool

    @classmethod
    def of(cls, tokens: Tokens) -> Declared:
        kinds, texts = tokens.kinds, tokens.texts
        names = {"item"}
        after: dict[str, set[str]] = {"block": set(), "agent": set(), "use": set()}
        several = False
        for at, kind in enumerate(kinds):
            if kind is t.NAME:
                text, before = texts[at], texts[at - 1]
                if several or kinds[at + 1] == "=" or (before == "session" and kinds[at + 1] == ":") or before in ("as", "input", "output"):
                    names.add(text)
                if before in after:
                    after[before].add(text)
                several = text in ("let", "const", "for", "block", "reduce") or (several and text != "in")
            elif kind == "=" or kind == ":" or kind is t.NEWLINE:
                several = False
            elif kinds[at - 1] is t.NAME and texts[at - 1] in ("use", "import"):
                after["use"].add("")
        return cls(frozenset(names), frozenset(after["block"]), frozenset(after["agent"]), bool(after["use"]))


class ExpressionParser(TextParser):
    """Parses values. What is also a statement (sessions, parallel, ...) is parsed by its subclasses."""

    VALUE_FORMS: ClassVar[Mapping[str, Callable[..., n.Expression]]] = {}
    """Of the words that begin a value which is no operator expression, the methods that parse it."""

    height = 1
    # The bracket indices of the parenthesised expression that ended last.
    _bracketed = (-1, -1)

    def expression(self) -> n.Expression:
        """Any value: an operator expression, a session and the like, or a pipeline over either."""
        start = self.at
        value: n.Expression
        if self.kinds[start] is t.NAME and (form := self.VALUE_FORMS.get(self.texts[start])) is not None:
            value = form(self)
            self.height = 1
        else:
            value = self.operation(0)
        if self.stage_body:
            return value
        kind = self.kinds[self.at]
        if kind == "|" or kind is t.FOLD:
            return self.piped(value, start)
        return value

    def condition(self) -> n.Expression:
        """A value in which `**...**` is a question."""
        asking, self.asking = self.asking, True
        first = self.at
        if self.kinds[first] == ":":
            raise self.unexpected("a condition", "write a comparison, or a question: `**the draft is good**`")
        value = self.operation(0)
        self.asking = asking
        at = self.at
        if isinstance(value, n.Binary) and value.operator == "==" and self.two_words(first):
            self.condition_in_words(value.span)
            return n.Discretion(value.span, (self.source.slice(value.span),))
        if not isinstance(value, n.Ref | n.Binary):
            self.refuse_texts(value)
        if self.kinds[at - 1] is t.NAME and (refused := self.foreign_value(at - 1)) is not None:
            raise refused
        if (self.kinds[at] is t.NAME and self.texts[at] not in ("as", "not")) or self.kinds[at] in _STRINGS:
            words = self.source.text[value.span.start : self.ends[self.last_on_line(at)]].rstrip(" :")
            if isinstance(value, n.Ref | n.Unary | n.Binary | n.Logical):
                self.condition_in_words(Span(value.span.start, value.span.start + len(words)))
                raise Failure(None)
        return value

    def condition_in_words(self, span: Span) -> None:
        words = self.source.slice(span)
        edits = (Edit(Span(span.start, span.start), "**"), Edit(Span(span.end, span.end), "**"))
        fix = None if "*" in words else Fix("ask the model", edits)
        self.report("E005", "a condition in words stands between `**`", span, f"write `**{words[:60]}**`", fix)

    def two_words(self, first: int) -> bool:
        """Whether the tokens from an index to here are `it is good`, of words that the program never declares."""
        if self.at != first + 3 or self.texts[first + 1] != "is":
            return False
        words = self.texts[first], self.texts[first + 2]
        if self.kinds[first] is not t.NAME or self.kinds[first + 2] is not t.NAME or not t.RESERVED.isdisjoint(words):
            return False
        return self.declared.names.isdisjoint(words) and not self.declared.imports

    def refuse_texts(self, value: n.Expression) -> None:
        """Report literal texts which are a whole condition, or an operand of its `and`, `or` or `not`."""
        if isinstance(value, n.Logical):
            for operand in value.operands:
                self.refuse_texts(operand)
        elif isinstance(value, n.Unary) and value.operator == "not":
            self.refuse_texts(value.operand)
        elif isinstance(value, n.Text):
            source = self.source.slice(value.span)
            marks = '"""' if source.startswith('"""') else '"'
            if not source.startswith(marks) or not source.endswith(marks) or len(source) < 2 * len(marks):
                return
            words = source[len(marks) : -len(marks)]
            if len(value.parts) == 1 and isinstance(value.parts[0], n.Hole):
                return
            fix = None
            if words.strip() and "*" not in words and "\\" not in words:
                stars = "***" if "\n" in words else "**"
                fix = Fix("ask the model", (Edit(value.span, f"{stars}{words.strip()}{stars}"),))
            self.report(
                "E005",
                "a text is no condition",
                value.span,
                f"write `**{' '.join(words.split())[:60] or 'the draft is good'}**` to ask the model",
                fix,
            )

    def last_on_line(self, at: int) -> int:
        """The index of the last token before the end of the line or a colon."""
        while self.kinds[at] not in t.LINE_ENDS and self.kinds[at] != ":":
            at += 1
        return at - 1

    # --- operators -----------------------------------------------------------------------------------------------

    def operation(self, floor: int) -> n.Expression:
        """An operator expression whose operators bind more tightly than `floor`."""
        start = self.at
        left = self.operand()
        power = _POWERS.get(self.texts[self.at])
        if power is None or power <= floor:
            return left
        return self.chain(left, start, floor)

    def chain(self, left: n.Expression, first: int, floor: int) -> n.Expression:
        start = self.starts[first]
        texts = self.texts
        height = self.height
        compared = -1
        while True:
            at = self.at
            operator = texts[at]
            power = _POWERS.get(operator)
            if power is None or power <= floor:
                self.height = height
                return left
            self.at = at + 1
            if power == _COMPARE:
                if compared >= 0:
                    raise self.chained(compared, at)
                if operator == "is":
                    operator = "=="
                    if texts[at + 1] == "not" and self.kinds[at + 1] is t.NAME:
                        span = Span(self.starts[at], self.ends[at + 1])
                        fix = Fix("write `!=`", (Edit(span, "!="),), safe=True)
                        raise self.fail("E005", "there is no `is not`", span, "write `!=`", fix)
                compared = at
            else:
                compared = -1
            self.depth += 1
            right = self.operation(power)
            if power <= _AND:
                operands = [left, right]
                height = max(height, self.height)
                while texts[self.at] == operator:
                    self.at += 1
                    operands.append(self.operation(power))
                    height = max(height, self.height)
                left = n.Logical(Span(start, self.ends[self.at - 1]), operator, tuple(operands))
            else:
                height = max(height, self.height)
                left = n.Binary(Span(start, self.ends[self.at - 1]), operator, left, right)
            self.depth -= 1
            height += 1
            if height > MAX_HEIGHT or height + self.depth > MAX_DEPTH:
                raise self.too_deep(self.tokens.span(at), _SPLIT_HELP)

    def chained(self, first: int, second: int) -> Failure:
        span = Span(self.starts[first], self.ends[second])
        return self.fail(
            "E005", "comparisons can't be chained", span, "compare twice, joined by `and`: `a < b and b < c`"
        )

    def operand(self) -> n.Expression:
        """One operand with its signs and everything behind it that belongs to it."""
        at = self.at
        kind = self.kinds[at]
        value: n.Expression
        if kind is t.NAME:
            text = self.texts[at]
            self.at = at + 1
            if text == "not":
                return self.negation(at)
            if text in t.RESERVED:
                value = self.reserved_value(at, text)
            elif self.kinds[at + 1] == "(":
                if self.modifiers_follow(at + 1):
                    self.height = 1
                    return n.Ref(Span(self.starts[at], self.ends[at]), text)
                value = self.call(at)
            else:
                value = n.Ref(Span(self.starts[at], self.ends[at]), text)
            self.height = 1
        elif kind in _STRINGS:
            value = self.text()
            self.height = 1
        elif kind is t.NUMBER:
            value = self.number()
            self.height = 1
        elif kind == "[":
            value = self.list_literal()
        elif kind == "{":
            value = self.object_literal()
        elif kind == "(":
            value = self.brackets()
        elif kind == "-":
            return self.negative()
        elif kind in _DISCRETIONS:
            value = self.discretion()
            self.height = 1
            if not self.asking:
                self.report(
                    "W027",
                    "`**...**` as a value",
                    value.span,
                    'write a session: `session "..."` with what it needs as `context:`',
                )
        else:
            raise self.unexpected("a value")
        following = self.kinds[self.at]
        if following == "." or following == "[":
            return self.path_after(value, at)
        return value

    def negation(self, at: int) -> n.Unary:
        self.deeper(1)
        operand = self.operation(_NOT)
        return self.unary("not", operand, at)

    def negative(self) -> n.Unary:
        at = self.at
        self.at = at + 1
        self.deeper(1)
        operand = self.operand()
        return self.unary("-", operand, at)

    def unary(self, operator: str, operand: n.Expression, at: int) -> n.Unary:
        self.depth -= 1
        self.height += 1
        if self.height > MAX_HEIGHT or self.height + self.depth > MAX_DEPTH:
            raise self.too_deep(self.tokens.span(at), _SPLIT_HELP)
        return n.Unary(self.span_from(self.starts[at]), operator, operand)

    def reserved_value(self, at: int, text: str) -> n.Expression:
        span = Span(self.starts[at], self.ends[at])
        if text == "true" or text == "false":
            return n.Boolean(span, text == "true")
        if text == "null":
            return n.Null(span)
        self.at = at
        if text in self.VALUE_FORMS:
            raise self.fail(
                "E005", f"`{text}` can't be an operand", span, "give it a name first: `let x = ...`, then use `x`"
            )
        raise self.unexpected("a value", f"`{text}` is a reserved word and can't be a name")

    def number(self) -> n.Number:
        at = self.at
        text = self.texts[at]
        if len(text) > 100:
            raise self.fail("E005", "this number is too long", self.tokens.span(at), "write at most 100 digits")
        self.at = at + 1
        return n.Number(Span(self.starts[at], self.ends[at]), text)

    # --- paths and calls -----------------------------------------------------------------------------------------

    def path_after(self, value: n.Expression, first: int) -> n.Expression:
        """The `.field` and `[index]` behind a value."""
        start = self.starts[first]
        height = self.height
        while True:
            at = self.at
            kind = self.kinds[at]
            if kind == ".":
                self.at = at + 1
                if self.kinds[at + 1] is not t.NAME:
                    raise self.unexpected("a field's name", "an item of a list is written `x[0]`")
                self.at = at + 2
                name = Span(self.starts[at + 1], self.ends[at + 1])
                if self.kinds[at + 2] == "(" and not self.modifiers_follow(at + 2):
                    raise self.function_call(Span(start, name.end), self.texts[at + 1])
                value = n.Field(Span(start, name.end), value, self.texts[at + 1], name)
            elif kind == "[":
                outside = self.enter()
                index = self.expression()
                self.expect("]", "to close the index")
                self.leave(outside)
                height = max(height, self.height)
                value = n.Index(Span(start, self.ends[self.at - 1]), value, index)
            else:
                self.height = height
                return value
            height += 1
            if height > MAX_HEIGHT or height + self.depth > MAX_DEPTH:
                raise self.too_deep(self.tokens.span(at), _SPLIT_HELP)

    def modifiers_follow(self, at: int) -> bool:
        """Whether the bracket at an index holds the modifiers of the loop whose header this is."""
        words = self.modifier_words
        if not words:
            return False
        if self.kinds[at + 1] is t.STRING:
            return "count" in words
        return self.texts[at + 1] in words and self.kinds[at + 2] == ":"

    def call(self, at: int) -> n.Call:
        """`name(input: value, ...)`, from the bracket after the name at an index."""
        name = n.Name(Span(self.starts[at], self.ends[at]), self.texts[at])
        arguments: list[n.Argument] = []
        outside = self.enter()
        while self.kinds[self.at] != ")":
            if self.kinds[self.at] is not t.NAME or self.kinds[self.at + 1] != ":":
                if self.kinds[self.at] in t.LINE_ENDS:
                    raise self.unexpected("an argument")
                raise self.no_program(name)
            arguments.append(self.named_argument())
            if not self.mark(","):
                break
        self.expect(")", "to close the arguments")
        self.leave(outside)
        return n.Call(self.span_from(name.span.start), name, tuple(arguments))

    def named_argument(self) -> n.Argument:
        name = self.plain_name("an argument's name")
        self.at += 1
        value = self.expression()
        return n.Argument(self.span_from(name.span.start), name, value)

    def no_program(self, name: n.Name) -> Failure:
        """The failure that the name is called as a function is, by arguments without names."""
        at = self.open[-1]
        if (refused := self.foreign_value(at - 1)) is not None:
            return refused
        start = Span(name.span.start, name.span.start)
        if name.text in self.declared.blocks:
            fix = Fix("write `do`", (Edit(start, "do "),))
            return self.fail("E005", "a block is run by `do`", name.span, f"write `do {name.text}(...)`", fix)
        if name.text in self.declared.agents:
            help, whole_fix = f'write `session: {name.text}`, with a text behind it or `prompt: "..."` below', None
            if self.kinds[at + 1] is t.STRING and self.kinds[at + 2] == ")":
                text = self.source.slice(self.tokens.span(at + 1))
                whole = Span(name.span.start, self.ends[at + 2])
                whole_fix = Fix("write `session:`", (Edit(whole, f"session: {name.text} {text}"),))
                help = f"write `session: {name.text} {text[:60]}`"
            return self.fail("E005", "an agent is called by `session:`", name.span, help, whole_fix)
        return self.function_call(name.span, name.text)

    def function_call(self, span: Span, name: str) -> Failure:
        help = FUNCTIONS.get(
            name.lower(),
            "a block is run by `do name(...)`, an imported program called by `name(input: value)`; "
            "ask a session for everything else",
        )
        return self.fail("E005", "there are no functions and methods to call", span, help)

    def enter(self) -> tuple[bool, frozenset[str]]:
        """Step over an opening bracket; returns what `leave` restores behind the closing one."""
        self.open.append(self.at)
        self.at += 1
        self.deeper(2)
        outside = self.stage_body, self.modifier_words
        self.stage_body, self.modifier_words = False, frozenset()
        return outside

    def leave(self, outside: tuple[bool, frozenset[str]]) -> None:
        self.stage_body, self.modifier_words = outside
        self.depth -= 2
        self.open.pop()

    # --- brackets ------------------------------------------------------------------------------------------------

    def brackets(self) -> n.Expression:
        """`(value)`"""
        opening = self.at
        outside = self.enter()
        value = self.expression()
        if self.kinds[self.at] == ",":
            raise self.unexpected("`)`", "a list is written in square brackets: `[a, b]`")
        self.expect(")", "to close the bracket")
        self.leave(outside)
        self._bracketed = (opening, self.at - 1)
        return value

    def list_literal(self) -> n.ListLiteral:
        opening = self.at
        outside = self.enter()
        items: list[n.Expression] = []
        height = 0
        while self.kinds[self.at] != "]":
            items.append(self.expression())
            height = max(height, self.height)
            if not self.mark(","):
                break
        self.expect("]", "to close the list, or `,` before the next item")
        self.leave(outside)
        self.height = self.grown(height, opening)
        return n.ListLiteral(self.span_from(self.starts[opening]), tuple(items))

    def object_literal(self) -> n.ObjectLiteral:
        opening = self.at
        outside = self.enter()
        entries: list[n.Entry] = []
        height = 0
        while self.kinds[self.at] != "}":
            entries.append(self.entry())
            height = max(height, self.height)
            if not self.mark(","):
                break
        self.expect("}", "to close the object, or `,` before the next entry")
        self.leave(outside)
        self.height = self.grown(height + 1, opening)
        return n.ObjectLiteral(self.span_from(self.starts[opening]), tuple(entries))

    def grown(self, height: int, at: int) -> int:
        if height >= MAX_HEIGHT or height + self.depth >= MAX_DEPTH:
            raise self.too_deep(self.tokens.span(at), _SPLIT_HELP)
        return height + 1

    def entry(self) -> n.Entry:
        """`name`, `name.field` or `key: value`."""
        at = self.at
        kind = self.kinds[at]
        start = self.starts[at]
        if self.kinds[at + 1] == ":":
            if kind is t.NAME:
                key = self.texts[at]
            elif kind is t.STRING or kind is t.TRIPLE:
                text = self.text()
                key = text.plain
                self.at = at
            else:
                raise self.unexpected("a key", "a key is a name or a string")
            self.at = at + 2
            value = self.expression()
            return n.Entry(self.span_from(start), key, Span(start, self.ends[at]), value, False)
        if kind is not t.NAME:
            raise self.unexpected("an entry, `name` or `key: value`")
        if self.texts[at] in t.RESERVED:
            raise self.unexpected("an entry, `name` or `key: value`", "this word is reserved; write `key: value`")
        name: n.Expression = n.Ref(self.tokens.span(at), self.texts[at])
        self.at = at + 1
        self.height = 1
        if self.kinds[self.at] == "." or self.kinds[self.at] == "[":
            name = self.path_after(name, at)
        if isinstance(name, n.Index):
            raise self.fail("E005", "this entry needs a key", name.span, "write `key: value`")
        if isinstance(name, n.Field):
            return n.Entry(name.span, name.name, name.name_span, name, True)
        return n.Entry(name.span, self.texts[at], name.span, name, True)

    # --- what the program declares --------------------------------------------------------------------------------

    @cached_property
    def declared(self) -> Declared:
        """What the tokens of the whole program declare; only mistakes ask for it."""
        return Declared.of(self.tokens)

    # --- what the subclasses know --------------------------------------------------------------------------------

    def piped(self, value: n.Expression, first: int) -> n.Expression:
        """A value with the `| map: ...` behind it, if any belong to it; there are none in a hole."""
        return value

    def operator_value(self, value: n.Expression, first: int) -> bool:
        """Whether a value, from the token at `first` to here, has an operator outside brackets."""
        if not isinstance(value, n.Binary | n.Logical | n.Unary):
            return False
        return self._bracketed != (first, self.at - 1)

    def operation_in_hole(self, start: int, end: int) -> n.Expression | None:
        parser = ExpressionParser(self.source, lex_expression(self.source.text, start, end))
        parser.depth = 100
        if not _spaced(parser):
            return None
        try:
            value = parser.operation(0)
        except Failure:
            return None
        if parser.kinds[parser.at] is not t.END or parser.diagnostics:
            return None
        return value if isinstance(value, n.Binary | n.Logical | n.Unary) else None


def _is_operator(word: str) -> bool:
    return word in _POWERS or word == "not"


def _spaced(parser: ExpressionParser) -> bool:
    """Whether the tokens of a hole have a name, no word that is none, and spaces around their operators."""
    text = parser.source.text
    named = False
    for at, kind in enumerate(parser.kinds):
        word = parser.texts[at]
        if kind is t.NAME and not _is_operator(word):
            named = True
        elif word in _POWERS and kind is not t.NAME:
            before = text[parser.starts[at] - 1 : parser.starts[at]]
            after = text[parser.ends[at] : parser.ends[at] + 1]
            if word == "-" and (at == 0 or parser.texts[at - 1] in _POWERS or parser.kinds[at - 1] in ("(", "[", ",")):
                continue
            if before not in (" ", "\t") or after not in (" ", "\t"):
                return False
        elif (
            kind in _DISCRETIONS
            or kind == "{"
            or kind is t.OPEN_STRING
            or (kind == "(" and at and parser.kinds[at - 1] is t.NAME and not _is_operator(parser.texts[at - 1]))
        ):
            return False
    return named
