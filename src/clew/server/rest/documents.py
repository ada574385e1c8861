"""Documents: lists of them, one with its text and chunks, its file, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse, Response

from clew.server.endpoints import Call, Endpoint
from clew.server.rest.indexes import INDEX
from clew.server.views import DocumentLine, DocumentView, Listed

DOCUMENT = {**INDEX, "id": "the id of a document; it may have slashes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedDocuments:
    """Which documents were deleted."""

    removed: tuple[str, ...]


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


async def remove(call: Call) -> RemovedDocuments:
    """Delete a document, and the file that it came from, if that was uploaded."""
    index, document_id = call.index("write"), call.path("id")
    gone = await call.run(index.remove, document_id)
    file = _uploaded(call, index.name, document_id)
    if file is not None:
        file.unlink(missing_ok=True)  # else the next job would index it again
    return RemovedDocuments(removed=tuple(gone))


async def file(call: Call) -> Response:
    """Return the file that was uploaded, else the text. Neither is ever shown by a browser.

    A key that sees some documents only gets the text: a file may hold other documents, too.
    """
    index, document_id = call.index(), call.path("id")
    found = await call.run(index.document, document_id)
    name = document_id.rpartition("/")[2] or "document"
    path = None if index.is_bound else _uploaded(call, index.name, document_id)
    if path is not None:
        return FileResponse(path, media_type="application/octet-stream", filename=name)
    return Response(
        found.text.encode("utf-8", "replace"),
        media_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.txt"},
    )


def _uploaded(call: Call, index: str, document_id: str) -> Path | None:
    """Return the file of a document, None where none was uploaded under just that name."""
    root = call.hub.indexes.files(index).resolve()
    head, _, rest = document_id.partition("/")
    if head != root.name or not rest or "\0" in rest:
        return None
    path = root / rest
    if path.resolve() != path or not path.is_relative_to(root):  # nor a link, nor a way out
        return None
    return path if path.is_file() else None


ENDPOINTS = (
    Endpoint(
        method="GET", path="/indexes/{index}/documents", call=documents, scope="read",
        group="documents", summary="List documents", reply=Listed[DocumentLine], lists=True,
        named=INDEX,
        parameters={
            "pattern": "ids, as 'notes', 'notes/*.md'",
            "where": "a filter, as 'date >= 2024 and tags has \"fram\"'",
            "sort": "'id', 'title' or a field of the metadata; backwards behind a '-'",
        },
    ),
    Endpoint(
        method="GET", path="/indexes/{index}/documents/{id:path}", call=document, scope="read",
        group="documents", summary="A document with its text, headings, pages and chunks",
        reply=DocumentView, named=DOCUMENT,
    ),
    Endpoint(
        method="DELETE", path="/indexes/{index}/documents/{id:path}", call=remove, scope="write",
        group="documents", summary="Delete a document, and its file", reply=RemovedDocuments,
        named=DOCUMENT,
    ),
    Endpoint(
        method="GET", path="/indexes/{index}/files/{id:path}", call=file, scope="read",
        group="documents", summary="Download a document's file, or its text", downloads=True,
        named=DOCUMENT,
    ),
)  # fmt: skip
