"""One answer of the Messages API as it arrives: the events of a stream put together, and every way in which they break.

Reads what the SDK's client received and nothing else; knows neither requests nor retries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .protocol import JSON, Usage

if TYPE_CHECKING:
    import httpx2

_PASSING = frozenset(
    {"overloaded_error", "api_error", "rate_limit_error", "timeout_error", "internal_server_error"}
)
_REFUSED = frozenset({"authentication_error", "permission_error"})
_CHARACTERS = 4
"""Characters a token, until the API counts, which it does at the end of an answer."""


class Broken(Exception):
    """An exchange that gave no answer: why, whether another try may help (`passing`), whether the key was refused."""

    def __init__(
        self,
        reason: str,
        *,
        passing: bool = True,
        refused: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.refused = refused
        self.usage = usage or Usage()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A message that came whole."""

    text: str
    content: list[JSON]
    """The blocks as the API gave them, to send back."""
    usage: Usage
    model: str
    stop_reason: str

    def then(self, more: Outcome) -> Outcome:
        """This message with the one that took it up, whose usage is its own."""
        return Outcome(
            self.text + more.text,
            [*self.content, *more.content],
            more.usage,
            more.model,
            more.stop_reason,
        )


class Message:
    """A message being put together from events."""

    def __init__(self, on_tokens: Callable[[int], None] | None = None) -> None:
        self.ended = False
        self._on_tokens = on_tokens
        self._characters = 0
        self._content: list[dict[str, JSON]] = []
        self._parts: list[list[str]] = []
        self._counts: dict[str, int] = {}
        self._counted = False
        """The API has counted the whole of its output."""
        self._model = ""
        self._stop_reason = "end_turn"

    @property
    def usage(self) -> Usage:
        """What was spent so far, as the API has counted it; text that it has not counted yet is estimated."""
        counts = self._counts.get
        output = counts("output_tokens", 0)
        return Usage(
            counts("input_tokens", 0),
            output if self._counted else max(output, self._characters // _CHARACTERS),
            counts("cache_creation_input_tokens", 0),
            counts("cache_read_input_tokens", 0),
        )

    def take(self, event: Mapping[str, JSON]) -> None:
        """Add one event; raises KeyError, TypeError or IndexError for one of the wrong form."""
        kind = event.get("type")
        if kind == "content_block_delta":
            self._delta(_object(event["delta"]), _number(event["index"]))
        elif kind == "message_start":
            message = _object(event["message"])
            self._model = str(message.get("model", ""))
            self._count(message.get("usage"))
            content = message.get("content")
            for block in content if isinstance(content, list) else []:
                self._open(_object(block))
        elif kind == "content_block_start":
            self._open(_object(event["content_block"]))
        elif kind == "message_delta":
            reason = _object(event["delta"]).get("stop_reason")
            self._stop_reason = str(reason) if reason else self._stop_reason
            self._count(event.get("usage"))
            self._counted = isinstance(event.get("usage"), dict)
        elif kind == "message_stop":
            self.ended = True

    def outcome(self) -> Outcome:
        """The message, whole."""
        content: list[JSON] = []
        texts: list[str] = []
        for block, parts in zip(self._content, self._parts, strict=True):
            if block.get("type") == "text":
                text = str(block.get("text", "")) + "".join(parts)
                content.append({**block, "text": text})
                texts.append(text)
            else:
                content.append(block)
        return Outcome("".join(texts), content, self.usage, self._model, self._stop_reason)

    def _open(self, block: dict[str, JSON]) -> None:
        self._content.append(block)
        self._parts.append([])

    def _delta(self, delta: dict[str, JSON], index: int) -> None:
        if delta.get("type") != "text_delta":
            return
        text = str(delta["text"])
        self._parts[index].append(text)
        self._characters += len(text)
        if self._on_tokens is not None:
            self._on_tokens(max(1, self._characters // _CHARACTERS))

    def _count(self, usage: JSON) -> None:
        # Counts are totals, and those that don't apply are left out: the earlier ones then stand.
        if isinstance(usage, dict):
            self._counts.update(
                {name: count for name, count in usage.items() if isinstance(count, int)}
            )


async def read_message(response: httpx2.Response, message: Message, timeout: float) -> Outcome:
    """Read an answer to its end; raises Broken for everything that is not a whole message."""
    import httpx2
    from anthropic import AsyncStream

    kind = response.headers.get("content-type", "")
    try:
        if "event-stream" not in kind:
            return _plain(await response.aread(), kind)
        async for event in AsyncStream.raw_events(response):
            if event.event == "error":
                raise _reported(event.data, message.usage)
            if event.data:
                message.take(_object(json.loads(event.data)))
    except httpx2.TimeoutException:
        raise Broken(
            f"the answer stopped arriving for {timeout:g} seconds", usage=message.usage
        ) from None
    except httpx2.HTTPError as error:
        said = str(error) or type(error).__name__
        raise Broken(
            f"the connection was lost in the middle of an answer: {said}", usage=message.usage
        ) from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise Broken(
            "the Anthropic API sent an event that is not one of its own", usage=message.usage
        ) from None
    finally:
        await response.aclose()
    if not message.ended:
        raise Broken("the answer ended in the middle", usage=message.usage)
    return message.outcome()


def _plain(body: bytes, kind: str) -> Outcome:
    """An answer that was not streamed, as some gateways give; anything else that came with status 200 is not an answer."""
    text = body.decode("utf-8", "replace")
    if "html" in kind or text.lstrip()[:1] == "<":
        raise Broken(
            "an HTML page came back instead of an answer: a proxy or a sign-in page stands between here and the "
            "Anthropic API; check the network and ANTHROPIC_BASE_URL"
        )
    try:
        loaded = json.loads(text)
    except ValueError:
        raise Broken(f"the answer is not whole JSON: {_start(text)}") from None
    content = loaded.get("content") if isinstance(loaded, dict) else None
    if not isinstance(content, list):
        raise Broken(f"the answer has no content: {_start(text)}")
    message = Message()
    message.take({"type": "message_start", "message": loaded})
    message.take({"type": "message_delta", "delta": loaded})
    return message.outcome()


def _reported(data: str, usage: Usage) -> Broken:
    try:
        error = _object(_object(json.loads(data))["error"])
    except (ValueError, KeyError, TypeError):
        return Broken(
            f"the Anthropic API reported an error in the middle of an answer: {_start(data)}",
            usage=usage,
        )
    kind, said = str(error.get("type", "error")), str(error.get("message", ""))
    return Broken(
        f"the Anthropic API reported an error in the middle of an answer: {said} ({kind})",
        passing=kind in _PASSING,
        refused=kind in _REFUSED,
        usage=usage,
    )


def _start(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else text[:79] + "…")


def _object(value: JSON) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _number(value: JSON) -> int:
    if not isinstance(value, int):
        raise TypeError("not a number")
    return value
