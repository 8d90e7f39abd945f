"""Run: the handle of a frame, and the operations that emitted code calls on it.

Which branch of the program is running travels in a context variable, so one handle serves every branch of its frame.
The operations that call a model or a person return a `Step`: nothing starts before it is awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, overload

from .errors import ProseError, Thrown, Unbound
from .loops import Each, count_of, count_rounds
from .shaping import Returns, Shape, refused
from .steps import SoFar, Step, call_line
from .values import Liftable, Value

if TYPE_CHECKING:
    from .agents import Agent, Permissions, Retry
    from .asking import Target
    from .concurrency import Branch, Join, Joined, OnFail, Work
    from .execution import BindKind, Execution
    from .frames import Block, Frame
    from .pipelines import Body, StageKind
    from .settings import Outcome, Runnable, Settings

T = TypeVar("T")

Context: TypeAlias = Mapping[str, Liftable] | SoFar | None

_SO_FAR: Final = SoFar()
_NOT_GIVEN: Final = Value("not given")


class Run:
    """One frame of a running program: the root's, or that of one block invocation."""

    __slots__ = ("_execution", "_frame")

    def __init__(self, execution: Execution, frame: Frame) -> None:
        self._execution = execution
        self._frame = frame

    def _in(self, frame: Frame) -> Run:
        return Run(self._execution, frame)

    def _line(self) -> int | None:
        return call_line(self._execution.listing)

    # Names

    def __getitem__(self, name: str) -> Value:
        """What a name stands for: here, in the callers, at the root. Raises Unbound."""
        found = self._execution.here().resolve(self._frame, name)
        if found is None:
            raise self._unbound(name)
        frame, bound = found
        if frame is not self._frame:
            self._execution.resolved(self._frame, name, frame)
        return bound.value

    def bound(self, *names: str, root: bool = False) -> dict[str, Value]:
        """Those of the names that stand for something here, in the order given.

        With `root` the program's own names are meant, whatever callers of this block call theirs: a question about
        a name never sees a caller's.
        """
        here = self._execution.here()
        frame = self._execution.root if root else self._frame
        values: dict[str, Value] = {}
        for name in names:
            found = here.resolve(frame, name)
            if found is None:
                continue
            if found[0] is not self._frame:
                self._execution.resolved(self._frame, name, found[0])
            values[name] = found[1].value
        return values

    def latest(self, agent: Agent) -> Value:
        """The newest result of a session of an agent, in program order as seen here. Raises Unbound."""
        value = self._execution.here().latest.get(agent)
        if value is None:
            raise Unbound(
                f"'{agent.name}' has no value yet: no session of this agent has ended",
                line=self._line(),
            )
        return value

    def _unbound(self, name: str) -> Unbound:
        listing = self._execution.listing
        line = listing.binding_line(name)
        hint = f"; line {line} would bind it: {listing.row(line)}" if line else ""
        return Unbound(f"'{name}' has no value yet{hint}", line=self._line())

    def let(self, name: str, value: Liftable) -> Value:
        """Bind a name in this frame."""
        return self._execution.bind(self._frame, name, "let", Value(value), self._line())

    def const(self, name: str, value: Liftable) -> Value:
        """Bind a name in this frame that the program never rebinds."""
        return self._execution.bind(self._frame, name, "const", Value(value), self._line())

    def assign(self, name: str, value: Liftable) -> Value:
        """Rebind the nearest such name: here, in the callers, at the root; in a branch, the branch's own copy."""
        return self._execution.bind(self._frame, name, "assign", Value(value), self._line())

    def output(self, name: str, value: Liftable) -> Value:
        """Give an output of the program, or of the block."""
        return self._execution.bind(self._frame, name, "output", Value(value), self._line())

    def outputs(self, *names: str) -> Value:
        """In a block: the outputs given so far (missing ones null), as an object; of one name, its value."""
        given = self._frame.outputs
        if len(names) == 1:
            return given.get(names[0], Value(None))
        return Value({name: given.get(name, Value(None)) for name in names})

    def item(self, name: str, value: Liftable) -> Value:
        """Make a loop item, index or catch variable known by name to the blocks that are called."""
        return self._execution.bind_item(self._frame, name, Value(value))

    async def unpack(self, value: Liftable, *names: str, const: bool = False) -> tuple[Value, ...]:
        """Bind the fields of an object; text is turned into one by the shared rules."""
        line = self._line()
        given = Value(value)
        shape = Shape("object", names)
        if not given.is_text and given.kind not in ("object", "error"):
            error = refused(given, shape, None)
            error.line = line
            raise error
        fields = await self._execution.shaped(self, given, shape, ", ".join(names), line)
        kind: BindKind = "const" if const else "let"
        found = tuple([fields[name] for name in names])
        for name, member in zip(names, found, strict=True):
            self._execution.bind(self._frame, name, kind, member, line)
        return found

    def filled(self, blank: str, fill: Callable[[], Liftable]) -> str:
        """The text of `fill`, or `blank` unchanged while a name that it reads is unbound."""
        try:
            return Value(fill()).text
        except Unbound:
            return blank

    # Sessions and decisions

    @property
    def so_far(self) -> SoFar:
        """Says of a session or question that it is told what has happened so far."""
        return _SO_FAR

    def session(
        self,
        prompt: Liftable = None,
        *,
        agent: Agent | None = None,
        title: str | None = None,
        context: Context = None,
        model: str | None = None,
        permissions: Permissions | None = None,
        skills: Sequence[str] | None = None,
        retry: Retry | None = None,
        returns: Returns = None,
        let: str | None = None,
        const: str | None = None,
        assign: str | None = None,
        output: str | None = None,
    ) -> Step[Value]:
        """Give a task to a model; the value is its answer, in the shape that `returns` names."""
        return self._asked("session", prompt, agent, title, context, model, permissions, skills, retry, returns,
                           _target(let, const, assign, output))  # fmt: skip

    def resume(
        self,
        prompt: Liftable = None,
        *,
        agent: Agent | None = None,
        title: str | None = None,
        context: Context = None,
        model: str | None = None,
        permissions: Permissions | None = None,
        skills: Sequence[str] | None = None,
        retry: Retry | None = None,
        returns: Returns = None,
        let: str | None = None,
        const: str | None = None,
        assign: str | None = None,
        output: str | None = None,
    ) -> Step[Value]:
        """Give a task to a persistent agent, with its memory."""
        return self._asked("resume", prompt, agent, title, context, model, permissions, skills, retry, returns,
                           _target(let, const, assign, output))  # fmt: skip

    def _asked(
        self,
        kind: Literal["session", "resume"],
        prompt: Liftable,
        agent: Agent | None,
        title: str | None,
        context: Context,
        model: str | None,
        permissions: Permissions | None,
        skills: Sequence[str] | None,
        retry: Retry | None,
        returns: Returns,
        target: Target | None,
    ) -> Step[Value]:
        from .asking import SessionStep

        return SessionStep(
            self,
            kind,
            None if prompt is None else Value(prompt).text,
            self._line(),
            agent=agent,
            title=title,
            context=context,
            model=model,
            permissions=permissions,
            skills=skills,
            retry=retry,
            shape=Shape.of(returns),
            target=target,
        )

    def decide(self, text: str, *, about: Context = None) -> Step[bool]:
        """Ask whether something holds."""
        from .asking import DecisionStep

        line = self._line()
        only_throws = self._execution.listing.only_throws(line)
        return DecisionStep(self, "decide", text, about, line, only_throws=only_throws)

    def keep(self, text: str, about: Context = None) -> Step[bool]:
        """Ask whether a filter keeps its item."""
        from .asking import DecisionStep

        return DecisionStep(self, "keep", text, about, self._line())

    def until(self, text: str, *, about: Context = None, at_top: bool = False) -> Step[bool]:
        """Ask whether a loop has reached its end; after its last round it has, and nobody is asked.

        `at_top` is said where the question about a round stands at the top of the next one.
        """
        return self._loop_condition("until", text, about, at_top)

    def while_(self, text: str, *, about: Context = None) -> Step[bool]:
        """Ask whether a loop goes on with its next round."""
        return self._loop_condition("while", text, about)

    def _loop_condition(
        self, kind: Literal["until", "while"], text: str, about: Context, at_top: bool = False
    ) -> Step[bool]:
        from .asking import DecisionStep

        loops = self._execution.here().loops
        loop = next((one for one in reversed(loops) if one.frame is self._frame), None)
        line = self._line()
        number = loop.number if loop is not None else 0
        if kind == "until" and at_top:
            number = max(number - 1, 0)
        elif kind == "until" and loop is not None and loop.is_last:
            return Step(_no, line)
        return DecisionStep(self, kind, text, about, line, round=number)

    def choose(self, text: str, labels: Sequence[str], *, about: Context = None) -> Step[str]:
        """Ask which of the labels fits."""
        from .asking import DecisionStep

        return DecisionStep(self, "choose", text, about, self._line(), labels=tuple(labels))

    def input(self, name: str, text: Liftable = None, *, ask: str | None = None) -> Step[Value]:
        """An input: given with the script's options, or asked for here."""
        from .inputs import input_step

        question = ask if text is None else Value(text).text
        return input_step(self, name, question, self._line())

    def call(
        self,
        block: Block,
        arguments: Sequence[Liftable],
        named: Mapping[str, Liftable] | None = None,
    ) -> Step[Value]:
        """Call a block (what a function under `@program.block` does when a script calls it)."""
        from .calling import block_call

        return block_call(self, block, arguments, named or {}, self._line())

    def error(self, value: Liftable) -> ProseError:
        """The error to raise for a `throw`: that of a text, or the one that was caught."""
        line = self._line()
        error = value if isinstance(value, ProseError) else Value(value).error
        error = error or Thrown(Value(value).text, line=line)
        self._execution.threw(self._frame, error.message, line)
        return error

    # Loops

    def rounds(
        self, count: Liftable = None, *, max: Liftable = _NOT_GIVEN
    ) -> Generator[Value, None, None]:
        """Count rounds from 0: `count` of them, at most `max`, or up to the safety cap.

        `max=None` is for loops that end by a condition: they have no bound, and no safety cap.
        """
        line = self._line()
        of, cap = None, None
        if count is not None and not Value(count).is_null:
            of = count_of(count, "the number of rounds")
        elif max is _NOT_GIVEN:
            cap = self._execution.settings.max_rounds
        elif max is not None:
            of = count_of(max, "the loop's max")
        bounded = max is not _NOT_GIVEN and max is not None
        return count_rounds(self, self._execution.here(), line, of, bounded, cap)

    @overload
    def each(self, items: Liftable) -> Each[Value]: ...

    @overload
    def each(self, items: Liftable, *, index: Literal[True]) -> Each[tuple[Value, Value]]: ...

    def each(self, items: Liftable, *, index: bool = False) -> Each[Any]:
        """The elements of a list or text, one at a time; with `index`, each with its number from 0."""
        return Each(self, items, self._line(), index)

    async def parallel_for(
        self,
        items: Liftable,
        body: Callable[..., Awaitable[T]],
        *,
        on_fail: OnFail = "fail-fast",
        index: bool = False,
    ) -> list[T]:
        """Run `body` for all elements at once; gives the results of the rounds that succeeded, in order."""
        from .rounds import concurrent_rounds

        line = self._line()
        elements = await self._execution.elements(self, items, line)
        return await concurrent_rounds(self, elements, body, on_fail, index, line)

    async def turn(self) -> None:
        """Wait until all earlier rounds of the innermost concurrent loop have ended."""
        from .rounds import turn_here

        await turn_here(self._execution.here())

    # Pipelines

    def map(self, items: Liftable, body: Body, *, let: str | None = None, const: str | None = None,
            assign: str | None = None, output: str | None = None) -> Step[Value]:  # fmt: skip
        """What `body` makes of each element, one at a time."""
        return self._piped(items, (("map", body),), _target(let, const, assign, output))

    def filter(self, items: Liftable, body: Body, *, let: str | None = None, const: str | None = None,
               assign: str | None = None, output: str | None = None) -> Step[Value]:  # fmt: skip
        """The elements that `body` says yes to, one at a time."""
        return self._piped(items, (("filter", body),), _target(let, const, assign, output))

    def pmap(self, items: Liftable, body: Body, *, let: str | None = None, const: str | None = None,
             assign: str | None = None, output: str | None = None) -> Step[Value]:  # fmt: skip
        """What `body` makes of each element, all at once, in order."""
        return self._piped(items, (("pmap", body),), _target(let, const, assign, output))

    def reduce(self, items: Liftable, body: Body, *, let: str | None = None, const: str | None = None,
               assign: str | None = None, output: str | None = None) -> Step[Value]:  # fmt: skip
        """The elements folded by `body(so_far, item)`, from the first; null where there is none."""
        return self._piped(items, (("reduce", body),), _target(let, const, assign, output))

    def pipeline(self, items: Liftable, *stages: tuple[StageKind, Body], let: str | None = None,
                 const: str | None = None, assign: str | None = None,
                 output: str | None = None) -> Step[Value]:  # fmt: skip
        """Several stages, each over the whole result of the one before."""
        return self._piped(items, stages, _target(let, const, assign, output))

    def _piped(
        self, items: Liftable, stages: Sequence[tuple[StageKind, Body]], target: Target | None
    ) -> Step[Value]:
        from .pipelines import pipeline_step

        return pipeline_step(self, items, stages, target, self._line())

    # Branches

    def parallel(
        self,
        *branches: Branch | Work,
        join: Join = "all",
        count: Liftable = 1,
        on_fail: OnFail = "fail-fast",
        **named: Work,
    ) -> Step[Joined]:
        """Run branches at once and bind the named ones."""
        from .concurrency import named_branches, parallel_step

        line = self._line()
        needed = count_of(count, "the count of a parallel")
        return parallel_step(self, named_branches(branches, named), join, needed, on_fail, line)

    def branch(self, name: str | None, work: Work) -> Branch:
        """A branch under its program's name; "_branch_0", "_branch_1", ... in their own places have none."""
        from .concurrency import Branch

        return Branch(name, work)


async def _no() -> bool:
    return False


def _target(
    let: str | None, const: str | None, assign: str | None, output: str | None
) -> Target | None:
    """What a call says about the name of its result."""
    from .asking import Target

    if let is not None:
        return Target(let, "let")
    if const is not None:
        return Target(const, "const")
    if assign is not None:
        return Target(assign, "assign")
    return Target(output, "output") if output is not None else None


async def execute(program: Runnable, settings: Settings) -> Outcome:
    """Run a program to its end; the outcome says how it ended. Catches SIGINT and SIGTERM itself while it runs."""
    # Loaded when a run begins: a script's --help needs neither asyncio nor the store.
    from .running import execute as start

    return await start(program, settings)
