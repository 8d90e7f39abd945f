"""Every file of cases/narration is one program, and what is narrated of it when it runs.

    program, up to
    # run              (may be missing) TOML: inputs = {...}, state = "filesystem", style = "emoji", person = {...},
                       simulated = true
    # answers          (may be missing) TOML, by prompt, condition or "Summary of NAME": a text, a list of texts (one per
                       time), { error = "..." }, true, a label, or { answer = false, reason = "..." }
    # output           the narration

Without an answer a session says what it was asked in brackets, and a condition holds without a reason. Run with
PROSEC_UPDATE_CASES=1 to write what is narrated now into the files, and read the difference before committing it.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prose_runtime.errors import SessionError
from prose_runtime.listing import Listing
from prose_runtime.narration.narrator import Narrator
from prose_runtime.providers.protocol import Usage
from prose_runtime.run import execute
from prose_runtime.settings import InputWanted, Settings
from prose_runtime.shaping import refused, turn
from prose_runtime.tasks import Answer, Decision, Question, Summary, Task
from prose_runtime.values import Value
from runtime.scripted import Scripted
from semantics.playing import Still, built

FOLDER = Path(__file__).parent / "cases" / "narration"
CASES = sorted(FOLDER.glob("*.case"))
SECTION = re.compile(r"^# (run|answers|output)\n", re.MULTILINE)
PICTOGRAPHS = {
    "Program": "📋",
    "Position": "📍",
    "Binding": "📦",
    "Success": "✅",
    "Warning": "⚠️",
    "Parallel": "🔀",
    "Loop": "🔄",
    "Pipeline": "🔗",
    "Try": "🛡️",
    "Flow": "➡️",
}


@dataclass
class Answering(Scripted):
    """Answers by what is asked; of a list one per time, the last one for the rest."""

    given: Mapping[str, Any] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def next(self, asked: str, default: Any) -> Any:
        answer = self.given.get(asked, default)
        if isinstance(answer, list):
            number = self.times[asked] = self.times.get(asked, -1) + 1
            answer = answer[min(number, len(answer) - 1)]
        if isinstance(answer, dict) and set(answer) == {"error"}:
            raise SessionError(answer["error"])
        return answer

    async def answer(self, task: Task) -> Answer:
        attempts = 1 + (task.retry.times if task.retry else 0)
        for attempt in range(1, attempts + 1):
            await asyncio.sleep(0)
            try:
                value = Value(self.next(task.prompt, f"[{task.prompt}]"))
                break
            except SessionError as error:
                if attempt == attempts:
                    raise
                task.reports.retrying(attempt + 1, attempts, error.message, 2.0)
        if task.shape is not None:
            turned = turn(value, task.shape)
            if turned is None:
                raise refused(value, task.shape, task.name)
            value = turned
        return Answer(value.text, value, Usage(10, 5), "test-model")

    async def decide(self, question: Question) -> Decision:
        await asyncio.sleep(0)
        answer = self.next(question.text, True if not question.labels else question.labels[0])
        given = answer if isinstance(answer, dict) else {"answer": answer, "reason": ""}
        return Decision(given["answer"], given["reason"], Usage(3, 1), "test-model")

    async def summarise(self, summary: Summary) -> Answer:
        text = self.next(f"Summary of {summary.label}", f"{summary.extent} of {summary.label}")
        return Answer(text, Value(text), Usage(3, 1), "test-model")


def narrated(source: str, run: Mapping[str, Any], answers: Mapping[str, Any], style: str) -> str:
    """What is narrated of a program, with a clock that stands still, in the working directory."""
    _, program = built(source)
    out = io.StringIO()
    state = run.get("state", "in-context")
    small = program.traits.in_context
    narrator = Narrator(out, style, Listing.of(program), state, is_small=small)  # type: ignore[arg-type]
    person = run.get("person")

    async def ask(wanted: InputWanted) -> str:
        assert person is not None
        return str(person[wanted.name])

    settings = Settings(
        Answering(given=answers),
        inputs=run.get("inputs", {}),
        ask=ask if person is not None else None,
        state=state,
        prose_dir=Path(".prose"),
        observers=(narrator,),
        simulated=run.get("simulated", False),
        clock=Still(),
    )
    asyncio.run(execute(program, settings))
    return out.getvalue()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = case.read_text("utf-8")
    source, *rest = SECTION.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    run = tomllib.loads(sections.get("run", ""))
    answers = tomllib.loads(sections.get("answers", ""))
    found = narrated(source, run, answers, run.get("style", "text"))
    if os.environ.get("PROSEC_UPDATE_CASES"):
        case.write_text(text[: text.index("# output\n")] + "# output\n" + found, "utf-8")
        return
    assert found == sections["output"], f"PROSEC_UPDATE_CASES=1 pytest {__file__} if it is right"
    emoji = narrated(source, {**run, "prose_dir": "again"}, answers, "emoji")
    assert emoji == in_pictographs(found)


def in_pictographs(text: str) -> str:
    return re.sub(r"^\[(\S+)\]", lambda m: PICTOGRAPHS.get(m[1], m[0]), text, flags=re.MULTILINE)


def test_there_are_cases() -> None:
    assert len(CASES) >= 20
