"""Where one strand of what runs stands in its program, in one frame: a walk from statement to statement.

Control flow tells the runtime nothing. Which part of an if was taken, that a catch began, that an if was passed by: all
that is found out from the lines of what runs. Only parallels, loops and pipelines say themselves when they begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from .entered import Entered
from .marks import Failure, Sheet
from .outline import Node

_SILENT: Final = frozenset({"if", "try", "choice", "do"})
"""Constructs that don't say when they begin."""


class Walk:
    """One strand of what runs, in one frame: the statement that it stands at, and the constructs around that."""

    __slots__ = (
        "at", "branch", "children", "entered", "execution_id", "failed_at", "failures", "parent", "scope",
        "sheet", "stopped", "top",
    )  # fmt: skip

    def __init__(
        self,
        sheet: Sheet,
        top: Node,
        execution_id: int | None,
        branch: str,
        parent: Walk | None,
        scope: Node | None = None,
    ) -> None:
        """`top` holds the statements that it goes through: the program, a block, a parallel, a loop, a pipeline.

        `scope`: those of them that it keeps to, where that are not all: one branch.
        """
        self.sheet = sheet
        self.top = top
        self.scope = scope
        self.at = top
        """A statement, or a construct at whose head it stands."""
        self.execution_id = execution_id
        self.branch = branch
        self.parent = parent
        self.entered: list[Entered] = []
        """Outermost first."""
        self.children: dict[Walk, None] = {}
        """The frame that it called or the branches of its fork; also those that ended badly, until it goes on."""
        self.failures: list[Failure] = []
        """Errors on their way up through here, from the statement `failed_at`."""
        self.failed_at = top
        self.stopped = False
        """It waits for a person, or the run stops: nothing moves it any more."""
        if parent is not None:
            parent.children[self] = None

    def statement(self, node: Node | None) -> Node | None:
        """The statement that is meant by `node`: branches may share a line of the script, which then names one of them."""
        if node is None or self.scope is None or node.within(self.scope):
            return node
        return self.scope

    def move(self, target: Node) -> None:
        """Go on at a statement, or at the head of a construct."""
        if self.stopped:
            return
        flowing = not self.failures
        if not flowing:
            self._handle(target)
        if target is self.at or not target.within(self.top):
            return
        up, node, left = self.at, target, None
        into: list[Node] = []
        self.at = target
        while up is not node:
            if up.depth < node.depth:
                into.append(node)
                node = _above(node)
                continue
            if flowing:
                flowing = self._pass(up, left, None)
            self._leave(up, flowing)
            left, up = up, _above(up)
        # `node` holds both; the way leads from `left` in it (None: its head) to the last of `into` (None: its head).
        if flowing:
            self._pass(node, left, into[-1] if into else None)
        if not into:
            self._enter_again(node, flowing)
        while into:
            self._enter(into.pop(), into[-1] if into else None, flowing)

    def end(self) -> None:
        """Go on to the end of all that there is."""
        if self.at is self.top and self.scope is None:
            self._to_the_end(self.top.body)
        self.move(self.top)

    def start(self, entered: Entered) -> None:
        """Enter a construct that says so itself."""
        self.move(entered.node)
        if entered.node.parent is not None:
            self._leave(entered.node, True)
        self.entered.append(entered)
        self.sheet.enter(entered)

    def finish(self, entered: Entered) -> None:
        """Leave a construct that says so itself, unless the walk is past it already."""
        if entered not in self.entered:
            return
        self.move(entered.node)
        while self.entered and self.entered[-1] is not entered:
            self.sheet.leave(self.entered.pop())
        self._leave(entered.node, True)

    def abandon(self, skipped: bool) -> None:
        """End where it stands."""
        while self.entered:
            entered = self.entered.pop()
            self.sheet.leave(entered)
            mark = self.sheet.mark(entered.node)
            mark.skip() if skipped else mark.complete()
        if self.parent is not None:
            self.parent.children.pop(self, None)

    # Errors

    def fail(self, node: Node, failures: Iterable[Failure]) -> None:
        """Errors go up from a statement of this walk."""
        self.failed_at = node
        self.failures.extend(failures)

    def _handle(self, target: Node) -> None:
        """Going on after an error means that it was caught, unless it leads through a finally."""
        node = target
        while node is not self.top and node.parent is not None:
            node, clause = node.parent, node
            if clause.kind == "finally" and self.failed_at.within(node) and not self.failed_at.within(clause):
                return
        self.catch()

    def catch(self) -> None:
        """The errors on their way up go no further."""
        for failure in self.failures:
            failure.caught = True
        self.failures.clear()

    # Statements that nothing tells of

    def _pass(self, node: Node, left: Node | None, right: Node | None) -> bool:
        """Mark what was passed silently in the body of `node`, between two of its parts (None: its head, its end).

        False where the way out of it isn't known.
        """
        body = node.body
        if left is None:
            if right is not None and right.index > 0:
                self._passed(body[: right.index])
            return True
        if left.index < 0:
            return True
        if right is not None and right.index > left.index:
            self._passed(body[left.index + 1 : right.index])
            return True
        on = self._to_the_end(body[left.index + 1 :])
        if right is not None and right.index > 0:
            # Another element goes through a pipeline's body.
            self._passed(body[: right.index])
        return on

    def _passed(self, statements: Sequence[Node]) -> None:
        for node in statements:
            mark = self.sheet.mark(node)
            if node.sort == "if":
                self._not_taken(node, node.clauses)
            elif node.silent or node.sort in ("try", "do"):
                mark.complete()

    def _to_the_end(self, statements: Sequence[Node]) -> bool:
        """Go through what is left of a body, as far as nothing would have told of it; False where it left before."""
        for place, node in enumerate(statements):
            if node.sort == "plain":
                if node.silent:
                    self.sheet.mark(node).complete()
                if node.leaves or not node.silent:
                    return False
            elif node.sort not in ("if", "try", "do"):
                return False
            elif node.leaves:
                self._left_in(node, statements[place + 1 :])
                return False
            else:
                self._passed((node,))
        return True

    def _left_in(self, node: Node, after: Sequence[Node]) -> None:
        """It is left somewhere from a construct on: in it, where what comes `after` would have told of itself."""
        self.sheet.reached.add(node)
        telling = next((n for n in after if n.leaves or not (n.silent or n.sort in ("if", "try", "do"))), None)
        if node.sort == "if" and not node.clauses and telling is not None and not telling.leaves:
            self.sheet.mark(node).complete()

    def _not_taken(self, node: Node, clauses: Sequence[Node]) -> None:
        """None of the conditions of an if held, from where it was left on; an else says nothing when it is silent."""
        self.sheet.reached.add(node)
        for part in (node, *clauses):
            mark = self.sheet.mark(part)
            mark.complete() if part.kind == "else" else mark.skip()

    # Constructs

    def _enter(self, part: Node, then: Node | None, flowing: bool) -> None:
        """Enter a statement or clause, on the way to `then` in it (None: to its head)."""
        above = self.entered[-1] if self.entered else None
        if above is not None and above.node is part.parent:
            self._take(above, part, asking=then is None and part.kind == "elif")
        if part.is_construct and (then is not None or part.sort in _SILENT):
            entered = Entered(part)
            self.entered.append(entered)
            self.sheet.enter(entered)
        if then is not None and flowing:
            self._pass(part, None, then)

    def _enter_again(self, node: Node, flowing: bool) -> None:
        """Be back at the head of a construct: those that don't tell of rounds begin anew."""
        if node.sort in _SILENT and self.entered and self.entered[-1].node is node:
            self._leave(node, flowing)
            self._enter(node, None, flowing)

    def _leave(self, node: Node, flowing: bool) -> None:
        if not self.entered or self.entered[-1].node is not node:
            return
        entered = self.entered.pop()
        self.sheet.leave(entered)
        clause, mark = entered.clause, self.sheet.mark
        if node.sort == "if":
            if entered.decided and clause is not None:
                mark(clause).complete()
            elif clause is not None and flowing:
                later = node.clauses[node.clauses.index(clause) + 1 :] if clause is not node else node.clauses
                mark(clause).skip()
                for part in later:
                    mark(part).complete() if part.kind == "else" else mark(part).skip()
            return
        for part in node.clauses if node.sort == "try" else ():
            # An error that leads past a catch went through it.
            if part.kind == "finally" or entered.caught or not flowing:
                mark(part).complete()
            else:
                mark(part).skip()
        if node.sort == "choice" and clause is not None:
            mark(clause).complete()
        mark(node).complete()

    def _take(self, entered: Entered, part: Node, asking: bool) -> None:
        """Go on in a part of an if, a try or a choice: a clause, or a statement of its own body."""
        node, mark = entered.node, self.sheet.mark
        clause = part if part.index < 0 else node
        if clause is entered.clause and (entered.decided or node.sort != "if"):
            return
        if node.sort == "if":
            parts = (node, *node.clauses)
            place = parts.index(clause)
            for other in parts[:place] if asking else (*parts[:place], *parts[place + 1 :]):
                mark(other).skip()
            entered.decided = not asking
        elif node.sort == "choice":
            for other in node.clauses:
                if other is not clause:
                    mark(other).skip()
        elif node.sort == "try":
            if entered.clause is not None and entered.clause is not node:
                mark(entered.clause).complete()
            entered.failed |= clause.kind == "catch" or bool(self.failures)
            entered.caught |= clause.kind == "catch"
            catch = node.clause("catch")
            if clause.kind == "finally" and catch is not None and not entered.caught:
                mark(catch).skip()
        entered.clause = clause

    def chose(self, label: str) -> None:
        """The choice at whose head it stands was made."""
        entered = self.entered[-1] if self.entered else None
        if entered is not None and entered.node is self.at and self.at.sort == "choice":
            outline = self.sheet.outline
            taken = next((o for o in self.at.clauses if outline.label(o) == label), None)
            if taken is not None:
                self._take(entered, taken, asking=False)

    # What comes

    def ahead(self) -> Iterator[Node]:
        """The statements that come after this one, as far as it is known that they will: no clause not yet taken."""
        node = self.at
        if node is self.top or (node in self.sheet.inside and node.sort not in ("if", "choice")):
            yield from node.body
        while node is not self.top:
            node, part = _above(node), node
            if part.index >= 0:
                yield from node.body[part.index + 1 :]
            final = node.clause("finally") if node.sort == "try" else None
            if final is not None and part is not final:
                yield from final.body


def _above(node: Node) -> Node:
    assert node.parent is not None, "the program itself is never left"
    return node.parent
