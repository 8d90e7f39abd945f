"""`python -m prose_runtime runs | show RUN | doctor`: looks at runs and at the machine; changes nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .errors import UsageError
from .terminal import harmless, one_line

if TYPE_CHECKING:
    from .history import Made

_PROG = "python -m prose_runtime"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()} (--help says more)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one command and give its exit code."""
    try:
        given = _parser().parse_args(arguments)
        if given.command == "runs":
            return _runs(given.prose_dir, given.json)
        if given.command == "show":
            return _show(given.prose_dir, given.run)
        return _doctor(given.prose_dir)
    except UsageError as problem:
        sys.stderr.write(f"prose_runtime: {problem.message}\n")
        return problem.exit_code
    except BrokenPipeError:
        # Nobody reads on: keep the interpreter from complaining about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _runs(prose_dir: Path, as_json: bool) -> int:
    from .history import runs

    found = runs(prose_dir)
    if as_json:
        print(json.dumps([_plain(run) for run in found], indent=2))
        return 0
    if not found:
        print(f"no runs in {prose_dir / 'runs'}")
        return 0
    rows = [("RUN", "PROGRAM", "STATUS", "STARTED (UTC)", "SESSIONS", "TOKENS")]
    for run in found:
        status = run.status + (" (simulated)" if run.simulated else "")
        started = run.started.replace("T", " ").removesuffix("Z")
        rows.append(
            (run.run_id, one_line(run.program, 40), status, started, f"{run.sessions:,}", f"{run.usage.total:,}")
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(row[:4], widths[:4], strict=True))
        right = "  ".join(cell.rjust(width) for cell, width in zip(row[4:], widths[4:], strict=True))
        print(f"{left}  {right}")
    return 0


def _plain(run: Made) -> dict[str, object]:
    return {
        "run": run.run_id,
        "program": run.program,
        "status": run.status,
        "simulated": run.simulated,
        "started": run.started,
        "sessions": run.sessions,
        "tokens": run.usage.total,
        "directory": str(run.directory),
        "reason": run.reason or None,
    }


def _show(prose_dir: Path, wanted: str) -> int:
    from .history import bindings, find, made

    directory = find(prose_dir, wanted)
    run = made(directory)
    status = run.status + (" (simulated)" if run.simulated else "")
    why = f": {one_line(run.reason, 300)}" if run.reason else ""
    print(f"{directory}: {status}{why}\n")
    try:
        print(harmless((directory / "state.md").read_text("utf-8", "replace")))
    except OSError:
        print("it has no state.md\n")
    rows = [
        (name, binding.kind if binding else "?", f"{len(binding.value.text):,} characters" if binding else "no binding")
        for name, binding in bindings(directory)
    ]
    print(f"{len(rows)} binding file{'' if len(rows) == 1 else 's'} in {directory / 'bindings'}")
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, kind, size in rows:
        print(f"  {name.ljust(width)}  {kind:<6}  {size}")
    return 0


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
    parser = _Parser(prog=_PROG, description="Looks at runs of compiled programs, and at the machine they run on.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    runs = commands.add_parser(
        "runs",
        parents=[place],
        help="list the runs kept here, newest first",
        description="Lists the runs kept here, newest first: sessions that gave a result, and their tokens. A run "
        "without an end in its journal is running while a process holds it, else interrupted.",
        epilog="exit codes: 0 done, 2 wrong usage",
    )
    runs.add_argument("--json", action="store_true", help="print a JSON list")
    show = commands.add_parser(
        "show",
        parents=[place],
        help="print a run's state and its bindings",
        description="Prints a run's state.md and its binding files.",
        epilog="exit codes: 0 done, 2 wrong usage or no such run",
    )
    show.add_argument("run", metavar="RUN", help="a run's id, the beginning or end of one, or last")
    commands.add_parser(
        "doctor",
        parents=[place],
        help="check that scripts can run here",
        description="Checks the version of Python, that anthropic can be imported, that a key is set (it is never shown, "
        "and no call is made), and that runs can be kept.",
        epilog="exit codes: 0 all is well, 1 something is not, 2 wrong usage",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
