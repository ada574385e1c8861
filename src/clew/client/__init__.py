"""A client of `clew serve`: the same questions as of an `Index`, asked of a server.

    client = clew.Client("http://localhost:8765", key="clew_...")
    answer = client.index("polar").ask("Who built the Fram?")

Replies become the dataclasses that the server made, and errors the classes that they
had there. Both clients run the `operations`, which say once which requests each call needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.runtime.lazy import lazy

if TYPE_CHECKING:
    from clew.client.clients import AsyncClient as AsyncClient
    from clew.client.clients import AsyncServedIndex as AsyncServedIndex
    from clew.client.clients import Client as Client
    from clew.client.clients import ServedIndex as ServedIndex
    from clew.client.requests import AnswerEvent as AnswerEvent
    from clew.client.requests import from_plain as from_plain
    from clew.client.retrievers import FoundChunk as FoundChunk
    from clew.client.retrievers import find as find
    from clew.client.retrievers import opened as opened
    from clew.wire.refusals import Refusal as Refusal

__all__ = [
    "AnswerEvent",
    "AsyncClient",
    "AsyncServedIndex",
    "Client",
    "FoundChunk",
    "Refusal",
    "ServedIndex",
    "find",
    "from_plain",
    "opened",
]


__getattr__ = lazy(
    "clew",
    {
        "client.clients": ("AsyncClient", "AsyncServedIndex", "Client", "ServedIndex"),
        "client.requests": ("AnswerEvent", "from_plain"),
        "client.retrievers": ("FoundChunk", "find", "opened"),
        "wire.refusals": ("Refusal",),
    },
)
