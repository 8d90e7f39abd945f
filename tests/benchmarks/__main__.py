"""The command: runs the benchmarks, or some of them, and prints the table."""

from __future__ import annotations

import argparse
import os
import platform

from . import compile, memory, resume, rounds, sessions, startup, watching
from .effort import FULL, QUICK, SMALLEST
from .report import show

PARTS = {
    "compile": compile,
    "sessions": sessions,
    "startup": startup,
    "rounds": rounds,
    "resume": resume,
    "memory": memory,
    "watching": watching,
}


def main() -> None:
    """Exits 0 whatever the figures: a target that is missed is shown, not raised."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer (about two minutes)")
    parser.add_argument("--smallest", action="store_true", help="only whether everything runs")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part (repeatable)")
    options = parser.parse_args()
    effort = SMALLEST if options.smallest else QUICK if options.quick else FULL
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}. Ratios are medians of ratios "
        "within one repetition, in which all sides are measured in turn."
    )
    parts = {name: part for name, part in PARTS.items() if name in (options.only or PARTS)}
    missed = sum(show(part.TITLE, part.rows(effort)) for part in parts.values())
    print(f"\n{missed or 'no'} target{'' if missed == 1 else 's'} missed")


if __name__ == "__main__":
    main()
