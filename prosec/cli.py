"""The command line: files in, diagnostics and scripts out.

What a command needs is imported when it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from prosec import __version__

if TYPE_CHECKING:
    from prosec.compiler import Compiled
    from prosec.diagnostics import Diagnostic
    from prosec.report.json import FileJson
    from prosec.source import Source

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_EXIT_CODES = """\b
Exit codes:
  0    no errors
  1    errors in a program, or a stale script under build --check
  2    wrong usage, or a file that can't be read or written"""

_PASSED_ON = {
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


@click.group(epilog=_EXIT_CODES)
@click.version_option(__version__, prog_name="prosec", message="%(prog)s %(version)s")
def commands() -> None:
    """Compile OpenProse workflows (.prose) to standalone, readable Python."""


@commands.command(epilog=_EXIT_CODES)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Text on standard error, or JSON on standard output.",
)
@click.option("--strict", is_flag=True, help="Turn warnings about unclear programs into errors.")
def check(files: tuple[str, ...], form: str, strict: bool) -> int:
    """Check programs without building them."""
    from prosec.compiler import analyse

    reports = _Reports(form)
    for path in files:
        if (source := reports.load(path)) is None:
            continue
        try:
            reports.add(source, analyse(source, strict, _skills_for(source)).diagnostics)
        except Exception as error:
            reports.bug(path, error)
    return reports.finish()


@commands.command(epilog=_EXIT_CODES)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o", "out", metavar="OUT", help="Write the script here instead of beside the program."
)
@click.option("--stdout", is_flag=True, help="Print the script instead of writing it.")
@click.option("--check", "compare", is_flag=True, help="Write nothing; fail if a script is stale.")
@click.option("--annotate", is_flag=True, help="Put each source line above what it became.")
@click.option("--strict", is_flag=True, help="Turn warnings about unclear programs into errors.")
def build(
    files: tuple[str, ...],
    out: str | None,
    stdout: bool,
    compare: bool,
    annotate: bool,
    strict: bool,
) -> int:
    """Compile programs: program.py beside each program.prose."""
    from prosec.files import FileError, script_path

    if len(files) > 1 and out is not None:
        raise click.UsageError("-o names one script: give one program, or leave it out")
    if len(files) > 1 and stdout:
        raise click.UsageError("--stdout prints one script: give one program")
    if stdout and (compare or out is not None):
        raise click.UsageError(f"--stdout and {'--check' if compare else '-o'} exclude each other")
    targets = {path: Path(out) if out is not None else script_path(path) for path in files}
    _refuse_shared(targets)

    reports = _Reports("text")
    for path, target in targets.items():
        text = _compiled(reports, path, strict=strict, annotate=annotate)
        if text is None:
            continue
        try:
            if stdout:
                _print_bytes(text.encode("utf-8"))
            elif compare:
                _compare(reports, path, target, text)
            else:
                _write(target, text)
        except FileError as error:
            reports.unusable(str(error))
    return reports.finish()


@commands.command(epilog=_EXIT_CODES)
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def plan(file: str, as_json: bool) -> int:
    """Say what a run can cost: sessions and decisions, at least and at most.

    Counted are sessions (one with its retries is one) and conditions that a model answers; the least is that of a run
    in which nothing fails. What depends on the length of a list, or on a condition alone, is unbounded.
    """
    from prosec.compiler import analyse
    from prosec.diagnostics import Severity
    from prosec.plan import plan as planned
    from prosec.report import plan as report

    reports = _Reports("text")
    if (source := reports.load(file)) is None:
        return reports.finish()
    try:
        found = analyse(source, skills=_skills_for(source))
        reports.add(source, found.diagnostics)
        if not any(item.severity is Severity.ERROR for item in found.diagnostics):
            render = report.as_json if as_json else report.as_text
            text = render(file, planned(found.program, found.analysis, source))
            _print_bytes(text.encode("utf-8", "backslashreplace"))
    except Exception as error:
        reports.bug(file, error)
    return reports.finish()


@commands.command(context_settings=_PASSED_ON)
@click.argument("file")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF THE SCRIPT]...")
def run(file: str, options: tuple[str, ...]) -> int:
    """Build a program, then start its script with all further options.

    `prosec run FILE --help` shows the options of the script.
    """
    from prosec.files import FileError, FolderNotWritable, cached_script, script_path, write_script

    reports = _Reports("text")
    text = _compiled(reports, file)
    if text is None:
        return reports.finish()
    script = script_path(file)
    try:
        try:
            write_script(script, text)
        except FolderNotWritable:
            script = cached_script(file)
            write_script(script, text)
    except FileError as error:
        reports.unusable(str(error))
        return reports.finish()
    return _become([str(script), *options])


def _forwarded(name: str, about: str) -> click.Command:
    """A command that the runtime answers, which people with only a script have too."""

    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def forward(arguments: tuple[str, ...]) -> int:
        return _become(["-m", "prose_runtime", name, *arguments])

    settings = {**_PASSED_ON, "help_option_names": []}
    return click.command(name, help=about, context_settings=settings)(forward)


commands.add_command(_forwarded("runs", "List the runs of this folder, or delete old ones."))
commands.add_command(_forwarded("show", "Show where a run stands, what it made and what it sent."))
commands.add_command(
    _forwarded("doctor", "Check that runs can start here, and say what is missing.")
)


class _Reports:
    """The diagnostics of one command over all its files, in one format, and the exit code they amount to."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.files: list[FileJson] = []
        self.errors = 0
        self.warnings = 0
        self.code = OK
        self.colour = (
            sys.stderr is not None
            and sys.stderr.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )

    def load(self, path: str) -> Source | None:
        """The source of a program; None, and reported, when there is nothing to compile."""
        from prosec.files import FileError, load

        try:
            loaded = load(path)
        except FileError as error:
            self.unusable(str(error))
            return None
        if loaded.diagnostics:
            self.add(loaded.source, loaded.diagnostics)
            return None
        return loaded.source

    def add(self, source: Source, diagnostics: list[Diagnostic]) -> None:
        from prosec.diagnostics import Severity

        errors = sum(found.severity is Severity.ERROR for found in diagnostics)
        self.errors += errors
        self.warnings += len(diagnostics) - errors
        if errors:
            self.code = max(self.code, FAILED)
        if self.form == "json":
            from prosec.report.json import file_json

            self.files.append(file_json(source, diagnostics))
        elif diagnostics:
            from prosec.report.text import render

            _say(render(source, diagnostics, colour=self.colour))

    def unusable(self, message: str) -> None:
        """A file that can't be read or written is a matter of usage, not of the program."""
        from prosec.report.text import neutralise

        _say(f"prosec: {neutralise(message)}\n")
        self.code = USAGE

    def stale(self) -> None:
        self.code = max(self.code, FAILED)

    def bug(self, path: str, error: Exception) -> None:
        """Own up to an exception that is no diagnostic; PROSEC_DEBUG=1 shows where it came from."""
        from prosec.report.text import neutralise

        _say(f"{neutralise(path)}: {_confession(error)}")
        self.code = max(self.code, FAILED)

    def finish(self) -> int:
        """Print what comes at the end; returns the exit code."""
        if self.form == "json":
            from prosec.report.json import render

            _print_bytes(render(self.files).encode("ascii"))
        elif self.errors or self.warnings:
            counts = [
                f"{count} {word}{'s' if count > 1 else ''}"
                for count, word in ((self.errors, "error"), (self.warnings, "warning"))
                if count
            ]
            _say(f"{' and '.join(counts)}\n")
        return self.code


def _compiled(
    reports: _Reports, path: str, *, strict: bool = False, annotate: bool = False
) -> str | None:
    """The script of a program, or None when it has none; all that was found is reported."""
    from prosec.compiler import compile

    if (source := reports.load(path)) is None:
        return None
    try:
        made: Compiled = compile(
            source, strict=strict, annotate=annotate, skills=_skills_for(source)
        )
    except Exception as error:
        reports.bug(path, error)
        return None
    reports.add(source, made.diagnostics)
    return made.text


def _skills_for(source: Source) -> set[str]:
    """The installed skills, looked for only when a program may ask for one."""
    from prosec.files import installed_skills

    return installed_skills() if "skills" in source.text else set()


def _write(target: Path, text: str) -> None:
    from prosec.files import hidden_module, write_script

    written = write_script(target, text)
    _say(f"wrote {target}\n" if written else f"{target} is up to date\n")
    if module := hidden_module(target):
        _say(
            f"note: a script called {target.name} hides Python's module '{module}' from every script in "
            "its folder; build it under another name with -o\n"
        )


def _compare(reports: _Reports, path: str, target: Path, text: str) -> None:
    from prosec.files import staleness

    found = staleness(target, text, path)
    if found.diff:
        _print_bytes(found.diff.encode("utf-8", errors="backslashreplace"))
        _say(f"{target} is not what {path} compiles to; run: prosec build {path}\n")
        reports.stale()
    elif found.other_version:
        _say(
            f"note: {target} was built by another version of prosec, and is otherwise up to date\n"
        )


def _refuse_shared(targets: dict[str, Path]) -> None:
    """No two programs may become one script."""
    owners: dict[Path, str] = {}
    for path, target in targets.items():
        other = owners.setdefault(target.resolve(), path)
        if Path(other).resolve() != Path(path).resolve():
            raise click.UsageError(f"{other} and {path} would both become {target}")


def _become(arguments: list[str]) -> int:
    """Start Python with `arguments` in place of this process.

    In its place, because then signals, the terminal and the exit code are the script's own: with a parent in
    between, one Ctrl-C would reach it twice, and twice means "stop now". Windows has no such call that the shell
    waits for. `-P` keeps a file of the folder that happens to be called json.py from being imported.
    """
    command = [sys.executable, "-P", *arguments]
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if os.name == "posix":
        os.execv(sys.executable, command)
    import subprocess

    return subprocess.run(command, check=False).returncode


def _say(text: str) -> None:
    """Write to standard error, which spells out what the locale has no letters for."""
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _print_bytes(data: bytes) -> None:
    """Write to standard output, in UTF-8 whatever the locale: scripts and reports have one encoding."""
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _confession(error: BaseException) -> str:
    if os.environ.get("PROSEC_DEBUG"):
        import traceback

        return f"internal error\n{''.join(traceback.format_exception(error))}"
    from prosec.report.text import neutralise

    what = neutralise(str(error).split("\n", 1)[0][:200])
    return (
        f"internal error: {type(error).__name__}: {what}\n"
        "  = help: this is a bug in prosec, not in your program; please report it with the program and "
        "what PROSEC_DEBUG=1 shows\n"
    )


def main() -> NoReturn:
    """Run a command and exit with its code."""
    # A command makes one tree, reads it and ends. Collecting cycles meanwhile finds nothing that would have to
    # be given back, and takes a fifth of the time of a large program.
    gc.disable()
    try:
        code = commands.main(prog_name="prosec", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; Python must not try to flush the rest at exit.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except Exception as error:
        _say(f"prosec: {_confession(error)}")
        code = FAILED
    sys.exit(code if isinstance(code, int) else OK)
