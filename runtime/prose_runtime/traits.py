"""What the compiler found out about a program that a run, or whoever starts one, should know: the footer's `traits`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

AT_ONCE = 25
"""Sessions at once up to which a program needs no word of warning."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is notable about a program; a footer doesn't mention what is not."""

    in_context: bool = False
    """It is small enough for in-context mode: under 30 statements, under 5 parallel branches, at most 2 imports, nested
    at most 2 deep."""
    at_once: int | None = 0
    """How many sessions it can start at once, where those are more than 25; None: any number, as a list is long."""
    unbounded: Sequence[int] = ()
    """The source lines of loops that have no max."""

    @classmethod
    def read(cls, text: str) -> Traits:
        """From the footer's string ("in-context", "at-once:30 unbounded:12,44", "at-once:many").

        A word that this version doesn't know is passed over: a later compiler may say more.
        """
        words = dict(word.partition(":")[::2] for word in text.split())
        at_once = words.get("at-once", "0")
        return cls(
            "in-context" in words,
            None if at_once == "many" else int(at_once),
            tuple(int(line) for line in words.get("unbounded", "").split(",") if line),
        )

    def cautions(self, max_concurrency: int) -> list[str]:
        """What a person should know before such a program runs."""
        said = []
        if self.at_once is None or self.at_once > AT_ONCE:
            many = "any number of" if self.at_once is None else f"{self.at_once:,}"
            said.append(
                f"this program can start {many} sessions at once; at most {max_concurrency:,} of them run at the same "
                "time (--max-concurrency)"
            )
        if self.unbounded:
            lines = ", ".join(map(str, self.unbounded[:8]))
            if len(self.unbounded) == 1:
                loops = f"the loop in line {lines} has no max"
            else:
                more = ", ..." if len(self.unbounded) > 8 else ""
                loops = f"the loops in lines {lines}{more} have no max"
            said.append(
                f"{loops}; --max-sessions, --max-tokens, --max-usd and --timeout bound a run"
            )
        return said
