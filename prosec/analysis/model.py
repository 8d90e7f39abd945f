"""What analysis learns about a program: scopes, variables, reads and writes, units, shapes, questions.

A *scope* is the root or a block: names live there. A *unit* is a function that will be emitted: the root's or a
block's own, and the nested ones that branches, concurrent rounds and pipeline bodies become. A variable that only
one unit writes can be a plain Python variable there; everything else goes through the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prosec.diagnostics import Diagnostic
from prosec.source import Span
from prosec.syntax import nodes

VariableKind: TypeAlias = Literal["let", "const", "input", "output", "parameter", "item", "index", "catch"]


class Unit:
    """One function to be emitted. `node` is None for the root's own, a Block, or what became nested."""

    __slots__ = ("depth", "loop", "node", "parent", "scope")

    def __init__(self, scope: Scope, node: nodes.Node | None, parent: Unit | None, loop: Loop | None) -> None:
        self.scope = scope
        self.node = node
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.loop = loop
        """The innermost loop of the parent unit that the nested function is defined in, if any."""

    def within(self, other: Unit) -> bool:
        """Whether this is `other` or nested in it, however deep."""
        unit: Unit | None = self
        while unit is not None and unit.depth >= other.depth:
            if unit is other:
                return True
            unit = unit.parent
        return False


class Loop:
    """A loop that is being walked: where `break` leads, and which unit it runs in."""

    __slots__ = ("breaks", "concurrent", "continues", "depth", "node", "parent", "unit")

    def __init__(self, node: nodes.Node, unit: Unit, parent: Loop | None) -> None:
        self.node = node
        self.unit = unit
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.breaks: list[tuple[int, int]] = []
        self.continues: list[tuple[int, int]] = []


class Arm:
    """A suite on the way from the root to a statement: which construct it belongs to, and as which arm of it."""

    __slots__ = ("depth", "index", "left", "owner", "parent")

    def __init__(self, owner: nodes.Node | None, index: int, parent: Arm | None) -> None:
        self.owner = owner
        self.index = index
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.left = False
        """Every path through it throws, returns or jumps away."""

    def around(self) -> Iterator[Arm]:
        """The suites that this one is nested in, innermost first."""
        arm = self.parent
        while arm is not None:
            yield arm
            arm = arm.parent

    def excludes(self, other: Arm) -> bool:
        """Whether no path through the program takes both."""
        one: Arm = self
        two: Arm = other
        while one.depth > two.depth and one.parent:
            one = one.parent
        while two.depth > one.depth and two.parent:
            two = two.parent
        while one is not two and one.parent and two.parent:
            if one.owner is two.owner:
                return isinstance(one.owner, nodes.If | nodes.Choice | nodes.Try) and 2 not in (
                    (one.index, two.index) if isinstance(one.owner, nodes.Try) else ()
                )
            one, two = one.parent, two.parent
        return False


@dataclass(slots=True, eq=False)
class Write:
    """One place that gives a variable a value; `value` is None for loop items, parameters and the like."""

    span: Span
    unit: Unit
    arm: Arm
    loop: Loop | None
    value: nodes.Node | None
    declares: bool


class Variable:
    """One name in one scope, or one that a construct owns (loop item, pipeline item, caught error)."""

    __slots__ = (
        "arms",
        "bit",
        "by_name",
        "forced",
        "kind",
        "name",
        "owner",
        "places",
        "python",
        "reads",
        "result",
        "scope",
        "shape",
        "span",
        "writes",
    )

    def __init__(self, name: str, kind: VariableKind, scope: Scope, span: Span, owner: nodes.Node | None) -> None:
        self.name = name
        self.kind: VariableKind = kind
        self.scope = scope
        self.span = span
        self.owner = owner
        """The construct that owns it; None for a name of the scope itself."""
        self.bit = 0
        self.arms: dict[Arm, bool] = {}
        """The suites that bind it; true for those that declare it."""
        self.places: set[tuple[Unit, Arm]] = set()
        """In which functions and suites it is bound."""
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.forced = False
        """Some other function writes it by name, so it can't be a Python variable."""
        self.by_name = False
        """Some other function looks it up by name, so the run must know it."""
        self.result = False
        """Whether its value may come from a model."""
        self.shape = Shape()
        self.python = ""
        """Its name in the emitted function."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def home(self) -> Unit | None:
        """The one unit that writes it, if there is just one and it can be a Python variable there."""
        if self.forced:
            return None
        units = {write.unit for write in self.writes}
        return units.pop() if len(units) == 1 else None


class Scope:
    """The root (`block` is None) or one block's names."""

    __slots__ = (
        "assigned",
        "block",
        "bound",
        "callers",
        "calls",
        "names",
        "outputs",
        "outputs_named",
        "parameters",
        "reads",
        "shape",
    )

    def __init__(self, block: nodes.Block | None) -> None:
        self.block = block
        self.names: dict[str, Variable] = {}
        self.calls: list[CallSite] = []
        """Block invocations written in this scope."""
        self.callers: list[CallSite] = []
        """Invocations of this block."""
        self.parameters: list[Variable] = []
        self.reads: list[Read] = []
        """Every use of a name here, holes that turn out to be text not included."""
        self.assigned: dict[str, Write] = {}
        """Names assigned here that are not this scope's own."""
        self.bound = -1
        """Variables of the root that certainly have a value whenever this block is called."""
        self.shape = Shape()
        """How the values of its invocations are used."""
        self.outputs: dict[str, list[tuple[Arm, Span]]] = {}
        self.outputs_named: list[str] = []
        """The names of all `output name = ...` written in it, each once."""


@dataclass(slots=True, eq=False)
class CallSite:
    """One `do name(...)`: who calls whom, what the caller's constructs own there, what is bound there."""

    node: nodes.DoCall
    scope: Scope
    environment: dict[str, Variable]
    bound: int
    loop: Loop | None


@dataclass(slots=True, eq=False)
class Read:
    """One use of a name as a value.

    `variable` is the variable of the own scope, or None when the name is looked up at run time (in callers, the
    root, among names that a block left); `root` then is the root's variable that the lookup may find; `agent` is
    set when the name is an agent's. `bound` tells that there certainly is a value.
    """

    node: nodes.Node
    name: str
    use: Use
    unit: Unit
    loop: Loop | None
    variable: Variable | None
    bound: bool
    agent: nodes.Agent | None = None
    root: Variable | None = None
    here: bool = False
    """The function that reads it has bound it before, on every path."""
    beside_callers: bool = False
    """The root's variable is meant although a caller has one of that name (in questions)."""


# --- shapes ------------------------------------------------------------------------------------------------------


_PARTS = 4
"""How many levels of parts of a value are told apart."""


@dataclass(slots=True, eq=False)
class Shape:
    """How a value is used, gathered from everything that reads it.

    `fields` are those of an object, each with how it is used itself; `item` is how a list's items are used.
    """

    list: bool = False
    number: bool = False
    boolean: bool = False
    fields: dict[str, Shape] = field(default_factory=dict)
    whole: bool = False
    item: Shape | None = None

    def add(self, other: Shape, depth: int = 0) -> bool:
        """Take in the uses of another; tells whether that changed anything.

        Uses of parts of parts are followed a few levels down: a value may be a part of itself (`x = x.next`).
        """
        before = (self.list, self.number, self.boolean, len(self.fields), self.whole)
        self.list |= other.list
        self.number |= other.number
        self.boolean |= other.boolean
        self.whole |= other.whole
        for name in other.fields:
            self.fields.setdefault(name, Shape())
        changed = before != (self.list, self.number, self.boolean, len(self.fields), self.whole)
        if depth == _PARTS:
            return changed
        if other.item is not None and other.item is not self.item:
            self.item = self.item or Shape()
            changed |= self.item.add(other.item, depth + 1)
        for name, shape in other.fields.items():
            if shape is not self.fields[name]:
                changed |= self.fields[name].add(shape, depth + 1)
        return changed


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """The value goes on unchanged into something else whose uses count for it too."""

    target: Variable | Scope


Use: TypeAlias = Shape | Flow
QuestionKind: TypeAlias = Literal["decide", "until", "while", "keep", "choose", "session"]
WHOLE = Shape(whole=True)
NUMBER = Shape(number=True)
BOOLEAN = Shape(boolean=True)
NOTHING = Shape()


# --- questions ---------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Question:
    """What a `**...**` becomes.

    `about` are the names that it is shown, in order of mention. `plain` is the expression that it is when it needs
    no model. `kind` says which operation asks; "session" is a `**...**` used as a value.
    """

    node: nodes.Discretion
    kind: QuestionKind
    unit: Unit
    loop: Loop | None
    mentions: list[tuple[str, Read | None]]
    about: list[Read] = field(default_factory=list)
    plain: nodes.Expression | None = None


@dataclass(slots=True, eq=False)
class ConcurrentFor:
    """How a `parallel for` is emitted.

    `prefix` is how many statements of its body run freely. With `split`, the rest becomes an ordinary loop over
    what the rounds returned (`carried`, and the item when `carries_item`); without, `await run.turn()` stands
    before it. `prefix` is the whole body when rounds share nothing.
    """

    prefix: int
    split: bool
    carried: list[Variable] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Analysis:
    """Everything that emission needs to know about a program, and what was found wrong with it."""

    program: nodes.Program
    root: Scope
    blocks: dict[str, Scope] = field(default_factory=dict)
    agents: dict[str, nodes.Agent] = field(default_factory=dict)
    uses: dict[str, nodes.Use] = field(default_factory=dict)
    main: Unit = field(init=False)
    calls: list[nodes.Call] = field(default_factory=list)
    imports_files: bool = False
    """Whether a local file is imported, which may bring blocks."""
    exported: set[str] = field(default_factory=set)
    """Root names that `output x = x` hands out."""
    units: dict[nodes.Node, Unit] = field(default_factory=dict)
    """The units that blocks, branches, rounds, pipeline stages and lifted constructs became."""
    reads: dict[nodes.Node, Read] = field(default_factory=dict)
    """By Ref node."""
    interpolated: set[nodes.Hole] = field(default_factory=set)
    questions: dict[nodes.Discretion, Question] = field(default_factory=dict)
    shapes: dict[nodes.Node, list[Use]] = field(default_factory=dict)
    """By Session, Resume or Discretion-as-session node: how its value is used."""
    told: set[nodes.Node] = field(default_factory=set)
    """Sessions that are told what has happened so far."""
    variables: dict[tuple[nodes.Node, str], Variable] = field(default_factory=dict)
    """By the node that binds, and the name."""
    concurrent: dict[nodes.For, ConcurrentFor] = field(default_factory=dict)
    turns: dict[nodes.Stage, int] = field(default_factory=dict)
    """Bodies of pmap that share an outer variable: how many of their statements run before each waits its turn."""
    continued: set[nodes.Loop] = field(default_factory=set)
    """`loop until` loops whose body has a `continue`."""
    lifted: set[nodes.Node] = field(default_factory=set)
    """Constructs that become nested functions because Python can't nest so deep."""
    unfilled: set[nodes.Hole] = field(default_factory=set)
    """Interpolations of agent prompts that may be unbound when a session starts."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
