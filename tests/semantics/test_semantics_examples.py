"""Every example compiles and runs to its end with `simulate`, all its inputs given."""

from __future__ import annotations

from pathlib import Path

import pytest
from playing import built, play

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.prose"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(path: Path, tmp_path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    _, program = built(source)
    inputs = {name: f"something about {name}" for name in program.inputs}

    ran = play(source, tmp_path, inputs=inputs)

    assert ran.outcome.exit_code == 0, ran.outcome.problem
    assert ran.calls, "an example does something"
    assert list(ran.outcome.outputs) == [n for n in program.outputs if n in ran.outcome.outputs]
    assert ran.outcome.outputs or ran.outcome.last is not None
