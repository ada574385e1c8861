"""What the server is, who asks, and which indexes and methods there are."""

from __future__ import annotations

from typing import Any

from clew import __version__, methods
from clew.errors import StoreError
from clew.server.endpoints import Call, Endpoint


async def about(call: Call) -> dict[str, Any]:
    """Return the server's version, and what the caller may do."""
    key = call.caller.key
    return {
        "version": __version__,
        "caller": call.caller.name,
        "scope": call.caller.scope,
        "key": None if key is None else _own(key.to_dict()),
        "spent": None if key is None else call.hub.spending.total(key.id),
    }


def _own(key: dict[str, Any]) -> dict[str, Any]:
    """Return a key without its filter: it would tell what its holder does not see."""
    return {name: value for name, value in key.items() if name != "where"}


async def list_indexes(call: Call) -> list[dict[str, Any]]:
    """Return the indexes that the caller may use."""
    names = [name for name in call.hub.indexes.folders() if call.caller.sees(name)]
    return [await call.run(_summary, call, name) for name in names]


def _summary(call: Call, name: str) -> dict[str, Any]:
    scoped = call.index(name=name)
    try:
        snapshot = scoped.snapshot()
    except StoreError as error:
        return {"name": name, "n_documents": 0, "n_chunks": 0, "problem": str(error)}
    return {
        "name": name,
        "n_documents": len(snapshot.layer("document")),
        "n_chunks": len(snapshot.layer("chunk")),
        "problem": "",
    }


async def list_methods(_call: Call) -> list[dict[str, Any]]:
    """Return the methods by which an index can be asked."""
    return [{"name": name} for name in methods.names()]


ENDPOINTS = (
    Endpoint(
        method="GET", path="", call=about, scope="read", group="server",
        summary="What this server is, and what you may do",
    ),
    Endpoint(
        method="GET", path="/indexes", call=list_indexes, scope="read", group="indexes",
        summary="List the indexes",
    ),
    Endpoint(
        method="GET", path="/methods", call=list_methods, scope="read", group="server",
        summary="List the methods of retrieval with their parameters",
    ),
)  # fmt: skip
