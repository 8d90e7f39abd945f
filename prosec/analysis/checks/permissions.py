"""Permissions: what an agent or a session may touch."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import listed, replacement
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.analysis.spelling import closest
from prosec.diagnostics import Related
from prosec.syntax import nodes

KINDS = ("read", "write", "execute", "network", "bash")
VALUES = ("allow", "deny", "prompt")


class PermissionChecks(Checks):
    """E016, W008, W009, and E009 for a rule that is given twice."""

    def rules(self) -> Iterable[Rule]:
        return (rule(nodes.Permissions, self.permissions),)

    def permissions(self, permissions: nodes.Permissions, place: Place) -> None:
        first: dict[str, nodes.PermissionRule] = {}
        for entry in permissions.rules:
            name = entry.name.text
            known = first.setdefault(name, entry)
            if known is not entry:
                self.findings.report(
                    "E009",
                    f"permission '{name}' is given twice",
                    entry.name.span,
                    help="keep one of the two",
                    related=(Related("first given here", known.name.span),),
                )
                continue
            if name not in KINDS:
                near = closest(name, KINDS)
                self.findings.report(
                    "W008",
                    f"unknown permission '{name}'",
                    entry.name.span,
                    label="allows and denies nothing",
                    help=f"did you mean '{near}'?" if near else f"use {listed(KINDS)}",
                    fix=replacement(entry.name.span, near) if near else None,
                )
            self._value(entry)

    def _value(self, entry: nodes.PermissionRule) -> None:
        value = entry.value
        if isinstance(value, nodes.ListLiteral):
            self._patterns(entry, value)
        elif isinstance(value, nodes.Ref):
            if value.name not in VALUES:
                near = closest(value.name, VALUES)
                self.findings.report(
                    "W009",
                    f"unknown permission value '{value.name}'",
                    value.span,
                    label="counts as prompt",
                    help=f"did you mean '{near}'?"
                    if near
                    else f"use {listed(VALUES)}, or a list of patterns",
                    fix=replacement(value.span, near) if near else None,
                )
        elif isinstance(value, nodes.Text):
            word = value.plain
            meant = word if word in VALUES else f"[{self.findings.source.slice(value.span)}]"
            self.findings.report(
                "E016",
                "patterns stand in a list, and allow, deny and prompt without quotes",
                value.span,
                help=f"write {entry.name.text}: {meant}",
                fix=replacement(value.span, meant),
            )
        else:
            self.findings.report(
                "E016",
                f"a permission is {listed(VALUES)}, or a list of patterns in quotes",
                value.span,
                help=f'write for example {entry.name.text}: ["src/**"]',
            )

    def _patterns(self, entry: nodes.PermissionRule, patterns: nodes.ListLiteral) -> None:
        for item in patterns.items:
            if not isinstance(item, nodes.Text | nodes.Ref):
                self.findings.report(
                    "E016",
                    "a permission pattern must be a string",
                    item.span,
                    help='write it in quotes, such as "src/**"',
                )
        if entry.name.text == "bash":
            self.findings.report(
                "W009",
                "'bash' takes no patterns",
                patterns.span,
                label="counts as prompt",
                help=f"use {listed(VALUES)}; 'execute:' takes the names of programs",
            )
