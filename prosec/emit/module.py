"""The finished module: definitions, main, the footer; checked, formatted, and mapped back to source lines."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from textwrap import dedent

from prosec.analysis.model import Analysis, Scope
from prosec.emit import literals as py
from prosec.emit.comments import Comments, safe
from prosec.emit.expressions import Kind, Out
from prosec.emit.layout import WIDTH, laid_out
from prosec.emit.naming import RUNTIME_NAMES, Names
from prosec.emit.sessions import agent_arguments
from prosec.emit.statements import Statements, is_fixed
from prosec.emit.suites import RETURN, Target
from prosec.emit.templates import Templates
from prosec.plan import plan
from prosec.source import Source
from prosec.syntax import nodes

_PIECE = 76


class ModuleError(Exception):
    """The emitted module is not what it must be: a defect of prosec, never of a program."""


class Module:
    """Emits one program."""

    def __init__(self, program: nodes.Program, analysis: Analysis, source: Source, annotate: bool) -> None:
        self.program = program
        self.analysis = analysis
        self.source = source
        self.names = Names(analysis)
        self.templates = Templates()
        self.comments = Comments(program, source)
        self.emit = Statements(analysis, self.names, source, self.templates, self.comments, annotate)

    def text(self, file: str, version: str, runtime: str) -> str:
        """The script, formatted, with its footer."""
        import black
        from black.mode import TargetVersion

        definitions = [
            {"text": self._definition(item), "is_function": isinstance(item, nodes.Block)}
            for item in self._definitions()
        ]
        body = self.emit.suite(self.program.statements, self.program)
        inputs, outputs = self._inputs(), self._outputs()
        used = self.emit.used | {"Program", "Run"}
        if self.analysis.blocks:
            used.add("Value")
        digest = hashlib.sha256(self.source.text.encode("utf-8", "surrogatepass")).hexdigest()
        marked = self.templates.render(
            "module",
            version=version,
            file=_visible(file),
            sha256=digest,
            runtime=runtime,
            docstring=self._docstring(self.comments.opening) or py.code(py.string(_visible(file) + ".")),
            imports=_import([name for name in RUNTIME_NAMES if name in used]),
            path=py.code(py.string(file)),
            inputs=inputs,
            outputs=outputs,
            definitions=definitions,
            body=body,
            source='""',
            lines='""',
            statements='""',
        )
        lines = py.marks(marked)
        plain = py.unmarked(marked).replace(py.BREAK, "\n") + "\n"
        # What is emitted is Python 3.11; black need not try other grammars.
        mode = black.Mode(target_versions={TargetVersion.PY311})
        formatted = black.format_str(plain, mode=mode)
        return self._with_footer(formatted, lines)

    # --- definitions --------------------------------------------------------------------------------------------

    def _definitions(self) -> Iterator[nodes.Agent | nodes.Block]:
        for node in self.program.statements:
            if isinstance(node, nodes.Agent | nodes.Block):
                yield node

    def _definition(self, node: nodes.Agent | nodes.Block) -> str:
        earlier, own, inside = self.comments.directly_above(node)
        if isinstance(node, nodes.Agent):
            self.emit.unit = None
            name = self.names.agents[node.name.text]
            agent = laid_out(agent_arguments(self.emit, node), 0, f"{name} = ")
            self.emit.unit = self.analysis.main
            return self.templates.render(
                "agent", comments=[*earlier, *([""] if earlier and own else []), *own, *inside], name=self.names.agents[node.name.text], agent=agent
            )
        return self._block(node, [*earlier, *inside], own)

    def _block(self, node: nodes.Block, earlier: Sequence[str], comments: Sequence[str]) -> str:
        scope = self.analysis.blocks[node.name.text]
        self.emit.unit = self.analysis.units[node]
        parameters = [variable.python for variable in scope.parameters]
        options = [py.code(py.string(node.name.text))]
        if node.max_depth is not None:
            options.append(f"max_depth={py.code(py.number(node.max_depth.value))}")
        if any(variable.python != variable.name for variable in scope.parameters):
            names = py.listing([py.string(variable.name) for variable in scope.parameters])
            options.append(f"parameters={py.code(names)}")
        body = self._block_body(node, scope)
        self.emit.unit = self.analysis.main
        self.emit.used.add("Value")
        return self.templates.render(
            "block",
            comments=earlier,
            options=", ".join(options),
            name=self.names.blocks[node.name.text],
            parameters=["run: Run", *(f"{name}: Value" for name in parameters)],
            docstring=self._docstring(comments),
            body=body,
        )

    def _block_body(self, node: nodes.Block, scope: Scope) -> str:
        """A block returns its named outputs' values, or the value of its last statement."""
        statements = node.body.statements
        told = self.emit._items([v for v in scope.parameters if len(v.writes) > 1 and not v.forced], "")
        if not scope.outputs_named:
            return told + self.emit.suite(statements, node.body, RETURN)
        last = statements[-1] if statements else None
        if len(scope.outputs_named) == 1 and isinstance(last, nodes.Output) and last.name is not None:
            return self.emit.suite(statements, node.body, RETURN)
        body = self.emit.suite(statements, node.body)
        outputs = self._outputs_of(node)
        return body if isinstance(last, nodes.Return | nodes.Throw) else body + "\n" + outputs

    def _outputs_of(self, node: nodes.Block) -> str:
        self.emit.unit = self.analysis.units[node]
        outputs = self.emit.outputs()
        return self.emit.bind(Target("return"), outputs or Out(py.name("None"), Kind.LITERAL))

    def _docstring(self, comments: Sequence[str]) -> str:
        """Comments as a docstring literal; empty when they say nothing."""
        lines = [safe(text).removeprefix("#").removeprefix(" ").rstrip() for text in comments]
        # Lines of `====` frame a title in a comment; a docstring's first line is the title.
        while lines and not lines[0].strip("#=-*_~ "):
            lines.pop(0)
        while lines and not lines[-1].strip("#=-*_~ "):
            lines.pop()
        text = "\n".join([*lines[:1], *dedent("\n".join(lines[1:])).split("\n")]).strip()
        if not text:
            return ""
        return py.code(py.docstring(text))

    # --- declarations -------------------------------------------------------------------------------------------

    def _inputs(self) -> list[str]:
        found: dict[str, str] = {}
        for node in _all_nodes(self.program):
            if isinstance(node, nodes.Input) and node.name is not None:
                arguments = [py.string(node.name.text)]
                text = node.description
                if isinstance(text, nodes.Text) and text.plain and is_fixed(text, self.analysis):
                    arguments.append(py.string(text.plain, multiline=text.triple))
                found.setdefault(node.name.text, ", ".join(py.code(argument) for argument in arguments))
        return list(found.values())

    def _outputs(self) -> list[str]:
        names = [
            node.name.text
            for node in _all_nodes(self.program, blocks=False)
            if isinstance(node, nodes.Output) and node.name is not None
        ]
        return [py.code(py.string(name)) for name in dict.fromkeys(names)]

    # --- the footer ---------------------------------------------------------------------------------------------

    def _with_footer(self, formatted: str, source_lines: list[int]) -> str:
        """Put the source and the line maps into the formatted script."""
        tree = _parsed(formatted)
        blocks = set(self.names.blocks.values())
        calls = list(_marked_calls(tree, blocks))
        if len(calls) != len(source_lines):
            raise ModuleError(f"{len(calls)} calls in the script, {len(source_lines)} in the program")
        pairs = dict.fromkeys(zip(calls, source_lines, strict=True))
        lines = [f"{line}:{source}" for line, source in pairs]
        statements = [f"{first}-{last}:{kind}" for first, last, kind in _listed(self.program, self.source)]
        traits = plan(self.program, self.analysis, self.source).traits
        head, _, _ = formatted.rpartition("program.source(")
        text = self.source.text
        # Built in black's own form: an argument a line, and long strings in pieces that a diff can show.
        footer = (
            "program.source(\n    "
            + py.code(py.string(text, multiline=True)).replace(py.BREAK, "\n")
            + ",\n    lines="
            + _pieces(lines)
            + ",\n    statements="
            + _pieces(statements)
            + (",\n    traits=" + py.code(py.string(traits)) if traits else "")
            + ',\n)\n\nif __name__ == "__main__":\n    program.cli()\n'
        )
        script = head + footer
        compile(script, "<emitted>", "exec", dont_inherit=True)
        return script


def _import(names: list[str]) -> str:
    """The import of what a script needs, in black's form."""
    line = "from prose_runtime import " + ", ".join(names)
    if len(line) <= WIDTH:
        return line
    return "from prose_runtime import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def _visible(text: str) -> str:
    """A file's name in a comment: visible characters, and nothing that looks like a declaration of an encoding."""
    text = text.replace("coding:", "coding ").replace("coding=", "coding ")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ModuleError(f"the script is not Python: {error}") from error


_UNMARKED = {"item", "bound", "filled", "outputs", "branch", "latest"}


def _marked_calls(tree: ast.Module, blocks: set[str]) -> Iterator[int]:
    """The lines of the calls that carried a mark, in the order of the text."""
    found: list[tuple[int, int, int]] = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute):
                base = function.value
                if isinstance(base, ast.Name) and base.id == "run" and function.attr not in _UNMARKED:
                    found.append((function.lineno, base.col_offset, node.lineno))
            elif isinstance(function, ast.Name) and function.id in blocks:
                found.append((function.lineno, function.col_offset, node.lineno))
        stack.extend(ast.iter_child_nodes(node))
    for _, _, line in sorted(found):
        yield line


def _pieces(items: list[str]) -> str:
    """A space-separated string as adjacent literals of readable length."""
    pieces: list[str] = []
    current = ""
    for item in items:
        if current and len(current) + len(item) + 1 > _PIECE:
            pieces.append(current + " ")
            current = ""
        current = f"{current} {item}" if current else item
    pieces.append(current)
    if len(pieces) == 1:
        return py.code(py.string(pieces[0]))
    return "\n    ".join(py.code(py.string(piece)) for piece in pieces)


def _all_nodes(program: nodes.Program, *, blocks: bool = True) -> Iterator[nodes.Node]:
    """The nodes of a program in written order; without `blocks`, those of the root's own statements."""
    stack: list[nodes.Node] = [program]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Block) and not blocks:
            continue
        yield node
        stack.extend(reversed(list(nodes.children(node))))


_KINDS: dict[type[nodes.Node], str] = {
    nodes.Use: "use",
    nodes.ImportSkill: "import",
    nodes.Input: "input",
    nodes.Output: "output",
    nodes.Agent: "agent",
    nodes.Block: "block",
    nodes.Session: "session",
    nodes.Resume: "resume",
    nodes.Assign: "assign",
    nodes.DoBlock: "do",
    nodes.DoCall: "do",
    nodes.Parallel: "parallel",
    nodes.Branch: "branch",
    nodes.Repeat: "repeat",
    nodes.For: "for",
    nodes.Loop: "loop",
    nodes.Try: "try",
    nodes.Catch: "catch",
    nodes.Throw: "throw",
    nodes.Choice: "choice",
    nodes.Option: "option",
    nodes.If: "if",
    nodes.Call: "call",
    nodes.Pipeline: "pipeline",
    nodes.Arrow: "arrow",
    nodes.Return: "return",
    nodes.Break: "break",
    nodes.Continue: "continue",
    nodes.Assert: "assert",
}


_LOOPS = nodes.Loop | nodes.Repeat | nodes.For


def _listed(program: nodes.Program, source: Source) -> Iterator[tuple[int, int, str]]:
    """Every statement and clause with its lines and kind, in written order."""
    found: list[tuple[int, int, int, str]] = []

    def add(node: nodes.Node, kind: str) -> None:
        last = max(node.span.start, node.span.end - 1)
        found.append((node.span.start, source.line_of(node.span.start), source.line_of(last), kind))

    def statement(node: nodes.Node) -> None:
        if isinstance(node, nodes.Let):
            add(node, node.keyword)
        elif type(node) in _KINDS:
            add(node, _KINDS[type(node)])
        if isinstance(node, nodes.If):
            for clause in node.clauses[1:]:
                add(clause, "elif")
            if node.otherwise is not None:
                add(node.otherwise, "else")
        if isinstance(node, nodes.Try) and node.final is not None:
            add(node.final, "finally")
        inside(node)

    def inside(node: nodes.Node) -> None:
        for child in nodes.children(node):
            if isinstance(child, nodes.Suite):
                for item in child.statements:
                    statement(item)
            elif isinstance(child, nodes.Branch | nodes.Catch | nodes.Option | nodes.If | nodes.Choice | _LOOPS):
                # (An if, a choice and a loop stand in a suite, or are a branch themselves.)
                statement(child)
            elif isinstance(child, nodes.Try | nodes.Parallel | nodes.DoBlock | nodes.Pipeline | nodes.Arrow):
                if not isinstance(node, nodes.Branch):
                    inside(child)
                else:
                    statement(child)
            elif isinstance(child, nodes.Clause | nodes.Stage):
                inside(child)

    for item in program.statements:
        statement(item)
    for _, first, last, kind in sorted(found, key=lambda entry: entry[0]):
        yield first, last, kind
