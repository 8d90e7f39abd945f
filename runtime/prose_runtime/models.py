"""Which model an alias stands for: the one table of opus, sonnet and haiku, and what overrides it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .errors import UsageError

ALIASES: Mapping[str, str] = {
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}

WINDOW = 600_000
"""Characters that a prompt may have: 200,000 tokens less the room for the answer, at 3.6 characters per token."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of one run: ids by alias, the default of sessions that name none, and the decider."""

    ids: Mapping[str, str] = field(default_factory=lambda: ALIASES)
    default: str = "sonnet"
    decider: str = "haiku"

    def resolve(self, model: str | None) -> str:
        """The id of a model as a program names it; None is the default."""
        name = model or self.default
        return self.ids.get(name, name)

    @property
    def decider_id(self) -> str:
        return self.resolve(self.decider)

    @classmethod
    def chosen(
        cls, options: Iterable[str], decider: str | None, environ: Mapping[str, str]
    ) -> Models:
        """The models after `--model` options (`opus`, `claude-...`, `sonnet=ID`), `--decider` and PROSE_MODEL_SONNET.

        Raises UsageError for a name that is neither an alias nor an id.
        """
        ids = dict(ALIASES)
        for alias in ALIASES:
            if override := environ.get(f"PROSE_MODEL_{alias.upper()}"):
                ids[alias] = override
        default = "sonnet"
        for option in options:
            alias, equals, model = option.partition("=")
            if not equals:
                default = _known(option, "--model")
            elif not model:
                raise UsageError(f"--model {option}: no model id after the equals sign")
            elif alias not in ALIASES:
                raise UsageError(
                    f"--model {option}: '{alias}' is not an alias{_suggestion(alias)}; the aliases are {', '.join(ALIASES)}"
                )
            else:
                ids[alias] = model
        return cls(ids, default, _known(decider, "--decider") if decider else "haiku")


def _known(name: str, option: str) -> str:
    if name in ALIASES or name.startswith("claude-"):
        return name
    raise UsageError(
        f"{option} {name}: not a model{_suggestion(name)}; give one of {', '.join(ALIASES)}, an id that begins with "
        f"'claude-', or --model sonnet={name or 'ID'} for any other id"
    )


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name.lower(), ALIASES, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
