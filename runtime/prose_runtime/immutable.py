"""Plain data that nobody changes: a dataclass that type checkers take for frozen, and that is quick to make.

Where Python itself keeps a dataclass frozen it sets each field by a call, and its objects take four times as long to
make. A run makes dozens of them for every step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(made: type[T]) -> type[T]:
    """A decorator of classes: `dataclass(frozen=True, slots=True)`, but for what it costs."""
    return dataclass(slots=True, unsafe_hash=True)(made)
