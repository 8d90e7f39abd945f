"""The provider that asks the Messages API, through the anthropic SDK's own client.

Answers are streamed (the API refuses long ones otherwise) and read as raw events: measured against the loopback server,
`messages.stream` costs 0.5 ms more per call than `messages.create`, because it builds a typed object per event, while
the raw events cost no more than `create`, and leave what is not an event stream to us to name. For the same reason the
request is posted as the plain JSON that the journal holds. Retries on statuses and connections are the SDK's; what it
doesn't wrap (an answer that is no event stream, breaks off or reports an error) is tried again here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SessionError, UsageError
from .anthropic_stream import Broken, Message, Outcome, read_message
from .protocol import JSON, Reply, Request

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
SDK_CREDENTIALS = (
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
)
_MAX_TURNS = 10
"""How often an answer that pauses (`pause_turn`) is taken up again."""
_LONGEST_WAIT = 60.0
"""Seconds of `retry-after` that are waited; a longer one is an error that says it."""
_KEY = re.compile(r"sk-ant-[\w-]+")


class AnthropicProvider:
    """One client and its connections for a whole run; made with the first call."""

    name = "anthropic"
    simulated = False

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        concurrency: int = 10,
        retries: int = 2,
        timeout: float = 600.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`timeout` is the longest silence in seconds, before an answer and within it; `retries` those of the SDK, and as
        many of answers that break; `sleep` is what waits between those."""
        self._environ = environ
        self._concurrency = concurrency
        self._retries = retries
        self._timeout = timeout
        self._sleep = sleep
        self._client: AsyncAnthropic | None = None
        self._making = asyncio.Lock()
        self._secrets = tuple(value for name in CREDENTIALS if (value := environ.get(name)))

    def check(self) -> None:
        """Raise UsageError without a key, before anything was done."""
        if not any(self._environ.get(name) for name in (*CREDENTIALS, *SDK_CREDENTIALS)):
            raise UsageError(
                "no key for the Anthropic API: set ANTHROPIC_API_KEY, in the environment or in .prose/.env; "
                "or run with --provider simulate, which calls no model and invents every answer"
            )

    async def complete(self, request: Request) -> Reply:
        """Ask the API; see the protocol for what is raised."""
        self.check()
        client = self._client or await self._connect()
        body = _body(request)
        attempt = 0
        while True:
            try:
                return _reply(request, await self._exchange(client, request, body))
            except Broken as broken:
                request.spent(broken.usage)
                if broken.refused:
                    raise UsageError(
                        self._scrubbed(
                            f"the Anthropic API refused the key: {broken.reason}; check ANTHROPIC_API_KEY"
                        )
                    ) from None
                attempt += 1
                if not broken.passing or attempt > self._retries:
                    tried = f" (tried {attempt} times)" if attempt > 1 else ""
                    raise SessionError(
                        self._scrubbed(broken.reason) + tried, line=request.hints.line
                    ) from None
                await self._sleep(0.5 * 2 ** (attempt - 1))

    def remarks(self) -> Sequence[str]:
        """Nothing to say."""
        return ()

    async def close(self) -> None:
        """Close the connections, if any were opened."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _exchange(
        self, client: AsyncAnthropic, request: Request, body: dict[str, JSON]
    ) -> Outcome:
        """One answer, taken up again while the API pauses it."""
        outcome = await self._turn(client, request, body)
        turns = 1
        while outcome.stop_reason == "pause_turn" and turns < _MAX_TURNS:
            messages = body["messages"]
            assert isinstance(messages, list)
            paused: JSON = {"role": "assistant", "content": outcome.content}
            body = {**body, "messages": [*messages, paused]}
            request.spent(outcome.usage)
            outcome = outcome.then(await self._turn(client, request, body))
            turns += 1
        return outcome

    async def _turn(
        self, client: AsyncAnthropic, request: Request, body: dict[str, JSON]
    ) -> Outcome:
        from anthropic import APIConnectionError, APIStatusError, APITimeoutError, AsyncStream

        try:
            stream = await client.post(
                "/v1/messages",
                body=body,
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except APITimeoutError:
            raise Broken(
                f"the Anthropic API did not answer within {self._timeout:g} seconds"
            ) from None
        except APIStatusError as error:
            raise _status(error) from None
        except APIConnectionError as error:
            where = f"no connection to the Anthropic API at {client.base_url}"
            raise Broken(
                f"{where}: {_cause(error)}; check the network and ANTHROPIC_BASE_URL"
            ) from None
        message = Message(request.on_tokens)
        try:
            return await read_message(stream.response, message, self._timeout)
        except asyncio.CancelledError:
            request.spent(message.usage)
            raise

    async def _connect(self) -> AsyncAnthropic:
        async with self._making:
            if self._client is None:
                # In a thread: the import takes over a second, and progress and Ctrl-C go on meanwhile.
                await asyncio.to_thread(_import)
                self._client = self._made()
            return self._client

    def _made(self) -> AsyncAnthropic:
        import anthropic
        import httpx2

        from .connections import transport

        # Behind a proxy: as many connections as sessions: more make the pool slow (190 calls a second instead of 600), fewer make
        # sessions wait for each other.
        limits = httpx2.Limits(
            max_connections=self._concurrency, max_keepalive_connections=self._concurrency
        )
        timeout = httpx2.Timeout(self._timeout, connect=min(10.0, self._timeout))
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [_bound_the_wait]}
        if (lanes := transport()) is not None:
            http = anthropic.DefaultAsyncHttpxClient(transport=lanes, timeout=timeout, event_hooks=hooks)
        else:
            http = anthropic.DefaultAsyncHttpxClient(limits=limits, timeout=timeout, event_hooks=hooks)
        key, token = (self._environ.get(name) or None for name in CREDENTIALS)
        return anthropic.AsyncAnthropic(
            api_key=key,
            auth_token=None if key else token,
            base_url=self._environ.get("ANTHROPIC_BASE_URL") or None,
            timeout=timeout,
            max_retries=self._retries,
            http_client=http,
        )

    def _scrubbed(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return _KEY.sub("***", text)


def _import() -> None:
    import anthropic  # noqa: F401


def _body(request: Request) -> dict[str, JSON]:
    messages: list[JSON] = [dict(message) for message in request.messages]
    body: dict[str, JSON] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": messages,
        "stream": True,
    }
    if request.system:
        # The part that the sessions of one agent share.
        body["system"] = [
            {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
        ]
    if request.schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    return body


def _reply(request: Request, outcome: Outcome) -> Reply:
    """The reply that an outcome amounts to; raises Broken for one that is no answer."""
    usage = outcome.usage
    reason = outcome.stop_reason
    if reason == "max_tokens":
        raise Broken(
            f"the answer of {request.model} was cut off at {request.max_tokens:,} tokens; ask for less, or in parts",
            usage=outcome.usage, passing=False,
        )  # fmt: skip
    if reason == "model_context_window_exceeded":
        raise Broken(
            f"the prompt and its answer exceed the context window of {request.model}; give it less context",
            usage=outcome.usage, passing=False,
        )  # fmt: skip
    if reason == "refusal":
        raise Broken(f"{request.model} refused to answer", usage=outcome.usage, passing=False)
    if reason == "pause_turn":
        raise Broken(
            f"{request.model} paused {_MAX_TURNS} times without an end",
            usage=outcome.usage,
            passing=False,
        )
    if request.schema is None:
        if not outcome.text.strip():
            raise Broken(f"{request.model} gave an empty answer", usage=outcome.usage)
        return Reply(outcome.text, None, usage, outcome.model or request.model, reason)
    return Reply(
        outcome.text, _data(request, outcome), usage, outcome.model or request.model, reason
    )


def _data(request: Request, outcome: Outcome) -> Mapping[str, JSON]:
    start = " ".join(outcome.text[:80].split())
    try:
        data = json.loads(outcome.text)
    except ValueError:
        raise Broken(
            f"the structured answer of {request.model} is not JSON; it begins: {start!r}",
            usage=outcome.usage,
        ) from None
    required = (request.schema or {}).get("required")
    missing = (
        [name for name in required if name not in data]
        if isinstance(required, list) and isinstance(data, dict)
        else []
    )
    if not isinstance(data, dict) or missing:
        lack = f"lacks {', '.join(map(str, missing))}" if missing else "is not an object"
        raise Broken(
            f"the structured answer of {request.model} {lack}; it begins: {start!r}",
            usage=outcome.usage,
        )
    return data


def _status(error: object) -> Broken:
    """What an error status means. The SDK has retried what it retries by then."""
    status: int = getattr(error, "status_code", 0)
    said = getattr(error, "api_message", None) or f"status {status}"
    kind = getattr(error, "type", None) or ""
    if status in (401, 403):
        return Broken(f"{said} (status {status})", passing=False, refused=True)
    if status == 429:
        return Broken(
            f"the Anthropic API's rate limit was reached: {said}{_asked_wait(error)}", passing=False
        )
    if status == 529 or kind == "overloaded_error":
        return Broken(f"the Anthropic API is overloaded: {said}{_asked_wait(error)}", passing=False)
    if status == 404:
        return Broken(
            f"the Anthropic API does not know what was asked for: {said}; check the model's name (--model)",
            passing=False,
        )
    if status == 413 or (status == 400 and "too long" in said):
        return Broken(
            f"the prompt is too large for the Anthropic API: {said}; give the session less context",
            passing=False,
        )
    if status == 402:
        return Broken(
            f"the Anthropic API wants payment: {said}; check the account's credit", passing=False
        )
    if status >= 500:
        return Broken(f"the Anthropic API failed with status {status}: {said}", passing=False)
    return Broken(
        f"the Anthropic API refused the request with status {status}: {said}", passing=False
    )


def _asked_wait(error: object) -> str:
    response: httpx2.Response | None = getattr(error, "response", None)
    wait = response.headers.get("retry-after") if response is not None else None
    return f"; it asks to wait {wait} seconds" if wait else ""


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__


async def _bound_the_wait(response: httpx2.Response) -> None:
    """The SDK would sleep through any `retry-after`, however long, with a session slot in its hand."""
    wait = response.headers.get("retry-after")
    if wait is None:
        return
    try:
        seconds = float(wait)
    except ValueError:
        return
    if seconds > _LONGEST_WAIT:
        response.headers["x-should-retry"] = "false"
