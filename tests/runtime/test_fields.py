"""Objects with typed fields and lists of objects: how they are asked for, what answers become, what simulate invents."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from prose_runtime import Fields, ProseError, Run, Value
from prose_runtime.providers.protocol import JSON
from prose_runtime.providers.simulate import Simulator
from prose_runtime.sessions.prompts import session_prompt
from prose_runtime.sessions.side import Sessions
from prose_runtime.sessions.structured import schema_of
from prose_runtime.shaping import Returns, Shape, turn_text
from prose_runtime.tasks import Task
from scripted import Scripted, played
from test_sessions_prompts import side


def shape_of(returns: Returns) -> Shape:
    shape = Shape.of(returns)
    assert shape is not None
    return shape


FILE = shape_of(Fields("name", score=float, tags=list, ok=bool, owner=Fields("id"), parts=[Fields("x")]))
FILES = shape_of([Fields("name", "path")])


def test_fields_say_what_they_are() -> None:
    fields = Fields("a", self=float, b=[Fields("c")], only=True)
    assert repr(fields) == "Fields('a', self=float, b=[Fields('c')], only=True)"
    assert str(shape_of(fields)) == "an object with a, self, b"
    assert str(FILES) == "a list of objects with name, path"
    assert str(shape_of([Fields()])) == "a list of objects"


def test_what_a_schema_can_not_say_is_asked_for_in_words() -> None:
    asked = session_prompt(Task("session", "Do it", shape=FILE), "m").removeprefix("Do it\n\n")
    assert asked == (
        'Answer with one JSON object with at least the fields "name", "score" (a number), "tags" (a list), '
        '"ok" (true or false), "owner" (an object with at least the field "id"), '
        '"parts" (a list of objects, each with at least the field "x"); keep everything else you were asked for.'
    )
    asked = session_prompt(Task("session", "Do it", shape=FILES), "m").removeprefix("Do it\n\n")
    assert asked == (
        'Answer with one JSON list of objects, each with at least the fields "name", "path"; '
        "keep everything else you were asked for."
    )
    assert schema_of(FILE) is None
    assert schema_of(FILES) is None
    # One field that may hold more than it says takes the schema from the whole.
    mixed = shape_of(Fields("a", inner=Fields("x"), only=True))
    assert schema_of(mixed) is None
    assert 'exactly the fields "a", "inner"' in session_prompt(Task("session", "x", shape=mixed), "m")


def test_exact_fields_are_a_schema() -> None:
    schema = schema_of(shape_of(Fields("name", score=float, ok=bool, inner=Fields("x", only=True), only=True)))
    assert schema is not None
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["score"] == {"type": "number"}
    assert properties["ok"] == {"type": "boolean"}
    assert properties["inner"]["additionalProperties"] is False  # type: ignore[index, call-overload]
    assert schema["required"] == ["name", "score", "ok", "inner"]
    listed = schema_of(shape_of([Fields("name", only=True)]))
    assert listed is not None
    assert listed["properties"]["items"]["items"]["required"] == ["name"]  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "a", "path": "x"}, {"name": "b", "path": "y"}]',
        '{"files": [{"name": "a", "path": "x"}, {"name": "b", "path": "y"}]}',
        'See [1] and:\n```json\n[{"name": "a", "path": "x"}, {"name": "b", "path": "y"}]\n```\nthen ["z"]',
        'Two: [{"name": "a", "path": "x"}, {"name": "b", "path": "y"}] of [3]',
        "- Name: a\n  Path: x\n- Name: b\n  Path: y",
        '{"name": "a", "path": "x"}\n{"name": "b", "path": "y"}',
    ],
)
def test_lists_of_objects_in_text(text: str) -> None:
    value = turn_text(text, FILES)
    assert value is not None
    assert value.plain() == [{"name": "a", "path": "x"}, {"name": "b", "path": "y"}]


@pytest.mark.parametrize("text", ["- a\n- b", '["a", "b"]', "name: a\npath: b", "prose", '{"name": "a"}', "[[1]]"])
def test_texts_that_are_no_lists_of_objects(text: str) -> None:
    assert turn_text(text, FILES) is None


def test_no_objects_are_a_list_too() -> None:
    assert turn_text("[]", FILES) == []
    # What an object of a list lacks is null, as in any object.
    assert turn_text('[{"name": "a"}]', FILES) is not None


def test_fields_get_their_shapes() -> None:
    text = (
        'name: x\nscore: 7.5\nok: Yes, it is\ntags: ["a"]\nowner: {"id": "o", "more": 1}\nparts: [{"x": 1}]\nelse: kept'
    )
    value = turn_text(text, FILE)
    assert value is not None
    assert value.plain() == {
        "name": "x",
        "score": 7.5,
        "ok": True,
        "tags": ["a"],
        "owner": {"id": "o", "more": 1},
        "parts": [{"x": 1}],
        "else": "kept",
    }
    assert turn_text('{"name": "x", "score": null}', FILE) is not None
    assert turn_text('{"name": "x", "score": "high"}', FILE) is None


def test_a_field_that_can_not_be_turned_is_repaired() -> None:
    sessions, provider = side('{"name": "x", "score": "seven"}', '{"name": "x", "score": 7}')
    task = Task("session", "x", shape=shape_of(Fields("name", score=float)), name="it")
    answer = asyncio.run(sessions.answer(task))
    assert answer.value.plain() == {"name": "x", "score": 7}
    question = provider.requests[1].messages[0]["content"]
    assert isinstance(question, str)
    assert 'as one JSON object with at least the fields "name", "score" (a number), keeping everything' in question


def test_structured_answers_are_shaped_throughout() -> None:
    sessions, _ = side({"items": [{"name": "x", "score": "3"}]})
    shape = shape_of([Fields("name", score=float, only=True)])
    answer = asyncio.run(sessions.answer(Task("session", "x", shape=shape)))
    assert answer.value.plain() == [{"name": "x", "score": 3}]


def test_simulated_answers_fit() -> None:
    sessions = Sessions(Simulator())
    for shape in (FILE, shape_of(Fields("a", score=float, parts=[Fields("x", only=True)], only=True))):
        value = asyncio.run(sessions.answer(Task("session", "Do it", shape=shape))).value
        assert value["score"] == 3
        assert [part["x"].kind for part in value["parts"]] == ["text"] * 3
    for shape in (FILES, shape_of([Fields("name", only=True)])):
        value = asyncio.run(sessions.answer(Task("session", "Do it", shape=shape))).value
        assert [item["name"].text for item in value] == [f"name: [simulated] Do it ({n})" for n in (1, 2, 3)]


def test_the_shape_is_part_of_what_a_session_is(tmp_path: Path) -> None:
    answer: JSON = [{"name": "a", "path": "x", "score": "4"}]

    async def main(run: Run) -> None:
        files = await run.session("List", returns=[Fields("name", "path")], let="files")
        assert [file["path"].text for file in files] == ["x"]
        await run.session("List", returns=[Fields("name", score=float)], let="scored")
        assert run["scored"][0]["score"].kind == "number"

    ran = played(main, tmp_path, Scripted({"List": json.dumps(answer)}))
    assert ran.outcome.exit_code == 0, ran.outcome.problem
    first, second = ran.records("result")
    assert first["id"] != second["id"]
    assert first["value"] == answer


def test_text_of_a_field_counts_as_a_number_where_one_is_meant() -> None:
    item = Value({"score": "7", "price": "1,200"})
    assert item["score"] > 3
    assert item["score"] == 7
    assert item["score"] + 1 == 8
    assert item["price"] * 2 == 2400
    assert max(item["score"], Value("10")) == "10"
    with pytest.raises(ProseError, match="can't compare"):
        assert Value({"score": "high"})["score"] > 3
