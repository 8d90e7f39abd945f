"""Names in running text: which words of a condition could be names of the program."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9][A-Za-z0-9_]*)*")


def words(text: str) -> list[str]:
    """The words of a text that have the form of a name, each once, in order of first mention."""
    return list(dict.fromkeys(_WORD.findall(text)))
