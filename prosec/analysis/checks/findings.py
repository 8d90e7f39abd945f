"""What the checks report, and what each of them may know of the program beside the node it judges."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from prosec.diagnostics import Diagnostic, Edit, Fix, Related
from prosec.source import Source, Span
from prosec.syntax import nodes


class Findings:
    """The diagnostics of one program, its agents by name, and the skills that the machine has installed.

    `agents` holds the first definition of each name at the top level.
    """

    def __init__(self, program: nodes.Program, source: Source, skills: Collection[str]) -> None:
        self.program = program
        self.source = source
        self.skills = skills
        self.diagnostics: list[Diagnostic] = []
        self.agents: dict[str, nodes.Agent] = {}
        for statement in program.statements:
            if isinstance(statement, nodes.Agent):
                self.agents.setdefault(statement.name.text, statement)

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        help: str | None = None,
        related: tuple[Related, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, label, help, related, fix))


def replacement(span: Span, text: str, *, safe: bool = False) -> Fix:
    """The fix that puts `text` in the place of `span`."""
    return Fix(f"write {text}", (Edit(span, text),), safe)


def listed(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def word_of(value: object) -> str | None:
    """The word that a setting was given, bare (`opus`) or quoted (`"opus"`); None when it is anything else."""
    if isinstance(value, nodes.Ref):
        return value.name
    if isinstance(value, nodes.Text):
        return value.plain
    return None


def persists(agent: nodes.Agent) -> bool:
    """Whether an agent keeps a memory."""
    return any(
        prop.name.text == "persist"
        and not (isinstance(prop.value, nodes.Boolean) and not prop.value.value)
        for prop in agent.properties
    )


def positive_integer(value: nodes.Node) -> bool:
    return isinstance(value, nodes.Number) and isinstance(value.value, int) and value.value > 0
