"""The stages in order: from a source to its diagnostics, and on to the text of a script."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from prosec import __version__
from prosec.analysis import analyse as analyse_meaning
from prosec.analysis.checks import check_structure
from prosec.diagnostics import CODES, Diagnostic, Severity
from prosec.source import Source, Span
from prosec.syntax import nodes, parse

if TYPE_CHECKING:
    from prosec.analysis.model import Analysis


@dataclass(frozen=True, slots=True)
class Analysed:
    """A program, what analysis learnt about it, and everything that was found wrong, in written order."""

    program: nodes.Program
    analysis: Analysis
    diagnostics: list[Diagnostic]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The text of a script, or None when there are errors among the diagnostics."""

    text: str | None
    diagnostics: list[Diagnostic]


def analyse(source: Source, strict: bool = False, skills: Collection[str] = ()) -> Analysed:
    """Parse and check a program. `skills` are the names of those that are installed on this machine."""
    parsed = parse(source)
    analysis = analyse_meaning(parsed.program)
    found = [
        *parsed.diagnostics,
        *check_structure(parsed.program, source, skills),
        *analysis.diagnostics,
    ]
    return Analysed(parsed.program, analysis, ordered(judged(found, strict)))


def compile(
    source: Source, *, strict: bool = False, annotate: bool = False, skills: Collection[str] = ()
) -> Compiled:
    """Compile a program; `annotate` puts each source line above what it became."""
    analysed = analyse(source, strict, skills)
    diagnostics = ordered([*analysed.diagnostics, *unresolved_imports(analysed.program)])
    if has_errors(diagnostics):
        return Compiled(None, diagnostics)
    # Imported here: libcst, jinja2 and black take several times as long to load as a check takes to run.
    from prosec.emit import emit

    file = PurePath(source.path).name
    text = emit(analysed.program, analysed.analysis, source, file=file, version=__version__, annotate=annotate)
    return Compiled(text, diagnostics)


def unresolved_imports(program: nodes.Program) -> list[Diagnostic]:
    """The imports that stand in the way of building, which is all of them until they can be resolved."""
    return [
        Diagnostic(
            "E047",
            f"import '{statement.path.plain}' is not resolved",
            statement.span,
            help="this version of prosec checks programs with imports, but can't build them yet",
        )
        for statement in program.statements
        if isinstance(statement, nodes.Use)
    ]


def judged(found: Iterable[Diagnostic], strict: bool) -> list[Diagnostic]:
    """What is reported of what was found: some of it only with `--strict`, and then some as errors."""
    kept: list[Diagnostic] = []
    for diagnostic in found:
        code = CODES[diagnostic.code]
        if code.only_strict and not strict:
            continue
        if strict and diagnostic.code == "W029":
            continue  # E018 says it.
        kept.append(replace(diagnostic, raised=True) if strict and code.strict else diagnostic)
    return kept


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics in written order, each once: two stages may see the same mistake."""
    first: dict[tuple[str, Span], Diagnostic] = {}
    for diagnostic in diagnostics:
        first.setdefault((diagnostic.code, diagnostic.span), diagnostic)
    return sorted(first.values(), key=lambda diagnostic: diagnostic.span.start)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
