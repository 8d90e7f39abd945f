"""What each `**...**` is: a question to the model, or an expression that needs none; and who is told what."""

from __future__ import annotations

import re

from prosec.analysis.model import Analysis, Question, Read, Variable
from prosec.analysis.shapes import interpolates_result
from prosec.source import Span
from prosec.syntax import nodes

_NAME = r"[A-Za-z_]\w*(?:-[A-Za-z0-9]\w*)*"
_SIMPLE = re.compile(
    rf"\s*(?P<not>not\s+)?(?P<path>{_NAME}(?:\.{_NAME})*)"
    rf"(?:\s*(?P<operator>==|!=|<=|>=|<|>|\bis\b)\s*(?P<literal>-?\d+(?:\.\d+)?|\"[^\"]*\"|true|false|null))?\s*",
    re.ASCII,
)


def settle_questions(analysis: Analysis) -> None:
    """Find the conditions that the script evaluates itself."""
    for question in analysis.questions.values():
        if question.kind in ("decide", "until", "while", "keep"):
            question.plain = _plain(question, analysis)


def _plain(question: Question, analysis: Analysis) -> nodes.Expression | None:
    """The expression that a condition is, when its text is one declared name or path (known to be a boolean), or
    compares one with a literal."""
    if any(not isinstance(part, str) for part in question.node.parts):
        return None
    match = _SIMPLE.fullmatch(question.node.plain)
    if match is None:
        return None
    name, *path = match["path"].split(".")
    read = next((read for read in question.about if read.name == name), None)
    if read is None:
        return None
    span = question.node.span
    value: nodes.Expression = nodes.Ref(span, name)
    for field in path:
        value = nodes.Field(span, value, field, span)
    if match["operator"] is not None:
        operator = "==" if match["operator"] == "is" else match["operator"]
        value = nodes.Binary(span, operator, value, _literal(match["literal"], span))
    elif path or not _is_boolean(read, analysis):
        return None
    analysis.reads[_root(value)] = read
    return nodes.Unary(span, "not", value) if match["not"] else value


def _root(node: nodes.Expression) -> nodes.Node:
    while isinstance(node, nodes.Field | nodes.Binary):
        node = node.left if isinstance(node, nodes.Binary) else node.value
    return node


def _literal(text: str, span: Span) -> nodes.Expression:
    if text in ("true", "false"):
        return nodes.Boolean(span, text == "true")
    if text == "null":
        return nodes.Null(span)
    if text.startswith('"'):
        return nodes.Text(span, (text[1:-1],) if len(text) > 2 else (), False)
    if text.startswith("-"):
        return nodes.Unary(span, "-", nodes.Number(span, text[1:]))
    return nodes.Number(span, text)


def _is_boolean(read: Read, analysis: Analysis) -> bool:
    """Whether every value of a variable is known, when compiling, to be a boolean."""
    variable = read.variable or read.root
    return variable is not None and _always_boolean(variable, analysis, set())


def _always_boolean(variable: Variable, analysis: Analysis, seen: set[Variable]) -> bool:
    if variable in seen:
        return True
    seen.add(variable)
    if not variable.writes:
        return False
    for write in variable.writes:
        value = write.value
        if isinstance(value, nodes.Boolean):
            continue
        if isinstance(value, nodes.Unary) and value.operator == "not":
            continue
        if isinstance(value, nodes.Binary) and value.operator in ("==", "!=", "<", "<=", ">", ">=", "in"):
            continue
        if isinstance(value, nodes.Ref) and value in analysis.reads:
            read = analysis.reads[value]
            other = read.variable or read.root
            if other is not None and _always_boolean(other, analysis, seen):
                continue
        return False
    return True


def settle_told(analysis: Analysis) -> None:
    """Find the sessions that are told what has happened so far: no `context:`, and no result in the prompt."""
    for node in analysis.shapes:
        if isinstance(node, nodes.Session):
            texts: list[nodes.Node] = [node.text] if node.text is not None else []
        elif isinstance(node, nodes.Resume):
            texts = []
        else:
            continue
        names = {item.name.text: item.value for item in node.properties}
        if "context" in names:
            continue
        if "prompt" in names:
            texts.append(names["prompt"])
        agent = analysis.agents.get(node.agent.text) if node.agent is not None and not texts else None
        if agent is not None and _prompt_has_result(agent, analysis):
            continue
        if not any(interpolates_result(text, analysis) for text in texts):
            analysis.told.add(node)


def _prompt_has_result(agent: nodes.Agent, analysis: Analysis) -> bool:
    """Whether an agent's prompt, when it is a session's task, contains the value of a result of the program."""
    stack: list[nodes.Node] = [item.value for item in agent.properties if item.name.text == "prompt"]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Hole) and node not in analysis.interpolated:
            continue
        if isinstance(node, nodes.Ref):
            variable = analysis.root.names.get(node.name)
            if variable is not None and variable.result:
                return True
        stack.extend(nodes.children(node))
    return False
