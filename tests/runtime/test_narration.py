"""Narration of runs, line by line: how values are shown, runs that are resumed, and streams that break."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from prose_runtime import ProseError, Run
from prose_runtime.listing import Listing
from prose_runtime.narration.narrator import Narrator
from prose_runtime.settings import Resumption
from prose_runtime.values import Liftable
from scripted import Ran, Scripted, failing, play, program_of


def told(
    main: Callable[[Run], Awaitable[None]],
    folder: Path,
    side: Scripted | None = None,
    **settings: Any,
) -> tuple[list[str], Ran]:
    """What is narrated of a script without a source, and the run."""
    program = program_of(main)
    out = io.StringIO()
    state = settings.setdefault("state", "in-context")
    narrator = Narrator(out, "text", Listing.of(program), state, is_small=True)
    ran = play(program, folder, side, observers=(narrator,), **settings)
    return out.getvalue().splitlines(), ran


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("short", '"short"'),
        ("exactly thirty-two characters, y", '"exactly thirty-two characters, y"'),
        (
            "words are cut where a word would not fit any more",
            '"words are cut where a word would..."',
        ),
        ("a point at the cut is dropped. And then", '"a point at the cut is dropped..."'),
        ("one line\nand another", '"one line..."'),
        ("\n\n  first line with text  \n\n", '"first line with text"'),
        ("anextremelylongwordwithoutanyspaceinit", '"anextremelylongwordwithoutanyspa..."'),
        ("----------------------------------------", '"--------------------------------..."'),
        ("", '""'),
        ("x" * 1_000_000, '"' + "x" * 32 + '..."'),
        ("tab\tand\x1b[31mred\u202e", '"tab and\\x1b[31mred\\u202e"'),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        (["a", 1, None], '["a", 1, null]'),
        (
            [["deep", ["deeper", ["deepest of all of them"]]]],
            '[["deep", ["deeper", ["deepest of all..."]]]]',
        ),
        (["many"] * 1000, '["many", "many", "many", "many", "many", ...]'),
        ({"name": "Ada", "tags": ["x"]}, '{name: "Ada", tags: ["x"]}'),
        ({"n" * 40: 1}, "{" + "n" * 32 + "...: 1}"),
    ],
)
def test_values_are_short_harmless_and_on_one_line(
    value: Liftable, shown: str, tmp_path: Path
) -> None:
    async def main(run: Run) -> None:
        run.let("v", value)

    lines, _ = told(main, tmp_path)
    assert f"[Binding] let v = {shown} (mutable)" in lines


def test_the_value_of_a_secret_is_never_told(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        key = await run.input("api_key")
        run.let("copy", f"key {key}")
        run.let("inside", {"of": [f"{key} and more"]})
        await run.session(f"Use {key}")
        try:
            await run.session("fail")
        except ProseError as error:
            raise run.error(f"{error} {key}") from None

    side = Scripted({"fail": failing("refused sk-123456")})
    lines, _ = told(main, tmp_path, side, inputs={"api_key": "sk-123456"})
    assert "  api_key = *** (from caller)" in lines
    assert '[Binding] let copy = "key ***" (mutable)' in lines
    assert "[Warning] Session failed: refused ***" in lines
    assert "sk-1" not in "\n".join(lines)


def test_a_resumed_run_tells_its_recorded_steps_and_says_so(tmp_path: Path) -> None:
    async def main(run: Run) -> None:
        a = await run.session("first", let="a")
        await run.decide("it is good", about={"a": a})
        await run.session("second", context={"a": a})
        await run.input("more")

    before, stopped = told(main, tmp_path, state="filesystem")
    assert before[-1] == "[Program] Program Waiting for input"
    assert stopped.outcome.run_id is not None
    resumption = Resumption(stopped.outcome.run_id)
    lines, ran = told(main, tmp_path, state="filesystem", resume=resumption, inputs={"more": "yes"})
    assert ran.side.tasks == []
    recorded = "  Recorded by an earlier life of the run: not asked again"
    assert (
        lines[3]
        == f"  Run: {stopped.outcome.run_id} (resumed: what is recorded is not asked again)"
    )
    assert lines[5:10] == [
        '[Position] session "a"',
        recorded,
        '[Success] Session complete: "[first]"',
        "  Binding written: a",
        f"  Location: {ran.directory}/bindings/a.md",
    ]
    assert lines[lines.index("[Flow] Evaluating: **it is good**") + 1] == recorded
    assert lines.count(recorded) == 3
    assert lines[-1] == "[Program] Program Complete"


def test_nobody_reads_any_more(tmp_path: Path) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    async def main(run: Run) -> None:
        await run.session("go on")

    program = program_of(main)
    narrator = Narrator(Broken(), "text", Listing.of(program), "in-context", is_small=True)
    ran = play(program, tmp_path, observers=(narrator,), state="in-context")
    assert ran.outcome.status == "completed"


def test_details_are_written_with_their_marker(tmp_path: Path) -> None:
    class Pieces(io.StringIO):
        def __init__(self) -> None:
            super().__init__()
            self.pieces: list[str] = []

        def write(self, text: str) -> int:
            self.pieces.append(text)
            return super().write(text)

    async def main(run: Run) -> None:
        await run.parallel(run.session("a"), run.session("b"))

    program = program_of(main)
    out = Pieces()
    narrator = Narrator(out, "text", Listing.of(program), "in-context", is_small=True)
    play(program, tmp_path, observers=(narrator,), state="in-context")
    assert all(piece[:1] in "[O" and piece.endswith("\n") for piece in out.pieces)
