"""Starting: what a command takes before it does anything, beside Python that does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from .effort import Effort
from .processes import processor_time, workplace
from .programs import program
from .report import Row, seconds
from .timing import in_turn

TITLE = (
    "Start-up: whole processes, in turn, bytecode compiled beforehand into a folder of its own "
    "(PYTHONDONTWRITEBYTECODE unset)"
)
LIMIT = 0.25


def rows(effort: Effort) -> Iterator[Row]:
    """The help of both command lines, and a small check."""
    with workplace(bytecode=True) as (folder, processes):
        small = folder / "small.prose"
        small.write_text(program(140))
        processes.run(processes.prosec("build", str(small)))
        script = str(small.with_suffix(".py"))
        commands: dict[str, tuple[list[str], float | None]] = {
            "python -c pass": (processes.python("-c", "pass"), None),
            "prosec --help": (processes.prosec("--help"), LIMIT),
            "prosec check small.prose (140 lines)": (processes.prosec("check", str(small)), None),
            "script.py --help": (processes.python(script, "--help"), LIMIT),
        }
        starts = [partial(processes.run, command) for command, _ in commands.values()]
        for start in starts:
            start()  # Compiles the bytecode.
        times = in_turn(effort.starts, *starts)
        worked = in_turn(effort.starts, *starts, clock=processor_time)
        for number, (what, (_, limit)) in enumerate(commands.items()):
            # Beside `python -c pass`, the first of them: what a busy machine adds, it adds to that too.
            yield Row(
                what,
                seconds(times.of(number)),
                f"processor time {seconds(worked.of(number))}",
                times.of(number),
                "s",
                limit,
            )
