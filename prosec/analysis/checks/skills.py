"""Skills that agents and sessions ask for."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import replacement
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.analysis.spelling import closest
from prosec.source import Span
from prosec.syntax import nodes


class SkillChecks(Checks):
    """E013, E014, W007, W010."""

    def rules(self) -> Iterable[Rule]:
        self.wanted: list[tuple[str, Span]] = []
        return (rule(nodes.Property, self.property),)

    def property(self, prop: nodes.Property, place: Place) -> None:
        if prop.name.text != "skills":
            return
        value = prop.value
        if isinstance(value, nodes.ListLiteral):
            if not value.items:
                self.findings.report(
                    "W010", "this list of skills is empty", value.span, help="remove the line"
                )
            for item in value.items:
                if value.dashed and isinstance(item, nodes.Ref):
                    # Lists of lines are written as in YAML, where a bare word is a string.
                    self.wanted.append((item.name, item.span))
                else:
                    self._skill(item)
            return
        meant: str | None = None
        if isinstance(value, nodes.Text):
            meant = f"[{self.findings.source.slice(value.span)}]"
        elif isinstance(value, nodes.Ref):
            meant = f'["{value.name}"]'
        self.findings.report(
            "E013",
            "skills must be an array",
            value.span,
            help=f"write skills: {meant}" if meant else 'write for example skills: ["web-search"]',
            fix=replacement(value.span, meant) if meant else None,
        )

    def _skill(self, item: nodes.Expression) -> None:
        if isinstance(item, nodes.Text):
            if not item.plain.strip():
                self.findings.report(
                    "E014", "this skill has no name", item.span, help="name it, or remove it"
                )
            elif all(isinstance(part, str) for part in item.parts):
                self.wanted.append((item.plain, item.span))
            return
        quoted = f'"{item.name}"' if isinstance(item, nodes.Ref) else None
        self.findings.report(
            "E014",
            "a skill's name must be a string",
            item.span,
            help=f"write {quoted}" if quoted else "write its name in quotes",
            fix=replacement(item.span, quoted) if quoted else None,
        )

    def finish(self) -> None:
        if not self.wanted:
            return
        known = set(self.findings.skills)
        for statement in self.findings.program.statements:
            if isinstance(statement, nodes.ImportSkill):
                known.add(statement.skill.plain)
            elif isinstance(statement, nodes.Use):
                known.add(statement.path.plain.rsplit("/", 1)[-1])
                if statement.alias is not None:
                    known.add(statement.alias.text)
        for name, span in self.wanted:
            if name in known:
                continue
            near = closest(name, known) if known else None
            self.findings.report(
                "W007",
                f"skill '{name}' is neither imported nor installed",
                span,
                label="not found",
                help=f"did you mean '{near}'?"
                if near
                else f"put it in .claude/skills/{name}/SKILL.md before the program runs",
                fix=replacement(span, f'"{near}"') if near else None,
            )
