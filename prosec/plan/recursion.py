"""Blocks that call themselves, alone or round a ring: as deep as a run lets them, and no deeper."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from prosec.analysis.model import Analysis
from prosec.plan.paths import NO_COST, UNBOUNDED, Cost, Exit, Work
from prosec.syntax import nodes

DEPTH: Final = 100
"""How deep a block may call itself where it doesn't say `max_depth`."""
ALL_DEPTH: Final = 1000
"""How deep blocks may call each other in all."""

_EFFORT: Final = 50_000
"""Nodes that are looked at for one ring of blocks before it is given up."""

_TOO_DEEP: Final = Work({Exit.THROWS: NO_COST})
"""A call beyond the depth."""


class Recursion:
    """The rings of blocks in a program, and what its blocks cost."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._rings = _rings(analysis)
        self._known: dict[str, Work] = {}
        self._deeper: dict[str, Work] = {}
        """What the next call of a block in the ring that is being counted costs."""
        self.spine: set[nodes.Node] = set()
        """What holds a call that may lead back to the block it stands in: counted anew at each depth."""
        for ring in set(self._rings.values()):
            for name in ring:
                scope = analysis.blocks[name]
                if scope.block is not None:
                    _mark(scope.block.body, ring, self.spine)

    def call(
        self, name: str, body: Callable[[nodes.Block], Work], unbounded: dict[nodes.Node, str]
    ) -> Work:
        """What a call of a block costs; `body` counts its body, given what calls in it cost."""
        known = self._deeper.get(name) or self._known.get(name)
        if known is None:
            ring = self._rings.get(name)
            if ring is None:
                self._known[name] = body(self._block(name))
            else:
                self._known.update(self._around(ring, body, unbounded))
            known = self._known[name]
        return known

    def _around(
        self,
        ring: frozenset[str],
        body: Callable[[nodes.Block], Work],
        unbounded: dict[nodes.Node, str],
    ) -> dict[str, Work]:
        """Count a ring from its deepest calls up."""
        blocks = {name: self._block(name) for name in sorted(ring)}
        depths = [
            int(block.max_depth.value) if block.max_depth is not None else DEPTH
            for block in blocks.values()
        ]
        depth = min(sum(depths), ALL_DEPTH)
        if depth * sum(_size(block, self.spine) for block in blocks.values()) > _EFFORT:
            return dict.fromkeys(blocks, self._given_up(blocks, unbounded, depth))
        self._deeper.update(dict.fromkeys(blocks, _TOO_DEEP))
        reasons = len(unbounded)
        for _ in range(depth):
            self._deeper.update({name: body(block) for name, block in blocks.items()})
        works = {name: self._deeper.pop(name) for name in blocks}
        highest = [work.highest for work in works.values()]
        most = max(max(cost.most_sessions, cost.most_decisions) for cost in highest)
        if math.isinf(most) and len(unbounded) == reasons:
            self._say(blocks, unbounded, depth)
        return works

    def _given_up(
        self, blocks: dict[str, nodes.Block], unbounded: dict[nodes.Node, str], depth: int
    ) -> Work:
        self._say(blocks, unbounded, depth)
        cost = Cost(0, UNBOUNDED, 0, UNBOUNDED, UNBOUNDED)
        exits = {Exit.FALLS: cost, Exit.THROWS: cost.unplanned}
        return Work(exits, UNBOUNDED, next(iter(blocks.values())))

    def _say(
        self, blocks: dict[str, nodes.Block], unbounded: dict[nodes.Node, str], depth: int
    ) -> None:
        for name, block in blocks.items():
            how = "itself" if len(blocks) == 1 else "itself by way of others"
            unbounded.setdefault(block, f"block '{name}' calls {how}, up to {depth:,} deep")

    def _block(self, name: str) -> nodes.Block:
        block = self._analysis.blocks[name].block
        assert block is not None, "only the root is no block, and nobody calls it"
        return block


def _rings(analysis: Analysis) -> dict[str, frozenset[str]]:
    """Of each block that may call itself, all that lie on a way from it back to it."""
    calls = {
        name: {call.node.name.text for call in scope.calls} & analysis.blocks.keys()
        for name, scope in analysis.blocks.items()
    }
    reached = {name: _reach(name, calls) for name in calls}
    return {
        name: frozenset(other for other in reach if name in reached[other])
        for name, reach in reached.items()
        if name in reach
    }


def _reach(name: str, calls: dict[str, set[str]]) -> set[str]:
    """The blocks that a block calls, directly or by way of others."""
    found: set[str] = set()
    left = [name]
    while left:
        for called in calls[left.pop()] - found:
            found.add(called)
            left.append(called)
    return found


def _mark(node: nodes.Node, ring: frozenset[str], spine: set[nodes.Node]) -> bool:
    """Put a node on the spine if a call into the ring stands in it."""
    found = isinstance(node, nodes.DoCall) and node.name.text in ring
    for child in nodes.children(node):
        found |= _mark(child, ring, spine)
    if found:
        spine.add(node)
    return found


def _size(node: nodes.Node, spine: set[nodes.Node]) -> int:
    """How many nodes are looked at to count a body once more."""
    total, stack = 0, [node]
    while stack:
        for child in nodes.children(stack.pop()):
            total += 1
            if child in spine:
                stack.append(child)
    return total
