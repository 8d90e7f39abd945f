"""The values of secret inputs: kept so that they can be taken out of whatever people are shown."""

from __future__ import annotations

from .values import Value

SHORTEST = 4
"""Characters of a value that is taken out of texts: a shorter one stands in every second word."""


class Secrets:
    """Values that must not be shown."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def keep(self, value: Value) -> None:
        """Take this value out of all texts from now on."""
        text = value.text.strip()
        if len(text) >= SHORTEST and text not in self._texts:
            self._texts.append(text)
            # One may begin with another, of which the rest would be left.
            self._texts.sort(key=len, reverse=True)

    def scrubbed(self, text: str) -> str:
        """A text with *** in place of every secret."""
        for secret in self._texts:
            text = text.replace(secret, "***")
        return text
