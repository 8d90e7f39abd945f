"""`prosec plan`: bounds on standard output, diagnostics on standard error."""

from __future__ import annotations

import json
from pathlib import Path

from invoking import Prosec

PROGRAM = """\
let found = session "List"
parallel for item in found:
  session "Read {item}"
loop until **it is done**:
  session "Work"
"""


def test_text(prosec: Prosec, here: Path) -> None:
    (here / "one.prose").write_text('session "Hello"\n')
    done = prosec("plan", "one.prose")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:3] == [
        "one.prose",
        "  sessions    1",
        "  decisions   0",
    ]


def test_json_has_null_where_nothing_bounds_it(prosec: Prosec, here: Path) -> None:
    (here / "many.prose").write_text(PROGRAM)
    done = prosec("plan", "many.prose", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["file"] == "many.prose"
    assert found["sessions"] == {"least": 2, "most": None}
    assert found["decisions"] == {"least": 1, "most": None}
    assert found["at_once"] == {"most": None, "line": 2}
    assert [entry["line"] for entry in found["unbounded"]] == [2, 4]
    assert found["loops_without_max"] == [4]
    assert found["in_context"]["suits"] is False


def test_warnings_do_not_stand_in_the_way(prosec: Prosec, here: Path) -> None:
    (here / "odd.prose").write_text('loop:\n  session "Work"\n')
    done = prosec("plan", "odd.prose")
    assert done.code == 0
    assert "W014" in done.err
    assert "unbounded" in done.out and "neither a condition nor a max" in done.out


def test_a_program_with_errors_has_no_plan(prosec: Prosec, here: Path) -> None:
    (here / "broken.prose").write_text('session: nobody\n  prompt: "x"\n')
    done = prosec("plan", "broken.prose")
    assert (done.code, done.out) == (1, "")
    assert "E007" in done.err
    assert prosec("plan", "missing.prose").code == 2
    assert prosec("plan").code == 2


def test_an_imported_program_is_not_counted_yet(prosec: Prosec, here: Path) -> None:
    (here / "uses.prose").write_text(
        'use "alice/research"\nlet found = research(topic: "bees")\nsession "Write"\n'
    )
    done = prosec("plan", "uses.prose")
    assert done.code == 0
    assert "1 to unbounded" in done.out
    assert "line 2: the imported program 'research' is not compiled yet" in done.out
