"""Answer questions of OpenAI's APIs, in one reply or streamed."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from starlette.responses import StreamingResponse

from clew.answers.pipeline import Listeners
from clew.base.types import Answer, Citation, Evidence, Exchange
from clew.errors import ClewError, InputError
from clew.extras.server import across
from clew.extras.server.addresses import find_base
from clew.extras.server.endpoints import Call
from clew.extras.server.openai import forms, tasks
from clew.extras.server.openai.citations import (
    PlacedMark,
    Reference,
    StreamedMarks,
    compose_rest,
    strip_marks,
)
from clew.extras.server.sse import stream_events, stream_thread_events
from clew.text import tokens

_ANEW = "\n\n(The reply broke off; it restarts.)\n\n"
_PROMPTS = frozenset({"system", "developer"})
_IGNORED = _PROMPTS | {"tool", "function"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """A question of a conversation, with its model and options."""

    model: str
    question: str
    task: str | None = None  # what is answered where no question was asked
    history: tuple[Exchange, ...] = ()
    options: forms.ClewOptions = field(default_factory=forms.ClewOptions)
    citations: str = "annotations"
    sources: int = 0  # that the client shows before those of the answer
    stop: tuple[str, ...] = ()
    most_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedAnswer:
    """A complete answer as it was sent."""

    text: str
    reason: str  # why it ended: "stop", or "length"
    references: tuple[Reference, ...] = ()
    marks: tuple[PlacedMark, ...] = ()  # of the references, in the text
    answer: Answer | None = None  # None: to a task, for which nothing was asked

    def count_tokens(self) -> tuple[int, int]:
        """Return the numbers of tokens read and written by LLMs."""
        if self.answer is None:
            return 0, 0
        return self.answer.usage.prompt_tokens, self.answer.usage.completion_tokens

    def about(self) -> dict[str, Any]:
        """Return the field `clew` of a reply."""
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
            "short": None if self.answer.short is None else self.answer.short.to_dict(),
            "cost_usd": usage.cost_usd,
            "recorded_calls": usage.recorded_calls,
            "seconds": round(usage.total_seconds, 3),
        }


def read_question(
    call: Call,
    messages: Sequence[forms.ChatMessage],
    *,
    model: str,
    options: forms.ClewOptions,
    stop: str | Sequence[str] | None = None,
    most_tokens: int | None = None,
) -> ChatQuestion:
    """Return the question of a conversation. Raises InputError if its last message is not one."""
    last = messages[-1] if messages else None
    turns = [
        (each.role, forms.read_text(each, strict=each is last))
        for each in messages
        if each.type == "message" and each.role not in _IGNORED
    ]
    if not turns or turns[-1][0] != "user" or not turns[-1][1].strip():
        raise InputError("the last message must be a question of the user")
    prompts = [
        each.content for each in messages if each.role in _PROMPTS and isinstance(each.content, str)
    ]
    task, question = tasks.reply_to_task(turns[-1][1]), tasks.extract_question(turns[-1][1])
    if any(map(tasks.chooses_tools, prompts)):
        task = tasks.NO_TOOLS
    citations = forms.choose_citations(call, options)
    is_open_webui = citations == "open-webui"
    return ChatQuestion(
        model=model,
        question=question,
        task=task,
        history=tuple(
            Exchange(tasks.extract_question(text).strip(), strip_marks(after))
            for (role, text), (role_after, after) in pairwise(turns[:-1])
            if role == "user" and role_after == "assistant" and text.strip()
        ),
        options=options,
        citations=citations,
        sources=max(map(tasks.count_sources, [*prompts, turns[-1][1]])) if is_open_webui else 0,
        stop=(stop,) if isinstance(stop, str) else tuple(stop or ()),
        most_tokens=most_tokens,
    )


async def answer_complete(call: Call, chat: ChatQuestion) -> StreamedAnswer:
    """Return the complete answer."""
    async for each in answer_events(call, chat, is_streamed=False):
        if isinstance(each, StreamedAnswer):
            return each
    raise AssertionError  # the last event is always the whole answer


async def stream_answer(
    call: Call,
    chat: ChatQuestion,
    lines: Callable[[AsyncIterator[str | Evidence | StreamedAnswer]], AsyncGenerator[bytes]],
) -> StreamingResponse:
    """Return a response that streams an answer, in the events that `lines` makes.

    What goes wrong before there is anything to tell is raised here, and so gets its status.
    """
    events = answer_events(call, chat)
    first = await anext(events)

    async def continue_events() -> AsyncIterator[str | Evidence | StreamedAnswer]:
        yield first
        try:
            async for each in events:
                yield each
        except ClewError as error:
            raise call.make_refusal(error) from error

    return stream_events(lines(continue_events()))


async def answer_events(
    call: Call, chat: ChatQuestion, *, is_streamed: bool = True
) -> AsyncIterator[str | Evidence | StreamedAnswer]:
    """Yield the evidence, pieces of the text, and finally the complete answer."""
    index, method = forms.parse_model(call, chat.model)
    written = StreamedText(chat.stop, chat.most_tokens)
    if chat.task is not None:
        yield written.put(chat.task) + written.end()
        yield StreamedAnswer(text=written.text, reason=written.reason or "stop")
        return
    options = chat.options
    ask: Callable[..., Answer]
    if index:
        ask = call.open_any(index, bounds=options).ask
    else:  # all of them, within the budget of the request
        ask = partial(across.ask_indexes, replace(call, budget=call.make_budget(options)))
    own = {} if method is None else {"method": method}
    question = options.as_question(chat.question, history=chat.history, **own)

    def work(tell: Callable[[str, object], None]) -> None:
        answer = ask(
            question,
            Listeners(
                on_evidence=partial(tell, "evidence"),
                on_text=partial(tell, "text") if is_streamed else None,
                on_citation=partial(tell, "citation") if is_streamed else None,
            ),
        )
        tell("answer", answer)

    text = _HeldText(chat.citations, chat.sources)
    answer: Answer | None = None
    async for kind, data in stream_thread_events(call.server, work):
        if kind == "answer":
            answer = data  # type: ignore[assignment]  # as `work` tells it
        elif kind == "evidence":
            yield data  # type: ignore[misc]  # the same
        elif piece := written.put(text.hear(kind, data)):
            yield piece
    if answer is None:
        raise AssertionError  # `work` tells it or raises
    rest, references, marks = compose_rest(
        answer,
        text.marks if answer.kind == "generated" else StreamedMarks(),
        index=index,
        base=find_base(call.request, call.server.settings),
        form=chat.citations,
        before=chat.sources,
    )
    if piece := written.put(rest) + written.end():
        yield piece
    yield StreamedAnswer(
        text=written.text,
        reason=written.reason or "stop",
        references=references,
        marks=tuple(each for each in marks if each.end <= len(written.text)),
        answer=answer,
    )


class _HeldText:
    """A streamed text that holds back its last piece until its citations are known.

    What no LLM writes comes in one piece, and is told in another form when the answer is known.
    """

    def __init__(self, form: str, before: int) -> None:
        self.marks = StreamedMarks()
        self._form = form
        self._before = before
        self._held = ""

    def hear(self, kind: str, data: Any) -> str:  # noqa: ANN401 -- a piece, None, or a citation
        """Return the text to send for an event."""
        if kind == "citation":
            return self._mark(data)
        if data is None:
            was_told, self._held = bool(self.marks.text or self.marks.spans), ""
            self.marks = StreamedMarks(n_told=self.marks.n_told)
            return self._tell(_ANEW if was_told else "")
        before, self._held = self._held, data
        self.marks.text += before
        return self._tell(before)

    def _mark(self, citation: Citation) -> str:
        """Return a citation's number, to follow the sentence that it supports."""
        if self._form == "none":
            return ""
        held, self._held = self._held, ""
        self.marks.text += held
        return self._tell(held) + self.marks.mark(citation, self._before)

    def _tell(self, text: str) -> str:
        self.marks.n_told += len(text)
        return text


class StreamedText:
    """A piece of text to send, and the finish reason.

    It ends before the `stop` text that is whole first, and at `most` tokens.
    """

    def __init__(self, stop: Sequence[str] = (), most: int | None = None) -> None:
        self.text = ""  # what was told
        self.reason = ""  # "stop" or "length" where it ended early
        self._stop = [each for each in stop if each]
        self._most = most
        self._held = ""  # may be the beginning of a text at which to stop
        self._bound = 0  # tokens at the most

    def put(self, piece: str) -> str:
        """Return the text to send for a further piece."""
        if self.reason:
            return ""
        text = self._held + piece
        ends = [
            (place + len(each), place) for each in self._stop if (place := text.find(each)) >= 0
        ]
        if ends:
            ready, self._held, ended = text[: min(ends)[1]], "", "stop"
        else:
            keep = max((_count_begun(text, each) for each in self._stop), default=0)
            ready, self._held, ended = text[: len(text) - keep], text[len(text) - keep :], ""
        return self._release(ready, ended)

    def end(self) -> str:
        """Return the text that was held back."""
        if self.reason:
            return ""
        text, self._held = self._held, ""
        return self._release(text, "")

    def _release(self, piece: str, ended: str) -> str:
        if self._most is not None:
            # The tokens of pieces are at least as many as those of the whole, which are counted
            # where it comes to that.
            self._bound += tokens.count(piece)
            if self._bound > self._most:
                whole = tokens.truncate(self.text + piece, self._most)
                if len(whole) < len(self.text + piece):
                    piece, ended = whole[len(self.text) :], "length"
        self.text += piece
        self.reason = ended
        return piece


def _count_begun(text: str, stop: str) -> int:
    """Return the length of the longest suffix of a text that begins another one."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
