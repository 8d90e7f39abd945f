"""Narration of single steps: sessions with their results, questions with their answers, names that are bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..events import (
    Bound,
    PersonAsked,
    Resolved,
    StepCancelled,
    StepFailed,
    StepFinished,
    StepRetrying,
    StepSeen,
    StepStarted,
    Threw,
    WaitingFor,
)
from ..terminal import seconds
from .constructs import Constructs
from .page import Marker
from .places import Key
from .telling import Telling
from .wording import RESULT

_SESSIONS: Final = frozenset({"session", "resume"})
_LOOP_QUESTIONS: Final = frozenset({"until", "while"})
_PROMPT: Final = 80
_SUMMARY: Final = 200
_RECORDED: Final = ("Recorded by an earlier life of the run: not asked again",)


class Steps:
    """Tells of steps and bindings."""

    def __init__(self, telling: Telling, constructs: Constructs) -> None:
        self._telling = telling
        self._wording = telling.wording
        self._constructs = constructs

    # Sessions and questions

    def started(self, event: StepStarted) -> None:
        step, telling = event.step, self._telling
        key = _key_of(step)
        if step.kind in _SESSIONS:
            telling.at(key).step = step
            self._position(key, step)
        elif step.kind == "keep":
            # The pipeline says how many items passed.
            telling.go(key, step.line)
        elif step.kind == "summary":
            # Its session has not begun: what it stands at is said with that.
            telling.say(key, "Flow", f"Summarising: {self._wording.sentence(step.label)}")
        elif step.kind == "repair":
            what = f"'{step.name}'" if step.name is not None else "a value"
            telling.say(
                key, "Flow", f"Repairing: {what} has not the shape that is needed", _recorded(step)
            )
        else:
            telling.go(key, step.line)
            marker: Marker = "Loop" if step.kind in _LOOP_QUESTIONS else "Flow"
            condition = self._wording.sentence(step.prompt)
            telling.say(key, marker, f"Evaluating: **{condition}**", _recorded(step))

    def _position(self, key: Key, step: StepSeen) -> None:
        telling = self._telling
        statements = telling.statements
        path = statements.path(step.line)
        node = path[-1] if path else None
        if self._is_told_as_a_whole(step):
            telling.go(key, step.line)
        elif node is not None and statements.is_announced(node):
            details = self._spawning(step, statements.heading(node))
            if not telling.go(key, step.line, details):
                telling.position(key, node, details)
        else:
            telling.go(key, step.line)
            heading = f"{step.kind} {self._wording.quoted(step.label, _PROMPT)}"
            telling.say(key, "Position", heading, self._spawning(step, heading))

    def _is_told_as_a_whole(self, step: StepSeen) -> bool:
        """The session is all of a branch or of a pipeline's stage: these say what came of it."""
        statements = self._telling.statements
        path = statements.path(step.line)
        return bool(path) and statements.is_whole(path[-1])

    def _spawning(self, step: StepSeen, heading: str) -> Sequence[str]:
        """What the statement itself doesn't say about its session."""
        if step.recorded:
            return _RECORDED
        details = []
        prompt = step.prompt
        if len(prompt) > len(heading) or " ".join(prompt.split()) not in heading:
            details.append(f"Spawning with prompt: {self._wording.quoted(prompt, _PROMPT)}")
        if step.model is not None:
            details.append(f"Model: {self._wording.text(step.model, RESULT)}")
        return details

    def finished(self, event: StepFinished) -> None:
        step, telling = event.step, self._telling
        key = _key_of(step)
        if step.kind in _SESSIONS:
            self._session_finished(key, event)
        elif step.kind == "summary" or step.kind == "repair":
            done = "Summarised" if step.kind == "summary" else "Repaired"
            telling.say(key, "Flow", f"{done}: {self._wording.value(event.value, RESULT)}")
        elif step.kind == "choose":
            chosen = self._wording.quoted(event.value.text, _PROMPT)
            telling.say(key, "Flow", f"Chosen: {chosen}{self._reason(event)}")
        elif step.kind != "keep":
            telling.say(key, "Flow", self._judged(key, event) + self._reason(event))

    def _session_finished(self, key: Key, event: StepFinished) -> None:
        telling = self._telling
        strand = telling.at(key)
        held, strand.held, strand.step = strand.held, None, None
        written = self._written(event)
        if self._is_told_as_a_whole(event.step):
            self._constructs.session_finished(key, written)
            return
        what = "Session complete" if event.step.name is not None else "Result"
        telling.say(key, "Success", f"{what}: {self._wording.value(event.value, RESULT)}", written)
        if held is not None:
            self._bound(key, held)

    def _written(self, event: StepFinished) -> Sequence[str]:
        """What the session side reports of the file that it wrote."""
        if not self._telling.files or event.path is None:
            return ()
        step = event.step
        file = event.path.rpartition("/")[2].removesuffix(".md")
        name = step.name or file.partition("__")[0]
        lines = [f"Binding written: {name}", f"Location: {event.path}"]
        if step.place.execution_id is not None:
            lines.append(f"Execution ID: {step.place.execution_id}")
        summary = self._wording.text(event.value.text, _SUMMARY)
        return [*lines, f"Summary: {summary}"]

    def _judged(self, key: Key, event: StepFinished) -> str:
        """The answer to a condition."""
        holds, kind = bool(event.value), event.step.kind
        if kind == "until":
            self._constructs.decided(key, holds)
            return "Satisfied!" if holds else "Not satisfied, continuing"
        if kind == "while":
            self._constructs.decided(key, not holds)
            return "Satisfied, continuing" if holds else "No longer satisfied"
        return "Satisfied!" if holds else "Not satisfied"

    def _reason(self, event: StepFinished) -> str:
        return f" ({self._wording.sentence(event.reason)})" if event.reason else ""

    def retrying(self, event: StepRetrying) -> None:
        delay = f" in {seconds(event.delay)}" if event.delay else ""
        self._telling.say(
            _key_of(event.step),
            "Warning",
            f"{_called(event.step)} failed: {self._wording.sentence(event.reason)}",
            [f"Retrying{delay} (attempt {event.attempt} of {event.of})"],
        )

    def failed(self, event: StepFailed) -> None:
        telling = self._telling
        key = _key_of(event.step)
        strand = telling.at(key)
        strand.step = strand.held = None
        reason = self._wording.sentence(event.reason)
        telling.say(key, "Warning", f"{_called(event.step)} failed: {reason}")
        if event.step.kind != "summary":
            # The session that needs it fails next.
            telling.fail(key, event.reason)

    def cancelled(self, event: StepCancelled) -> None:
        key = _key_of(event.step)
        strand = self._telling.at(key)
        strand.step = strand.held = None
        if not self._is_told_as_a_whole(event.step):
            label = self._wording.quoted(event.step.label, _PROMPT)
            self._telling.say(key, "Flow", f"{_called(event.step)} cancelled: {label}")

    # Names

    def bound(self, event: Bound) -> None:
        telling = self._telling
        key = (event.place.execution_id, event.branch)
        if not event.shown:
            self._wording.secrets.keep(event.value)
        if event.kind == "input":
            value = self._wording.value(event.value) if event.shown else "***"
            telling.go(key, event.line)
            telling.go_on(
                key, "Input", "Inputs received:", [f"{event.name} = {value} (from caller)"]
            )
            return
        strand = telling.at(key)
        if strand.step is not None and strand.step.name == event.name:
            strand.held = event
            return
        telling.go(key, event.line)
        self._bound(key, event)

    def _bound(self, key: Key, event: Bound) -> None:
        value = self._wording.value(event.value)
        if event.kind == "output":
            text = f"output {event.name} = {value} (will return to caller)"
            self._telling.say(key, "Output", text)
            return
        about = []
        if event.kind == "const":
            about.append("immutable")
        elif event.kind == "assign" and event.was is not None:
            about.append(f"reassignment, was: {self._wording.value(event.was)}")
        if event.execution_id is not None:
            about.append(f"execution_id: {event.execution_id}")
        word = "" if event.kind == "assign" else f"{event.kind} "
        said = ", ".join(about) or "mutable"
        self._telling.say(key, "Binding", f"{word}{event.name} = {value} ({said})")

    def resolved(self, event: Resolved) -> None:
        """Said once per name and strand."""
        key = (event.place.execution_id, event.branch)
        strand = self._telling.at(key)
        if event.name in strand.resolved:
            return
        strand.resolved.add(event.name)
        if event.execution_id is None:
            where = "the root scope"
        else:
            near = event.execution_id == event.place.parent
            where = f"execution_id {event.execution_id} ({'parent' if near else 'outer'} scope)"
        self._telling.say(key, "Binding", f"Resolving '{event.name}': found in {where}")

    def asked(self, event: PersonAsked) -> None:
        key = (event.place.execution_id, event.branch)
        self._telling.go(key, event.line)
        self._telling.say(key, "Input", f"Asking for input: {event.name}")

    def waiting(self, event: WaitingFor) -> None:
        key = (event.place.execution_id, event.branch)
        self._telling.go(key, event.line)
        text = [self._wording.sentence(event.text)] if event.text else []
        self._telling.say(key, "Input", f"Waiting for input: {event.name}", text)

    def threw(self, event: Threw) -> None:
        key = (event.place.execution_id, event.branch)
        self._telling.go(key, event.line)
        self._telling.say(key, "Warning", f"Thrown: {self._wording.sentence(event.message)}")
        self._telling.fail(key, event.message)


def _key_of(step: StepSeen) -> Key:
    return step.place.execution_id, step.branch


def _recorded(step: StepSeen) -> Sequence[str]:
    return _RECORDED if step.recorded else ()


def _called(step: StepSeen) -> str:
    if step.kind in _SESSIONS:
        return "Session"
    return step.kind.capitalize() if step.kind in ("repair", "summary") else "Decision"
