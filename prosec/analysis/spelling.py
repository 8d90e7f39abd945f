"""Names that were nearly right: what a misspelt one most likely stands for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

SEEN = 1_000
COMPARED = 30
"""How many names are looked at for each mistake, and how many of those that could be meant are compared letter by
letter: a program with thousands of names and mistakes is checked in time all the same."""


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that `word` most likely stands for, if one is near enough (0 to 1: `cutoff`)."""
    # Imported when a program has such a mistake: the module is not needed for the others.
    from difflib import get_close_matches

    folded = word.lower().replace("_", "-")
    near = [
        name
        for name in islice(known, SEEN)
        if abs(len(name) - len(word)) <= 3 and (name[:1] in (word[:1], folded[:1]) or name[-2:] == word[-2:])
    ]
    if folded in near:
        return folded
    candidates = near[:COMPARED]
    found = get_close_matches(word, candidates, n=1, cutoff=cutoff) or get_close_matches(
        folded, candidates, n=1, cutoff=cutoff
    )
    return found[0] if found else None
