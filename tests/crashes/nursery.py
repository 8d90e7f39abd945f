"""A process that has loaded the runtime once, and forks a child for each life of a run: a kill costs no imports.

    python nursery.py

takes one command a line from its standard input and answers on its standard output, in JSON:

    {"start": {...}}    begin a life (`Spec` in living.py says what it is given); the answer is {"pid": ...}
    {"wait": pid}       wait for its end; the answer is {"code": ...}, negative for a signal

It has one thread and no event loop, so that its children begin as a fresh process would.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import pkgutil
import re
import resource
import runpy
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import prose_runtime
import prose_runtime.journal as journal
import prose_runtime.state.filesystem as filesystem
from prose_runtime.faults import Faults
from prose_runtime.identity import digest
from prose_runtime.providers.protocol import Reply, Request
from prose_runtime.providers.simulate import Simulator

RUN = re.compile(r"\d{8}-\d{6}-[0-9a-z]{6}")
"""A run id: sessions are told it, and every run has another."""

LEFT = 71
"""The exit code of a life that leaves a thread behind."""


def note_calls(path: str) -> None:
    """Write a line to a file before each simulated call: what is asked, whole, and its digest."""
    real = Simulator.complete
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def complete(self: Simulator, request: Request) -> Reply:
        text = json.dumps([request.kind, request.model, request.system, request.messages])
        line = json.dumps([digest(RUN.sub("RUN", text)), request.kind, request.hints.asked])
        os.write(descriptor, f"{line}\n".encode())
        # As with a model, what runs beside goes on meanwhile.
        await asyncio.sleep(0)
        return await real(self, request)

    Simulator.complete = complete  # type: ignore[method-assign]


def watch_points(path: str, sent: Sequence[Any] | None) -> None:
    """Note how often each point is reached; `sent` is a point, the time and the signal that then comes from outside."""
    counts: Counter[str] = Counter()
    real = Faults.reach
    lock = threading.Lock()

    def reach(self: Faults, point: str) -> None:
        with lock:
            counts[point] += 1
            Path(path).write_text(json.dumps(counts), encoding="utf-8")
            now = sent is not None and [point, counts[point]] == list(sent[:2])
        if now and sent is not None:
            os.kill(os.getpid(), sent[2])
        real(self, point)

    Faults.reach = reach  # type: ignore[method-assign]


def begin(spec: dict[str, Any]) -> None:
    """Make this process what a script's would be when it starts."""
    # A process group of its own; the terminal that is opened next is then its own, too.
    os.setsid()
    os.chdir(spec["folder"])
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, spec["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, spec["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        *((number, spec["terminal"], os.O_RDWR) for number in range(3) if spec["terminal"]),
    ):
        os.dup2(os.open(path, flags, 0o600), descriptor)
    for name, value in spec["environ"].items():
        os.environ[name] = value
    sys.argv = [spec["script"], *spec["arguments"]]
    for number in spec["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    for limit, value in spec["limits"]:
        resource.setrlimit(limit, (value, value))
    if spec["calls"]:
        note_calls(spec["calls"])
    if spec["points"]:
        watch_points(spec["points"], spec["signal"])
    if spec["restless"]:
        # Files are written at every opportunity, and the journal is synced beside the run.
        filesystem.QUIET = filesystem.LATEST = 0.0
        journal.SLOW = journal.SLOW_ALONE = -1.0


def live(spec: dict[str, Any]) -> int:
    """One life, from the script's first line to its exit code."""
    try:
        begin(spec)
        runpy.run_path(spec["script"], run_name="__main__")
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 70


def born(spec: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = live(spec)
    # Daemons end with the process: one that draws, one that waits for a person.
    if [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]:
        code = LEFT
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def load() -> None:
    """Import whatever a life may import, the client of the API among it: that costs more than the life."""
    for module in pkgutil.walk_packages(prose_runtime.__path__, "prose_runtime."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    importlib.import_module("anthropic").AsyncAnthropic(api_key="none")


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Whatever the tests were started with.
        signal.signal(number, signal.SIG_DFL)
    load()
    # What is loaded is never looked through again, so that children share it.
    gc.collect()
    gc.freeze()
    commands = os.fdopen(os.dup(0), "rb", buffering=0)
    while line := commands.readline():
        command = json.loads(line)
        if "start" in command:
            answer = {"pid": born(command["start"])}
        else:
            _, status = os.waitpid(command["wait"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
