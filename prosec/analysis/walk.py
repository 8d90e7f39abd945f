"""The walk over a program in the order of execution: who writes, who reads, what is certainly bound where.

What a name means is settled afterwards (resolve.py), because blocks are hoisted and see their callers' names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prosec.analysis.binding import UNREACHABLE
from prosec.analysis.concurrent import ConcurrentWalker
from prosec.analysis.model import (
    NOTHING,
    NUMBER,
    WHOLE,
    Analysis,
    Arm,
    Flow,
    Loop,
    Scope,
    Shape,
    Unit,
    Use,
    VariableKind,
    Write,
)
from prosec.diagnostics import Diagnostic, Related
from prosec.syntax import nodes


class Walker(ConcurrentWalker):
    """Walks one program and fills an Analysis."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self.values: dict[type, Callable[[Any, Use], None]] = {
            nodes.Text: self._text,
            nodes.Discretion: self._discretion_value,
            nodes.Number: self._literal,
            nodes.Boolean: self._literal,
            nodes.Null: self._literal,
            nodes.Broken: self._broken,
            nodes.Ref: self._ref,
            nodes.ListLiteral: self._list,
            nodes.ObjectLiteral: self._object,
            nodes.Field: self._field,
            nodes.Index: self._index,
            nodes.Unary: self._unary,
            nodes.Binary: self._binary,
            nodes.Logical: self._logical,
            nodes.Session: self._session,
            nodes.Resume: self._resume,
            nodes.DoCall: self._do_call,
            nodes.Call: self._call,
            nodes.DoBlock: self._do_block,
            nodes.Arrow: self._arrow,
            nodes.Pipeline: self._pipeline,
            nodes.Parallel: self._parallel,
            nodes.Try: self._try,
            nodes.Let: self._let,
            nodes.Assign: self._assign,
            nodes.Output: self._output,
            nodes.Input: self._input,
            nodes.Repeat: self._repeat,
            nodes.For: self._for,
            nodes.Loop: self._loop,
            nodes.If: self._if,
            nodes.Choice: self._choice,
            nodes.Throw: self._throw,
            nodes.Return: self._return,
            nodes.Break: self._break,
            nodes.Continue: self._continue,
            nodes.Assert: self._assert,
            nodes.Agent: self._definition,
            nodes.Block: self._definition,
            nodes.Use: self._literal,
            nodes.ImportSkill: self._literal,
        }

    # --- the program --------------------------------------------------------------------------------------------

    def program(self, program: nodes.Program) -> None:
        self._statements(program.statements, NOTHING)
        for scope in list(self.analysis.blocks.values()):
            if scope.block is not None:
                self._block(scope, scope.block)

    def _block(self, scope: Scope, block: nodes.Block) -> None:
        self.scope = scope
        self.reads = scope.reads
        self.unit = self.analysis.units[block] = Unit(scope, block, None, None)
        self.arm = Arm(block, 0, None)
        self.loop = None
        self.environment = {}
        self.certain = self.possible = 0
        self.nesting, self.indentation, self.catching = 0, 1, 0
        for position, parameter in enumerate(block.parameters):
            self._twice(parameter, block.parameters[:position], "parameter")
            variable = self._declare(parameter.text, "parameter", parameter.span)
            self._record(variable, Write(parameter.span, self.unit, self.arm, None, None, True))
            scope.parameters.append(variable)
        # Named outputs are a block's value; else its last statement's is.
        self._suite(block.body, NOTHING if scope.outputs_named else Flow(scope), block)

    # --- constructs that are also values ------------------------------------------------------------------------

    def _do_block(self, node: nodes.DoBlock, use: Use) -> None:
        self._suite(node.body, use, node)

    def _try(self, node: nodes.Try, use: Use) -> None:
        with self._deep(node):
            before = self.certain, self.possible
            self._suite(node.body, use, node, 0)
            ends = [(self.certain, self.possible)]
            failed = before[0], before[1] | self.possible
            if node.catch is not None:
                self._go(failed)
                name = node.catch.name
                self.catching += 1
                with self._owned(node.catch, (name, "catch")):
                    self._suite(node.catch.body, use, node, 1)
                self.catching -= 1
                ends.append((self.certain, self.possible))
                failed = before[0], failed[1] | self.possible
            self._join(ends)
            if node.final is not None:
                after = self.certain, self.possible
                self._go((before[0], failed[1] | after[1]))
                self.in_final, outer = self.loop or node, self.in_final
                self._suite(node.final, NOTHING, node, 2)
                self.in_final = outer
                gained = self.certain
                self._go((after[0] | (gained & ~before[0]) if gained != -1 else -1, self.possible))

    # --- bindings -----------------------------------------------------------------------------------------------

    def _let(self, node: nodes.Let, use: Use) -> None:
        kind: VariableKind = "const" if node.keyword == "const" else "let"
        if node.destructures:
            self.value(node.value, Shape(fields={name.text: Shape() for name in node.targets}))
            for name in node.targets:
                self._bind(node, name, kind, node.value, True)
            return
        target = Shape()
        self.target_uses[node] = target
        self.handed_on.append((target, use, None))
        self.direct(node.value, target)
        self._bind(node, node.targets[0], kind, node.value, True)

    def _assign(self, node: nodes.Assign, use: Use) -> None:
        target = Shape()
        self.target_uses[node] = target
        self.direct(node.value, target)
        name = node.target
        if name.text in self.environment or name.text in self.scope.names:
            self._bind(node, name, "let", node.value, False)
            return
        # The name of a caller, of the root, or one that is declared nowhere: known when all blocks are.
        write = Write(name.span, self.unit, self.arm, self.loop, node, False)
        self.scope.assigned.setdefault(name.text, write)

    def _output(self, node: nodes.Output, use: Use) -> None:
        in_block = self.scope.block is not None
        if node.name is None:
            self.direct(node.value, Flow(self.scope) if in_block else WHOLE)
            self._leave("output", node)
            return
        target = Shape()
        self.target_uses[node] = target
        # A block with one output has that output's value; with several, the object of them.
        if in_block:
            only = len(self.scope.outputs_named) == 1
            self.result_flows.append((target, self.scope, None if only else node.name.text))
        self.direct(node.value, target)
        self._output_name(node, node.name)

    def _output_name(self, node: nodes.Output, name: nodes.Name) -> None:
        places = self.scope.outputs.setdefault(name.text, [])
        for arm, span in places:
            if arm.left or arm.excludes(self.arm):
                continue
            same = arm is self.arm
            self.report(
                Diagnostic(
                    "E024" if same else "W012",
                    f"output '{name.text}' is given twice" + ("" if same else " on one path: the last one wins"),
                    name.span,
                    "given again here",
                    "give each output once, or choose another name",
                    (Related("first given here", span),),
                )
            )
            break
        places.append((self.arm, name.span))
        exports = isinstance(node.value, nodes.Ref) and node.value.name == name.text
        known = self.environment.get(name.text) or self.scope.names.get(name.text)
        if exports and known is not None:
            self.analysis.variables[node, name.text] = known
            self.analysis.exported.add(name.text)
            return
        if known is None or known.kind != "const":
            self._bind(node, name, "output", node.value, False)

    def _input(self, node: nodes.Input, use: Use) -> None:
        if isinstance(node.description, nodes.Discretion):
            self.question(node.description, "session")
        elif node.description is not None:
            self._text(node.description, WHOLE)
        if node.name is not None:
            self._bind(node, node.name, "input", None, True)

    # --- loops --------------------------------------------------------------------------------------------------

    @contextmanager
    def _rounds(self, node: nodes.Node, at_least_once: bool) -> Iterator[Loop]:
        """A loop's body; afterwards the state is that after the loop."""
        loop = Loop(node, self.unit, self.loop)
        before = self.certain, self.possible
        self.loop = loop
        yield loop
        self.loop = loop.parent
        ends = [(self.certain, self.possible), *loop.breaks, *loop.continues]
        if not at_least_once:
            ends.append(before)
        self._join(ends)

    def _repeat(self, node: nodes.Repeat, use: Use) -> None:
        with self._deep(node):
            self.value(node.count, NUMBER)
            with self._rounds(node, _is_positive(node.count)), self._owned(node, (node.index, "index")):
                self._suite(node.body, NOTHING, node)

    def _loop(self, node: nodes.Loop, use: Use) -> None:
        forever = node.kind is None and node.max is None
        once = forever or (node.kind == "until" and (node.max is None or _is_positive(node.max)))
        with self._deep(node):
            if node.max is not None:
                self.value(node.max, NUMBER)
            with self._rounds(node, once) as loop:
                with self._owned(node, (node.index, "index")):
                    self._loop_body(node, loop)
                if forever:
                    # Without a condition or a bound only `break` leaves.
                    self._go(UNREACHABLE)
                    loop.continues.clear()
        if loop.continues and node.kind == "until":
            self.analysis.continued.add(node)

    def _loop_body(self, node: nodes.Loop, loop: Loop) -> None:
        if node.kind == "while" and node.condition is not None:
            self.condition(node.condition, "while")
            loop.breaks.append((self.certain, self.possible))
        self._suite(node.body, NOTHING, node)
        if node.kind == "until" and node.condition is not None:
            self._join([(self.certain, self.possible), *loop.continues])
            self.condition(node.condition, "until")

    def _for(self, node: nodes.For, use: Use) -> None:
        items = Shape()
        if node.index is not None:
            self._twice(node.index, (node.item,), "loop variable")
        if node.concurrent:
            self.value(node.items, Shape(list=True, item=items))
            self._concurrent_for(node, items)
            return
        with self._deep(node):
            self.value(node.items, Shape(list=True, item=items))
            owned = self._owned(node, (node.item, "item"), (node.index, "index"), value=node.items)
            with self._rounds(node, False), owned:
                self.item_uses.append((items, self.environment[node.item.text]))
                self._suite(node.body, NOTHING, node)

    # --- branching ----------------------------------------------------------------------------------------------

    def _if(self, node: nodes.If, use: Use) -> None:
        with self._deep(node):
            self._clauses(node, use)

    def _clauses(self, node: nodes.If, use: Use) -> None:
        ends = []
        for position, clause in enumerate(node.clauses):
            self.condition(clause.condition, "decide")
            state = self.certain, self.possible
            self._suite(clause.body, use, node, position)
            ends.append((self.certain, self.possible))
            self._go(state)
        if node.otherwise is not None:
            self._suite(node.otherwise, use, node, len(node.clauses))
        ends.append((self.certain, self.possible))
        self._join(ends)

    def _choice(self, node: nodes.Choice, use: Use) -> None:
        with self._deep(node):
            self.question(node.criterion, "choose")
            state = self.certain, self.possible
            ends = []
            self.indentation += 1
            for position, option in enumerate(node.options):
                self._go(state)
                self._suite(option.body, use, node, position)
                ends.append((self.certain, self.possible))
            self.indentation -= 1
            self._join(ends or [state])

    # --- leaving ------------------------------------------------------------------------------------------------

    def _leave(self, word: str, node: nodes.Node) -> None:
        """`return`, or `output` of a bare value: ends a block."""
        if self.in_broken:
            pass
        elif self.in_final is not None:
            self.report(_leaves_final(word, node))
        elif self.scope.block is None:
            self.report(
                Diagnostic(
                    "E045",
                    f"`{word}` of a value belongs in a block" if word == "output" else "`return` belongs in a block",
                    node.span,
                    help="at the top level, name the output: `output result = ...`",
                )
            )
        elif self.unit.parent is not None and self.unit.node not in self.analysis.lifted:
            self.report(_crossing(word, node, self.unit))
        self._go(UNREACHABLE)

    def _return(self, node: nodes.Return, use: Use) -> None:
        if node.value is not None:
            self.direct(node.value, Flow(self.scope) if self.scope.block is not None else WHOLE)
        self._leave("return", node)

    def _break(self, node: nodes.Break, use: Use) -> None:
        self._jump("break", node)

    def _continue(self, node: nodes.Continue, use: Use) -> None:
        self._jump("continue", node)

    def _jump(self, word: str, node: nodes.Node) -> None:
        loop = self.loop
        if loop is not None and self.in_final in (loop, loop.node):
            self.report(_leaves_final(word, node))
        elif loop is not None and (loop.unit is not self.unit or loop.node in self.analysis.concurrent):
            self.report(_crossing(word, node, self.unit))
        elif loop is not None:
            (loop.breaks if word == "break" else loop.continues).append((self.certain, self.possible))
        self._go(UNREACHABLE)

    def _throw(self, node: nodes.Throw, use: Use) -> None:
        if node.value is not None:
            self.value(node.value, WHOLE)
        elif not self.catching:
            self.report(
                Diagnostic(
                    "E045",
                    "`throw` without a message raises again what a catch caught; there is nothing caught here",
                    node.span,
                    help='say what is wrong: `throw "..."`',
                )
            )
        self._go(UNREACHABLE)

    def _assert(self, node: nodes.Assert, use: Use) -> None:
        self.condition(node.condition, "decide")
        if node.message is not None:
            self._text(node.message, WHOLE)

    def _definition(self, node: nodes.Node, use: Use) -> None:
        """Agents and blocks are hoisted; blocks are walked after the root."""


def _is_positive(node: nodes.Expression) -> bool:
    """Whether a count is plainly at least one."""
    return isinstance(node, nodes.Number) and node.text.strip("0.") != ""


def _leaves_final(word: str, node: nodes.Node) -> Diagnostic:
    return Diagnostic(
        "E045",
        f"`{word}` can't leave a `finally:`",
        node.span,
        help="it would swallow the error that is on its way; put it after the `try`",
    )


def _crossing(word: str, node: nodes.Node, unit: Unit) -> Diagnostic:
    what = {
        nodes.Branch: "a parallel branch",
        nodes.For: "a round of `parallel for`",
        nodes.Stage: "a pipeline body",
    }.get(type(unit.node), "what runs on its own")
    return Diagnostic(
        "E045",
        f"`{word}` can't leave {what}",
        node.span,
        help="bind a value there, and decide after the construct has ended",
    )
