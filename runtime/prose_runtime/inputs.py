"""Inputs: values given on the command line, answers of the person, and waiting where there is neither."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from .errors import Waiting
from .events import Bound as BoundEvent
from .events import WaitingFor
from .execution import as_record
from .frames import Bound, strand_here
from .identity import digest_of
from .providers.protocol import JSON
from .settings import InputWanted
from .state.bindings import Binding
from .steps import Step
from .tasks import Entry
from .values import Value

if TYPE_CHECKING:
    from .run import Run


def input_step(run: Run, name: str, text: str | None, line: int | None) -> Step[Value]:
    """The step that gets one input."""
    execution, frame = run._execution, run._frame

    async def start() -> Value:
        strand = strand_here.get()
        execution.starting(strand)
        identity = execution.identify(strand, "input", {"name": name})
        secret = execution.is_secret(name)
        settings = execution.settings
        value = execution.given.pop(name, None)
        origin = "given"
        if value is None:
            if settings.ask is None:
                execution.tell(WaitingFor(name, text))
                what = f": {text}" if text else ""
                strand.stop = Waiting(
                    f"input '{name}' is needed to go on{what}\n{RESUME}: {resume_command(run)} {option(name)} VALUE",
                    line=line,
                )
                raise strand.stop
            await execution.store.durable()
            value = Value(await settings.ask(InputWanted(name, text, secret)))
            origin = "asked"
        if secret:
            execution.keep_secret(value)
        source = execution.listing.source_at(line)
        rounds = strand.rounds_in(frame)
        path = execution.store.bind(Binding(name, "input", value, source, frame.execution_id), rounds)
        record: dict[str, JSON] = {"r": "input", "id": identity, "name": name, "from": origin}
        if secret:
            # The value stands in its binding file only, which therefore comes first.
            await execution.store.settle()
            execution.store.record({**record, "secret": True, "path": path, "digest": digest_of(value)})
        else:
            execution.store.record({**record, **as_record(value)})
        await execution.store.durable()
        strand.write(frame, name, Bound(value, "input", path))
        strand.account = strand.account.with_input(Entry(name, value, path))
        execution.tell(BoundEvent(name, "input", value, frame.execution_id, not secret))
        return value

    return Step(start, line)


RESUME = "resume with (this version records runs, the next one resumes them)"


def option(name: str) -> str:
    """The option of the script that gives an input."""
    return f"--{name.replace('_', '-')}"


def resume_command(run: Run) -> str:
    execution = run._execution
    return f"{execution.settings.command} --resume {shlex.quote(execution.store.run_id)}"
