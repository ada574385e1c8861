"""An index as one shard of several: a coordinator asks it for its part of a question."""

from __future__ import annotations

from starlette.responses import Response

from clew.server.endpoints import Call, RestEndpoint
from clew.server.rest.indexes import INDEX
from clew.shards.wire import MEDIA_TYPE


async def shard(call: Call) -> Response:
    """Return what the index has for a part of a question."""
    index = call.open_named_index("admin")
    call.check_kind(MEDIA_TYPE)
    reply = await call.run(index.shard, await call.read_bytes())
    return Response(reply, media_type=MEDIA_TYPE)


ENDPOINTS = (
    RestEndpoint(
        method="POST", path="/indexes/{index}/shard", call=shard, scope="admin", group="indexes",
        summary="A part of a question of several shards, for clew.shards", named=INDEX,
        bytes_of=MEDIA_TYPE,
    ),
)  # fmt: skip
