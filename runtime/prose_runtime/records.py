"""Values and questions as the journal has them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .identity import digest_of
from .past import Record
from .providers.protocol import JSON
from .state.bindings import error_from
from .tasks import Entry, Place, Question, Repair, Task
from .values import Value

if TYPE_CHECKING:
    from .execution import Execution


def as_record(value: Value) -> dict[str, JSON]:
    """A value as the journal has it: text as it is, anything else with its kind."""
    if value.is_text:
        return {"text": value.text}
    return {"kind_of_value": value.kind, "value": value.plain(), "digest": digest_of(value)[:8]}


def value_of_record(record: Record) -> Value:
    """The value that `as_record` wrote."""
    if "text" in record:
        return Value(record["text"])
    data: Any = record["value"]
    return Value(error_from(data)) if record.get("kind_of_value") == "error" else Value(data)


def sent_of(execution: Execution, asked: Task | Question | Repair) -> dict[str, JSON]:
    """What was asked and shown, for whoever reads it later: texts, and values by their digest and place.

    A value that stands nowhere else is given whole. Absent parts are left out, secret inputs are taken out.
    """
    scrubbed = execution.scrubbed
    if isinstance(asked, Repair):
        named: dict[str, JSON] = {"label": asked.name} if asked.name else {}
        return {**named, "prompt": scrubbed(asked.text), "shape": asked.shape.plain()}
    if isinstance(asked, Question):
        parts: dict[str, JSON] = {"prompt": scrubbed(asked.text), "labels": [*asked.labels]}
        shown = asked.about
    else:
        parts = {
            "prompt": scrubbed(asked.prompt),
            "title": asked.title and scrubbed(asked.title),
            "system": asked.system and scrubbed(asked.system),
            "agent": asked.agent.name if asked.agent else None,
            "model": asked.model,
            "shape": asked.shape.plain() if asked.shape else None,
            "place": _place(asked.place),
        }
        shown = asked.context
    parts["context"] = _shown(execution, shown)
    if asked.so_far is not None:
        parts["so_far"] = _shown(execution, asked.so_far)
    return {name: part for name, part in parts.items() if part not in (None, [])}


def _place(place: Place) -> JSON:
    """What a session in a block is told of its scope; None at the root."""
    if place.execution_id is None:
        return None
    return [place.execution_id, place.block, place.depth, place.parent]


def _shown(execution: Execution, entries: Sequence[Entry]) -> JSON:
    """[label, digest, place] of each value; [label, digest, null, value] where it has no place.

    That value is text, or what `as_record` makes of another kind.
    """
    listed: list[JSON] = []
    for entry in entries:
        value = entry.value
        seen: list[JSON] = [entry.label, digest_of(value), entry.path]
        if entry.path is None:
            seen.append(_scrubbed(execution, value.text if value.is_text else as_record(value)))
        listed.append(seen)
    return listed


def _scrubbed(execution: Execution, data: JSON) -> JSON:
    """Plain data with the values of secret inputs taken out of its texts."""
    if isinstance(data, str):
        return execution.scrubbed(data)
    if isinstance(data, list):
        return [_scrubbed(execution, item) for item in data]
    if isinstance(data, dict):
        return {name: _scrubbed(execution, item) for name, item in data.items()}
    return data
