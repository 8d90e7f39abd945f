"""Expressions of a program as libcst nodes."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

import libcst as cst

from prosec.analysis.model import Analysis, Question, Read, Shape, Unit, Variable
from prosec.analysis.shapes import shape_of
from prosec.emit import literals as py
from prosec.emit.naming import Names
from prosec.source import Source
from prosec.syntax import nodes


class Kind(Enum):
    """What an emitted expression is in Python."""

    VALUE = auto()
    """A Value: its operators are the language's."""
    TEXT = auto()
    """A str."""
    LITERAL = auto()
    """A number, list, dict, True, False or None of Python's own."""
    FLAG = auto()
    """A bool."""
    ERROR = auto()
    """A caught ProseError."""


@dataclass(frozen=True, slots=True)
class Out:
    """An emitted expression; `rank` is how tightly its outermost operator binds, as Python orders them."""

    node: cst.BaseExpression
    kind: Kind
    rank: int = 100


_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _AWAIT = range(1, 9)

_COMPARISONS: dict[str, Callable[[], cst.BaseCompOp]] = {
    "==": cst.Equal,
    "!=": cst.NotEqual,
    "<": cst.LessThan,
    "<=": cst.LessThanEqual,
    ">": cst.GreaterThan,
    ">=": cst.GreaterThanEqual,
    "in": cst.In,
}
_OPPOSITES: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
}
"""`not a == b` is `a != b`; an ordering has no opposite of this kind, because it may be an error."""
_ARITHMETIC: dict[str, tuple[Callable[[], cst.BaseBinaryOp], int]] = {
    "+": (cst.Add, _SUM),
    "-": (cst.Subtract, _SUM),
    "*": (cst.Multiply, _PRODUCT),
    "/": (cst.Divide, _PRODUCT),
    "%": (cst.Modulo, _PRODUCT),
}


class Expressions:
    """Emits operator expressions, texts and questions; what works (sessions, calls) is Statements' part.

    `quote` is the quote that strings inside are written with while an f-string's braces are filled.
    """

    def __init__(self, analysis: Analysis, names: Names, source: Source) -> None:
        self.analysis = analysis
        self.names = names
        self.source = source
        self.unit: Unit | None = analysis.main
        """Where the expression stands; None in an agent's prompt, which sees names through the run alone."""
        self.quote: str | None = None
        self.used: set[str] = set()
        """Names of the runtime that the script needs."""
        self.renamed: dict[Variable, str] = {}
        """Variables that an ordered loop after a concurrent one has at hand under these names."""

    # --- names --------------------------------------------------------------------------------------------------

    def is_local(self, variable: Variable) -> bool:
        """Whether a variable is a plain Python variable in its home function."""
        home = variable.home
        if home is None or (variable.kind == "catch" and len(variable.writes) > 1):
            return False
        return all(read.bound or not read.unit.within(home) for read in variable.reads if read.variable is variable)

    def is_local_in(self, variable: Variable, unit: Unit) -> bool:
        """Whether a variable that several functions bind, each for itself, is a plain Python variable in one of
        them: it is read there after it was bound there, and nothing nested in it binds it."""
        if variable.forced or variable.kind == "catch" or unit.parent is None:
            return False
        nested = any(write.unit is not unit and write.unit.within(unit) for write in variable.writes)
        return not nested and any(read.here and read.unit is unit for read in variable.reads)

    def python_reads(self, variable: Variable) -> bool:
        """Whether some Python code reads a variable by its Python name."""
        if not self.is_local(variable):
            return False
        home = variable.home
        return home is not None and any(
            read.variable is variable and read.unit.within(home) for read in variable.reads
        )

    def reference(self, read: Read) -> Out:
        """The value that a name has at a place."""
        variable = read.variable
        if read.agent is not None:
            latest = self.run_call("latest", None, [py.name(self.names.agents[read.agent.name.text])])
            return Out(latest, Kind.VALUE)
        if variable is not None and self.unit is not None:
            if variable in self.renamed:
                return Out(py.name(self.renamed[variable]), Kind.VALUE)
            home = variable.home
            if home is not None and self.unit.within(home) and self.is_local(variable):
                kind = Kind.ERROR if variable.kind == "catch" else Kind.VALUE
                return Out(py.name(variable.python), kind)
            if read.here and self.unit is read.unit and self.is_local_in(variable, self.unit):
                return Out(py.name(variable.python), Kind.VALUE)
        return self.by_name(read.name)

    def by_name(self, name: str) -> Out:
        return Out(py.subscript(py.name("run"), self._string(name)), Kind.VALUE)

    def _string(self, text: str) -> cst.SimpleString:
        return py.string(text, quote=self.quote)

    def run_call(
        self,
        operation: str,
        place: nodes.Node | None,
        positional: Sequence[cst.BaseExpression] = (),
        keywords: Sequence[tuple[str, cst.BaseExpression]] = (),
    ) -> cst.Call:
        """`run.operation(...)`, marked with the source line of `place`."""
        function = py.attribute(py.name(self.marked("run", place)), operation)
        return py.call(function, positional, keywords)

    def marked(self, name: str, place: nodes.Node | None) -> str:
        if place is None:
            return name
        return f"{py.LINE}{self.source.line_of(place.span.start)}{py.LINE}{name}"

    # --- values -------------------------------------------------------------------------------------------------

    def emit(self, node: nodes.Node) -> Out:
        """An expression of the language; working ones (`await ...`) come from `work`."""
        if isinstance(node, nodes.Text):
            return Out(self.text(node), Kind.TEXT)
        if isinstance(node, nodes.Number):
            return Out(py.number(node.value), Kind.LITERAL)
        if isinstance(node, nodes.Boolean):
            return Out(py.name(str(node.value)), Kind.LITERAL)
        if isinstance(node, nodes.Null):
            return Out(py.name("None"), Kind.LITERAL)
        if isinstance(node, nodes.Ref):
            read = self.analysis.reads.get(node)
            return self.reference(read) if read is not None else self.by_name(node.name)
        if isinstance(node, nodes.ListLiteral):
            return Out(py.listing([self.emit(item).node for item in node.items]), Kind.LITERAL)
        if isinstance(node, nodes.ObjectLiteral):
            entries = [self._entry(entry.key, entry.value) for entry in node.entries]
            return Out(py.dictionary(entries), Kind.LITERAL)
        if isinstance(node, nodes.Field):
            return Out(py.subscript(self._base(node.value), self._string(node.name)), Kind.VALUE)
        if isinstance(node, nodes.Index):
            return Out(py.subscript(self._base(node.value), self.emit(node.index).node), Kind.VALUE)
        if isinstance(node, nodes.Unary):
            return self._unary(node)
        if isinstance(node, nodes.Binary):
            return self._binary(node)
        if isinstance(node, nodes.Logical):
            return self._logical(node, "decide")
        return self.work(node)

    def work(self, node: nodes.Node) -> Out:
        raise TypeError(f"no expression: {type(node).__name__}")

    def _entry(self, key: str, value: nodes.Expression) -> tuple[str, cst.BaseExpression]:
        return key, self.emit(value).node

    def value(self, node: nodes.Node) -> Out:
        """An expression as a Value, whatever it is in Python."""
        return self.lifted(self.emit(node))

    def lifted(self, out: Out) -> Out:
        if out.kind is Kind.VALUE:
            return out
        self.used.add("Value")
        return Out(py.call(py.name("Value"), [out.node]), Kind.VALUE)

    def _base(self, node: nodes.Expression) -> cst.BaseExpression:
        """An expression that a subscript follows."""
        out = self.emit(node)
        if out.kind is not Kind.ERROR:
            out = self.lifted(out)
        return self._wrapped(out, 100)

    def _wrapped(self, out: Out, rank: int) -> cst.BaseExpression:
        return py.parenthesised(out.node) if out.rank < rank else out.node

    def _unary(self, node: nodes.Unary) -> Out:
        if node.operator == "not":
            return self._not(self.truth(node.operand, "decide"))
        if isinstance(node.operand, nodes.Number):
            return Out(py.number(-node.operand.value), Kind.LITERAL, _SIGN)
        operand = self.value(node.operand)
        return Out(cst.UnaryOperation(cst.Minus(), self._wrapped(operand, _SIGN)), Kind.VALUE, _SIGN)

    def _not(self, operand: Out) -> Out:
        node = operand.node
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            return Out(py.call(py.name("bool"), [node.expression.with_changes(lpar=[], rpar=[])]), Kind.FLAG)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1 and not node.lpar:
            opposite = _OPPOSITES.get(type(node.comparisons[0].operator))
            if opposite is not None:
                target = node.comparisons[0].with_changes(operator=opposite())
                return Out(node.with_changes(comparisons=[target]), Kind.FLAG, _COMPARE)
        return self._not_plain(operand)

    def _not_plain(self, operand: Out) -> Out:
        return Out(cst.UnaryOperation(cst.Not(), self._wrapped(operand, _NOT)), Kind.FLAG, _NOT)

    def _binary(self, node: nodes.Binary) -> Out:
        left, right = self.emit(node.left), self.emit(node.right)
        if node.operator == "in":
            right = self.lifted(right)
        elif Kind.VALUE not in (left.kind, right.kind) or (left.kind is Kind.TEXT and node.operator == "%"):
            left = self.lifted(left)
        if node.operator in _COMPARISONS:
            if py.code(left.node) == py.code(right.node):
                # A name compared with itself: what linters take for a slip is what the program says.
                self.used.add("Value")
                left = Out(py.call(py.name("Value"), [left.node]), Kind.VALUE)
            # `x == None` and `x == True` are what linters take for slips.
            if isinstance(node.left, nodes.Boolean | nodes.Null):
                left = self.lifted(left)
            if isinstance(node.right, nodes.Boolean | nodes.Null):
                right = self.lifted(right)
            comparison = cst.Comparison(
                self._wrapped(left, _COMPARE + 1),
                [cst.ComparisonTarget(_COMPARISONS[node.operator](), self._wrapped(right, _COMPARE + 1))],
            )
            return Out(comparison, Kind.FLAG, _COMPARE)
        operator, rank = _ARITHMETIC[node.operator]
        operation = cst.BinaryOperation(self._wrapped(left, rank), operator(), self._wrapped(right, rank + 1))
        return Out(operation, Kind.VALUE, rank)

    def _logical(self, node: nodes.Logical, kind: str, *, as_condition: bool = False) -> Out:
        # What needs no model comes first: it may settle the matter without a call.
        operands = sorted(node.operands, key=self._asks) if as_condition else list(node.operands)
        outs = [
            self.truth(operand, kind) if as_condition or isinstance(operand, nodes.Discretion) else self.emit(operand)
            for operand in operands
        ]
        if not as_condition and any(out.kind is not Kind.FLAG for out in outs):
            outs = [self.lifted(out) for out in outs]
        if node.operator == "and":
            outs = _chained(operands, outs)
        if len(outs) == 1:
            return outs[0]
        rank = _AND if node.operator == "and" else _OR
        operator: type[cst.And] | type[cst.Or] = cst.And if node.operator == "and" else cst.Or
        result = self._wrapped(outs[0], rank)
        for out in outs[1:]:
            result = cst.BooleanOperation(result, operator(), self._wrapped(out, rank + 1))
        values = all(out.kind is Kind.VALUE for out in outs)
        return Out(result, Kind.VALUE if values else Kind.FLAG, rank)

    def both(self, one: Out, other: Out) -> Out:
        """Two conditions, both of which must hold."""
        node = cst.BooleanOperation(self._wrapped(one, _AND), cst.And(), self._wrapped(other, _AND + 1))
        return Out(node, Kind.FLAG, _AND)

    def either(self, one: Out, other: Out) -> Out:
        """Two conditions, one of which must hold."""
        node = cst.BooleanOperation(self._wrapped(one, _OR), cst.Or(), self._wrapped(other, _OR + 1))
        return Out(node, Kind.FLAG, _OR)

    def _asks(self, node: nodes.Node) -> bool:
        """Whether evaluating a condition calls a model."""
        if isinstance(node, nodes.Discretion):
            return self.analysis.questions[node].plain is None
        return any(self._asks(child) for child in nodes.children(node))

    # --- texts --------------------------------------------------------------------------------------------------

    def text(self, node: nodes.Text | nodes.Discretion) -> cst.BaseExpression:
        """A string literal, or an f-string where braces interpolate."""
        multiline = isinstance(node, nodes.Text) and node.triple
        parts: list[str | nodes.Hole] = []
        literal: list[str] = []
        for part in node.parts:
            if isinstance(part, str):
                literal.append(part)
            elif part not in self.analysis.interpolated:
                literal.append(part.text)
            else:
                parts += ["".join(literal), part] if literal else [part]
                literal = []
        if literal:
            parts.append("".join(literal))
        if all(isinstance(part, str) for part in parts):
            plain = "".join(part for part in parts if isinstance(part, str))
            return py.string(plain, multiline=multiline and self.quote is None, quote=self.quote)
        return self._formatted(parts, multiline)

    def _formatted(self, parts: list[str | nodes.Hole], multiline: bool) -> cst.BaseExpression:
        literal = "".join(part for part in parts if isinstance(part, str))
        outer = self.quote
        many = multiline and "\n" in literal
        self.quote = "'" if many or py.quote_for(literal) == '"' else '"'
        filled: list[str | cst.BaseExpression] = []
        codes: list[str] = []
        for part in parts:
            if isinstance(part, str):
                filled.append(part)
                continue
            value = self._filling(part)
            filled.append(value)
            codes.append(py.code(value))
        self.quote = outer
        if outer is not None:
            # Strings within an f-string's braces can't be f-strings with other quotes again before Python 3.12.
            codes = ["\\"]
        return py.formatted(filled, codes, multiline=multiline)

    def _filling(self, hole: nodes.Hole) -> cst.BaseExpression:
        out = self.emit(hole.value)
        if out.kind in (Kind.LITERAL, Kind.FLAG):
            out = self.lifted(out)
        if hole in self.analysis.unfilled:
            return self.run_call("filled", None, [self._string(hole.text), py.thunk(out.node)])
        return out.node

    def prompt(self, node: nodes.Expression) -> cst.BaseExpression:
        """An expression as a str."""
        if isinstance(node, nodes.Text):
            return self.text(node)
        return self._formatted([nodes.Hole(node.span, "", node)], multiline=False)

    # --- conditions ---------------------------------------------------------------------------------------------

    def truth(self, node: nodes.Expression, kind: str) -> Out:
        """A condition: anything that Python's `if` takes as the language would."""
        if isinstance(node, nodes.Discretion):
            question = self.analysis.questions[node]
            if question.plain is not None:
                return self.truth(question.plain, kind)
            return self._question(question)
        if isinstance(node, nodes.Logical):
            return self._logical(node, kind, as_condition=True)
        if isinstance(node, nodes.Unary) and node.operator == "not":
            inner = node.operand
            if isinstance(inner, nodes.Unary) and inner.operator == "not":
                return self.truth(inner.operand, kind)
            return self._not(self.truth(inner, kind))
        out = self.emit(node)
        return out if out.kind is Kind.FLAG else self.lifted(out)

    def _question(self, question: Question) -> Out:
        operation = {"while": "while_"}.get(question.kind, question.kind)
        keywords: list[tuple[str, cst.BaseExpression]] = [("about", self.about(question))]
        loop = question.loop.node if question.loop is not None else None
        if question.kind == "until" and loop in self.analysis.continued:
            keywords.append(("at_top", py.name("True")))
        call = self.run_call(operation, question.node, [self.text(question.node)], keywords)
        return Out(cst.Await(call), Kind.FLAG, _AWAIT)

    def about(self, question: Question) -> cst.BaseExpression:
        """What a question is shown: the bindings that its text names, or what has happened so far."""
        if not question.about:
            return py.attribute(py.name("run"), "so_far")
        entries: list[tuple[str, cst.BaseExpression] | cst.BaseExpression] = []
        unsure: list[cst.BaseExpression] = []
        beside: list[cst.BaseExpression] = []
        for read in question.about:
            if read.beside_callers:
                beside.append(self._string(read.name))
            elif read.bound or (read.variable is not None and read.variable.owner is not None):
                entries.append((read.name, self.reference(read).node))
            else:
                unsure.append(self._string(read.name))
        if beside:
            entries.append(self.run_call("bound", None, beside, [("root", py.name("True"))]))
        if unsure:
            entries.append(self.run_call("bound", None, unsure))
        if len(entries) == 1 and not isinstance(entries[0], tuple):
            return entries[0]
        return py.dictionary(entries)

    # --- shapes -------------------------------------------------------------------------------------------------

    def returns(self, node: nodes.Node) -> cst.BaseExpression | None:
        """The shape that a session is asked for, None for text."""
        return self.shape(shape_of(self.analysis, node))

    def shape(self, shape: Shape) -> cst.BaseExpression | None:
        if shape.list:
            of_objects = shape.item is not None and shape.item.fields and not shape.item.list
            return py.listing([self._fields(shape.item)]) if of_objects and shape.item else py.name("list")
        if shape.fields:
            return self._fields(shape)
        if shape.boolean:
            return py.name("bool")
        if shape.number:
            return py.name("float")
        return None

    def _fields(self, shape: Shape) -> cst.Call:
        self.used.add("Fields")
        names: list[cst.BaseExpression] = []
        typed: list[tuple[str, cst.BaseExpression]] = []
        for name, of_field in shape.fields.items():
            kind = self.shape(of_field)
            if kind is None or not name.isidentifier() or keyword.iskeyword(name) or name == "only" or name.startswith("__"):
                names.append(py.string(name))
            else:
                typed.append((name, kind))
        only = [] if shape.whole else [("only", py.name("True"))]
        return py.call(py.name("Fields"), names, [*typed, *only])


_TURNED: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.GreaterThan,
    cst.LessThanEqual: cst.GreaterThanEqual,
    cst.GreaterThan: cst.LessThan,
    cst.GreaterThanEqual: cst.LessThanEqual,
}


def _chained(operands: Sequence[nodes.Expression], outs: list[Out]) -> list[Out]:
    """`n > 0 and n < 10` as `0 < n < 10`: bounds of one name read as what they are, an interval."""
    found: list[Out] = []
    previous: nodes.Expression | None = None
    for operand, out in zip(operands, outs, strict=True):
        chain = _interval(previous, found[-1].node, operand, out.node) if found and previous is not None else None
        if chain is not None:
            found[-1] = Out(chain, Kind.FLAG, _COMPARE)
            previous = None
        else:
            found.append(out)
            previous = operand
    return found


def _interval(
    one: nodes.Expression, first: cst.BaseExpression, other: nodes.Expression, second: cst.BaseExpression
) -> cst.Comparison | None:
    """The chain that two orderings of the same plain name make, if they do."""
    for node in (one, other):
        if not isinstance(node, nodes.Binary) or node.operator not in ("<", "<=", ">", ">="):
            return None
    lower = _bounds(first)
    upper = _bounds(second)
    for left, operator, middle in (lower, _turned(lower)):
        for again, following, right in (upper, _turned(upper)):
            same = isinstance(middle, cst.Name) and isinstance(again, cst.Name) and middle.value == again.value
            down = isinstance(operator, cst.LessThan | cst.LessThanEqual)
            if same and down == isinstance(following, cst.LessThan | cst.LessThanEqual):
                return cst.Comparison(
                    left, [cst.ComparisonTarget(operator, middle), cst.ComparisonTarget(following, right)]
                )
    return None


_Ordering: TypeAlias = tuple[cst.BaseExpression, cst.BaseCompOp, cst.BaseExpression]


def _bounds(node: cst.BaseExpression) -> _Ordering:
    comparison = cst.ensure_type(node, cst.Comparison)
    target = comparison.comparisons[0]
    return comparison.left, target.operator, target.comparator


def _turned(bounds: _Ordering) -> _Ordering:
    left, operator, right = bounds
    return right, _TURNED[type(operator)](), left
