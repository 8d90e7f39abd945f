"""The properties of agents and sessions: which have an effect where, and the values of the simple ones."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.findings import listed, positive_integer, replacement, word_of
from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.analysis.spelling import closest
from prosec.diagnostics import Related
from prosec.syntax import nodes

MODELS = ("opus", "sonnet", "haiku")
BACKOFFS = ("none", "linear", "exponential")
SCOPES = ("project", "user")
MOST_RETRIES = 10

_KNOWN = (
    "prompt",
    "model",
    "context",
    "retry",
    "backoff",
    "skills",
    "persist",
    "permissions",
)
# Properties of relatives of this language, and what is written here for what they mean.
_MEANT = {
    "tools": "say what may be touched with 'permissions:', such as bash: allow",
    "on-fail": "put the session into a try, or 'retry: 3' under it",
    "timeout": "a run as a whole has a time limit: --timeout",
    "max_tokens": "a run as a whole has a limit: --max-tokens",
    "description": "write it as a comment above; comments become the docstring",
    "system": "an agent's own text is its 'prompt:'",
    "memory": "write 'persist: true', project or user",
}
_OF_SESSIONS_ONLY = {"retry", "backoff", "context"}


class PropertyChecks(Checks):
    """E008, E009, E042, E043, W005, W020, W021, and E005 for a memory scope that does not exist."""

    def rules(self) -> Iterable[Rule]:
        return (
            rule(nodes.Agent, self.agent),
            rule(nodes.Session, self.session),
            rule(nodes.Resume, self.session),
        )

    def agent(self, agent: nodes.Agent, place: Place) -> None:
        for prop in self._told_apart(agent.properties):
            match prop.name.text:
                case "model":
                    self._model(prop)
                case "persist":
                    self._persist(prop)
                case name if name in _OF_SESSIONS_ONLY:
                    self.findings.report(
                        "W021",
                        f"'{name}' has no effect on an agent",
                        prop.name.span,
                        label="ignored here",
                        help=f"move it under each session of '{agent.name.text}' that needs it",
                    )
                case name if name not in _KNOWN:
                    self._unknown(prop, "an agent")

    def session(self, session: nodes.Session | nodes.Resume, place: Place) -> None:
        properties = session.properties
        if not properties:
            return
        backoff: nodes.Property | None = None
        retried = False
        for prop in self._told_apart(properties):
            match prop.name.text:
                case "model":
                    self._model(prop)
                case "retry":
                    retried = True
                    self._retry(prop)
                case "backoff":
                    backoff = prop
                    self._backoff(prop)
                case "persist":
                    agent = session.agent
                    self.findings.report(
                        "W005",
                        "'persist' has no effect on a session",
                        prop.name.span,
                        label="ignored here",
                        help=f"memory belongs to an agent: move it into 'agent {agent.text}:'"
                        if agent
                        else "memory belongs to an agent: define one with 'persist:' and write "
                        "'session: name'",
                    )
                case name if name not in _KNOWN:
                    self._unknown(prop, "a session")
        if backoff is not None and not retried:
            self.findings.report(
                "W005",
                "'backoff' has no effect without 'retry'",
                backoff.name.span,
                label="nothing is tried again here",
                help="add 'retry: 3', or remove the line",
            )

    def _told_apart(self, properties: tuple[nodes.Property, ...]) -> list[nodes.Property]:
        """The properties without repeated ones, which are reported."""
        first: dict[str, nodes.Property] = {}
        for prop in properties:
            known = first.setdefault(prop.name.text, prop)
            if known is not prop:
                self.findings.report(
                    "E009",
                    f"property '{prop.name.text}' is given twice",
                    prop.name.span,
                    help="keep one of the two",
                    related=(Related("first given here", known.name.span),),
                )
        return list(first.values())

    def _unknown(self, prop: nodes.Property, owner: str) -> None:
        name = prop.name.text
        near = None if name in _MEANT else closest(name, _KNOWN)
        self.findings.report(
            "W005",
            f"unknown property '{name}'",
            prop.name.span,
            label="ignored",
            help=f"did you mean '{near}'?"
            if near
            else _MEANT.get(name, f"{owner} knows {', '.join(_KNOWN)}"),
            fix=replacement(prop.name.span, near) if near else None,
        )

    def _model(self, prop: nodes.Property) -> None:
        value = prop.value
        word = word_of(value)
        if word is not None:
            if word in MODELS or (word.startswith("claude-") and len(word) > len("claude-")):
                return
            near = closest(word, MODELS)
            self.findings.report(
                "E008",
                f"invalid model '{word}'",
                value.span,
                help=f"did you mean '{near}'?"
                if near
                else f"use {listed(MODELS)}, or an id that begins with claude-",
                fix=replacement(value.span, near) if near else None,
            )
            return
        written = self.findings.source.slice(value.span)
        dotted = written.startswith("claude-") and "\n" not in written
        self.findings.report(
            "E008",
            "a model is a name, not a value",
            value.span,
            help=f'write the id in quotes: "{written}"'
            if dotted
            else f"use {listed(MODELS)}, or an id in quotes that begins with claude-",
            fix=replacement(value.span, f'"{written}"') if dotted else None,
        )

    def _retry(self, prop: nodes.Property) -> None:
        value = prop.value
        if not positive_integer(value):
            zero = isinstance(value, nodes.Number) and value.value == 0
            self.findings.report(
                "E042",
                "retry takes a whole number from 1, written as a numeral",
                value.span,
                help="remove the line: without it a session is tried once"
                if zero
                else "write for example 'retry: 3'",
            )
        elif isinstance(value, nodes.Number) and value.value > MOST_RETRIES:
            self.findings.report(
                "W020",
                f"{value.text} retries are many",
                value.span,
                label=f"more than {MOST_RETRIES}",
                help="each one is paid for; a prompt that fails this often needs another prompt",
            )

    def _backoff(self, prop: nodes.Property) -> None:
        word = word_of(prop.value)
        if word in BACKOFFS:
            return
        near = closest(word, BACKOFFS) if word else None
        self.findings.report(
            "E043",
            f"invalid backoff '{word}'" if word else "backoff takes a word",
            prop.value.span,
            help=f"did you mean '{near}'?" if near else f"use {listed(BACKOFFS)}",
            fix=replacement(prop.value.span, near) if near else None,
        )

    def _persist(self, prop: nodes.Property) -> None:
        value = prop.value
        report = self.findings.report
        if isinstance(value, nodes.Boolean):
            if not value.value:
                report(
                    "W027",
                    "'persist: false' is what an agent without the line does",
                    prop.span,
                    help="remove the line",
                )
        elif isinstance(value, nodes.Ref):
            if value.name not in SCOPES:
                near = closest(value.name, (*SCOPES, "true"))
                report(
                    "E005",
                    f"no such memory scope '{value.name}'",
                    value.span,
                    help=f"did you mean '{near}'?"
                    if near
                    else "use true (this run), project, user, or a folder in quotes",
                    fix=replacement(value.span, near) if near else None,
                )
        elif isinstance(value, nodes.Text):
            word = value.plain
            if word in (*SCOPES, "true", "false"):
                report(
                    "W027",
                    f"in quotes, '{word}' is the name of a folder",
                    value.span,
                    help=f"without quotes it is the scope: persist: {word}"
                    if word != "false"
                    else "remove the line if the agent is to have no memory",
                    fix=replacement(value.span, word) if word != "false" else None,
                )
            elif not word.strip():
                report(
                    "E005",
                    "the folder of an agent's memory has no name",
                    value.span,
                    help='use true, project, user, or a folder in quotes: persist: "notes/captain"',
                )
        else:
            report(
                "E005",
                "persist takes true, project, user, or a folder in quotes",
                value.span,
                help="write for example 'persist: true' or 'persist: \"notes/captain\"'",
            )
