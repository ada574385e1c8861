"""`/v1/chat/completions`: answers as chat completions."""

import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field
from starlette.responses import Response

from clew.base.types import Evidence
from clew.errors import ClewError, InputError
from clew.extras.server.bodies import Loose
from clew.extras.server.endpoints import Call, respond
from clew.extras.server.openai.answers import (
    ChatQuestion,
    StreamedAnswer,
    answer_complete,
    read_question,
    stream_answer,
)
from clew.extras.server.openai.citations import make_source_event
from clew.extras.server.openai.forms import (
    ChatMessage,
    ClewOptions,
    TextFormat,
    check_tool_choice,
    make_error,
    make_route,
)
from clew.extras.server.sse import write_event
from clew.extras.wire.refusals import make_refusal


class StreamOptions(Loose):
    """The stream options of a request, such as `include_usage`."""

    include_usage: bool | None = None


class ChatBody(Loose):
    """The body of a chat completion request; unknown fields are ignored."""

    model: str = Field(max_length=200)
    messages: list[ChatMessage] = Field(max_length=10_000)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    tool_choice: object = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    response_format: TextFormat | None = None
    clew: ClewOptions = Field(default_factory=ClewOptions)


async def complete(call: Call) -> Response:
    """Answer the last message of the user."""
    body = await call.read_body(ChatBody)
    check_tool_choice(body.tool_choice)
    if body.n not in {None, 1}:
        raise InputError(f"n must be 1, not {body.n}")
    if body.response_format is not None and body.response_format.type != "text":
        raise InputError("only plain text answers are supported: leave out response_format")
    chat = read_question(
        call,
        body.messages,
        model=body.model,
        options=body.clew,
        stop=body.stop,
        most_tokens=body.max_completion_tokens or body.max_tokens,
    )
    head = _Head(model=body.model)
    if not body.stream:
        return respond(_make_completion(head, await answer_complete(call, chat), chat))
    has_usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    return await stream_answer(
        call, chat, lambda events: _write_events(head, chat, events, usage=has_usage)
    )


@dataclass(frozen=True, slots=True)
class _Head:
    """The fields that all chunks of one answer share."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def make_chunk(self, delta: dict[str, Any], **more: object) -> dict[str, Any]:
        reason = more.pop("finish_reason", None)
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self.make_object("chat.completion.chunk"), "choices": [choice], **more}

    def make_object(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _make_completion(head: _Head, answer: StreamedAnswer, chat: ChatQuestion) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if chat.citations in {"annotations", "open-webui"}:
        message["annotations"] = _make_annotations(answer)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.reason}
    return {
        **head.make_object("chat.completion"),
        "choices": [choice],
        "usage": _make_usage(answer),
        "clew": answer.about(),
    }


async def _write_events(
    head: _Head,
    chat: ChatQuestion,
    events: AsyncIterator[str | Evidence | StreamedAnswer],
    *,
    usage: bool,
) -> AsyncGenerator[bytes]:
    """Yield the server-sent events of an answer; an error ends them."""
    yield write_event(head.make_chunk({"role": "assistant", "content": ""}))
    try:
        async for each in events:
            for chunk in _make_chunks(head, chat, each):
                yield write_event(chunk)
            if usage and isinstance(each, StreamedAnswer):
                last = head.make_object("chat.completion.chunk")
                yield write_event({**last, "choices": [], "usage": _make_usage(each)})
    except ClewError as error:
        yield write_event(make_error(make_refusal(error)))
        return
    yield b"data: [DONE]\n\n"


def _make_chunks(
    head: _Head, chat: ChatQuestion, event: str | Evidence | StreamedAnswer
) -> Iterator[dict[str, Any]]:
    is_open_webui = chat.citations == "open-webui"
    if isinstance(event, str):
        yield head.make_chunk({"content": event})
    elif not isinstance(event, StreamedAnswer):
        if is_open_webui:
            n = len({hit.document_id for hit in event.hits})
            description = f"Found passages of {n} document{'s' * (n != 1)}"
            status = {"type": "status", "data": {"description": description, "done": True}}
            yield head.make_chunk({}, event=status)
    else:
        if is_open_webui:
            for reference in event.references:
                yield head.make_chunk({}, event=make_source_event(reference))
        elif chat.citations == "annotations" and event.references:
            yield head.make_chunk({"annotations": _make_annotations(event)})
        yield head.make_chunk({}, finish_reason=event.reason, clew=event.about())


def _make_annotations(answer: StreamedAnswer) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": each.describe()} for each in answer.marks]


def _make_usage(answer: StreamedAnswer) -> dict[str, Any]:
    given, made = answer.count_tokens()
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


ROUTES = (make_route("/v1/chat/completions", complete, "POST"),)
