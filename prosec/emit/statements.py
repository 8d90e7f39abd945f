"""Statements of a program as Python statements: which template, and what goes into it."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from prosec.analysis.model import Analysis, Loop, Unit, Variable
from prosec.emit import literals as py
from prosec.emit.comments import Comments, safe
from prosec.emit.expressions import Expressions, Kind, Out
from prosec.emit.naming import Names
from prosec.emit.sessions import agent_arguments, session_arguments
from prosec.emit.templates import Templates
from prosec.source import Source
from prosec.syntax import nodes


@dataclass(frozen=True, slots=True)
class Target:
    """Where a statement's value goes: bound to a name (`how` is let, const, assign or output), or returned."""

    how: str
    name: str = ""
    variable: Variable | None = None


RETURN = Target("return")
_NO_VALUE = (nodes.Throw, nodes.Return, nodes.Break, nodes.Continue)


class Statements(Expressions):
    """Emits suites. Functions that a statement needs are put before it, in `before`."""

    def __init__(
        self, analysis: Analysis, names: Names, source: Source, templates: Templates, comments: Comments, annotate: bool
    ) -> None:
        super().__init__(analysis, names, source)
        self.templates = templates
        self.comments = comments
        self.annotate = annotate
        self.before: list[str] = []
        self.handling: list[str] = []
        """The names of the errors whose handlers are being emitted, innermost last."""
        self.rethrown: set[nodes.Node] = set()
        self.carried = _carried(analysis)
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

    # --- suites -------------------------------------------------------------------------------------------------

    def suite(self, statements: Sequence[nodes.Node], owner: nodes.Node, target: Target | None = None) -> str:
        """The statements of a suite; the value of the last one goes to `target`."""
        lines: list[str] = []
        emitted = [item for item in statements if not isinstance(item, _DEFINITIONS)]
        outer = self.before
        for item in emitted:
            last = item is emitted[-1]
            self.before = []
            text = self.statement(item, target if last else None)
            if lines and self.comments.blank_before(item):
                lines.append("")
            lines.extend(self._above(item))
            lines.extend(self.before)
            if text:
                lines.append(text)
        self.before = outer
        lines.extend(self.comments.lines_at_end(owner))
        if target is not None and not emitted:
            lines.append(self.bind(target, Out(py.name("None"), Kind.LITERAL)))
        if not any(line and not line.startswith("#") for line in lines):
            lines.append("pass")
        return "\n".join(lines)

    def _above(self, item: nodes.Node) -> list[str]:
        lines = self.comments.lines_above(item)
        if self.annotate:
            lines.extend(self._annotation(item))
        return lines

    def _annotation(self, item: nodes.Node) -> list[str]:
        """The source lines of a statement's own part, as comments."""
        inner = [suite.span.start for suite in nodes.children(item) if isinstance(suite, nodes.Suite)]
        first = self.source.line_of(item.span.start)
        last = self.source.line_of(item.span.end)
        if inner:
            last = max(first, self.source.line_of(min(inner)) - 1)
        elif isinstance(item, nodes.Parallel | nodes.Choice | nodes.If | nodes.Try | nodes.Pipeline):
            last = first
        return [safe(f"# {line}: {self.source.line_text(line)}") for line in range(first, last + 1)]

    def statement(self, node: nodes.Node, target: Target | None) -> str:
        """One statement as Python code; `target` takes its value."""
        if node in self.analysis.lifted:
            return self._lifted(node)
        emit = self.statements.get(type(node))
        if emit is not None:
            return emit(node, target)
        return self.store(node, target)

    def _lifted(self, node: nodes.Node) -> str:
        """A construct too deep for Python to nest, as a function of its own that is called at once."""
        unit = self.analysis.units[node]
        name = self.names.function(unit, f"inner_{type(node).__name__.lower()}")
        with _Inside(self, unit):
            body = self.statements[type(node)](node, None)
        self.before.append(self._function(unit, name, [], "None", body))
        return f"await {name}()"

    # --- values into targets ------------------------------------------------------------------------------------

    def store(self, node: nodes.Node, target: Target | None) -> str:
        """An expression whose value goes to a target (or nowhere)."""
        if isinstance(node, _STATEMENT_VALUES):
            return self.statements[type(node)](node, target)
        if isinstance(node, nodes.Session | nodes.Resume | nodes.Discretion | nodes.Pipeline):
            return self._stored_call(node, target)
        if target is None:
            if not isinstance(node, nodes.DoCall | nodes.Call) and not _works(node):
                return ""
            return py.code(self.emit(node).node)
        return self.bind(target, self.emit(node))

    def _stored_call(self, node: nodes.Node, target: Target | None) -> str:
        """A session or pipeline, which takes the name that it binds itself."""
        named = isinstance(node, nodes.Session) and node.name is not None
        if target is None or target.how == "return" or named:
            out = self.emit(node)
            if target is not None:
                return self.bind(target, out)
            if isinstance(node, nodes.Session) and node.name is not None:
                return self._assigned(self.analysis.variables[node, node.name.text], out.node)
            return py.code(out.node)
        call = self._step(node, [(target.how, py.string(target.name))])
        return self._assigned(target.variable, cst.Await(call))

    def bind(self, target: Target, out: Out) -> str:
        """`x = run.let("x", value)` and its like, or `return value`."""
        if target.how == "return":
            return self.templates.render("return", value=py.code(self.lifted(out).node))
        return self._assigned(target.variable, self._binding(target, out))

    def _binding(self, target: Target, out: Out) -> cst.BaseExpression:
        return self.run_call(target.how, None, [py.string(target.name), out.node])

    def _assigned(self, variable: Variable | None, value: cst.BaseExpression) -> str:
        name = variable.python if variable is not None and self._kept(variable) else ""
        return self.templates.render("statement", target=name, value=py.code(value))

    def _kept(self, variable: Variable) -> bool:
        """Whether what is bound here is read by its Python name."""
        return self.is_local(variable) and (self.python_reads(variable) or self._carries(variable))

    def _carries(self, variable: Variable) -> bool:
        return variable in self.carried

    # --- work ---------------------------------------------------------------------------------------------------

    def work(self, node: nodes.Node) -> Out:
        """What calls a model or a block, as an expression that awaits it."""
        if isinstance(node, nodes.Parallel):
            before = self._parallel_call(node)
            return Out(py.attribute(py.parenthesised(cst.Await(before)), "value"), Kind.VALUE)
        if isinstance(node, nodes.DoBlock | nodes.Arrow | nodes.Try):
            return self._as_function(node)
        keywords: list[tuple[str, cst.BaseExpression]] = []
        if isinstance(node, nodes.Session) and node.name is not None:
            keywords.append(("let", py.string(node.name.text)))
        return Out(cst.Await(self._step(node, keywords)), Kind.VALUE, 8)

    def _as_function(self, node: nodes.Node) -> Out:
        """A construct of several statements inside an expression: a function before the statement."""
        name = self.names.function(self.unit or self.analysis.main, "value")
        body = self.suite([node], node, RETURN)
        self.before.append(
            self.templates.render("function", name=name, parameters=[], returns="Value", body=body)
        )
        self.used.add("Value")
        return Out(cst.Await(py.call(py.name(name))), Kind.VALUE, 8)

    def _step(self, node: nodes.Node, keywords: list[tuple[str, cst.BaseExpression]]) -> cst.Call:
        """The call that makes a step, not awaited."""
        if isinstance(node, nodes.Session | nodes.Resume):
            operation = "session" if isinstance(node, nodes.Session) else "resume"
            positional, named = session_arguments(self, node)
            return self.run_call(operation, node, positional, [*named, *keywords])
        if isinstance(node, nodes.Discretion):
            question = self.analysis.questions[node]
            returns = self.returns(node)
            shape = [("returns", returns)] if returns is not None else []
            return self.run_call(
                "session", node, [self.text(node)], [("context", self.about(question)), *shape, *keywords]
            )
        if isinstance(node, nodes.Pipeline):
            return self._pipeline_call(node, keywords)
        if isinstance(node, nodes.DoCall):
            return self._block_call(node)
        raise TypeError(f"no step: {type(node).__name__}")

    def _block_call(self, node: nodes.DoCall) -> cst.Call:
        block = self.analysis.blocks[node.name.text].block
        names = [parameter.text for parameter in block.parameters] if block is not None else []
        given: dict[str, cst.BaseExpression] = {}
        for argument in node.arguments:
            name = argument.name.text if argument.name else next((n for n in names if n not in given), None)
            if name is not None:
                given[name] = self.emit(argument.value).node
        function = py.name(self.marked(self.names.blocks[node.name.text], node))
        return py.call(function, [py.name("run"), *(given[name] for name in names)])

    # --- bindings -----------------------------------------------------------------------------------------------

    def _let(self, node: nodes.Let, target: Target | None) -> str:
        if node.destructures:
            return self._unpack(node, target)
        name = node.targets[0].text
        own = Target(node.keyword, name, self.analysis.variables.get((node, name)))
        return self._own_then(node.value, own, target)

    def _own_then(self, value: nodes.Expression, own: Target, target: Target | None) -> str:
        """Bind a value to a name, and hand it on to where the statement's value goes."""
        if target is None:
            return self.store(value, own)
        if isinstance(value, nodes.Session | nodes.Resume | nodes.Discretion | nodes.Pipeline):
            if not (isinstance(value, nodes.Session) and value.name is not None):
                call = self._step(value, [(own.how, py.string(own.name))])
                return self.bind(target, Out(cst.Await(call), Kind.VALUE, 8))
        elif isinstance(value, _STATEMENT_VALUES):
            stored = self.store(value, own)
            bound = Out(py.subscript(py.name("run"), py.string(own.name)), Kind.VALUE)
            return stored + "\n" + self.bind(target, bound)
        return self.bind(target, Out(self._binding(own, self.emit(value)), Kind.VALUE))

    def _unpack(self, node: nodes.Let, target: Target | None) -> str:
        names = [name.text for name in node.targets]
        const = [("const", py.name("True"))] if node.keyword == "const" else []
        value = self.emit(node.value)
        call = self.run_call("unpack", node, [value.node, *(py.string(name) for name in names)], const)
        left = self._unpacked([self.analysis.variables.get((node, name)) for name in names])
        text = self.templates.render("statement", target=left, value=py.code(cst.Await(call)))
        return text if target is None else text + "\n" + self.bind(target, Out(py.name("None"), Kind.LITERAL))

    def _unpacked(self, variables: list[Variable | None]) -> str:
        """The left side of an unpacking; nothing when no Python code reads any of it."""
        names = [v.python if v is not None and self._kept(v) else "_" for v in variables]
        if all(name == "_" for name in names):
            return ""
        return f"({names[0]},)" if len(names) == 1 else ", ".join(names)

    def _assign(self, node: nodes.Assign, target: Target | None) -> str:
        variable = self.analysis.variables.get((node, node.target.text))
        text = self.store(node.value, Target("assign", node.target.text, variable))
        return self._then_nothing(text, target)

    def _then_nothing(self, text: str, target: Target | None) -> str:
        """A statement without a value, where one is wanted."""
        return text if target is None else text + "\n" + self.bind(target, Out(py.name("None"), Kind.LITERAL))

    def _output(self, node: nodes.Output, target: Target | None) -> str:
        if node.name is None:
            return self.store(node.value, RETURN)
        variable = self.analysis.variables.get((node, node.name.text))
        exports = isinstance(node.value, nodes.Ref) and node.value.name == node.name.text
        own = Target("output", node.name.text, None if exports else variable)
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
        text = self._assigned(self.analysis.variables.get((node, node.name.text)), call)
        return self._then_nothing(text, target)

    # --- sequences and branches ---------------------------------------------------------------------------------

    def _do_block(self, node: nodes.DoBlock, target: Target | None) -> str:
        return self.suite(node.body.statements, node.body, target)

    def _arrow(self, node: nodes.Arrow, target: Target | None) -> str:
        steps = [self.store(step, None) for step in node.steps[:-1]]
        return "\n".join([*steps, self.store(node.steps[-1], target)])

    def _parallel(self, node: nodes.Parallel, target: Target | None) -> str:
        if target is not None:
            text = self._parallel_text(node, "")
            text = text.removeprefix("await ")
            value = f"(await {text.strip()}).value"
            if target.how == "return":
                return self.templates.render("return", value=value)
            call = f'run.{target.how}({py.code(py.string(target.name))}, {value})'
            name = target.variable.python if target.variable is not None and self._kept(target.variable) else ""
            return self.templates.render("statement", target=name, value=call)
        variables = [
            self.analysis.variables.get((branch, branch.name.text)) if branch.name is not None else None
            for branch in node.branches
        ]
        return self._parallel_text(node, self._unpacked(variables))

    def _parallel_text(self, node: nodes.Parallel, left: str) -> str:
        branches = []
        by_call = _needs_branch_calls(node)
        for position, branch in enumerate(node.branches):
            step = self._branch(branch, position)
            name = branch.name.text if branch.name is not None else ""
            if by_call:
                shown = name or f"_branch_{position}"
                step = self.run_call("branch", None, [py.string(shown), step])
                name = ""
            above = [line for line in self.comments.lines_above(branch) if line]
            branches.append({"name": name, "step": py.code(step), "comments": above})
        return self.templates.render(
            "parallel",
            target=left,
            run=self.marked("run", node),
            branches=branches,
            modifiers=[f"{key}={py.code(value)}" for key, value in self._modifiers(node.modifiers)],
        )

    def _parallel_call(self, node: nodes.Parallel) -> cst.Call:
        """A parallel inside an expression or as a branch: one step."""
        by_call = _needs_branch_calls(node)
        positional: list[cst.BaseExpression] = []
        keywords: list[tuple[str, cst.BaseExpression]] = []
        for position, branch in enumerate(node.branches):
            step = self._branch(branch, position)
            if by_call:
                shown = branch.name.text if branch.name is not None else f"_branch_{position}"
                positional.append(self.run_call("branch", None, [py.string(shown), step]))
            elif branch.name is not None:
                keywords.append((branch.name.text, step))
            else:
                positional.append(step)
        return self.run_call("parallel", node, positional, [*keywords, *self._modifiers(node.modifiers)])

    def _branch(self, branch: nodes.Branch, position: int) -> cst.BaseExpression:
        """One branch as a step, or as the function that it becomes."""
        unit = self.analysis.units.get(branch)
        if unit is None:
            if isinstance(branch.body, nodes.Parallel):
                return self._parallel_call(branch.body)
            return self._step(branch.body, [])
        name = self.names.function(unit, f"branch_{branch.name.text if branch.name is not None else position}")
        with _Inside(self, unit):
            statements = branch.body.body.statements if isinstance(branch.body, nodes.DoBlock) else [branch.body]
            owner = branch.body.body if isinstance(branch.body, nodes.DoBlock) else branch
            body = self.suite(statements, owner, RETURN)
        self.used.add("Value")
        self.before.append(self._function(unit, name, [], "Value", body))
        return py.name(name)

    def _modifiers(self, modifiers: tuple[nodes.Modifier, ...]) -> list[tuple[str, cst.BaseExpression]]:
        """`join=`, `count=` and `on_fail=`, where they differ from the defaults."""
        found: list[tuple[str, cst.BaseExpression]] = []
        for modifier in modifiers:
            value = modifier.value
            word = value.plain if isinstance(value, nodes.Text) else value.name if isinstance(value, nodes.Ref) else ""
            if modifier.name == "strategy" and word != "all":
                found.append(("join", py.string(word)))
            elif modifier.name == "on-fail" and word != "fail-fast":
                found.append(("on_fail", py.string(word)))
            elif modifier.name == "count":
                found.append(("count", self.emit(value).node))
        return found

    # --- nested functions ---------------------------------------------------------------------------------------

    def _function(self, unit: Unit, name: str, parameters: list[str], returns: str, body: str) -> str:
        """A nested function; in a loop it takes what it uses of the loop's names as default arguments."""
        defaults = [f"{v.python}: Value = {self._at_definition(v)}" for v in self._loop_variables(unit)]
        if defaults:
            self.used.add("Value")
        return self.templates.render(
            "function", name=name, parameters=[*parameters, *defaults], returns=returns, body=body
        )

    def _at_definition(self, variable: Variable) -> str:
        return self.renamed.get(variable, variable.python)

    def _loop_variables(self, unit: Unit) -> list[Variable]:
        if unit.loop is None or unit.parent is None or unit.loop.unit is not unit.parent:
            return []
        found = []
        for variable in self.read_in.get(unit, ()):
            home = variable.home
            if home is None or variable.kind == "catch" or unit is home or not unit.within(home):
                continue
            if unit.parent is home and any(_share_loop(write.loop, unit.loop, home) for write in variable.writes):
                found.append(variable)
        return found

    @property
    def read_in(self) -> dict[Unit, list[Variable]]:
        """The plain Python variables that a nested function, or one nested in it, reads."""
        if self._read_in is None:
            table: dict[Unit, dict[Variable, None]] = {}
            for variable in dict.fromkeys(self.analysis.variables.values()):
                if not self.is_local(variable):
                    continue
                for read in variable.reads:
                    unit: Unit | None = read.unit
                    while unit is not None and unit is not variable.home and read.variable is variable:
                        table.setdefault(unit, {})[variable] = None
                        unit = unit.parent
            self._read_in = {unit: list(variables) for unit, variables in table.items()}
        return self._read_in

    _read_in: dict[Unit, list[Variable]] | None = None

    def _pipeline_call(self, node: nodes.Pipeline, keywords: list[tuple[str, cst.BaseExpression]]) -> cst.Call:
        source = self.emit(node.source).node
        about = next((py.code(value) for key, value in keywords if key in ("let", "const", "assign", "output")), "")
        stages = [(stage.operator.text, self._stage(stage, about.strip("'\""))) for stage in node.stages]
        if len(stages) == 1:
            operation, function = stages[0]
            return self.run_call(operation, node, [source, py.name(function)], keywords)
        pairs = [
            cst.Tuple([cst.Element(py.string(operation)), cst.Element(py.name(function))])
            for operation, function in stages
        ]
        return self.run_call("pipeline", node, [source, *pairs], keywords)

    def _stage(self, stage: nodes.Stage, about: str) -> str:
        verb = {"filter": "keep", "pmap": "map", "reduce": "merge"}.get(stage.operator.text, stage.operator.text)
        unit = self.analysis.units[stage]
        name = self.names.function(unit, f"{verb}_{about or 'item'}")
        names = [part.text for part in stage.names] or ["item"]
        variables = [self.analysis.variables[stage, part] for part in names]
        returns = "Value"
        with _Inside(self, unit):
            if isinstance(stage.body, nodes.Discretion):
                question = self.analysis.questions[stage.body]
                if question.plain is None:
                    returns = "bool"
                    body = self.templates.render("return", value=py.code(self.truth(stage.body, "keep").node))
                else:
                    body = self.bind(RETURN, self.truth(stage.body, "keep"))
            else:
                body = self.suite(stage.body.statements, stage.body, RETURN)
            body = self._items(variables, body)
        self.used.add("Value")
        parameters = [f"{variable.python}: Value" for variable in variables]
        self.before.append(self._function(unit, name, parameters, returns, body))
        return name

    def _items(self, variables: Sequence[Variable | None], body: str) -> str:
        """Loop items that a called block looks up by name are told to the run first."""
        told = [
            py.code(self.run_call("item", None, [py.string(v.name), py.name(v.python)]))
            for v in variables
            if v is not None and (v.by_name or not self.is_local(v))
        ]
        return "\n".join([*told, body])

    # --- loops --------------------------------------------------------------------------------------------------

    def _owned(self, node: nodes.Node, name: nodes.Name | None) -> Variable | None:
        return self.analysis.variables.get((node, name.text)) if name is not None else None

    def _used(self, variable: Variable | None) -> str:
        """The Python name of what a loop owns, `_` when nothing reads it."""
        if variable is None:
            return "_"
        needed = self.python_reads(variable) or variable.by_name or not self.is_local(variable)
        return variable.python if needed else "_"

    def _repeat(self, node: nodes.Repeat, target: Target | None) -> str:
        index = self._owned(node, node.index)
        rounds = self.run_call("rounds", node, [self.emit(node.count).node])
        body = self._items([index], self.suite(node.body.statements, node.body))
        text = self.templates.render("repeat", index=self._used(index), rounds=py.code(rounds), body=body)
        return self._then_nothing(text, target)

    def _loop(self, node: nodes.Loop, target: Target | None) -> str:
        index = self._owned(node, node.index)
        limit = [("max", self.emit(node.max).node)] if node.max is not None else []
        rounds = self.run_call("rounds", node, [], limit)
        name = self._used(index)
        first = last = ""
        if node.condition is not None:
            out = self.truth(node.condition, node.kind or "until")
            if node.kind == "while":
                first = py.code(self._not(out).node)
            elif node in self.analysis.continued:
                # A `continue` must not skip the question, so the next round asks it before anything else.
                name = self._round_name(node, index)
                wrapped = self._wrapped(out, 3)
                first = f"{name} > 0 and {py.code(wrapped)}"
            else:
                last = py.code(out.node)
        body = self._items([index], self.suite(node.body.statements, node.body))
        text = self.templates.render(
            "loop", index=name, rounds=py.code(rounds), leave_first=first, leave_last=last, body=body
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

    def _parallel_for(self, node: nodes.For) -> str:
        plan = self.analysis.concurrent[node]
        unit = self.analysis.units[node]
        items = self.emit(node.items).node
        name = self.names.function(unit, f"each_{node.item.text}")
        owned = [v for v in (self._owned(node, node.item), self._owned(node, node.index)) if v is not None]
        carried = plan.carried if plan.split else []
        with _Inside(self, unit):
            body, returns = self._round(node, carried)
            body = self._items(owned, body)
        self.used.add("Value")
        parameters = [f"{variable.python}: Value" for variable in owned]
        function = self._function(unit, name, parameters, returns, body)
        keywords = [*self._modifiers(node.modifiers)]
        if node.index is not None:
            keywords.insert(0, ("index", py.name("True")))
        rounds = self.run_call("parallel_for", node, [items, py.name(name)], keywords)
        rest = ""
        if plan.split:
            outer, self.renamed = self.renamed, {**self.renamed, **{v: v.python for v in carried}}
            rest = self.suite(node.body.statements[plan.prefix :], node.body)
            self.renamed = outer
        return self.templates.render(
            "parallel_for",
            function=function,
            rounds=py.code(rounds),
            rest=rest,
            carried=", ".join(variable.python for variable in carried),
        )

    def _round(self, node: nodes.For, carried: list[Variable]) -> tuple[str, str]:
        """The body of a concurrent round, and what its function returns."""
        plan = self.analysis.concurrent[node]
        statements = node.body.statements
        if plan.split:
            last = statements[plan.prefix - 1]
            if len(carried) == 1 and isinstance(last, nodes.Let) and not last.destructures:
                if self.analysis.variables.get((last, last.targets[0].text)) is carried[0]:
                    return self.suite(statements[: plan.prefix], node, RETURN), "Value"
            body = self.suite(statements[: plan.prefix], node)
            if not carried:
                return body, "None"
            names = ", ".join(py.code(self._carried_value(variable)) for variable in carried)
            values = ", ".join(["Value"] * len(carried))
            returns = f"tuple[{values}]" if len(carried) > 1 else "Value"
            return body + "\n" + self.templates.render("return", value=names), returns
        if plan.prefix == len(statements):
            return self.suite(statements, node.body), "None"
        turn = py.code(cst.Await(self.run_call("turn", statements[plan.prefix])))
        free = self.suite(statements[: plan.prefix], node) + "\n" if plan.prefix else ""
        return free + turn + "\n" + self.suite(statements[plan.prefix :], node.body), "None"

    def _carried_value(self, variable: Variable) -> cst.BaseExpression:
        return py.name(variable.python) if self.is_local(variable) else self.by_name(variable.name).node

    # --- branching ----------------------------------------------------------------------------------------------

    def _if(self, node: nodes.If, target: Target | None) -> str:
        clauses = [
            {
                "condition": py.code(self.truth(clause.condition, "decide").node),
                "body": self.suite(clause.body.statements, clause.body, target),
            }
            for clause in node.clauses
        ]
        otherwise = ""
        after = ""
        if node.otherwise is not None:
            otherwise = self.suite(node.otherwise.statements, node.otherwise, target)
        elif target is not None and target.how == "return":
            after = "\n" + self._nothing_after(target)
        elif target is not None:
            otherwise = self.bind(target, Out(py.name("None"), Kind.LITERAL))
        return self.templates.render("if", clauses=clauses, otherwise=otherwise) + after

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
        options = [
            {
                "label": py.code(py.string(option.label.plain)),
                "body": self.suite(option.body.statements, option.body, target),
            }
            for option in node.options
        ]
        text = self.templates.render("choice", question=py.code(question), options=options)
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
            handles = any(line and not line.startswith("#") for line in handler.split("\n")) and handler != "raise"
        body = self.suite(node.body.statements, node.body, target)
        final = self.suite(node.final.statements, node.final) if node.final is not None else ""
        if not handles and not final:
            # A catch that only throws again catches nothing.
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


class _Inside:
    """While it lasts, what is emitted stands in another function."""

    def __init__(self, statements: Statements, unit: Unit) -> None:
        self.statements = statements
        self.unit = unit

    def __enter__(self) -> None:
        emit = self.statements
        self.outer = emit.unit, emit.before, emit.handling
        emit.unit, emit.before, emit.handling = self.unit, [], []

    def __exit__(self, *_: object) -> None:
        self.statements.unit, self.statements.before, self.statements.handling = self.outer


_DEFINITIONS = (nodes.Agent, nodes.Block, nodes.Use, nodes.ImportSkill, nodes.Broken)
_STATEMENT_VALUES = (nodes.Try, nodes.DoBlock, nodes.Parallel, nodes.Arrow)


def _works(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Session | nodes.Resume | nodes.DoCall | nodes.Pipeline | nodes.Parallel):
        return True
    return any(_works(child) for child in nodes.children(node))


def _share_loop(one: Loop | None, other: Loop | None, unit: Unit) -> bool:
    """Whether two places in one function are in the same loop of it."""
    around = set()
    while one is not None and one.unit is unit:
        around.add(one)
        one = one.parent
    while other is not None and other.unit is unit:
        if other in around:
            return True
        other = other.parent
    return False


def _needs_branch_calls(node: nodes.Parallel) -> bool:
    """Whether branches stand as `run.branch(name, step)`: names mixed with none, or names that Python can't have."""
    named = [branch.name is not None for branch in node.branches]
    if any(named) and not all(named):
        return True
    return any(
        branch.name is not None
        and (not branch.name.text.isidentifier() or branch.name.text in _TAKEN_KEYWORDS or keyword.iskeyword(branch.name.text))
        for branch in node.branches
    )


_TAKEN_KEYWORDS = {"join", "count", "on_fail"}


def is_fixed(text: nodes.Text, analysis: Analysis) -> bool:
    """Whether nothing in a text interpolates."""
    return not any(part in analysis.interpolated for part in text.parts if isinstance(part, nodes.Hole))


def _carried(analysis: Analysis) -> set[Variable]:
    return {variable for plan in analysis.concurrent.values() if plan.split for variable in plan.carried}


__all__ = ["RETURN", "Statements", "Target", "agent_arguments", "is_fixed"]
