"""How often state.md is written: a few times a second while there is news, and once more at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from prose_runtime.clock import SystemClock
from prose_runtime.state.filesystem import LATEST, FilesystemStore
from prose_runtime.state.folders import FilesystemStores


class Hurried(asyncio.SelectorEventLoop):
    """An event loop whose time goes on to the next timer as soon as nothing else is to be done, and whose threads
    answer at once."""

    def __init__(self) -> None:
        self.passed = 0.0
        super().__init__()

    def time(self) -> float:
        return self.passed

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.passed = max(self.passed, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, work: Callable[..., Any], *arguments: Any
    ) -> asyncio.Future[Any]:
        done: asyncio.Future[Any] = self.create_future()
        done.set_result(work(*arguments))
        return done


def rewritten(folder: Path, apart: float, count: int) -> tuple[list[float], str]:
    """When state.md was rendered while so many events came so many seconds apart; and what it holds at last."""
    loop = Hurried()
    times: list[float] = []
    news = 0

    def render() -> str:
        times.append(loop.time())
        return f"after {news}"

    async def live() -> str:
        nonlocal news
        store = FilesystemStores(folder).create(SystemClock(), "", render)
        assert isinstance(store, FilesystemStore)
        assert store.directory is not None
        for _ in range(count):
            news += 1
            store.changed()
            await asyncio.sleep(apart)
        await store.close()
        return (store.directory / "state.md").read_text()

    try:
        return times, loop.run_until_complete(live())
    finally:
        loop.close()


@pytest.mark.parametrize("apart", [0.0005, 0.01, 0.05, 0.089, 0.1, 0.11, 0.15, 0.2, 0.29, 0.3, 0.5])
def test_state_is_rewritten_a_few_times_a_second(apart: float, tmp_path: Path) -> None:
    count = int(20 / apart) if apart >= 0.01 else 8000
    times, text = rewritten(tmp_path, apart, count)
    seconds = count * apart
    assert text == f"after {count}"
    # The last one is that of the end.
    gaps = [later - sooner for sooner, later in pairwise(times[:-1])]
    assert min(gaps, default=1.0) > 0.29
    assert max(gaps, default=0.0) < LATEST + 0.5
    assert len(times) <= seconds * 3.5 + 2
    assert len(times) >= seconds / (LATEST + 0.5)


def test_one_piece_of_news_is_written_soon(tmp_path: Path) -> None:
    times, text = rewritten(tmp_path, 5.0, 1)
    assert times == [pytest.approx(0.1), pytest.approx(5.0)]
    assert text == "after 1"


def test_the_end_of_a_short_run_is_written_at_once(tmp_path: Path) -> None:
    times, text = rewritten(tmp_path, 0.0, 3)
    assert times == [pytest.approx(0.0)]
    assert text == "after 3"
