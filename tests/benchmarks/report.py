"""A figure beside its baseline and its target, as a line of a table that is printed while it grows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_WIDTHS = (58, 10, 25, 9, 9)
_HEADS = ("what", "here", "baseline", "figure", "target")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `figure`, in `unit`, is what the target is about; `here` and `baseline` say where it is from."""

    what: str
    here: str
    baseline: str
    figure: float
    unit: str
    limit: float | None = None
    """The target: the figure is to stay below it, or at it."""

    @property
    def met(self) -> bool | None:
        return None if self.limit is None else self.figure <= self.limit

    def __str__(self) -> str:
        target = "" if self.limit is None else f"< {self.limit:g} {self.unit}"
        verdict = {None: "", True: "met", False: "NOT MET"}[self.met]
        return _line(
            (self.what, self.here, self.baseline, f"{self.figure:.2f} {self.unit}", target), verdict
        )


def seconds(time: float) -> str:
    """A duration as people read it."""
    if time >= 1:
        return f"{time:.2f} s"
    return f"{time * 1_000:.3g} ms" if time >= 1e-3 else f"{time * 1e6:.3g} us"


def megabytes(size: int) -> str:
    """A size given in bytes."""
    return f"{size / 1e6:.1f} MB"


def show(title: str, rows: Iterable[Row]) -> int:
    """Print a part of the table, each line when it is known; returns how many targets were missed."""
    missed = 0
    print(f"\n{title}\n", flush=True)
    print(_line(_HEADS, ""))
    print(_line(tuple("-" * width for width in _WIDTHS), ""), flush=True)
    for row in rows:
        print(row, flush=True)
        missed += row.met is False
    return missed


def _line(cells: Iterable[str], verdict: str) -> str:
    laid = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return f"{'  '.join(laid)}  {verdict}".rstrip()
