"""The form of a binding file: the one function that writes it and the one that reads it."""

from __future__ import annotations

import json
import re
from typing import Final, Literal

from ..errors import BadValue, ProseError, Thrown
from ..immutable import immutable
from ..values import Value

BindingKind = Literal["input", "output", "let", "const"]

_RUN_OF_BACKTICKS: Final = re.compile("`+")


@immutable
class Binding:
    """A named value as its file has it. `source` is the statement that made it, dedented."""

    name: str
    kind: BindingKind
    value: Value
    source: str = ""
    execution_id: int | None = None


def file_name(name: str, execution_id: int | None, rounds: tuple[int, ...]) -> str:
    """`research.md`, `result__43.md`, `result__43~2.5.md`."""
    scope = "" if execution_id is None else f"__{execution_id}"
    turn = "~" + ".".join(map(str, rounds)) if rounds else ""
    return f"{name}{scope}{turn}.md"


def rendered(binding: Binding) -> bytes:
    """The whole file."""
    longest = max((len(run) for run in _RUN_OF_BACKTICKS.findall(binding.source)), default=0)
    fence = "`" * max(3, longest + 1)
    value = binding.value
    lines = [f"# {binding.name}", "", f"kind: {binding.kind}"]
    if binding.execution_id is not None:
        lines.append(f"execution_id: {binding.execution_id}")
    if not value.is_text:
        lines.append(f"type: {value.kind}")
    lines += ["", "source:", f"{fence}prose", binding.source, fence, "", "---", "", ""]
    return ("\n".join(lines) + body(value)).encode("utf-8", "replace")


def body(value: Value) -> str:
    """The value as it stands in a file: text as it is, anything else as one fenced json block."""
    if value.is_text:
        return value.text
    return f"```json\n{json.dumps(value.plain(), ensure_ascii=False, indent=2)}\n```"


class NotABinding(ValueError):
    """The file does not have the form of a binding."""


def parsed(data: bytes) -> Binding:
    """The binding that a file holds; raises NotABinding for any other content."""
    text = data.decode("utf-8", "replace")
    head, separator, rest = text.partition("\n\nsource:\n")
    lines = head.split("\n")
    if not separator or not lines[0].startswith("# "):
        raise NotABinding("no '# name' line with a source under it")
    fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    opener, _, rest = rest.partition("\n")
    fence = opener.removesuffix("prose")
    source, separator, content = rest.partition(f"\n{fence}\n\n---\n\n")
    kind = fields.get("kind", "")
    number = fields.get("execution_id", "")
    if not fence or not separator or kind not in ("input", "output", "let", "const"):
        raise NotABinding("no kind, or a source without its end")
    if number.strip("0123456789"):
        raise NotABinding("an execution_id that is no number")
    return Binding(
        lines[0][2:],
        kind,  # type: ignore[arg-type]
        value_in(content, fields.get("type")),
        source,
        int(number) if number else None,
    )


def value_in(content: str, kind: str | None) -> Value:
    """The value whose `body` is `content`: text, or one of another kind. Raises NotABinding."""
    if kind is None:
        return Value(content)
    try:
        data = json.loads(content.removeprefix("```json\n").rstrip("\n").removesuffix("\n```"))
        return Value(error_from(data)) if kind == "error" else Value(data)
    except (ValueError, RecursionError, BadValue) as problem:
        raise NotABinding(f"its json block can't be read: {problem}") from None


def error_from(data: object) -> ProseError:
    """The error that `Value.plain` made an object of."""
    fields = data if isinstance(data, dict) else {}
    error = Thrown(str(fields.get("message", "")), line=fields.get("line"))
    error.kind = str(fields.get("kind", "error"))
    return error
