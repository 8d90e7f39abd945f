"""Numbers and lengths that are known before a run: literals, and names that are bound to nothing else."""

from __future__ import annotations

from prosec.analysis.model import Analysis, Variable
from prosec.plan.paths import UNBOUNDED
from prosec.syntax import nodes

_STEPS = 50
"""How many names and operators lead to a literal at most: a name may be bound to an expression of itself."""


def number(node: nodes.Node | None, analysis: Analysis, steps: int = _STEPS) -> int | float | None:
    """The number that an expression certainly is; None where that shows only when it runs."""
    if steps == 0:
        return None
    if isinstance(node, nodes.Number):
        return node.value
    if isinstance(node, nodes.Ref):
        return number(_only_value(node, analysis), analysis, steps - 1)
    if isinstance(node, nodes.Unary) and node.operator == "-":
        operand = number(node.operand, analysis, steps - 1)
        return None if operand is None else -operand
    if isinstance(node, nodes.Binary) and node.operator in ("+", "-", "*"):
        left = number(node.left, analysis, steps - 1)
        right = number(node.right, analysis, steps - 1)
        if left is None or right is None:
            return None
        return {"+": left + right, "-": left - right, "*": left * right}[node.operator]
    return None


def length(node: nodes.Node | None, analysis: Analysis, steps: int = _STEPS) -> tuple[float, float]:
    """How many elements a collection has, at least and at most."""
    if steps > 0:
        if isinstance(node, nodes.ListLiteral):
            return len(node.items), len(node.items)
        if isinstance(node, nodes.Ref):
            return length(_only_value(node, analysis), analysis, steps - 1)
        if isinstance(node, nodes.Pipeline):
            size = length(node.source, analysis, steps - 1)
            for stage in node.stages:
                size = after(stage, size)
            return size
    return 0, UNBOUNDED


def after(stage: nodes.Stage, size: tuple[float, float]) -> tuple[float, float]:
    """How many elements come out of a stage into which so many go."""
    match stage.operator.text:
        case "filter":
            return 0, size[1]
        case "reduce":
            return 0, UNBOUNDED
        case _:
            return size


def _only_value(node: nodes.Ref, analysis: Analysis) -> nodes.Node | None:
    """What a name is bound to, if it is bound in one place."""
    read = analysis.reads.get(node)
    variable: Variable | None = (read.variable or read.root) if read is not None else None
    if variable is None or variable.forced or variable.kind not in ("let", "const"):
        return None
    if len(variable.writes) != 1:
        return None
    return variable.writes[0].value
