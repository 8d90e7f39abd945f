"""Definitions of agents and blocks: once each, at the top level."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import positive_integer
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.diagnostics import Related
from prosec.syntax import nodes


class DefinitionChecks(Checks):
    """E006, E033, E046, and E038 for a block's max_depth."""

    def rules(self) -> Iterable[Rule]:
        self.blocks: dict[str, nodes.Block] = {}
        self.nested: dict[str, nodes.Agent] = {}
        return (
            rule(nodes.Agent, self.agent),
            rule(nodes.Block, self.block),
            rule(nodes.Use, self.use),
            rule(nodes.ImportSkill, self.use),
        )

    def agent(self, agent: nodes.Agent, place: Place) -> None:
        name = agent.name.text
        self._at_the_top(f"agent '{name}'", agent.name, place)
        first = self.findings.agents.get(name) or self.nested.setdefault(name, agent)
        if first is not agent:
            self.findings.report(
                "E006",
                f"agent '{name}' is defined twice",
                agent.name.span,
                help="rename one of the two, or remove it",
                related=(Related("first defined here", first.name.span),),
            )

    def block(self, block: nodes.Block, place: Place) -> None:
        name = block.name.text
        self._at_the_top(f"block '{name}'", block.name, place)
        first = self.blocks.setdefault(name, block)
        if first is not block:
            self.findings.report(
                "E033",
                f"block '{name}' is defined twice",
                block.name.span,
                help="rename one of the two, or remove it",
                related=(Related("first defined here", first.name.span),),
            )
        depth = block.max_depth
        if depth is not None and not positive_integer(depth):
            self.findings.report(
                "E038",
                "max_depth takes a whole number from 1",
                depth.span,
                help="write for example (max_depth: 5)",
            )

    def use(self, use: nodes.Use | nodes.ImportSkill, place: Place) -> None:
        self._at_the_top("an import", use, place)

    def _at_the_top(self, what: str, where: nodes.Node, place: Place) -> None:
        if not place.top:
            self.findings.report(
                "E046",
                f"{what} stands inside another construct",
                where.span,
                help="move it to the top level of the program; it is known everywhere from there",
            )
