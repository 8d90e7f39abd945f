"""Names while a program is walked: what binds and reads them, and what is certainly bound on the way.

Sets of variables are integers, one bit a variable. `certain` holds those that have a value on every path to here,
`possible` those that have one on some path. Code that can't be reached has everything certain and nothing
possible, which makes joining paths plain `&` and `|`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from prosec.analysis.lifting import (
    INDENT_LIMIT,
    NESTING_LIMIT,
    leaves,
    nesting_weight,
)
from prosec.analysis.model import (
    NOTHING,
    Analysis,
    Arm,
    Loop,
    Read,
    Scope,
    Shape,
    Unit,
    Use,
    Variable,
    VariableKind,
    Write,
)
from prosec.diagnostics import Diagnostic, Related
from prosec.source import Span
from prosec.syntax import nodes

UNREACHABLE = (-1, 0)


class Binder:
    """The state of a walk: scope, unit, path, loop, and the sets of bound variables."""

    values: dict[type, Callable[[Any, Use], None]]
    """What walks a node, by its class."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.report = analysis.diagnostics.append
        self.scope = analysis.root
        self.unit = analysis.main
        self.arm = Arm(None, 0, None)
        self.loop: Loop | None = None
        self.environment: dict[str, Variable] = {}
        self.certain = 0
        self.possible = 0
        self.bits = 0
        self.reads: list[Read] = analysis.root.reads
        self.seen: list[Read] = []
        """Every read, in the order of the walk, wherever it stands."""
        self.writes: list[tuple[Variable, Write]] = []
        self.holes: list[tuple[nodes.Hole, Scope, list[Read]]] = []
        self.broken: set[str] = set()
        """Names that statements which could not be parsed would have declared."""
        self.lost = False
        """Whether any statement could not be parsed."""
        self.agent_names = _agent_prompt_names(analysis.agents)
        self.agent_reads: dict[str, list[Read]] = {name: [] for name in analysis.agents}
        self.target_uses: dict[nodes.Node, Shape] = {}
        """By Let, Assign, Output or Branch: the uses of what it binds, filled in when all are known."""
        self.parameter_uses: list[tuple[Scope, str, Shape]] = []
        self.result_uses: list[tuple[Scope, Use]] = []
        self.result_flows: list[tuple[Shape, Scope, str | None]] = []
        """What a block's outputs are used as: as its value, or (with a name) as that field of its value."""
        self.handed_on: list[tuple[Shape, Use, str | None]] = []
        """What is bound is also the value of its statement, or (with a name) a field of it."""
        self.item_uses: list[tuple[Shape, Variable]] = []
        """How the items of a list are used: as the variable that runs over them is."""
        self.item_flows: list[tuple[Shape, Use]] = []
        """How the items of a list are used: as the items of what the list becomes."""
        self.catching = 0
        self.in_step = False
        self.in_broken = False
        self.in_final: nodes.Node | Loop | None = None
        """The loop around the `finally:` that is being walked, or its try when no loop is; None outside."""
        self.nesting = 0
        self.indentation = 1
    # --- names --------------------------------------------------------------------------------------------------

    def _declare(self, name: str, kind: VariableKind, span: Span, owner: nodes.Node | None = None) -> Variable:
        variable = Variable(name, kind, self.scope, span, owner)
        variable.bit = 1 << self.bits
        self.bits += 1
        if owner is None:
            self.scope.names[name] = variable
        return variable

    def _record(self, variable: Variable, write: Write) -> None:
        variable.arms[write.arm] = variable.arms.get(write.arm, False) or write.declares or not variable.writes
        # Where no path leads, no Python statement will bind it either.
        variable.forced |= self.certain == -1
        variable.places.add((write.unit, write.arm))
        variable.writes.append(write)
        self.writes.append((variable, write))
        self.certain |= variable.bit
        self.possible |= variable.bit

    def _bind(
        self,
        node: nodes.Node,
        name: nodes.Name,
        kind: VariableKind,
        value: nodes.Node | None,
        declares: bool,
        arm: Arm | None = None,
    ) -> Variable:
        """Give a name a value: by `let` and the like (`declares`), or by being the name of a branch or a session."""
        arm = arm or self.arm
        variable = self.environment.get(name.text) or self.scope.names.get(name.text)
        write = Write(name.span, self.unit, arm, self.loop, value, declares)
        if variable is None:
            variable = self._declare(name.text, kind, name.span)
        else:
            self._rebound(variable, name, kind, write)
        self._record(variable, write)
        self.analysis.variables[node, name.text] = variable
        return variable

    def _rebound(self, variable: Variable, name: nodes.Name, kind: VariableKind, write: Write) -> None:
        """Judge a second binding of a name: an error on one path, a warning in a nested construct."""
        first = Related("first declared here", variable.span)
        if not write.declares:
            if variable.kind == "const":
                self.report(_const_assigned(name, variable))
            return
        if variable.owner is None and variable.arms.get(write.arm):
            if kind != "input" or variable.kind != "input":
                self.report(
                    Diagnostic(
                        "E019",
                        f"'{name.text}' is declared twice",
                        name.span,
                        "declared again here",
                        f"to change it, write `{name.text} = ...`; for another value, choose another name",
                        (first,),
                    )
                )
            return
        if variable.kind == "const" and not all(arm.excludes(write.arm) for arm in variable.arms):
            self.report(_const_assigned(name, variable))
            return
        if variable.owner is not None or any(arm in variable.arms for arm in write.arm.around()):
            self.report(
                Diagnostic(
                    "W012",
                    f"this binds the '{name.text}' declared outside again",
                    name.span,
                    help=f"write `{name.text} = ...` to change it, or choose another name",
                    related=(first,),
                )
            )

    def _twice(self, name: nodes.Name, earlier: Iterable[nodes.Name], what: str) -> None:
        for other in earlier:
            if other.text == name.text:
                self.report(
                    Diagnostic(
                        "E019",
                        f"{what} '{name.text}' is named twice",
                        name.span,
                        help="give each its own name",
                        related=(Related("first named here", other.span),),
                    )
                )
                return

    @contextmanager
    def _owned(
        self,
        owner: nodes.Node,
        *names: tuple[nodes.Name | None, VariableKind],
        value: nodes.Node | None = None,
    ) -> Iterator[None]:
        """Names that a construct owns: they shadow others inside it and are gone after it."""
        outer = self.environment
        self.environment = dict(outer)
        for name, kind in names:
            if name is None:
                continue
            shadowed = outer.get(name.text) or self.scope.names.get(name.text)
            implied = isinstance(owner, nodes.Stage) and not owner.names
            if shadowed is not None and not (implied and isinstance(shadowed.owner, nodes.Stage)):
                self.report(
                    Diagnostic(
                        "W012",
                        f"'{name.text}' hides another '{name.text}' here",
                        name.span,
                        help="choose another name if both are needed",
                        related=(Related("the hidden one", shadowed.span),),
                    )
                )
            variable = self._declare(name.text, kind, name.span, owner)
            self._record(variable, Write(name.span, self.unit, self.arm, self.loop, value, True))
            self.environment[name.text] = variable
            self.analysis.variables[owner, name.text] = variable
        yield
        self.environment = outer

    def _read(self, node: nodes.Node, name: str, use: Use) -> Read:
        variable = self.environment.get(name)
        bound = variable is not None
        if variable is None:
            variable = self.scope.names.get(name)
            bound = variable is not None and bool(self.certain & variable.bit)
        read = Read(node, name, use, self.unit, self.loop, variable, bound)
        if bound and variable is not None and self.unit.parent is not None:
            read.here = any((self.unit, arm) in variable.places for arm in (self.arm, *self.arm.around()))
        self.reads.append(read)
        self.seen.append(read)
        return read

    # --- suites and paths ---------------------------------------------------------------------------------------

    def _statements(self, statements: Iterable[nodes.Statement], use: Use) -> None:
        last: nodes.Statement | None = None
        for statement in statements:
            if last is not None:
                self.values[type(last)](last, NOTHING)
            last = statement
        if last is not None:
            self.values[type(last)](last, use)

    def _suite(self, suite: nodes.Suite, use: Use, owner: nodes.Node, index: int = 0) -> None:
        outer = self.arm
        self.arm = Arm(owner, index, outer)
        self.indentation += 1
        self._statements(suite.statements, use)
        self.arm.left = self.certain == -1
        self.indentation -= 1
        self.arm = outer

    def _go(self, state: tuple[int, int]) -> None:
        self.certain, self.possible = state

    def _join(self, states: Iterable[tuple[int, int]]) -> None:
        certain, possible = UNREACHABLE
        for one, other in states:
            certain &= one
            possible |= other
        self.certain, self.possible = certain, possible

    @contextmanager
    def _nested(self, node: nodes.Node) -> Iterator[None]:
        """What is walked inside becomes a function of its own."""
        outer = self.unit, self.nesting, self.indentation
        self.unit = self.analysis.units[node] = Unit(self.scope, node, self.unit, self.loop)
        self.nesting, self.indentation = 0, 2
        yield
        self.unit, self.nesting, self.indentation = outer

    @contextmanager
    def _away(self) -> Iterator[None]:
        """Inside, `break` and `return` can't reach what is outside: it runs in a task or call of its own."""
        outer = self.catching
        self.catching = 0
        yield
        self.catching = outer

    @contextmanager
    def _deep(self, node: nodes.Node) -> Iterator[None]:
        """A construct that costs Python nesting; lifted into a function where Python would refuse it."""
        weight = nesting_weight(node)
        if (self.nesting + weight > NESTING_LIMIT or self.indentation > INDENT_LIMIT) and not leaves(node):
            self.analysis.lifted.add(node)
            with self._nested(node):
                self.nesting = weight
                yield
            return
        self.nesting += weight
        if self.nesting > 19 or self.indentation > 60:
            self.report(
                Diagnostic(
                    "E005",
                    "constructs are nested too deeply here",
                    Span(node.span.start, min(node.span.end, node.span.start + 4)),
                    help="move the inner part into a block and call it with `do`",
                )
            )
            self.nesting = -1000
        yield
        self.nesting -= weight


def _const_assigned(name: nodes.Name, variable: Variable) -> Diagnostic:
    return Diagnostic(
        "E030",
        f"'{name.text}' is a const and can't be assigned",
        name.span,
        help=f"declare it with `let {name.text} = ...` if it changes",
        related=(Related("declared here", variable.span),),
    )


def _agent_prompt_names(agents: dict[str, nodes.Agent]) -> dict[str, list[str]]:
    """For each agent, the names that braces in its prompt and permissions speak of."""
    found: dict[str, list[str]] = {}
    for name, agent in agents.items():
        names: dict[str, None] = {}
        for item in agent.properties:
            stack: list[nodes.Node] = [item.value]
            while stack:
                node = stack.pop()
                if isinstance(node, nodes.Ref) and item.name.text in ("prompt", "permissions"):
                    names[node.name] = None
                stack.extend(nodes.children(node))
        found[name] = list(names)
    return found

