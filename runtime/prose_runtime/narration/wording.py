"""Values and texts as narration shows them: short, on one line, harmless, and without secrets.

One rule shortens everything: of the first line that is not empty the words that fit, then "..." where anything is left
out, be it of the line or below it. Results may have 40 characters, values of names 32.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..secrets import Secrets
from ..terminal import harmless
from ..values import Value

RESULT: Final = 40
"""Characters of what a session answered, and of an error's message."""

NAMED: Final = 32
"""Characters of what a name stands for."""

REASON: Final = 300
"""Characters of reasons and other sentences."""

_LEAST: Final = 8
"""Below this many characters nothing inside a list or an object is shown."""

_PLAIN_WORD: Final = re.compile(r"[\w.:/@%+-]+")


def beginning(text: str, width: int) -> str:
    """The words of the first line that fit, and "..." where anything is left out; harmless."""
    if len(text) <= width and text.isprintable():
        return text.strip()
    text = text.lstrip()
    rows = text[: width * 20].splitlines() or [""]
    line = " ".join(harmless(rows[0]).split())
    cut = len(text) > width * 20 or any(row.strip() for row in rows[1:])
    if len(line) > width:
        end = line.rfind(" ", 0, width + 1)
        line, cut = line[: end if end > 0 else width], True
    return f"{line.rstrip(' ,;:.-') or line}..." if cut else line


class Wording:
    """How texts and values are shown, with the secrets of the run taken out."""

    def __init__(self) -> None:
        self.secrets = Secrets()

    def value(self, value: Value, width: int = NAMED) -> str:
        """`"Text..."`, `3`, `true`, `["a", "b", ...]`, `{name: "Ada", ...}`; an error is `{message: "..."}`."""
        if value.is_text:
            return self.quoted(value.text, width)
        if value.error is not None:
            return f"{{message: {self.quoted(value.error.message, RESULT)}}}"
        if value.kind == "list":
            return self._inside("[]", [("", item) for item in value.items[:width]], width)
        if value.kind == "object":
            fields = [
                (f"{self.text(name, NAMED)}: ", field) for name, field in value.fields.items()
            ]
            return self._inside("{}", fields, width)
        return value.text

    def argument(self, value: Value) -> str:
        """A value where names and values stand in a row: a single word is shown without quotes."""
        if value.is_text and len(value.text) <= NAMED and _PLAIN_WORD.fullmatch(value.text):
            return self.secrets.scrubbed(value.text)
        return self.value(value)

    def quoted(self, text: str, width: int) -> str:
        return f'"{self.text(text, width)}"'

    def text(self, text: str, width: int = REASON) -> str:
        """The beginning of a text, on one line of about `width` characters."""
        return beginning(self.secrets.scrubbed(text), width)

    def sentence(self, text: str) -> str:
        """A reason or a warning: all of its lines on one."""
        return self.text(" ".join(self.secrets.scrubbed(text)[: REASON * 20].split()))

    def _inside(self, brackets: str, members: Iterable[tuple[str, Value]], width: int) -> str:
        shown: list[str] = []
        used = 0
        for name, member in members:
            left = width - used
            if left < _LEAST:
                shown.append("...")
                break
            part = name + self.value(member, left - 1)
            used += len(part)
            shown.append(part)
        return f"{brackets[0]}{', '.join(shown)}{brackets[1]}"
