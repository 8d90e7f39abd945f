"""What a model is asked when the process is killed while it waits for answers: counted where the calls arrive."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from living import Kept, Life, Nursery, reaching
from prose_runtime.identity import digest
from prose_runtime.testing.reactions import Reaction, Says
from prose_runtime.testing.server import Call, LoopbackServer, serving
from workloads import WORKLOADS, Workload

RUN = re.compile(r"\d{8}-\d{6}-[0-9a-z]{6}")

FIELDS = re.compile("JSON object with at least the fields? (.*);")

CHOSEN = ["launch-check"]
"""Four branches at once, one of which goes on, and one fails over."""


def asked(call: Call) -> str:
    """What a call asks, the same in every run."""
    text = RUN.sub("RUN", f"{call.model} {call.system} {call.body['messages']}")
    return digest(text)


def answer(call: Call) -> Reaction:
    """An answer that tells what was asked, in the shape that it is asked for in."""
    if call.schema is not None:
        return Says()
    text = f"Answer {asked(call)[:8]}"
    fields = FIELDS.search(call.prompt)
    if fields is None:
        return Says(text)
    return Says(json.dumps(dict.fromkeys(re.findall('"([^"]+)"', fields[1]), text)))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving(answer) as opened:
        yield opened


@dataclass
class Asking:
    """A workload that asks the server."""

    work: Workload
    server: LoopbackServer
    nursery: Nursery

    def live(self, folder: Path, arguments: list[str]) -> tuple[Life, Counter[str]]:
        """A whole life, and what it asked."""
        first = self.server.count
        life = self.nursery.live(
            self.work.script, arguments, folder, environ=reaching(self.server.base_url)
        )
        return life, Counter(map(asked, self.server.calls[first:]))

    def killed(self, folder: Path, arguments: list[str], nth: int) -> Counter[str]:
        """A life that is killed when its n-th call has arrived; what it asked."""
        first = self.server.count
        hold = self.server.hold(lambda call: call.number >= first + nth)
        born = self.nursery.start(
            self.work.script, arguments, folder, environ=reaching(self.server.base_url)
        )
        assert hold.arrived.wait(30)
        os.kill(born.pid, signal.SIGKILL)
        assert self.nursery.ended(born).killed
        hold.release()
        return Counter(map(asked, self.server.calls[first:]))


def check_kill(asking: Asking, whole: tuple[Life, Counter[str]], folder: Path, nth: int) -> None:
    folder.mkdir()
    before = asking.killed(folder, [*asking.work.inputs, "--json"], nth)
    kept = Kept.only(folder)
    assert kept is not None
    recorded = len(kept.results)
    life, after = asking.live(folder, ["--json", "--resume", "last"])
    assert life.code == whole[0].code, life.err
    assert len(kept.results) == len(set(kept.results))
    assert life.outputs == whole[0].outputs
    # What was under way is asked once more; nothing else is asked twice, and nothing that wasn't asked undisturbed.
    assert after.total() == whole[1].total() - recorded
    again = before + after - whole[1]
    assert again.total() == before.total() - recorded
    assert not again - before


def others() -> Iterator[Any]:
    """The other examples, for the long suite; not those with races: which branch wins there is up to the server."""
    for name, work in WORKLOADS.items():
        if name not in CHOSEN and not work.losers:
            yield pytest.param(name, marks=pytest.mark.long)


@pytest.mark.parametrize("name", [*CHOSEN, *others()])
def test_a_kill_while_any_call_is_under_way_costs_those_under_way(
    name: str, server: LoopbackServer, nursery: Nursery, tmp_path: Path
) -> None:
    asking = Asking(WORKLOADS[name], server, nursery)
    (tmp_path / "whole").mkdir()
    whole = asking.live(tmp_path / "whole", [*asking.work.inputs, "--json"])
    for nth in range(1, whole[1].total() + 1):
        check_kill(asking, whole, tmp_path / str(nth), nth)
