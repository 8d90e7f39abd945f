"""The provider that calls no model: every answer is made from the prompt, the same every time.

Without particular answers, `if` and filters are true (false where an if's body only throws), `until` is true after the
second round, `while` false after the second, a choice takes its first label, and structured results fit their shape
(lists of three). Texts begin with "[simulated]", so that nobody takes them for a model's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..errors import SessionError, UsageError
from .answers import Answer, Answers
from .examples import example_of
from .protocol import JSON, Hints, Reply, Request, Usage

__all__ = ["Answers", "Simulator"]

_DECISIONS = frozenset({"decide", "until", "while", "keep", "choose"})
_ROUNDS = 2
"""After this many rounds simulated loops end."""


class Simulator:
    """Answers from the prompt alone, or from `--answers`."""

    name = "simulate"
    simulated = True

    def __init__(self, answers: Answers | None = None) -> None:
        self._answers = answers

    def check(self) -> None:
        """Nothing can be missing."""

    async def complete(self, request: Request) -> Reply:
        """Make up an answer; raises SessionError where the answers file asks for a failure."""
        given = self._answers.find(request) if self._answers is not None else None
        if given is not None and given.error is not None:
            raise SessionError(given.error, line=request.hints.line)
        if request.kind in _DECISIONS:
            data: Mapping[str, JSON] | None = _decided(request, given)
        elif request.schema is not None:
            data = _structured(request, request.schema, given)
        else:
            data = None
        text = (
            json.dumps(data, ensure_ascii=False)
            if data is not None
            else _text(request.hints, given)
        )
        return Reply(text, data, Usage(), request.model)

    def remarks(self) -> Sequence[str]:
        """The answers that no step used."""
        return self._answers.unused() if self._answers is not None else ()

    async def close(self) -> None:
        """Nothing is open."""


def _text(hints: Hints, given: Answer | None) -> str:
    if given is not None:
        return (
            given.value
            if isinstance(given.value, str)
            else json.dumps(given.value, ensure_ascii=False)
        )
    about = _about(hints)
    if hints.example is not None:
        return json.dumps(example_of(hints.example, about), ensure_ascii=False)
    return about


def _about(hints: Hints) -> str:
    lines = (hints.asked or hints.title or "an answer").strip().splitlines() or ["an answer"]
    first = lines[0] if len(lines[0]) <= 120 else lines[0][:119] + "…"
    return f"[simulated] {hints.agent}: {first}" if hints.agent else f"[simulated] {first}"


def _decided(request: Request, given: Answer | None) -> Mapping[str, JSON]:
    hints = request.hints
    if request.kind == "choose":
        answer: JSON = hints.labels[0] if hints.labels else ""
    elif request.kind == "until":
        answer = hints.round + 1 >= _ROUNDS
    elif request.kind == "while":
        answer = hints.round < _ROUNDS
    else:
        answer = not hints.only_throws
    if given is None:
        return {"reason": "simulated", "answer": answer}
    if request.kind == "choose" and given.value not in hints.labels:
        raise UsageError(
            f"{given.where}: must be one of the options {', '.join(map(repr, hints.labels))}",
            line=hints.line,
        )
    if request.kind != "choose" and not isinstance(given.value, bool):
        raise UsageError(
            f"{given.where}: answers a yes/no question, so it must be true or false",
            line=hints.line,
        )
    return {"reason": f"given by {given.where}", "answer": given.value}


def _structured(
    request: Request, schema: Mapping[str, JSON], given: Answer | None
) -> Mapping[str, JSON]:
    if given is None:
        made = example_of(schema, _about(request.hints))
        assert isinstance(made, dict), "the top of a schema is always an object"
        return made
    properties = schema.get("properties")
    wrapped = (
        next(iter(properties)) if isinstance(properties, dict) and len(properties) == 1 else None
    )
    if isinstance(given.value, dict) and (
        wrapped is None or wrapped in given.value or wrapped not in ("items", "value")
    ):
        return given.value
    inner = (
        properties.get(wrapped) if isinstance(properties, dict) and wrapped is not None else None
    )
    wanted = inner.get("type") if isinstance(inner, dict) else "object"
    if wrapped not in ("items", "value") or not _is(given.value, wanted):
        raise UsageError(
            f"{given.where}: the program needs {_NAMES.get(str(wanted), wanted)} here",
            line=request.hints.line,
        )
    return {wrapped: given.value}


def _is(value: JSON, wanted: JSON) -> bool:
    if wanted == "array":
        return isinstance(value, list)
    if wanted == "boolean":
        return isinstance(value, bool)
    return wanted == "number" and isinstance(value, int | float) and not isinstance(value, bool)


_NAMES: Mapping[str, str] = {
    "array": "a list",
    "boolean": "true or false",
    "number": "a number",
    "object": "a table with its fields",
}
