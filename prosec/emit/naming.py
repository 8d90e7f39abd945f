"""Names of the program as Python names.

A name is emitted as written, with `-` as `_`. Agents and blocks own the plain name; whatever meets a Python
keyword, a builtin, a name that every script has, or one that is imported gets a trailing `_`; a variable that
meets an agent or a block too. Where two still meet, the later one gets `_2`, `_3`, ...
"""

from __future__ import annotations

import builtins
import keyword

from prosec.analysis.model import Analysis, Scope, Unit, Variable
from prosec.syntax import nodes

RUNTIME_NAMES = ("Agent", "Fields", "Permissions", "Program", "ProseError", "Retry", "Run", "Step", "Value")
# `l`, `O` and `I` can't be told from digits in many fonts, and linters refuse them.
TAKEN = frozenset(
    [*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *RUNTIME_NAMES, "run", "program", "main", "prose_runtime", "l", "O", "I"]
)


def plain(name: str) -> str:
    """A name as Python spells it, before anything it meets is considered."""
    spelled = name.replace("-", "_")
    special = spelled.startswith("__") and spelled.endswith("__")
    return spelled + "_" if spelled in TAKEN or special else spelled


def _free(wanted: str, used: set[str]) -> str:
    """The wanted name, or the first of `wanted_2`, `wanted_3`, ... that is not used yet; it is used then."""
    name, number = wanted, 2
    while name in used:
        name = f"{wanted}_{number}"
        number += 1
    used.add(name)
    return name


class Names:
    """The Python names of one program."""

    def __init__(self, analysis: Analysis) -> None:
        self.agents: dict[str, str] = {}
        self.blocks: dict[str, str] = {}
        self.module: set[str] = set()
        self.scopes: dict[Scope, set[str]] = {}
        """What is used in the emitted function of a scope, nested functions included."""
        self.functions: dict[Unit, str] = {}
        definitions: list[tuple[int, str, dict[str, str]]] = []
        for name, agent in analysis.agents.items():
            definitions.append((agent.span.start, name, self.agents))
        for name, scope in analysis.blocks.items():
            if scope.block is not None:
                definitions.append((scope.block.span.start, name, self.blocks))
        for _, name, table in sorted(definitions, key=lambda item: item[0]):
            table[name] = _free(plain(name), self.module)
        for scope in [analysis.root, *analysis.blocks.values()]:
            self.scopes[scope] = set()
        owned: dict[Scope, list[Variable]] = {scope: [] for scope in self.scopes}
        for variable in dict.fromkeys(analysis.variables.values()):
            if variable.owner is not None:
                owned[variable.scope].append(variable)
        for scope in self.scopes:
            self._variables(scope, owned[scope])

    def _variables(self, scope: Scope, owned: list[Variable]) -> None:
        used = self.scopes[scope]
        for variable in scope.names.values():
            variable.python = _free(self._beside(variable.name), used)
        # Constructs side by side may use one name for what they own; nested ones, and values of another type, not.
        taken: dict[str, list[Variable]] = {}
        for variable in owned:
            wanted = self._beside(variable.name)
            name, number = wanted, 2
            while (name in used and name not in taken) or any(_collide(variable, v) for v in taken.get(name, ())):
                name = f"{wanted}_{number}"
                number += 1
            taken.setdefault(name, []).append(variable)
            used.add(name)
            variable.python = name

    def _beside(self, name: str) -> str:
        spelled = plain(name)
        return spelled + "_" if spelled in self.module else spelled

    def function(self, unit: Unit, wanted: str) -> str:
        """The name of a nested function; asked for once for each unit."""
        used = self.scopes[unit.scope]
        name = plain(wanted)
        if name in self.module:
            name += "_"
        self.functions[unit] = _free(name, used)
        return self.functions[unit]


def _collide(one: Variable, other: Variable) -> bool:
    if "catch" in (one.kind, other.kind) and one.kind != other.kind:
        return True
    return _encloses(one.owner, other.owner) or _encloses(other.owner, one.owner)


def _encloses(outer: nodes.Node | None, inner: nodes.Node | None) -> bool:
    if outer is None or inner is None:
        return True
    return outer.span.start <= inner.span.start and inner.span.end <= outer.span.end
