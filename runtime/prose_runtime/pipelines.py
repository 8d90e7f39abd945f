"""Pipelines: map, filter, pmap and reduce over the elements of a list, alone or one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from .asking import Target
from .errors import BadValue
from .events import PipelineEnded, PipelineStarted, StageEnded
from .frames import strand_here
from .rounds import concurrent_rounds
from .shaping import Shape
from .steps import Step
from .values import Liftable, Value

if TYPE_CHECKING:
    from .run import Run

StageKind = Literal["map", "filter", "pmap", "reduce"]
Body = Callable[..., Awaitable[Liftable]]

_YES_NO: Final = Shape("boolean")


def pipeline_step(
    run: Run,
    source: Liftable,
    stages: Sequence[tuple[StageKind, Body]],
    target: Target | None,
    line: int | None,
) -> Step[Value]:
    """The step that sends the elements of `source` through the stages."""
    for kind, _ in stages:
        if kind not in ("map", "filter", "pmap", "reduce"):
            raise BadValue(f"a pipeline has no stage {kind!r}")

    async def start() -> Value:
        execution = run._execution
        execution.starting(strand_here.get(), run._frame, line)
        value = Value(source)
        told: int | None = None
        ended: Value | None = None
        try:
            for number, (kind, body) in enumerate(stages):
                items = await execution.elements(run, value, line)
                if number == 0 and execution.observed:
                    told = execution.next_construct()
                    kinds, branch = tuple([kind for kind, _ in stages]), execution.here().path
                    execution.tell(
                        PipelineStarted(told, line, run._frame.place, branch, kinds, len(items))
                    )
                value = await _stage(run, kind, items, body, line)
                if told is not None:
                    execution.tell(StageEnded(told, number, value))
            ended = value
        finally:
            if told is not None:
                execution.tell(PipelineEnded(told, ended))
        if target is not None:
            execution.bind(run._frame, target.name, target.kind, value, line, result=True)
        elif run._frame is execution.root:
            strand_here.get().last = value
        return value

    return Step(start, line)


async def _stage(
    run: Run, kind: StageKind, items: Sequence[Value], body: Body, line: int | None
) -> Value:
    execution = run._execution
    if kind == "pmap":
        return Value(await concurrent_rounds(run, items, body, "fail-fast", False, line))
    if kind == "map":
        mapped: list[Value] = []
        for item in items:
            execution.check()
            mapped.append(Value(await body(item)))
        return Value(mapped)
    if kind == "filter":
        kept: list[Value] = []
        for item in items:
            execution.check()
            answer = Value(await body(item))
            if await execution.shaped(run, answer, _YES_NO, None, line):
                kept.append(item)
        return Value(kept)
    if not items:
        return Value(None)
    folded = items[0]
    for item in items[1:]:
        execution.check()
        folded = Value(await body(folded, item))
    return folded
