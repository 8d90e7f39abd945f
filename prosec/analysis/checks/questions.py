"""Questions to the model, `**...**`: that conditions say enough to be judged."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.syntax import nodes

SHORTEST_CONDITION = 10
_LEADING_NAME = re.compile(r"(?:not\s+)?\{?\s*([A-Za-z_][A-Za-z0-9_-]*)")


class QuestionChecks(Checks):
    """W015."""

    def rules(self) -> Iterable[Rule]:
        self.short: list[nodes.Discretion] = []
        self.declared: set[str] = set()
        return (
            rule(nodes.Clause, self.condition),
            rule(nodes.Loop, self.loop),
            rule(nodes.Assert, self.condition),
            rule(nodes.Stage, self.stage),
            rule(nodes.Let, self.let),
            rule(nodes.Input, self.named),
            rule(nodes.Output, self.named),
            rule(nodes.Branch, self.named),
            rule(nodes.Session, self.named),
            rule(nodes.Catch, self.named),
            rule(nodes.For, self.rounds),
            rule(nodes.Repeat, self.repeat),
            rule(nodes.Block, self.block),
        )

    def condition(self, node: nodes.Clause | nodes.Assert, place: Place) -> None:
        self._short(node.condition)

    def loop(self, node: nodes.Loop, place: Place) -> None:
        if node.condition is not None:
            self._short(node.condition)
        if node.index is not None:
            self.declared.add(node.index.text)

    def stage(self, node: nodes.Stage, place: Place) -> None:
        if node.operator.text == "filter" and isinstance(node.body, nodes.Discretion):
            self._short(node.body)
        if node.names:
            self.declared.update(name.text for name in node.names)
        else:
            self.declared.add("item")

    def let(self, node: nodes.Let, place: Place) -> None:
        for name in node.targets:
            self.declared.add(name.text)

    def named(
        self,
        node: nodes.Input | nodes.Output | nodes.Branch | nodes.Session | nodes.Catch,
        place: Place,
    ) -> None:
        if node.name is not None:
            self.declared.add(node.name.text)

    def rounds(self, node: nodes.For, place: Place) -> None:
        self.declared.add(node.item.text)
        if node.index is not None:
            self.declared.add(node.index.text)

    def repeat(self, node: nodes.Repeat, place: Place) -> None:
        if node.index is not None:
            self.declared.add(node.index.text)

    def block(self, node: nodes.Block, place: Place) -> None:
        for name in node.parameters:
            self.declared.add(name.text)

    def _short(self, condition: nodes.Expression) -> None:
        pending = [condition]
        while pending:
            node = pending.pop()
            if isinstance(node, nodes.Discretion):
                if len(node.plain) < SHORTEST_CONDITION and self._written(node):
                    self.short.append(node)
            elif isinstance(node, nodes.Logical):
                pending.extend(reversed(node.operands))
            elif isinstance(node, nodes.Unary):
                pending.append(node.operand)

    def _written(self, node: nodes.Discretion) -> bool:
        """Whether there is anything between the marks; E039 has spoken where there isn't."""
        return self.findings.source.slice(node.span).strip("* \t\r\n") != ""

    def finish(self) -> None:
        """Short conditions are judged when all names are known: one that speaks of a value is no riddle."""
        for node in self.short:
            name = _LEADING_NAME.match(node.plain)
            if name is None or name[1] not in self.declared:
                self.findings.report(
                    "W015",
                    f"this condition has {len(node.plain)} characters",
                    node.span,
                    label="too short to be judged the same way twice",
                    help="say what has to be true of what: **the draft has no open questions**",
                )
