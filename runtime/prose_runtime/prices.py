"""What a call costs: the one table of prices, its date, and what overrides it.

The prices are those of Anthropic's own price list (platform.claude.com/docs/en/about-claude/pricing) for the Messages
API, as public records of that page had it on the table's date: USD per million tokens of input, output, cache writes
(for five minutes, the only ones made here) and cache reads. They change, and whoever has an agreement or a gateway pays
others: `--model-price MODEL=IN/OUT` says so for one run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from .errors import UsageError

if TYPE_CHECKING:
    from .models import Models
    from .providers.protocol import Usage

DATE: Final = "2026-11-12"
"""When the table was checked last."""

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float
    long: Price | None = None
    """What every token of a call costs whose prompt, the cached part included, is longer than `long_from` tokens."""
    long_from: int = 0

    def usd(self, usage: Usage) -> float:
        """What one call cost."""
        prompt = usage.input + usage.cache_write + usage.cache_read
        if self.long is not None and prompt > self.long_from:
            return self.long.usd(usage)
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_write * self.cache_write
            + usage.cache_read * self.cache_read
        ) / _MILLION


_OPUS_4: Final = Price(5.00, 25.00, 6.25, 0.50)
_SONNET_4: Final = Price(3.00, 15.00, 3.75, 0.30)

PRICES: Final[Mapping[str, Price]] = {
    "claude-fable-5-2": Price(8.00, 40.00, 10.00, 0.20),
    "claude-fable-5-1": Price(10.00, 50.00, 12.50, 0.25),
    "claude-fable-5": Price(10.00, 50.00, 12.50, 1.00),
    "claude-opus-5-5": Price(4.00, 20.00, 5.00, 0.20),
    "claude-opus-5": Price(5.00, 25.00, 6.25, 0.50),
    "claude-opus-4-8": _OPUS_4,
    "claude-opus-4-7": _OPUS_4,
    "claude-opus-4-6": _OPUS_4,
    "claude-opus-4-5": _OPUS_4,
    "claude-sonnet-5-5": Price(2.00, 10.00, 2.50, 0.10),
    "claude-sonnet-5": Price(2.00, 10.00, 2.50, 0.20),
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-haiku-5-5": Price(
        0.10, 0.50, 0.125, 0.01, long=Price(0.50, 2.50, 0.625, 0.05), long_from=100_000
    ),
    "claude-haiku-4-5": Price(1.00, 5.00, 1.25, 0.10),
}
"""By model id, without the date that may stand at its end."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one run."""

    own: Mapping[str, Price] = field(default_factory=dict)
    """Given with `--model-price`; they go before the table."""

    def of(self, model: str) -> Price | None:
        """The price of a model; None where it isn't known."""
        undated = re.sub(r"-\d{8}$", "", model)
        for name in (model, undated):
            found = self.own.get(name) or PRICES.get(name)
            if found is not None:
                return found
        return None

    def priced(self, usage: Usage, asked: str, answered: str) -> Usage:
        """The usage of one call, with what it cost: by the model that was asked for, else by the one that answered."""
        price = self.of(asked) or self.of(answered)
        return replace(usage, usd=price.usd(usage) if price is not None else None)

    def require(self, models: Iterable[str]) -> None:
        """Raise UsageError where one of these models has no price."""
        unknown = sorted({model for model in models if self.of(model) is None})
        if unknown:
            raise UsageError(f"--max-usd can't be kept: {lacking(unknown)}")

    @classmethod
    def given(cls, options: Iterable[str], models: Models) -> Prices:
        """The prices after `--model-price` options: MODEL=IN/OUT or MODEL=IN/OUT/WRITE/READ, where MODEL is an id or an alias.

        Raises UsageError for another form.
        """
        own = {}
        for option in options:
            model, _, amounts = option.partition("=")
            numbers = [_amount(text) for text in amounts.split("/")]
            if not model or len(numbers) not in (2, 4) or None in numbers:
                raise UsageError(
                    f"--model-price {option}: give USD per million tokens as MODEL=IN/OUT, for example sonnet=2/10, or as "
                    "MODEL=IN/OUT/WRITE/READ with the prices of cache writes and reads"
                )
            known = [number for number in numbers if number is not None]
            if len(known) == 2:
                # What they usually cost, next to input.
                known += [1.25 * known[0], 0.1 * known[0]]
            own[models.resolve(model)] = Price(known[0], known[1], known[2], known[3])
        return cls(own)


def lacking(models: list[str]) -> str:
    """That models have no price, and how to give one."""
    which = f"no price is known for {', '.join(models)}"
    return f"{which} (the table is of {DATE}); give it with --model-price {models[0]}=IN/OUT, in USD per million tokens"


def _amount(text: str) -> float | None:
    try:
        number = float(text.strip().removeprefix("$"))
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None
