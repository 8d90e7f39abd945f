"""output.md's brief, written by hand as it is emitted, from its first session to its output."""

from __future__ import annotations

import runpy
from pathlib import Path

from prose_runtime import Agent, Program
from scripted import Scripted, failing, play

script = runpy.run_path(str(Path(__file__).parent / "scripts" / "brief.py"))
program: Program = script["program"]
editor: Agent = script["editor"]


def test_the_whole_brief(tmp_path: Path) -> None:
    side = Scripted(
        answers={
            "List the five companies to watch in bikes": ["A", "B", "C"],
            "What could hurt each of them next year?": failing("overloaded"),
            "Publish the brief to the wiki": failing("wiki is down"),
        },
        decisions={
            "the facts name a parent company": [True, True, True, False, False, False],
            "the draft fits one page and every claim has a source": [False, True],
            "who should see the draft first": "Board",
        },
    )
    ran = play(program, tmp_path, side, inputs={"market": "bikes"})
    assert ran.outcome.problem is None
    assert ran.outcome.exit_code == 0
    assert ran.outcome.status == "completed"
    assert ran.outcome.outputs["brief"] == "[Tighten the draft (round 1)]"
    assert {"market.md", "companies.md", "profiles.md", "draft.md", "brief.md", "pricing.md", "risks.md"} <= {
        *ran.files
    }
    assert "facts__1.md" in ran.files
    assert "anon_001.md" in ran.files
    tell = next(task for task in side.tasks if task.prompt.startswith("Tell"))
    assert tell.context[0].value["message"] == "wiki is down"
    handled = [i for record in ran.records("handled") for i in record["ids"]]
    assert sorted(handled) == sorted(record["id"] for record in ran.records("failed"))
    assert ran.records("end")[0]["status"] == "completed"
    assert side.closed == 1
    assert "status: completed" in (ran.directory / "state.md").read_text()
    system = next(task.system for task in side.tasks if task.agent is editor)
    assert system == "You edit for a busy executive in the bikes business."
