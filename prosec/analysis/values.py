"""The walk over values: operator expressions, texts, questions, sessions and calls, and how each value is used."""

from __future__ import annotations

from prosec.analysis.binding import Binder
from prosec.analysis.model import (
    NOTHING,
    NUMBER,
    WHOLE,
    Arm,
    CallSite,
    Flow,
    Loop,
    Question,
    QuestionKind,
    Read,
    Shape,
    Use,
)
from prosec.analysis.words import words
from prosec.syntax import nodes


class ValueWalker(Binder):
    """Walks expressions, and tells each what its value is used as."""

    # --- operator expressions -----------------------------------------------------------------------------------

    def value(self, node: nodes.Expression, use: Use) -> None:
        """A value inside a larger expression; one of several statements becomes a function there."""
        if isinstance(node, nodes.DoBlock | nodes.Try | nodes.Arrow):
            with self._nested(node), self._away():
                self.values[type(node)](node, use)
        else:
            self.values[type(node)](node, use)

    def direct(self, node: nodes.Expression, use: Use) -> None:
        """A value that a statement binds or returns: its own statements stand in place of that statement."""
        self.values[type(node)](node, use)

    def _literal(self, node: nodes.Node, use: Use) -> None:
        pass

    def _broken(self, node: nodes.Broken, use: Use) -> None:
        """What is left of a statement that could not be parsed. It may have been a loop, a handler or a block."""
        self.lost = True
        self.broken.update(node.names)
        if not node.body:
            return
        outer = self.loop, self.in_broken
        self.loop, self.in_broken = Loop(node, self.unit, self.loop), True
        before = self.certain, self.possible
        self.catching += 1
        arm, self.arm = self.arm, Arm(node, 0, self.arm)
        self._statements(node.body, NOTHING)
        self.arm = arm
        self.catching -= 1
        self.loop, self.in_broken = outer
        self._join(((self.certain, self.possible), before))

    def _text(self, node: nodes.Text, use: Use) -> None:
        for part in node.parts:
            if not isinstance(part, str):
                self._hole(part)

    def _hole(self, hole: nodes.Hole) -> None:
        outer = self.reads
        self.reads = []
        self.value(hole.value, WHOLE)
        self.holes.append((hole, self.scope, self.reads))
        self.reads = outer

    def _ref(self, node: nodes.Ref, use: Use) -> None:
        self.analysis.reads[node] = self._read(node, node.name, use)

    def _list(self, node: nodes.ListLiteral, use: Use) -> None:
        for item in node.items:
            self.value(item, WHOLE)

    def _object(self, node: nodes.ObjectLiteral, use: Use) -> None:
        for entry in node.entries:
            self.value(entry.value, WHOLE)

    def _field(self, node: nodes.Field, use: Use) -> None:
        self.value(node.value, NOTHING if node.name == "length" else _of_field(node.name, use))

    def _index(self, node: nodes.Index, use: Use) -> None:
        if isinstance(node.index, nodes.Text):
            self.value(node.value, _of_field(node.index.plain, use))
        else:
            items = Shape(list=True, item=use if isinstance(use, Shape) else None)
            self.value(node.value, items if self._numeric(node.index) else WHOLE)
        self.value(node.index, WHOLE)

    def _numeric(self, node: nodes.Expression) -> bool:
        """Whether an expression is plainly a number: a numeral, a counter, arithmetic with one."""
        if isinstance(node, nodes.Number):
            return True
        if isinstance(node, nodes.Unary):
            return node.operator == "-" and self._numeric(node.operand)
        if isinstance(node, nodes.Binary):
            return node.operator in "+-*/%" and (self._numeric(node.left) or self._numeric(node.right))
        if isinstance(node, nodes.Ref):
            variable = self.environment.get(node.name) or self.scope.names.get(node.name)
            if variable is None:
                return False
            return variable.kind == "index" or (
                bool(variable.writes)
                and all(isinstance(write.value, nodes.Number) for write in variable.writes)
            )
        return isinstance(node, nodes.Field) and node.name == "length"

    def _unary(self, node: nodes.Unary, use: Use) -> None:
        if isinstance(node.operand, nodes.Discretion):
            self.question(node.operand, "decide")
            return
        self.value(node.operand, NUMBER if node.operator == "-" else WHOLE)

    def _binary(self, node: nodes.Binary, use: Use) -> None:
        left = right = WHOLE
        if node.operator in ("<", "<=", ">", ">=", "+", "-", "*", "/", "%"):
            left = NUMBER if self._numeric(node.right) else WHOLE
            right = NUMBER if self._numeric(node.left) else WHOLE
        self.value(node.left, left)
        self.value(node.right, right)

    def _logical(self, node: nodes.Logical, use: Use) -> None:
        for operand in node.operands:
            if isinstance(operand, nodes.Discretion):
                self.question(operand, "decide")
            else:
                self.value(operand, use if use is not NOTHING else WHOLE)

    # --- questions ----------------------------------------------------------------------------------------------

    def question(self, node: nodes.Discretion, kind: QuestionKind) -> None:
        mentions: list[tuple[str, Read | None]] = []
        outer = self.reads
        self.reads = []
        for word in words(node.plain):
            variable = self.environment.get(word) or self.scope.names.get(word)
            known = variable is not None and (variable.owner is not None or self.possible & variable.bit)
            mentions.append((word, self._read(node, word, WHOLE) if known else None))
        self.reads = outer
        if kind == "keep" and "item" in self.environment and all(word != "item" for word, _ in mentions):
            # What a filter's question is about is the element, whether or not the text says so.
            mentions.insert(0, ("item", self._read(node, "item", NOTHING)))
            self.reads.pop()
        self.analysis.questions[node] = Question(node, kind, self.unit, self.loop, mentions)
        for part in node.parts:
            if not isinstance(part, str):
                self._hole(part)

    def _discretion_value(self, node: nodes.Discretion, use: Use) -> None:
        self.question(node, "session")
        self.analysis.shapes[node] = [use]

    def condition(self, node: nodes.Expression, kind: QuestionKind) -> None:
        """A condition: `**...**` in it asks the model."""
        if isinstance(node, nodes.Discretion):
            self.question(node, kind)
        elif isinstance(node, nodes.Logical):
            for operand in node.operands:
                self.condition(operand, kind)
        elif isinstance(node, nodes.Unary) and node.operator == "not":
            self.condition(node.operand, kind)
        else:
            self.value(node, WHOLE)

    # --- sessions -----------------------------------------------------------------------------------------------

    def _properties(self, properties: tuple[nodes.Property, ...]) -> None:
        for item in properties:
            name, value = item.name.text, item.value
            if isinstance(value, nodes.Permissions):
                for rule in value.rules:
                    if isinstance(rule.value, nodes.ListLiteral):
                        for pattern in rule.value.items:
                            self.value(pattern, WHOLE)
            elif name in ("model", "backoff", "persist") and isinstance(value, nodes.Ref):
                continue
            elif name in ("prompt", "context"):
                self.value(value, WHOLE)

    def _started(self, node: nodes.Node, agent: nodes.Name | None) -> None:
        """A session of an agent starts here, with the values that the agent's prompt names."""
        if agent is None or agent.text not in self.analysis.agents:
            return
        for name in self.agent_names[agent.text]:
            outer, self.reads = self.reads, []
            self.agent_reads[agent.text].append(self._read(node, name, WHOLE))
            self.reads = outer

    def _session(self, node: nodes.Session, use: Use) -> None:
        if node.text is not None:
            self._text(node.text, WHOLE)
        self._properties(node.properties)
        self._started(node, node.agent)
        if node.name is not None:
            variable = self._bind(node, node.name, "let", node, False)
            # Only a statement of its own assigns the Python variable.
            variable.forced |= use is not NOTHING
            self.analysis.shapes[node] = [use, Flow(variable)]
        else:
            self.analysis.shapes[node] = [use]

    def _resume(self, node: nodes.Resume, use: Use) -> None:
        self._properties(node.properties)
        self._started(node, node.agent)
        self.analysis.shapes[node] = [use]

    def _arrow(self, node: nodes.Arrow, use: Use) -> None:
        for step in node.steps[:-1]:
            self._session(step, NOTHING)
        self._session(node.steps[-1], use)

    # --- calls --------------------------------------------------------------------------------------------------

    def _do_call(self, node: nodes.DoCall, use: Use) -> None:
        callee = self.analysis.blocks.get(node.name.text)
        for position, argument in enumerate(node.arguments):
            target: Use = WHOLE
            if callee is not None and callee.block is not None:
                names = [parameter.text for parameter in callee.block.parameters]
                name = argument.name.text if argument.name else names[position] if position < len(names) else ""
                if name in names:
                    target = Shape()
                    self.parameter_uses.append((callee, name, target))
            self.value(argument.value, target)
        site = CallSite(node, self.scope, self.environment, self.certain, self.loop)
        self.scope.calls.append(site)
        if callee is not None:
            callee.callers.append(site)
            self.result_uses.append((callee, use))

    def _call(self, node: nodes.Call, use: Use) -> None:
        self.analysis.calls.append(node)
        for argument in node.arguments:
            self.value(argument.value, WHOLE)


def _of_field(name: str, use: Use) -> Shape:
    """How an object is used of which a field is used so."""
    return Shape(fields={name: use if isinstance(use, Shape) else Shape()})


