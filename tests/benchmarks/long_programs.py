"""The programs of long runs: one sort of step each, in as many rounds as wanted, and their scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .processes import Processes

NEXT_STEP: Final = "Say what comes next."
"""The prompt of the session with which every one of these programs ends, and which stands alone in `FRESH`."""

_AGENT: Final = """\
agent worker:
  model: sonnet
  prompt: "You work through a list."

"""

_NEXT: Final = f"""\
session: worker
  prompt: "{NEXT_STEP}"
  context: []
"""

FRESH: Final = "fresh"
"""The name of the program that has nothing but the last session of the others."""


@dataclass(frozen=True, slots=True)
class Sort:
    """What the rounds of a program are made of."""

    name: str
    what: str
    """For people."""
    body: str
    """The source, with `{rounds}` where their number belongs."""
    sessions: int = 1
    """Sessions of one round."""
    decisions: int = 0
    """Questions of one round."""
    at_once: bool = False
    """The rounds go over the input `items`, of which there is one for each."""

    def rounds(self, steps: int) -> int:
        """How many rounds make so many recorded steps."""
        return steps // (self.sessions + self.decisions)

    def source(self, rounds: int) -> str:
        return f"{_AGENT}{self.body.replace('{rounds}', str(rounds))}\n{_NEXT}"


_SHOWN_NOTHING: Final = """\
  session: worker
    prompt: "Say something short about the next item."
    context: []
"""

UNNAMED: Final = Sort("unnamed", "sessions", "repeat {rounds}:\n" + _SHOWN_NOTHING)

NAMED: Final = Sort(
    "named",
    "named sessions",
    "repeat {rounds}:\n" + _SHOWN_NOTHING.replace("session:", "let found = session:"),
)

SO_FAR: Final = Sort(
    "so_far",
    "sessions told so far",
    "repeat {rounds}:\n" + _SHOWN_NOTHING.replace("    context: []\n", ""),
)

UNTIL: Final = Sort(
    "until",
    "loop until, told so far",
    "loop until **the list is finished** (max: {rounds}):\n"
    + _SHOWN_NOTHING.replace("    context: []\n", ""),
    decisions=1,
)

BLOCKS: Final = Sort(
    "blocks",
    "block calls",
    "block work(number):\n"
    + _SHOWN_NOTHING.replace("the next item", "item {number}")
    + "\nrepeat {rounds} as number:\n  do work(number)\n",
)

RACES: Final = Sort(
    "races",
    "parallel (first)",
    'repeat {rounds}:\n  parallel ("first"):\n'
    '    session: worker\n      prompt: "Look for it here."\n      context: []\n'
    '    session: worker\n      prompt: "Look for it there."\n      context: []\n',
    sessions=2,
)

AT_ONCE: Final = Sort(
    "at_once",
    "parallel for",
    'input items: "What to work on, a JSON list"\n\nparallel for item in items:\n'
    + _SHOWN_NOTHING.replace("the next item", "item {item}"),
    at_once=True,
)

TURNS: Final = Sort(
    "turns",
    "parallel for with turns",
    'input items: "What to work on, a JSON list"\n\nlet newest = ""\nparallel for item in items:\n'
    + _SHOWN_NOTHING.replace("the next item", "item {item}").replace(
        "session:", "let it = session:"
    )
    + "  newest = it\n",
    at_once=True,
)

SEQUENTIAL: Final = (UNNAMED, NAMED, SO_FAR, UNTIL, BLOCKS, RACES)
ALL: Final = (*SEQUENTIAL, AT_ONCE, TURNS)


def chosen(sorts: Sequence[Sort], names: Sequence[str] | None) -> Sequence[Sort]:
    """Those of the sorts that have one of the names; all where there are none."""
    return [sort for sort in sorts if names is None or sort.name in names]


def written_out(sessions: int) -> str:
    """A program of as many lines as sessions: each is a statement of its own."""
    return "".join(f'session "Say something short about item {n}."\n' for n in range(sessions))


@dataclass(frozen=True, slots=True)
class Scripts:
    """Scripts in a folder, built by prosec."""

    folder: Path
    processes: Processes

    def build(self, programs: Sequence[tuple[str, str]]) -> None:
        """Build programs, given as name and source, with one process."""
        for name, source in programs:
            self._program(name).write_text(source)
        files = [str(self._program(name)) for name, _ in programs]
        self.processes.run(self.processes.prosec("build", *files))

    def build_sorts(self, sorts: Sequence[Sort], *rounds: int) -> None:
        """Build programs of some sorts, each with these numbers of rounds, and the one without rounds."""
        made = [(self.name(sort, count), sort.source(count)) for sort in sorts for count in rounds]
        self.build([*made, (FRESH, _AGENT + _NEXT)])

    def name(self, sort: Sort, rounds: int) -> str:
        return f"{sort.name}_{rounds}"

    def script(self, name: str) -> str:
        """The path of a script that was built."""
        return str(self._program(name).with_suffix(".py"))

    def inputs(self, sort: Sort, rounds: int) -> Path:
        """A file that holds the inputs of a program."""
        path = self.folder / f"inputs_{sort.name}_{rounds}.json"
        items = [f"number {n}" for n in range(rounds)] if sort.at_once else []
        path.write_text(json.dumps({"items": items} if items else {}))
        return path

    def _program(self, name: str) -> Path:
        return self.folder / f"{name}.prose"
