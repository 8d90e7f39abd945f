"""Loops: how often they run, and what leaves them."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import positive_integer, replacement
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.source import Span
from prosec.syntax import nodes

# What has no number in it, however it is evaluated.
_NEVER_A_NUMBER = (
    nodes.Text,
    nodes.Discretion,
    nodes.Boolean,
    nodes.Null,
    nodes.ListLiteral,
    nodes.ObjectLiteral,
)


class LoopChecks(Checks):
    """E037, E038, W014, and E045 for break and continue outside any loop."""

    def rules(self) -> Iterable[Rule]:
        return (
            rule(nodes.Repeat, self.repeat),
            rule(nodes.Loop, self.loop),
            rule(nodes.Break, self.leave),
            rule(nodes.Continue, self.leave),
        )

    def repeat(self, repeat: nodes.Repeat, place: Place) -> None:
        self._number("E037", "a repeat count", "repeat 3:", repeat.count)

    def loop(self, loop: nodes.Loop, place: Place) -> None:
        if loop.max is not None:
            self._number("E038", "max", "(max: 3)", loop.max)
        elif loop.condition is None:
            start = loop.span.start
            self.findings.report(
                "W014",
                "nothing bounds this loop",
                Span(start, start + len("loop")),
                label="neither a condition nor a max",
                help="write 'loop (max: 10):' or 'loop until **...**:'; a run stops it after 1,000 "
                "rounds",
            )

    def leave(self, node: nodes.Break | nodes.Continue, place: Place) -> None:
        if not place.in_loop:
            word = "break" if isinstance(node, nodes.Break) else "continue"
            self.findings.report(
                "E045",
                f"'{word}' stands outside any loop",
                node.span,
                help="to end a block early, write 'return'" if place.block is not None else None,
            )

    def _number(self, code: str, what: str, form: str, value: nodes.Expression) -> None:
        if isinstance(value, nodes.Number):
            wrong = not positive_integer(value)
        elif isinstance(value, nodes.Unary) and value.operator == "-":
            wrong = isinstance(value.operand, nodes.Number)
        else:
            wrong = isinstance(value, _NEVER_A_NUMBER)
        if not wrong:
            return
        numeral = value.plain.strip() if isinstance(value, nodes.Text) else ""
        quoted = numeral.isdecimal() and numeral.isascii() and int(numeral) > 0
        self.findings.report(
            code,
            f"{what} must be a whole number from 1, or a variable that holds one",
            value.span,
            help=f"without quotes: {numeral}" if quoted else f"write for example '{form}'",
            fix=replacement(value.span, numeral) if quoted else None,
        )
