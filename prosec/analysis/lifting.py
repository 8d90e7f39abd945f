"""What becomes a function of its own: branches, concurrent rounds, and what is too deep for Python to nest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prosec.analysis.model import ConcurrentFor, Scope
from prosec.analysis.words import words
from prosec.syntax import nodes

NESTING_LIMIT = 12
"""CPython refuses more than 20 statically nested loops, try and with blocks in one function; a `try` with `except
... as` and `finally` takes up to four of them."""
INDENT_LIMIT = 40
"""Python's tokenizer refuses 100 levels of indentation; `match` takes two."""

_STEPS = (nodes.Session, nodes.Resume, nodes.DoCall, nodes.Pipeline, nodes.Discretion)
_WORKING = (
    nodes.Session,
    nodes.Resume,
    nodes.DoCall,
    nodes.Call,
    nodes.Discretion,
    nodes.Parallel,
    nodes.Pipeline,
    nodes.Try,
    nodes.For,
    nodes.Repeat,
    nodes.Loop,
    nodes.Choice,
    nodes.Input,
    nodes.Output,
    nodes.Throw,
    nodes.Return,
    nodes.Assert,
    nodes.Break,
    nodes.Continue,
)


def needs_function(body: nodes.Node) -> bool:
    """Whether a parallel's branch must be a nested function rather than one step."""
    if isinstance(body, nodes.Parallel):
        return any(needs_function(branch.body) for branch in body.branches)
    if isinstance(body, nodes.Session):
        return body.name is not None
    return not isinstance(body, _STEPS)


def nesting_weight(node: nodes.Node) -> int:
    """How many of CPython's nested blocks a construct can take."""
    return 4 if isinstance(node, nodes.Try) else 0 if isinstance(node, nodes.If | nodes.Choice) else 1


def leaves(node: nodes.Node) -> bool:
    """Whether something in a construct is bound to what is around it: a `return`, a `break` of a loop around it, a
    `throw` of what a catch around it caught."""
    stack: list[tuple[nodes.Node, bool]] = [(node, False)]
    while stack:
        item, in_loop = stack.pop()
        if isinstance(item, nodes.Throw) and item.value is None:
            return True
        if isinstance(item, nodes.Return) or (isinstance(item, nodes.Output) and item.name is None):
            return True
        if isinstance(item, nodes.Break | nodes.Continue) and not in_loop:
            return True
        in_loop = in_loop or isinstance(item, nodes.For | nodes.Repeat | nodes.Loop)
        stack.extend((child, in_loop) for child in nodes.children(item))
    return False


def _descendants(node: nodes.Node) -> Iterator[nodes.Node]:
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(nodes.children(item))


def _bound_names(node: nodes.Node) -> Iterator[str]:
    """The names that one node (not what is in it) gives a value."""
    if isinstance(node, nodes.Assign):
        yield node.target.text
    elif isinstance(node, nodes.Let):
        yield from (target.text for target in node.targets)
    elif isinstance(node, nodes.Branch | nodes.Output | nodes.Session) and node.name is not None:
        yield node.name.text


def _free_names(block: nodes.Block, blocks: Mapping[str, Scope], assigned_only: bool) -> set[str]:
    """Names that a block, or one that it calls, assigns (or also reads) without declaring them."""
    found: set[str] = set()
    seen: set[str] = set()
    queue = [block]
    while queue:
        current = queue.pop()
        if current.name.text in seen:
            continue
        seen.add(current.name.text)
        own = {parameter.text for parameter in current.parameters}
        used: set[str] = set()
        for node in _descendants(current.body):
            if isinstance(node, nodes.Assign):
                used.add(node.target.text)
            elif isinstance(node, nodes.Ref) and not assigned_only:
                used.add(node.name)
            elif isinstance(node, nodes.DoCall):
                callee = blocks.get(node.name.text)
                if callee is not None and callee.block is not None:
                    queue.append(callee.block)
            if not isinstance(node, nodes.Assign):
                own.update(_bound_names(node))
        found |= used - own
    return found


def assigned_names(body: nodes.Suite, blocks: Mapping[str, Scope]) -> tuple[set[str], set[str]]:
    """The names that a suite assigns, in blocks that it calls too, and those that it declares."""
    assigned: set[str] = set()
    declared: set[str] = set()
    for node in _descendants(body):
        (assigned if isinstance(node, nodes.Assign) else declared).update(_bound_names(node))
        if isinstance(node, nodes.DoCall):
            callee = blocks.get(node.name.text)
            if callee is not None and callee.block is not None:
                assigned |= _free_names(callee.block, blocks, assigned_only=True)
    return assigned, declared


def _touches(statement: nodes.Node, names: set[str], blocks: Mapping[str, Scope]) -> bool:
    for node in _descendants(statement):
        if isinstance(node, nodes.Ref) and node.name in names:
            return True
        if isinstance(node, nodes.Discretion) and not names.isdisjoint(words(node.plain)):
            return True
        if not names.isdisjoint(_bound_names(node)):
            return True
        if isinstance(node, nodes.DoCall):
            callee = blocks.get(node.name.text)
            block = callee.block if callee is not None else None
            if block is not None and not names.isdisjoint(_free_names(block, blocks, assigned_only=False)):
                return True
    return False


def read_names(statements: Iterable[nodes.Node]) -> set[str]:
    """The names that statements use as values, in texts too."""
    return {node.name for item in statements for node in _descendants(item) if isinstance(node, nodes.Ref)}


def turn_of(body: nodes.Suite, shared: set[str], blocks: Mapping[str, Scope]) -> int | None:
    """How many statements of a concurrent body run before the first that touches a shared name, if one does."""
    return next((i for i, item in enumerate(body.statements) if _touches(item, shared, blocks)), None)


def split_rounds(node: nodes.For, shared: set[str], blocks: Mapping[str, Scope]) -> ConcurrentFor:
    """Decide how the body of a `parallel for` is emitted, given the outer names that it assigns.

    What stands before the first statement that touches one of them runs freely. The rest becomes an ordinary
    ordered loop when it only computes; when it works (calls a model, loops, can fail on its own) or when failed
    rounds are tolerated, each round waits for its turn instead.
    """
    statements = node.body.statements
    if not shared:
        return ConcurrentFor(len(statements), False)
    first = turn_of(node.body, shared, blocks)
    first = len(statements) if first is None else first
    computes = not any(isinstance(inner, _WORKING) for item in statements[first:] for inner in _descendants(item))
    return ConcurrentFor(first, split=0 < first < len(statements) and computes and not node.modifiers)
