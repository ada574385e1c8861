"""Search, and questions with their answers, whole or as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from pydantic import Field
from starlette.responses import StreamingResponse

from clew import support
from clew.errors import ClewError
from clew.server.endpoints import Body, Call, Endpoint, event, told
from clew.server.errors import refusal_of
from clew.types import Answer, Evidence

if TYPE_CHECKING:
    from clew.server.scoped import ScopedIndex

Number = str | int | float | bool | None


class SearchBody(Body):
    """What to search for, and how."""

    query: str = Field(max_length=20_000)
    method: str | None = None
    where: str | None = None
    context_tokens: int | None = Field(None, ge=1, le=1_000_000)
    exact: bool = False
    parameters: dict[str, Number] = Field(default_factory=dict)
    budget_tokens: int | None = Field(None, ge=0)
    budget_usd: float | None = Field(None, ge=0)

    def given(self) -> dict[str, Any]:
        """Return the arguments of `Index.search` and `Index.ask`."""
        return {
            "method": self.method,
            "where": self.where,
            "context_tokens": self.context_tokens,
            "exact": self.exact,
            **self.parameters,
        }


class AskBody(SearchBody):
    """A question, and whether its answer is wanted as it comes."""

    query: str = Field(alias="question", max_length=20_000)
    min_support: float = Field(support.THRESHOLD, ge=0, le=1)
    stream: bool = False

    def given(self) -> dict[str, Any]:
        return {**super().given(), "min_support": self.min_support}


async def search(call: Call) -> Evidence:
    """Return the chunks that a method finds, and why."""
    body = await call.body(SearchBody)
    index = call.index(tokens=body.budget_tokens, usd=body.budget_usd)
    return await call.run(index.search, body.query, **body.given())


async def ask(call: Call) -> Answer | StreamingResponse:
    """Return the answer with its citations; as events where that is asked for."""
    body = await call.body(AskBody)
    index = call.index(tokens=body.budget_tokens, usd=body.budget_usd)
    if body.stream or "text/event-stream" in call.request.headers.get("accept", ""):
        return StreamingResponse(_events(call, index, body), media_type="text/event-stream")
    return await call.run(index.ask, body.query, **body.given())


async def _events(call: Call, index: ScopedIndex, body: AskBody) -> AsyncIterator[bytes]:
    def work(tell: Callable[[str, object], None]) -> None:
        answer = index.ask(body.query, **body.given())
        tell("answer", answer)

    try:
        async for kind, data in told(call.hub, work):
            yield event(kind, data)
    except ClewError as error:
        refusal = refusal_of(error)
        yield event("error", {"code": refusal.code, "message": str(refusal)})


ENDPOINTS = (
    Endpoint(
        method="POST", path="/indexes/{index}/search", call=search, scope="read", group="asking",
        summary="Search", body=SearchBody, reply=Evidence,
    ),
    Endpoint(
        method="POST", path="/indexes/{index}/ask", call=ask, scope="read", group="asking",
        summary="Ask a question", body=AskBody, reply=Answer, streams=True,
    ),
)  # fmt: skip
