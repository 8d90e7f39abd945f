"""Programs made at random, run as scripts and by a small interpreter that knows only language.md section 3.

The interpreter walks the generated statements one after the other: no compiler, no tasks. What it says about scope
(a name is looked up in the block, then its callers, then the root), block values, loops, errors, copies of branches and
`parallel for` (its outcome is that of the sequential `for`) must be what the emitted script does.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playing import play

BLOCKS = ("f", "g", "h")
SEEDS = [
    *range(24),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in range(24, 224)),
]


# The interpreter


class Broken(Exception):
    """An error of the program."""


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(eq=False)
class Frame:
    caller: Frame | None
    names: dict[str, Any] = field(default_factory=dict)
    """name -> (value, kind); kinds are own, parameter, item and left."""


@dataclass
class World:
    """A run of the interpreter: what sessions were asked and where, and what was written since each fork."""

    root: Frame
    bodies: dict[str, Any]
    log: list[str] = field(default_factory=list)
    forks: list[list[tuple[Frame, str, Any, str]]] = field(default_factory=list)
    path: tuple[str, ...] = ()
    """The branches and concurrent rounds around what runs, outermost first; a round is known by its item."""
    steps: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """What sessions were asked, with their paths."""

    def ask(self, prompt: str) -> None:
        self.log.append(prompt)
        self.steps.append((self.path, prompt))

    @contextmanager
    def within(self, branch: str) -> Iterator[None]:
        """What runs is in a branch or a concurrent round."""
        self.path = (*self.path, branch)
        try:
            yield
        finally:
            self.path = self.path[:-1]

    def find(self, frame: Frame | None, name: str) -> Frame | None:
        while frame is not None:
            if name in frame.names:
                return frame
            frame = frame.caller
        return None

    def read(self, frame: Frame, name: str) -> Any:
        found = self.find(frame, name)
        if found is None:
            raise Broken(f"'{name}' has no value")
        return found.names[name][0]

    def write(self, frame: Frame, name: str, value: Any, kind: str = "own") -> None:
        if kind == "left" and frame.names.get(name, (0, "left"))[1] != "left":
            return
        frame.names[name] = (value, kind)
        if self.forks:
            self.forks[-1].append((frame, name, value, kind))

    def forked(self, frame: Frame, works: Sequence[Callable[[], None]], *, copies: bool) -> None:
        """Run works as branches (each with its copy of the variables) or as rounds (each sees the earlier ones); what a
        failed one wrote is dropped."""
        joined: list[tuple[Frame, str, Any, str]] = []
        for work in works:
            chain: list[Frame] = []
            at: Frame | None = frame
            while at is not None:
                chain.append(at)
                at = at.caller
            before = [dict(f.names) for f in chain]
            self.forks.append([])
            failed = False
            try:
                work()
            except Broken:
                failed = True
            writes = self.forks.pop()
            if copies or failed:
                for f, names in zip(chain, before, strict=True):
                    f.names = names
            if not failed:
                joined += writes
        for f, name, value, kind in joined:
            self.write(f, name, value, kind)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Statements: each renders itself as lines and runs itself in the interpreter


@dataclass
class Let:
    name: str
    value: Any

    def lines(self) -> list[str]:
        return [f"let {self.name} = {self.value.text()}"]

    def run(self, w: World, f: Frame) -> Any:
        value = self.value.value(w, f)
        w.write(f, self.name, value)
        return value


@dataclass
class Assign:
    name: str
    value: Any

    def lines(self) -> list[str]:
        return [f"{self.name} = {self.value.text()}"]

    def run(self, w: World, f: Frame) -> Any:
        value = self.value.value(w, f)
        found = w.find(f, self.name) or f
        kind = found.names[self.name][1] if self.name in found.names else "own"
        w.write(found, self.name, value, kind)
        return None


@dataclass
class Session:
    words: str
    names: list[str]

    def prompt(self) -> str:
        return self.words + "".join(f" {{{name}}}" for name in self.names)

    def lines(self) -> list[str]:
        return [f'session "{self.prompt()}"', "  context: []"]

    def run(self, w: World, f: Frame) -> Any:
        asked = self.words + "".join(f" {text_of(w.read(f, name))}" for name in self.names)
        w.ask(asked)
        return f"[simulated] {asked if len(asked) <= 120 else asked[:119] + '…'}"


@dataclass
class LetSession:
    name: str
    session: Session
    assigns: bool = False

    def lines(self) -> list[str]:
        first, *rest = self.session.lines()
        return [f"{'' if self.assigns else 'let '}{self.name} = {first}", *rest]

    def run(self, w: World, f: Frame) -> Any:
        value = self.session.run(w, f)
        if self.assigns:
            found = w.find(f, self.name) or f
            kind = found.names[self.name][1] if self.name in found.names else "own"
            w.write(found, self.name, value, kind)
            return None
        w.write(f, self.name, value)
        return value


@dataclass
class If:
    test: Any
    then: Suite
    other: Suite | None

    def lines(self) -> list[str]:
        lines = [f"if {self.test.text()}:", *self.then.indented()]
        return lines + (["else:", *self.other.indented()] if self.other else [])

    def run(self, w: World, f: Frame) -> Any:
        if self.test.value(w, f):
            return self.then.run(w, f)
        return self.other.run(w, f) if self.other else None


@dataclass
class For:
    name: str
    items: list[int]
    body: Suite
    concurrent: bool = False

    def lines(self) -> list[str]:
        items = ", ".join(map(str, self.items))
        fail = ' (on-fail: "ignore")' if self.concurrent else ""
        word = "parallel for" if self.concurrent else "for"
        return [f"{word} {self.name} in [{items}]{fail}:", *self.body.indented()]

    def run(self, w: World, f: Frame) -> Any:
        hidden = f.names.get(self.name)

        def work(item: int) -> Callable[[], None]:
            def one() -> None:
                f.names[self.name] = (item, "item")
                self.body.run(w, f)

            return one

        def round(number: int, item: int) -> Callable[[], None]:
            def one() -> None:
                with w.within(f"item {item}.{self.items[:number].count(item)}"):
                    work(item)()

            return one

        try:
            if self.concurrent:
                w.forked(f, [round(n, item) for n, item in enumerate(self.items)], copies=False)
            else:
                for item in self.items:
                    try:
                        work(item)()
                    except Continue:
                        continue
                    except Break:
                        break
        finally:
            f.names.pop(self.name, None)
            if hidden is not None:
                f.names[self.name] = hidden
        return None


@dataclass
class Until:
    """A loop with an expression as its condition and a max."""

    test: Any
    most: int
    body: Suite

    def lines(self) -> list[str]:
        return [f"loop until {self.test.text()} (max: {self.most}):", *self.body.indented()]

    def run(self, w: World, f: Frame) -> Any:
        for number in range(self.most):
            try:
                self.body.run(w, f)
            except Continue:
                pass
            except Break:
                break
            if number < self.most - 1 and self.test.value(w, f):
                break
        return None


@dataclass
class Try:
    body: Suite
    catch: Suite | None
    final: Suite | None

    def lines(self) -> list[str]:
        lines = ["try:", *self.body.indented()]
        lines += ["catch as err:", *self.catch.indented()] if self.catch else []
        return lines + (["finally:", *self.final.indented()] if self.final else [])

    def run(self, w: World, f: Frame) -> Any:
        try:
            try:
                return self.body.run(w, f)
            except Broken:
                if self.catch is None:
                    raise
                return self.catch.run(w, f)
        finally:
            if self.final:
                self.final.run(w, f)


@dataclass
class Throw:
    words: str

    def lines(self) -> list[str]:
        return [f'throw "{self.words}"']

    def run(self, w: World, f: Frame) -> Any:
        raise Broken(self.words)


@dataclass
class Jump:
    word: str

    def lines(self) -> list[str]:
        return [self.word]

    def run(self, w: World, f: Frame) -> Any:
        raise Break if self.word == "break" else Continue


@dataclass
class Give:
    """`return` or `output` with a value, in a block."""

    word: str
    value: Any

    def lines(self) -> list[str]:
        return [f"{self.word} {self.value.text()}"]

    def run(self, w: World, f: Frame) -> Any:
        raise Return(self.value.value(w, f))


@dataclass
class Call:
    block: str
    argument: Any
    name: str | None = None

    def lines(self) -> list[str]:
        return [
            f"{f'let {self.name} = ' if self.name else ''}do {self.block}({self.argument.text()})"
        ]

    def run(self, w: World, f: Frame) -> Any:
        argument = self.argument.value(w, f)
        frame = Frame(f)
        frame.names[f"p_{self.block}"] = (argument, "parameter")
        try:
            value = w.bodies[self.block].run(w, frame)
        except Return as given:
            value = given.value
        for name, (left, kind) in list(frame.names.items()):
            if kind not in ("parameter", "item"):
                w.write(f, name, left, "left")
        if self.name:
            w.write(f, self.name, value)
        return value


@dataclass
class Do:
    body: Suite
    name: str | None = None

    def lines(self) -> list[str]:
        return [f"{f'let {self.name} = ' if self.name else ''}do:", *self.body.indented()]

    def run(self, w: World, f: Frame) -> Any:
        value = self.body.run(w, f)
        if self.name:
            w.write(f, self.name, value)
        return value


@dataclass
class Parallel:
    branches: list[Suite]

    def lines(self) -> list[str]:
        lines = ['parallel (on-fail: "ignore"):']
        for branch in self.branches:
            lines += ["  do:", *("  " + line for line in branch.indented())]
        return lines

    def run(self, w: World, f: Frame) -> Any:
        values: list[Any] = []

        def work(number: int, branch: Suite) -> Callable[[], None]:
            def one() -> None:
                values.append(None)
                with w.within(f"branch {number}"):
                    values[-1] = branch.run(w, f)

            return one

        works = [work(number, branch) for number, branch in enumerate(self.branches)]
        w.forked(f, works, copies=True)
        return values


@dataclass
class Pipe:
    """One stage over numbers; pmap's rounds are those of the sequential loop."""

    name: str
    items: list[int]
    stage: str
    body: Suite

    def lines(self) -> list[str]:
        head = "reduce(acc, item)" if self.stage == "reduce" else self.stage
        items = ", ".join(map(str, self.items))
        return [f"let {self.name} = [{items}] | {head}:", *self.body.indented()]

    def run(self, w: World, f: Frame) -> Any:
        hidden = {name: f.names.get(name) for name in ("item", "acc")}
        value: Any = self.items[0] if self.stage == "reduce" and self.items else None
        values: list[Any] = []
        try:
            for number, item in enumerate(self.items[1:] if self.stage == "reduce" else self.items):
                f.names["item"] = (item, "item")
                if self.stage == "reduce":
                    f.names["acc"] = (value, "item")
                round = w.within(f"item {item}.{self.items[:number].count(item)}")
                with round if self.stage == "pmap" else nullcontext():
                    value = self.body.run(w, f)
                if self.stage != "filter":
                    values.append(value)
                elif value:
                    values.append(item)
        finally:
            for name, was in hidden.items():
                f.names.pop(name, None)
                if was is not None:
                    f.names[name] = was
        result = value if self.stage == "reduce" else values
        w.write(f, self.name, result)
        return result


@dataclass
class Suite:
    statements: list[Any]

    def indented(self) -> list[str]:
        return [f"  {line}" for statement in self.statements for line in statement.lines()]

    def run(self, w: World, f: Frame) -> Any:
        value = None
        for statement in self.statements:
            value = statement.run(w, f)
        return value


# Expressions


@dataclass
class Number:
    number: int

    def text(self) -> str:
        return str(self.number)

    def value(self, w: World, f: Frame) -> Any:
        return self.number


@dataclass
class Name:
    name: str

    def text(self) -> str:
        return self.name

    def value(self, w: World, f: Frame) -> Any:
        return w.read(f, self.name)


@dataclass
class Sum:
    """Of numbers: every name in it holds one."""

    left: Any
    sign: str
    right: Any

    def text(self) -> str:
        return f"{self.left.text()} {self.sign} {self.right.text()}"

    def value(self, w: World, f: Frame) -> Any:
        left, right = self.left.value(w, f), self.right.value(w, f)
        return left + right if self.sign == "+" else left - right


@dataclass
class Test:
    __test__ = False
    left: Any
    sign: str
    right: int

    def text(self) -> str:
        return f"{self.left.text()} {self.sign} {self.right}"

    def value(self, w: World, f: Frame) -> Any:
        left = self.left.value(w, f)
        return {"<": left < self.right, ">": left > self.right, "==": left == self.right}[self.sign]


# Making programs


@dataclass
class Maker:
    chance: random.Random
    number: int = 0
    depth: int = 2
    left: dict[str, list[str]] = field(default_factory=dict)
    """Names that a block may leave to its callers."""
    concurrent: bool = False
    """A parallel was made: the order of sessions is not that of the interpreter."""

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def expression(self, numbers: Sequence[str]) -> Any:
        pick = self.chance.random()
        if pick < 0.25 or not numbers:
            return Number(self.chance.randint(0, 9))
        first = Name(self.chance.choice(numbers))
        if pick < 0.5:
            return first
        second = (
            Number(self.chance.randint(1, 5)) if pick < 0.8 else Name(self.chance.choice(numbers))
        )
        return Sum(first, self.chance.choice("+-"), second)

    def test(self, numbers: Sequence[str]) -> Test:
        return Test(
            Name(self.chance.choice(numbers)),
            self.chance.choice(["<", ">", "=="]),
            self.chance.randint(0, 9),
        )

    def suite(self, numbers: list[str], texts: list[str], *, depth: int, calls: Sequence[str],
              loop: bool, block: bool, throws: bool = True) -> Suite:  # fmt: skip
        """`numbers` are the names that hold numbers here, `texts` those that hold texts."""
        numbers, texts = list(numbers), list(texts)
        count = self.chance.randint(1, 4)
        made: list[Any] = []
        declared: set[str] = set()
        for _ in range(count):
            one = self.statement(
                numbers, texts, depth=depth, calls=calls, loop=loop, block=block, throws=throws
            )
            if not (isinstance(one, Let) and one.name in declared):
                made.append(one)
            if isinstance(one, Let):
                declared.add(one.name)
            if isinstance(made[-1], Throw | Jump | Give):
                break
        return Suite(made)

    def statement(self, numbers: list[str], texts: list[str], *, depth: int, calls: Sequence[str],
                  loop: bool, block: bool, throws: bool) -> Any:  # fmt: skip
        chance = self.chance
        inner: dict[str, Any] = {
            "depth": depth - 1, "calls": calls, "loop": loop, "block": block, "throws": throws,
        }  # fmt: skip
        kinds = ["assign", "assign", "assign", "session", "session", "let"]
        if depth > 0:
            kinds += [
                "pipe",
                "pipe",
                "if",
                "if",
                "for",
                "until",
                "try",
                "do",
                "let-do",
                "parallel",
                "parallel-for",
            ]
        kinds += ["call", "call", "let-call"] if calls else []
        kinds += ["left"] if calls and all(self.left[name] for name in calls) else []
        kinds += ["rebind"] if depth < self.depth and not block and calls == BLOCKS else []
        kinds += ["jump"] if loop and chance.random() < 0.5 else []
        kinds += ["give"] if block and chance.random() < 0.4 else []
        kinds += ["throw"] if throws and chance.random() < 0.3 else []
        kind = chance.choice(kinds)
        if kind == "assign":
            return Assign(chance.choice(numbers), self.expression(numbers))
        if kind == "session":
            told = chance.sample(numbers + texts, min(2, len(numbers + texts)))
            session = Session(self.fresh("Ask "), told)
            if chance.random() < 0.4:
                return LetSession(chance.choice(["s", "t"]), session, assigns=True)
            return session
        if kind == "let":
            name = self.fresh("l")
            made = Let(name, self.expression(numbers))
            numbers.append(name)
            return made
        if kind == "if":
            other = self.suite(numbers, texts, **inner) if chance.random() < 0.5 else None
            return If(self.test(numbers), self.suite(numbers, texts, **inner), other)
        if kind == "for":
            name = self.fresh("x")
            items = [chance.randint(0, 9) for _ in range(chance.randint(0, 3))]
            body = self.suite(numbers, [*texts, name], **{**inner, "loop": True})
            return For(name, items, body)
        if kind == "until":
            return Until(
                self.test(numbers),
                chance.randint(1, 3),
                self.suite(numbers, texts, **{**inner, "loop": True}),
            )
        if kind == "try":
            catch = self.suite(numbers, texts, **inner) if chance.random() < 0.8 else None
            final = None
            if catch is None or chance.random() < 0.4:
                final = Suite([Session(self.fresh("Finally "), chance.sample(numbers, 1))])
            return Try(self.suite(numbers, texts, **{**inner, "throws": True}), catch, final)
        if kind in ("do", "let-do"):
            body = self.suite(numbers, texts, **inner)
            name = None
            if kind == "let-do" and isinstance(body.statements[-1], Session):
                name = self.fresh("d")
                texts.append(name)
            return Do(body, name)
        if kind in ("parallel", "parallel-for"):
            self.concurrent = True
            apart = {**inner, "loop": False, "block": False}
            if kind == "parallel":
                return Parallel(
                    [self.suite(numbers, texts, **apart) for _ in range(chance.randint(1, 3))]
                )
            name = self.fresh("x")
            items = chance.sample(range(10), chance.randint(1, 3))
            return For(name, items, self.suite(numbers, [*texts, name], **apart), concurrent=True)
        if kind == "pipe":
            stage = chance.choice(["map", "pmap", "filter", "reduce"])
            apart = {**inner, "loop": False, "block": False}
            if stage == "pmap":
                # A failure would cancel rounds wherever they are.
                apart |= {"throws": False, "calls": ()}
                self.concurrent = True
            inside = [*numbers, "item", *(["acc"] if stage == "reduce" else [])]
            body = self.suite(inside, texts, **apart)
            value: Any = self.expression(inside) if stage != "filter" else self.test(inside)
            if not isinstance(body.statements[-1], Throw):
                body.statements.append(Let(self.fresh("k"), value))
            name = self.fresh("p")
            items = [chance.randint(0, 9) for _ in range(chance.randint(0, 3))]
            texts.append(name)
            return Pipe(name, items, stage, body)
        if kind == "rebind":
            name = chance.choice(["a", "b", "c"])
            return Let(name, Sum(Name(name), chance.choice("+-"), Number(chance.randint(1, 5))))
        if kind == "left":
            called = chance.choice(list(calls))
            told = Session(self.fresh("Left "), [chance.choice(self.left[called])])
            return Do(Suite([Call(called, self.expression(numbers)), told]))
        if kind in ("call", "let-call"):
            made = Call(chance.choice(list(calls)), self.expression(numbers))
            if kind == "let-call":
                # Block values are told as text only: a block may give any kind of value.
                made.name = self.fresh("v")
                texts.append(made.name)
            return made
        if kind == "jump":
            return Jump(chance.choice(["break", "continue"]))
        if kind == "give":
            return Give(chance.choice(["return", "output"]), self.expression(numbers))
        return Throw(self.fresh("thrown "))

    def program(self) -> tuple[str, World, Suite]:
        numbers, texts = ["a", "b", "c"], ["s", "t"]
        bodies: dict[str, Any] = {}
        for place, block in reversed(list(enumerate(BLOCKS))):
            own: list[Any] = []
            if block == "f" and self.chance.random() < 0.5:
                # The other blocks see it where f calls them.
                own.append(Let(self.chance.choice(numbers), Number(self.chance.randint(10, 20))))
            body = self.suite(
                [*numbers, f"p_{block}"],
                texts,
                depth=self.depth - 1,
                calls=BLOCKS[place + 1 :],
                loop=False,
                block=True,
            )
            bodies[block] = Suite([*own, *body.statements])
            self.left[block] = re.findall(r"\blet (l\d+) =", "\n".join(body.indented()))
        main = self.suite(numbers, texts, depth=self.depth, calls=BLOCKS, loop=False, block=False)
        more = self.suite(numbers, texts, depth=self.depth, calls=BLOCKS, loop=False, block=False)
        main = Suite([*main.statements, *more.statements])
        return source_of(bodies, main), world_of(bodies), main


ROOT: dict[str, int | str] = {"a": 1, "b": 2, "c": 3, "s": "s", "t": "t"}
"""What a program begins with."""


def source_of(bodies: dict[str, Any], main: Suite) -> str:
    """The text of a program with these blocks."""
    lines = [f"let {name} = {json.dumps(value)}" for name, value in ROOT.items()]
    for statement in main.statements:
        lines += statement.lines()
    lines += [f"output o_{name} = {name}" for name in ROOT]
    for block in BLOCKS:
        lines += ["", f"block {block}(p_{block}):", *bodies[block].indented()]
    return "\n".join(lines) + "\n"


def world_of(bodies: dict[str, Any]) -> World:
    """Where a program with these blocks begins."""
    return World(Frame(None, {name: (value, "own") for name, value in ROOT.items()}), bodies)


def maker_of(seed: int) -> Maker:
    """The first seeds make smaller programs: they are in the default suite."""
    return Maker(random.Random(seed), depth=1 + seed % 3 if seed >= 24 else 1 + seed % 2)


def check(seed: int, folder: Path) -> None:
    maker = maker_of(seed)
    source, world, main = maker.program()
    failed = False
    try:
        main.run(world, world.root)
    except Broken:
        failed = True
    ran = play(source, folder, shuffle=seed)
    asked = [call.asked for call in ran.sessions]
    assert ran.outcome.exit_code == (1 if failed else 0), f"{source}\n{ran.outcome.problem}"
    if maker.concurrent:
        asked, world.log = sorted(asked), sorted(world.log)
    assert asked == world.log, f"{source}\nran {asked}\nnot {world.log}"
    if not failed:
        found = {name: value.plain() for name, value in ran.outcome.outputs.items()}
        wanted = {f"o_{n}": world.root.names[n][0] for n in ROOT}
        assert found == wanted, f"{source}\nran {found}\nnot {wanted}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_generated_program_does_what_the_language_says(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)
