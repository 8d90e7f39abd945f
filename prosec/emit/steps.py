"""Steps: what calls a model or a block, alone, in parallel, in pipelines and in concurrent rounds."""

from __future__ import annotations

import keyword

import libcst as cst

from prosec.analysis.model import Variable
from prosec.emit import literals as py
from prosec.emit.expressions import Kind, Out
from prosec.emit.layout import STEP, laid_out
from prosec.emit.sessions import session_arguments
from prosec.emit.suites import RETURN, Inside, Suites, Target, works
from prosec.syntax import nodes


class Steps(Suites):
    """Emits what calls a model or a block, alone or side by side."""

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
        return Out(cst.Await(self.step(node, keywords)), Kind.VALUE, 8)

    def _as_function(self, node: nodes.Node) -> Out:
        """A construct of several statements inside an expression: a function before the statement."""
        unit = self.analysis.units[node]
        name = self.names.function(unit, "value")
        with Inside(self, unit):
            body = self.suite([node], node, RETURN)
        self.before.append(self._function(unit, name, [], "Value", body))
        self.used.add("Value")
        return Out(cst.Await(py.call(py.name(name))), Kind.VALUE, 8)

    def step(self, node: nodes.Node, keywords: list[tuple[str, cst.BaseExpression]]) -> cst.Call:
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
        if list(given) != [name for name in names if name in given] and _count_working(node) > 1:
            # Arguments that work do so in written order.
            scope = self.analysis.blocks[node.name.text]
            python = {variable.name: variable.python for variable in scope.parameters}
            return py.call(function, [py.name("run")], [(python[name], given[name]) for name in given])
        return py.call(function, [py.name("run"), *(given[name] for name in names)])

    # --- parallel -----------------------------------------------------------------------------------------------

    def _parallel(self, node: nodes.Parallel, target: Target | None) -> str:
        commented = any(branch in self.comments.above for branch in node.branches) or node in self.comments.end
        if target is not None:
            for branch in node.branches:
                self.before.extend(line for line in self.comments.lines_above(branch) if line)
            return self.bind(target, self.work(node))
        variables = [
            self.analysis.variables.get((branch, branch.name.text)) if branch.name is not None else None
            for branch in node.branches
        ]
        left = self._unpacked(variables)
        if commented:
            return self._commented_parallel(node, left)
        call = laid_out(cst.Await(self._parallel_call(node)), self.margin, f"{left} = " if left else "")
        return self.templates.render("parallel", target=left, call=call)

    def _commented_parallel(self, node: nodes.Parallel, left: str) -> str:
        """A parallel with comments at its branches, which stay there."""
        branches = []
        for branch, argument in zip(node.branches, self._parallel_call(node).args, strict=False):
            key = f"{argument.keyword.value}=" if argument.keyword is not None else ""
            step = key + laid_out(argument.value, self.margin + STEP, key, ",")
            branches.append({"step": step, "comments": [c for c in self.comments.lines_above(branch) if c]})
        return self.templates.render(
            "parallel",
            target=left,
            call="",
            run=self.marked("run", node),
            branches=branches,
            comments=self.comments.lines_at_end(node),
            modifiers=[f"{key}={py.code(value)}" for key, value in self._modifiers(node.modifiers)],
        )

    def _parallel_call(self, node: nodes.Parallel) -> cst.Call:
        """A parallel as one step."""
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
        call = self.run_call("parallel", node, positional, [*keywords, *self._modifiers(node.modifiers)])
        if all(isinstance(step, cst.Name) for step in (*positional, *(step for _, step in keywords))):
            return call
        # A line for each branch: the script's lines tell which line of the program something happened on.
        *first, last = call.args
        return call.with_changes(args=[*first, last.with_changes(comma=cst.Comma())])

    def _branch(self, branch: nodes.Branch, position: int) -> cst.BaseExpression:
        """One branch as a step, or as the function that it becomes."""
        unit = self.analysis.units.get(branch)
        if unit is None:
            if isinstance(branch.body, nodes.Parallel):
                return self._parallel_call(branch.body)
            return self.step(branch.body, [])
        name = self.names.function(unit, f"branch_{branch.name.text if branch.name is not None else position}")
        with Inside(self, unit):
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

    # --- pipelines ----------------------------------------------------------------------------------------------

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
        with Inside(self, unit):
            if isinstance(stage.body, nodes.Discretion):
                question = self.analysis.questions[stage.body]
                if question.plain is None:
                    returns = "bool"
                    body = self.templates.render("return", value=py.code(self.truth(stage.body, "keep").node))
                else:
                    body = self.bind(RETURN, self.truth(stage.body, "keep"))
            elif stage in self.analysis.turns:
                body = self._in_turn(stage.body, self.analysis.turns[stage], RETURN)
            else:
                body = self.suite(stage.body.statements, stage.body, RETURN)
            body = self._items(variables, body)
        self.used.add("Value")
        parameters = [f"{variable.python}: Value" for variable in variables]
        self.before.append(self._function(unit, name, parameters, returns, body))
        return name

    # --- parallel for -------------------------------------------------------------------------------------------

    def _parallel_for(self, node: nodes.For) -> str:
        plan = self.analysis.concurrent[node]
        unit = self.analysis.units[node]
        items = self.emit(node.items).node
        name = self.names.function(unit, f"each_{node.item.text}")
        owned = [v for v in (self._owned(node, node.item), self._owned(node, node.index)) if v is not None]
        carried = plan.carried if plan.split else []
        with Inside(self, unit):
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
            bound = isinstance(last, nodes.Let) and self.analysis.variables.get((last, last.targets[0].text))
            if len(carried) == 1 and isinstance(last, nodes.Let) and not last.destructures and bound is carried[0]:
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
        return self._in_turn(node.body, plan.prefix), "None"

    def _in_turn(self, body: nodes.Suite, first: int, target: Target | None = None) -> str:
        """A concurrent body that waits for its turn before the statement `first`."""
        statements = body.statements
        turn = py.code(cst.Await(self.run_call("turn", statements[first])))
        free = self.suite(statements[:first], body.statements[0]) + "\n" if first else ""
        return free + turn + "\n" + self.suite(statements[first:], body, target)

    def _carried_value(self, variable: Variable) -> cst.BaseExpression:
        return py.name(variable.python) if self.is_local(variable) else self.by_name(variable.name).node


def _count_working(node: nodes.DoCall) -> int:
    return sum(works(argument.value) for argument in node.arguments)


def _needs_branch_calls(node: nodes.Parallel) -> bool:
    """Whether branches stand as `run.branch(name, step)`: names mixed with none, or names that Python can't have."""
    named = [branch.name is not None for branch in node.branches]
    if any(named) and not all(named):
        return True
    return any(
        branch.name is not None
        and (not branch.name.text.isidentifier() or branch.name.text in _TAKEN_KEYWORDS or branch.name.text.startswith("__") or keyword.iskeyword(branch.name.text))
        for branch in node.branches
    )


_TAKEN_KEYWORDS = {"join", "count", "on_fail"}
