"""Routes that list, make, describe, back up and delete indexes."""

import secrets
import shutil
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from clew import Chunking, Settings
from clew.base.display.shown import make_view
from clew.base.display.visible import visible
from clew.base.runtime.private import make_folder
from clew.errors import StoreError
from clew.extras.server.bodies import INTEGRAL, Body, Part
from clew.extras.server.endpoints import FILES, Call, EndpointGroup
from clew.extras.server.scoped_questions import Scoped
from clew.extras.server.settings import NAME, is_name
from clew.extras.wire.indexes import CostLine, IndexLine, IndexView, Listed
from clew.extras.wire.names import SHARD_MEDIA_TYPE
from clew.extras.wire.refusals import Refusal, forbidden, no_space

INDEXES, SHARDS = EndpointGroup("indexes"), EndpointGroup("indexes")
_OWN_EMBEDDERS = ("minilm", "minilm-float32", "multilingual")


def _check_named(name: str) -> str:
    if not is_name(name):
        why = "an index name is up to 64 lower-case letters, digits, - and _"
        raise PydanticCustomError("name", why)
    return name


IndexName = Annotated[
    str,
    Field(json_schema_extra={"minLength": 1, "maxLength": 64, "pattern": f"^{NAME}$"}),
    AfterValidator(_check_named),
]


class IndexBody(Body):
    """A new index: its name, and how it is built."""

    name: IndexName
    title: str = Field("", max_length=100, description="what people call it, such as 'My Notes'")
    chunk_size: Annotated[int, Field(ge=16, le=8_192), INTEGRAL] | None = Field(
        None, description="tokens of a chunk"
    )
    chunk_overlap: Annotated[int, Field(ge=0, le=4_096), INTEGRAL] | None = None
    embedder: str | None = Field(
        None, max_length=200, description="a spec; others than Clew's own need an admin's key"
    )

    def settings(self) -> Settings:
        default = Chunking()
        size = default.size if self.chunk_size is None else self.chunk_size
        overlap = min(default.overlap, size // 2)
        return Settings(
            chunking=Chunking(
                size=size, overlap=overlap if self.chunk_overlap is None else self.chunk_overlap
            )
        )


@INDEXES.endpoint("GET", "/indexes")
async def list_indexes(call: Call, query: Part) -> Listed[IndexLine]:
    """List the indexes."""
    part = call.list_part(call.list_names(), query)
    titles = await call.run(call.server.indexes.read_titles)
    lines = [
        await call.run(_view_line, call, call.open_any(name), titles.get(name, ""))
        for name in part.items
    ]
    return Listed(items=tuple(lines), total=part.total)


def _view_line(call: Call, index: Scoped, title: str) -> IndexLine:
    line = IndexLine(
        name=index.name,
        title=title,
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


@INDEXES.endpoint("POST", "/indexes", scope="write", status=201)
async def make(call: Call, body: IndexBody) -> IndexView:
    """Make an empty index."""
    if not call.caller.sees(body.name):
        raise forbidden("your key does not cover this index")
    if body.embedder not in (None, *_OWN_EMBEDDERS):
        call.caller.check("admin")  # it may name an address, or a folder of the server
    await call.run(
        call.server.indexes.make,
        body.name,
        body.settings(),
        embedder=body.embedder,
        title=visible(body.title.strip()),
    )
    return await call.run(call.open_any(body.name).describe)


@INDEXES.endpoint("GET", "/indexes/{index}")
async def describe(call: Call) -> IndexView:
    """What an index holds."""
    return await call.run(call.open_named_any().describe)


@INDEXES.endpoint("DELETE", "/indexes/{index}", scope="admin", status=204)
async def drop(call: Call) -> None:
    """Delete an index that was made here."""
    index = call.open_named_any("admin")
    await call.run(call.server.indexes.drop, index.name)


@INDEXES.endpoint("GET", "/indexes/{index}/spend")
async def costs(call: Call, query: Part) -> Listed[CostLine]:
    """What each write cost, the newest first."""
    lines = await call.run(call.open_named_index().costs)
    return call.list_part([make_view(CostLine, each) for each in reversed(lines)], query)


@INDEXES.endpoint("POST", "/indexes/{index}/backup", scope="admin", downloads=FILES)
async def backup(call: Call) -> Response:
    """Download an archive of an index, for 'clew restore'.

    It is of the newest generation; others may ask and write meanwhile.
    """
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


@SHARDS.endpoint("POST", "/indexes/{index}/shard", scope="admin", bytes_of=SHARD_MEDIA_TYPE)
async def shard(call: Call) -> Response:
    """A part of a question of several shards, for clew.shards."""
    index = call.open_named_index("admin")
    call.check_kind(SHARD_MEDIA_TYPE)
    reply = await call.run(index.shard, await call.read_bytes())
    return Response(reply, media_type=SHARD_MEDIA_TYPE)
