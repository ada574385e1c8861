"""Routes of graphs, entities, aliases and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from clew.server.bodies import Body, Part, QueryParameters, Whole
from clew.server.drawing import MOST_NODES, draw_evidence
from clew.server.endpoints import Call, RestEndpoint
from clew.server.rest.asking import SearchBody
from clew.server.rest.indexes import INDEX
from clew.wire.graphs import DrawnIndex, DrawnThread
from clew.wire.indexes import AliasView, EntityLine, EntityView, Listed, ProposedAlias

_NODES = 1_000  # drawn where nothing is said


class AliasBody(Body):
    """A name that is to stand for another one."""

    name: str = Field(min_length=1, max_length=1_000)
    into: str = Field(min_length=1, max_length=1_000)


class GraphQuery(QueryParameters):
    """How much of a graph is drawn."""

    limit: Whole = Field(_NODES, ge=0, le=MOST_NODES, description="entities that are drawn")


class EntitiesQuery(Part):
    """Which entities are listed."""

    find: str = Field("", max_length=1_000, description="a part of a name")


class AliasQuery(QueryParameters):
    """Which name is to stand for itself again."""

    name: str = Field(min_length=1, max_length=1_000, description="the name")


async def index_graph(call: Call) -> DrawnIndex:
    """Return the entities of most texts and what joins them, with places."""
    return await call.run(call.open_named_index().graph, call.read_query(GraphQuery).limit)


async def question_graph(call: Call) -> DrawnThread:
    """Return what a method finds for a question as a graph, with reasons and places."""
    body = await call.read_body(SearchBody)
    index = call.open_named_any(tokens=body.budget_tokens, usd=body.budget_usd)
    question = body.as_question(body.query)
    return draw_evidence(await call.run(index.search, question))


async def entities(call: Call) -> Listed[EntityLine]:
    """Return some of the entities, those of most texts first."""
    return await call.run(
        call.open_named_index().entities, **call.read_query(EntitiesQuery).model_dump()
    )


async def entity(call: Call) -> EntityView:
    """Return an entity with its neighbours and some of its texts."""
    part = call.read_query(Part).model_dump()
    return await call.run(call.open_named_index().entity, call.read_path("name"), **part)


async def aliases(call: Call) -> AliasView:
    """Return which names stand for others, and which may."""
    return _aliases(await call.run(call.open_named_index().aliases))


async def merge(call: Call) -> AliasView:
    """Let a name stand for another one."""
    body, index = await call.read_body(AliasBody), call.open_named_index("write")
    await call.run(index.merge, body.name, body.into)
    return _aliases(await call.run(index.aliases))


async def unmerge(call: Call) -> AliasView:
    """Let a name stand for itself again."""
    index = call.open_named_index("write")
    await call.run(index.unmerge, call.read_query(AliasQuery).name)
    return _aliases(await call.run(index.aliases))


def _aliases(found: Mapping[str, Any]) -> AliasView:
    proposed = tuple(ProposedAlias(**each) for each in found["proposed"])
    return AliasView(merged=found["merged"], names=found["names"], proposed=proposed)


async def row(call: Call) -> dict[str, Any]:
    """Return a row with its neighbours, as `clew show ID --json` does."""
    return await call.run(call.open_named_index().row, call.read_path("id"))


ENDPOINTS = (
    RestEndpoint(
        method="GET", path="/indexes/{index}/graph", call=index_graph, scope="read",
        group="graph", summary="The graph of an index, with places", reply=DrawnIndex,
        named=INDEX, query=GraphQuery,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/graph", call=question_graph, scope="read",
        group="graph", summary="The threads and the graph of a question, with places",
        body=SearchBody, reply=DrawnThread, named=INDEX, paid=True,
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}/entities", call=entities, scope="read",
        group="graph", summary="Find entities", reply=Listed[EntityLine], query=EntitiesQuery,
        named=INDEX,
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}/entities/{name:path}", call=entity, scope="read",
        group="graph", summary="An entity with its neighbours and texts", reply=EntityView,
        query=Part, named={**INDEX, "name": "a name or an id"},
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}/aliases", call=aliases, scope="read", group="graph",
        summary="Names that stand for others, and names that may", reply=AliasView, named=INDEX,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/aliases", call=merge, scope="write", group="graph",
        summary="Let a name stand for another one", body=AliasBody, reply=AliasView, named=INDEX,
    ),
    RestEndpoint(
        method="DELETE", path="/indexes/{index}/aliases", call=unmerge, scope="write",
        group="graph", summary="Let a name stand for itself again", reply=AliasView, named=INDEX,
        query=AliasQuery,
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}/rows/{id:path}", call=row, scope="read",
        group="graph", summary="Any row with its neighbours, as 'clew show ID --json' has it",
        reply=dict[str, Any], named={**INDEX, "id": "the id of a row, or a name"},
    ),
)  # fmt: skip
