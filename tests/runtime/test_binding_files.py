"""The form of binding files, and that what is written is read back exactly."""

from __future__ import annotations

import pytest
from prose_runtime.errors import Thrown
from prose_runtime.state.bindings import Binding, NotABinding, file_name, parsed, rendered
from prose_runtime.values import Value


def test_the_exact_form() -> None:
    source = 'let research = session: researcher\n  prompt: "Research AI safety"'
    binding = Binding("research", "let", Value("AI safety research covers..."), source)
    assert rendered(binding).decode() == (
        "# research\n\nkind: let\n\nsource:\n```prose\n"
        'let research = session: researcher\n  prompt: "Research AI safety"\n'
        "```\n\n---\n\nAI safety research covers..."
    )
    inside = Binding("n", "const", Value([1]), "x ```` y", 43)
    assert rendered(inside).decode() == (
        "# n\n\nkind: const\nexecution_id: 43\ntype: list\n\nsource:\n`````prose\nx ```` y\n`````\n\n---\n\n"
        "```json\n[\n  1\n]\n```"
    )


@pytest.mark.parametrize(
    "value",
    ["", "text", "\n\n---\n\nx\r\n", '```json\n[1]\n```', "# a\n\nkind: let", [1, "a", None], {}, {"a": {"b": 1.5}}, 0, -2.5, True, None, "ä€😀"],
)  # fmt: skip
def test_read_back(value: object) -> None:
    source = "session \"\"\"\n```\n\n---\n\nsource:\n```\n\"\"\""
    binding = Binding("x-y", "output", Value(value), source, 7)  # type: ignore[arg-type]
    back = parsed(rendered(binding))
    assert back.value.plain() == Value(value).plain()  # type: ignore[arg-type]
    assert back.value.kind == binding.value.kind
    assert (back.name, back.kind, back.source, back.execution_id) == ("x-y", "output", source, 7)


def test_errors_are_read_back_as_errors() -> None:
    back = parsed(rendered(Binding("a", "let", Value(Thrown("broke", line=3)))))
    assert back.value.kind == "error"
    assert [back.value["message"], back.value["kind"], back.value["line"]] == ["broke", "throw", 3]


@pytest.mark.parametrize("data", [b"", b"# x", b"# x\n\nkind: what\n\nsource:\n```prose\n\n```\n\n---\n\n", b"\xff"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(NotABinding):
        parsed(data)


def test_names() -> None:
    assert file_name("r", None, ()) == "r.md"
    assert file_name("r", 43, (2, 5)) == "r__43~2.5.md"
