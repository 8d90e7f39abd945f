"""What crash tests run: the examples, each with its inputs, and what is to be expected of it after a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prosec.compiler import compile
from prosec.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Workload:
    """A script with its inputs."""

    script: Path
    inputs: Sequence[str] = ()
    losers: Mapping[str, str] = field(default_factory=dict)
    """Branches that lose a race after they were answered: their bindings, with the beginning of their statements."""

    @property
    def simulated(self) -> list[str]:
        """The arguments of a first life without a model."""
        return [*self.inputs, "--provider", "simulate", "--json"]


def compiled(source: str, folder: Path, *inputs: str) -> Workload:
    """A program of a test's own, built into a folder."""
    folder.mkdir()
    built = compile(Source(source, "made.prose"))
    assert built.text is not None, built.diagnostics
    script = folder / "made.py"
    script.write_text(built.text, encoding="utf-8")
    return Workload(script, inputs)


RESUME = ("--provider", "simulate", "--json", "--resume", "last")
"""The arguments of every later one."""


def example(name: str, *inputs: str, losers: Mapping[str, str] | None = None) -> Workload:
    return Workload(EXAMPLES / f"{name}.py", inputs, losers or {})


WORKLOADS = {
    made.script.stem: made
    for made in (
        example("backlog-triage", "--team", "web"),
        example("contract-scan", "--contract", "One. Two. Three."),
        example("course-plan", "--topic", "knots", "--weeks", "3"),
        example("essay-polish", "--subject", "rain", "--max-words", "300"),
        example(
            "headline-race",
            "--story",
            "a bridge",
            losers={"_branch_1": 'session "One sentence', "short": 'short = session "A headline'},
        ),
        example("hello"),
        example("launch-check", "--feature", "dark mode"),
        example("nightly-import", "--supplier", "Acme"),
        example("pr-review", "--pr", "1234"),
        example("project-captain", "--goal", "a garden"),
        example("question-tree", "--question", "Why is the sky blue?"),
        example("refund-desk", "--amount", "120", "--reason", "it broke"),
        example("release-notes", "--since", "v1", "--audience", "users"),
        example(
            "release-train",
            "--service",
            "checkout",
            "--version-bump",
            "minor",
            "--duty-answer",
            "go",
        ),
        example("support-reply", "--letter", "It does not work."),
        example("ticket-router", "--ticket", "The printer burns."),
    )
}
