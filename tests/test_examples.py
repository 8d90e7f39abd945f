"""The examples: their committed scripts are what they compile to."""

from __future__ import annotations

from pathlib import Path

import pytest

from prosec.compiler import compile
from prosec.source import Source

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.prose"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_script_is_current(path: Path) -> None:
    compiled = compile(Source.read(path, path.name))
    assert compiled.diagnostics == []
    assert path.with_suffix(".py").read_text(encoding="utf-8") == compiled.text
