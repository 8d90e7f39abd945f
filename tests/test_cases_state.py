"""Every file of cases/state is one program, and what its state.md holds at chosen moments of its run with `simulate`.

    program, up to
    # run              (may be missing) TOML: inputs = {...}, person = {...}, again = {...}, max_rounds, max_concurrency
    # answers          (may be missing) TOML, as for --answers
    # hold Pattern     a moment, as semantics/moments.py has them: hold, pause, ask, end
    the whole state.md then

Run with PROSEC_UPDATE_CASES=1 to write the states as they are now into the files, and read the difference before
committing it.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from semantics.moments import looked_at

CASES = sorted((Path(__file__).parent / "cases" / "state").glob("*.case"))
SECTION = re.compile(r"^# (run|answers|hold .+|pause(?: \d+)?|ask .+|end)\n", re.MULTILINE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, *rest = SECTION.split(case.read_text(encoding="utf-8"))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    run = tomllib.loads(sections.pop("run", ""))
    answers = sections.pop("answers", "")
    found = looked_at(program, list(sections), answers, **run).found
    assert set(found) == set(sections), "not every moment came"
    if os.environ.get("PROSEC_UPDATE_CASES"):
        text = case.read_text(encoding="utf-8")
        kept = text[: SECTION.search(text, _first_moment(text)).start()]  # type: ignore[union-attr]
        states = "".join(f"# {moment}\n{found[moment]}" for moment in sections)
        case.write_text(kept + states, encoding="utf-8")
        return
    assert found == sections, f"PROSEC_UPDATE_CASES=1 pytest {__file__} if it is right"


def _first_moment(text: str) -> int:
    return next(m.start() for m in SECTION.finditer(text) if m[1] not in ("run", "answers"))
