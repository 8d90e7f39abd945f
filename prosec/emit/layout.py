"""Long calls and collections laid out as black would, so that black has little left to do.

Black looks at a line that is too long again and again, part by part; most of a build's time went there. What is
laid out here wrongly costs nothing but time: black has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from prosec.emit import literals as py

WIDTH = 88
STEP = 4


def laid_out(node: cst.BaseExpression, margin: int, prefix: str = "", suffix: str = "") -> str:
    """The code of an expression that stands behind `prefix`, in lines indented relative to the statement's own
    indentation, which is `margin`; the prefix is not part of the result, the suffix is."""
    text = py.code(node)
    spread = _is_spread(node)
    if not spread and _fits(prefix + text + suffix, margin):
        return text + suffix
    if isinstance(node, cst.BooleanOperation) and not node.lpar and not _same_operation(node, node.left):
        # Of two conditions, the call that the second one ends with is split.
        head = f"{py.code(node.left)} {'and' if isinstance(node.operator, cst.And) else 'or'} "
        return head + laid_out(node.right, margin, prefix + head, suffix)
    before = ""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not) and not node.lpar:
        before, node = "not ", node.expression
    if isinstance(node, cst.Await) and not node.lpar:
        before, node = before + "await ", node.expression
    if isinstance(node, cst.Call) and not node.lpar and (spread or len(node.args) > 1):
        head = before + py.code(node.func) + "("
        arguments = [(argument, _key(argument)) for argument in node.args]
        together = ", ".join(key + py.code(argument.value) for argument, key in arguments)
        if not spread and _fits(together, margin + STEP):
            return f"{head}\n{' ' * STEP}{together}\n)" + suffix
        lines = [key + laid_out(argument.value, margin + STEP, key, ",") for argument, key in arguments]
        return _block(head, lines, ")" + suffix)
    if isinstance(node, cst.Dict) and node.elements and not before:
        return _block("{", [_entry(element, margin + STEP) for element in node.elements], "}" + suffix)
    if isinstance(node, cst.List) and node.elements and not before:
        return _block(
            "[", [laid_out(element.value, margin + STEP, "", ",") for element in node.elements], "]" + suffix
        )
    return text + suffix


def _is_spread(node: cst.BaseExpression) -> bool:
    """A call whose arguments end with a comma: each has a line of its own, however short they are."""
    call = node.expression if isinstance(node, cst.Await) else node
    return isinstance(call, cst.Call) and bool(call.args) and isinstance(call.args[-1].comma, cst.Comma)


def _same_operation(node: cst.BooleanOperation, other: cst.BaseExpression) -> bool:
    return (
        isinstance(other, cst.BooleanOperation) and not other.lpar and type(other.operator) is type(node.operator)
    )


def _fits(text: str, margin: int) -> bool:
    return py.BREAK not in text and margin + len(py.unmarked(text)) <= WIDTH


def _key(argument: cst.Arg) -> str:
    return f"{argument.keyword.value}=" if argument.keyword is not None else argument.star


def _entry(element: cst.BaseDictElement, margin: int) -> str:
    if isinstance(element, cst.DictElement):
        key = py.code(element.key) + ": "
        return key + laid_out(element.value, margin, key, ",")
    value = cst.ensure_type(element, cst.StarredDictElement).value
    return "**" + laid_out(value, margin, "**", ",")


def _block(head: str, lines: Sequence[str], tail: str) -> str:
    indented = [" " * STEP + line.replace("\n", "\n" + " " * STEP) for line in lines]
    return "\n".join([head, *indented, tail])
