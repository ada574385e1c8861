"""Routes of graphs, entities, aliases and rows."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from clew.base.reports import Changes, Theme
from clew.extras.graphs.index_graph import MOST_NODES
from clew.extras.graphs.threads import draw_evidence
from clew.extras.server.bodies import LONGEST_FILTER, Body, Part, QueryParameters, Whole
from clew.extras.server.endpoints import Call, EndpointGroup
from clew.extras.server.rest.asking import SearchBody, search
from clew.extras.wire.graphs import DrawnIndex, DrawnThread
from clew.extras.wire.indexes import (
    AliasView,
    EntityLine,
    EntityView,
    Listed,
    ProposedAlias,
    VocabularyView,
)

GRAPH = EndpointGroup("graph")
_NODES = 1_000  # drawn where nothing is said


class AliasBody(Body):
    """A name that is to stand for another one."""

    name: str = Field(min_length=1, max_length=1_000)
    into: str = Field(min_length=1, max_length=1_000)


class GraphQuery(QueryParameters):
    """How much of a graph is drawn."""

    limit: Whole = Field(_NODES, ge=0, le=MOST_NODES, description="entities that are drawn")


class EntitiesQuery(Part):
    """A part of the names of the entities that are listed, and their type."""

    find: str = Field("", max_length=1_000, description="a part of a name")
    type: str = Field("", max_length=40, description="only entities of this type")


class EditBody(Body):
    """What is said of an entity by hand; what is left out stays as it is."""

    entity: str = Field(min_length=1, max_length=1_000)
    name: str | None = Field(None, max_length=1_000, description='how it is shown; "" as written')
    type: str | None = Field(None, max_length=40, description='"" as the texts say')
    apart: bool | None = Field(None, description="never merged by rules, nor proposed for it")


class ThemesQuery(Part):
    """The level of the themes that are listed, or the theme whose parts are."""

    level: Whole = Field(0, ge=0, le=9, description="0 for the widest, 1 for their parts")
    parent: str = Field("", max_length=100, description="instead the parts of this theme, by id")
    where: str = Field("", max_length=LONGEST_FILTER, description="only of documents that match")


class ChangesQuery(QueryParameters):
    """Which two states of an index are compared."""

    since: str = Field("", max_length=100, description="generation or date, else the last write")
    until: str = Field("", max_length=100, description="generation or date, else now")
    dated: bool = Field(default=False, description="by dates of documents, not of writes")
    where: str = Field("", max_length=LONGEST_FILTER, description="only of documents that match")
    limit: Whole = Field(100, ge=1, le=1_000, description="documents, values and entities to list")


class AliasQuery(QueryParameters):
    """The name that is to stand for itself again."""

    name: str = Field(min_length=1, max_length=1_000, description="the name")


@GRAPH.endpoint("GET", "/indexes/{index}/graph")
async def index_graph(call: Call, query: GraphQuery) -> DrawnIndex:
    """The graph of an index, with places."""
    return await call.run(call.open_named_index().graph, query.limit)


@GRAPH.endpoint("POST", "/indexes/{index}/graph", paid=True)
async def question_graph(call: Call, body: SearchBody) -> DrawnThread:
    """The threads and the graph of a question, with places."""
    return draw_evidence(await search(call, body))


@GRAPH.endpoint("GET", "/indexes/{index}/entities")
async def entities(call: Call, query: EntitiesQuery) -> Listed[EntityLine]:
    """Find entities."""
    return await call.run(call.open_named_index().entities, **query.model_dump())


@GRAPH.endpoint("GET", "/indexes/{index}/entities/{name:path}", named={"name": "a name or an id"})
async def entity(call: Call, query: Part) -> EntityView:
    """An entity with its neighbours and texts."""
    index, name = call.open_named_index(), call.read_path("name")
    return await call.run(index.entity, name, **query.model_dump())


@GRAPH.endpoint("GET", "/indexes/{index}/themes")
async def themes(call: Call, query: ThemesQuery) -> Listed[Theme]:
    """The themes of an index, the largest first."""
    return await call.run(call.open_named_index().themes, **query.model_dump())


@GRAPH.endpoint("GET", "/indexes/{index}/changes")
async def changes(call: Call, query: ChangesQuery) -> Changes:
    """What came, went and says something else between two states of an index."""
    return await call.run(call.open_named_index().changes, **query.model_dump())


@GRAPH.endpoint("GET", "/indexes/{index}/aliases")
async def aliases(call: Call) -> AliasView:
    """Names that stand for others, and names that may."""
    return _aliases(await call.run(call.open_named_index().aliases))


@GRAPH.endpoint("POST", "/indexes/{index}/aliases", scope="write")
async def merge(call: Call, body: AliasBody) -> AliasView:
    """Let a name stand for another one."""
    index = call.open_named_index("write")
    await call.run(index.merge, body.name, body.into)
    return _aliases(await call.run(index.aliases))


@GRAPH.endpoint("DELETE", "/indexes/{index}/aliases", scope="write")
async def unmerge(call: Call, query: AliasQuery) -> AliasView:
    """Let a name stand for itself again."""
    index = call.open_named_index("write")
    await call.run(index.unmerge, query.name)
    return _aliases(await call.run(index.aliases))


def _aliases(values: Mapping[str, Any]) -> AliasView:
    proposed = tuple(ProposedAlias(**each) for each in values["proposed"])
    return AliasView(merged=values["merged"], names=values["names"], proposed=proposed)


@GRAPH.endpoint("GET", "/indexes/{index}/vocabulary")
async def vocabulary(call: Call) -> VocabularyView:
    """What was said of entities by hand or by a list."""
    return VocabularyView(entries=await call.run(call.open_named_index().vocabulary))


@GRAPH.endpoint("POST", "/indexes/{index}/vocabulary", scope="write")
async def edit(call: Call, body: EditBody) -> VocabularyView:
    """Rename or retype an entity, or keep it apart."""
    index = call.open_named_index("write")
    await call.run(index.edit, body.entity, rename=body.name, type=body.type, apart=body.apart)
    return VocabularyView(entries=await call.run(index.vocabulary))


@GRAPH.endpoint(
    "GET", "/indexes/{index}/rows/{id:path}", named={"id": "the id of a row, or a name"}
)
async def row(call: Call) -> dict[str, Any]:
    """Any row with its neighbours, as 'clew show ID --json' has it."""
    return await call.run(call.open_named_index().row, call.read_path("id"))
