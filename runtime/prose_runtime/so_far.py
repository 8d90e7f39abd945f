"""The account of what happened so far, in program order: what sessions without context of their own are told.

An account is immutable and bounded, so that a fork shares it and its cost doesn't grow with the steps done.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from .immutable import immutable
from .tasks import Entry
from .values import Value

MOST: Final = 30
"""Results that an account remembers; inputs are all in it."""


@immutable
class Account:
    """Inputs, then the newest results, oldest first. Nothing is in it twice under one label and path."""

    inputs: tuple[Entry, ...] = ()
    results: tuple[Entry, ...] = ()

    def with_input(self, entry: Entry) -> Account:
        kept = [e for e in self.inputs if e.label != entry.label]
        return Account((*kept, entry), self.results)

    def with_result(self, entry: Entry, *, new: bool = False) -> Account:
        """The account after one more result; a rebound name keeps its newest value only.

        `new`: no other result can have its path.
        """
        results = self.results
        if entry.path is not None and not new:
            results = tuple([e for e in results if e.path != entry.path])
        return Account(self.inputs, (*results[-(MOST - 1) :], entry))

    def named(self, name: str, value: Value, path: str | None) -> Account:
        """The account once the newest result has got a name; unchanged if `value` is not that result."""
        if not self.newest_is(value):
            return self
        return Account(self.inputs, self.results[:-1]).with_result(Entry(name, value, path))

    def newest_is(self, value: Value) -> bool:
        return bool(self.results) and self.results[-1].value is value

    def entries(self) -> tuple[Entry, ...]:
        return self.inputs + self.results

    def joined(self, branch: Account, known: Collection[int]) -> Account:
        """This account, then what a branch added; `known` are the ids of the entries that it had at the fork."""
        account = self
        for entry in branch.inputs:
            if id(entry) not in known:
                account = account.with_input(entry)
        for entry in branch.results:
            if id(entry) not in known:
                account = account.with_result(entry)
        return account

    def renamed(self, entries: tuple[Entry, ...], name: str, path: str | None) -> Account:
        """The account with an entry (of those given, if it is still in it) under another name and place."""
        ids = {id(entry) for entry in entries}
        results = [Entry(name, e.value, path) if id(e) in ids else e for e in self.results]
        return Account(self.inputs, tuple(results))
