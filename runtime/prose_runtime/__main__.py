"""`python -m prose_runtime runs | show RUN | doctor`: looks at runs and at the machine; deletes runs when asked to."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .errors import Stop, UsageError
from .terminal import harmless, make_printable, one_line

if TYPE_CHECKING:
    from .clock import Clock
    from .history import Made
    from .past import Record
    from .recorded import RecordedStep
    from .state.store import Stores

_PROG = "python -m prose_runtime"

_RUNS = """\
Lists the runs kept here, newest first, with what they cost over all their lives: sessions that came to an end, tokens,
USD. A run without an end in its journal is running while a process holds it, else interrupted.
"""

_PRUNE = """\
--prune deletes runs for good. Without further options: those that completed or failed, 30 days after they were last
worked on. On a terminal it asks first; elsewhere it says what it would delete, and deletes only with --yes. Runs that
wait, were stopped by a limit or interrupted can be resumed, and go only when --status names them; a run that a process
is working on never goes.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()} (--help says more)")


def main(arguments: Sequence[str] | None = None, clock: Clock | None = None) -> int:
    """Do one command and give its exit code."""
    make_printable()
    try:
        code = _done(arguments, clock)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except Stop as problem:
        sys.stderr.write(f"prose_runtime: {harmless(problem.message)}\n")
        return problem.exit_code
    except BrokenPipeError:
        # Nobody reads on: keep the interpreter from complaining about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 130


def _done(arguments: Sequence[str] | None, clock: Clock | None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command == "doctor":
        return _doctor(given.prose_dir)
    from .state import stores_of

    stores = stores_of(given.prose_dir)
    if given.command == "show":
        return _show(stores, given)
    if given.prune:
        return _prune(stores, given, clock)
    for name in ("older_than", "keep", "status", "yes"):
        if getattr(given, name) not in (None, False):
            parser.error(f"--{name.replace('_', '-')} goes with --prune")
    from .shown import listed

    print(listed(stores, given.program, given.json))
    return 0


def _show(stores: Stores, given: argparse.Namespace) -> int:
    from .history import secret_files, secrets_of, told_by
    from .opening import found
    from .recorded import left_to_do, recorded_steps

    run_id = found(stores, given.run)
    records = stores.records(run_id)
    run = told_by(stores, run_id, records)
    if run.status == "unreadable":
        records = ()
    steps = recorded_steps(records, run.status == "running")
    if given.prompts or given.step is not None:
        return _prompts(stores, run_id, records, _wanted(steps, given.step), given.json)
    left = left_to_do(records, steps) if run.resumed_by is not None else ()
    if given.json:
        from .plain import plain_show

        print(json.dumps(plain_show(run, stores, steps, left), indent=2))
        return 0
    from .shown import bindings, standing

    secrets = secrets_of(stores, run_id, records)
    sources = stores.sources(run_id)
    print(standing(run, stores, sources[-1].splitlines() if sources else (), steps, left))
    state = stores.state(run_id)
    print(f"\n{harmless(secrets.scrubbed(state))}" if state else "\nit has no state.md\n")
    print(bindings(stores, run_id, secrets, secret_files(records)))
    if costs := run.costs.table():
        print(f"\n{costs}")
    return 0


def _wanted(steps: Sequence[RecordedStep], which: str | None) -> Sequence[RecordedStep]:
    """The step of a number, the steps of a name, or all; raises UsageError where there is none."""
    if which is None:
        return steps
    if which.isdecimal():
        found = [step for step in steps if step.number == int(which)]
    else:
        found = [step for step in steps if step.label == which]
    if not found:
        has = f"they are 1 to {len(steps):,}" if steps else "it asked nothing"
        raise UsageError(f"--step {which}: the run has no such step; {has} (--prompts shows all)")
    return found


def _prompts(
    stores: Stores,
    run_id: str,
    records: Sequence[Record],
    steps: Sequence[RecordedStep],
    as_json: bool,
) -> int:
    from .history import secrets_of
    from .sent import Sent

    sent = Sent(stores, run_id, records, secrets_of(stores, run_id, records))
    if as_json:
        from .plain import plain_sent

        print(json.dumps([plain_sent(step, sent.by(step)) for step in steps], indent=2))
        return 0
    if not steps:
        print(f"run {run_id} asked nothing")
    from .shown import messages

    for step in steps:
        for line in messages(step, sent.by(step)):
            print(line)
        print()
    return 0


def _prune(stores: Stores, given: argparse.Namespace, clock: Clock | None) -> int:
    """Delete old runs if somebody agrees, else tell which they are; 1 where one could not be deleted."""
    from .clock import SystemClock
    from .history import runs
    from .pruning import DONE, OLD, Rule, chosen, deleted
    from .shown import table

    age = given.older_than
    if age is None:
        # How many stay is a rule of its own.
        age = OLD if given.keep is None else timedelta()
    rule = Rule(given.status or frozenset(DONE), age, given.keep or 0)
    going = chosen(runs(stores, given.program), rule, (clock or SystemClock()).now())
    asks = not given.json and not given.yes and sys.stdin.isatty() and sys.stdout.isatty()
    if going and not given.json and not given.yes:
        print(table(going))
    sure = given.yes or (bool(going) and asks and _agreed(len(going)))
    done = deleted(stores, going) if sure else ()
    refused = [(run, why) for run, why in done if why]
    gone = [run for run, why in done if not why]
    if given.json:
        print(
            json.dumps(
                {
                    "deleted": [run.run_id for run in gone],
                    "would_delete": [] if sure else [run.run_id for run in going],
                    "refused": {run.run_id: why for run, why in refused},
                },
                indent=2,
            )
        )
    elif not going:
        print(f"no run in {stores.where} is to be deleted")
    elif sure:
        print(f"deleted {_counted(gone)}")
    else:
        said = "nothing was deleted" + ("" if asks else "; --yes deletes them")
        print(f"{_counted(going)} to delete: {said}")
    for run, why in refused:
        sys.stderr.write(f"prose_runtime: {run.run_id} is not deleted: {harmless(why)}\n")
    return 1 if refused else 0


def _counted(runs: Sequence[Made]) -> str:
    return f"{len(runs):,} run{'' if len(runs) == 1 else 's'}"


def _agreed(count: int) -> bool:
    """Ask the person."""
    print(f"delete {'this run' if count == 1 else f'these {count:,} runs'} for good? [y/N] ", end="")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _doctor(prose_dir: Path) -> int:
    from .doctor import examined

    findings = examined(prose_dir, os.environ)
    for finding in findings:
        print(f"{'ok ' if finding.good else 'BAD'}  {finding.subject}: {finding.text}")
    return 0 if all(finding.good for finding in findings) else 1


def _parser() -> argparse.ArgumentParser:
    place = _Parser(add_help=False)
    place.add_argument(
        "--prose-dir",
        type=Path,
        default=Path(os.environ.get("PROSE_DIR") or ".prose"),
        metavar="DIR",
        help="where runs are kept (default: .prose, or PROSE_DIR)",
    )
    parser = _Parser(
        prog=_PROG,
        description="Looks at runs of compiled programs, and at the machine they run on.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    runs = commands.add_parser(
        "runs",
        parents=[place],
        help="list the runs kept here, newest first, or delete old ones",
        description=_RUNS,
        epilog=f"{_PRUNE}\nexit codes: 0 done, 1 a run could not be deleted, 2 wrong usage",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    runs.add_argument("--json", action="store_true", help="print JSON")
    runs.add_argument("--program", metavar="NAME", help="only runs of this program: brief.prose")
    prune = runs.add_argument_group("deleting")
    prune.add_argument("--prune", action="store_true", help="delete old runs (see below)")
    prune.add_argument(
        "--older-than",
        type=_age,
        metavar="AGE",
        help="go: last worked on so long ago, like 90m, 12h, 30d or 2w (default: 30d; with --keep any)",
    )
    prune.add_argument(
        "--keep", type=_count, metavar="N", help="stay: the newest N runs of each program"
    )
    prune.add_argument(
        "--status",
        type=_statuses,
        metavar="LIST",
        help="go: runs of these, like interrupted,failed (default: completed,failed)",
    )
    prune.add_argument("--yes", action="store_true", help="delete without asking")
    show = commands.add_parser(
        "show",
        parents=[place],
        help="print where a run stands, its bindings and what it sent",
        description="Prints where a run stands and how to go on with it, its state.md, its bindings and what it cost.",
        epilog="exit codes: 0 done, 2 wrong usage or no such run",
    )
    show.add_argument("run", metavar="RUN", help="a run's id, the beginning or end of one, or last")
    show.add_argument("--json", action="store_true", help="print JSON")
    show.add_argument(
        "--prompts",
        action="store_true",
        help="print what was sent instead, step by step (the values of secret inputs as ***)",
    )
    show.add_argument(
        "--step",
        metavar="STEP",
        help="the same for one step: its number, or the name of its result",
    )
    commands.add_parser(
        "doctor",
        parents=[place],
        help="check that scripts can run here",
        description="Checks the version of Python, that anthropic can be imported, that a key is set (it is never shown, "
        "and no call is made), and that runs can be kept.",
        epilog="exit codes: 0 all is well, 1 something is not, 2 wrong usage",
    )
    return parser


def _age(text: str) -> timedelta:
    from .pruning import age

    try:
        return age(text)
    except ValueError:
        said = f"must be a time like 90m, 12h, 30d or 2w, not {one_line(text)!r}"
        raise argparse.ArgumentTypeError(said) from None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {one_line(text)!r}")
    return int(text)


def _statuses(text: str) -> frozenset[str]:
    from .pruning import STATUSES

    named = frozenset(name.strip() for name in text.split(","))
    if unknown := sorted(named.difference(STATUSES)):
        said = f"{one_line(unknown[0])!r} is none of {', '.join(STATUSES)}"
        raise argparse.ArgumentTypeError(said)
    return named


if __name__ == "__main__":
    raise SystemExit(main())
