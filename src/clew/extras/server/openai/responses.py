"""`/v1/responses`: answers in OpenAI's newer API, which LangChain also uses."""

import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from itertools import count
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
from clew.extras.server.openai.forms import (
    ChatMessage,
    ClewOptions,
    TextFormat,
    check_tool_choice,
    make_route,
)
from clew.extras.server.sse import write_event
from clew.extras.wire.refusals import make_refusal

_EMPTY = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
_MESSAGES = frozenset({"message", "function_call", "function_call_output", "reasoning"})


class TextOptions(Loose):
    """The requested format of the answer's text."""

    format: TextFormat = Field(default_factory=TextFormat)


class ResponsesBody(Loose):
    """The body of a response request; unknown fields are ignored."""

    model: str = Field(max_length=200)
    input: str | list[ChatMessage] = Field(max_length=1_000_000)
    stream: bool | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    previous_response_id: str | None = None
    conversation: object = None
    background: bool | None = None
    tool_choice: object = None
    text: TextOptions = Field(default_factory=TextOptions)
    clew: ClewOptions = Field(default_factory=ClewOptions)


async def create_response(call: Call) -> Response:
    """Answer the last message of the user."""
    body = await call.read_body(ResponsesBody)
    chat = read_question(
        call,
        _read_messages(body),
        model=body.model,
        options=body.clew,
        most_tokens=body.max_output_tokens,
    )
    head = _Response(model=body.model, most_tokens=body.max_output_tokens)
    if not body.stream:
        return respond(head.make_complete(await answer_complete(call, chat), chat))
    return await stream_answer(call, chat, lambda events: _write_events(head, chat, events))


def _read_messages(body: ResponsesBody) -> list[ChatMessage]:
    if body.previous_response_id is not None or body.conversation is not None:
        raise InputError("conversations are not stored here: send the earlier turns as input")
    check_tool_choice(body.tool_choice)
    if body.background:
        raise InputError("background responses are not supported: leave out background")
    if body.text.format.type != "text":
        raise InputError("only plain text answers are supported: leave out text.format")
    if isinstance(body.input, str):
        return [ChatMessage(role="user", content=body.input)]
    for each in body.input:
        if each.type not in _MESSAGES:
            raise InputError(f"input of the type {each.type!r:.40} is not supported: leave it out")
    return body.input


@dataclass(frozen=True, slots=True)
class _Response:
    """The fields that all events of one response share."""

    model: str
    most_tokens: int | None
    id: str = field(default_factory=lambda: f"resp_{secrets.token_hex(16)}")
    item: str = field(default_factory=lambda: f"msg_{secrets.token_hex(16)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def make_object(self, status: str, **more: object) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "max_output_tokens": self.most_tokens,
            "metadata": {},
            "model": self.model,
            "output": [],
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": None,
            "usage": None,
            **more,
        }

    def make_complete(self, answer: StreamedAnswer, chat: ChatQuestion) -> dict[str, Any]:
        status = "incomplete" if answer.reason == "length" else "completed"
        why = {"reason": "max_output_tokens"} if status == "incomplete" else None
        marks = answer.marks if chat.citations in {"annotations", "open-webui"} else ()
        shown = [{"type": "url_citation", **each.describe()} for each in marks]
        part = {**_EMPTY, "text": answer.text, "annotations": shown}
        return self.make_object(
            status,
            incomplete_details=why,
            output=[self.make_message(status, [part])],
            usage=_make_usage(answer),
            clew=answer.about(),
        )

    def make_message(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.item,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        }


async def _write_events(
    head: _Response, chat: ChatQuestion, events: AsyncIterator[str | Evidence | StreamedAnswer]
) -> AsyncGenerator[bytes]:
    numbers = count()
    place = {"output_index": 0, "item_id": head.item}

    def event(kind: str, **data: object) -> bytes:
        return write_event({"type": kind, "sequence_number": next(numbers), **data}, kind)

    begun = head.make_object("in_progress")
    in_content = {**place, "content_index": 0}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    yield event(
        "response.output_item.added", output_index=0, item=head.make_message("in_progress", [])
    )
    yield event("response.content_part.added", **in_content, part=_EMPTY)
    answer = StreamedAnswer(text="", reason="stop")
    try:
        async for each in events:
            if isinstance(each, str):
                yield event("response.output_text.delta", **in_content, delta=each, logprobs=[])
            elif isinstance(each, StreamedAnswer):
                answer = each
    except ClewError as error:
        refusal = make_refusal(error)
        yield event("error", code=refusal.code, message=str(refusal), param=None)
        failed = {"code": "server_error", "message": str(refusal)}
        yield event("response.failed", response=head.make_object("failed", error=failed))
        return
    response = head.make_complete(answer, chat)
    [item] = response["output"]
    [part] = item["content"]
    for n, annotation in enumerate(part["annotations"]):
        yield event(
            "response.output_text.annotation.added",
            **in_content,
            annotation_index=n,
            annotation=annotation,
        )
    yield event("response.output_text.done", **in_content, text=answer.text, logprobs=[])
    yield event("response.content_part.done", **in_content, part=part)
    yield event("response.output_item.done", output_index=0, item=item)
    yield event(f"response.{response['status']}", response=response)


def _make_usage(answer: StreamedAnswer) -> dict[str, Any]:
    given, made = answer.count_tokens()
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }


ROUTES = (make_route("/v1/responses", create_response, "POST"),)
