"""Every file of cases/check is one program and what must be reported about it.

A case is the program's text, a line `# output`, and one line for each expected diagnostic:

    3:10-3:18 E007 did you mean 'researcher' @1:7

that is, the place, the code, a text that must occur in its message, label, help, fix or related messages
(whatever the case of its letters), and where one of its related spans starts. A place is `line:col-line:col` (the
end exclusive), `line:col` where the language leaves the end open, `line`, or `*`. `E004|E005` is either code, `E*`
any error. The lines may stand in any order; `...` permits further diagnostics. No line means none at all.

The first line may hold flags: `# flags: --strict` (warnings are raised), `crlf` (line ends), `escapes` (`\\t` is a
tab) and `no-final-newline`. It is part of the program, so that lines count as an editor counts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from prosec.compiler import analyse
from prosec.diagnostics import CODES, Diagnostic, Severity
from prosec.source import Source, Span

CASES = sorted((Path(__file__).parent / "cases" / "check").glob("*.case"))
BY_OTHER_TESTS = {"E047", "E050", "E025", "E026", "E027", "E028"}
"""Codes that speak of more than one file."""

EXPECTATION = re.compile(
    r"(?P<place>\*|\d+(?::\d+(?:-\d+:\d+)?)?) (?P<codes>\S+)(?: (?!@\d)(?P<text>.*?))?(?: @(?P<related>\d+:\d+))?$"
)


@dataclass(frozen=True)
class Expectation:
    """One line after `# output`."""

    line: str
    place: str
    codes: str
    text: str
    related: str

    @classmethod
    def read(cls, line: str) -> Expectation:
        match = EXPECTATION.match(line)
        assert match, f"not an expectation: {line!r}"
        return cls(line, *(match[name] or "" for name in ("place", "codes", "text", "related")))

    def matches(self, found: Diagnostic, source: Source) -> bool:
        return (
            self.names(found.code)
            and self.covers(found.span, source)
            and self.text.lower() in said(found).lower()
            and (
                not self.related
                or any(start(r.span, source) == self.related for r in found.related)
            )
        )

    def names(self, code: str) -> bool:
        if self.codes == "E*":
            return CODES[code].severity is Severity.ERROR
        return code in self.codes.split("|")

    def covers(self, span: Span, source: Source) -> bool:
        if "-" in self.place:
            return f"{start(span, source)}-{end(span, source)}" == self.place
        if ":" in self.place:
            return start(span, source) == self.place
        return self.place in ("*", start(span, source).partition(":")[0])


@dataclass(frozen=True)
class Case:
    """A program and what must be said about it."""

    text: str
    flags: frozenset[str]
    expected: tuple[Expectation, ...]
    open_ended: bool

    @classmethod
    def read(cls, path: Path) -> Case:
        written = path.read_text(encoding="utf-8")
        text, line, output = written.partition("# output\n")
        assert line, f"{path.name} has no line '# output'"
        flags = re.match(r"# flags: (.*)\n", text)
        names = frozenset(flags[1].split()) if flags else frozenset()
        assert names <= {"--strict", "crlf", "escapes", "no-final-newline"}, (
            f"{path.name}: unknown flag"
        )
        if "escapes" in names:
            text = text.replace("\\t", "\t")
        if "no-final-newline" in names:
            text = text.removesuffix("\n")
        if "crlf" in names:
            text = text.replace("\n", "\r\n")
        lines = [line for line in output.splitlines() if line.strip()]
        expected = tuple(Expectation.read(line) for line in lines if line != "...")
        return cls(text, names, expected, "..." in lines)


def start(span: Span, source: Source) -> str:
    return "{}:{}".format(*source.position(span.start))


def end(span: Span, source: Source) -> str:
    return "{}:{}".format(*source.position(span.end))


def said(found: Diagnostic) -> str:
    """Everything that a person is shown about a diagnostic, to look for a text in."""
    fix = [found.fix.title, *(edit.text for edit in found.fix.edits)] if found.fix else []
    return "\n".join(
        [found.message, found.label, found.help or "", *fix, *(r.message for r in found.related)]
    )


def shown(found: Diagnostic, source: Source) -> str:
    related = "".join(f" @{start(r.span, source)}" for r in found.related)
    place = f"{start(found.span, source)}-{end(found.span, source)}"
    return f"{place} {found.code} {found.message}{related}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case = Case.read(path)
    source = Source(case.text, "case.prose")
    strict = "--strict" in case.flags
    found = list(analyse(source, strict=strict).diagnostics)

    unmet, left = [], found.copy()
    for expectation in sorted(case.expected, key=lambda e: e.place in "*"):
        match = next((d for d in left if expectation.matches(d, source)), None)
        if match is None:
            unmet.append(expectation.line)
        else:
            left.remove(match)
    surplus = [] if case.open_ended else [shown(d, source) for d in left]

    if unmet or surplus:
        numbered = "\n".join(f"{n:4} | {line}" for n, line in enumerate(case.text.splitlines(), 1))
        pytest.fail(
            f"{path.name}\n{numbered[:3000]}\n\n"
            + "".join(f"expected, not reported: {line}\n" for line in unmet)
            + "".join(f"reported, not expected: {line}\n" for line in surplus)
            + "all that was reported:\n"
            + "".join(f"    {shown(d, source)}\n" for d in found),
            pytrace=False,
        )
    for diagnostic in found:
        assert diagnostic.raised == (strict and CODES[diagnostic.code].strict), shown(
            diagnostic, source
        )


def test_every_code_has_a_case_that_reports_it_and_one_that_does_not() -> None:
    reported, silent = set(), set()
    for path in CASES:
        for expectation in Case.read(path).expected:
            reported.update(expectation.codes.split("|"))
        if "-right" in path.stem:
            silent.add(path.stem.partition("-")[0])
    assert sorted(CODES.keys() - BY_OTHER_TESTS - reported) == []
    assert sorted(CODES.keys() - BY_OTHER_TESTS - silent) == []
