"""Suites, and where the values of their statements go: bound to a name, returned, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from prosec.analysis.model import Analysis, Loop, Unit, Variable
from prosec.emit import literals as py
from prosec.emit.comments import Comments, safe
from prosec.emit.expressions import Expressions, Kind, Out
from prosec.emit.layout import STEP, laid_out
from prosec.emit.naming import Names
from prosec.emit.templates import Templates
from prosec.source import Source
from prosec.syntax import nodes


@dataclass(frozen=True, slots=True)
class Target:
    """Where a statement's value goes: bound to a name (`how` is let, const, assign or output), or returned."""

    how: str
    name: str = ""
    variable: Variable | None = None
    place: nodes.Node | None = None
    """The statement that binds."""


RETURN = Target("return")


class Suites(Expressions):
    """Emits suites. Functions that a statement needs are put before it, in `before`."""

    statements: dict[type, Callable[[Any, Target | None], str]]
    """What emits a statement, by its class; other statements are expressions."""

    def __init__(
        self, analysis: Analysis, names: Names, source: Source, templates: Templates, comments: Comments, annotate: bool
    ) -> None:
        super().__init__(analysis, names, source)
        self.templates = templates
        self.comments = comments
        self.annotate = annotate
        self.before: list[str] = []
        self.margin = 0
        """How far the statement that is being emitted will be indented."""
        self.handling: list[str] = []
        """The names of the errors whose handlers are being emitted, innermost last."""
        self.rethrown: set[nodes.Node] = set()
        self.carried = _carried(analysis)
    # --- suites -------------------------------------------------------------------------------------------------

    def suite(self, statements: Sequence[nodes.Node], owner: nodes.Node, target: Target | None = None) -> str:
        """The statements of a suite; the value of the last one goes to `target`."""
        self.margin += STEP
        lines: list[str] = []
        emitted = [item for item in statements if not isinstance(item, _DEFINITIONS)]
        outer = self.before
        for item in emitted:
            last = item is emitted[-1]
            self.before = []
            text = self.statement(item, target if last else None)
            if lines and lines[-1] and (self.before or self.comments.blank_before(item)):
                lines.append("")
            lines.extend(self._above(item))
            for function in self.before:
                lines.extend([function, ""])
            if text:
                lines.append(text)
        self.before = outer
        lines.extend(self.comments.lines_at_end(owner))
        if target is not None and not emitted:
            lines.append(self.bind(target, Out(py.name("None"), Kind.LITERAL)))
        if all(not line.strip() or line.lstrip().startswith("#") for text in lines for line in text.split("\n")):
            lines.append("pass")
        self.margin -= STEP
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
            return self._lifted(node, target)
        emit = self.statements.get(type(node))
        if emit is not None:
            return emit(node, target)
        return self.store(node, target)

    def _lifted(self, node: nodes.Node, target: Target | None) -> str:
        """A construct too deep for Python to nest, as a function of its own that is called at once."""
        unit = self.analysis.units[node]
        name = self.names.function(unit, f"inner_{type(node).__name__.lower()}")
        inside = None if target is None else RETURN
        with Inside(self, unit):
            self.margin += STEP
            body = self.statements[type(node)](node, inside)
            self.margin -= STEP
        self.before.append(self._function(unit, name, [], "Value" if inside else "None", body))
        if target is None:
            return f"await {name}()"
        self.used.add("Value")
        return self.bind(target, Out(cst.Await(py.call(py.name(name))), Kind.VALUE, 8))

    # --- values into targets ------------------------------------------------------------------------------------

    def store(self, node: nodes.Node, target: Target | None) -> str:
        """An expression whose value goes to a target (or nowhere)."""
        if isinstance(node, STATEMENT_VALUES):
            return self.statements[type(node)](node, target)
        if isinstance(node, nodes.Session | nodes.Resume | nodes.Discretion | nodes.Pipeline):
            return self._stored_call(node, target)
        if target is None:
            if not isinstance(node, nodes.DoCall | nodes.Call) and not works(node):
                return ""
            construct = _TEMPLATES.get(type(node), "value")
            return self.assigned(construct, None, self.emit(node).node)
        return self.bind(target, self.emit(node))

    def _stored_call(self, node: nodes.Node, target: Target | None) -> str:
        """A session or pipeline, which takes the name that it binds itself."""
        named = isinstance(node, nodes.Session) and node.name is not None
        if target is None or target.how == "return" or named:
            out = self.emit(node)
            if target is not None:
                return self.bind(target, out)
            if isinstance(node, nodes.Session) and node.name is not None:
                return self.assigned("session", self.analysis.variables[node, node.name.text], out.node)
            return self.assigned(_TEMPLATES[type(node)], None, out.node)
        call = self.step(node, [(target.how, py.string(target.name))])
        return self.assigned(_TEMPLATES[type(node)], target.variable, cst.Await(call))

    def bind(self, target: Target, out: Out) -> str:
        """`x = run.let("x", value)` and its like, or `return value`."""
        if target.how == "return":
            return self.templates.render("return", value=laid_out(self.lifted(out).node, self.margin, "return "))
        construct = "let" if target.how == "const" else target.how
        return self.assigned(construct, target.variable, self._binding(target, out))

    def _binding(self, target: Target, out: Out) -> cst.BaseExpression:
        return self.run_call(target.how, target.place, [py.string(target.name), out.node])

    def assigned(self, construct: str, variable: Variable | None, value: cst.BaseExpression) -> str:
        """A statement that computes or awaits a value, kept under its Python name where some code reads it."""
        name = variable.python if variable is not None and self._kept(variable) else ""
        code = laid_out(value, self.margin, f"{name} = " if name else "")
        return self.templates.render(construct, target=name, value=code)

    def header(self, keyword: str, condition: Out) -> str:
        """The condition of an `if` or the like, laid out behind its keyword."""
        return laid_out(condition.node, self.margin, f"{keyword} ", ":").removesuffix(":")

    def _kept(self, variable: Variable) -> bool:
        """Whether what is bound here is read by its Python name."""
        if self.is_local(variable):
            return self.python_reads(variable) or self._carries(variable)
        return self.unit is not None and self.is_local_in(variable, self.unit)

    def _carries(self, variable: Variable) -> bool:
        return variable in self.carried

    def step(self, node: nodes.Node, keywords: list[tuple[str, cst.BaseExpression]]) -> cst.Call:
        """The call that makes a step, not awaited."""
        raise TypeError(f"no step: {type(node).__name__}")

    def _unpacked(self, variables: list[Variable | None]) -> str:
        """The left side of an unpacking; nothing when no Python code reads any of it."""
        names = [v.python if v is not None and self._kept(v) else "_" for v in variables]
        if all(name == "_" for name in names):
            return ""
        return f"({names[0]},)" if len(names) == 1 else ", ".join(names)

    def _owned(self, node: nodes.Node, name: nodes.Name | None) -> Variable | None:
        return self.analysis.variables.get((node, name.text)) if name is not None else None

    def _used(self, variable: Variable | None) -> str:
        """The Python name of what a loop owns, `_` when nothing reads it."""
        if variable is None:
            return "_"
        needed = self.python_reads(variable) or variable.by_name or not self.is_local(variable)
        return variable.python if needed else "_"

    # --- nested functions ---------------------------------------------------------------------------------------

    def _function(self, unit: Unit, name: str, parameters: list[str], returns: str, body: str) -> str:
        """A nested function; in a loop it takes what it uses of the loop's names as default arguments."""
        defaults = []
        for variable in self._captured(unit):
            kind = "ProseError" if variable.kind == "catch" else "Value"
            self.used.add(kind)
            defaults.append(f"{variable.python}: {kind} = {self._at_definition(variable)}")
        return self.templates.render(
            "function", name=name, parameters=[*parameters, *defaults], returns=returns, body=body
        )

    def _at_definition(self, variable: Variable) -> str:
        return self.renamed.get(variable, variable.python)

    def _captured(self, unit: Unit) -> list[Variable]:
        """What a nested function must take as it is where the function stands: names that the loop around it binds
        anew, and the caught error, which Python unbinds when its handler ends."""
        found = []
        for variable in self.read_in.get(unit, ()):
            home = variable.home
            if home is None or unit.parent is not home:
                continue
            if variable.kind == "catch" or (
                unit.loop is not None and any(_share_loop(write.loop, unit.loop, home) for write in variable.writes)
            ):
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

    def _items(self, variables: Sequence[Variable | None], body: str) -> str:
        """Loop items that a called block looks up by name are told to the run first."""
        told = [
            py.code(self.run_call("item", None, [py.string(v.name), py.name(v.python)]))
            for v in variables
            if v is not None and (v.by_name or not self.is_local(v))
        ]
        return "\n".join([*told, body])


class Inside:
    """While it lasts, what is emitted stands in another function."""

    def __init__(self, statements: Suites, unit: Unit) -> None:
        self.statements = statements
        self.unit = unit

    def __enter__(self) -> None:
        emit = self.statements
        self.outer = emit.unit, emit.before, emit.handling
        emit.unit, emit.before, emit.handling = self.unit, [], []

    def __exit__(self, *_: object) -> None:
        self.statements.unit, self.statements.before, self.statements.handling = self.outer


_DEFINITIONS = (nodes.Agent, nodes.Block, nodes.Use, nodes.ImportSkill, nodes.Broken)
_TEMPLATES: dict[type[nodes.Node], str] = {
    nodes.Session: "session",
    nodes.Resume: "resume",
    nodes.Discretion: "discretion",
    nodes.Pipeline: "pipeline",
    nodes.DoCall: "do_call",
}
STATEMENT_VALUES = (nodes.Try, nodes.DoBlock, nodes.Parallel, nodes.Arrow)


def works(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Session | nodes.Resume | nodes.DoCall | nodes.Pipeline | nodes.Parallel):
        return True
    return any(works(child) for child in nodes.children(node))


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


def _carried(analysis: Analysis) -> set[Variable]:
    return {variable for plan in analysis.concurrent.values() if plan.split for variable in plan.carried}
