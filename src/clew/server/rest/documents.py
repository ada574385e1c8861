"""Routes that list, show and remove documents."""

from __future__ import annotations

from pydantic import Field

from clew.server.bodies import LONGEST_FILTER, Part
from clew.server.endpoints import Call, RestEndpoint
from clew.server.files import Removal
from clew.server.rest.indexes import INDEX
from clew.wire.indexes import DocumentLine, DocumentView, Listed

DOCUMENT = {**INDEX, "id": "the id of a document; it may have slashes"}


class DocumentsQuery(Part):
    """Which documents are listed, and in what order."""

    pattern: str = Field("", max_length=1_000, description="ids, as 'notes', 'notes/*.md'")
    where: str = Field(
        "",
        max_length=LONGEST_FILTER,
        description="a filter, as 'date >= 2024 and tags has \"fram\"'",
    )
    sort: str = Field(
        "",
        max_length=200,
        description="'id', 'title' or a field of the metadata; backwards behind a '-'",
    )


async def documents(call: Call) -> Listed[DocumentLine]:
    """Return some of an index's documents."""
    query = call.read_query(DocumentsQuery)
    return await call.run(call.open_named_index().documents, **query.model_dump())


async def document(call: Call) -> DocumentView:
    """Return a document with its text, its chunks and where they stand."""
    return await call.run(call.open_named_any().document, call.read_path("id"))


async def remove(call: Call) -> Removal:
    """Delete a document, and the file that it came from, if that was uploaded."""
    index = call.open_named_index("write")
    uploads = call.server.indexes.find_uploads(index.name)
    return await call.run(index.remove, call.read_path("id"), uploads)


ENDPOINTS = (
    RestEndpoint(
        method="GET", path="/indexes/{index}/documents", call=documents, scope="read",
        group="documents", summary="List documents", reply=Listed[DocumentLine],
        query=DocumentsQuery, named=INDEX,
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}/documents/{id:path}", call=document, scope="read",
        group="documents", summary="A document with its text, headings, pages and chunks",
        reply=DocumentView, named=DOCUMENT,
    ),
    RestEndpoint(
        method="DELETE", path="/indexes/{index}/documents/{id:path}", call=remove, scope="write",
        group="documents", summary="Delete a document, and its file", reply=Removal,
        named=DOCUMENT,
    ),
)  # fmt: skip
