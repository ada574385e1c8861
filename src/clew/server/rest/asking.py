"""Search, questions with their answers, whole or as they come, labels of texts, and plans."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.responses import StreamingResponse

from clew.asking.classify import Classification
from clew.asking.pipeline import Listeners
from clew.asking.question import LONGEST_CONTEXT, OPTIONS, Question
from clew.errors import ClewError, InputError
from clew.index.plan import Plan
from clew.server.addresses import base_of, document_address
from clew.server.bodies import (
    INTEGRAL,
    LONGEST,
    MOST_TURNS,
    AskedBody,
    Asking,
    Body,
    PastTurn,
    Text,
    exchanges_of,
    with_options,
)
from clew.server.drawn import DrawnThread, evidence_graph
from clew.server.endpoints import Call, RestEndpoint, event, told
from clew.server.replies import ErrorEvent, LinkedAnswer, LinkedCitation, TextEvent
from clew.server.rest.indexes import INDEX
from clew.types import Answer, Citation, Document, Evidence

if TYPE_CHECKING:
    from clew.server.scoped import ScopedIndex

ANSWER_EVENTS: Mapping[str, object] = {
    "evidence": Evidence,
    "graph": DrawnThread,
    "text": TextEvent,
    "answer": LinkedAnswer,
    "error": ErrorEvent,
}


@with_options("search")
class SearchBody(AskedBody):
    """What to search for, and how."""

    query: Asking
    history: list[PastTurn] = Field(
        default_factory=list, max_length=MOST_TURNS, description=OPTIONS["history"].doc
    )


@with_options("answer")
class AskBody(AskedBody):
    """A question, and whether its answer is wanted as it comes."""

    question: Asking
    history: list[PastTurn] = Field(
        default_factory=list, max_length=MOST_TURNS, description=OPTIONS["history"].doc
    )
    stream: bool = False
    graph: bool = Field(
        default=False, description="with `stream`: an event `graph` behind the evidence, too"
    )


class ClassifyBody(AskedBody):
    """A text that gets one of the labels of the index."""

    text: Text = Field(max_length=LONGEST)
    label: str = Field("label", max_length=200, description="the field that labels stand in")
    name_weight: float | None = Field(default=None, ge=0, le=1)
    context_tokens: Annotated[int, Field(ge=1, le=LONGEST_CONTEXT), INTEGRAL] | None = None


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
    body = await call.body(SearchBody)
    index = call.index(tokens=body.budget_tokens, usd=body.budget_usd)
    question = body.as_question(body.query, history=exchanges_of(body.history))
    return await call.run(index.search, question)


async def ask(call: Call) -> LinkedAnswer | StreamingResponse:
    """Return the answer with its citations; as events where that is asked for."""
    body = await call.body(AskBody)
    index = call.index(tokens=body.budget_tokens, usd=body.budget_usd)
    question = body.as_question(body.question, history=exchanges_of(body.history))
    if body.stream or "text/event-stream" in call.request.headers.get("accept", ""):
        await call.run(index.check_where, body.where)  # what is refused has a status of its own
        events = _events(call, index, question, draws_graph=body.graph)
        return StreamingResponse(events, media_type="text/event-stream")
    if body.graph:
        raise InputError("a graph comes with events only: ask with 'stream', or POST .../graph")
    return _linked(call, index.name, await call.run(index.ask, question))


def _linked(call: Call, index: str, answer: Answer) -> LinkedAnswer:
    """Return an answer with the addresses of what it cites."""
    base = base_of(call.request, call.hub.settings)
    citations = tuple(
        LinkedCitation(
            **_fields_of(each),
            url=document_address(base, index, each.document_id, each.start, each.end),
        )
        for each in answer.citations
    )
    return LinkedAnswer(**{**_fields_of(answer), "citations": citations})


def _fields_of(value: Answer | Citation) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


async def _events(
    call: Call, index: ScopedIndex, question: Question, *, draws_graph: bool
) -> AsyncIterator[bytes]:
    def work(tell: Callable[[str, object], None]) -> None:
        def found(evidence: Evidence) -> None:
            tell("evidence", evidence)
            if draws_graph:
                tell("graph", evidence_graph(evidence))

        answer = index.ask(
            question,
            Listeners(on_evidence=found, on_text=lambda piece: tell("text", {"text": piece})),
        )
        tell("answer", _linked(call, index.name, answer))

    try:
        async for kind, data in told(call.hub, work):
            yield event(kind, data)
    except ClewError as error:
        refusal = call.refusal(error)
        yield event("error", {"code": refusal.code, "message": str(refusal)})


async def classify(call: Call) -> Classification:
    """Return the label of a text, and what spoke for it."""
    body = await call.body(ClassifyBody)
    index = call.index(tokens=body.budget_tokens, usd=body.budget_usd)
    question = body.as_question(body.text)
    return await call.run(index.classify, question, label=body.label, name_weight=body.name_weight)


async def plan(call: Call) -> Plan:
    """Return what the extraction by an LLM would cost; nothing is spent."""
    body = await call.body(PlanBody)
    documents = None
    if body.documents is not None:
        documents = [Document(id=d.id, text=d.text, title=d.title) for d in body.documents]
    given = {} if body.core is None else {"core": body.core}
    return await call.run(call.index().plan, documents, **given)


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
        reply=Classification, named=INDEX, paid=True,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/plan", call=plan, scope="read", group="asking",
        summary="What an extraction by an LLM would cost", body=PlanBody, reply=Plan, named=INDEX,
    ),
)  # fmt: skip
