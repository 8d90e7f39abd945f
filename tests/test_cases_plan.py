"""Every file of cases/plan is one program and what `prosec plan` says of it.

A case is the program's text, a line `# output`, the plan, and a last line `traits:` with what its script's footer says.
Run with PROSEC_UPDATE_CASES=1 to write what the compiler gives now into the files, and read the difference before
committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prosec.compiler import analyse
from prosec.diagnostics import Severity
from prosec.plan import plan
from prosec.report.plan import as_text
from prosec.source import Source

CASES = sorted((Path(__file__).parent / "cases" / "plan").glob("*.case"))
SEPARATOR = "# output\n"


def planned(program: str) -> str:
    """The plan of a program, and its traits."""
    source = Source(program, "case.prose")
    analysed = analyse(source)
    errors = [d.message for d in analysed.diagnostics if d.severity is Severity.ERROR]
    assert not errors, errors
    found = plan(analysed.program, analysed.analysis, source)
    return f"{as_text('case.prose', found)}\ntraits: {found.traits}".rstrip() + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path) -> None:
    program, separator, expected = case.read_text("utf-8").partition(SEPARATOR)
    assert separator, f"{case.name} has no line `# output`"
    found = planned(program)
    if os.environ.get("PROSEC_UPDATE_CASES"):
        case.write_text(program + SEPARATOR + found, "utf-8")
        return
    assert found == expected, (
        f"run PROSEC_UPDATE_CASES=1 pytest {__file__} if the new plan is right"
    )


def test_there_are_cases() -> None:
    assert len(CASES) >= 15
