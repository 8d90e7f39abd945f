"""A process that makes model calls when it is told to, through a script or by hand, and says what that took.

    python -m tests.benchmarks.calls script|create|stream

reads orders from standard input, one JSON object a line, and answers each with one. What is imported once and for all
(the SDK takes over a second) is imported before the first order; the time is that of everything else: a script's whole
run with its options, files and client, or the bare client's and its loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import runpy
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

Order = dict[str, Any]
"""`url` of the server, and either `arguments` (of a script, its path first) or `calls`, `cap`, `body`."""


def main() -> None:
    """Serve orders until standard input ends."""
    kind = sys.argv[1]
    import anthropic  # noqa: F401

    perform = {"script": _script, "create": _create, "stream": _stream}[kind]
    for line in sys.stdin:
        order: Order = json.loads(line)
        os.environ["ANTHROPIC_BASE_URL"] = order["url"]
        os.environ["ANTHROPIC_API_KEY"] = "loopback"
        _forget_peak()
        before = _resident("VmRSS")
        started, worked = time.perf_counter(), time.process_time()
        perform(order)
        answer = {
            "seconds": time.perf_counter() - started,
            "processor": time.process_time() - worked,
            "growth": _resident("VmHWM") - before,
        }
        print(json.dumps(answer), flush=True)


def _script(order: Order) -> None:
    sys.argv = order["arguments"]
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{sys.argv} ended with {ended.code}") from None


def _create(order: Order) -> None:
    body = {name: value for name, value in order["body"].items() if name != "stream"}
    # The most that the SDK asks for without a stream; a number of as many digits.
    body["max_tokens"] = min(body["max_tokens"], 21_333)

    async def call(client: AsyncAnthropic) -> str:
        message = await client.messages.create(**body)
        return "".join(block.text for block in message.content if block.type == "text")

    asyncio.run(_all(order, call))


def _stream(order: Order) -> None:
    """The same, streamed and read as raw events, which is what the provider does."""
    from anthropic import AsyncStream

    async def call(client: AsyncAnthropic) -> str:
        stream = await client.post(
            "/v1/messages",
            body=order["body"],
            cast_to=object,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        parts: list[str] = []
        async for event in AsyncStream.raw_events(stream.response):
            data = json.loads(event.data)
            if data["type"] == "content_block_delta":
                parts.append(data["delta"]["text"])
        await stream.response.aclose()
        return "".join(parts)

    asyncio.run(_all(order, call))


async def _all(order: Order, call: Callable[[AsyncAnthropic], Awaitable[str]]) -> None:
    """All calls: one after the other with a cap of 1, else as many at once as the semaphore lets through."""
    from anthropic import AsyncAnthropic

    limit = asyncio.Semaphore(order["cap"])

    async def limited(client: AsyncAnthropic) -> str:
        async with limit:
            return await call(client)

    async with AsyncAnthropic() as client:
        if order["cap"] == 1:
            answers = [await call(client) for _ in range(order["calls"])]
        else:
            answers = await asyncio.gather(*(limited(client) for _ in range(order["calls"])))
    if not all(answers):
        raise RuntimeError("a call was not answered")


def _forget_peak() -> None:
    """Let VmHWM begin again from now on, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _resident(field: str) -> int:
    """A size of this process in bytes: VmRSS now, VmHWM at its peak. Where there is no /proc, the peak for both."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(
        int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{field}:")
    )


if __name__ == "__main__":
    main()
