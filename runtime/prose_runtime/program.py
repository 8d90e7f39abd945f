"""Program: what a script declares, and its way to the command line.

A script makes one Program, declares inputs, outputs, blocks and the main function on it, gives it the source that it was
generated from, and ends with `program.cli()`. Importing a script runs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn

if TYPE_CHECKING:
    from .frames import Block
    from .run import Run
    from .settings import Statement
    from .source_map import Source
    from .steps import Step
    from .traits import Traits
    from .values import Value

Main = Callable[["Run"], Awaitable[None]]
BlockCall = Callable[..., "Step[Value]"]


class Program:
    """One OpenProse program as a script declares it."""

    def __init__(self, name: str) -> None:
        """`name` is the source's file name: `brief.prose`."""
        self.name = name
        self._inputs: dict[str, str | None] = {}
        self._outputs: list[str] = []
        self._main: Main | None = None
        self._footer = ("", "", "")
        self._traits = ""

    def input(self, name: str, text: str | None = None) -> None:
        """Declare an input; `text` describes it in --help and where a person is asked for it."""
        self._inputs.setdefault(name, text)

    def output(self, name: str) -> None:
        """Declare an output, for --help and for the order in which outputs are printed."""
        if name not in self._outputs:
            self._outputs.append(name)

    def block(
        self,
        name: str,
        *,
        max_depth: int | None = None,
        parameters: Sequence[str] | None = None,
    ) -> Callable[[Callable[Concatenate[Run, ...], Awaitable[Value]]], BlockCall]:
        """Make a function a block: calling it gives a Step, and its arguments become values.

        `parameters` are the program's own names of the parameters, where one is no Python name. More than `max_depth`
        nested calls of the block raise RecursionLimitExceeded.
        """

        def declare(function: Callable[Concatenate[Run, ...], Awaitable[Value]]) -> BlockCall:
            block: Block | None = None

            def call(run: Run, *values: Any, **named: Any) -> Step[Value]:
                nonlocal block
                if block is None:
                    block = _block(name, function, parameters, max_depth)
                return run.call(block, values, named)

            call.__name__ = call.__qualname__ = function.__name__
            call.__doc__ = function.__doc__
            return call

        return declare

    def main(self, function: Main) -> Main:
        """Make a function the program's root."""
        self._main = function
        return function

    def source(
        self, text: str, *, lines: str = "", statements: str = "", traits: str = ""
    ) -> None:
        """Give the source that the script was generated from, with the tables that lead to its lines.

        `traits` are the notable things that the compiler found out about the program: see Traits.
        """
        self._footer = (text, lines, statements)
        self._traits = traits

    def cli(self, arguments: Sequence[str] | None = None) -> NoReturn:
        """Run as a command: reads the command line (or `arguments`), runs, prints, and exits with the run's code."""
        from .command_line import command

        raise SystemExit(command(self, arguments))

    @cached_property
    def _source(self) -> Source:
        # Read when a run needs it: `--help` answers without.
        from .source_map import Source

        return Source.read(*self._footer)

    @property
    def text(self) -> str:
        """The source, whole; empty without a footer."""
        return self._footer[0]

    @property
    def lines(self) -> Mapping[int, int]:
        """From the line of an emitted call to its source line."""
        return self._source.lines

    @property
    def statements(self) -> Sequence[Statement]:
        """Every source statement, in written order."""
        return self._source.statements

    @property
    def traits(self) -> Traits:
        """What is notable about the program: whether in-context mode suits it, its fan-out, loops without a max."""
        from .traits import Traits

        return Traits.read(self._traits)

    @property
    def inputs(self) -> Mapping[str, str | None]:
        """Declared inputs in written order, with their descriptions."""
        return self._inputs

    @property
    def outputs(self) -> Sequence[str]:
        """Declared outputs, in written order."""
        return self._outputs

    @property
    def body(self) -> Main:
        """The root function."""
        assert self._main is not None, "a script declares its root with @program.main"
        return self._main

    @property
    def description(self) -> str:
        """The script's docstring."""
        import inspect

        names: Mapping[str, object] = getattr(self._main, "__globals__", {})
        text = names.get("__doc__")
        return inspect.cleandoc(text) if isinstance(text, str) else ""

    def excerpt(self, line: int | None) -> str:
        """A source line as diagnostics show it; empty where it isn't known."""
        return self._source.excerpt(line)


def _block(
    name: str,
    function: Callable[Concatenate[Run, ...], Awaitable[Value]],
    parameters: Sequence[str] | None,
    max_depth: int | None,
) -> Block:
    import inspect

    from .frames import Block

    arguments = tuple(inspect.signature(function).parameters)[1:]
    return Block(name, function, tuple(parameters or arguments), max_depth)
