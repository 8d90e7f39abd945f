"""One walk over the tree that calls, for every node, the checks which asked for its class.

The walk keeps its own stack, so that no depth of nesting ends in a RecursionError, and it leaves out what no
check here looks at (names, strings and what is interpolated into them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TypeAlias, TypeVar

from prosec.analysis.checks.findings import Findings
from prosec.syntax import nodes

N = TypeVar("N", bound=nodes.Node)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a node stands, as far as checks ask.

    `top` is true of the program's own statements only. A place in an arm of an if, a choice or a parallel has
    that construct as its `fork` and the arm's number; `outer` is the place of the construct itself.
    """

    top: bool = False
    in_loop: bool = False
    block: nodes.Block | None = None
    outer: Place | None = None
    fork: nodes.Node | None = None
    arm: int = 0


# The nodes of one class are what a check of that class takes; `rule` proves it, so that the table need not.
Rule: TypeAlias = tuple[type[nodes.Node], Callable[..., None]]


def rule(kind: type[N], check: Callable[[N, Place], None]) -> Rule:
    """Say that `check` judges the nodes of class `kind`."""
    return (kind, check)


class Checks:
    """The checks of one subject, with what they must remember between two nodes of one program."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def rules(self) -> Iterable[Rule]:
        """Which nodes these checks judge; called once, before the walk."""
        raise NotImplementedError

    def finish(self) -> None:
        """Report what could only be judged when every node has been seen."""


_LEFT_OUT = {
    "Span",
    "str",
    "bool",
    "str | None",
    "Name",
    "Name | None",
    "tuple[Name, ...]",
    "tuple[str, ...]",
    "tuple[str | Hole, ...]",
    "tuple[Comment, ...]",
    "Text",
    "Text | None",
    "Number | None",
}

_CHILD_FIELDS: dict[type[nodes.Node], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind) if field.type not in _LEFT_OUT)
    for kind in vars(nodes).values()
    if isinstance(kind, type) and issubclass(kind, nodes.Node)
}
_LEAVES = frozenset(
    {nodes.Text, nodes.Ref, nodes.Number, nodes.Boolean, nodes.Null, nodes.Name}
)
_FORKS = frozenset({nodes.If, nodes.Choice, nodes.Parallel})
_LOOPS = frozenset({nodes.Repeat, nodes.For, nodes.Loop, nodes.Broken})
"""What `break` may stand in; a statement that could not be parsed may have been a loop."""


def _children(node: nodes.Node) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    for name in _CHILD_FIELDS[type(node)]:
        value = getattr(node, name)
        if value.__class__ is tuple:
            found += [item for item in value if item.__class__ not in _LEAVES]
        elif value is not None and value.__class__ not in _LEAVES:
            found.append(value)
    return found


def walk(program: nodes.Program, subjects: list[Checks]) -> None:
    """Show every node, in written order, to the checks that judge its class."""
    rules: dict[type[nodes.Node], list[Callable[..., None]]] = {}
    for subject in subjects:
        for kind, check in subject.rules():
            rules.setdefault(kind, []).append(check)

    nested = Place()
    top = Place(top=True)
    nothing: list[Callable[..., None]] = []
    checks_of = rules.get
    stack: list[tuple[nodes.Node, Place]] = [(node, top) for node in reversed(program.statements)]
    pop, push = stack.pop, stack.append
    while stack:
        node, place = pop()
        kind = node.__class__
        for check in checks_of(kind, nothing):
            check(node, place)
        found = _children(node)
        if not found:
            continue
        if place.top:
            place = nested
        if kind in _FORKS:
            count = len(found)
            for arm, child in enumerate(reversed(found)):
                push((child, Place(False, place.in_loop, place.block, place, node, count - arm)))
            continue
        if kind in _LOOPS and not place.in_loop:
            place = Place(False, True, place.block, place)
        elif isinstance(node, nodes.Block):
            place = Place(block=node)
        for child in reversed(found):
            push((child, place))

    for subject in subjects:
        subject.finish()
