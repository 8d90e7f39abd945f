"""What names mean, settled when the whole program has been walked.

A name that its own scope does not bind is looked up, at run time, in the callers of the block, then in the root,
then among the names that called blocks left. Here the compiler follows the same way through the call graph.
"""

from __future__ import annotations

from prosec.analysis.model import (
    WHOLE,
    Analysis,
    CallSite,
    Loop,
    Question,
    Read,
    Scope,
    Variable,
    Write,
)
from prosec.analysis.spelling import closest
from prosec.analysis.walk import Walker
from prosec.diagnostics import Diagnostic, Edit, Fix, Related
from prosec.source import Span
from prosec.syntax import nodes
from prosec.syntax.tokens import RESERVED


class Resolver:
    """Gives every Read its meaning and reports names that have none."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.analysis: Analysis = walker.analysis
        self.report = walker.report
        self.scopes = [self.analysis.root, *self.analysis.blocks.values()]
        self.callees: dict[Scope, list[Scope]] = {
            scope: [
                callee for site in scope.calls if (callee := self.analysis.blocks.get(site.node.name.text)) is not None
            ]
            for scope in self.scopes
        }
        self.block_names = {name for scope in self.analysis.blocks.values() for name in scope.names}
        self.owned_names = {name for site in self._sites() for name in site.environment}
        self.warned: set[tuple[nodes.Node, str]] = set()
        self.left: dict[tuple[Scope, str], bool] = {}
        self.found: dict[tuple[Scope, str], list[tuple[CallSite, Variable]]] = {}

    def _sites(self) -> list[CallSite]:
        return [site for scope in self.scopes for site in scope.calls]

    def resolve(self) -> None:
        self._entries()
        for scope in self.scopes:
            self._assignments(scope)
        for scope in self.scopes:
            for read in scope.reads:
                self._settle(read, scope)
        for hole, scope, reads in self.walker.holes:
            self._hole(hole, scope, reads)
        self._agent_prompts()
        for question in self.analysis.questions.values():
            scope = question.unit.scope
            for name, known in question.mentions:
                mention = known or self._mention(name, scope, question)
                if mention is None:
                    continue
                found = mention.variable or mention.root
                if found is not None:
                    found.reads.append(mention)
                    found.by_name |= mention.variable is None
                question.about.append(mention)

    def _mention(self, name: str, scope: Scope, question: Question) -> Read | None:
        """A word of a condition that is not bound before it: an earlier round's name, or the root's."""
        read = Read(question.node, name, WHOLE, question.unit, question.loop, None, False)
        own = scope.names.get(name)
        if own is not None:
            read.variable = own
            return read if _meet(question.loop, own) else None
        root = self.analysis.root.names.get(name)
        if root is None or scope.block is None:
            return None
        read.root = root
        read.bound = bool(scope.bound & root.bit)
        read.beside_callers = bool(self._callers(scope, name))
        return read

    # --- where blocks are called ---------------------------------------------------------------------------------

    def _entries(self) -> None:
        """What certainly is bound whenever a block is called (a fixed point over the call graph)."""
        queue = [scope for scope in self.analysis.blocks.values() if scope.callers]
        while queue:
            scope = queue.pop()
            bound = -1
            for site in scope.callers:
                bound &= site.bound if site.scope.block is None else site.scope.bound
            if bound != scope.bound:
                scope.bound = bound
                queue.extend(self.callees[scope])

    def _callers(self, scope: Scope, name: str) -> list[tuple[CallSite, Variable]]:
        """The variables of callers, however far up, that a lookup from a block may find, with the call."""
        if name not in self.block_names and name not in self.owned_names:
            return []
        known = self.found.get((scope, name))
        if known is not None:
            return known
        found: list[tuple[CallSite, Variable]] = []
        self.found[scope, name] = found
        seen = {scope}
        queue = [scope]
        while queue:
            for site in queue.pop().callers:
                variable = site.environment.get(name)
                if variable is None and site.scope.block is not None:
                    variable = site.scope.names.get(name)
                if variable is not None:
                    found.append((site, variable))
                elif site.scope not in seen:
                    seen.add(site.scope)
                    queue.append(site.scope)
        return found

    def _leaves(self, scope: Scope, name: str) -> bool:
        """Whether a block that is called from a scope binds a name, and so leaves it there."""
        known = self.left.get((scope, name))
        if known is not None:
            return known
        answer = False
        if name in self.block_names:
            seen = {scope}
            queue = list(self.callees[scope])
            while queue and not answer:
                callee = queue.pop()
                if callee in seen:
                    continue
                seen.add(callee)
                variable = callee.names.get(name)
                answer = variable is not None and variable.kind != "parameter"
                queue.extend(self.callees[callee])
        self.left[scope, name] = answer
        return answer

    def _left_anywhere(self, scope: Scope, name: str) -> bool:
        """Whether a lookup from a scope finds a name that a block left, there or in a caller."""
        if name not in self.block_names:
            return False
        seen = {scope}
        queue = [scope]
        while queue:
            current = queue.pop()
            if self._leaves(current, name):
                return True
            for site in current.callers:
                if site.scope not in seen:
                    seen.add(site.scope)
                    queue.append(site.scope)
        return False

    # --- reads --------------------------------------------------------------------------------------------------

    def _settle(self, read: Read, scope: Scope) -> None:
        """Decide what a read means, and report it when it means nothing or may find nothing."""
        if self._lookup(read, scope):
            return
        name = read.name
        if name in self.walker.broken:
            return
        agent = self.analysis.agents.get(name)
        if agent is not None:
            read.agent = agent
            self.report(
                Diagnostic(
                    "W027",
                    f"'{name}' is an agent: its latest result is meant",
                    read.node.span,
                    help=f"bind the result and name it: `let {name}_result = session: {name}`",
                    related=(Related("the agent", agent.name.span),),
                )
            )
            return
        own = scope.names.get(name)
        if own is not None:
            self.report(
                Diagnostic(
                    "E029",
                    f"'{name}' has no value yet here",
                    read.node.span,
                    "read before it is bound",
                    "bind it before this statement",
                    (Related("bound only here", own.span),),
                )
            )
            return
        self.report(self._undefined(name, read.node.span, scope))

    def _lookup(self, read: Read, scope: Scope, quiet: bool = False) -> bool:
        """Find what a name means; tells whether anything was found. `quiet`: report nothing."""
        name = read.name
        if read.variable is None:
            own = scope.names.get(name)
            if own is not None and _meet(read.loop, own):
                read.variable = own
        if read.variable is not None:
            if not quiet:
                self._found(read, read.variable)
            return True
        callers = self._callers(scope, name) if scope.block is not None else []
        root = self.analysis.root.names.get(name) if scope.block is not None else None
        left = not callers and root is None and self._left_anywhere(scope, name)
        if not callers and root is None and not left:
            return False
        read.root = root
        read.bound = bool(callers) or (root is not None and bool(scope.bound & root.bit))
        if quiet:
            return True
        for _, variable in callers:
            variable.by_name = True
            variable.reads.append(read)
        if root is not None:
            self._found_in_root(read, root, callers)
        if left:
            self.report(
                Diagnostic(
                    "W024",
                    f"'{name}' is a name of a block that was called before",
                    read.node.span,
                    "read outside the block",
                    "bind the value of the call instead: `let x = do ...`",
                )
            )
        return True

    def _found(self, read: Read, variable: Variable) -> None:
        variable.reads.append(read)
        if not read.bound and (read.node, read.name) not in self.warned:
            self.warned.add((read.node, read.name))
            self.report(
                Diagnostic(
                    "W026",
                    f"'{read.name}' may have no value here",
                    read.node.span,
                    help="bind it on every path that leads here, for example before the construct that binds it",
                    related=(Related("bound here, not on every path", variable.span),),
                )
            )

    def _found_in_root(self, read: Read, root: Variable, callers: list[tuple[CallSite, Variable]]) -> None:
        root.reads.append(read)
        root.by_name = True
        for site, variable in callers:
            if (site.node, read.name) in self.warned:
                continue
            self.warned.add((site.node, read.name))
            self.report(
                Diagnostic(
                    "W012",
                    f"'{read.name}', which this block reads, will be the caller's '{read.name}', not the program's",
                    site.node.span,
                    help="rename one of them, or pass the value as an argument",
                    related=(Related("the caller's", variable.span), Related("the program's", root.span)),
                )
            )
        if not read.bound and not callers and (read.node, read.name) not in self.warned:
            self.warned.add((read.node, read.name))
            self.report(
                Diagnostic(
                    "W026",
                    f"'{read.name}' may have no value when this block is called",
                    read.node.span,
                    help="bind it before every call of the block, or pass it as an argument",
                    related=(Related("bound here", root.span),),
                )
            )

    def _undefined(self, name: str, span: Span, scope: Scope) -> Diagnostic:
        known = dict.fromkeys([*scope.names, *self.analysis.root.names])
        for site in scope.callers[:10]:
            known.update(dict.fromkeys([*site.environment, *site.scope.names]))
        left, dash, right = name.partition("-")
        if dash and left in known and (right in known or right.isdigit()):
            spaced = name.replace("-", " - ")
            return Diagnostic(
                "E029",
                f"'{name}' is one name, and is not defined",
                span,
                help=f"a subtraction is written with spaces: `{spaced}`",
                fix=Fix(f"write `{spaced}`", (Edit(span, spaced),), safe=True),
            )
        if name in self.analysis.blocks:
            return Diagnostic(
                "E029",
                f"'{name}' is a block, not a value",
                span,
                help=f"invoke it and bind the result: `let result = do {name}(...)`",
            )
        if name in self.analysis.uses:
            return Diagnostic(
                "E029",
                f"'{name}' is an imported program, not a value",
                span,
                help=f"call it and bind the result: `let result = {name}(...)`",
            )
        near = closest(name, [*known, *self.analysis.agents], 0.75)
        return Diagnostic(
            "E029",
            f"'{name}' is not defined",
            span,
            help=f"did you mean '{near}'?" if near else f"bind it first: `let {name} = ...`, or `input {name}: ...`",
            fix=Fix(f"write '{near}'", (Edit(span, near),)) if near else None,
        )

    # --- assignments to names of other scopes -------------------------------------------------------------------

    def _assignments(self, scope: Scope) -> None:
        for name, write in scope.assigned.items():
            if name in scope.names and scope.names[name].writes and name not in self.walker.broken:
                own = scope.names[name]
                early = write.span.start < own.span.start and not _meet(write.loop, own)
                outer = scope.block is not None and (name in self.analysis.root.names or self._callers(scope, name))
                if early and not outer:
                    self.report(self._unassignable(name, write))
                    continue
                if not early:
                    self._adopt(write, own)
                    continue
                # Before its own declaration a block assigns the name that it finds outside.
                own.forced = True
            callers = self._callers(scope, name) if scope.block is not None else []
            root = self.analysis.root.names.get(name) if scope.block is not None else None
            reached = [variable for _, variable in callers] + ([root] if root is not None else [])
            for variable in reached:
                variable.forced = variable.by_name = True
                if write.value is not None and isinstance(write.value, nodes.Assign):
                    variable.writes.append(
                        Write(write.span, write.unit, write.arm, write.loop, write.value.value, False)
                    )
            if root is not None and root.kind == "const" and not callers:
                self.report(
                    Diagnostic(
                        "E030",
                        f"'{name}' is a const and can't be assigned",
                        write.span,
                        help=f"declare it with `let {name} = ...` if it changes",
                        related=(Related("declared here", root.span),),
                    )
                )
            if name in RESERVED:
                continue
            if not reached and name not in self.walker.broken and not self._left_anywhere(scope, name):
                self.report(self._unassignable(name, write))
                self.walker.broken.add(name)

    def _adopt(self, write: Write, variable: Variable) -> None:
        """An assignment that stands above the declaration, in a loop that holds both."""
        variable.writes.append(write)
        if isinstance(write.value, nodes.Assign):
            self.analysis.variables[write.value, variable.name] = variable

    def _unassignable(self, name: str, write: Write) -> Diagnostic:
        near = closest(name, [*write.unit.scope.names, *self.analysis.root.names], 0.8)
        return Diagnostic(
            "E029",
            f"'{name}' is assigned but not declared",
            write.span,
            help=f"did you mean '{near}'?" if near else f"declare it: `let {name} = ...`",
            fix=Fix("declare it with `let`", (Edit(Span(write.span.start, write.span.start), "let "),)),
        )

    # --- braces -------------------------------------------------------------------------------------------------

    def _hole(self, hole: nodes.Hole, scope: Scope, reads: list[Read]) -> None:
        """Braces interpolate when every name in them is declared somewhere visible, and are text otherwise."""
        if reads and all(self._lookup(read, scope, quiet=True) for read in reads):
            self.analysis.interpolated.add(hole)
            for read in reads:
                self._lookup(read, scope)
            return
        self._brace(hole, scope, reads)

    def _brace(self, hole: nodes.Hole, scope: Scope, reads: list[Read]) -> None:
        if not _is_path(hole.value) or any(read.name in self.walker.broken for read in reads):
            return
        name = reads[0].name if reads else ""
        later = scope.names.get(name)
        near = closest(name, [*scope.names, *self.analysis.root.names], 0.8)
        help_text = f"write `\\{{{hole.text[1:-1]}\\}}` if the braces are meant as text"
        if near and later is None:
            help_text = f"did you mean '{near}'? " + help_text
        self.report(
            Diagnostic(
                "W023",
                f"'{name}' is bound only later, so `{hole.text}` stays text here"
                if later is not None
                else f"'{name}' is not declared, so `{hole.text}` stays text",
                hole.span,
                help=help_text,
                related=(Related("bound here", later.span),) if later is not None else (),
            )
        )

    def _agent_prompts(self) -> None:
        """Braces in agents' prompts are filled when a session starts, from what that session's frame sees."""
        for agent in self.analysis.agents.values():
            started = self.walker.agent_reads[agent.name.text]
            certain: dict[str, bool] = {}
            for read in started:
                found = self._lookup(read, read.unit.scope, quiet=True)
                variable = read.variable or read.root
                if variable is not None:
                    variable.by_name = True
                for _, other in self._callers(read.unit.scope, read.name):
                    other.by_name = True
                certain[read.name] = certain.get(read.name, True) and found and read.bound
            for ref in _permission_refs(agent):
                if ref.name in self.analysis.root.names or ref.name in self.block_names:
                    continue
                if ref.name not in self.walker.broken:
                    self.report(self._undefined(ref.name, ref.span, self.analysis.root))
            for hole in _holes(agent):
                names = [node.name for node in _refs(hole.value)]
                known = all(name in self.analysis.root.names or name in self.block_names for name in names)
                if names and known:
                    self.analysis.interpolated.add(hole)
                    if not all(certain.get(name, False) for name in names):
                        self.analysis.unfilled.add(hole)
                elif names:
                    reads = [
                        Read(node, node.name, WHOLE, self.analysis.main, None, None, False)
                        for node in _refs(hole.value)
                    ]
                    self._brace(hole, self.analysis.root, reads)


def _meet(loop: Loop | None, variable: Variable) -> bool:
    """Whether a loop around a place also holds a write of a variable: an earlier round may have bound it."""
    around: set[Loop] = set()
    while loop is not None:
        around.add(loop)
        loop = loop.parent
    for write in variable.writes:
        other = write.loop
        while other is not None:
            if other in around:
                return True
            other = other.parent
    return False


def _is_path(node: nodes.Expression) -> bool:
    while isinstance(node, nodes.Field | nodes.Index):
        node = node.value
    return isinstance(node, nodes.Ref)


def _refs(node: nodes.Node) -> list[nodes.Ref]:
    found: list[nodes.Ref] = []
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, nodes.Ref):
            found.append(item)
        stack.extend(nodes.children(item))
    return found


def _permission_refs(agent: nodes.Agent) -> list[nodes.Ref]:
    """The bare names in an agent's lists of permission patterns."""
    found: list[nodes.Ref] = []
    for item in agent.properties:
        if isinstance(item.value, nodes.Permissions):
            for rule in item.value.rules:
                if isinstance(rule.value, nodes.ListLiteral):
                    found.extend(pattern for pattern in rule.value.items if isinstance(pattern, nodes.Ref))
    return found


def _holes(agent: nodes.Agent) -> list[nodes.Hole]:
    found: list[nodes.Hole] = []
    stack: list[nodes.Node] = [item.value for item in agent.properties if item.name.text in ("prompt", "permissions")]
    while stack:
        item = stack.pop()
        if isinstance(item, nodes.Text):
            found.extend(part for part in item.parts if not isinstance(part, str))
        else:
            stack.extend(nodes.children(item))
    return found
