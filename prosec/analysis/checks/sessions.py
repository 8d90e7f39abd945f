"""Sessions and their prompts: that each asks something, and that memory is used as it was meant."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import persists
from prosec.analysis.checks.paths import Earlier
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.diagnostics import Edit, Fix, Related
from prosec.source import Span
from prosec.syntax import nodes

LONGEST_PROMPT = 10_000


class SessionChecks(Checks):
    """E003, E017, W001-W004, W011."""

    def rules(self) -> Iterable[Rule]:
        self.used: dict[str, Earlier] = {}
        return (
            rule(nodes.Agent, self.agent),
            rule(nodes.Session, self.session),
            rule(nodes.Resume, self.resume),
        )

    def agent(self, agent: nodes.Agent, place: Place) -> None:
        self._prompt_property(_prompt(agent.properties))

    def session(self, session: nodes.Session, place: Place) -> None:
        prompt = _prompt(session.properties)
        self._prompt_property(prompt)
        if prompt is None:
            if session.text is not None:
                self._session_text(session.text)
            elif session.agent is None:
                self.findings.report(
                    "E003",
                    "this session has neither a prompt nor an agent",
                    session.span,
                    help='write session "what to do", or session: agent',
                )
            else:
                self._agent_without_prompt(session.agent)
        if session.agent is not None:
            self._fresh_start(session, session.agent, place)

    def resume(self, resume: nodes.Resume, place: Place) -> None:
        prompt = _prompt(resume.properties)
        self._prompt_property(prompt)
        agent = self.findings.agents.get(resume.agent.text)
        if agent is None:
            return
        if not persists(agent):
            self.findings.report(
                "E017",
                f"agent '{agent.name.text}' keeps no memory that could be resumed",
                resume.agent.span,
                help=f"add 'persist: true' to the agent, or write 'session: {agent.name.text}'",
                related=(Related("defined here without 'persist:'", agent.name.span),),
            )
            return
        if prompt is None:
            self._agent_without_prompt(resume.agent)
        self._earlier(agent.name.text).add(place, resume.agent.span)

    def _agent_without_prompt(self, name: nodes.Name) -> None:
        agent = self.findings.agents.get(name.text)
        if agent is not None and _prompt(agent.properties) is None:
            self.findings.report(
                "W001",
                "this session asks for nothing",
                name.span,
                help="add a 'prompt:' here or to the agent",
                related=(Related("this agent has no prompt of its own", agent.name.span),),
            )

    def _prompt_property(self, prop: nodes.Property | None) -> None:
        if prop is None or not isinstance(prop.value, nodes.Text):
            return
        text = prop.value.plain
        if not text:
            self.findings.report(
                "W004",
                "this prompt is empty",
                prop.value.span,
                help="say what is wanted, or remove the line",
            )
        else:
            self._judge(text, prop.value.span)

    def _session_text(self, text: nodes.Text) -> None:
        plain = text.plain
        if not plain:
            self.findings.report(
                "W001", "this prompt is empty", text.span, help="say what the session is to do"
            )
        else:
            self._judge(plain, text.span)

    def _judge(self, text: str, span: Span) -> None:
        if len(text) > LONGEST_PROMPT:
            self.findings.report(
                "W003",
                f"this prompt has {len(text):,} characters",
                span,
                help=f"over {LONGEST_PROMPT:,} a session loses sight of the task: split it, or pass "
                "material as context",
            )
        elif text.isspace():
            self.findings.report(
                "W002",
                "this prompt is only white space",
                span,
                help="say what the session is to do",
            )

    def _fresh_start(self, session: nodes.Session, name: nodes.Name, place: Place) -> None:
        """Warn of `session:` where the agent has worked before: it will not be shown what it remembers."""
        agent = self.findings.agents.get(name.text)
        if agent is None or not persists(agent):
            return
        earlier = self._earlier(name.text)
        worked = earlier.before(place)
        earlier.add(place, name.span)
        if worked is None:
            return
        fix = None
        # Only the plain form has a counterpart: `resume:` takes neither a name nor a title.
        if session.name is None and session.text is None:
            word = Span(session.span.start, session.span.start + len("session"))
            fix = Fix("write resume", (Edit(word, "resume"),))
        self.findings.report(
            "W011",
            f"this session does not see what '{name.text}' remembers",
            name.span,
            help=f"write 'resume: {name.text}' to go on with its memory",
            related=(Related("it has worked and remembered here", worked),),
            fix=fix,
        )

    def _earlier(self, agent: str) -> Earlier:
        return self.used.setdefault(agent, Earlier(nodes.If, nodes.Choice, nodes.Parallel))


def _prompt(properties: tuple[nodes.Property, ...]) -> nodes.Property | None:
    for prop in properties:
        if prop.name.text == "prompt":
            return prop
    return None
