"""What bounds a run: sessions, tokens, dollars and time, looked at before every call.

Sessions, tokens and dollars are those of all lives of a run, time is that of this process. A *session* is a `session`,
`resume` or `**...**` used as a value, once, however often it is retried; tokens and dollars are those of every call, also
of decisions, repairs and summaries, and of calls that gave no answer. A step that is taken from the journal costs nothing
and meets no limit. What is under way when a limit is reached goes on to its end, so tokens, dollars and time may pass
theirs by what runs then; sessions never do.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Final

from .clock import Clock
from .costs import Costs, dollars, is_session
from .errors import LimitReached, Stop
from .settings import MAX_ROUNDS, Bounds, Settings
from .terminal import seconds

_FLAGS: Final = {
    "sessions": "--max-sessions",
    "tokens": "--max-tokens",
    "usd": "--max-usd",
    "seconds": "--timeout",
}


class Limits:
    """The limits of one run, and what stands against them."""

    def __init__(self, bounds: Bounds, costs: Costs, clock: Clock) -> None:
        """`costs` are those of the whole run, and grow while it lives."""
        self._bounds = bounds
        self._costs = costs
        self._clock = clock
        self._began = clock.seconds()

    def check(self, kind: str | None = None, wait: float = 0.0) -> None:
        """Raise LimitReached where no call may start any more in `wait` seconds, or no step of this kind."""
        bounds, costs = self._bounds, self._costs
        used = costs.usage.total
        if bounds.usd is not None and (costs.usage.usd or 0.0) >= bounds.usd:
            raise LimitReached(
                f"the run has cost {dollars(costs.usage.usd)} USD, and --max-usd allows {bounds.usd:g}",
                raising={"--max-usd": f"{2 * max(bounds.usd, costs.usage.usd or 0.0):.3g}"},
            )
        if bounds.tokens is not None and used >= bounds.tokens:
            raise LimitReached(
                f"the run has used {used:,} tokens, and --max-tokens allows {bounds.tokens:,}",
                raising={"--max-tokens": str(2 * max(bounds.tokens, used))},
            )
        if bounds.sessions is not None and is_session(kind) and costs.sessions >= bounds.sessions:
            started = f"{costs.sessions:,} session{'' if costs.sessions == 1 else 's'}"
            raise LimitReached(
                f"the run has started {started}, and --max-sessions allows no more",
                raising={"--max-sessions": str(2 * max(bounds.sessions, costs.sessions))},
            )
        if bounds.seconds is not None:
            passed = self._clock.seconds() - self._began
            if passed >= bounds.seconds:
                allowed = f"--timeout allows {seconds(bounds.seconds)}"
                raise LimitReached(f"the run has taken {seconds(passed)}, and {allowed}")
            if passed + wait >= bounds.seconds:
                raise LimitReached(
                    f"the next attempt would start after {seconds(bounds.seconds)}, which --timeout allows"
                )


def resume_command(settings: Settings, run_id: str, stop: Stop | None = None) -> str:
    """The command that takes a run up again."""
    parts = [settings.command, "--resume", shlex.quote(run_id), resume_limits(settings, stop)]
    return " ".join(part for part in parts if part)


def resume_limits(settings: Settings, stop: Stop | None = None) -> str:
    """The options with which a resumed run has the same limits, higher where one of them stopped it."""
    limits = {
        _FLAGS[name]: _plain(name, amount)
        for name, amount in asdict(settings.bounds).items()
        if amount is not None
    }
    if settings.max_rounds != MAX_ROUNDS:
        limits["--max-rounds"] = str(settings.max_rounds)
    if isinstance(stop, LimitReached):
        limits.update(stop.raising)
    return " ".join(f"{flag} {amount}" for flag, amount in limits.items())


def _plain(name: str, amount: float) -> str:
    return f"{amount:g}s" if name == "seconds" else f"{amount:g}" if name == "usd" else str(amount)
