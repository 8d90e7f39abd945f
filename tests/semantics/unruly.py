"""Programs made at random that race, fail, loop and call blocks, and a model that never answers twice alike.

No interpreter says what such a program does: that its lives agree with each other is what tests can ask of it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from prose_runtime.errors import SessionError
from prose_runtime.providers.protocol import JSON, Reply, Request, Usage

PROMPTS: Final = ("One", "Two", "Three", "Four", "Five")
"""So few that equal calls are common."""

SURE: Final = ("Rescue", "Last of all")
"""Sessions that never fail: what is left when everything else did."""


@dataclass
class Unruly:
    """Answers with texts that are all different, decides by chance, and fails now and then."""

    chance: random.Random
    fails: float = 0.0
    """How many sessions and questions of a hundred, by hundredths."""
    numbers: Iterator[int] = field(default_factory=itertools.count)
    """Kept over all lives of a run, so that no two answers are alike."""

    name = "simulate"
    simulated = True

    def check(self) -> None: ...

    async def complete(self, request: Request) -> Reply:
        asked = request.hints.asked or ""
        if asked not in SURE and self.chance.random() < self.fails:
            raise SessionError(f"broken {next(self.numbers)}")
        data: dict[str, JSON] | None = None
        if request.kind == "choose":
            data = {"reason": "by chance", "answer": self.chance.choice(request.hints.labels)}
        elif request.kind in ("decide", "until", "while", "keep"):
            data = {"reason": "by chance", "answer": self.chance.random() < 0.5}
        return Reply(f"{asked[:20]} #{next(self.numbers)}", data, Usage(), request.model)

    def remarks(self) -> Sequence[str]:
        return ()

    async def close(self) -> None: ...


def indented(lines: Sequence[str], by: int = 2) -> list[str]:
    return [" " * by + line for line in lines]


class Maker:
    """Makes one program. Without `races` no branch is ever given up."""

    def __init__(self, seed: int, *, races: bool) -> None:
        self.chance = random.Random(seed)
        self.races = races
        self.depth = self.chance.randint(1, 3)
        self.number = 0

    def program(self) -> str:
        """Its source. Whatever fails in it, it comes to its end."""
        depth = self.depth
        lines = ["try:", *indented(self.suite([], depth, self.chance.randint(2, 4)))]
        lines += ["catch as oops:", '  session "Rescue"', 'session "Last of all"']
        lines += ['output done = "yes"']
        lines += ["block f(p, n):", *indented(self.suite(["p"], depth - 1, within="f"))]
        lines += ["  if n > 0:", "    do f(p, n - 1)"]
        if self.chance.random() < 0.5:
            lines += ["  else:", *indented(self.session(["p"]), 4)]
        lines += ["block g(p, n):", *indented(self.suite(["p"], max(0, depth - 2), within="g"))]
        return "\n".join(lines) + "\n"

    def fresh(self, prefix: str = "v") -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def suite(
        self, names: list[str], depth: int, count: int | None = None, *, within: str = ""
    ) -> list[str]:
        """Some statements, which may read `names`; `within` is the block that they stand in."""
        known = list(names)
        lines: list[str] = []
        for _ in range(count or self.chance.randint(1, 3)):
            lines += self.statement(known, depth, within)
        return lines

    def session(self, names: Sequence[str], bound: str = "") -> list[str]:
        """A session that is told what happened, or shown nothing, or shown some names."""
        lines = [f'{bound}session "{self.chance.choice(PROMPTS)}"']
        pick = self.chance.random()
        if pick < 0.35:
            lines.append("  context: []")
        elif pick < 0.7 and names:
            shown = dict.fromkeys(self.chance.choices(names, k=2))
            lines.append(f"  context: [{', '.join(shown)}]")
        if self.chance.random() < 0.15:
            lines.append(f"  retry: {self.chance.randint(1, 2)}")
        return lines

    def statement(self, names: list[str], depth: int, within: str) -> list[str]:
        """A statement; the names that it binds are added to `names`."""
        kinds = ["session", "let"] * 3
        if depth > 0:
            kinds += ["parallel"] * 4 + ["rounds", "try"] * 3 + ["repeat"] * 2
            kinds += ["if", "until", "pmap", "map", "do", "choice", "collect"]
            kinds += ["call"] * 3 if not within else []
        if depth < self.depth and self.chance.random() < 0.15:
            kinds += ["throw"] * 3
        made: list[str] = getattr(self, f"_{self.chance.choice(kinds)}")(names, depth, within)
        return made

    def _session(self, names: list[str], depth: int, within: str) -> list[str]:
        return self.session(names)

    def _let(self, names: list[str], depth: int, within: str) -> list[str]:
        name = self.fresh()
        lines = self.session(names, f"let {name} = ")
        names.append(name)
        return lines

    def _throw(self, names: list[str], depth: int, within: str) -> list[str]:
        return [f'throw "{self.fresh("thrown")}"']

    def _repeat(self, names: list[str], depth: int, within: str) -> list[str]:
        head = f"repeat {self.chance.randint(1, 3)} as {self.fresh('i')}:"
        return [head, *indented(self.suite(names, depth - 1, within=within))]

    def _if(self, names: list[str], depth: int, within: str) -> list[str]:
        lines = [f"if **{self.chance.choice(PROMPTS)} is fine enough**:"]
        lines += indented(self.suite(names, depth - 1, within=within))
        if self.chance.random() < 0.5:
            lines += ["else:", *indented(self.suite(names, depth - 1, within=within))]
        return lines

    def _until(self, names: list[str], depth: int, within: str) -> list[str]:
        head = f"loop until **{self.chance.choice(PROMPTS)} is done by now** (max: 3):"
        return [head, *indented(self.suite(names, depth - 1, within=within))]

    def _choice(self, names: list[str], depth: int, within: str) -> list[str]:
        lines = ["choice **which of the two it is**:"]
        for label in ("A", "B"):
            lines += [f'  option "{label}":']
            lines += indented(self.suite(names, depth - 1, within=within), 4)
        return lines

    def _do(self, names: list[str], depth: int, within: str) -> list[str]:
        return ["do:", *indented(self.suite(names, depth - 1, within=within))]

    def _call(self, names: list[str], depth: int, within: str) -> list[str]:
        shown = self.chance.choice(names) if names and self.chance.random() < 0.5 else "7"
        return [f"do {self.chance.choice('fg')}({shown}, {self.chance.randint(0, 2)})"]

    def _try(self, names: list[str], depth: int, within: str) -> list[str]:
        lines = ["try:", *indented(self.suite(names, depth - 1, within=within))]
        pick = self.chance.random()
        if pick < 0.85:
            lines += ["catch as err:" if self.chance.random() < 0.5 else "catch:"]
            lines += indented(self._after(names, depth, within))
        if pick >= 0.7:
            lines += ["finally:", *indented(self._after(names, depth, within))]
        return lines

    def _after(self, names: list[str], depth: int, within: str) -> list[str]:
        """The body of a catch or finally: often it starts nothing."""
        if self.chance.random() < 0.3:
            return [f"let {self.fresh()} = 1"]
        return self.suite(names, depth - 1, within=within)

    def _rounds(self, names: list[str], depth: int, within: str) -> list[str]:
        head = f"parallel for {self.fresh('x')} in {self._items()}{self._on_fail()}:"
        return [head, *indented(self.suite(names, depth - 1, within=within))]

    def _collect(self, names: list[str], depth: int, within: str) -> list[str]:
        """Rounds that take their turn."""
        all_of_them, one = self.fresh("all"), self.fresh()
        lines = [f"let {all_of_them} = []"]
        lines += [f"parallel for {self.fresh('x')} in {self._items()}{self._on_fail()}:"]
        lines += indented(self.suite(names, depth - 1, 1, within=within))
        lines += indented(self.session(names, f"let {one} = "))
        lines += [f"  {all_of_them} = {all_of_them} + [{one}]"]
        if self.chance.random() < 0.6:
            lines += indented(self.session([*names, one, all_of_them]))
        names.append(all_of_them)
        return lines

    def _pmap(self, names: list[str], depth: int, within: str, stage: str = "pmap") -> list[str]:
        name = self.fresh()
        lines = [f"let {name} = {self._items()} | {stage}:"]
        lines += indented([*self.suite(names, depth - 1, within=within), *self.session(names)])
        names.append(name)
        return lines

    def _map(self, names: list[str], depth: int, within: str) -> list[str]:
        return self._pmap(names, depth, within, "map")

    def _parallel(self, names: list[str], depth: int, within: str) -> list[str]:
        count = self.chance.randint(2, 3)
        mods: list[str] = []
        if self.races:
            join = self.chance.random()
            if join < 0.3:
                mods.append('"first"')
            elif join < 0.5:
                mods += ['"any"', f"count: {self.chance.randint(1, count)}"]
        pick = self.chance.random()
        if pick < 0.3 or not self.races:
            mods.append('on-fail: "continue"')
        elif pick < 0.5:
            mods.append('on-fail: "ignore"')
        lines = [f"parallel ({', '.join(mods)}):" if mods else "parallel:"]
        bound: list[str] = []
        for _ in range(count):
            name = self.fresh("b") if self.chance.random() < 0.7 else ""
            lines += indented(self._branch(f"{name} = " if name else "", names, depth, within))
            bound += [name] if name else []
        names += bound
        return lines

    def _branch(self, bound: str, names: list[str], depth: int, within: str) -> list[str]:
        pick = self.chance.random()
        if pick < 0.35 or (pick >= 0.8 and within):
            return self.session(names, bound)
        if pick < 0.8:
            return [f"{bound}do:", *indented(self.suite(names, depth - 1, within=within))]
        called, argument = self.chance.choice("fg"), self.chance.randint(0, 2)
        return [f"{bound}do {called}(7, {argument})"]

    def _items(self) -> str:
        """A list with equal items in it, or none."""
        count = self.chance.randint(0, 3)
        return f"[{', '.join(str(self.chance.randint(0, 2)) for _ in range(count))}]"

    def _on_fail(self) -> str:
        policies = ["continue", "ignore"] + ["", ""] * self.races
        policy = self.chance.choice(policies)
        return f' (on-fail: "{policy}")' if policy else ""
