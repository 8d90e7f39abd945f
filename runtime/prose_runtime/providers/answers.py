"""The file of `--answers`: particular answers for a simulated run, by the name a result is bound to or by pattern.

    companies = ["Acme", "Globex", "Initech"]     # the result that the program binds to `companies`
    "Profile *" = "A short profile."              # any prompt, title or condition that the pattern matches
    "who should see the draft first" = "Board"    # a choice takes one of its labels
    "*fits one page*" = { each = [false, true] }  # one per time asked; the last one for the rest
    "Publish *" = { error = "the wiki is down" }  # the step fails
    facts = { value = { error = "as a field" } }  # an object that would look like one of the forms above

`*` stands for any text. A name wins over a pattern, earlier patterns over later ones.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UsageError
from .protocol import JSON, Request

_FORMS = frozenset({"value", "each", "error"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What the file says to one step: a value, or the `error` that it fails with; `where` names the entry."""

    where: str
    value: JSON = None
    error: str | None = None


@dataclass(slots=True)
class _Entry:
    key: str
    answers: Sequence[Answer]
    matches: Callable[[str], bool]
    is_name: bool
    used: int = 0

    def next(self) -> Answer:
        answer = self.answers[min(self.used, len(self.answers) - 1)]
        self.used += 1
        return answer


@dataclass(slots=True)
class Answers:
    """The entries of one file, which count how often they answered."""

    file: str
    entries: list[_Entry] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path, source: str) -> Answers:
        """Read the file; raises UsageError for one that can't be read or that answers what `source` never asks."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(
                f"--answers {path}: {(error.strerror or str(error)).lower()}"
            ) from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"--answers {path}: not a TOML file: {error}") from None
        loaded = cls(str(path))
        for key, value in table.items():
            _check_key(key, path, source)
            answers = [_answer(one, f"{path}: {key}") for one in _each(value, f"{path}: {key}")]
            loaded.entries.append(_Entry(key, answers, _matcher(key), _is_name(key)))
        return loaded

    def find(self, request: Request) -> Answer | None:
        """The answer for a request, if the file has one."""
        hints = request.hints
        asked = (_plain(hints.asked), _plain(hints.title or ""))
        for entry in self.entries:
            if entry.is_name and hints.name == entry.key and request.kind != "repair":
                return entry.next()
        for entry in self.entries:
            if any(text and entry.matches(text) for text in asked):
                return entry.next()
        return None

    def unused(self) -> Sequence[str]:
        """What to say of the entries that never answered."""
        return [
            f"{self.file}: '{entry.key}' answered no step of this run"
            for entry in self.entries
            if not entry.used
        ]


def _each(value: object, where: str) -> Sequence[object]:
    if not (isinstance(value, dict) and set(value) == {"each"}):
        return [value]
    answers = value["each"]
    if not isinstance(answers, list) or not answers:
        raise UsageError(f"{where}: each must be a list of answers, one per time")
    return answers


def _answer(value: object, where: str) -> Answer:
    if isinstance(value, dict) and len(value) == 1 and set(value) <= _FORMS:
        if "error" in value:
            if not isinstance(value["error"], str):
                raise UsageError(f"{where}: error must be a text")
            return Answer(where, error=value["error"])
        if "value" in value:
            return Answer(where, _json(value["value"]))
        raise UsageError(f"{where}: each can't stand inside each")
    return Answer(where, _json(value))


def _json(value: object) -> JSON:
    """A TOML value as JSON: dates become their text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _json(item) for name, item in value.items()}
    return str(value)


def _matcher(key: str) -> Callable[[str], bool]:
    # Only `*` is special: prompts are full of question marks and brackets.
    pattern = re.compile(fnmatch.translate(_plain(key).replace("[", "[[]").replace("?", "[?]")))
    return lambda text: pattern.match(text) is not None


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def _is_name(key: str) -> bool:
    return key.replace("-", "_").isidentifier()


def _check_key(key: str, path: Path, source: str) -> None:
    words = set(re.findall(r"[^\W\d][\w-]*", source))
    if not source or not _is_name(key) or key in words:
        return
    close = difflib.get_close_matches(key, sorted(words), n=1)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    raise UsageError(
        f"--answers {path}: the program has no name '{key}'{hint}; give the name that a result is bound to, or a pattern "
        "with * that its prompt or condition matches"
    )
