"""The syntax tree: one frozen class per construct, each with its span.

Nodes compare and hash by identity, so that later stages can keep what they learn in dictionaries keyed by node.
A statement that could not be parsed leaves a `Broken` node, which names what the lost statement would have
declared, so that one mistake is one error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeAlias

from prosec.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """An identifier where something is declared, or where an agent, block or program is named."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Comment(Node):
    """A comment; `text` is all of it from the `#`. `own_line` when nothing but space stands before it."""

    text: str
    own_line: bool


# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Hole(Node):
    """Braces in a text that may be an interpolation: `{name.path}` or an operator expression.

    Whether it is one depends on what is declared; analysis decides. `text` is the braces and what is in them as
    the literal text it is otherwise (escapes resolved).
    """

    text: str
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Text(Node):
    """A string. `parts` are literal pieces (escapes resolved, never empty, never two in a row) and holes."""

    parts: tuple[str | Hole, ...]
    triple: bool

    @property
    def plain(self) -> str:
        """The text with every hole as literal text."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Discretion(Node):
    """`**text**`: a question to the model. `parts` as in Text, lines joined by single spaces, trimmed."""

    parts: tuple[str | Hole, ...]

    @property
    def plain(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Number(Node):
    """A numeral; `text` as written, without a sign (a leading `-` is a Unary)."""

    text: str

    @property
    def value(self) -> int | float:
        return float(self.text) if "." in self.text else int(self.text)


@dataclass(frozen=True, slots=True, eq=False)
class Boolean(Node):
    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class Null(Node):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Ref(Node):
    """A name used as a value."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ListLiteral(Node):
    """`[a, b]`; `dashed` when it was written as a list of `- item` lines."""

    items: tuple[Expression, ...]
    dashed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Node):
    """One entry of an object: `name`, `name.field` (key: its last name) or `key: value`."""

    key: str
    key_span: Span
    value: Expression
    shorthand: bool


@dataclass(frozen=True, slots=True, eq=False)
class ObjectLiteral(Node):
    """`{ a, b: x }`; `nested` when it was written as an indented list of `name: value` lines."""

    entries: tuple[Entry, ...]
    nested: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Field(Node):
    """`value.name`."""

    value: Expression
    name: str
    name_span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    """`value[index]`."""

    value: Expression
    index: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """`not x` or `-x`; operator is "not" or "-"."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """A comparison (== != < <= > >= in) or arithmetic (+ - * / %)."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Logical(Node):
    """`a or b or c`, `a and b`; one node per run of the same operator ("and" or "or")."""

    operator: str
    operands: tuple[Expression, ...]


# --- properties --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PermissionRule(Node):
    """`read: ["src/**"]` or `bash: deny`. The value is whatever expression was written; checks judge it."""

    name: Name
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Permissions(Node):
    rules: tuple[PermissionRule, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Property(Node):
    """`name: value` under a session, resume or agent. Unknown names are kept; checks judge them.

    A bare word (`model: opus`, `backoff: linear`, `persist: project`) is a Ref here.
    """

    name: Name
    value: Expression | Permissions


# --- what calls a model, and other expressions that are also statements ------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Session(Node):
    """`session "text"`, `session: agent "text"`, `session name: agent`, `session:`, with properties."""

    text: Text | None
    agent: Name | None
    name: Name | None
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Resume(Node):
    agent: Name
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Argument(Node):
    """An argument of `do name(...)` or of a call; `name` is None for a positional one."""

    name: Name | None
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class DoCall(Node):
    """`do name(arguments)`: a block invocation."""

    name: Name
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """`name(input: value)`: a call of an imported program."""

    name: Name
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DoBlock(Node):
    """`do:` and a suite; its value is the last statement's."""

    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class Arrow(Node):
    """`session ... -> session ...`: two or more steps in sequence."""

    steps: tuple[Session, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stage(Node):
    """One `| map: body` of a pipeline. `operator` as written (checks judge it); `names` are reduce's two."""

    operator: Name
    names: tuple[Name, ...]
    body: Suite | Discretion


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline(Node):
    source: Expression
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Modifier(Node):
    """One entry of `("any", count: 2, on-fail: "continue")`.

    `name` is "strategy" for the unnamed string, else as written. A bare word value is a Ref.
    """

    name: str
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Branch(Node):
    """One branch of a parallel; `declared` when written with `let`."""

    name: Name | None
    body: Statement
    declared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Parallel(Node):
    modifiers: tuple[Modifier, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Catch(Node):
    """`catch as name:`; the span is the whole clause."""

    name: Name | None
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class Try(Node):
    body: Suite
    catch: Catch | None
    final: Suite | None


# --- statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Suite(Node):
    """An indented run of statements, possibly empty."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Use(Node):
    path: Text
    alias: Name | None


@dataclass(frozen=True, slots=True, eq=False)
class ImportSkill(Node):
    """The older `import "skill" from "source"`."""

    skill: Text
    origin: Text


@dataclass(frozen=True, slots=True, eq=False)
class Input(Node):
    """`input name: "description"`; `name` is None when it is missing or empty (E020 has been judged)."""

    name: Name | None
    description: Text | Discretion | None


@dataclass(frozen=True, slots=True, eq=False)
class Output(Node):
    """`output name = value`, or `output value` (name None)."""

    name: Name | None
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Agent(Node):
    name: Name
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block(Node):
    name: Name
    parameters: tuple[Name, ...]
    max_depth: Number | None
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class Let(Node):
    """`let x = value`, `const x = value`, `let { a, b } = value`."""

    keyword: str
    targets: tuple[Name, ...]
    destructures: bool
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    target: Name
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(Node):
    count: Expression
    index: Name | None
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """`for item, index in items`; `item` and `index` are as meant (`for i, x` has been turned round)."""

    concurrent: bool
    item: Name
    index: Name | None
    items: Expression
    modifiers: tuple[Modifier, ...]
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Node):
    """`kind` is "until", "while" or None (no condition)."""

    kind: str | None
    condition: Expression | None
    max: Expression | None
    index: Name | None
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class Clause(Node):
    """`if condition:` or `elif condition:` with its suite."""

    condition: Expression
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    clauses: tuple[Clause, ...]
    otherwise: Suite | None


@dataclass(frozen=True, slots=True, eq=False)
class Option(Node):
    label: Text
    body: Suite


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Node):
    criterion: Discretion
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Throw(Node):
    """`throw`, `throw "text"` or `throw err`."""

    value: Text | Ref | None


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    value: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Break(Node):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Node):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Node):
    condition: Expression
    message: Text | None


@dataclass(frozen=True, slots=True, eq=False)
class Broken(Node):
    """A statement that could not be parsed: the names it would have declared, the statements in its body."""

    names: tuple[str, ...]
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Program(Node):
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...]


Expression: TypeAlias = (
    Text
    | Discretion
    | Number
    | Boolean
    | Null
    | Ref
    | ListLiteral
    | ObjectLiteral
    | Field
    | Index
    | Unary
    | Binary
    | Logical
    | Session
    | Resume
    | DoCall
    | Call
    | DoBlock
    | Arrow
    | Pipeline
    | Parallel
    | Try
)

Statement: TypeAlias = (
    Use
    | ImportSkill
    | Input
    | Output
    | Agent
    | Block
    | Session
    | Resume
    | Let
    | Assign
    | DoBlock
    | DoCall
    | Call
    | Arrow
    | Pipeline
    | Parallel
    | Repeat
    | For
    | Loop
    | Try
    | Throw
    | Return
    | Break
    | Continue
    | Assert
    | Choice
    | If
    | Broken
    | Text
    | Discretion
    | Number
    | Boolean
    | Null
    | Ref
    | ListLiteral
    | ObjectLiteral
    | Field
    | Index
    | Unary
    | Binary
    | Logical
)
"""A statement. The operator expressions at the end stand only as the body of a parallel branch or a pipeline
stage on one line (`x | map: item + 1`); anywhere else the parser refuses a bare value."""


def _fields_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a node class that can hold nodes, by their annotations."""
    leaves = {"Span", "str", "bool", "str | None", "tuple[str, ...]", "int"}
    return tuple(field.name for field in fields(kind) if str(field.type) not in leaves)


_CHILDREN: dict[type[Node], tuple[str, ...]] = {
    kind: _fields_of(kind) for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Node)
}


def children(parent: Node) -> Iterator[Node]:
    """The nodes directly under one, in written order."""
    for name in _CHILDREN[type(parent)]:
        value = getattr(parent, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item
