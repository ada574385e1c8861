"""Retrieval for other frameworks, from an index in a folder or on a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.base.display.shown import Shown, plain
from clew.errors import InputError, UnknownMethod

if TYPE_CHECKING:
    from clew.api import Index
    from clew.base.types import Hit, Scalar
    from clew.extras.client.clients import ServedIndex
    from clew.filters import Filter

    Searched = Index | ServedIndex


_OF_STEP = ("layer", "id", "text", "reason")
_OF_HIT = ("chunk_id", "title", "source", "section", "page", "last_page", "start", "end")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FoundChunk(Shown):
    """A chunk with its metadata as plain values, for other frameworks."""

    text: str
    chunk_id: str
    document_id: str
    relevance: float  # 0 to 1; where a hit has none, its score as a share of the best
    metadata: Mapping[str, Any]


def opened(
    index: str | Path | Searched, *, url: str | None = None, key: str | None = None
) -> Searched:
    """Open the index in a folder, or with a `url` the server's index of that name.

    An index that is open already is returned as it is.
    """
    if not isinstance(index, str | Path):
        return index
    if url is None:
        if key is not None:
            raise InputError("a key needs the url of its server: give url, too")
        from clew.api import open_index

        return open_index(index)
    from clew.extras.client.clients import Client

    return Client(url, key=key).index(str(index))


def find(
    index: Searched,
    query: str,
    *,
    k: int | None = None,
    method: str | None = None,
    where: str | Filter | None = None,
    parameters: Mapping[str, Scalar] | None = None,
) -> list[FoundChunk]:
    """Return at most `k` chunks found by a method, best first.

    A method chooses that many, where it takes their number (`chunks`); of others the first are
    taken. The metadata of each have `id`, `chunk_id`, `title`, `source`, `section`, `page`,
    `last_page`, `start` and `end` (characters of the document), `score`, `relevance`, `apparatus`,
    `fields` (the document's own metadata), and `thread`: the way from the query to the chunk, step
    by step, each with its reason.
    """
    if k is not None and k < 1:
        raise InputError(f"k must be an integer of at least 1, not {k}")
    given: dict[str, Any] = dict(parameters or {})
    if k is not None and (limit := _find_limit(method)):
        given.setdefault(limit, k)
    evidence = index.search(query, method=method, where=where, **given)
    threads: dict[str, list[dict[str, Any]]] = {}
    for path in evidence.paths:
        if path.steps:
            threads.setdefault(path.steps[-1].id, [_pick(each, _OF_STEP) for each in path.steps])
    hits = evidence.hits[:k]
    best = max((hit.score for hit in hits), default=0.0)
    return [_make_chunk(hit, best, threads.get(hit.chunk_id, [])) for hit in hits]


def _find_limit(method: str | None) -> str:
    """Return a method's parameter for the number of chunks; "" if unknown."""
    from clew import methods

    try:
        return methods.get_limits(methods.load(method or methods.DEFAULT)).chunks
    except UnknownMethod:  # it may be one of the server's
        return ""


def _pick(value: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some of the fields of a value."""
    return {name: getattr(value, name) for name in names}


def _make_chunk(hit: Hit, best: float, thread: list[dict[str, Any]]) -> FoundChunk:
    relevance = hit.relevance
    if relevance is None:
        relevance = max(hit.score, 0.0) / best if best > 0 else 0.0
    metadata = {
        "id": hit.document_id,
        **_pick(hit, _OF_HIT),
        "score": float(hit.score),
        "relevance": float(relevance),
        "apparatus": hit.apparatus,
        "fields": plain(hit.metadata),
        "thread": thread,
    }
    return FoundChunk(
        **_pick(hit, ("text", "chunk_id", "document_id")),
        relevance=float(relevance),
        metadata=metadata,
    )
