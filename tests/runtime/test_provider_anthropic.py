"""The anthropic provider with the SDK's real client against the loopback server: answers, and every known failure."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from prose_runtime.errors import SessionError, UsageError
from prose_runtime.providers.anthropic import AnthropicProvider
from prose_runtime.providers.protocol import Reply, Request, Usage
from prose_runtime.testing.reactions import (
    Cut,
    ErrorEvent,
    Events,
    Fails,
    HangsUp,
    Raw,
    Reaction,
    Says,
    Silent,
    Stalls,
)
from prose_runtime.testing.server import LoopbackServer

KEY = "sk-ant-api03-secret-secret"
TASK = Request("session", "claude-sonnet-5-5", None, ({"role": "user", "content": "Say hello"},))
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "boolean"}},
    "required": ["answer"],
    "additionalProperties": False,
}
QUESTION = Request("decide", "claude-haiku-5-5", None, TASK.messages, SCHEMA)


async def no_wait(seconds: float) -> None:
    pass


def with_server(
    body: Callable[[LoopbackServer, AnthropicProvider], Awaitable[None]],
    *,
    timeout: float = 20.0,
    retries: int = 2,
) -> None:
    async def run() -> None:
        async with LoopbackServer() as server:
            environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.base_url}
            provider = AnthropicProvider(environ, sleep=no_wait, timeout=timeout, retries=retries)
            try:
                await body(server, provider)
            finally:
                await provider.close()

    asyncio.run(run())


def failure(*reactions: Reaction, request: Request = TASK, **options: float) -> tuple[str, int]:
    """The message of the error that these reactions lead to, and how many calls arrived."""
    seen: list[tuple[str, int]] = []

    async def body(server: LoopbackServer, provider: AnthropicProvider) -> None:
        server.script(*reactions)
        with pytest.raises(SessionError) as caught:
            await provider.complete(request)
        seen.append((caught.value.message, server.count))

    with_server(body, **options)  # type: ignore[arg-type]
    return seen[0]


def answer(*reactions: Reaction, request: Request = TASK) -> tuple[Reply, LoopbackServer]:
    seen: list[tuple[Reply, LoopbackServer]] = []

    async def body(server: LoopbackServer, provider: AnthropicProvider) -> None:
        server.script(*reactions)
        seen.append((await provider.complete(request), server))

    with_server(body)
    return seen[0]


def test_text_streams_with_usage_and_token_progress() -> None:
    counts: list[int] = []
    request = Request(
        "session", "claude-opus-5-5", "You are brief.", TASK.messages, on_tokens=counts.append
    )
    reply, server = answer(
        Says("x" * 1000, input_tokens=7, output_tokens=250, cache_write=3, cache_read=4),
        request=request,
    )
    assert reply.text == "x" * 1000
    assert reply.usage == Usage(7, 250, 3, 4)
    assert reply.model == "claude-opus-5-5"
    assert counts == [100, 200, 250]
    [call] = server.calls
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.body["stream"] is True
    assert call.body["system"] == [
        {"type": "text", "text": "You are brief.", "cache_control": {"type": "ephemeral"}}
    ]
    assert call.prompt == "Say hello"


def test_a_schema_is_sent_and_its_answer_parsed() -> None:
    reply, server = answer(request=QUESTION)
    assert reply.data == {"answer": True}
    assert server.calls[0].body["output_config"] == {
        "format": {"type": "json_schema", "schema": SCHEMA}
    }


def test_text_keeps_its_bytes() -> None:
    text = 'line\r\n\u2028 "quotes" \\ 🙂 \x00 ÅÅ'
    assert answer(Says(text))[0].text == text


@pytest.mark.parametrize(
    "fault",
    [
        Raw.html(),
        Raw.cut_json(),
        Raw.without_content(),
        Cut(),
        ErrorEvent("overloaded_error", "Overloaded"),
        Says(""),
        Events((("message_start", "{ not json"),)),
        Events((("content_block_delta", {"type": "content_block_delta"}),)),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_what_the_sdk_does_not_retry_is_retried(fault: Reaction) -> None:
    reply, server = answer(fault, fault, Says("at last"))
    assert (reply.text, server.count) == ("at last", 3)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Raw.html(), "an HTML page came back"),
        (Raw.html(), "ANTHROPIC_BASE_URL"),
        (Raw.cut_json(), "not whole JSON"),
        (Raw.without_content(), "no content"),
        (Cut(), "in the middle of an answer"),
        (ErrorEvent("overloaded_error", "Overloaded"), "Overloaded (overloaded_error)"),
        (Says(""), "empty answer"),
        (Events((("message_start", "{ not json"),)), "not one of its own"),
    ],
)
def test_a_lasting_fault_says_what_happened(fault: Reaction, words: str) -> None:
    message, calls = failure(fault, fault, fault)
    assert words in message
    assert message.endswith("(tried 3 times)")
    assert calls == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fails(400, message="messages: wrong"), "status 400: messages: wrong"),
        (Fails(404, message="model: claude-none"), "check the model's name"),
        (Fails(413), "too large"),
        (Fails(402, message="no credit"), "no credit"),
        (Fails(400, message="prompt is too long: 210000 tokens"), "less context"),
        (Says("half", stop_reason="max_tokens"), "cut off at 32,000 tokens"),
        (Says("half", stop_reason="model_context_window_exceeded"), "context window"),
        (Says("", stop_reason="refusal"), "refused to answer"),
        (ErrorEvent("invalid_request_error", "bad"), "bad (invalid_request_error)"),
        (Fails(429, message="slow down", retry_after=3600), "asks to wait 3600 seconds"),
    ],
)
def test_what_another_try_cannot_help_is_not_tried_again(fault: Reaction, words: str) -> None:
    message, calls = failure(fault)
    assert words in message
    assert calls == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [(429, "rate limit"), (529, "overloaded"), (500, "status 500"), (503, "status 503")],
)
def test_statuses_left_after_the_sdks_retries(status: int, words: str) -> None:
    message, calls = failure(Fails(status, retry_after=0.001), Fails(status), retries=1)
    assert words in message
    assert calls == 2


def test_the_sdk_retries_a_rate_limit() -> None:
    reply, server = answer(Fails(429, retry_after=0.001), Fails(529, retry_after=0.001), Says("ok"))
    assert (reply.text, server.count) == ("ok", 3)


def test_a_lost_connection_names_the_address() -> None:
    message, _ = failure(HangsUp(), HangsUp(), HangsUp(), HangsUp(), retries=0)
    assert "no connection to the Anthropic API at http://127.0.0.1" in message


@pytest.mark.parametrize(
    ("fault", "words"),
    [(Silent(), "did not answer within 0.05 seconds"), (Stalls(), "stopped arriving for 0.05")],
)
def test_silence_ends_in_a_timeout(fault: Reaction, words: str) -> None:
    message, _ = failure(fault, timeout=0.05, retries=0)
    assert words in message


def test_structured_answers_that_are_none() -> None:
    for text in ("true", "[1]", "yes, it is", '{"other": 1}'):
        message, calls = failure(Says(text), Says(text), Says(text), request=QUESTION)
        assert "structured answer" in message and calls == 3


def test_a_paused_answer_is_taken_up_and_joined() -> None:
    spent: list[Usage] = []
    reply, server = answer(
        Says("One, ", stop_reason="pause_turn", output_tokens=2),
        Says("two.", output_tokens=3),
        request=replace(TASK, on_spent=spent.append),
    )
    assert reply.text == "One, two."
    assert ([usage.output for usage in spent], reply.usage.output) == ([2], 3)
    assert server.calls[1].body["messages"][1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "One, "}],
    }


def test_what_failed_attempts_spent_is_told_at_once() -> None:
    spent: list[Usage] = []
    reply, _ = answer(
        Says("no json", input_tokens=10, output_tokens=5),
        Says('{"answer": true}', input_tokens=11, output_tokens=6),
        request=replace(QUESTION, on_spent=spent.append),
    )
    assert (spent, reply.usage) == ([Usage(10, 5)], Usage(11, 6))


@pytest.mark.parametrize(
    "reaction",
    [
        Says("cut of", input_tokens=10, output_tokens=5, stop_reason="max_tokens"),
        Says("no", input_tokens=10, output_tokens=5, stop_reason="refusal"),
    ],
)
def test_an_answer_that_is_none_is_told_as_spent(reaction: Reaction) -> None:
    spent: list[Usage] = []
    failure(reaction, request=replace(TASK, on_spent=spent.append))
    assert spent == [Usage(10, 5)]


def test_text_of_a_broken_answer_that_was_not_counted_is_estimated() -> None:
    start = {"type": "message", "model": "m", "content": [], "usage": {"input_tokens": 30, "output_tokens": 1}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "text_delta", "text": "x" * 400}
    spent: list[Usage] = []
    failure(
        Events(
            (
                ("message_start", {"type": "message_start", "message": start}),
                ("content_block_start", block),
                ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
            )
        ),
        request=replace(TASK, on_spent=spent.append),
        retries=0,
    )
    assert spent == [Usage(30, 100)]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_can_not_be_caught_and_shows_no_secret(status: int) -> None:
    async def body(server: LoopbackServer, provider: AnthropicProvider) -> None:
        server.script(Fails(status, message=f"invalid key {KEY}"))
        with pytest.raises(UsageError) as caught:
            await provider.complete(TASK)
        assert not isinstance(caught.value, Exception)
        assert KEY not in str(caught.value) and "***" in str(caught.value)
        assert server.count == 1

    with_server(body)


def test_secrets_never_stand_in_messages() -> None:
    message, _ = failure(Fails(400, message=f"bad header {KEY} and sk-ant-other-one"))
    assert message.count("***") == 2


def test_without_a_key_the_check_names_it_and_the_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        AnthropicProvider({"ANTHROPIC_API_KEY": ""}).check()
    assert "ANTHROPIC_API_KEY" in str(caught.value)
    assert "--provider simulate" in str(caught.value)
    AnthropicProvider({"ANTHROPIC_AUTH_TOKEN": "t"}).check()


def test_a_gateway_that_does_not_stream_is_understood() -> None:
    plain = {
        "model": "claude-sonnet-5-5",
        "content": [{"type": "text", "text": "whole"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 2, "output_tokens": 1},
    }
    reply, _ = answer(Raw(json.dumps(plain)))
    assert (reply.text, reply.usage) == ("whole", Usage(2, 1))


def test_cancelling_drops_the_call() -> None:
    async def body(server: LoopbackServer, provider: AnthropicProvider) -> None:
        hold = server.hold()
        call = asyncio.ensure_future(provider.complete(TASK))
        await hold.arrival()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await asyncio.gather(_after(hold, provider)))[0].text.startswith("An answer")

    with_server(body)


def test_what_a_cancelled_call_had_spent_is_told() -> None:
    spent: list[Usage] = []

    async def body(server: LoopbackServer, provider: AnthropicProvider) -> None:
        server.script(Stalls("x" * 80))
        streaming = asyncio.Event()
        request = replace(TASK, on_tokens=lambda count: streaming.set(), on_spent=spent.append)
        call = asyncio.ensure_future(provider.complete(request))
        await streaming.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with_server(body)
    assert spent == [Usage(1, 20)]


async def _after(hold: object, provider: AnthropicProvider) -> Reply:
    hold.release()  # type: ignore[attr-defined]
    return await provider.complete(TASK)


def test_the_sdk_is_imported_with_the_first_call_only() -> None:
    code = (
        "import sys\n"
        "from prose_runtime.providers import ProviderOptions, make_provider\n"
        "provider = make_provider('anthropic', ProviderOptions(environ={'ANTHROPIC_API_KEY': 'k'}))\n"
        "provider.check()\n"
        "make_provider('simulate', ProviderOptions())\n"
        "assert not {'anthropic', 'httpx2', 'rich'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
