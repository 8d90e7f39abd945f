"""Pipelines: their operators and the names of reduce."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import listed, replacement
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.analysis.spelling import closest
from prosec.diagnostics import Related
from prosec.syntax import nodes

OPERATORS = ("map", "filter", "pmap", "reduce")


class PipelineChecks(Checks):
    """E040."""

    def rules(self) -> Iterable[Rule]:
        return (rule(nodes.Stage, self.stage),)

    def stage(self, stage: nodes.Stage, place: Place) -> None:
        operator = stage.operator.text
        report = self.findings.report
        if operator not in OPERATORS:
            near = closest(operator, OPERATORS)
            report(
                "E040",
                f"unknown pipeline operator '{operator}'",
                stage.operator.span,
                help=f"did you mean '{near}'?" if near else f"use {listed(OPERATORS)}",
                fix=replacement(stage.operator.span, near) if near else None,
            )
            return
        names = stage.names
        if operator == "reduce":
            if len(names) != 2:
                report(
                    "E040",
                    "reduce takes two names: what has been gathered, and the next element",
                    stage.operator.span.to(names[-1].span) if names else stage.operator.span,
                    help="write reduce(total, item):",
                )
            elif names[0].text == names[1].text:
                report(
                    "E040",
                    f"reduce has two names, and both are '{names[1].text}'",
                    names[1].span,
                    help="write reduce(total, item):",
                    related=(Related("the first one", names[0].span),),
                )
        elif names:
            report(
                "E040",
                f"'{operator}' takes no names: the element is called item",
                stage.operator.span.to(names[-1].span),
                help=f"write {operator}: and use item in its body",
            )
        if isinstance(stage.body, nodes.Discretion) and operator != "filter":
            report(
                "E040",
                f"a question can't be the body of '{operator}'",
                stage.body.span,
                help=f'under filter it keeps or drops the element; under {operator} write session "..."',
            )
