"""Checks on names as a whole: clashes between name spaces, unused variables, definitions, agents, arguments."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.model import Analysis, Variable
from prosec.analysis.spelling import closest
from prosec.diagnostics import Diagnostic, Edit, Fix, Related
from prosec.source import Span
from prosec.syntax import nodes
from prosec.syntax.tokens import RESERVED


def check_names(analysis: Analysis, broken: set[str], lost: bool) -> None:
    """Report clashes, unused variables, unknown agents, blocks and programs, and wrong arguments."""
    _clashes(analysis)
    _unused(analysis, lost)
    for scope in [analysis.root, *analysis.blocks.values()]:
        for site in scope.calls:
            _arguments(site.node, analysis, broken)


def _clashes(analysis: Analysis) -> None:
    owners: dict[str, tuple[str, nodes.Name]] = {name: ("agent", a.name) for name, a in analysis.agents.items()}
    for name, scope in analysis.blocks.items():
        if scope.block is None:
            continue
        if name in owners:
            what, other = owners[name]
            analysis.diagnostics.append(_clash("block", scope.block.name, what, other))
        else:
            owners[name] = ("block", scope.block.name)
    for scope in [analysis.root, *analysis.blocks.values()]:
        for name, variable in scope.names.items():
            if name in owners:
                what, other = owners[name]
                analysis.diagnostics.append(
                    _clash("variable", nodes.Name(variable.span, name), what, other)
                    if variable.span.start > other.span.start
                    else _clash(what, other, "variable", nodes.Name(variable.span, name))
                )
            root = analysis.root.names.get(name)
            if variable.kind == "parameter" and root is not None and root.kind != "output":
                analysis.diagnostics.append(
                    Diagnostic(
                        "W012",
                        f"parameter '{name}' hides the program's '{name}'",
                        variable.span,
                        help="choose another name if the block needs both",
                        related=(Related("the hidden one", root.span),),
                    )
                )


def _clash(what: str, name: nodes.Name, other: str, first: nodes.Name) -> Diagnostic:
    return Diagnostic(
        "W012",
        f"{what} '{name.text}' has the name of {'an' if other == 'agent' else 'a'} {other}",
        name.span,
        help="they are told apart, but readers may not: choose another name",
        related=(Related(f"the {other}", first.span),),
    )


def _unused(analysis: Analysis, lost: bool) -> None:
    if lost:
        # What was lost with a broken statement may have used anything.
        return
    # Whoever is told what has happened so far sees every result before it, by name.
    last_told = max((node.span.end for node in analysis.told), default=-1)
    asked = [q.node.span.end for q in analysis.questions.values() if not q.about and q.kind != "session"]
    last_told = max([last_told, *asked])
    for scope in [analysis.root, *analysis.blocks.values()]:
        for name, variable in scope.names.items():
            if variable.reads or variable.by_name or variable.forced or name in analysis.exported:
                continue
            if variable.kind not in ("let", "const", "input") or not _declared(variable) or name in RESERVED:
                continue
            told = variable.result or variable.kind == "input"
            bound = max((write.value.span.end for write in variable.writes if write.value), default=variable.span.end)
            if told and (last_told > bound or scope.block is not None):
                continue
            analysis.diagnostics.append(
                Diagnostic(
                    "W013",
                    f"'{name}' is never used",
                    variable.span,
                    help="use it in a `context:` or an output, or leave the name out",
                )
            )


def _declared(variable: Variable) -> bool:
    return any(write.declares for write in variable.writes)


def _arguments(node: nodes.DoCall, analysis: Analysis, broken: set[str]) -> None:
    name = node.name
    scope = analysis.blocks.get(name.text)
    if scope is None or scope.block is None:
        if name.text in broken or analysis.imports_files:
            return
        near = closest(name.text, analysis.blocks, 0.7)
        if name.text in analysis.agents:
            text = f"'{name.text}' is an agent; start a session of it: `session: {name.text}`"
        elif name.text in analysis.uses:
            text = f"'{name.text}' is an imported program; call it: `{name.text}(...)`"
        else:
            text = f"did you mean '{near}'?" if near else f"define it: `block {name.text}:`"
        analysis.diagnostics.append(
            Diagnostic(
                "E032",
                f"block '{name.text}' is not defined",
                name.span,
                help=text,
                fix=Fix(f"write '{near}'", (Edit(name.span, near),)) if near else None,
            )
        )
        return
    block = scope.block
    names = [parameter.text for parameter in block.parameters]
    first = (Related("the block", block.name.span),)
    given = _given(node, names, analysis, first)
    missing = [parameter for parameter in names if parameter not in given]
    if missing:
        analysis.diagnostics.append(
            Diagnostic(
                "E051",
                f"block '{block.name.text}' needs {_and(missing)}",
                name.span,
                help=f"`do {block.name.text}({', '.join(names)})`",
                related=first,
            )
        )


def _given(
    node: nodes.DoCall, names: list[str], analysis: Analysis, first: tuple[Related, ...]
) -> set[str]:
    given: set[str] = set()
    positions = iter(names)
    for argument in node.arguments:
        if argument.name is None:
            # A parameter named twice, which is an error of its own, takes two arguments.
            parameter = next((name for name in positions if name not in given or names.count(name) > 1), None)
            if parameter is None:
                analysis.diagnostics.append(
                    Diagnostic(
                        "W016",
                        f"block '{node.name.text}' takes {len(names) or 'no'} argument{'s' * (len(names) != 1)}; "
                        "this one has no effect",
                        argument.span,
                        help="leave it out, or add a parameter to the block",
                        related=first,
                    )
                )
            else:
                given.add(parameter)
            continue
        name = argument.name
        if name.text not in names:
            near = closest(name.text, names)
            analysis.diagnostics.append(
                Diagnostic(
                    "E051",
                    f"block '{node.name.text}' has no parameter '{name.text}'",
                    name.span,
                    help=f"did you mean '{near}'?" if near else f"its parameters: {', '.join(names) or 'none'}",
                    related=first,
                    fix=Fix(f"write '{near}'", (Edit(name.span, near),)) if near else None,
                )
            )
            # A misspelt parameter was meant to be given: one mistake, one error.
            given.update([near] if near else names)
        elif name.text in given:
            analysis.diagnostics.append(
                Diagnostic("E051", f"'{name.text}' is given twice", name.span, help="give it once", related=first)
            )
        else:
            given.add(name.text)
    return given


def _and(names: Iterable[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def check_references(analysis: Analysis, broken: set[str]) -> None:
    """Report sessions of unknown agents (E007), calls of unknown programs (E025), and early resumes (W029)."""
    for node in analysis.shapes:
        if isinstance(node, nodes.Session | nodes.Resume) and node.agent is not None:
            name = node.agent.text
            if name not in analysis.agents and name not in broken:
                analysis.diagnostics.append(_unknown_agent(node.agent, analysis))
    _early_resumes(analysis)
    for call in analysis.calls:
        _program_call(call, analysis, broken)


def _early_resumes(analysis: Analysis) -> None:
    """Report a `resume:` that no session of its agent comes before, in the order of execution.

    A block is entered where it is first called; blocks that nothing calls come last.
    """
    if not any(isinstance(node, nodes.Resume) for node in analysis.shapes):
        return
    started: set[str] = set()
    entered: set[str] = set()
    stack: list[nodes.Node] = [
        *(scope.block.body for scope in reversed(analysis.blocks.values()) if scope.block is not None),
        analysis.program,
    ]
    called = {site.node.name.text for scope in analysis.blocks.values() for site in scope.callers}
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Block):
            continue
        if isinstance(node, nodes.Session) and node.agent is not None:
            started.add(node.agent.text)
        elif isinstance(node, nodes.Resume) and node.agent.text in analysis.agents.keys() - started:
            _early_resume(node.agent, analysis)
            started.add(node.agent.text)
        stack.extend(reversed(list(nodes.children(node))))
        if isinstance(node, nodes.DoCall) and node.name.text in analysis.blocks:
            block = analysis.blocks[node.name.text].block
            if block is not None and node.name.text in called and node.name.text not in entered:
                entered.add(node.name.text)
                stack.append(block.body)


def _early_resume(agent: nodes.Name, analysis: Analysis) -> None:
    # E018 is reported with --strict only, and then instead of the warning.
    for code in ("W029", "E018"):
        analysis.diagnostics.append(
            Diagnostic(
                code,
                f"'{agent.text}' is resumed before any session of it",
                agent.span,
                help=f"start with `session: {agent.text}`, unless an earlier run left it a memory",
            )
        )


def _unknown_agent(name: nodes.Name, analysis: Analysis) -> Diagnostic:
    near = closest(name.text, analysis.agents, 0.7)
    if name.text in analysis.blocks:
        text = f"'{name.text}' is a block; invoke it: `do {name.text}(...)`"
    elif near:
        text = f"did you mean '{near}'?"
    else:
        text = f"define it at the top level: `agent {name.text}:`"
    return Diagnostic(
        "E007",
        f"agent '{name.text}' is not defined",
        name.span,
        help=text,
        fix=Fix(f"write '{near}'", (Edit(name.span, near),)) if near else None,
    )


def _program_call(node: nodes.Call, analysis: Analysis, broken: set[str]) -> None:
    name = node.name
    if name.text in analysis.uses or name.text in broken or analysis.imports_files:
        return
    if name.text in analysis.blocks:
        analysis.diagnostics.append(
            Diagnostic(
                "E025",
                f"'{name.text}' is a block, not an imported program",
                name.span,
                help=f"invoke it with `do {name.text}(...)`",
                fix=Fix("write `do`", (Edit(Span(name.span.start, name.span.start), "do "),), safe=True),
            )
        )
        return
    near = closest(name.text, [*analysis.uses, *analysis.blocks], 0.7)
    analysis.diagnostics.append(
        Diagnostic(
            "E025",
            f"no program '{name.text}' is imported",
            name.span,
            help=f"did you mean '{near}'?" if near else f'import it: `use "handle/{name.text}"`',
        )
    )


def output_stops(program: nodes.Program, analysis: Analysis) -> None:
    """Report outputs that look as if they ended the program (W028): in an `if` without else, with more after them."""
    for position, statement in enumerate(program.statements):
        if not isinstance(statement, nodes.If) or statement.otherwise is not None:
            continue
        after = [item for item in program.statements[position + 1 :] if not isinstance(item, _DEFINITIONS)][:1]
        for clause in statement.clauses:
            inside = clause.body.statements
            if inside and isinstance(inside[-1], nodes.Throw):
                continue
            for place, item in enumerate(inside):
                following = [*inside[place + 1 : place + 2], *after]
                if isinstance(item, nodes.Output) and item.name is not None and following:
                    _does_not_stop(item, item.name, following[0], analysis)


_DEFINITIONS = (nodes.Agent, nodes.Block, nodes.Use, nodes.ImportSkill)


def _does_not_stop(output: nodes.Output, name: nodes.Name, following: nodes.Node, analysis: Analysis) -> None:
    analysis.diagnostics.append(
        Diagnostic(
            "W028",
            "output does not stop the program: what follows runs too",
            Span(output.span.start, name.span.end),
            help="put what follows into an `else:`",
            related=(Related("this runs afterwards", _head(following)),),
        )
    )


def _head(node: nodes.Node) -> Span:
    return Span(node.span.start, min(node.span.end, node.span.start + 40))

