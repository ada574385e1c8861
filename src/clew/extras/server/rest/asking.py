"""Routes for search, questions, hops and plans."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Annotated

from pydantic import Field
from starlette.responses import StreamingResponse

from clew.answers.pipeline import Listeners
from clew.answers.question import MOST_CHARACTERS, Question
from clew.base.display.shown import make_view
from clew.base.reports import Plan
from clew.base.types import Answer, Document, Evidence
from clew.errors import ClewError, InputError
from clew.extras.graphs.threads import draw_evidence
from clew.extras.server import bodies
from clew.extras.server.addresses import build_document_address, find_base
from clew.extras.server.endpoints import Call, EndpointGroup
from clew.extras.server.scoped_questions import Scoped
from clew.extras.server.sse import stream_events, stream_thread_events, write_event
from clew.extras.wire.answers import ErrorEvent, LinkedAnswer, LinkedCitation, TextEvent
from clew.extras.wire.graphs import DrawnThread
from clew.extras.wire.names import EVENT_STREAM
from clew.index.options import PlanOptions

ASKING = EndpointGroup("asking")
ANSWER_EVENTS: Mapping[str, object] = {
    "evidence": Evidence,
    "graph": DrawnThread,
    "text": TextEvent,
    "answer": LinkedAnswer,
    "error": ErrorEvent,
}


@bodies.with_options(Question, "search")
class SearchBody(bodies.ConversationBody):
    """What to search for, and how."""

    query: bodies.Asking


@bodies.with_options(Question, "answer")
class AnswerBody(bodies.ConversationBody):
    """A question with its options."""

    question: bodies.Asking


class AskBody(AnswerBody):
    """A question, and whether its answer is wanted as it comes."""

    stream: bool = False
    graph: bool = Field(default=False, description="with `stream`: also send an event `graph`")


class HopBody(bodies.Body):
    """Where a hop begins, and what is looked for."""

    start: bodies.Text = Field(
        max_length=bodies.LONGEST, description="id of a passage or document, or an entity's name"
    )
    query: str = Field("", max_length=MOST_CHARACTERS, description="passages like it come first")
    chunks: Annotated[int, Field(ge=1, le=bodies.MOST_LISTED), bodies.INTEGRAL] = Field(
        5, description="passages, at most"
    )
    where: str | None = Field(default=None, max_length=bodies.LONGEST_FILTER)


class PlannedDocument(bodies.Body):
    """A document that a plan is made for."""

    id: str = Field(min_length=1, max_length=1_000)
    text: bodies.Text
    title: str = ""


@bodies.with_options(PlanOptions, "body")
class PlanBody(bodies.Body):
    """What to plan the extraction by an LLM for."""

    documents: list[PlannedDocument] | None = Field(
        default=None, min_length=1, description="none: those of the index"
    )


@ASKING.endpoint("POST", "/indexes/{index}/search", paid=True)
async def search(call: Call, body: SearchBody) -> Evidence:
    """Search."""
    index = call.open_named_any(bounds=body)
    return await call.run(index.search, body.as_question(body.query))


@ASKING.endpoint(
    "POST", "/indexes/{index}/ask", reply=LinkedAnswer, events=ANSWER_EVENTS, paid=True
)
async def ask(call: Call, body: AskBody) -> LinkedAnswer | StreamingResponse:
    """Ask a question; its answer whole, or as events while it comes."""
    index = call.open_named_any(bounds=body)
    question = body.as_question(body.question)
    if body.stream or EVENT_STREAM in call.request.headers.get("accept", ""):
        await call.run(index.check_where, body.where)  # what is refused has a status of its own
        events = _events(call, index, question, draws_graph=body.graph)
        return stream_events(events)
    if body.graph:
        raise InputError("the graph is only sent in a stream: set 'stream', or use POST .../graph")
    return _link_citations(call, index.name, await call.run(index.ask, question))


def _link_citations(call: Call, index: str, answer: Answer) -> LinkedAnswer:
    """Return an answer with the addresses of what it cites."""
    base = find_base(call.request, call.server.settings)
    citations = tuple(
        make_view(
            LinkedCitation,
            each,
            url=build_document_address(base, index, each.document_id, each.start, each.end),
        )
        for each in answer.citations
    )
    return make_view(LinkedAnswer, answer, citations=citations)


async def _events(
    call: Call, index: Scoped, question: Question, *, draws_graph: bool
) -> AsyncGenerator[bytes]:
    def work(tell: Callable[[str, object], None]) -> None:
        def send_evidence(evidence: Evidence) -> None:
            tell("evidence", evidence)
            if draws_graph:
                tell("graph", draw_evidence(evidence))

        answer = index.ask(
            question,
            Listeners(
                on_evidence=send_evidence, on_text=lambda piece: tell("text", {"text": piece})
            ),
        )
        tell("answer", _link_citations(call, index.name, answer))

    try:
        async for kind, data in stream_thread_events(call.server, work):
            yield write_event(data, kind)
    except ClewError as error:
        refusal = call.make_refusal(error)
        yield write_event({"code": refusal.code, "message": str(refusal)}, "error")


@ASKING.endpoint("POST", "/indexes/{index}/hop", paid=True)
async def hop(call: Call, body: HopBody) -> Evidence:
    """The next passages from a passage, a document or an entity."""
    return await call.run(call.open_named_index().hop, **body.model_dump())


@ASKING.endpoint("POST", "/indexes/{index}/plan")
async def plan(call: Call, body: PlanBody) -> Plan:
    """What an extraction by an LLM would cost."""
    documents = None
    if body.documents is not None:
        documents = [Document(id=d.id, text=d.text, title=d.title) for d in body.documents]
    options = body.model_dump(exclude={"documents"})
    return await call.run(call.open_named_index().plan, documents, **options)
