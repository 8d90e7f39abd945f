"""Analysis: what a program's names, values and questions mean, and what is wrong with them.

`analyse` walks the tree once in the order of execution (walk.py), settles what every name means (resolve.py), what
every value is used as (shapes.py) and what each `**...**` asks (questions.py), and checks the rest (names.py). What
needs none of that is checked in checks/.
"""

from __future__ import annotations

from collections.abc import Iterator

from prosec.analysis.model import Analysis, Scope, Unit
from prosec.analysis.names import check_names, check_references, output_stops
from prosec.analysis.questions import settle_questions, settle_told
from prosec.analysis.resolve import Resolver
from prosec.analysis.shapes import settle_results, settle_shapes
from prosec.analysis.walk import Walker
from prosec.syntax import nodes

__all__ = ["Analysis", "analyse"]


def analyse(program: nodes.Program) -> Analysis:
    """Learn everything about a program that emission needs; findings are in `diagnostics`, unordered."""
    root = Scope(None)
    analysis = Analysis(program, root)
    analysis.main = Unit(root, None, None, None)
    _collect(program, analysis)
    walker = Walker(analysis)
    walker.program(program)
    Resolver(walker).resolve()
    settle_results(walker)
    settle_told(analysis)
    settle_questions(analysis)
    settle_shapes(walker)
    check_names(analysis, walker.broken, walker.lost)
    check_references(analysis, walker.broken)
    output_stops(program, analysis)
    return analysis


_NESTING = (
    nodes.Suite,
    nodes.If,
    nodes.Clause,
    nodes.For,
    nodes.Loop,
    nodes.Repeat,
    nodes.Try,
    nodes.Catch,
    nodes.Choice,
    nodes.Option,
    nodes.Parallel,
    nodes.Branch,
    nodes.DoBlock,
    nodes.Block,
)
"""What statements can be nested in. Values are not searched: no definition and no output stands in one alone."""


def _statements(node: nodes.Node) -> Iterator[nodes.Node]:
    """The statements in a node, however deep, in written order."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, _NESTING) or item is node:
            stack.extend(reversed(list(nodes.children(item))))
        elif isinstance(item, nodes.Let | nodes.Assign | nodes.Output) and isinstance(item.value, _NESTING):
            stack.append(item.value)


def _collect(program: nodes.Program, analysis: Analysis) -> None:
    """Hoist what is defined: agents, blocks and imports, wherever they stand."""
    for node in _statements(program):
        if isinstance(node, nodes.Agent):
            analysis.agents.setdefault(node.name.text, node)
        elif isinstance(node, nodes.Block):
            if node.name.text not in analysis.blocks:
                analysis.blocks[node.name.text] = Scope(node)
        elif isinstance(node, nodes.Use):
            _import(node, analysis)
    for scope in analysis.blocks.values():
        if scope.block is not None:
            outputs = (item for item in _statements(scope.block.body) if isinstance(item, nodes.Output))
            scope.outputs_named = list(dict.fromkeys(item.name.text for item in outputs if item.name is not None))


def _import(node: nodes.Use, analysis: Analysis) -> None:
    path = node.path.plain
    slug = path.rsplit("/", 1)[-1].removesuffix(".prose")
    analysis.uses.setdefault(node.alias.text if node.alias is not None else slug, node)
    analysis.imports_files |= path.endswith(".prose") and "://" not in path
