"""Starting one run in this process: settings out of options, questions to a person, and what nobody expected."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .clock import SystemClock
from .errors import UsageError
from .events import Event, RunStarted, Warned
from .faults import VARIABLE as faults_variable
from .faults import Faults
from .given import environment, given_inputs
from .models import Models
from .options import Options, carried
from .prices import Prices
from .progress import Progress, make_progress
from .providers import ProviderOptions, make_provider
from .sessions.side import Sessions
from .settings import InputWanted, Outcome, Settings
from .terminal import harmless

if TYPE_CHECKING:
    from .program import Program


class Crash(Exception):
    """Something went wrong in the runtime or in the script itself, not in the program's terms."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to an end, whichever."""

    outcome: Outcome
    simulated: bool


def launch(program: Program, options: Options, command: str) -> Finished:
    """Run a program to its end.

    Raises UsageError where it can't start, and Crash (with the traceback saved) for what nobody expected.
    """
    environ = environment(options.prose_dir, os.environ)
    inputs = given_inputs(options, program.inputs, environ, _read_stdin)
    person = _stdin_is_terminal() and not options.json
    models = Models.chosen(options.models, options.decider, environ)
    faults = Faults(os.environ.get(faults_variable, ""))
    provider = faults.around_calls(
        make_provider(
            options.provider,
            ProviderOptions(options.max_concurrency, environ, options.answers, program.text),
        )
    )
    provider.check()
    clock = SystemClock()
    progress = _display(program, options, clock)
    place = _Place()
    settings = Settings(
        sessions=Sessions(
            provider,
            models,
            retries=options.retry,
            jitter=clock.jitter,
            prices=_prices(options, models, simulated=provider.simulated),
            priced_only=options.bounds.usd is not None and not provider.simulated,
        ),
        inputs=inputs,
        secrets=frozenset(options.secrets),
        ask=_asker(progress, program.inputs) if person else None,
        prose_dir=options.prose_dir,
        max_concurrency=options.max_concurrency,
        max_rounds=options.max_rounds,
        state=options.state or "filesystem",
        bounds=options.bounds,
        resume=options.resume,
        observers=(place, progress),
        simulated=provider.simulated,
        command=" ".join([command, *map(shlex.quote, carried(options))]),
        clock=clock,
        faults=faults,
    )
    try:
        outcome = asyncio.run(_shown(program, settings, progress))
    except Exception as error:
        raise Crash(_saved(error, place.directory)) from error
    if outcome.status == "completed":
        for remark in provider.remarks():
            progress.see(Warned(remark))
    return Finished(outcome, provider.simulated)


def _display(program: Program, options: Options, clock: SystemClock) -> Progress:
    """What a person sees of the run: its narration where that is wanted, whatever --quiet says, else its progress."""
    if options.narrate is None:
        return make_progress(sys.stderr, quiet=options.quiet, now=clock.seconds)
    from .listing import Listing
    from .narration.narrator import Narrator

    state = options.state or "filesystem"
    small = program.traits.in_context
    return Narrator(sys.stderr, options.narrate, Listing.of(program), state, is_small=small)


def _prices(options: Options, models: Models, *, simulated: bool) -> Prices:
    """The prices of the run; raises UsageError where its cost is bounded and a model that it may call has none."""
    prices = Prices.given(options.prices, models)
    if options.bounds.usd is not None and not simulated:
        prices.require([*models.ids.values(), models.resolve(None), models.decider_id])
    return prices


async def _shown(program: Program, settings: Settings, progress: Progress) -> Outcome:
    """The run, with its progress on the terminal."""
    from .running import execute

    progress.open()
    try:
        return await execute(program, settings)
    finally:
        progress.close()


class _Place:
    """Remembers where the run is kept, for the message of a crash."""

    def __init__(self) -> None:
        self.directory: Path | None = None

    def see(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.directory = event.directory


def _asker(
    progress: Progress, declared: Mapping[str, str | None]
) -> Callable[[InputWanted], asyncio.Future[str]]:
    """Asks the person at the terminal, one question at a time."""
    turn = threading.Lock()

    def ask(wanted: InputWanted) -> asyncio.Future[str]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()

        def answered(text: str) -> None:
            if not answer.done():
                answer.set_result(text)

        def failed(error: BaseException) -> None:
            if not answer.done():
                answer.set_exception(error)

        def read() -> None:
            try:
                with turn, progress.aside():
                    text = _read_answer(wanted, wanted.text or declared.get(wanted.name))
            except (EOFError, OSError) as error:
                given_up = UsageError(
                    f"input '{wanted.name}' was asked for, and standard input ended: {error}"
                )
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(failed, given_up)
                return
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(answered, text)

        # A daemon: a person who doesn't answer must not keep an interrupted process alive.
        threading.Thread(target=read, name=f"input {wanted.name}", daemon=True).start()
        return answer

    return ask


def _read_answer(wanted: InputWanted, question: str | None) -> str:
    asked = f"{wanted.name}: {harmless(question).strip()}" if question else wanted.name
    sys.stderr.write(f"{asked}\n")
    sys.stderr.flush()
    if wanted.secret:
        import getpass

        return getpass.getpass("> ")
    sys.stderr.write("> ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError("no answer")
    return line.rstrip("\r\n")


def _read_stdin() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("an input is to be read from standard input, which is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"an input can't be read from standard input: {error}") from None


def _stdin_is_terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None
    except ValueError:
        return False


def _saved(error: Exception, directory: Path | None) -> str:
    """Save the traceback of an unexpected error, and say where."""
    text = "".join(traceback.format_exception(error))
    said = f"{type(error).__name__}: {error}"
    try:
        if directory is not None and directory.is_dir():
            path = directory / "traceback.txt"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", prefix="prose-", suffix=".txt", delete=False
            ) as made:
                made.write(text)
                path = Path(made.name)
    except OSError:
        return f"an internal error: {said}"
    kept = f"; the run is kept in {directory}" if directory is not None else ""
    return f"an internal error: {said} (details in {path}{kept})"
