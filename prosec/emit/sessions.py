"""The arguments of `run.session(...)`, `run.resume(...)` and `Agent(...)`: what their properties become."""

from __future__ import annotations

from typing import TypeAlias, TypeGuard

import libcst as cst

from prosec.emit import literals as py
from prosec.emit.expressions import Expressions
from prosec.syntax import nodes

Keywords: TypeAlias = list[tuple[str, cst.BaseExpression]]


def session_arguments(
    emit: Expressions, node: nodes.Session | nodes.Resume
) -> tuple[list[cst.BaseExpression], Keywords]:
    """The prompt, and everything that a session is given besides, in the order that scripts show it."""
    properties = _by_name(node.properties)
    text = node.text if isinstance(node, nodes.Session) else None
    prompt = properties.get("prompt")
    positional: list[cst.BaseExpression] = []
    keywords: Keywords = []
    if prompt is not None and not isinstance(prompt, nodes.Permissions):
        positional.append(emit.prompt(prompt))
    elif text is not None:
        positional.append(emit.text(text))
    if node.agent is not None:
        keywords.append(("agent", py.name(emit.names.agents[node.agent.text])))
    if text is not None and prompt is not None:
        keywords.append(("title", emit.text(text)))
    keywords += _settings(emit, properties)
    if "context" in properties:
        keywords.append(("context", _context(emit, properties["context"])))
    elif node in emit.analysis.told:
        keywords.append(("context", py.attribute(py.name("run"), "so_far")))
    keywords += _retry(emit, properties)
    returns = emit.returns(node)
    if returns is not None:
        keywords.append(("returns", returns))
    return positional, keywords


def agent_arguments(emit: Expressions, node: nodes.Agent) -> cst.Call:
    """`Agent("name", model=..., ...)`; what interpolates waits in a lambda for the session that starts."""
    keywords: Keywords = []
    for item in node.properties:
        keywords += _agent_argument(emit, item)
    emit.used.add("Agent")
    return py.call(py.name("Agent"), [py.string(node.name.text)], keywords)


def _agent_argument(emit: Expressions, item: nodes.Property) -> Keywords:
    name, value = item.name.text, item.value
    by_name = {name: value}
    if name == "prompt" and not isinstance(value, nodes.Permissions):
        prompt = emit.prompt(value)
        return [("prompt", py.thunk(prompt, "run") if _depends(value, emit) else prompt)]
    if name == "persist":
        return _persist(value)
    if name == "permissions" and isinstance(value, nodes.Permissions):
        rules = _permissions(emit, value)
        return [("permissions", py.thunk(rules, "run") if _depends(value, emit) else rules)]
    return _model(by_name) + _skills(emit, by_name)


def _persist(value: nodes.Expression | nodes.Permissions) -> Keywords:
    if isinstance(value, nodes.Boolean):
        return [("persist", py.string("execution"))] if value.value else []
    if isinstance(value, nodes.Ref):
        return [("persist", py.string(value.name))]
    return [("persist", py.string(value.plain))] if isinstance(value, nodes.Text) else []


def _by_name(properties: tuple[nodes.Property, ...]) -> dict[str, nodes.Expression | nodes.Permissions]:
    return {item.name.text: item.value for item in properties}


def _settings(emit: Expressions, properties: dict[str, nodes.Expression | nodes.Permissions]) -> Keywords:
    keywords = _model(properties)
    permissions = properties.get("permissions")
    if isinstance(permissions, nodes.Permissions):
        keywords.append(("permissions", _permissions(emit, permissions)))
    return keywords + _skills(emit, properties)


def _model(properties: dict[str, nodes.Expression | nodes.Permissions]) -> Keywords:
    model = properties.get("model")
    if isinstance(model, nodes.Ref):
        return [("model", py.string(model.name))]
    if isinstance(model, nodes.Text):
        return [("model", py.string(model.plain))]
    return []


def _names(item: nodes.Expression) -> TypeGuard[nodes.Ref | nodes.Text]:
    return isinstance(item, nodes.Ref | nodes.Text)


def _skills(emit: Expressions, properties: dict[str, nodes.Expression | nodes.Permissions]) -> Keywords:
    skills = properties.get("skills")
    if isinstance(skills, nodes.ListLiteral) and skills.items:
        names = [item.name if isinstance(item, nodes.Ref) else item.plain for item in skills.items if _names(item)]
        return [("skills", py.listing([py.string(name) for name in names]))]
    return []


def _permissions(emit: Expressions, node: nodes.Permissions) -> cst.BaseExpression:
    """`Permissions(read=[...], bash="deny")`."""
    emit.used.add("Permissions")
    keywords: Keywords = []
    for rule in node.rules:
        kind, value = rule.name.text, rule.value
        if kind not in ("read", "write", "execute", "network", "bash"):
            continue
        if isinstance(value, nodes.ListLiteral) and kind != "bash":
            keywords.append((kind, py.listing([emit.prompt(item) for item in value.items])))
        else:
            # What is no known word counts as `prompt`, the careful one; checking has said so.
            word = value.name if isinstance(value, nodes.Ref) else ""
            keywords.append((kind, py.string(word if word in ("allow", "deny") else "prompt")))
    return py.call(py.name("Permissions"), [], keywords)


def _retry(emit: Expressions, properties: dict[str, nodes.Expression | nodes.Permissions]) -> Keywords:
    retry = properties.get("retry")
    if not isinstance(retry, nodes.Number) or not retry.value:
        return []
    emit.used.add("Retry")
    backoff = properties.get("backoff")
    keywords: Keywords = []
    if isinstance(backoff, nodes.Ref | nodes.Text):
        word = backoff.name if isinstance(backoff, nodes.Ref) else backoff.plain
        if word != "none":
            keywords.append(("backoff", py.string(word)))
    return [("retry", py.call(py.name("Retry"), [py.number(retry.value)], keywords))]


def _context(emit: Expressions, value: nodes.Expression | nodes.Permissions) -> cst.BaseExpression:
    """`context:` as a dict under the program's own names; a repeated label becomes `file_2`."""
    entries: list[tuple[str, cst.BaseExpression]] = []
    written: set[str] = set()
    if isinstance(value, nodes.ListLiteral):
        written = {_label(item) for item in value.items}
    elif isinstance(value, nodes.ObjectLiteral):
        written = {entry.key for entry in value.entries}
    seen: set[str] = set()

    def add(label: str, item: nodes.Expression) -> None:
        shown, number = label, 2
        while shown in seen or (shown != label and shown in written):
            shown, number = f"{label}_{number}", number + 1
        seen.add(shown)
        entries.append((shown, emit.emit(item).node))

    if isinstance(value, nodes.ListLiteral):
        for item in value.items:
            add(_label(item), item)
    elif isinstance(value, nodes.ObjectLiteral):
        for entry in value.entries:
            add(entry.key, entry.value)
    elif not isinstance(value, nodes.Null | nodes.Permissions):
        add(_label(value), value)
    return py.dictionary(list(entries))


def _label(node: nodes.Expression) -> str:
    """What a value in a `context:` is called: its own last name."""
    if isinstance(node, nodes.Ref | nodes.Field):
        return node.name
    if isinstance(node, nodes.Index):
        return node.index.plain if isinstance(node.index, nodes.Text) else _label(node.value)
    return "text" if isinstance(node, nodes.Text) else "value"


def _depends(node: nodes.Node, emit: Expressions) -> bool:
    """Whether something in a property is known only when a session starts."""
    words: set[nodes.Node] = set()
    if isinstance(node, nodes.Permissions):
        words.update(rule.value for rule in node.rules)
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, nodes.Hole):
            if item in emit.analysis.interpolated:
                return True
            continue
        if isinstance(item, nodes.Ref) and item not in words:
            return True
        stack.extend(nodes.children(item))
    return False
