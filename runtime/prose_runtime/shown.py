"""Runs as people are shown them on a terminal: the list of runs, where one stands, and what it sent."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .costs import dollars, is_session
from .history import Made, runs
from .terminal import harmless, one_line

if TYPE_CHECKING:
    from .recorded import RecordedStep
    from .secrets import Secrets
    from .sent import Message
    from .state.store import Stores

_BINDINGS = 100
"""Bindings of which the size is told; of more only the number."""

_HEAD = len("waits for: ")
"""Columns of what is said on a line's left."""

_NEXT = 10
"""Steps that a resumption asks again, of which the names are told."""


def listed(stores: Stores, program: str | None, as_json: bool) -> str:
    """The runs that are kept, newest first; with a `program`, those of it. Raises UsageError."""
    found = runs(stores, program)
    if as_json:
        from .plain import plain_run

        return json.dumps([plain_run(run, stores) for run in found], indent=2)
    if found:
        return table(found)
    return f"no runs{f' of {one_line(program)}' if program else ''} in {stores.where}"


def table(found: Iterable[Made]) -> str:
    """One line per run, under a line of heads."""
    rows = [("RUN", "PROGRAM", "STATUS", "STARTED (UTC)", "SESSIONS", "TOKENS", "USD")]
    for run in found:
        usage = run.costs.usage
        rows.append(
            (
                run.run_id,
                one_line(run.program, 40) or "?",
                _status(run),
                _when(run.started) or "?",
                f"{run.costs.sessions:,}",
                f"{usage.total:,}",
                "-" if run.simulated else dollars(usage.usd),
            )
        )
    return _columns(rows, left=4)


def standing(
    run: Made,
    stores: Stores,
    source: Sequence[str],
    steps: Sequence[RecordedStep],
    left: Sequence[RecordedStep],
) -> str:
    """Where a run stands; `source` are the lines of its program."""
    directory = stores.directory(run.run_id)
    facts: list[tuple[str, str]] = [
        ("run", f"{run.run_id}{f' ({harmless(str(directory))})' if directory else ''}"),
        ("program", one_line(run.program) or "?"),
        ("status", _status(run)),
    ]
    # How to resume is told below, once and for certain.
    reason = run.reason.partition("\nresume with: ")[0]
    if reason:
        facts.append(("reason", harmless(reason)))
    if run.line is not None:
        facts.append(("at", _line(run.line, source)))
    if run.waiting_for:
        facts.append(("waits for", ", ".join(one_line(name) for name in run.waiting_for)))
    facts.append(("started", _times(run)))
    if steps:
        facts.append(("steps", _counted(steps)))
    doing = [step for step in steps if step.fate == "running"] or left
    if doing:
        named = [_named(step, source) for step in doing[:_NEXT]]
        more = [f"... {len(doing) - _NEXT:,} more"] if len(doing) > _NEXT else []
        head = "now" if doing is not left else "next"
        facts.append((head, "\n".join([*named, *more])))
    if run.status == "running":
        pid, host = run.last.get("pid"), run.last.get("host")
        facts.append(("held by", one_line(f"process {pid} on {host}")))
    if run.resumed_by is not None:
        facts.append(("resume", harmless(run.resumed_by)))
        folder = run.last.get("folder")
        if folder is not None and folder != str(Path.cwd()):
            facts.append(("", f"in {harmless(folder)}"))
    return "\n".join(
        f"{f'{head}:' if head else '':<{_HEAD}}{text}".replace("\n", f"\n{' ' * _HEAD}")
        for head, text in facts
    )


def bindings(stores: Stores, run_id: str, secrets: Secrets, hidden: Container[str]) -> str:
    """The bindings of a run with their kinds, sizes and first lines; nothing of those in `hidden` files."""
    files = stores.bindings(run_id)
    rows = []
    for file in files[:_BINDINGS]:
        binding = stores.binding(run_id, file)
        if binding is None:
            rows.append((harmless(file), "?", "", "no binding"))
            continue
        text = secrets.scrubbed(binding.value.text)
        if file in hidden or text.strip() == "***":
            rows.append((harmless(file), binding.kind, "", "***"))
            continue
        rows.append((harmless(file), binding.kind, f"{len(text):,} characters", one_line(text, 60)))
    more = f"\n... {len(files) - _BINDINGS:,} more" if len(files) > _BINDINGS else ""
    return f"{len(files):,} binding{'' if len(files) == 1 else 's'}\n{_columns(rows, left=4)}{more}"


def messages(step: RecordedStep, sent: Iterable[Message]) -> Iterator[str]:
    """One step and what it sent, line by line; what it sent is indented."""
    heads = [f"{step.number}. {_called(step)}"]
    if step.line is not None:
        heads.append(f"line {step.line}")
    heads.append(step.fate)
    models = [model for model in (step.ask.get("model"), step.end.get("model")) if model]
    if models:
        heads.append(one_line(": ".join(dict.fromkeys(models))))
    if step.usage.total:
        heads.append(f"{step.usage.total:,} tokens")
    if step.usage.usd:
        heads.append(f"${dollars(step.usage.usd)}")
    if step.asked > 1:
        heads.append(f"asked {step.asked} times")
    if step.attempts > 1:
        heads.append(f"attempt {step.attempts}")
    yield ", ".join(heads)
    yield f"   id {one_line(step.identity[:16])}"
    for number, message in enumerate(sent):
        if number:
            yield "   its answer had not the shape needed, and was asked for once more:"
        yield from _message(message)


def _message(message: Message) -> Iterator[str]:
    for lack in message.lacking:
        yield f"   not as it was sent: {one_line(lack, 200)}"
    if message.problem:
        yield f"   nothing was sent: {one_line(message.problem, 300)}"
        return
    if message.schema is not None:
        yield f"   answer as: {harmless(json.dumps(message.schema))}"
    for head, text in (("system", message.system), ("user", message.user)):
        if text is not None:
            yield f"   {head}:"
            yield "\n".join(f"      {line}" for line in harmless(text).split("\n"))


def _status(run: Made) -> str:
    return one_line(run.status) + (" (simulated)" if run.simulated else "")


def _when(stamp: str) -> str:
    return one_line(stamp.replace("T", " ").removesuffix("Z"))


def _times(run: Made) -> str:
    text = f"{_when(run.started) or '?'} UTC"
    if run.ended:
        text += f", ended {_when(run.ended)} UTC"
    return text if run.lives < 2 else f"{text}, in {run.lives} lives"


def _counted(steps: Iterable[RecordedStep]) -> str:
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.fate] = counts.get(step.fate, 0) + 1
    return ", ".join(f"{count:,} {fate}" for fate, count in counts.items())


def _named(step: RecordedStep, source: Sequence[str]) -> str:
    return f"{_called(step)} ({step.fate}; {_line(step.line, source)})"


def _called(step: RecordedStep) -> str:
    label = one_line(step.label, 60)
    asked = is_session(step.kind) or step.kind == "repair"
    return f"{step.kind} {label}" if asked else f"{step.kind} **{label}**"


def _line(line: int | None, source: Sequence[str]) -> str:
    if line is None:
        return "line not known"
    row = source[line - 1].strip() if line <= len(source) else ""
    return f"line {line}: {one_line(row)}" if row else f"line {line}"


def _columns(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows as a table; the first `left` columns are aligned on the left."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
