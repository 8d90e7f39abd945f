"""The requests that sessions and repair questions make of a provider (those of decisions are in decisions.py)."""

from __future__ import annotations

from collections.abc import Callable

from ..providers.protocol import Request, Usage
from ..shaping import Shape
from ..tasks import Repair, Task
from .framing import frame, whole
from .prompts import session_prompt
from .structured import example_schema, json_in_words, schema_of

Spent = Callable[[Usage], None] | None
"""Who is told what an exchange without a reply cost."""


def session_request(task: Task, model: str, on_spent: Spent = None) -> Request:
    """The request of a session; raises SessionError where it is more than the model takes."""
    shape = task.shape
    example = example_schema(shape) if shape is not None else None
    return Request(
        task.kind,
        model,
        task.system,
        ({"role": "user", "content": session_prompt(task, model)},),
        schema_of(shape) if shape is not None else None,
        hints=task.hints.asking(task.prompt, example),
        on_tokens=task.reports.tokens,
        on_spent=on_spent,
    )


def repair_request(repair: Repair, model: str, on_spent: Spent = None) -> Request:
    """The request that asks for a text in a shape."""
    return Request(
        "repair",
        model,
        None,
        ({"role": "user", "content": _repair_prompt(repair.text, repair.shape)},),
        schema_of(repair.shape),
        hints=repair.hints.asking(repair.text, example_schema(repair.shape)),
        on_spent=on_spent,
    )


def _repair_prompt(text: str, shape: Shape) -> str:
    if shape.kind == "object" or shape.item is not None:
        kept = "" if shape.exact else ", keeping everything else it says"
        wanted = f"as {json_in_words(shape)}{kept}"
    else:
        wanted = {
            "list": "as a list of its items, each item whole",
            "boolean": "as true for yes or false for no",
            "number": "as a number",
        }[shape.kind]
    shown = frame("An answer that a program could not read:", [whole("answer", text, ("answer",))])
    return f"{shown}\n\nGive what this answer says {wanted}. Add nothing, and change nothing that it says."
