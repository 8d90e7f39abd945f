"""Providers by name. None is imported before a run asks for it: anthropic alone costs over a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from .protocol import Provider


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What a provider may need to know of the run that it serves."""

    concurrency: int = 10
    environ: Mapping[str, str] = field(default_factory=dict)
    answers: Path | None = None
    """The file of `--answers`."""
    source: str = ""
    """The program's text, to know its names."""


NAMES = ("anthropic", "simulate")


def make_provider(name: str, options: ProviderOptions) -> Provider:
    """The provider of that name; raises UsageError where it can't be made with these options."""
    if options.answers is not None and name != "simulate":
        raise UsageError(
            f"--answers {options.answers}: only --provider simulate takes answers from a file"
        )
    if name == "simulate":
        from .simulate import Answers, Simulator

        return Simulator(Answers.load(options.answers, options.source) if options.answers else None)
    if name == "anthropic":
        from .anthropic import AnthropicProvider

        return AnthropicProvider(options.environ, concurrency=options.concurrency)
    raise UsageError(f"--provider {name}: there is no such provider; known are {', '.join(NAMES)}")
