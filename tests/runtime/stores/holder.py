"""A process that works on a run until it is killed: `python holder.py KIND FOLDER [RUN]`.

It prints the run's id, or why it can't work on it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from kinds import KINDS
from prose_runtime.clock import SystemClock
from prose_runtime.errors import UsageError


async def hold(kind: str, folder: str, run_id: str | None) -> None:
    stores = next(one for one in KINDS if one.name == kind).place(Path(folder))
    store = (
        stores.reopen(run_id, "the source", str, lambda records: None)
        if run_id
        else stores.create(SystemClock(), "the source", str)
    )
    store.record({"r": "run", "program": "t.prose", "pid": os.getpid(), "host": "here"})
    for number in range(100):
        store.record({"r": "result", "id": str(number)})
    await store.durable()
    # What nobody waited for may be lost.
    store.record({"r": "result", "id": "late"})
    print(store.run_id, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


kind, folder, *run = sys.argv[1:]
try:
    asyncio.run(hold(kind, folder, run[0] if run else None))
except UsageError as problem:
    print(problem.message.partition(" in ")[0], flush=True)
    raise SystemExit(problem.exit_code) from None
