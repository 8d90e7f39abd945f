"""Valid programs drawn at random: every construct in every other, hostile names, and texts with anything in them.

A drawn program knows which texts it consists of, as the language defines them, so that a test can ask whether a
script holds exactly these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

HOLE = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for what is interpolated, where a text is compared."""

NAMES = """
class run program print __import__ Value match a-b a_b a_b_2 main await _ __name__ prose_runtime self Run None True
ProseError type list round_ each_x value branch_0 map_item inner_for l O I err str lambda async def id Agent Program
so_far Fields input output context filter map item index case Step Retry Permissions nonlocal del in-1 x y z asyncio
review-plan review_plan __debug__ __file__ keep_item each_item merge_item k1 k2 k3 k4 k5 k6 k7 k8
"""
VOCABULARY = """
first any continue ignore exponential linear opus haiku project execution map filter pmap reduce deny allow prompt
text value length message kind line
"""
"""Strings that scripts hold and programs don't write as texts."""

_PIECES = [
    *"abc XYZ019 \"\"\"'''\\\\{}%#;:,()[]!$*|->=\t\n\n\u202e\u2066\u2028\x00\x02\x0b\x0c\x1b\x1c\x7f\x85\xa0",
    *"\ufeff\u3000\U0001f600\u0301é变\U00010a64",
    *(
        '"""',
        "'''",
        "\\n",
        "\\N{DASH}",
        "{x}",
        "{{x}}",
        "${run}",
        "# noqa",
        "# fmt: off",
        "%s",
        "f'",
        "{% raw %}",
    ),
    *(
        "\n# /// script\n",
        "\n# type: ignore\n",
        "-*- coding: x -*-",
        "**",
        "\ndef f():\n    ",
        " -> ",
    ),
]
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
QUESTIONS = st.lists(
    st.sampled_from([*"abc XYZ'\"%#:,()[]!$é变", "\u202e", "\U0001f600"]), max_size=10
).map("".join)


@dataclass
class Drawn:
    """A program and what its script must hold."""

    source: str = ""
    texts: set[str] = field(default_factory=set)
    """Everything that the program writes as text, HOLE where something is interpolated."""
    names: set[str] = field(default_factory=set)


@st.composite
def programs(draw: st.DrawFn) -> Drawn:
    """A program that compiles."""
    return _Writer(draw).program()


class _Writer:
    """Writes one program, a statement at a time; `bound` are the names that certainly have a value."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.depth = 0
        self.bound: list[str] = []
        self.drawn = Drawn()
        self.free = draw(st.permutations(NAMES.split()))
        self.blocks: list[str] = []
        self.agents: list[str] = []
        self.loops = 0
        self.caught: list[str] = []
        self.left = draw(st.integers(3, 25))
        """How many more statements there may be."""

    def program(self) -> Drawn:
        for _ in range(self.number(0, 2)):
            self.agent()
        if self.number(0, 1):
            name = self.name()
            self.write(f"input {name}: {self.text(TEXTS)}")
            self.bound.append(name)
        while self.left > 0:
            self.statement()
        for name in self.blocks:
            self.block(name)
        self.drawn.source = "\n".join(self.lines) + "\n"
        return self.drawn

    # --- drawing ------------------------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def one_of(self, *choices: Callable[[], None]) -> None:
        choices[self.number(0, len(choices) - 1)]()

    def name(self) -> str:
        name = self.free.pop() if self.free else f"more{len(self.drawn.names)}"
        self.drawn.names.add(name)
        return name

    def value(self) -> str:
        """An expression that needs no model."""
        choice = self.number(0, 5)
        if choice <= 2 and self.bound:
            return self.draw(st.sampled_from(self.bound))
        if choice == 3:
            return f"[{self.text(TEXTS)}, {self.number(0, 99)}]"
        if choice == 4:
            key = self.draw(TEXTS)
            self.drawn.texts.add(key)
            return f"{{ {_quoted(key)}: {self.text(TEXTS)} }}"
        return self.text(TEXTS)

    def text(self, texts: st.SearchStrategy[str]) -> str:
        """A string literal of the language, perhaps with something interpolated."""
        pieces = [self.draw(texts)]
        while self.bound and len(pieces) < 3 and self.number(0, 3) == 0:
            pieces[-1] = pieces[-1].rstrip("$")  # A brace after `$` never interpolates.
            pieces.append(self.draw(texts))
        holes = [self.draw(st.sampled_from(self.bound)) for _ in pieces[1:]]
        holes.append("")
        self.drawn.texts.add(HOLE.join(pieces))
        triple = self.number(0, 2) == 0
        written = "".join(
            (_tripled(piece) if triple else _escaped(piece)) + (f"{{{hole}}}" if hole else "")
            for piece, hole in zip(pieces, holes, strict=True)
        )
        return f'"""\n{written}"""' if triple else f'"{written}"'

    def question(self) -> str:
        text = "is it so that " + " ".join(self.draw(QUESTIONS).split()).replace("#", "no")
        self.drawn.texts.add(text.strip())
        return f"**{text}**"

    def condition(self) -> str:
        other = f" or {self.value()} == {self.number(0, 9)}" if self.number(0, 3) == 0 else ""
        return self.question() + other

    # --- writing ------------------------------------------------------------------------------------------------

    def write(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def suite(self, *more: str) -> None:
        """An indented suite; what it binds may be unbound afterwards."""
        bound, self.bound = self.bound, [*self.bound, *more]
        self.depth += 1
        self.statement()
        while self.left > 0 and self.number(0, 2):
            self.statement()
        self.depth -= 1
        self.bound = bound

    def statement(self) -> None:
        self.left -= 1
        simple = (
            self.session,
            self.let,
            self.assign,
            self.arrow,
            self.call,
            self.pipeline,
            self.output,
            self.throw,
        )
        nested = (
            (
                self.branching,
                self.choice,
                self.ordered,
                self.rounds,
                self.loop,
                self.catching,
                self.parallel,
                self.do,
            )
            if self.depth < 7
            else simple
        )
        if self.lines and self.number(0, 5) == 0:
            self.write(f"# {self.draw(QUESTIONS)}")
        self.one_of(*simple, *nested, *nested, self.leave if self.loops else self.session)

    # --- statements ---------------------------------------------------------------------------------------------

    def agent(self) -> None:
        name = self.name()
        self.write(f"agent {name}:")
        self.write(f"  prompt: {self.text(TEXTS)}")
        self.agents.append(name)

    def block(self, name: str) -> None:
        parameter = self.name()
        self.write(f"block {name}({parameter}):")
        self.bound, self.loops, self.caught = [parameter], 0, []
        self.left = self.number(0, 4)
        self.suite()

    def session(self) -> None:
        if self.agents and self.number(0, 1):
            self.write(f"session: {self.draw(st.sampled_from(self.agents))} {self.text(TEXTS)}")
        else:
            self.write(f"session {self.text(TEXTS)}")
        if self.number(0, 2) == 0:
            self.write(f"  context: {self.value()}")
        if self.number(0, 4) == 0:
            self.write("  retry: 3")
            self.write("  backoff: exponential")

    def let(self) -> None:
        name = self.name()
        kind = self.draw(st.sampled_from(["let", "const"]))
        if self.number(0, 1):
            self.write(f"{kind} {name} = session {self.text(TEXTS)}")
        elif self.number(0, 4) == 0:
            other = self.name()
            self.write(f"{kind} {{ {name}, {other} }} = {self.value()}")
            if kind == "let":
                self.bound.append(other)
        else:
            self.write(f"{kind} {name} = {self.value()}")
        if kind == "let":
            self.bound.append(name)

    def assign(self) -> None:
        changeable = [name for name in self.bound if name not in self.caught]
        if not changeable:
            return self.session()
        value = f"session {self.text(TEXTS)}" if self.number(0, 1) else self.value()
        self.write(f"{self.draw(st.sampled_from(changeable))} = {value}")

    def arrow(self) -> None:
        self.write(f"session {self.text(TEXTS)} -> session {self.text(TEXTS)}")

    def call(self) -> None:
        if not self.blocks or self.number(0, 1) == 0:
            self.blocks.append(self.name())
        self.write(f"do {self.draw(st.sampled_from(self.blocks))}({self.value()})")

    def pipeline(self) -> None:
        name = self.name()
        kind = self.draw(st.sampled_from(["map", "pmap", "filter"]))
        self.write(f"let {name} = {self.value()} | {kind}:")
        loops, self.loops = self.loops, 0
        if kind == "filter":
            self.lines[-1] += f" {self.question()}"
        else:
            self.suite("item")
        self.drawn.names.add("item")
        self.loops = loops
        self.bound.append(name)

    def output(self) -> None:
        self.write(f"output {self.name()} = {self.value()}")

    def throw(self) -> None:
        self.write(f"throw {self.text(TEXTS)}")

    def leave(self) -> None:
        self.write(self.draw(st.sampled_from(["break", "continue"])))

    def branching(self) -> None:
        self.write(f"if {self.condition()}:")
        self.suite()
        while self.number(0, 2) == 0:
            self.write(f"elif {self.condition()}:")
            self.suite()
        if self.number(0, 1):
            self.write("else:")
            self.suite()

    def choice(self) -> None:
        self.write(f"choice {self.question()}:")
        for _ in range(self.number(1, 3)):
            label = self.draw(TEXTS)
            self.drawn.texts.add(label)
            self.write(f"  option {_quoted(label)}:")
            self.depth += 1
            self.suite()
            self.depth -= 1

    def within_loop(self, *more: str) -> None:
        self.loops += 1
        self.suite(*more)
        self.loops -= 1

    def ordered(self) -> None:
        item, index = self.name(), self.name()
        self.write(f"for {item}, {index} in {self.value()}:")
        self.within_loop(item, index)

    def rounds(self) -> None:
        index = self.name()
        self.write(f"repeat {self.number(1, 9)} as {index}:")
        self.within_loop(index)

    def loop(self) -> None:
        kind = self.draw(st.sampled_from(["until", "while"]))
        self.write(f"loop {kind} {self.condition()} (max: {self.number(1, 9)}):")
        self.within_loop()

    def catching(self) -> None:
        self.write("try:")
        self.suite()
        final = self.number(0, 1)
        if not final or self.number(0, 1):
            error = self.name()
            self.caught.append(error)
            self.write(f"catch as {error}:")
            self.suite(error)
        if final:
            loops, self.loops = self.loops, 0
            self.write("finally:")
            self.suite()
            self.loops = loops

    def parallel(self) -> None:
        loops, self.loops = self.loops, 0
        if self.number(0, 2) == 0:
            item = self.name()
            self.write(f"parallel for {item} in {self.value()}:")
            self.suite(item)
        else:
            self.write(
                self.draw(
                    st.sampled_from(
                        ["parallel:", 'parallel ("first"):', 'parallel (on-fail: "ignore"):']
                    )
                )
            )
            bound: list[str] = []
            for _ in range(self.number(1, 3)):
                if self.number(0, 1):
                    bound.append(self.name())
                    self.write(f"  {bound[-1]} = session {self.text(TEXTS)}")
                else:
                    self.write("  do:")
                    self.depth += 1
                    self.suite()
                    self.depth -= 1
            self.bound += bound
        self.loops = loops

    def do(self) -> None:
        self.write(f"let {self.name()} = do:" if self.number(0, 1) else "do:")
        self.suite()


def _escaped(text: str) -> str:
    """A text inside "..."; line breaks, tabs, quotes, backslashes and braces are escapes."""
    for character, escape in (
        ("\\", "\\\\"),
        ('"', '\\"'),
        ("\n", "\\n"),
        ("\t", "\\t"),
        ("{", "\\{"),
        ("}", "\\}"),
    ):
        text = text.replace(character, escape)
    return text


def _tripled(text: str) -> str:
    """A text inside triple quotes, where line breaks and tabs stand as they are."""
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("{", "\\{"), ("}", "\\}")):
        text = text.replace(character, escape)
    return text


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'
