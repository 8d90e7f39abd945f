"""What was sent: the messages of a run's steps, put together again from its journal by what put them together first.

The journal keeps texts, and values by digest and place. They are found among its results and inputs, in attachments or
in binding files; where one is found nowhere any more, the message says so in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .decisions import question_request
from .errors import SessionError
from .identity import digest_of
from .past import Record
from .providers.protocol import JSON, Request
from .recorded import RecordedStep
from .records import value_of_record
from .secrets import Secrets
from .sessions.requests import repair_request, session_request
from .shaping import Shape
from .state.bindings import NotABinding, value_in
from .state.store import Stores
from .tasks import Entry, Place, Question, Repair, Task
from .values import Value


@dataclass(frozen=True, slots=True)
class Message:
    """What one step sent."""

    system: str | None
    user: str
    """Empty where `problem` says why there is none."""
    schema: Mapping[str, JSON] | None
    """What a structured answer must fit."""
    lacking: Sequence[str] = ()
    """Values that the message does not have as they were sent, and why."""
    problem: str = ""
    """Why nothing can have been sent."""


class Sent:
    """Puts messages of one run together."""

    def __init__(
        self, stores: Stores, run_id: str, records: Iterable[Record], secrets: Secrets
    ) -> None:
        self._stores = stores
        self._run_id = run_id
        self._secrets = secrets
        self._values: dict[str, Value] = {}
        self._secret: set[str] = set()
        self._lacking: list[str] = []
        for record in records:
            if record["r"] == "input" and record.get("secret"):
                self._secret.add(record["digest"])
            elif record["r"] in ("result", "input"):
                value = value_of_record(record)
                self._values[digest_of(value)] = value

    def by(self, step: RecordedStep) -> Sequence[Message]:
        """What a step sent, the last time that it was asked; retries sent the same once more."""
        if not step.ask:
            return [Message(None, "", None, problem="the record of what it was asked is lost")]
        self._lacking = []
        try:
            first = self._message(self._request(step))
        except SessionError as problem:
            return [Message(None, "", None, problem=problem.message)]
        self._lacking = []
        return [first, *(self._message(self._repair(step, text)) for text in step.again)]

    def _message(self, request: Request) -> Message:
        [message] = request.messages
        system, user = request.system, str(message["content"])
        return Message(
            system and self._secrets.scrubbed(system),
            self._secrets.scrubbed(user),
            request.schema,
            tuple(self._lacking),
        )

    def _repair(self, step: RecordedStep, text: str) -> Request:
        return repair_request(Repair(text, Shape.read(step.ask["shape"])), "")

    def _request(self, step: RecordedStep) -> Request:
        ask, kind = step.ask, step.kind
        if kind == "repair":
            return self._repair(step, ask["prompt"])
        model = str(ask.get("model") or "")
        shown = self._entries(ask.get("context", ()))
        so_far = self._entries(ask["so_far"]) if "so_far" in ask else None
        if kind == "session" or kind == "resume":
            task = Task(
                kind,
                ask["prompt"],
                ask.get("title"),
                system=ask.get("system"),
                model=ask.get("model"),
                context=shown,
                so_far=so_far,
                place=Place(*ask.get("place", ())),
                shape=Shape.read(ask["shape"]) if "shape" in ask else None,
            )
            return session_request(task, model)
        assert kind != "summary", "in-context runs keep no journal"
        labels = tuple(ask.get("labels", ()))
        return question_request(Question(kind, ask["prompt"], shown, so_far, labels), model)

    def _entries(self, shown: Iterable[Sequence[Any]]) -> tuple[Entry, ...]:
        return tuple([self._entry(*part) for part in shown])

    def _entry(self, label: str, digest: str, path: str | None, whole: JSON = None) -> Entry:
        if digest in self._secret:
            self._lacking.append(f"'{label}' is a secret")
            return Entry(label, Value("***"), path)
        if path is None:
            value = value_of_record(whole if isinstance(whole, dict) else {"text": whole})
            return Entry(label, value, None)
        found = self._found(digest, path)
        if found is None:
            self._lacking.append(f"'{label}' was in {path}, which has another value now or is gone")
            found = Value(f"[not kept: it was in {path}]")
        return Entry(label, found, path)

    def _found(self, digest: str, path: str) -> Value | None:
        value = self._values.get(digest)
        if value is None:
            value = self._attached(digest)
            value = self._bound(digest, path) if value is None else value
            if value is not None:
                self._values[digest] = value
        return value

    def _attached(self, digest: str) -> Value | None:
        text = self._stores.attachment(self._run_id, digest[:8])
        if text is None:
            return None
        for kind in (None, "json", "error"):
            try:
                value = value_in(text, kind)
            except NotABinding:
                continue
            if digest_of(value) == digest:
                return value
        return None

    def _bound(self, digest: str, path: str) -> Value | None:
        binding = self._stores.binding(self._run_id, path.rpartition("/")[2])
        if binding is not None and digest_of(binding.value) == digest:
            return binding.value
        return None
