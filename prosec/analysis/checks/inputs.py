"""Inputs: declared once, described, and where readers look for them."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.paths import Earlier
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.diagnostics import Related
from prosec.syntax import nodes

_DECLARATIONS = (nodes.Use, nodes.ImportSkill, nodes.Input, nodes.Agent, nodes.Block, nodes.Broken)


class InputChecks(Checks):
    """E021, E022, W025."""

    def rules(self) -> Iterable[Rule]:
        self.seen: dict[str, Earlier] = {}
        self.running_from: int | None = None
        for statement in self.findings.program.statements:
            if not isinstance(statement, _DECLARATIONS):
                self.running_from = statement.span.start
                break
        return (rule(nodes.Input, self.input),)

    def input(self, node: nodes.Input, place: Place) -> None:
        if node.name is not None:
            self._declared_once(node.name, place)
            if self.running_from is not None and node.span.start > self.running_from:
                self.findings.report(
                    "E022",
                    f"input '{node.name.text}' is declared after the program has begun to run",
                    node.name.span,
                    help="declare inputs first, so that a run can ask for all of them at once",
                )
        if node.description is not None and not node.description.plain.strip():
            self.findings.report(
                "W025",
                "this input has no description",
                node.description.span,
                help="say what to give: it is what people are shown when they are asked for it",
            )

    def _declared_once(self, name: nodes.Name, place: Place) -> None:
        # In arms of which one alone is taken it is the same input.
        earlier = self.seen.setdefault(name.text, Earlier(nodes.If, nodes.Choice))
        first = earlier.before(place)
        if first is not None:
            self.findings.report(
                "E021",
                f"input '{name.text}' is declared twice",
                name.span,
                help="remove one of the two, or rename it",
                related=(Related("first declared here", first),),
            )
        earlier.add(place, name.span)
