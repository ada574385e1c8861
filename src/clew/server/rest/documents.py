"""Documents: lists of them, one with its text and chunks, and its end."""

from __future__ import annotations

from clew.server.endpoints import Call, RestEndpoint
from clew.server.files import Removal
from clew.server.rest.indexes import INDEX
from clew.server.views import DocumentLine, DocumentView, Listed

DOCUMENT = {**INDEX, "id": "the id of a document; it may have slashes"}


async def documents(call: Call) -> Listed[DocumentLine]:
    """Return some of an index's documents."""
    return await call.run(
        call.index().documents,
        pattern=call.query("pattern"),
        where=call.query("where"),
        sort=call.query("sort"),
        **call.part(),
    )


async def document(call: Call) -> DocumentView:
    """Return a document with its text, its chunks and where they stand."""
    return await call.run(call.index().document, call.path("id"))


async def remove(call: Call) -> Removal:
    """Delete a document, and the file that it came from, if that was uploaded."""
    index = call.index("write")
    uploads = call.hub.indexes.files(index.name)
    return await call.run(index.remove, call.path("id"), uploads)


ENDPOINTS = (
    RestEndpoint(
        method="GET", path="/indexes/{index}/documents", call=documents, scope="read",
        group="documents", summary="List documents", reply=Listed[DocumentLine], lists=True,
        named=INDEX,
        parameters={
            "pattern": "ids, as 'notes', 'notes/*.md'",
            "where": "a filter, as 'date >= 2024 and tags has \"fram\"'",
            "sort": "'id', 'title' or a field of the metadata; backwards behind a '-'",
        },
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
