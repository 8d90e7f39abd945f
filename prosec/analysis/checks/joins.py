"""Parallel constructs: how their branches are joined, and what a failed one means."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import (
    listed,
    positive_integer,
    replacement,
    word_of,
)
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.analysis.spelling import closest
from prosec.diagnostics import Related
from prosec.source import Span
from prosec.syntax import nodes

STRATEGIES = ("all", "first", "any")
POLICIES = ("fail-fast", "continue", "ignore")
_MODIFIERS = ("strategy", "on-fail", "count")


class JoinChecks(Checks):
    """E034, E035, E036, W022, and E005, E009 and W005 for modifiers."""

    def rules(self) -> Iterable[Rule]:
        return (rule(nodes.Parallel, self.parallel), rule(nodes.For, self.rounds))

    def parallel(self, parallel: nodes.Parallel, place: Place) -> None:
        given = self._modifiers(parallel.modifiers)
        strategy = given.get("strategy")
        if strategy is not None and word_of(strategy.value) not in STRATEGIES:
            self._not_one_of("E034", "join strategy", strategy, STRATEGIES)
            joined_by = None
        else:
            joined_by = word_of(strategy.value) if strategy is not None else "all"
        count = given.get("count")
        if count is None:
            return
        if joined_by in ("all", "first"):
            self.findings.report(
                "E036",
                f'a count has no meaning under "{joined_by}"',
                count.span,
                help='"any" waits for that many branches: parallel ("any", count: 2)',
            )
            return
        if not self._countable(count):
            return
        branches = len(parallel.branches)
        value = count.value
        if isinstance(value, nodes.Number) and branches and value.value > branches:
            self.findings.report(
                "W022",
                f"{value.text} branches are waited for, and there are {branches}",
                value.span,
                label="can't be reached",
                help=f"write a count up to {branches}",
            )

    def rounds(self, loop: nodes.For, place: Place) -> None:
        if not loop.modifiers:
            return
        given = self._modifiers(loop.modifiers)
        if not loop.concurrent:
            for modifier in given.values():
                self.findings.report(
                    "W005",
                    f"'{modifier.name}' has no effect on a loop whose rounds run one by one",
                    modifier.span,
                    label="ignored",
                    help="remove it, write 'parallel for', or put a try into the body",
                )
            return
        if (strategy := given.get("strategy")) is not None:
            self.findings.report(
                "E034",
                "a parallel for has no join strategy: all its rounds are run",
                strategy.span,
                help="remove it; on-fail says what a failed round means",
            )
        if (count := given.get("count")) is not None:
            self.findings.report(
                "E036",
                "a parallel for has no count: all its rounds are run",
                count.span,
                help="remove it; iterate over fewer items to run fewer rounds",
            )

    def _modifiers(self, modifiers: tuple[nodes.Modifier, ...]) -> dict[str, nodes.Modifier]:
        """The modifiers by name; repeated and unknown ones, and a bad on-fail, are reported."""
        given: dict[str, nodes.Modifier] = {}
        for modifier in modifiers:
            if modifier.name not in _MODIFIERS:
                near = closest(modifier.name, _MODIFIERS[1:])
                name = Span(modifier.span.start, modifier.span.start + len(modifier.name))
                self.findings.report(
                    "E005",
                    f"unknown modifier '{modifier.name}'",
                    name,
                    help=f"did you mean '{near}'?"
                    if near
                    else 'write a strategy in quotes, on-fail: "..." or count: N',
                    fix=replacement(name, near) if near else None,
                )
                continue
            if modifier.name == "strategy" and modifier.span.start != modifier.value.span.start:
                plain = self.findings.source.slice(modifier.value.span)
                self.findings.report(
                    "E034",
                    "a join strategy is written without a name",
                    modifier.span,
                    help=f"write ({plain})",
                    fix=replacement(modifier.span, plain),
                )
                continue
            first = given.setdefault(modifier.name, modifier)
            if first is not modifier:
                what = "the join strategy" if modifier.name == "strategy" else f"'{modifier.name}'"
                self.findings.report(
                    "E009",
                    f"{what} is given twice",
                    modifier.span,
                    help="keep one of the two",
                    related=(Related("first given here", first.span),),
                )
        policy = given.get("on-fail")
        if policy is not None and word_of(policy.value) not in POLICIES:
            self._not_one_of("E035", "on-fail policy", policy, POLICIES)
        return given

    def _not_one_of(
        self, code: str, what: str, modifier: nodes.Modifier, known: tuple[str, ...]
    ) -> None:
        word = word_of(modifier.value)
        near = closest(word, known) if word else None
        self.findings.report(
            code,
            f"invalid {what} '{word}'"
            if word is not None
            else f"the {what} must be a word in quotes",
            modifier.value.span,
            help=f'did you mean "{near}"?'
            if near
            else f"use {listed(f'{chr(34)}{one}{chr(34)}' for one in known)}",
            fix=replacement(modifier.value.span, f'"{near}"') if near else None,
        )

    def _countable(self, count: nodes.Modifier) -> bool:
        if positive_integer(count.value):
            return True
        self.findings.report(
            "E036",
            "a count is a whole number from 1, written as a numeral",
            count.value.span,
            help='write for example parallel ("any", count: 2)',
        )
        return False
