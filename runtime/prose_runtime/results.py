"""What a run prints at its end: its outputs for people, or everything as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import Outcome, Resumed


def as_text(declared: Sequence[str], outcome: Outcome) -> str:
    """One output as it is, several under their names; without declared outputs the last value of a completed run."""
    outputs = outcome.outputs
    if not declared:
        done = (
            outcome.status == "completed" and outcome.last is not None and not outcome.last.is_null
        )
        return outcome.last.text if done and outcome.last is not None else ""
    if len(declared) == 1:
        return outputs[declared[0]].text if declared[0] in outputs else ""
    return "\n\n".join(f"{name}:\n{outputs[name].text}" for name in declared if name in outputs)


def as_resumed(resumed: Resumed) -> str:
    """How many steps were reused and how many ran, in a line."""
    text = f"resumed: {_steps(resumed.reused)} reused, {resumed.ran:,} ran"
    if resumed.worlds_ignored:
        text += (
            f" ({_steps(resumed.worlds_ignored)} reused although files may have changed since: --reuse all)"
        )
    if resumed.left:
        text += f"; {_steps(resumed.left)} of earlier lives not asked for any more"
    return text


def _steps(count: int) -> str:
    return "1 recorded step" if count == 1 else f"{count:,} recorded steps"


def as_cost(outcome: Outcome, simulated: bool) -> str:
    """What the run has cost, for people; empty where it called nothing."""
    table = outcome.costs.table()
    if table or not (simulated and outcome.costs.lines):
        return table
    return "cost: 0 USD (simulated: no model was called)"


def as_json(outcome: Outcome, simulated: bool) -> str:
    """{"run", "status", "simulated", "outputs", "usage"}.

    `usage` is that of all lives of the run: sessions and decisions that were started, tokens, and USD, null where some
    call has no known price.
    """
    costs, usage = outcome.costs, outcome.costs.usage
    return json.dumps(
        {
            "run": outcome.run_id,
            "status": outcome.status,
            "simulated": simulated,
            "outputs": {name: value.plain() for name, value in outcome.outputs.items()},
            "usage": {
                "sessions": costs.sessions,
                "decisions": costs.decisions,
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "usd": None if usage.usd is None else round(usage.usd, 6),
            },
        },
        indent=2,
    )
