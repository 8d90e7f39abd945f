"""The simulate provider: answers made from the prompt, and particular ones from a file."""

import asyncio
from pathlib import Path

import pytest
from prose_runtime.errors import SessionError, UsageError
from prose_runtime.providers.examples import example_of
from prose_runtime.providers.protocol import JSON, Hints, Kind, Request
from prose_runtime.providers.simulate import Answers, Simulator
from prose_runtime.sessions.structured import example_schema
from prose_runtime.shaping import Shape

SOURCE = """
let companies = session "List companies"
loop until **the draft fits one page**:
  session "Ask {name}? [draft]"
"""
LIST: dict[str, JSON] = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
}
NUMBER: dict[str, JSON] = {
    "type": "object",
    "properties": {"value": {"type": "number"}},
    "required": ["value"],
}


def ask(
    kind: Kind = "session",
    schema: dict[str, JSON] | None = None,
    simulator: Simulator | None = None,
    **hints: object,
) -> JSON:
    request = Request(kind, "claude-haiku-5-5", None, (), schema, hints=Hints(**hints))  # type: ignore[arg-type]
    reply = asyncio.run((simulator or Simulator()).complete(request))
    return dict(reply.data) if reply.data is not None else reply.text


def given(tmp_path: Path, text: str, source: str = SOURCE) -> Simulator:
    path = tmp_path / "answers.toml"
    path.write_text(text, encoding="utf-8")
    return Simulator(Answers.load(path, source))


def test_texts_come_from_the_prompt_and_say_that_they_are_simulated() -> None:
    assert ask(asked="Name it\nand more") == "[simulated] Name it"
    assert ask(asked="Name it", agent="captain") == "[simulated] captain: Name it"
    assert ask(asked="  ") == "[simulated] an answer"


def test_structured_results_fit_their_shape() -> None:
    assert ask(schema=LIST, asked="List") == {
        "items": ["[simulated] List (1)", "[simulated] List (2)", "[simulated] List (3)"]
    }
    assert ask(schema=NUMBER) == {"value": 3}
    assert ask(asked="Get", example=example_schema(Shape("object", ("token", "role")))) == (
        '{"token": "token: [simulated] Get", "role": "role: [simulated] Get"}'
    )


@pytest.mark.parametrize(
    ("kind", "hints", "answer"),
    [
        ("decide", {}, True),
        ("decide", {"only_throws": True}, False),
        ("keep", {}, True),
        ("until", {"round": 0}, False),
        ("until", {"round": 1}, True),
        ("while", {"round": 1}, True),
        ("while", {"round": 2}, False),
        ("choose", {"labels": ("Sales", "Board")}, "Sales"),
    ],
)
def test_decisions(kind: Kind, hints: dict[str, object], answer: JSON) -> None:
    assert ask(kind, {}, **hints) == {"reason": "simulated", "answer": answer}


def test_answers_by_name_and_by_pattern(tmp_path: Path) -> None:
    simulator = given(
        tmp_path,
        'companies = ["A", "B"]\n"list *" = "by pattern"\n"ASK * [draft]" = { each = ["one", "two"] }\n'
        '"the draft fits*" = { each = [false, true] }\n"*wiki*" = { error = "the wiki is down" }\n',
    )
    assert ask(schema=LIST, simulator=simulator, name="companies", asked="List companies") == {
        "items": ["A", "B"]
    }
    assert ask(simulator=simulator, asked="List\n others") == "by pattern"
    said = [ask(simulator=simulator, asked="Ask Bo? [draft]") for _ in range(3)]
    assert said == ["one", "two", "two"]
    assert ask("until", {}, simulator, asked="the draft fits one page") == {
        "reason": f"given by {tmp_path}/answers.toml: the draft fits*",
        "answer": False,
    }
    with pytest.raises(SessionError, match="the wiki is down"):
        ask(simulator=simulator, asked="Publish to the wiki")
    assert simulator.remarks() == []
    assert ask(simulator=simulator, asked="Something else") == "[simulated] Something else"


def test_values_of_every_kind(tmp_path: Path) -> None:
    simulator = given(
        tmp_path,
        'a = 4.5\nb = { error = "x", other = [1979-05-27] }\nc = { value = { error = "x" } }\n',
        source="",
    )
    assert ask(schema=NUMBER, simulator=simulator, name="a") == {"value": 4.5}
    assert ask(simulator=simulator, name="b") == '{"error": "x", "other": ["1979-05-27"]}'
    assert ask(simulator=simulator, name="c") == '{"error": "x"}'


def test_unused_answers_are_remarked_on(tmp_path: Path) -> None:
    [remark] = given(tmp_path, '"Nothing like *" = 1').remarks()
    assert "'Nothing like *' answered no step" in remark


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = ", "not a TOML file"),
        ("compnies = 1", "no name 'compnies' (did you mean 'companies'?)"),
        ("companies = { each = [] }", "each must be a list"),
        ("companies = { each = [{ each = [1] }] }", "each can't stand inside each"),
        ("companies = { error = 3 }", "error must be a text"),
    ],
)
def test_bad_files_are_refused_with_the_reason(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        given(tmp_path, text)
    assert words in str(caught.value) and "answers.toml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Answers.load(tmp_path / "none.toml", "")
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(UsageError, match="not a TOML file"):
        Answers.load(tmp_path / "bytes.toml", "")


def test_answers_that_do_not_fit_stop_the_run(tmp_path: Path) -> None:
    simulator = given(tmp_path, 'companies = "text"\n"*page*" = "perhaps"\n"*first*" = "Nobody"\n')
    with pytest.raises(UsageError, match="needs a list"):
        ask(schema=LIST, simulator=simulator, name="companies")
    with pytest.raises(UsageError, match="true or false"):
        ask("decide", {}, simulator, asked="one page")
    with pytest.raises(UsageError, match="'Sales', 'Board'"):
        ask("choose", {}, simulator, asked="who first", labels=("Sales", "Board"))


def test_examples_of_schemas() -> None:
    assert example_of({"anyOf": [{"const": 7}, {"type": "null"}]}) == 7
    assert example_of({"type": ["null", "string"]}) is None
    assert example_of({"enum": ["low", "high"]}) == "low"
    assert example_of({"type": "object", "properties": {"n": {"type": "integer"}}}) == {"n": 3}
