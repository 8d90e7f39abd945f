"""Every file of cases/build is one program and the body of the script that it compiles to.

A case is the program's text, a line `# output`, and everything of the script between its import line and the
comment above its footer, stripped. Run with PROSEC_UPDATE_CASES=1 to write what the compiler gives now into the
files, and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prosec.compiler import compile
from prosec.source import Source

FOLDER = Path(__file__).parent / "cases" / "build"
CASES = sorted(FOLDER.glob("*.case"))
SEPARATOR = "# output\n"
FOOTER = "# The program that this script was generated from"


def split(case: Path) -> tuple[str, str]:
    """The program, and what its script's body must be."""
    program, separator, expected = case.read_text("utf-8").partition(SEPARATOR)
    assert separator, f"{case.name} has no line `# output`"
    return program, expected.strip()


def body(program: str) -> str:
    """What a program's script holds between its import and its footer."""
    compiled = compile(Source(program, "case.prose"))
    assert compiled.text is not None, [diagnostic.message for diagnostic in compiled.diagnostics]
    rest = compiled.text.partition("\nfrom prose_runtime import ")[2]
    below = rest.partition("\n)\n" if rest.startswith("(") else "\n")[2]
    return below[: below.rindex(FOOTER)].strip()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path) -> None:
    program, expected = split(case)
    found = body(program)
    if os.environ.get("PROSEC_UPDATE_CASES"):
        case.write_text(program + SEPARATOR + found + "\n", "utf-8")
        return
    assert (
        found == expected
    ), f"run PROSEC_UPDATE_CASES=1 pytest {__file__} if the new script is right"


def test_there_are_cases() -> None:
    assert len(CASES) >= 50
