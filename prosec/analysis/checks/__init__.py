"""The checks that need no scopes: one module per subject, all fed by one walk over the tree."""

from __future__ import annotations

from collections.abc import Collection

from prosec.analysis.checks.choices import ChoiceChecks
from prosec.analysis.checks.definitions import DefinitionChecks
from prosec.analysis.checks.findings import Findings
from prosec.analysis.checks.inputs import InputChecks
from prosec.analysis.checks.joins import JoinChecks
from prosec.analysis.checks.loops import LoopChecks
from prosec.analysis.checks.permissions import PermissionChecks
from prosec.analysis.checks.pipelines import PipelineChecks
from prosec.analysis.checks.properties import PropertyChecks
from prosec.analysis.checks.questions import QuestionChecks
from prosec.analysis.checks.sessions import SessionChecks
from prosec.analysis.checks.skills import SkillChecks
from prosec.analysis.checks.uses import UseChecks
from prosec.analysis.checks.values import ValueChecks
from prosec.analysis.checks.walk import Checks, walk
from prosec.diagnostics import Diagnostic
from prosec.source import Source
from prosec.syntax import nodes

SUBJECTS: tuple[type[Checks], ...] = (
    DefinitionChecks,
    UseChecks,
    InputChecks,
    PropertyChecks,
    SessionChecks,
    PermissionChecks,
    SkillChecks,
    JoinChecks,
    LoopChecks,
    QuestionChecks,
    PipelineChecks,
    ChoiceChecks,
    ValueChecks,
)


def check_structure(
    program: nodes.Program, source: Source, skills: Collection[str] = ()
) -> list[Diagnostic]:
    """What can be said of a program without knowing what its names stand for.

    `skills` are the names of those installed on this machine. E022 is always among the findings; whether it is
    shown depends on `--strict` (diagnostics.CODES).
    """
    findings = Findings(program, source, skills)
    walk(program, [subject(findings) for subject in SUBJECTS])
    return findings.diagnostics
