"""Starting commands as people have them, without this machine's habits.

Where PYTHONDONTWRITEBYTECODE is set every start would compile all that it imports. With `bytecode` it goes to a
folder of its own, which the first start of a command fills: that one is not to be measured.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]


class Processes:
    """Commands in one environment: this process's, without keys, with empty caches."""

    def __init__(self, folder: Path, *, bytecode: bool = False) -> None:
        """`folder` takes the caches and, with `bytecode`, the bytecode of whatever is started."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC_", "PROSE_"))
        }
        kept["XDG_CACHE_HOME"] = str(folder / "cache")
        if bytecode:
            kept.pop("PYTHONDONTWRITEBYTECODE", None)
            kept["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        self.environment: Mapping[str, str] = kept

    def prosec(self, *arguments: str) -> list[str]:
        """The command line of the compiler: the installed command where it stands beside this Python."""
        command = Path(sys.executable).with_name("prosec")
        start = [str(command)] if command.exists() else self.python("-m", "prosec")
        return [*start, *arguments]

    def python(self, *arguments: str) -> list[str]:
        """A command line of this Python."""
        return [sys.executable, *arguments]

    def run(self, command: Sequence[str]) -> None:
        """Run a command to its end; raises RuntimeError, with what it said, where it fails."""
        done = subprocess.run(
            command, env=self.environment, cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace")
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {said}")

    def launched(
        self, command: Sequence[str], variables: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """A process with more variables, which says something on its standard error alone."""
        return subprocess.Popen(
            command,
            env={**self.environment, **variables},
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    @contextmanager
    def started(self, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        """A process to talk to line by line, which ends when its standard input does."""
        with subprocess.Popen(
            command,
            env=self.environment,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                assert process.stdin is not None
                process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()


class Worker:
    """A process that carries out orders (orders.py), in a module of this package."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def started(cls, processes: Processes, module: str, *arguments: str) -> Iterator[Worker]:
        command = processes.python("-m", f"{__package__}.{module}", *arguments)
        with processes.started(command) as process:
            yield cls(process)

    def perform(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Have an order carried out; returns what the process says that it took."""
        answer = self._answer(order)
        if not answer:
            raise RuntimeError("a process that was measured has failed; see above")
        taken: dict[str, Any] = json.loads(answer)
        return taken

    def perform_last(self, order: Mapping[str, Any]) -> None:
        """Have an order carried out of which the process dies, as it should."""
        if self._answer(order) or self._process.wait():
            raise RuntimeError(f"a process was to die of {order}, and did not; see above")

    def _answer(self, order: Mapping[str, Any]) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextmanager
def loopback(processes: Processes, latency: float) -> Iterator[str]:
    """The loopback server in a process of its own, with so many milliseconds of latency; gives its address."""
    command = processes.python("-m", "prose_runtime.testing.server", "--latency-ms", str(latency))
    with processes.started(command) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


def processor_time() -> float:
    """Seconds of the processor that all processes took which were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def workplace(*, bytecode: bool = False) -> Iterator[tuple[Path, Processes]]:
    """A folder for what is measured, and the processes that work there; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="prosec-benchmarks-") as made:
        folder = Path(made)
        yield folder, Processes(folder, bytecode=bytecode)
