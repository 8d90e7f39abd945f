"""The inputs that a run is given: from options, a JSON file, the environment and .prose/.env."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UsageError
from .options import Options, known_name

if TYPE_CHECKING:
    from .values import Value


def given_inputs(
    options: Options,
    declared: Mapping[str, str | None],
    environ: Mapping[str, str],
    read_stdin: Callable[[], str],
) -> dict[str, Value | str]:
    """Every input that was given, by name: options over the file over the environment. Raises UsageError."""
    given: dict[str, Value | str] = {}
    for name in declared:
        if (text := environ.get(f"PROSE_INPUT_{name.upper().replace('-', '_')}")) is not None:
            given[name] = text
    if options.inputs_file is not None:
        given.update(_from_file(options.inputs_file, declared))
    stdin_for: str | None = None
    for name, text in options.inputs:
        if text == "-":
            if stdin_for not in (None, name):
                raise UsageError(
                    f"input '{name}': standard input is already given to '{stdin_for}'"
                )
            if stdin_for is None:
                stdin_for, given[name] = name, read_stdin()
        elif text.startswith("@@"):
            given[name] = text[1:]
        elif text.startswith("@"):
            given[name] = _read(Path(text[1:]), f"input '{name}'")
        else:
            given[name] = text
    return given


def environment(prose_dir: Path, process: Mapping[str, str]) -> Mapping[str, str]:
    """The process's environment over the KEY=value lines of .prose/.env."""
    try:
        text = (prose_dir / ".env").read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return process
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{prose_dir / '.env'}: can't be read: {_why(error)}") from None
    return {**_lines(text), **process}


def _lines(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip().removeprefix("export ").strip()
        name, equals, value = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found[name.strip()] = value
    return found


def _from_file(path: Path, declared: Mapping[str, str | None]) -> Mapping[str, Value]:
    from .errors import ProseError
    from .values import Value

    text = _read(path, "--inputs")
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--inputs {path}: not JSON: {error}") from None
    if not isinstance(loaded, dict):
        raise UsageError(
            f'--inputs {path}: must be one object of inputs by name: {{"topic": "..."}}'
        )
    given: dict[str, Value] = {}
    for name, value in loaded.items():
        known_name(name, declared, f"--inputs {path}:")
        try:
            given[name] = Value(value)
        except ProseError as error:
            raise UsageError(f"--inputs {path}: input '{name}': {error.message}") from None
    return given


def _read(path: Path, what: str) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{what} {path}: can't be read: {_why(error)}") from None


def _why(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (error.strerror or str(error)).lower()
