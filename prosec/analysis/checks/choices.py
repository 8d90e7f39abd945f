"""Choices: options that can be told apart."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.diagnostics import Related
from prosec.syntax import nodes


class ChoiceChecks(Checks):
    """W017."""

    def rules(self) -> Iterable[Rule]:
        return (rule(nodes.Choice, self.choice),)

    def choice(self, choice: nodes.Choice, place: Place) -> None:
        first: dict[str, nodes.Option] = {}
        for option in choice.options:
            label = option.label.plain
            known = first.setdefault(label.strip(), option)
            if known is not option:
                self.findings.report(
                    "W017",
                    f"two options are called '{label}'",
                    option.label.span,
                    label="never taken",
                    help="say in each label what sets it apart",
                    related=(Related("the first one", known.label.span),),
                )
