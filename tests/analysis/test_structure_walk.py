"""The walk that feeds the checks: every node, in order, in linear time, at any depth."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from prosec.analysis.checks import SUBJECTS, check_structure
from prosec.analysis.checks.findings import Findings
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.analysis.checks.walk import walk as walk_over
from prosec.source import Source, Span
from prosec.syntax import nodes, parse

HERE = Span(0, 0)


def calls(text: str) -> int:
    """How much work checking is, in calls of functions: unlike seconds, the same on every machine."""
    source = Source(text)
    program = parse(source).program
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        check_structure(program, source)
    finally:
        sys.setprofile(None)
    return count


def test_nodes_come_in_written_order_with_their_places() -> None:
    source = Source(
        "repeat 2:\n"
        '  session "a"\n'
        "if **it is late already**:\n"
        '  session "b"\n'
        "else:\n"
        '  session "c"\n'
        "block d:\n"
        '  session "e"\n'
        'session "f"\n'
    )
    program = parse(source).program
    seen: list[tuple[str, Place]] = []

    class Order(Checks):
        def rules(self) -> tuple[Rule, ...]:
            return (rule(nodes.Session, self.session),)

        def session(self, session: nodes.Session, place: Place) -> None:
            assert session.text is not None
            seen.append((session.text.plain, place))

    walk_over(program, [Order(Findings(program, source, ()))])
    assert [text for text, _ in seen] == ["a", "b", "c", "e", "f"]
    places = dict(seen)
    assert [text for text, place in seen if place.top] == ["f"]
    assert [text for text, place in seen if place.in_loop] == ["a"]
    assert [text for text, place in seen if place.block] == ["e"]
    assert places["b"].fork is places["c"].fork
    assert places["b"].arm != places["c"].arm


def test_no_depth_ends_in_a_recursion_error() -> None:
    value: nodes.Expression = nodes.Number(HERE, "1")
    for _ in range(20_000):
        value = nodes.ListLiteral(HERE, (nodes.Unary(HERE, "-", value),))
    body: nodes.Statement = nodes.Output(HERE, None, value)
    for _ in range(20_000):
        body = nodes.DoBlock(HERE, nodes.Suite(HERE, (body,)))
    assert check_structure(nodes.Program(HERE, (body,), ()), Source("")) == []


@pytest.mark.parametrize(
    "part",
    [
        'let v{i} = session "Say {i}"\n  retry: 3\n  context: {{ a, b, c: "{i}" }}\n',
        "parallel:\n  a = session: writer\n  b = session: writer\n",
        'if **this is the one, number {i}**:\n  session: writer\n  input a: "{i}"\n',
    ],
)
def test_twice_the_program_is_twice_the_work(part: str) -> None:
    agent = 'agent writer:\n  persist: true\n  prompt: "p"\n'
    small, large = (
        calls(agent + "".join(part.format(i=i) for i in range(count))) for count in (400, 800)
    )
    assert large < 2.2 * small


def test_every_subject_says_what_it_judges() -> None:
    for subject in SUBJECTS:
        assert subject.__doc__
