"""Routes that list, make, describe, back up and delete indexes."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from clew.errors import StoreError
from clew.index import Settings
from clew.runtime.private import make_folder
from clew.server.bodies import INTEGRAL, Body, Part
from clew.server.endpoints import Call, RestEndpoint
from clew.server.settings import NAME, is_name
from clew.text.chunking import Chunking
from clew.wire.indexes import CostLine, IndexLine, IndexView, Listed
from clew.wire.refusals import Refusal, forbidden, no_space

if TYPE_CHECKING:
    from clew.server.scoped_questions import Scoped

INDEX = {"index": "the name of an index"}
_OWN_EMBEDDERS = ("minilm", "minilm-float32")


def _check_named(name: str) -> str:
    if not is_name(name):
        raise PydanticCustomError(
            "name", "an index is named by at most 64 small letters, digits, - and _"
        )
    return name


IndexName = Annotated[
    str,
    Field(json_schema_extra={"minLength": 1, "maxLength": 64, "pattern": f"^{NAME}$"}),
    AfterValidator(_check_named),
]


class IndexBody(Body):
    """A new index: its name, and how it is built."""

    name: IndexName
    chunk_size: Annotated[int, Field(ge=16, le=8_192), INTEGRAL] | None = Field(
        None, description="tokens of a chunk"
    )
    chunk_overlap: Annotated[int, Field(ge=0, le=4_096), INTEGRAL] | None = None
    embedder: str | None = Field(
        None, max_length=200, description="as the command line has it; others than Clew's own"
        " need a key of the scope 'admin'",
    )  # fmt: skip

    def settings(self) -> Settings:
        """Return how the index is built."""
        default = Chunking()
        size = default.size if self.chunk_size is None else self.chunk_size
        overlap = min(default.overlap, size // 2)
        return Settings(
            chunking=Chunking(
                size=size, overlap=overlap if self.chunk_overlap is None else self.chunk_overlap
            )
        )


async def list_indexes(call: Call) -> Listed[IndexLine]:
    """Return the indexes that the caller may use."""
    names = [name for name in call.server.indexes.list_folders() if call.caller.sees(name)]
    part = call.list_part(names)
    lines = [
        await call.run(_view_line, call, call.open_named_any(name=name)) for name in part.items
    ]
    return Listed(items=tuple(lines), total=part.total)


def _view_line(call: Call, index: Scoped) -> IndexLine:
    line = IndexLine(
        name=index.name,
        n_documents=0,
        n_chunks=0,
        is_own=call.server.indexes.is_own(index.name),
        problem="",
    )
    try:
        n_documents, n_chunks = index.count_documents()
    except (StoreError, Refusal) as error:
        return replace(line, problem=str(call.make_refusal(error)))
    return replace(line, n_documents=n_documents, n_chunks=n_chunks)


async def make(call: Call) -> IndexView:
    """Make an empty index in the server's home."""
    body = await call.read_body(IndexBody)
    if not call.caller.sees(body.name):
        raise forbidden("your key is for some indexes, and this is none of them")
    if body.embedder not in (None, *_OWN_EMBEDDERS):
        call.caller.check("admin")  # it may name an address, or a folder of the server
    await call.run(call.server.indexes.make, body.name, body.settings(), embedder=body.embedder)
    return await call.run(call.open_named_any(name=body.name).describe)


async def describe(call: Call) -> IndexView:
    """Return what an index holds, and how it was built."""
    return await call.run(call.open_named_any().describe)


async def drop(call: Call) -> None:
    """Delete an index that was made here, with its files."""
    index = call.open_named_any("admin")
    await call.run(call.server.indexes.drop, index.name)


async def costs(call: Call) -> Listed[CostLine]:
    """Return what each write of an index cost, the newest first."""
    found = await call.run(call.open_named_index().costs)
    return call.list_part(
        [
            CostLine(kind=c.kind, before=c.before, generation=c.generation, usage=c.usage)
            for c in reversed(found)
        ]
    )


async def backup(call: Call) -> Response:
    """Return an archive of the newest generation; others may ask and write meanwhile."""
    index = call.open_named_index("admin")
    # What a request that was cut off leaves there is deleted within a day.
    place = call.server.settings.home / "uploads" / secrets.token_hex(8)
    file = place / f"{index.name}.tar.gz"
    try:
        make_folder(place)
        await call.run(index.backup, file)
    except OSError as error:
        raise no_space(error) from error
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    delete = BackgroundTask(shutil.rmtree, place, ignore_errors=True)
    return FileResponse(
        file, media_type="application/octet-stream", filename=file.name, background=delete
    )


ENDPOINTS = (
    RestEndpoint(
        method="GET", path="/indexes", call=list_indexes, scope="read", group="indexes",
        summary="List the indexes", reply=Listed[IndexLine], query=Part,
    ),
    RestEndpoint(
        method="POST", path="/indexes", call=make, scope="write", group="indexes",
        summary="Make an empty index", body=IndexBody, reply=IndexView, status=201,
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}", call=describe, scope="read", group="indexes",
        summary="What an index holds", reply=IndexView, named=INDEX,
    ),
    RestEndpoint(
        method="DELETE", path="/indexes/{index}", call=drop, scope="admin", group="indexes",
        summary="Delete an index that was made here", status=204, named=INDEX,
    ),
    RestEndpoint(
        method="GET", path="/indexes/{index}/spend", call=costs, scope="read", group="indexes",
        summary="What each write cost, the newest first", reply=Listed[CostLine], query=Part,
        named=INDEX,
    ),
    RestEndpoint(
        method="POST", path="/indexes/{index}/backup", call=backup, scope="admin", group="indexes",
        summary="Download an archive of an index, for 'clew restore'", downloads=True, named=INDEX,
    ),
)  # fmt: skip
