"""The smallest shared rules: which texts are numbers, and which say yes or no."""

from __future__ import annotations

import re
from typing import Final

YES: Final = frozenset({"yes", "true", "y", "1", "on", "keep"})
NO: Final = frozenset({"no", "false", "n", "0", "off", "skip", "drop"})

_LONGEST_NUMERAL: Final = 320
_NUMERAL: Final = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_FIRST_WORD: Final = re.compile(r"[\W_]*([^\W_]+(?:\.\d+)?)")


def number_in(text: str) -> int | float | None:
    """The number that `text` is, whole: `12`, `-0.5`, `14,210`, `1e6`, in spaces; None for any other text."""
    if len(text) > _LONGEST_NUMERAL:
        return None
    bare = text.strip()
    if not bare or not (bare[-1].isdigit() and _NUMERAL.fullmatch(bare)):
        return None
    digits = bare.replace(",", "")
    try:
        if "." not in digits and "e" not in digits and "E" not in digits:
            whole = int(digits)
            return whole if -(10**300) < whole < 10**300 else None
        number = float(digits)
    except ValueError:
        return None
    if number in (float("inf"), float("-inf")):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def truth_in(text: str) -> bool | None:
    """What the first word of `text` says, in any case: yes, no, or neither (None)."""
    # Only the start can hold the first word; a bound keeps this cheap on large texts.
    match = _FIRST_WORD.match(text[:200])
    if match is None:
        return None
    word = match[1].lower()
    return True if word in YES else False if word in NO else None
