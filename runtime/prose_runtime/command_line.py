"""A script's command: from its arguments to a run, and from the run's outcome to what is printed and returned.

Everything that people read goes to standard error, what programs read (outputs, --json) to standard output. No
exception leaves `command`: what is unexpected is written to a file and named in one line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import Stop
from .options import Declared, Options, arguments_of_process, read_options
from .terminal import make_printable

if TYPE_CHECKING:
    from .launch import Finished
    from .program import Program
    from .settings import Outcome


def command(program: Program, arguments: Sequence[str] | None = None) -> int:
    """Run a program as its script's command line asks, and give the exit code."""
    make_printable()
    line = command_name()
    try:
        given = list(arguments_of_process()) if arguments is None else arguments
        declared = Declared(
            program.name,
            program.description,
            program.inputs,
            program.outputs,
            program.traits.in_context,
        )
        options = read_options(declared, given, os.environ, line)
        if options.runs:
            return _listed(program, options)
        return _started(program, options, line)
    except Stop as stop:
        _say(f"{Path(line.split()[-1]).name}: {stop.message}")
        return stop.exit_code
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130
    finally:
        _let_go()


def _listed(program: Program, options: Options) -> int:
    """Print the program's runs."""
    from .shown import listed
    from .state import stores_of

    text = listed(stores_of(options.prose_dir), program.name, options.json)
    if sys.stdout is not None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    return 0


def command_name() -> str:
    """How this script was started, for usage and for the resume command."""
    script = sys.argv[0] if sys.argv and sys.argv[0] else "program.py"
    return f"python {_quoted(_near(script))}"


def _started(program: Program, options: Options, line: str) -> int:
    """Run, with everything that a run needs: only here is more than argparse loaded."""
    from .launch import Crash, launch

    try:
        finished = launch(program, options, line)
    except Crash as crash:
        _say(f"error: {crash}")
        return 1
    outcome = finished.outcome
    if outcome.resumed is not None:
        from .results import as_resumed

        _say(as_resumed(outcome.resumed))
    if not options.quiet:
        from .results import as_cost

        if cost := as_cost(outcome, finished.simulated):
            _say(cost)
    if outcome.problem is not None:
        _say(_problem(program, outcome))
    try:
        _print(program, options, finished)
    except BrokenPipeError:
        return outcome.exit_code
    except OSError as problem:
        kept = f"; the run is kept in {_near(str(outcome.directory))}" if outcome.directory else ""
        _say(f"error: the results can't be printed: {problem.strerror or problem}{kept}")
        return outcome.exit_code or 1
    return outcome.exit_code


def _print(program: Program, options: Options, finished: Finished) -> None:
    from .results import as_json, as_text

    outcome = finished.outcome
    text = (
        as_json(outcome, finished.simulated) if options.json else as_text(program.outputs, outcome)
    )
    if text and sys.stdout is not None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()


def _problem(program: Program, outcome: Outcome) -> str:
    """Why a run did not complete, with the program's line, and what to do next."""
    from .terminal import harmless

    problem = outcome.problem
    assert problem is not None
    where = f"{program.name}:{problem.line}" if problem.line is not None else program.name
    what = "error" if outcome.status == "failed" else outcome.status
    parts = [f"{where}: {what}: {harmless(problem.message)}"]
    if excerpt := program.excerpt(problem.line):
        parts.append(harmless(excerpt))
    if outcome.directory is not None and outcome.directory.is_dir():
        kept = f"the run is kept in {_near(str(outcome.directory))}"
        if (outcome.directory / "state.md").is_file():
            kept += "; its state.md shows how far it came"
        parts.append(kept)
    if outcome.resume_command is not None and outcome.resume_command not in problem.message:
        parts.append(f"resume with: {outcome.resume_command}")
    return "\n".join(parts)


def _say(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # Nobody reads standard error; the exit code still says what happened.
        pass


def _let_go() -> None:
    """Keep the interpreter from complaining at its end where nobody reads: a closed pipe, a terminal that is gone."""
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _near(path: str) -> str:
    """`path` from the working directory, where it lies in it."""
    try:
        return os.path.relpath(path) if Path(path).resolve().is_relative_to(Path.cwd()) else path
    except (OSError, ValueError):
        return path


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
