"""The loopback server: HTTP/1.1 with keep-alive on 127.0.0.1, reactions by script, calls counted and held.

    python -m prose_runtime.testing.server --latency-ms 20

serves until its standard input closes, for benchmarks: the first line it prints is the address for ANTHROPIC_BASE_URL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any

from .reactions import Reaction, Response, Says


@dataclass(frozen=True)
class Call:
    """One request that arrived: what was asked, of which model, in which way. Numbered from 1 by arrival."""

    number: int
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @cached_property
    def body(self) -> dict[str, Any]:
        loaded = json.loads(self.raw or b"{}")
        return loaded if isinstance(loaded, dict) else {}

    @property
    def streaming(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def schema(self) -> Mapping[str, Any] | None:
        made = (self.body.get("output_config") or {}).get("format") or {}
        return made.get("schema")

    @property
    def system(self) -> str:
        return _text_of(self.body.get("system"))

    @property
    def prompt(self) -> str:
        """The text of the last user message."""
        messages = self.body.get("messages") or [{}]
        return _text_of(messages[-1].get("content"))


class Hold:
    """A gate for the calls that match: they wait, unanswered, until `release`. Usable from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, match: Callable[[Call], bool]) -> None:
        self.calls: list[Call] = []
        self.arrived = threading.Event()
        self._match = match
        self._loop = loop
        self._waiting: list[Callable[[], None]] = []
        self._released = False
        self._came = asyncio.Event()

    def catches(self, call: Call, answer: Callable[[], None]) -> bool:
        """Keep `answer` for later if this gate is closed and the call is one of its own."""
        if self._released or not self._match(call):
            return False
        self.calls.append(call)
        self._waiting.append(answer)
        self.arrived.set()
        self._came.set()
        return True

    async def arrival(self) -> None:
        """Wait until a first call is held; in the server's own loop."""
        await self._came.wait()

    def release(self) -> None:
        """Let what waits be answered, and what comes later pass."""
        self._loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        self._released = True
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer()


@dataclass
class LoopbackServer:
    """A Messages API on a free port of 127.0.0.1; `async with` starts and stops it.

    `script` holds what to do with the next calls, in order of arrival; when it is empty `otherwise` decides.
    """

    otherwise: Callable[[Call], Reaction] = field(default=lambda call: Says())
    port: int = 0
    calls: list[Call] = field(default_factory=list)
    count: int = 0
    """How many calls arrived; `calls` keeps them unless `keep` is off."""
    keep: bool = True
    running: int = 0
    peak: int = 0
    """The most calls that were unanswered at once."""
    dropped: int = 0
    """Calls whose connection the client closed before the answer."""

    def __post_init__(self) -> None:
        self._script: deque[Reaction] = deque()
        self._holds: list[Hold] = []
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, *reactions: Reaction) -> None:
        """What to do with the next calls, one each."""
        self._script.extend(reactions)

    def hold(self, match: Callable[[Call], bool] = lambda call: True) -> Hold:
        """Hold the calls that match until released."""
        assert self._loop is not None, "the server has not started"
        hold = Hold(self._loop, match)
        self._holds.append(hold)
        return hold

    async def __aenter__(self) -> LoopbackServer:
        self._loop = asyncio.get_running_loop()
        self._server = await self._loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, backlog=2048
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        await self._server.wait_closed()

    def receive(
        self, connection: _Connection, path: str, headers: Mapping[str, str], raw: bytes
    ) -> None:
        """Take one request from a connection and see to its answer."""
        self.count += 1
        call = Call(self.count, path, headers, raw)
        if self.keep:
            self.calls.append(call)
        self.running += 1
        self.peak = max(self.peak, self.running)
        reaction = self._script.popleft() if self._script else self.otherwise(call)

        def answer() -> None:
            assert self._loop is not None
            if reaction.latency:
                self._loop.call_later(reaction.latency, finish)
            else:
                finish()

        def finish() -> None:
            self.running -= 1
            if connection.closed:
                self.dropped += 1
            else:
                connection.answer(reaction.respond(call))

        if not any(hold.catches(call, answer) for hold in self._holds):
            answer()

    def joined(self, connection: _Connection) -> None:
        self._connections.add(connection)

    def left(self, connection: _Connection) -> None:
        self._connections.discard(connection)


class _Connection(asyncio.Protocol):
    """One client connection: cuts the incoming bytes into requests."""

    def __init__(self, server: LoopbackServer) -> None:
        self._server = server
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._server.left(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        size = end + 4 + int(headers.get("content-length", "0"))
        if len(self._buffer) < size:
            return
        raw = bytes(self._buffer[end + 4 : size])
        del self._buffer[:size]
        self._server.receive(self, first.split(" ")[1], headers, raw)

    def answer(self, response: Response) -> None:
        assert self._transport is not None
        self._transport.write(response.data)
        if response.closes:
            self._transport.close()


@contextmanager
def serving(otherwise: Callable[[Call], Reaction] | None = None) -> Iterator[LoopbackServer]:
    """The server in a thread of its own, for tests that start scripts as processes."""
    server = LoopbackServer(otherwise) if otherwise is not None else LoopbackServer()
    started = threading.Event()
    stop: asyncio.Event

    async def serve() -> None:
        nonlocal stop
        stop = asyncio.Event()
        async with server:
            started.set()
            await stop.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""


async def _serve(latency: float, port: int) -> None:
    reaction = Says(
        "An answer from the loopback server.", latency=latency, input_tokens=12, output_tokens=9
    )
    async with LoopbackServer(lambda call: reaction, port=port, keep=False) as server:
        print(server.base_url, flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        await reader.read()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser(
        prog="python -m prose_runtime.testing.server", description=__doc__
    )
    parser.add_argument(
        "--latency-ms", type=float, default=0.0, help="wait this long before each answer"
    )
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    options = parser.parse_args(arguments)
    asyncio.run(_serve(options.latency_ms / 1000, options.port))


if __name__ == "__main__":
    main()
