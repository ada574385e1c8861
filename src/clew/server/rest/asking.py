"""Search, questions with their answers, whole or as they come, labels of texts, and plans."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import fields
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from clew.api import Index
from clew.asking import support
from clew.errors import ClewError, InputError
from clew.server.addresses import build_document_address, find_base
from clew.server.bodies import (
    INTEGRAL,
    LONGEST,
    LONGEST_FILTER,
    MOST_TOKENS,
    MOST_USD,
    Asking,
    Body,
    Method,
    Text,
)
from clew.server.drawing import draw_evidence
from clew.server.endpoints import Call, RestEndpoint
from clew.server.rest.indexes import INDEX
from clew.server.sse import follow_thread, stream_events, write_event
from clew.types import Answer, Citation, Classified, Document, Evidence, Exchange, Plan
from clew.wire.answers import ErrorEvent, LinkedAnswer, LinkedCitation, TextEvent
from clew.wire.graphs import DrawnThread
from clew.wire.names import EVENT_STREAM

if TYPE_CHECKING:
    from starlette.responses import StreamingResponse

    from clew.server.scoped import ScopedIndex

Number = str | int | float | bool | None

_TURNS = 100
ANSWER_EVENTS: Mapping[str, object] = {
    "evidence": Evidence,
    "graph": DrawnThread,
    "text": TextEvent,
    "answer": LinkedAnswer,
    "error": ErrorEvent,
}
# Arguments that no parameter of a method may stand for.
ARGUMENTS = frozenset(
    name
    for each in (Index.search, Index.ask, Index.classify)
    for name in signature(each).parameters
)


class AskedBody(Body):
    """What questions and texts to classify have in common."""

    method: Method | None = Field(default=None, description="as GET /methods lists them")
    where: str | None = Field(
        default=None, max_length=LONGEST_FILTER, description="a filter of documents"
    )
    context_tokens: Annotated[int, Field(ge=1, le=1_000_000), INTEGRAL] | None = None
    parameters: dict[str, Number] = Field(
        default_factory=dict, description="of the method, as GET /methods lists them"
    )
    budget_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS), INTEGRAL] | None = Field(
        default=None, description="that models may take for this"
    )
    budget_usd: float | None = Field(default=None, ge=0, le=MOST_USD)

    def given(self) -> dict[str, Any]:
        """Return the arguments of `Index.search`, `ask` and `classify`.

        Raises InputError for a parameter that is an argument.
        """
        for name in self.parameters:
            if name in ARGUMENTS:
                raise InputError(f"no method has a parameter {name!r:.40}: see GET /methods")
        optional = {"method": self.method, "context_tokens": self.context_tokens}
        return {
            "where": self.where,
            **{name: value for name, value in optional.items() if value is not None},
            **self.parameters,
        }


class PastTurn(Body):
    """A question that was asked before, and what it was answered."""

    question: str = Field(max_length=LONGEST)
    answer: str = Field(max_length=200_000)


class SearchBody(AskedBody):
    """What to search for, and how."""

    query: Asking
    history: list[PastTurn] = Field(
        default_factory=list, max_length=_TURNS, description="the conversation so far, oldest first"
    )
    exact: bool = False

    def given(self) -> dict[str, Any]:
        history = [Exchange(turn.question, turn.answer) for turn in self.history]
        return {**super().given(), "history": history, "exact": self.exact}


class AskBody(SearchBody):
    """A question, and whether its answer is wanted as it comes."""

    query: Asking = Field(alias="question")
    min_support: float = Field(support.THRESHOLD, ge=0, le=1)
    stream: bool = False
    graph: bool = Field(
        default=False, description="with `stream`: an event `graph` behind the evidence, too"
    )

    def given(self) -> dict[str, Any]:
        return {**super().given(), "min_support": self.min_support}


class ClassifyBody(AskedBody):
    """A text that gets one of the labels of the index."""

    text: Text = Field(max_length=LONGEST)
    label: str = Field("label", max_length=200, description="the field that labels stand in")
    name_weight: float | None = Field(default=None, ge=0, le=1)

    def given(self) -> dict[str, Any]:
        return {**super().given(), "label": self.label, "name_weight": self.name_weight}


class PlannedDocument(Body):
    """A document that a plan is made for."""

    id: str = Field(min_length=1, max_length=1_000)
    text: Text
    title: str = ""


class PlanBody(Body):
    """What to plan the extraction by an LLM for."""

    documents: list[PlannedDocument] | None = Field(
        default=None, min_length=1, description="none: those of the index"
    )
    core: float | None = Field(
        default=None, ge=0, le=1, description="the share of chunks that it reads"
    )


async def search(call: Call) -> Evidence:
    """Return the chunks that a method finds, and why."""
    body = await call.read_body(SearchBody)
    index = call.open_named_index(tokens=body.budget_tokens, usd=body.budget_usd)
    return await call.run(index.search, body.query, **body.given())


async def ask(call: Call) -> LinkedAnswer | StreamingResponse:
    """Return the answer with its citations; as events where that is asked for."""
    body = await call.read_body(AskBody)
    index = call.open_named_index(tokens=body.budget_tokens, usd=body.budget_usd)
    given = body.given()
    if body.stream or EVENT_STREAM in call.request.headers.get("accept", ""):
        await call.run(index.check_where, body.where)  # what is refused has a status of its own
        return stream_events(_events(call, index, body, given))
    if body.graph:
        raise InputError("a graph comes with events only: ask with 'stream', or POST .../graph")
    return _linked(call, index.name, await call.run(index.ask, body.query, **given))


def _linked(call: Call, index: str, answer: Answer) -> LinkedAnswer:
    """Return an answer with the addresses of what it cites."""
    base = find_base(call.request, call.server.settings)
    citations = tuple(
        LinkedCitation(
            **_fields_of(each),
            url=build_document_address(base, index, each.document_id, each.start, each.end),
        )
        for each in answer.citations
    )
    return LinkedAnswer(**{**_fields_of(answer), "citations": citations})


def _fields_of(value: Answer | Citation) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


async def _events(
    call: Call, index: ScopedIndex, body: AskBody, given: dict[str, Any]
) -> AsyncGenerator[bytes]:
    def work(tell: Callable[[str, object], None]) -> None:
        def found(evidence: Evidence) -> None:
            tell("evidence", evidence)
            if body.graph:
                tell("graph", draw_evidence(evidence))

        answer = index.ask(
            body.query,
            on_evidence=found,
            on_text=lambda piece: tell("text", {"text": piece}),
            **given,
        )
        tell("answer", _linked(call, index.name, answer))

    try:
        async for kind, data in follow_thread(call.server, work):
            yield write_event(data, kind)
    except ClewError as error:
        refusal = call.make_refusal(error)
        yield write_event({"code": refusal.code, "message": str(refusal)}, "error")


async def classify(call: Call) -> Classified:
    """Return the label of a text, and what spoke for it."""
    body = await call.read_body(ClassifyBody)
    index = call.open_named_index(tokens=body.budget_tokens, usd=body.budget_usd)
    return await call.run(index.classify, body.text, **body.given())


async def plan(call: Call) -> Plan:
    """Return what the extraction by an LLM would cost; nothing is spent."""
    body = await call.read_body(PlanBody)
    documents = None
    if body.documents is not None:
        documents = [Document(id=d.id, text=d.text, title=d.title) for d in body.documents]
    given = {} if body.core is None else {"core": body.core}
    return await call.run(call.open_named_index().plan, documents, **given)


ENDPOINTS = (
    RestEndpoint(
        method="POST", path="/indexes/{index}/search", call=search, scope="read", group="asking",
        summary="Search", body=SearchBody, reply=Evidence, named=INDEX, paid=True,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/ask", call=ask, scope="read", group="asking",
        summary="Ask a question; its answer whole, or as events while it comes", body=AskBody,
        reply=LinkedAnswer, events=ANSWER_EVENTS, named=INDEX, paid=True,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/classify", call=classify, scope="read",
        group="asking", summary="Give a text one of the labels of the index", body=ClassifyBody,
        reply=Classified, named=INDEX, paid=True,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/plan", call=plan, scope="read", group="asking",
        summary="What an extraction by an LLM would cost", body=PlanBody, reply=Plan, named=INDEX,
    ),
)  # fmt: skip
