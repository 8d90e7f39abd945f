"""What earlier lives of a run left in its journal: results to take instead of calling, numbers, and what was spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from .costs import Costs
from .providers.protocol import JSON

Record = Mapping[str, Any]

_KEPT: Final = ("id", "text", "kind_of_value", "value", "reason", "model", "world")
"""What a step that is taken from the journal needs of its result."""


class Past:
    """The records of earlier lives by identity; empty in a run's first life.

    What was taken is remembered: a finished run that is resumed takes every record, but for those of cancelled
    branches.
    """

    def __init__(
        self, records: Iterable[Record] = (), reuse: Literal["unchanged", "all"] = "unchanged"
    ) -> None:
        self.first: Record = {}
        """The `run` record of the first life; empty in a run's own first."""
        self.last: Record = {}
        """That of the latest."""
        self.end: Record | None = None
        """How the latest life ended; None where it was killed."""
        self.anonymous = 0
        """The highest number taken by a session without a name."""
        self.frames = 0
        """The highest execution id."""
        self.costs = Costs()
        """What was spent in all lives; what this one spends is added."""
        self.worlds_ignored = 0
        """Steps taken although the world had changed since (`--reuse all`)."""
        self._results: dict[str, Record] = {}
        self._bare: dict[str, str] = {}
        self._failed: dict[str, Record] = {}
        self._handled: set[str] = set()
        self._attempts: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._races: dict[str, Record] = {}
        self._inputs: dict[str, Record] = {}
        self._waiting: dict[str, None] = {}
        self._used: set[str] = set()
        for record in records:
            self._read(record)
            self.costs.read(record)
        if reuse == "unchanged":
            self._bare.clear()

    def _read(self, record: Record) -> None:
        kind, identity = record.get("r"), record.get("id", "")
        match kind:
            case "run":
                self.first = self.first or record
                self.last, self.end = record, None
            case "end":
                self.end = record
                # Whatever a finally on its way made it look like, nobody caught what ended the run.
                self._handled.difference_update(record.get("failed", ()))
            case "begin":
                if "anon" in record:
                    self._numbers[identity] = record["anon"]
                    self.anonymous = max(self.anonymous, record["anon"])
                elif "execution_id" in record:
                    self._numbers[identity] = record["execution_id"]
                    self.frames = max(self.frames, record["execution_id"])
            case "result":
                self._results[identity] = {name: record[name] for name in _KEPT if name in record}
                self._failed.pop(identity, None)
                if "bare" in record:
                    self._bare[record["bare"]] = identity
            case "failed":
                self._failed[identity] = record
                self._handled.discard(identity)
                self._attempts[identity] = self._attempts.get(identity, 0) + 1
            case "retry":
                self._attempts[identity] = max(
                    record["attempt"] - 1, self._attempts.get(identity, 0)
                )
            case "handled":
                self._handled.update(record["ids"])
            case "race":
                self._races[identity] = record
            case "input":
                self._inputs[identity] = record
                # An edited program may ask for it elsewhere than where it waited.
                self._waiting.pop(record["name"], None)
            case "waiting":
                self._waiting[record["name"]] = None

    @property
    def is_empty(self) -> bool:
        """Nothing was recorded: this is the first life."""
        return not self.first

    @property
    def left(self) -> bool:
        """There are results that nothing has asked for yet."""
        return len(self._used) < len(self._results)

    @property
    def unused(self) -> list[Record]:
        """The results that nothing has asked for."""
        return [record for identity, record in self._results.items() if identity not in self._used]

    def result(self, identity: str, bare: str | None) -> Record | None:
        """The recorded result of a step, which is thereby taken; `bare` is its identity without the world."""
        record = self._results.get(identity)
        if record is None and bare is not None and bare in self._bare:
            identity = self._bare[bare]
            record = self._results[identity]
            self.worlds_ignored += 1
        if record is not None:
            self._used.add(identity)
        return record

    def put_back(self, identity: str) -> None:
        """Nothing has taken this result after all."""
        self._used.discard(identity)

    def failure(self, identity: str) -> Record | None:
        """The recorded failure of a step that the program had handled: it is raised again. Others run again."""
        return self._failed.get(identity) if identity in self._handled else None

    def is_handled(self, identity: str) -> bool:
        return identity in self._handled

    def attempts(self, identity: str) -> int:
        """Attempts of a step that failed."""
        return self._attempts.get(identity, 0)

    def number(self, identity: str) -> int | None:
        """The number that a step or frame took."""
        return self._numbers.get(identity)

    def race(self, identity: str) -> Record | None:
        return self._races.get(identity)

    def input(self, identity: str) -> Record | None:
        return self._inputs.get(identity)

    def secrets(self, name: str) -> int:
        """How many places secret inputs of this name have taken."""
        taken = [r["place"] for r in self._inputs.values() if r["name"] == name and r.get("secret")]
        return max(taken) + 1 if taken else 0

    def waits_for(self, name: str) -> bool:
        """The run stopped because this input was missing."""
        return name in self._waiting

    @property
    def waiting_for(self) -> list[str]:
        """The inputs that were missing, in the order in which they were needed."""
        return list(self._waiting)


def plain_value(record: Record) -> JSON:
    """The value of a result as plain data: text, or what is not text."""
    value: JSON = record["text"] if "text" in record else record["value"]
    return value
