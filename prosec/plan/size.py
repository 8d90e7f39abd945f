"""How large a program is as people read it: statements, branches, imports, nesting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from prosec.analysis.model import Analysis
from prosec.plan.known import length
from prosec.syntax import nodes

STATEMENTS: Final = 30
BRANCHES: Final = 5
IMPORTS: Final = 2
NESTING: Final = 2

_CONSTRUCTS: Final = (
    nodes.Block,
    nodes.DoBlock,
    nodes.Parallel,
    nodes.Repeat,
    nodes.For,
    nodes.Loop,
    nodes.If,
    nodes.Choice,
    nodes.Try,
    nodes.Pipeline,
)
"""What statements are nested in."""


@dataclass(frozen=True, slots=True)
class Size:
    """The numbers that decide whether in-context mode suits a program."""

    statements: int
    """All of them, nested ones and definitions too."""
    branches: float
    """The most branches or rounds that one construct runs at once."""
    imports: int
    nesting: int
    """How many constructs stand around the innermost statement."""

    @property
    def in_context(self) -> bool:
        """The program is small, and its whole state fits in a context."""
        return not self.objections

    @property
    def objections(self) -> list[str]:
        """Why in-context mode does not suit it."""
        found = []
        if self.statements >= STATEMENTS:
            found.append(f"{self.statements} statements (under {STATEMENTS})")
        if self.branches >= BRANCHES:
            many = (
                f"{self.branches:,} branches"
                if self.branches < 10**9
                else "branches for each item of a list"
            )
            found.append(f"{many} at once (under {BRANCHES})")
        if self.imports > IMPORTS:
            found.append(f"{self.imports} imports (at most {IMPORTS})")
        if self.nesting > NESTING:
            found.append(f"nested {self.nesting} deep (at most {NESTING})")
        return found


def size_of(program: nodes.Program, analysis: Analysis) -> Size:
    """Measure a program."""
    statements, imports, nesting = 0, 0, 0
    branches: float = 0
    stack: list[tuple[nodes.Node, int]] = [(program, 0)]
    while stack:
        node, depth = stack.pop()
        held: tuple[nodes.Node, ...] = ()
        match node:
            case nodes.Program() | nodes.Suite():
                held = node.statements
            case nodes.Parallel():
                branches = max(branches, len(node.branches))
                held = tuple(branch.body for branch in node.branches)
            case nodes.For(concurrent=True):
                branches = max(branches, length(node.items, analysis)[1])
            case nodes.Pipeline() if any(stage.operator.text == "pmap" for stage in node.stages):
                branches = max(branches, length(node.source, analysis)[1])
            case nodes.Use():
                imports += 1
            case _:
                pass
        statements += len(held)
        if held:
            nesting = max(nesting, depth + isinstance(node, nodes.Parallel))
        inner = depth + isinstance(node, _CONSTRUCTS)
        stack += [
            (child, inner) for child in nodes.children(node) if not isinstance(child, nodes.Text)
        ]
    return Size(statements, branches, imports, nesting)
