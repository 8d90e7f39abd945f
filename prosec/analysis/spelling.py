"""Names that were nearly right: what a misspelt one most likely stands for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

CANDIDATES = 200
"""Among more names the comparison would take longer than the rest of a check."""


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that `word` most likely stands for, if one is near enough (0 to 1: `cutoff`)."""
    # Imported when a program has such a mistake: the module is not needed for the others.
    from difflib import get_close_matches

    candidates = list(islice(known, CANDIDATES))
    folded = word.lower().replace("_", "-")
    if folded in candidates:
        return folded
    found = get_close_matches(word, candidates, n=1, cutoff=cutoff) or get_close_matches(
        folded, candidates, n=1, cutoff=cutoff
    )
    return found[0] if found else None
