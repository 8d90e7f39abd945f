"""Text from outside on a person's terminal: nothing in it may steer the terminal or pass for ours."""

from __future__ import annotations

import re
import sys

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def harmless(text: str) -> str:
    """`text` with control and direction characters shown as escapes; line breaks and tabs stay."""
    return _CONTROL.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, width: int = 100) -> str:
    """`text` harmless, on one line of at most `width` characters."""
    line = " ".join(harmless(text[: width * 20]).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def seconds(duration: float) -> str:
    """A duration for people: 0.4 s, 12 s, 3 min 20 s."""
    if duration < 10:
        return f"{duration:.1f} s"
    if duration < 60:
        return f"{duration:.0f} s"
    return f"{duration // 60:.0f} min {duration % 60:.0f} s"


def make_printable() -> None:
    """Under a locale that can't show everything, show escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if (
            reconfigure is not None
            and (getattr(stream, "encoding", "") or "").lower().replace("-", "") != "utf8"
        ):
            reconfigure(errors="backslashreplace")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
