"""A process that makes model calls when it is told to, through a script or by hand, and says what that took.

    python -m tests.benchmarks.calls script|create|stream

carries out orders (orders.py). What is imported once and for all (the SDK takes over a second) is imported before the
first of them; the time is that of everything else: a script's whole run with its options, files and client, or the bare
client's and its loop.
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

from .orders import Order, forget_peak, resident, serve

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


def main() -> None:
    """Serve orders until standard input ends.

    In an order stand the `url` of the server, and either `arguments` (of a script, its path first) or `calls`, `cap`
    and `body`.
    """
    kind = sys.argv[1]
    import anthropic  # noqa: F401

    make_calls = {"script": _script, "create": _create, "stream": _stream}[kind]

    def perform(order: Order) -> dict[str, Any]:
        os.environ["ANTHROPIC_BASE_URL"] = order["url"]
        os.environ["ANTHROPIC_API_KEY"] = "loopback"
        forget_peak()
        before = resident("VmRSS")
        started, worked = time.perf_counter(), time.process_time()
        make_calls(order)
        return {
            "seconds": time.perf_counter() - started,
            "processor": time.process_time() - worked,
            "growth": resident("VmHWM") - before,
        }

    serve(perform)


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


if __name__ == "__main__":
    main()
