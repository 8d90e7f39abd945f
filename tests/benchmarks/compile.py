"""Compiling: checks beside black alone, builds beside black and libcst, and what twice the input costs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial

from prosec import compiler
from prosec.source import Source

from . import hostile
from .effort import Effort
from .processes import processor_time, workplace
from .programs import program
from .report import Row, seconds
from .timing import in_turn

TITLE = (
    "Compile: processor time in this process, warm, without garbage collection (as in prosec's own commands); "
    "processes: wall time,\nbytecode compiled beforehand into a folder of its own"
)
CPU = time.process_time
"""Nothing waits here, so that other work on the machine hardly shows in it."""


def rows(effort: Effort) -> Iterator[Row]:
    """Everything about compiling."""
    _warm_up()
    for lines, repetitions in effort.sizes:
        yield from _beside_black(lines, repetitions)
    yield from _as_a_process(*effort.sizes[-1])
    for action, lines, repetitions in effort.doubling:
        once, twice = Source(program(lines)), Source(program(2 * lines))
        yield _doubled(f"{action}, {_count(once)} lines twice", action, once, twice, repetitions)
    for what, make in hostile.CHECKED.items():
        yield _hostile("check", what, make(effort.hostile), make(2 * effort.hostile))
    for what, make in hostile.BUILT.items():
        yield _hostile("build", what, make(effort.hostile), make(2 * effort.hostile))


def _warm_up() -> None:
    """Load what a build loads, and the grammars and templates that it reads once."""
    source = Source(program(70))
    _formatted(_built(source))


def _beside_black(lines: int, repetitions: int) -> Iterator[Row]:
    """Check and build of one program beside black and libcst on the script that it becomes."""
    import libcst

    source = Source(program(lines))
    script = _built(source)
    times = in_turn(
        repetitions,
        lambda: compiler.analyse(source),
        lambda: compiler.compile(source),
        lambda: _formatted(script),
        lambda: libcst.parse_module(script),
        clock=CPU,
    )
    check, build, black, tree = range(4)
    yield Row(
        f"check, {_count(source)} lines",
        seconds(times.of(check)),
        f"black {seconds(times.of(black))}",
        times.ratio(check, black),
        "x",
        0.2,
    )
    yield Row(
        f"build, {_count(source)} lines ({_lines(script):,} emitted)",
        seconds(times.of(build)),
        f"black + libcst {seconds(times.of(black) + times.of(tree))}",
        times.ratio(build, black, tree),
        "x",
        1.3,
    )


def _as_a_process(lines: int, repetitions: int) -> Iterator[Row]:
    """`prosec check` of one long program and of as many lines in short ones, start included."""
    source = Source(program(lines))
    short = program(140)
    with workplace(bytecode=True) as (folder, processes):
        long = folder / "long.prose"
        long.write_text(source.text)
        several = [folder / f"short-{n}.prose" for n in range(max(1, lines // 140))]
        for path in several:
            path.write_text(short)
        for what, paths in (("one program", [long]), (f"{len(several)} programs", several)):
            arguments = ("check", *map(str, paths))
            sources = [Source(path.read_text()) for path in paths]
            processes.run(processes.prosec(*arguments))  # Compiles the bytecode.
            start = partial(processes.run, processes.prosec(*arguments))
            times = in_turn(repetitions + 2, start, partial(_analysed, sources))
            worked = in_turn(repetitions, start, clock=processor_time)
            lines = sum(map(_count, sources))
            yield Row(
                f"prosec check, process, {lines} lines, {what}",
                seconds(times.of(0)),
                f"in-process {seconds(times.of(1))}",
                times.of(0),
                "s",
                0.8,
            )
            yield Row(
                f"prosec check, processor time, {lines} lines, {what}",
                seconds(worked.of(0)),
                f"wall time {seconds(times.of(0))}",
                worked.of(0),
                "s",
            )


def _hostile(action: str, what: str, once: str, twice: str) -> Row:
    size = f"{len(once) / 1e6:.3g} MB" if len(once) >= 1e4 else f"{len(once)} B"
    if (lines := once.count("\n")) > 100:
        size = f"{size}, {lines:,} lines"
    return _doubled(f"{action}, {what} ({size}) twice", action, Source(once), Source(twice), 3)


def _doubled(what: str, action: str, once: Source, twice: Source, repetitions: int) -> Row:
    work = compiler.analyse if action == "check" else compiler.compile
    times = in_turn(repetitions, lambda: work(once), lambda: work(twice), clock=CPU)
    return Row(
        what,
        seconds(times.of(1)),
        f"once {seconds(times.of(0))}",
        times.ratio(1, 0),
        "x",
        2.2,
    )


def _analysed(sources: Iterable[Source]) -> None:
    for source in sources:
        compiler.analyse(source)


def _built(source: Source) -> str:
    made = compiler.compile(source)
    if made.text is None:
        raise RuntimeError(f"the benchmark's program has errors: {made.diagnostics[:3]}")
    return made.text


def _formatted(script: str) -> str:
    import black

    return black.format_str(script, mode=black.Mode())


def _lines(text: str) -> int:
    return text.count("\n")


def _count(source: Source) -> int:
    return _lines(source.text)
