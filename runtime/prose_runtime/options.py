"""The command line of a script: its options, its --help, and what is said of a wrong one.

Nothing here starts anything: the result is an `Options`.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from .errors import UsageError
from .prices import DATE as PRICES_OF
from .settings import MAX_ROUNDS, Bounds, Resumption

if TYPE_CHECKING:
    from .settings import State

Narration = Literal["text", "emoji"]
"""How narration marks its lines."""

_LATER_STATES = ("sqlite", "postgres")

_EXIT_CODES = """\
exit codes:
  0    completed
  1    the program failed
  2    wrong usage, or a key or an input is missing
  75   waiting for an input, or stopped by a limit
  130  interrupted (state is saved first)
"""

_INPUT_FORMS = (
    "as text, @FILE for a file's text (@@ for a text that begins with @), - for standard input"
)

_ANSWERS = """\
answers of --provider simulate (--answers FILE.toml), by the name a result is bound to or by pattern:
  companies = ["Acme", "Globex"]            the result bound to `companies`
  "Profile *" = "A short profile."          any prompt, title or condition that matches; * is any text
  "who should see it" = "Board"             a choice takes one of its labels, a condition true or false
  "*one page*" = { each = [false, true] }   one per time asked; the last one for the rest
  "Publish *" = { error = "it is down" }    the step fails
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line, nothing of it resolved yet."""

    inputs: Sequence[tuple[str, str]]
    """(name, text as given) in order; texts may still be `@file` or `-`."""
    inputs_file: Path | None
    provider: str
    models: Sequence[str]
    prices: Sequence[str]
    """MODEL=IN/OUT, as given."""
    decider: str | None
    json: bool
    quiet: bool
    max_concurrency: int
    max_rounds: int
    prose_dir: Path
    answers: Path | None
    secrets: Sequence[str]
    retry: bool
    state: State | None
    """None: not said."""
    resume: Resumption | None
    bounds: Bounds
    narrate: Narration | None
    """None: not asked for. In-context runs are narrated in any case."""
    runs: bool
    """Nothing is run: the program's runs are listed."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What the command line needs to know of a program."""

    name: str
    """The source's file name."""
    description: str
    inputs: Mapping[str, str | None]
    outputs: Sequence[str]
    in_context: bool = False
    """In-context mode suits it."""


class _Parser(argparse.ArgumentParser):
    """argparse that raises UsageError, and says what may have been meant."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()} (--help says more)")


def read_options(
    program: Declared, arguments: Sequence[str], environ: Mapping[str, str], command: str
) -> Options:
    """Read a script's command line; raises UsageError, or SystemExit(0) after printing --help."""
    flags = _input_flags(program.inputs)
    parser = _parser(program, flags, environ, command)
    read, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(_unknown(unknown[0], parser, program.inputs))
    state = _state(read.state)
    if read.resume is None and (read.reuse is not None or read.strict_resume):
        parser.error("--reuse and --strict-resume go with --resume")
    if read.resume is not None and state == "in-context":
        parser.error("--resume: an in-context run keeps nothing that could be resumed")
    inputs: list[tuple[str, str]] = []
    for given in read.inputs or ():
        name, equals, text = given
        if not equals:
            raise UsageError(f"--input {name}: give it as --input NAME=VALUE")
        inputs.append((known_name(name, program.inputs, "--input"), text))
    for name in read.secret:
        known_name(name, program.inputs, "--secret")
    return Options(
        inputs=inputs,
        inputs_file=read.inputs_file,
        provider=read.provider,
        models=read.model,
        prices=read.model_price,
        decider=read.decider,
        json=read.json,
        quiet=read.quiet,
        max_concurrency=read.max_concurrency,
        max_rounds=read.max_rounds,
        prose_dir=read.prose_dir,
        answers=read.answers,
        secrets=read.secret,
        retry=read.retry == "program",
        state=state,
        resume=_resumption(read),
        bounds=Bounds(read.max_sessions, read.max_tokens, read.max_usd, read.timeout),
        narrate=_narration(read),
        runs=read.runs,
    )


def _resumption(read: argparse.Namespace) -> Resumption | None:
    if read.resume is None:
        return None
    return Resumption(read.resume, read.reuse or "unchanged", read.strict_resume)


def _narration(read: argparse.Namespace) -> Narration | None:
    if read.narration is None and not read.narrate and read.state != "in-context":
        return None
    return read.narration or "text"


def known_name(name: str, names: Mapping[str, str | None], where: str) -> str:
    """`name`, which an input of the program must have; raises UsageError with a suggestion."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        hint = f" (did you mean '{close[0]}'?)"
    else:
        hint = f"; it has {', '.join(names)}" if names else "; it has none"
    raise UsageError(f"{where} {name}: the program has no such input{hint}")


def _parser(
    program: Declared, flags: Mapping[str, Sequence[str]], environ: Mapping[str, str], command: str
) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=command,
        usage=_usage(flags, command),
        description=program.description or f"Runs {program.name}.",
        epilog=_epilog(program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.set_defaults(inputs=None)
    inputs = parser.add_argument_group(f"inputs ({_INPUT_FORMS})" if program.inputs else "inputs")
    for name, text in program.inputs.items():
        description = " ".join((text or "").split()).replace("%", "%%")
        if flags[name]:
            inputs.add_argument(
                *flags[name],
                dest="inputs",
                metavar="TEXT",
                help=description,
                action=_Input,
                const=name,
            )
    inputs.add_argument(
        "--input",
        dest="inputs",
        metavar="NAME=TEXT",
        action=_Input,
        help=_only_by_input(flags) or "the same, by name",
    )
    inputs.add_argument(
        "--inputs",
        dest="inputs_file",
        metavar="FILE",
        type=Path,
        help="a JSON object of inputs by name",
    )
    inputs.add_argument(
        "--secret",
        metavar="NAME",
        action="append",
        default=[],
        help="show this input as *** (done for names like token, key, password)",
    )
    models = parser.add_argument_group("models")
    models.add_argument(
        "--provider",
        default="anthropic",
        metavar="NAME",
        help="anthropic (default; needs ANTHROPIC_API_KEY) or simulate (calls no model, invents answers)",
    )
    models.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help="the model of sessions that name none, or ALIAS=ID: opus, sonnet or haiku means ID (also PROSE_MODEL_SONNET)",
    )
    models.add_argument(
        "--decider", metavar="MODEL", help="the model that answers **...** (default: haiku)"
    )
    models.add_argument(
        "--model-price",
        action="append",
        default=[],
        metavar="MODEL=IN/OUT",
        help="what a model costs, in USD per million tokens of input and output (also IN/OUT/WRITE/READ, with those of "
        f"cache writes and reads); the built-in table is of {PRICES_OF}",
    )
    models.add_argument(
        "--answers", type=Path, metavar="FILE", help="answers for --provider simulate (see below)"
    )
    run = parser.add_argument_group("the run")
    run.add_argument(
        "--json",
        action="store_true",
        help="print run, status, simulated, outputs and usage as JSON",
    )
    run.add_argument("--quiet", action="store_true", help="no progress on standard error")
    run.add_argument(
        "--max-concurrency",
        type=_positive,
        default=10,
        metavar="N",
        help="sessions at once (default: 10)",
    )
    run.add_argument(
        "--max-rounds",
        type=_positive,
        default=MAX_ROUNDS,
        metavar="N",
        help="rounds of a loop that has no bound of its own (default: 1000)",
    )
    run.add_argument(
        "--max-sessions",
        type=_positive,
        metavar="N",
        help="start at most N sessions, in all lives of the run; a session with its retries is one",
    )
    run.add_argument(
        "--max-tokens",
        type=_positive,
        metavar="N",
        help="start no call once N tokens are used, of all kinds, in all lives (calls under way may pass it)",
    )
    run.add_argument(
        "--max-usd",
        type=_amount,
        metavar="USD",
        help="start no call once so much is spent in all lives (calls under way may pass it); needs the price of every model",
    )
    run.add_argument(
        "--timeout",
        type=_duration,
        metavar="TIME",
        help="start no call after 90s, 15m or 2h (a bare number: seconds); what runs then is finished",
    )
    run.add_argument(
        "--retry",
        choices=("program", "none"),
        default="program",
        help="none: leave out what the program says about retries",
    )
    run.add_argument(
        "--prose-dir",
        type=Path,
        default=Path(environ.get("PROSE_DIR") or ".prose"),
        metavar="DIR",
        help="where runs are kept (default: .prose, or PROSE_DIR)",
    )
    run.add_argument(
        "--state",
        metavar="MODE",
        help="filesystem (default), or in-context: nothing is kept, and the run is narrated"
        + ("; in-context suits this program, which is small" if program.in_context else ""),
    )
    run.add_argument(
        "--narrate",
        action="store_true",
        help="tell on standard error what the run does, marker by marker",
    )
    run.add_argument(
        "--narration",
        choices=("text", "emoji"),
        help="how to mark what is narrated (default: text)",
    )
    run.add_argument(
        "--resume",
        metavar="RUN",
        help="take up a run where it stopped: its id, or last; recorded steps are not paid for again",
    )
    run.add_argument(
        "--reuse",
        choices=("unchanged", "all"),
        help="all: also steps that were recorded before files changed",
    )
    run.add_argument(
        "--strict-resume", action="store_true", help="refuse to resume when the program has changed"
    )
    run.add_argument(
        "--runs",
        action="store_true",
        help="run nothing: list this program's runs (all of them, and more: python -m prose_runtime runs)",
    )
    run.add_argument("-h", "--help", action="help", help="this text")
    return parser


class _Input(argparse.Action):
    """Collects (name, whether one was given, text) of every input option, in order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        text = str(values)
        given = (self.const, "=", text) if self.const is not None else text.partition("=")
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), given])


def _input_flags(inputs: Mapping[str, str | None]) -> Mapping[str, Sequence[str]]:
    """The options of each input: its own name, and with the other of - and _ where that is free.

    None where a flag of every script has the name: such an input has --input alone.
    """
    taken = set(_OWN)
    flags: dict[str, list[str]] = {}
    for name in inputs:
        flags[name] = [f"--{name}"] if name not in taken else []
        taken.add(name)
    for name in inputs:
        for other in (name.replace("_", "-"), name.replace("-", "_")):
            if flags[name] and other not in taken:
                flags[name].append(f"--{other}")
                taken.add(other)
    return flags


_OWN = frozenset(
    [
        "input",
        "inputs",
        "secret",
        "provider",
        "model",
        "decider",
        "answers",
        "json",
        "quiet",
        "max-concurrency",
        "max-rounds",
        "retry",
        "prose-dir",
        "state",
        "resume",
        "help",
        "max_concurrency",
        "max_rounds",
        "prose_dir",
        "runs",
        "allow",
        "forget",
        "narrate",
        "narration",
        "record",
        "recording",
        "reuse",
        "strict-resume",
        "max-sessions",
        "max-tokens",
        "max-usd",
        "timeout",
        "model-price",
    ]
)
"""Names that an input's option can't have, those of later versions included: a script's command line stays as it is."""


def option(name: str, value: str) -> str:
    """How a script is given one of its inputs: `--topic VALUE`, or `--input json=VALUE` where a flag has that name."""
    if name in _OWN:
        return f"--input {name}={value}"
    return f"--{name.replace('_', '-')} {value}"


def carried(options: Options) -> Sequence[str]:
    """The options that a resumption must be given again to find the run and to ask as this one does."""
    kept: list[str] = []
    if options.provider != "anthropic":
        kept += ["--provider", options.provider]
    if options.answers is not None:
        kept += ["--answers", str(options.answers)]
    for model in options.models:
        kept += ["--model", model]
    for price in options.prices:
        kept += ["--model-price", price]
    if options.decider is not None:
        kept += ["--decider", options.decider]
    if options.prose_dir != Path(".prose"):
        kept += ["--prose-dir", str(options.prose_dir)]
    for name in options.secrets:
        kept += ["--secret", name]
    return kept


def _usage(flags: Mapping[str, Sequence[str]], command: str) -> str:
    inputs = [
        f"{forms[0]} TEXT" if forms else f"--input {name}=TEXT" for name, forms in flags.items()
    ]
    shown = [*inputs[:4], *(["..."] if len(inputs) > 4 else [])]
    return " ".join([command, *shown, "[options]"]).replace("%", "%%")


def _only_by_input(flags: Mapping[str, Sequence[str]]) -> str:
    names = [name for name, forms in flags.items() if not forms]
    return f"the same, by name; the only form for {', '.join(names)}" if names else ""


def _epilog(program: Declared) -> str:
    outputs = (
        "\n".join(f"  {name}" for name in program.outputs) or "  none; the last value is printed"
    )
    environment = (
        "environment:\n  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, PROSE_MODEL_SONNET (also OPUS, HAIKU), PROSE_DIR,\n"
        "  PROSE_INPUT_NAME for the input `name`; also read from .prose/.env\n"
    )
    return "\n".join([f"outputs:\n{outputs}\n", environment, _ANSWERS, _EXIT_CODES])


def _state(state: str | None) -> State | None:
    if state is None or state == "filesystem" or state == "in-context":
        return state  # type: ignore[return-value]
    if state in _LATER_STATES:
        raise UsageError(
            f"--state {state}: not available yet; this version keeps runs as files (--state filesystem) or "
            "not at all (--state in-context)"
        )
    raise UsageError(
        f"--state {state}: there is no such mode; this version has filesystem and in-context"
    )


def _unknown(option: str, parser: argparse.ArgumentParser, inputs: Mapping[str, str | None]) -> str:
    bare = option.partition("=")[0]
    if not bare.startswith("-"):
        return f"unexpected argument {option!r}; inputs are options (--NAME TEXT)"
    known = sorted(_option_strings(parser) | {f"--{name}" for name in inputs})
    close = difflib.get_close_matches(bare, known, n=1, cutoff=0.6)
    return f"unknown option {bare}" + (f" (did you mean {close[0]}?)" if close else "")


def _option_strings(parser: argparse.ArgumentParser) -> set[str]:
    words = re.findall(r"(?<![\w-])--[\w-]+", parser.format_help())
    return set(words)


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return number


def _amount(text: str) -> float:
    try:
        number = float(text.removeprefix("$"))
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be an amount above 0, like 2.50, not {text!r}")
    return number


def _duration(text: str) -> float:
    """Seconds of "90", "90s", "15m", "1.5h"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", text)
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2] or "s"] if match else 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(
            f"must be a time above 0, like 90s, 15m or 2h, not {text!r}"
        )
    return seconds


def arguments_of_process() -> Iterator[str]:
    """The process's arguments as text; bytes that are no UTF-8 become replacement characters."""
    for argument in sys.argv[1:]:
        yield argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
