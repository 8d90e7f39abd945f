"""Statements of a program as Python statements: which template, and what goes into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from prosec.analysis.model import Analysis, Variable
from prosec.emit import literals as py
from prosec.emit.comments import Comments
from prosec.emit.expressions import Kind, Out
from prosec.emit.layout import STEP, laid_out
from prosec.emit.naming import Names
from prosec.emit.steps import Steps
from prosec.emit.suites import RETURN, STATEMENT_VALUES, Target
from prosec.emit.templates import Templates
from prosec.source import Source
from prosec.syntax import nodes


class Statements(Steps):
    """Emits every statement of the language."""

    def __init__(
        self, analysis: Analysis, names: Names, source: Source, templates: Templates, comments: Comments, annotate: bool
    ) -> None:
        super().__init__(analysis, names, source, templates, comments, annotate)
        self.statements: dict[type, Callable[[Any, Target | None], str]] = {
            nodes.Let: self._let,
            nodes.Assign: self._assign,
            nodes.Output: self._output,
            nodes.Input: self._input,
            nodes.DoBlock: self._do_block,
            nodes.Arrow: self._arrow,
            nodes.Parallel: self._parallel,
            nodes.Try: self._try,
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
        }

    # --- bindings -----------------------------------------------------------------------------------------------

    def _let(self, node: nodes.Let, target: Target | None) -> str:
        if node.destructures:
            return self._unpack(node, target)
        name = node.targets[0].text
        own = Target(node.keyword, name, self.analysis.variables.get((node, name)), node)
        return self._own_then(node.value, own, target)

    def _own_then(self, value: nodes.Expression, own: Target, target: Target | None) -> str:
        """Bind a value to a name, and hand it on to where the statement's value goes."""
        if target is None:
            return self.store(value, own)
        if isinstance(value, nodes.Session | nodes.Resume | nodes.Discretion | nodes.Pipeline):
            if not (isinstance(value, nodes.Session) and value.name is not None):
                call = self.step(value, [(own.how, py.string(own.name))])
                return self.bind(target, Out(cst.Await(call), Kind.VALUE, 8))
        elif isinstance(value, STATEMENT_VALUES):
            if own.variable is not None:
                self.carried.add(own.variable)
            stored = self.store(value, own)
            local = own.variable is not None and self.is_local(own.variable)
            bound = Out(py.name(own.variable.python), Kind.VALUE) if local and own.variable else self.by_name(own.name)
            return stored + "\n" + self.bind(target, bound)
        return self.bind(target, Out(self._binding(own, self.emit(value)), Kind.VALUE))

    def _unpack(self, node: nodes.Let, target: Target | None) -> str:
        names = [name.text for name in node.targets]
        const = [("const", py.name("True"))] if node.keyword == "const" else []
        value = self.emit(node.value)
        call = self.run_call("unpack", node, [value.node, *(py.string(name) for name in names)], const)
        left = self._unpacked([self.analysis.variables.get((node, name)) for name in names])
        code = laid_out(cst.Await(call), self.margin, f"{left} = " if left else "")
        text = self.templates.render("unpack", target=left, value=code)
        return text if target is None else text + "\n" + self.bind(target, Out(py.name("None"), Kind.LITERAL))

    def _assign(self, node: nodes.Assign, target: Target | None) -> str:
        variable = self.analysis.variables.get((node, node.target.text))
        text = self.store(node.value, Target("assign", node.target.text, variable, node))
        return self._then_nothing(text, target)

    def _then_nothing(self, text: str, target: Target | None) -> str:
        """A statement without a value, where one is wanted."""
        return text if target is None else text + "\n" + self.bind(target, Out(py.name("None"), Kind.LITERAL))

    def _output(self, node: nodes.Output, target: Target | None) -> str:
        if node.name is None:
            return self.store(node.value, RETURN)
        variable = self.analysis.variables.get((node, node.name.text))
        exports = isinstance(node.value, nodes.Ref) and node.value.name == node.name.text
        own = Target("output", node.name.text, None if exports else variable, node)
        return self._own_then(node.value, own, target)

    def _input(self, node: nodes.Input, target: Target | None) -> str:
        if node.name is None:
            return ""
        keywords: list[tuple[str, cst.BaseExpression]] = []
        positional: list[cst.BaseExpression] = [py.string(node.name.text)]
        if isinstance(node.description, nodes.Discretion):
            keywords.append(("ask", self.text(node.description)))
        elif node.description is not None and not is_fixed(node.description, self.analysis):
            positional.append(self.text(node.description))
        call = cst.Await(self.run_call("input", node, positional, keywords))
        text = self.assigned("input", self.analysis.variables.get((node, node.name.text)), call)
        return self._then_nothing(text, target)

    # --- sequences and branches ---------------------------------------------------------------------------------

    def _do_block(self, node: nodes.DoBlock, target: Target | None) -> str:
        self.margin -= STEP
        text = self.suite(node.body.statements, node.body, target)
        self.margin += STEP
        return text

    def _arrow(self, node: nodes.Arrow, target: Target | None) -> str:
        steps = [self.store(step, None) for step in node.steps[:-1]]
        return "\n".join([*steps, self.store(node.steps[-1], target)])

    # --- loops --------------------------------------------------------------------------------------------------

    def _repeat(self, node: nodes.Repeat, target: Target | None) -> str:
        index = self._owned(node, node.index)
        rounds = self.run_call("rounds", node, [self.emit(node.count).node])
        body = self._items([index], self.suite(node.body.statements, node.body))
        text = self.templates.render("repeat", index=self._used(index), rounds=py.code(rounds), body=body)
        return self._then_nothing(text, target)

    def _loop(self, node: nodes.Loop, target: Target | None) -> str:
        index = self._owned(node, node.index)
        limit = [("max", self.emit(node.max).node)] if node.max is not None else []
        if node.max is None and node.condition is not None:
            limit = [("max", py.name("None"))]
        rounds = self.run_call("rounds", node, [], limit)
        name = self._used(index)
        first = last = ""
        functions: list[str] = []
        if node.condition is not None:
            outer, self.before = self.before, []
            out = self.truth(node.condition, node.kind or "until")
            functions, self.before = self.before, outer
            if node.kind == "while":
                self.margin += STEP
                first = self.header("if", self._not(out))
                self.margin -= STEP
            elif node in self.analysis.continued:
                # A `continue` must not skip the question, so the next round asks it before anything else.
                name = self._round_name(node, index)
                wrapped = self._wrapped(out, 3)
                first = f"{name} > 0 and {py.code(wrapped)}"
            else:
                self.margin += STEP
                last = self.header("if", out)
                self.margin -= STEP
        body = self._items([index], self.suite(node.body.statements, node.body))
        text = self.templates.render(
            "loop",
            index=name,
            rounds=py.code(rounds),
            functions=functions,
            leave_first=first,
            leave_last=last,
            body=body,
        )
        return self._then_nothing(text, target)

    def _round_name(self, node: nodes.Loop, index: Variable | None) -> str:
        if index is not None:
            return index.python
        return self.names.function(self.unit or self.analysis.main, "round")

    def _for(self, node: nodes.For, target: Target | None) -> str:
        if node.concurrent:
            return self._then_nothing(self._parallel_for(node), target)
        item, index = self._owned(node, node.item), self._owned(node, node.index)
        flags = [("index", py.name("True"))] if index is not None else []
        each = self.run_call("each", node, [self.emit(node.items).node], flags)
        names = self._used(item) if index is None else f"{self._used(item)}, {self._used(index)}"
        body = self._items([item, index], self.suite(node.body.statements, node.body))
        text = self.templates.render("for", target=names, each=py.code(each), body=body)
        return self._then_nothing(text, target)

    # --- branching ----------------------------------------------------------------------------------------------

    def _if(self, node: nodes.If, target: Target | None) -> str:
        clauses: list[tuple[Out, str]] = []
        for clause in node.clauses:
            last = clause is node.clauses[-1] and node.otherwise is None
            condition, body = self._clause(clause, target, may_merge=last and target is None)
            if clauses and py.unmarked(clauses[-1][1]) == py.unmarked(body):
                # Two conditions for one thing to do are one condition.
                condition = self.either(clauses.pop()[0], condition)
            clauses.append((condition, body))
        otherwise = ""
        after = ""
        if node.otherwise is not None:
            otherwise = self.suite(node.otherwise.statements, node.otherwise, target)
        elif target is not None and target.how == "return":
            after = "\n" + self._nothing_after(target)
        elif target is not None:
            otherwise = self.bind(target, Out(py.name("None"), Kind.LITERAL))
        words = ["if", *["elif"] * len(clauses)]
        shown = [
            {"condition": self.header(word, condition), "body": body}
            for word, (condition, body) in zip(words, clauses, strict=False)
        ]
        return self.templates.render("if", clauses=shown, otherwise=otherwise) + after

    def _clause(self, clause: nodes.Clause, target: Target | None, *, may_merge: bool) -> tuple[Out, str]:
        """A clause's condition and body. An `if` that is all there is in the body adds its condition instead."""
        condition = self.truth(clause.condition, "decide")
        inner = clause.body.statements[0] if len(clause.body.statements) == 1 else None
        while (
            may_merge
            and isinstance(inner, nodes.If)
            and len(inner.clauses) == 1
            and inner.otherwise is None
            and inner not in self.analysis.lifted
            and not self.annotate
            and inner not in self.comments.above
            and clause.body not in self.comments.end
        ):
            clause = inner.clauses[0]
            condition = self.both(condition, self.truth(clause.condition, "decide"))
            inner = clause.body.statements[0] if len(clause.body.statements) == 1 else None
        return condition, self.suite(clause.body.statements, clause.body, target)

    def _nothing_after(self, target: Target) -> str:
        return self.bind(target, Out(py.name("None"), Kind.LITERAL))

    def _choice(self, node: nodes.Choice, target: Target | None) -> str:
        labels = [option.label.plain for option in node.options]
        about = self.about(self.analysis.questions[node.criterion])
        question = self.run_call(
            "choose",
            node.criterion,
            [self.text(node.criterion), py.listing([py.string(label) for label in labels])],
            [("about", about)],
        )
        self.margin += STEP
        options = [
            {
                "label": py.code(py.string(option.label.plain)),
                "body": self.suite(option.body.statements, option.body, target),
            }
            for option in node.options
        ]
        self.margin -= STEP
        text = self.templates.render("choice", question=self.header("match", Out(cst.Await(question), Kind.VALUE)), options=options)
        if target is not None and target.how == "return":
            return text + "\n" + self._nothing_after(target)
        return text

    def _try(self, node: nodes.Try, target: Target | None) -> str:
        error = handler = ""
        handles = False
        if node.catch is not None:
            variable = self._owned(node.catch, node.catch.name)
            name = variable.python if variable is not None else ""
            self.handling.append(name)
            handler = self._items([variable], self.suite(node.catch.body.statements, node.catch.body, target))
            self.handling.pop()
            if variable is not None and self._error_is_used(variable):
                error = name
            code = [line for line in handler.split("\n") if line and not line.startswith("#")]
            handles = code != ["raise"]
        body = self.suite(node.body.statements, node.body, target)
        final = self.suite(node.final.statements, node.final) if node.final is not None else ""
        if not handles and handler:
            # A catch that only throws again catches nothing; what is said there stays.
            body = "\n".join([body, *(line for line in handler.split("\n") if line.startswith("#"))])
        if not handles and not final:
            return body
        if handles:
            self.used.add("ProseError")
        return self.templates.render("try", body=body, handles=handles, error=error, handler=handler, final=final)

    def _error_is_used(self, variable: Variable) -> bool:
        if variable.by_name or not self.is_local(variable):
            return True
        return any(read.variable is variable and read.node not in self.rethrown for read in variable.reads)

    # --- leaving ------------------------------------------------------------------------------------------------

    def _throw(self, node: nodes.Throw, target: Target | None) -> str:
        if node.value is None:
            return self.templates.render("throw", error="")
        out = self.emit(node.value)
        if out.kind is Kind.ERROR and self.handling and py.code(out.node) == self.handling[-1]:
            # It is the error being handled: Python's bare `raise` says so.
            self.rethrown.add(node.value)
            return self.templates.render("throw", error="")
        if out.kind is not Kind.ERROR:
            out = Out(self.run_call("error", node, [out.node]), Kind.ERROR)
        elif not self.handling:
            # In a function of its own, inside a handler, a bare `raise` would not do; `from None` says it is meant.
            return self.templates.render("throw", error=f"{py.code(out.node)} from None")
        return self.templates.render("throw", error=py.code(out.node))

    def _return(self, node: nodes.Return, target: Target | None) -> str:
        if node.value is not None:
            return self.store(node.value, RETURN)
        outputs = self.outputs()
        return self.bind(RETURN, outputs or Out(py.name("None"), Kind.LITERAL))

    def outputs(self) -> Out | None:
        """The value of a block that names outputs."""
        scope = self.unit.scope if self.unit is not None else self.analysis.root
        if scope.block is None or not scope.outputs_named:
            return None
        names = [py.string(name) for name in scope.outputs_named]
        return Out(self.run_call("outputs", None, names), Kind.VALUE)

    def _break(self, node: nodes.Break, target: Target | None) -> str:
        return self.templates.render("break")

    def _continue(self, node: nodes.Continue, target: Target | None) -> str:
        return self.templates.render("continue")

    def _assert(self, node: nodes.Assert, target: Target | None) -> str:
        failed = self._not(self.truth(node.condition, "decide"))
        message = (
            self.text(node.message)
            if node.message is not None
            else py.string("assertion failed: " + " ".join(self.source.slice(node.condition.span).split()))
        )
        error = self.run_call("error", node, [message])
        text = self.templates.render("assert", failed=py.code(failed.node), error=py.code(error))
        return self._then_nothing(text, target)


def is_fixed(text: nodes.Text, analysis: Analysis) -> bool:
    """Whether nothing in a text interpolates."""
    return not any(part in analysis.interpolated for part in text.parts if isinstance(part, nodes.Hole))
