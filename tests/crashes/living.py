"""Lives of runs, as tests see them: start one, let it die, take its run up again, and look at what is kept."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

PATIENCE = 60
"""Seconds after which a life that doesn't end has failed; none comes near."""

UNREACHED = "call.after:1000000000=kill"
"""Arms the points without doing anything at them."""


@dataclass(frozen=True)
class Life:
    """A life that has ended."""

    code: int
    out: str
    err: str
    calls: list[str]
    """What the simulated provider was asked, as digests, in order."""
    points: Mapping[str, int]
    """How often each point was reached, where that was to be counted."""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def outputs(self) -> Any:
        return json.loads(self.out)["outputs"]


class Ear:
    """Hears what a life says on its standard error, while it lives."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Not waiting for the life to open it: it isn't born yet.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._heard = b""

    def hear(self, text: str) -> None:
        """Return when it has said this."""
        while text.encode() not in self._heard:
            assert self._more(), f"it never said {text!r}: {self._heard.decode()}"

    def lines(self, count: int) -> None:
        """Return when it has said so many lines, or has ended."""
        while self._heard.count(b"\n") < count and self._more():
            pass

    def all(self) -> str:
        """Everything that was said, once it has ended."""
        while self._more():
            pass
        os.close(self._descriptor)
        return self._heard.decode()

    def _more(self) -> bytes:
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
        assert ready, f"nothing more was said: {self._heard.decode()}"
        more = os.read(self._descriptor, 65536)
        self._heard += more
        return more


@dataclass(frozen=True)
class Born:
    """A life that has begun."""

    pid: int
    files: Path
    """What the files begin with that tell of it."""
    counts: bool
    ear: Ear | None
    elsewhere: bool
    """Its outputs go where they can't be read."""


@dataclass
class Nursery:
    """The process that starts lives (nursery.py), from outside."""

    process: subprocess.Popen[bytes]
    numbers: count[int] = field(default_factory=count)

    @classmethod
    def open(cls) -> Nursery:
        command = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def start(
        self,
        script: Path,
        arguments: Sequence[str],
        folder: Path,
        *,
        fault: str = "",
        counts: bool = False,
        restless: bool = False,
        signal: tuple[str, int, int] | None = None,
        environ: Mapping[str, str] | None = None,
        limits: Sequence[tuple[int, int]] = (),
        ignored: Sequence[int] = (),
        heard: bool = False,
        out: str = "",
        terminal: str = "",
    ) -> Born:
        """Begin a life of a script in a working directory.

        `fault` is armed; `signal` is sent at the n-th time of a point: (point, n, signal); `counts` counts the points; `limits` are
        what setrlimit is given; the signals `ignored` are so from before it begins; what it says is
        `heard` while it lives. `out` is a file instead of the one that Life.out is read from, `terminal` that which it
        has instead of files.
        """
        files = folder / f"life-{next(self.numbers)}"
        counts = counts or signal is not None
        spec = {
            "script": str(script),
            "arguments": list(arguments),
            "folder": str(folder),
            "environ": {"PROSE_FAULT": fault or (UNREACHED if counts else ""), **(environ or {})},
            "out": out or f"{files}.out",
            "terminal": terminal,
            "err": f"{files}.err",
            "calls": f"{files}.calls",
            "points": f"{files}.points" if counts else None,
            "restless": restless,
            "signal": signal,
            "limits": limits,
            "ignored": list(ignored),
        }
        ear = Ear(files.with_suffix(".err")) if heard else None
        return Born(self._said({"start": spec})["pid"], files, counts, ear, bool(out))

    def ended(self, born: Born) -> Life:
        """Wait for its end."""
        code = self._said({"wait": born.pid})["code"]
        files = born.files
        lines = files.with_suffix(".calls").read_text(encoding="utf-8").splitlines()
        points = files.with_suffix(".points")
        return Life(
            code,
            "" if born.elsewhere else files.with_suffix(".out").read_text(encoding="utf-8"),
            born.ear.all() if born.ear else files.with_suffix(".err").read_text(encoding="utf-8"),
            [json.loads(line)[0] for line in lines],
            json.loads(points.read_text(encoding="utf-8")) if born.counts else {},
        )

    def live(self, script: Path, arguments: Sequence[str], folder: Path, **how: Any) -> Life:
        """A whole life."""
        return self.ended(self.start(script, arguments, folder, **how))

    def _said(self, command: Mapping[str, Any]) -> Any:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(command).encode() + b"\n")
        stdin.flush()
        ready, _, _ = select.select([stdout], [], [], PATIENCE)
        if not ready:
            if "wait" in command:
                os.kill(command["wait"], signal.SIGKILL)
            raise AssertionError(f"no end: {command}")
        return json.loads(stdout.readline())


def reaching(base_url: str) -> dict[str, str]:
    """The environment of a life whose model is a server here."""
    return {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": base_url}


@dataclass(frozen=True)
class Kept:
    """What is left of a run."""

    directory: Path

    @classmethod
    def only(cls, folder: Path) -> Kept | None:
        """The one run in a working directory; None where there is none."""
        found = sorted((folder / ".prose" / "runs").glob("*"))
        assert len(found) <= 1, found
        return cls(found[0]) if found else None

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def records(self) -> list[dict[str, Any]]:
        """The whole records of the journal."""
        path = self.directory / "journal.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["r"] == kind]

    @property
    def results(self) -> list[str]:
        """The identities of the steps that were paid for."""
        return [record["id"] for record in self.of("result")]

    @property
    def bindings(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.directory / "bindings").iterdir()}

    @property
    def state(self) -> str:
        """state.md without what differs from run to run: times, the id, and what concurrent branches bound first."""
        text = (self.directory / "state.md").read_text(encoding="utf-8")
        text = text.replace(self.name, "RUN")
        text = re.sub(r"^(started|updated): .*$", r"\1: TIME", text, flags=re.MULTILINE)
        rows = re.compile(r"(?:^\| .*\n)+", re.MULTILINE)
        return rows.sub(lambda found: "".join(sorted(found[0].splitlines(keepends=True))), text)

    def check_whole(self) -> None:
        """Every file is one, whole: whatever has a file's name."""
        for path in self.directory.rglob("*"):
            if path.is_dir() or path.name == "journal.jsonl":
                continue
            if path.name.endswith(".tmp"):
                assert path.name.startswith("."), path
                continue
            data = path.read_bytes()
            if path.name == "state.md":
                assert re.search(rb"^status: \w+", data, re.MULTILINE), path
                assert b"## Index" in data, path
            elif path.parent.name == "bindings":
                assert re.match(rb"# .+\n\nkind: ", data), path
