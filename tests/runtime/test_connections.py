"""Lanes: as many connections as calls at once, used again, given back whatever becomes of a call."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from prose_runtime.providers.connections import Lanes, transport
from prose_runtime.testing.reactions import Fails, HangsUp, Says
from prose_runtime.testing.server import LoopbackServer

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


def counted(lanes: Lanes) -> tuple[int, int]:
    return len(lanes._lanes), len(lanes._idle)


def test_lanes_are_used_again() -> None:
    async def run() -> None:
        lanes = Lanes()
        async with LoopbackServer() as server, httpx2.AsyncClient(transport=lanes, timeout=20) as client:
            url = f"{server.base_url}/v1/messages"
            for _ in range(3):
                assert (await client.post(url, json=BODY)).status_code == 200
            assert counted(lanes) == (1, 1)
            await asyncio.gather(*(client.post(url, json=BODY) for _ in range(5)))
            assert counted(lanes) == (5, 5)
            server.script(Fails(500), HangsUp(), Says("fine"))
            assert (await client.post(url, json=BODY)).status_code == 500
            with pytest.raises(httpx2.HTTPError):
                await client.post(url, json=BODY)
            assert (await client.post(url, json=BODY)).status_code == 200
            assert counted(lanes) == (5, 5)
            hold = server.hold()
            call = asyncio.create_task(client.post(url, json=BODY))
            await asyncio.to_thread(hold.arrived.wait, 20)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            hold.release()
            assert counted(lanes) == (5, 5)
            async with client.stream("POST", url, json=BODY):
                assert counted(lanes) == (5, 4)
            assert counted(lanes) == (5, 5)

    asyncio.run(run())


def test_behind_a_proxy_the_client_finds_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert transport() is not None
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    assert transport() is None
