"""Diagnostics, and the one table of codes that documentation, reports and tests read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from prosec.source import Span


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Edit(NamedTuple):
    """Replace the text in `span` by `text`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that would resolve a diagnostic; a safe one never changes what a right program means."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = False


class Related(NamedTuple):
    """A second place that a diagnostic speaks of, such as an earlier declaration."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong (`message`), where (`span`), and what to do (`help`, `fix`).

    `message` is lower case without a final stop. `label` is the short text shown behind the underline.
    """

    code: str
    message: str
    span: Span
    label: str = ""
    help: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    raised: bool = False
    """A warning that `--strict` turned into an error."""

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.raised else CODES[self.code].severity


class Code(NamedTuple):
    """What a code stands for; `strict` ones are warnings that `--strict` turns into errors, and an
    `only_strict` one is not reported at all without it."""

    title: str
    severity: Severity
    strict: bool = False
    only_strict: bool = False


_ERRORS = {
    "E001": "unterminated string",
    "E002": "unknown escape",
    "E003": "session without prompt or agent",
    "E004": "unexpected token",
    "E005": "invalid syntax",
    "E006": "duplicate agent",
    "E007": "undefined agent",
    "E008": "invalid model",
    "E009": "duplicate property",
    "E010": "duplicate use",
    "E011": "empty use path",
    "E012": "invalid use path",
    "E013": "skills must be an array",
    "E014": "skill name must be a string",
    "E015": "permissions must be a block",
    "E016": "permission pattern must be a string",
    "E017": "resume needs a persistent agent",
    "E018": "resume without memory",
    "E019": "duplicate variable",
    "E020": "empty input name",
    "E021": "duplicate input",
    "E022": "input after an executable statement",
    "E023": "empty output name",
    "E024": "duplicate output",
    "E025": "unknown program called",
    "E026": "missing input",
    "E027": "unknown input",
    "E028": "unknown output",
    "E029": "undefined variable",
    "E030": "assignment to const",
    "E031": "reserved word as a name",
    "E032": "undefined block",
    "E033": "duplicate block",
    "E034": "invalid join strategy",
    "E035": "invalid on-fail",
    "E036": "bad count",
    "E037": "bad repeat count",
    "E038": "bad max",
    "E039": "empty discretion",
    "E040": "bad pipe operator or reduce variables",
    "E041": "try without catch or finally",
    "E042": "bad retry",
    "E043": "bad backoff",
    "E044": "choice without options",
    "E045": "statement out of place or repeated",
    "E046": "definition not at the top level",
    "E047": "import not resolved, not in the lock, or different",
    "E048": "indentation",
    "E049": "unterminated discretion",
    "E050": "import cycle",
    "E051": "block arguments",
    "E052": "not part of this dialect",
}
_WARNINGS = {
    "W001": "empty prompt",
    "W002": "whitespace-only prompt",
    "W003": "prompt over 10,000 characters",
    "W004": "empty prompt property",
    "W005": "unknown property",
    "W006": "unknown import source",
    "W007": "skill not imported",
    "W008": "unknown permission type",
    "W009": "unknown permission value",
    "W010": "empty skills",
    "W011": "session: on a persistent agent that has memory",
    "W012": "shadowing or clash",
    "W013": "unused variable",
    "W014": "unbounded loop",
    "W015": "condition under 10 characters",
    "W016": "too many arguments",
    "W017": "duplicate option label",
    "W018": "empty body",
    "W019": "empty throw message",
    "W020": "retry over 10",
    "W021": "retry, backoff or context on an agent",
    "W022": "count exceeds branches",
    "W023": "brace left as text",
    "W024": "block-local name read outside",
    "W025": "empty input description",
    "W026": "may be unbound",
    "W027": "older or off-grammar form",
    "W028": "output does not stop the program",
    "W029": "resume before any session",
    "W030": "branches share a variable",
}
_STRICT = {"W023", "W024", "W027", "W030"}
_ONLY_STRICT = {"E018", "E022"}

CODES: dict[str, Code] = {
    **{code: Code(t, Severity.ERROR, only_strict=code in _ONLY_STRICT) for code, t in _ERRORS.items()},
    **{code: Code(t, Severity.WARNING, strict=code in _STRICT) for code, t in _WARNINGS.items()},
}
