"""A client of `clew serve`, with the methods of `Index`.

    client = clew.Client("http://localhost:8765", key="clew_...")
    answer = client.index("polar").ask("Who built the Fram?")

Replies become the dataclasses that the server made, and errors keep the classes that they had
there. The code is in `clew.extras.client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy

if TYPE_CHECKING:
    from clew.extras.client.clients import AsyncClient, AsyncServedIndex, Client, ServedIndex
    from clew.extras.client.requests import AnswerEvent, from_plain
    from clew.extras.client.retrievers import FoundChunk, find, opened
    from clew.extras.wire.refusals import Refusal

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
        "extras.client.clients": ("AsyncClient", "AsyncServedIndex", "Client", "ServedIndex"),
        "extras.client.requests": ("AnswerEvent", "from_plain"),
        "extras.client.retrievers": ("FoundChunk", "find", "opened"),
        "extras.wire.refusals": ("Refusal",),
    },
)
