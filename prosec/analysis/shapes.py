"""Which shape each value must have, gathered backwards from how it is used; and which values come from a model."""

from __future__ import annotations

from prosec.analysis.model import Analysis, Flow, Shape, Use, Variable
from prosec.analysis.walk import Walker
from prosec.syntax import nodes

_WORKING = (
    nodes.Session,
    nodes.Resume,
    nodes.DoCall,
    nodes.Call,
    nodes.DoBlock,
    nodes.Arrow,
    nodes.Pipeline,
    nodes.Parallel,
    nodes.Try,
    nodes.Discretion,
)


def settle_shapes(walker: Walker) -> None:
    """Give every variable and every block's result the shape that its uses ask for (a fixed point).

    Uses only ever grow, so this ends; each round costs time linear in the number of uses, and there are as many
    rounds as the longest chain of values handed on unchanged.
    """
    analysis = walker.analysis
    variables = _variables(walker)
    bound = [
        (target, analysis.variables[node, name])
        for node, target in walker.target_uses.items()
        for name in _bound_names(node)
        if (node, name) in analysis.variables and not _is_part(node, analysis.variables[node, name], analysis)
    ]
    changed = True
    while changed:
        changed = False
        for variable in variables:
            for read in variable.reads:
                changed |= variable.shape.add(_shape(read.use))
        for scope, use in walker.result_uses:
            changed |= scope.shape.add(_shape(use))
        for target, scope, name in walker.result_flows:
            shape = scope.shape if name is None else scope.shape.fields.get(name)
            changed |= shape is not None and target.add(shape)
        for target, variable in bound:
            changed |= target.add(variable.shape)
        for target, use, name in walker.handed_on:
            part = _shape(use) if name is None else _shape(use).fields.get(name)
            changed |= part is not None and target.add(part)
        for items, variable in walker.item_uses:
            changed |= items.add(variable.shape)
        for items, use in walker.item_flows:
            of_whole = _shape(use).item
            changed |= of_whole is not None and items.add(of_whole)
        for scope, name, target in walker.parameter_uses:
            if name in scope.names:
                changed |= target.add(scope.names[name].shape)


def shape_of(analysis: Analysis, node: nodes.Node) -> Shape:
    """What the value of a session must be, all its uses taken together."""
    shape = Shape()
    for use in analysis.shapes.get(node, ()):
        shape.add(_shape(use))
    return shape


def _shape(use: Use) -> Shape:
    if isinstance(use, Flow):
        return use.target.shape
    return use


def _is_part(node: nodes.Node, variable: Variable, analysis: Analysis) -> bool:
    """Whether a binding takes a part of the variable's own value (`x = x.next`), whose shape is another's."""
    value = node.value if isinstance(node, nodes.Let | nodes.Assign | nodes.Output) else None
    part = value
    while isinstance(part, nodes.Field | nodes.Index):
        part = part.value
    read = analysis.reads.get(part) if part is not None and part is not value else None
    return read is not None and read.variable is variable


def _bound_names(node: nodes.Node) -> list[str]:
    if isinstance(node, nodes.Let):
        return [target.text for target in node.targets]
    if isinstance(node, nodes.Assign):
        return [node.target.text]
    if isinstance(node, nodes.Output | nodes.Branch) and node.name is not None:
        return [node.name.text]
    return []


def _variables(walker: Walker) -> list[Variable]:
    return list(dict.fromkeys(variable for variable, _ in walker.writes))


# --- results -----------------------------------------------------------------------------------------------------


def settle_results(walker: Walker) -> None:
    """Mark the variables whose value may come from a model: those that a prompt may interpolate as a *result*."""
    analysis = walker.analysis
    depends: dict[Variable, list[Variable]] = {}
    queue: list[Variable] = []
    for variable in _variables(walker):
        for write in variable.writes:
            if _works(write.value) or variable.kind == "catch":
                if not variable.result:
                    variable.result = True
                    queue.append(variable)
                continue
            for read in _reads(write.value, analysis):
                if read is None:
                    variable.result = True
                    queue.append(variable)
                else:
                    depends.setdefault(read, []).append(variable)
    while queue:
        for dependent in depends.get(queue.pop(), ()):
            if not dependent.result:
                dependent.result = True
                queue.append(dependent)


def _works(node: nodes.Node | None) -> bool:
    """Whether a value is the outcome of work, wherever in an expression that stands."""
    stack = [node] if node is not None else []
    while stack:
        item = stack.pop()
        if isinstance(item, _WORKING):
            return True
        stack.extend(nodes.children(item))
    return False


def _reads(node: nodes.Node | None, analysis: Analysis) -> list[Variable | None]:
    """The variables that an expression reads; None for a name that a block left or an agent's."""
    found: list[Variable | None] = []
    stack = [node] if node is not None else []
    while stack:
        item = stack.pop()
        if isinstance(item, nodes.Hole) and item not in analysis.interpolated:
            continue
        if isinstance(item, nodes.Ref) and item in analysis.reads:
            read = analysis.reads[item]
            found.append(read.variable or read.root)
        stack.extend(nodes.children(item))
    return found


def interpolates_result(text: nodes.Node, analysis: Analysis) -> bool:
    """Whether a text (or an expression that makes one) contains the value of a result."""
    return any(variable is None or variable.result for variable in _reads(text, analysis))
