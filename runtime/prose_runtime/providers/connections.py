"""Connections to the API: one lane per call at once, each with a pool that holds a single connection.

A pool looks through all of its connections for every request and every answer; with 32 of them that is an eighth of what
a call costs. A lane has nothing to look through, and is handed from one call to the next.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from urllib.request import getproxies

import httpx2


def transport() -> httpx2.AsyncBaseTransport | None:
    """The transport for a client; None where the environment names a proxy, which the client itself knows how to use."""
    return None if getproxies().keys() & {"http", "https", "all"} else Lanes()


class Lanes(httpx2.AsyncBaseTransport):
    """Gives each request a lane of its own: the one used last, or a new one."""

    def __init__(self) -> None:
        self._context = httpx2.create_ssl_context()
        self._lanes: list[httpx2.AsyncHTTPTransport] = []
        self._idle: list[httpx2.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        lane = self._idle.pop() if self._idle else self._new()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._idle.append(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Stream(response.stream, lambda: self._idle.append(lane))
        return response

    def _new(self) -> httpx2.AsyncHTTPTransport:
        lane = httpx2.AsyncHTTPTransport(
            verify=self._context,
            limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1),
            socket_options=_kept_alive(),
        )
        self._lanes.append(lane)
        return lane

    async def aclose(self) -> None:
        for lane in self._lanes:
            await lane.aclose()


class _Stream(httpx2.AsyncByteStream):
    """The body of an answer; closed, it gives its lane back."""

    def __init__(self, body: httpx2.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._body = body
        self._give_back: Callable[[], None] | None = give_back

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        try:
            await self._body.aclose()
        finally:
            give_back, self._give_back = self._give_back, None
            if give_back is not None:
                give_back()


def _kept_alive() -> list[tuple[int, int, int]]:
    """What the SDK's own client sets, so that a long silence does not end a connection on its way."""
    options: list[tuple[int, int, int]] = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5), ("TCP_KEEPIDLE", 60)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options
