"""Inputs: values given on the command line, answers of the person, and waiting where there is neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import Waiting
from .events import Bound as BoundEvent
from .events import PersonAsked, WaitingFor
from .frames import Bound, Strand, strand_here
from .identity import digest_of
from .limits import resume_command
from .options import option
from .providers.protocol import JSON
from .racing import Unrecorded
from .records import as_record, value_of_record
from .settings import InputWanted
from .state.bindings import Binding
from .steps import Step
from .tasks import Entry
from .values import Value

if TYPE_CHECKING:
    from .execution import Execution
    from .run import Run


def input_step(run: Run, name: str, text: str | None, line: int | None) -> Step[Value]:
    """The step that gets one input."""
    execution, frame = run._execution, run._frame

    async def start() -> Value:
        strand = strand_here.get()
        execution.starting(strand, frame, line)
        identity = execution.replay.identify(strand, "input", {"name": name})
        secret = execution.is_secret(name)
        value = _recorded(execution, identity, name)
        new = value is None
        if value is None:
            value, origin = await _answered(
                run, strand, identity, InputWanted(name, text, secret), line
            )
        if secret:
            execution.secrets.keep(value)
        source = execution.listing.source_at(line)
        rounds = strand.rounds_in(frame)
        place = execution.replay.secret_place(identity, name) if secret else 0
        if place:
            # Its file is all that keeps it: a later value of the same name must not write over it.
            rounds = (*rounds, place)
        path = execution.store.bind(
            Binding(name, "input", value, source, frame.execution_id), rounds
        )
        if new:
            record: dict[str, JSON] = {"r": "input", "id": identity, "name": name, "from": origin}
            if secret:
                # The value stands in its binding file only, which therefore comes first.
                await execution.store.settle()
                execution.store.record(
                    {
                        **record,
                        "secret": True,
                        "path": path,
                        "place": place,
                        "digest": digest_of(value),
                    }
                )
            else:
                execution.store.record({**record, **as_record(value)})
            await execution.store.durable()
        strand.write(frame, name, Bound(value, "input", path))
        strand.account = strand.account.with_input(Entry(name, value, path))
        execution.tell(
            BoundEvent(
                name,
                "input",
                value,
                frame.execution_id,
                not secret,
                line,
                frame.place,
                strand.path,
                path=path,
            )
        )
        return value

    return Step(start, line)


def _recorded(execution: Execution, identity: str, name: str) -> Value | None:
    """What was given in an earlier life, unless another value is given now, which is an edit; None: nothing."""
    record = execution.replay.past.input(identity)
    if record is None:
        return None
    if record.get("secret"):
        binding = execution.store.read(record["path"])
        value = binding.value if binding is not None else None
        if value is None or digest_of(value) != record["digest"]:
            execution.warn(
                f"the secret input '{name}' can't be read from {record['path']} any more"
            )
            return None
    else:
        value = value_of_record(record)
    if execution.replay.past.waits_for(name):
        # What is given now is for the place that waits for it, further on.
        return value
    given = execution.given.get(name)
    if given is not None and digest_of(given) != digest_of(value):
        return None
    execution.given.pop(name, None)
    return value


async def _answered(
    run: Run, strand: Strand, identity: str, wanted: InputWanted, line: int | None
) -> tuple[Value, str]:
    """The value given on the command line, else what the person answers; raises Waiting where there is neither."""
    execution, name, text = run._execution, wanted.name, wanted.text
    if strand.rerun is not None:
        # Another value than the race knew, or the first one.
        raise Unrecorded
    value = execution.given.pop(name, None)
    if value is not None:
        return value, "given"
    await execution.replay.live(strand)
    if execution.settings.ask is None:
        execution.tell(WaitingFor(name, text, line, run._frame.place, strand.path))
        execution.store.record({"r": "waiting", "id": identity, "name": name}, paid=False)
        what = f": {text}" if text else ""
        command = resume_command(execution.settings, execution.store.run_id)
        how = f"resume with: {command} {option(name, 'VALUE')}"
        if not execution.store.keeps:
            how = f"an in-context run can't be resumed: start it again with {option(name, 'VALUE')}"
        strand.stop = Waiting(f"input '{name}' is needed to go on{what}\n{how}", line=line)
        raise strand.stop
    await execution.store.durable()
    execution.tell(PersonAsked(name, line, run._frame.place, strand.path))
    return Value(await execution.waited(execution.settings.ask(wanted))), "asked"
