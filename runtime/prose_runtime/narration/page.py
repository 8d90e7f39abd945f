"""The lines of narration: a marker, as text or as a pictograph, what is said, and details indented below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TextIO

Style = Literal["text", "emoji"]

Marker = Literal[
    "Program",
    "Position",
    "Binding",
    "Input",
    "Output",
    "Success",
    "Warning",
    "Parallel",
    "Loop",
    "Pipeline",
    "Try",
    "Flow",
    "Frame+",
    "Frame-",
    "CallStack",
]

_PICTOGRAPHS: Final[Mapping[Marker, str]] = {
    "Program": "📋",
    "Position": "📍",
    "Binding": "📦",
    "Success": "✅",
    "Warning": "⚠️",
    "Parallel": "🔀",
    "Loop": "🔄",
    "Pipeline": "🔗",
    "Try": "🛡️",
    "Flow": "➡️",
}
"""The other markers are text in either style."""


class Page:
    """Writes what is said, each marker with its details at once, so that strands never tear each other's apart."""

    def __init__(self, out: TextIO | None, style: Style) -> None:
        self._out = out
        self._style = style
        self._last = ""

    def plain(self, *lines: str) -> None:
        """Lines without a marker."""
        self._write("\n".join(lines) + "\n")

    def say(self, marker: Marker, text: str, details: Sequence[str] = ()) -> None:
        """One line with its marker, and its details below it."""
        self._last = self._headed(marker, text)
        self._write("\n  ".join([self._last, *details]) + "\n")

    def go_on(self, marker: Marker, text: str, details: Sequence[str]) -> None:
        """More details of a line that was said; it is said again where anything else came between."""
        if self._last == self._headed(marker, text):
            self._write("".join([f"  {detail}\n" for detail in details]))
        else:
            self.say(marker, text, details)

    def _headed(self, marker: Marker, text: str) -> str:
        if self._style == "emoji" and marker in _PICTOGRAPHS:
            return f"{_PICTOGRAPHS[marker]} {text}"
        return f"[{marker}] {text}"

    def _write(self, text: str) -> None:
        if self._out is None:
            return
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):
            # Nobody reads any more: that is no reason to stop work that costs money.
            self._out = None
