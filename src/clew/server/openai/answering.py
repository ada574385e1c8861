"""A question of a client, and its answer in events: pieces of the text, and then all of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError, InputError
from clew.server import across
from clew.server.addresses import base_of
from clew.server.bodies import LONGEST
from clew.server.openai.citing import PlacedMark, Reference, ToldMarks, composed, spoken
from clew.server.openai.forms import ChatMessage, ClewOptions, citations_of, text_of
from clew.server.openai.models import index_of
from clew.server.openai.tasks import (
    NO_TOOLS,
    chooses_tools,
    question_in,
    sources_in,
    task_reply,
)
from clew.server.openai.writing import ToldText
from clew.server.sse import follow_thread, stream_events
from clew.types import Exchange

if TYPE_CHECKING:
    from starlette.responses import StreamingResponse

    from clew.server.endpoints import Call
    from clew.types import Answer, Citation, Evidence, Usage

_ANEW = "\n\n(The reply broke off; it begins anew.)\n\n"
_PROMPTS = frozenset({"system", "developer"})
_IGNORED = _PROMPTS | {"tool", "function"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """What a client asks, of which model, and how the answer is to come."""

    model: str
    question: str
    task: str | None = None  # what is answered where no question was asked
    history: tuple[Exchange, ...] = ()
    options: ClewOptions = field(default_factory=ClewOptions)
    citations: str = "annotations"
    sources: int = 0  # that the client shows before those of the answer
    stop: tuple[str, ...] = ()
    most_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldAnswer:
    """A whole answer, as the client is told it."""

    text: str
    reason: str  # why it ended: "stop", or "length"
    references: tuple[Reference, ...] = ()
    marks: tuple[PlacedMark, ...] = ()  # of the references, in the text
    answer: Answer | None = None  # None: to a task, for which nothing was asked

    @property
    def usage(self) -> Usage | None:
        return None if self.answer is None else self.answer.usage

    def about(self) -> dict[str, Any]:
        """Return what Clew says of the answer beyond the interface of OpenAI."""
        if self.answer is None:
            return {"kind": "task"}
        evidence, usage = self.answer.evidence, self.answer.usage
        return {
            "kind": self.answer.kind,
            "method": evidence.method,
            "query": evidence.query,
            "support": evidence.support,
            "notes": list(evidence.notes),
            "unsupported": list(self.answer.unsupported),
            "cost_usd": usage.cost_usd,
            "recorded_calls": usage.recorded_calls,
            "seconds": round(usage.total_seconds, 3),
        }


def asked_of(
    call: Call,
    messages: Sequence[ChatMessage],
    *,
    model: str,
    options: ClewOptions,
    stop: str | Sequence[str] | None = None,
    most_tokens: int | None = None,
) -> ChatQuestion:
    """Return what a conversation asks. Raises InputError where it does not end with a question."""
    turns = [
        (each.role, text_of(each))
        for each in messages
        if each.type == "message" and each.role not in _IGNORED
    ]
    if not turns or turns[-1][0] != "user" or not turns[-1][1].strip():
        raise InputError("the last message is to be the user's, with a question in it")
    prompts = [
        each.content for each in messages if each.role in _PROMPTS and isinstance(each.content, str)
    ]
    task, question = task_reply(turns[-1][1]), question_in(turns[-1][1])
    if any(map(chooses_tools, prompts)):
        task = NO_TOOLS
    if task is None and len(question) > LONGEST:
        raise InputError(f"a question has at most {LONGEST:,} characters, not {len(question):,}")
    citations = citations_of(call, options)
    is_open_webui = citations == "open-webui"
    return ChatQuestion(
        model=model,
        question=question,
        task=task,
        history=tuple(_exchanges(turns[:-1])),
        options=options,
        citations=citations,
        sources=max(map(sources_in, [*prompts, turns[-1][1]])) if is_open_webui else 0,
        stop=(stop,) if isinstance(stop, str) else tuple(stop or ()),
        most_tokens=most_tokens,
    )


def _exchanges(turns: Sequence[tuple[str, str]]) -> list[Exchange]:
    """Return each question that was answered, with its answer."""
    return [
        Exchange(question_in(text).strip(), spoken(after))
        for (role, text), (role_after, after) in pairwise(turns)
        if role == "user" and role_after == "assistant" and text.strip()
    ]


async def whole(call: Call, asked: ChatQuestion) -> ToldAnswer:
    """Return the answer when it is whole."""
    async for each in events(call, asked):
        if isinstance(each, ToldAnswer):
            return each
    raise AssertionError  # the last event is always the whole answer


async def streamed(
    call: Call,
    asked: ChatQuestion,
    lines: Callable[[AsyncIterator[str | Evidence | ToldAnswer]], AsyncGenerator[bytes]],
) -> StreamingResponse:
    """Return an answer that is sent as it comes, as the lines that are made of its events.

    What goes wrong before there is anything to tell is raised here, and so gets its status.
    """
    found = events(call, asked)
    first = await anext(found)

    async def all_of() -> AsyncIterator[str | Evidence | ToldAnswer]:
        yield first
        try:
            async for each in found:
                yield each
        except ClewError as error:
            raise call.refusal(error) from error

    return stream_events(lines(all_of()))


async def events(call: Call, asked: ChatQuestion) -> AsyncIterator[str | Evidence | ToldAnswer]:
    """Yield the evidence, pieces of the text as they come, and at last the whole answer."""
    index, method = index_of(call, asked.model)
    written = ToldText(asked.stop, asked.most_tokens)
    if asked.task is not None:
        yield written.put(asked.task) + written.end()
        yield ToldAnswer(text=written.text, reason=written.reason or "stop")
        return
    options = asked.options
    ask = _ask_of(call, index, options)
    given = {**options.given(), "history": asked.history}
    if method is not None:
        given["method"] = method

    def work(tell: Callable[[str, object], None]) -> None:
        answer = ask(
            asked.question,
            on_evidence=partial(tell, "evidence"),
            on_text=partial(tell, "text"),
            on_citation=partial(tell, "citation"),
            **given,
        )
        tell("answer", answer)

    said = _Said(asked.citations, asked.sources)
    answer: Answer | None = None
    async for kind, data in follow_thread(call.hub, work):
        if kind == "answer":
            answer = data  # type: ignore[assignment]  # as `work` tells it
        elif kind == "evidence":
            yield data  # type: ignore[misc]  # the same
        elif piece := written.put(said.hear(kind, data)):
            yield piece
    if answer is None:
        raise AssertionError  # `work` tells it or raises
    form = composed(
        answer,
        said.told if answer.kind == "generated" else ToldMarks(),
        index=index,
        base=base_of(call.request, call.hub.settings),
        form=asked.citations,
        before=asked.sources,
    )
    if piece := written.put(form.rest) + written.end():
        yield piece
    yield ToldAnswer(
        text=written.text,
        reason=written.reason or "stop",
        references=form.references,
        marks=tuple(each for each in form.marks if each.end <= len(written.text)),
        answer=answer,
    )


def _ask_of(call: Call, index: str, options: ClewOptions) -> Callable[..., Answer]:
    """Return what asks an index, or all of them, within the bounds of the request."""
    tokens, usd = options.budget_tokens, options.budget_usd
    if index:
        return call.opened(index, tokens=tokens, usd=usd).ask
    budget = call.hub.spending.budget(call.caller.key, tokens=tokens, usd=usd)
    return partial(across.ask, replace(call, budget=budget))


class _Said:
    """The pieces of a text of which the last one is held back, with numbers where they belong.

    What no LLM writes comes in one piece, and is told in another form when the answer is known.
    """

    def __init__(self, form: str, before: int) -> None:
        self.told = ToldMarks()
        self._form = form
        self._before = before
        self._held = ""

    def hear(self, kind: str, data: Any) -> str:  # noqa: ANN401 -- a piece, None, or a citation
        """Return what is told now."""
        if kind == "citation":
            return self._mark(data)
        if data is None:
            was_told, self._held = bool(self.told.text or self.told.spans), ""
            self.told = ToldMarks(n_told=self.told.n_told)
            return self._tell(_ANEW if was_told else "")
        before, self._held = self._held, data
        self.told.text += before
        return self._tell(before)

    def _mark(self, citation: Citation) -> str:
        """Return the number of a citation, behind the text that it supports."""
        if self._form == "none":
            return ""
        held, self._held = self._held, ""
        self.told.text += held
        return self._tell(held) + self.told.mark(citation, self._before)

    def _tell(self, text: str) -> str:
        self.told.n_told += len(text)
        return text
