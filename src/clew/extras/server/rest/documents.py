"""Routes that list, show, add, download and remove documents."""

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pydantic import Field, JsonValue
from starlette.responses import FileResponse, Response

from clew.errors import AlreadyExists, InputError
from clew.extras.files import figures
from clew.extras.server import files, multipart
from clew.extras.server.bodies import LONGEST_FILTER, Body, Part
from clew.extras.server.endpoints import FILES, FORM, JSON, Call, EndpointGroup, parse_body
from clew.extras.server.files import Removal
from clew.extras.server.jobs import queue
from clew.extras.server.jobs.options import IndexOptions
from clew.extras.server.rest.jobs import WaitQuery, submit_job
from clew.extras.server.scoped import ScopedIndex
from clew.extras.wire.indexes import DocumentLine, DocumentView, Listed
from clew.extras.wire.jobs import JobView
from clew.extras.wire.refusals import no_such_resource

DOCUMENTS = EndpointGroup("documents")
_DOCUMENT = {"id": "the id of a document; it may have slashes"}
_ID = Field(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x1f\x7f]+$")


class DocumentsQuery(Part):
    """Which documents are listed, and in what order."""

    pattern: str = Field("", max_length=1_000, description="ids, as 'notes', 'notes/*.md'")
    where: str = Field("", max_length=LONGEST_FILTER, description="a filter, as 'date >= 2024'")
    sort: str = Field("", max_length=200, description="'id', 'title' or a field; '-' reverses")


class DocumentBody(Body):
    """A document as a text."""

    id: str = _ID
    text: str
    title: str = Field("", max_length=1_000)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


class DocumentsBody(Body):
    """Documents as texts, and how they are indexed."""

    documents: list[DocumentBody] = Field(min_length=1)
    options: IndexOptions = Field(default_factory=lambda: IndexOptions.model_validate({}))


@DOCUMENTS.endpoint("GET", "/indexes/{index}/documents")
async def documents(call: Call, query: DocumentsQuery) -> Listed[DocumentLine]:
    """List documents."""
    return await call.run(call.open_named_index().documents, **query.model_dump())


@DOCUMENTS.endpoint("GET", "/indexes/{index}/documents/{id:path}", named=_DOCUMENT)
async def document(call: Call) -> DocumentView:
    """A document with its text, headings, pages and chunks."""
    return await call.run(call.open_named_any().document, call.read_path("id"))


@DOCUMENTS.endpoint(
    "DELETE", "/indexes/{index}/documents/{id:path}", scope="write", named=_DOCUMENT
)
async def remove(call: Call) -> Removal:
    """Delete a document, and its file."""
    index = call.open_named_index("write")
    uploads = call.server.indexes.find_uploads(index.name)
    return await call.run(index.remove, call.read_path("id"), uploads)


@DOCUMENTS.endpoint(
    "POST",
    "/indexes/{index}/documents",
    scope="write",
    body=DocumentsBody,
    status=202,
    reply=JobView,
    form=IndexOptions,
)
async def add_documents(call: Call, query: WaitQuery) -> Response:
    """Add files or texts."""
    name = call.open_named_index("write").name
    if call.check_kind(JSON, FORM) != FORM:
        return await _add_texts(call, name, query)
    async with multipart.receive_upload(call.request, call.server.settings) as form:
        options = parse_body(IndexOptions, form.options, at="options")
        if not form.files:
            raise InputError("send at least one file, called 'files'")
        folder = call.server.indexes.find_uploads(name)
        return await submit_job(
            call, name, "index", options, query, partial(_take_files, form.files, folder)
        )


def _take_files(parts: Mapping[str, Path], uploads: Path, folder: Path) -> None:
    """Move files to their names, and list them in the job's folder."""
    files.check_places([*parts], uploads)  # all of them, before one replaces another
    for name, path in parts.items():
        target = uploads / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.replace(target)
    (folder / queue.FILES).write_text(json.dumps([*parts]), encoding="utf-8")


async def _add_texts(call: Call, name: str, query: WaitQuery) -> Response:
    body = await call.read_body(DocumentsBody, most=call.server.settings.text_bytes)
    ids = [each.id for each in body.documents]
    if len(set(ids)) < len(ids):
        [(twice, _)] = Counter(ids).most_common(1)
        raise InputError(f"two documents have the id {twice!r:.200}: ids must differ")
    lines = multipart.write_json_lines([each.model_dump() for each in body.documents])
    uploads = call.server.indexes.find_uploads(name)

    def write(folder: Path) -> None:
        taken = files.find_upload_id(ids, uploads, name)
        if taken is not None:
            raise AlreadyExists(
                f"the id {taken!r:.200} is that of an uploaded file: use another, or delete it"
            )
        (folder / queue.DOCUMENTS).write_bytes(lines)

    return await submit_job(call, name, "index", body.options, query, write)


@DOCUMENTS.endpoint(
    "GET",
    "/indexes/{index}/figures/{address}/{id:path}",
    downloads=figures.TYPES,
    named={"address": "the address of a figure of the document", **_DOCUMENT},
)
async def figure(call: Call) -> Response:
    """A figure of a document, as a picture."""
    document_id, address = call.read_path("id"), call.read_path("address")
    document = await call.run(call.open_named_any().find_document, document_id)
    if document is None or address not in document.pictures:
        raise no_such_resource(f"there is no such figure in a document {document_id!r:.200} here")
    picture = await call.run(document.pictures.__getitem__, address)
    return Response(picture, media_type=figures.media_type(picture))


@DOCUMENTS.endpoint("GET", "/indexes/{index}/files/{id:path}", downloads=FILES, named=_DOCUMENT)
async def download(call: Call) -> Response:
    """Download a document's file, or its text.

    Both are to be saved, never shown.
    """
    index = call.open_named_index()
    return await call.run(
        _download, index, call.server.indexes.find_uploads(index.name), call.read_path("id")
    )


def _download(index: ScopedIndex, uploads: Path, document_id: str) -> Response:
    document = files.find_document(index.snapshot(), document_id)
    if document is None:
        raise no_such_resource(f"there is no document {document_id!r:.200} here")
    origin = files.find_origin(document, uploads)
    # Who sees some documents gets no file: it may hold others, or be a newer one than was indexed.
    if origin is not None and not index.is_bound:
        path, _ = origin
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)
    name = document_id.rpartition("/")[2] or "document"
    return Response(
        document.text.encode("utf-8", "replace"),
        media_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": files.write_disposition(f"{name}.txt")},
    )
