"""What the loopback server can do with a call: answer it, refuse it, or break in the ways that real servers break.

A reaction turns a call into the bytes of an HTTP response and says whether the connection survives it. Streams are
written as one burst of chunks: what is tested is what a client makes of the events, not the pace of a network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..providers.examples import example_of

if TYPE_CHECKING:
    from .server import Call


@dataclass(frozen=True, slots=True)
class Response:
    """The bytes to send; `closes` ends the connection after them, `hangs` leaves it open without an end."""

    data: bytes
    closes: bool = False
    hangs: bool = False


class Reaction(Protocol):
    """Something that can be done with a call. `latency` is in seconds and counts before the first byte."""

    @property
    def latency(self) -> float: ...

    def respond(self, call: Call) -> Response: ...


@dataclass(frozen=True, slots=True)
class Says:
    """A good answer: `text` as given, or made from the call (an example of its schema, or an echo of its task)."""

    text: str | None = None
    stop_reason: str = "end_turn"
    latency: float = 0.0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_write: int = 0
    cache_read: int = 0

    def respond(self, call: Call) -> Response:
        text = self.text if self.text is not None else _made_for(call)
        usage = {
            "input_tokens": max(1, len(call.raw) // 4)
            if self.input_tokens is None
            else self.input_tokens,
            "output_tokens": max(1, len(text) // 4)
            if self.output_tokens is None
            else self.output_tokens,
            "cache_creation_input_tokens": self.cache_write,
            "cache_read_input_tokens": self.cache_read,
        }
        if call.streaming:
            return Response(_stream(b"".join(_events(call, text, self.stop_reason, usage))))
        return Response(_json(200, _message(call, text, self.stop_reason, usage)))


@dataclass(frozen=True, slots=True)
class Fails:
    """An error answer of the API, such as 429 with a `retry-after`, 529, 401."""

    status: int
    type: str = ""
    message: str = "Refused by the loopback server"
    retry_after: float | None = None
    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        kind = self.type or _ERROR_TYPES.get(self.status, "api_error")
        headers = {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}
        body = {"type": "error", "error": {"type": kind, "message": self.message}}
        return Response(_json(self.status, body, headers))


@dataclass(frozen=True, slots=True)
class Raw:
    """A status and body as they stand: a proxy's HTML page, JSON that ends too soon, JSON of the wrong shape."""

    body: str
    content_type: str = "application/json"
    status: int = 200
    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        return Response(_plain(self.status, self.body.encode(), self.content_type))

    @classmethod
    def html(cls) -> Raw:
        return cls(
            "<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>", "text/html"
        )

    @classmethod
    def without_content(cls) -> Raw:
        return cls('{"id": "msg_1", "type": "message", "role": "assistant", "content": null}')

    @classmethod
    def cut_json(cls) -> Raw:
        return cls('{"id": "msg_1", "type": "message", "content": [{"type": "te')


@dataclass(frozen=True, slots=True)
class Cut:
    """A stream whose connection is lost after `text` has arrived."""

    text: str = "The beginning of"
    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        events = list(_events(call, self.text, "end_turn", {"input_tokens": 1, "output_tokens": 1}))
        return Response(_stream(b"".join(events[:-3]), ended=False), closes=True)


@dataclass(frozen=True, slots=True)
class Stalls:
    """A stream that stops without an end while its connection stays open."""

    text: str = "The beginning of"
    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        events = list(_events(call, self.text, "end_turn", {"input_tokens": 1, "output_tokens": 1}))
        return Response(_stream(b"".join(events[:-3]), ended=False), hangs=True)


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """A stream that began with status 200 and then reports an error."""

    type: str = "overloaded_error"
    message: str = "Overloaded"
    text: str = "The beginning of"
    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        events = list(_events(call, self.text, "end_turn", {"input_tokens": 1, "output_tokens": 1}))
        error = {"type": "error", "error": {"type": self.type, "message": self.message}}
        return Response(_stream(b"".join([*events[:-3], _event("error", error)])))


@dataclass(frozen=True, slots=True)
class Events:
    """A stream of exactly these (event, data) pairs, ended as it should be; data that is text goes out as it is."""

    events: tuple[tuple[str, Mapping[str, Any] | str], ...]
    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        return Response(_stream(b"".join(_event(name, data) for name, data in self.events)))


@dataclass(frozen=True, slots=True)
class HangsUp:
    """The connection closes without an answer."""

    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        return Response(b"", closes=True)


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing comes back, ever: what a timeout is for."""

    latency: float = 0.0

    def respond(self, call: Call) -> Response:
        return Response(b"", hangs=True)


_ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _made_for(call: Call) -> str:
    if call.schema is not None:
        return json.dumps(example_of(call.schema))
    return f"An answer to: {call.prompt[:60]}"


def _message(call: Call, text: str, stop_reason: str, usage: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": f"msg_{call.number}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": dict(usage),
    }


def _events(call: Call, text: str, stop_reason: str, usage: Mapping[str, int]) -> Iterator[bytes]:
    start = _message(call, "", stop_reason, {**usage, "output_tokens": 1})
    start["content"] = []
    start["stop_reason"] = None
    yield _event("message_start", {"type": "message_start", "message": start})
    block = {"type": "text", "text": ""}
    yield _event(
        "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    )
    for at in range(0, len(text), 400):
        delta = {"type": "text_delta", "text": text[at : at + 400]}
        yield _event(
            "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        )
    yield _event("content_block_stop", {"type": "content_block_stop", "index": 0})
    end = {"stop_reason": stop_reason, "stop_sequence": None}
    yield _event("message_delta", {"type": "message_delta", "delta": end, "usage": dict(usage)})
    yield _event("message_stop", {"type": "message_stop"})


def _event(name: str, data: Mapping[str, Any] | str) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return f"event: {name}\ndata: {text}\n\n".encode()


def _stream(body: bytes, *, ended: bool = True) -> bytes:
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    return head + b"%x\r\n" % len(body) + body + b"\r\n" + (b"0\r\n\r\n" if ended else b"")


def _json(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> bytes:
    return _plain(status, json.dumps(body).encode(), "application/json", headers)


def _plain(status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} -", f"content-type: {kind}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
