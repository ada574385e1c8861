"""Rank source chunks: those of triples, then of entities, then near the query.

That order may be fused with the one of hybrid retrieval.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.topk import DECIMALS, top_k
from clew.methods.bubble.merged import FoundCandidates, MergedCandidates
from clew.methods.bubble.view import BubbleView

TRIPLE, ENTITY, TEXT = "triple", "entity", "text"  # channels: what led to a chunk
_BONUS = {TRIPLE: 2.0, ENTITY: 1.0, TEXT: 0.0}  # added to scores, so that channels stay in order


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """A chunk of the evidence, and the channels that found it."""

    chunk: int  # row
    channel: str
    score: float


def find_sources(
    view: BubbleView, merged: MergedCandidates, search: FoundCandidates, limit: int
) -> list[ShownChunk]:
    """Return at most `limit` chunks, best first.

    Where an LLM was shown the retrieved chunks, both together are at most `limit`.
    """
    shown = frozenset(search.retrieved if search.shown else ())
    room = max(limit - len(shown), 0)
    sources: dict[int, ShownChunk] = {}
    ordered = _order_chunks(view, merged, search)
    for source in ordered if search.hybrid is None else _fuse_hybrid(ordered, search.hybrid):
        if len(sources) == limit:
            break
        is_new = source.chunk not in shown
        if source.chunk not in sources and (room or not is_new):
            sources[source.chunk] = source
            room -= is_new
    return list(sources.values())


def _fuse_hybrid(
    ordered: Iterable[ShownChunk], hybrid: NDArray[np.float64]
) -> Iterator[ShownChunk]:
    """Yield sources and hybrid retrieval's chunks, ranked by fusion."""
    first: dict[int, ShownChunk] = {}
    for source in ordered:
        first.setdefault(source.chunk, source)
    scores = steps.beside_hybrid(list(first), hybrid)
    rows = np.flatnonzero(scores)
    for row in rows[top_k(scores[rows], len(rows))].tolist():
        yield replace(first.get(row, ShownChunk(row, TEXT, 0.0)), score=float(scores[row]))


def _order_chunks(
    view: BubbleView, merged: MergedCandidates, search: FoundCandidates
) -> Iterator[ShownChunk]:
    """Yield chunks in order; a chunk found by several channels names them all."""
    if merged.facts:
        yield from _list_channel(TRIPLE, *_fact_chunks(view, merged))
    if merged.entities:
        yield from _list_channel(ENTITY, *_score_cosines(view, _entity_chunks(view, merged)))
    if search.retrieved:
        yield from _list_channel(TEXT, *_score_cosines(view, np.array(sorted(search.retrieved))))


def _list_channel(
    channel: str, rows: NDArray[np.integer], scores: NDArray[np.floating]
) -> Iterator[ShownChunk]:
    scores = np.round(scores, DECIMALS)  # as they are ordered
    for i in top_k(scores, len(scores)).tolist():
        yield ShownChunk(int(rows[i]), channel, _BONUS[channel] + float(scores[i]))


def _fact_chunks(
    view: BubbleView, merged: MergedCandidates
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return the (n,) chunks of facts, and the sums of their facts' weights."""
    link = view.snapshot.link("triple", "chunk")[list(merged.facts)]
    rows, places = np.unique(link.indices, return_inverse=True)
    weights = np.repeat(merged.weights, np.diff(link.indptr))
    return rows, np.asarray(np.bincount(places, weights=weights), dtype=np.float64)


def _entity_chunks(view: BubbleView, merged: MergedCandidates) -> NDArray[np.integer]:
    """Return the chunks with an entity in their extraction or in a unit."""
    entities, snapshot = list(merged.entities), view.snapshot
    units = np.unique(snapshot.link("entity", "unit")[entities].indices)
    extracted = snapshot.link("entity", "chunk")[entities].indices
    return np.union1d(extracted, snapshot.link("unit", "chunk")[units].indices)


def _score_cosines(
    view: BubbleView, rows: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return chunks with their cosines to the query, negative ones as zero."""
    cosines = view.snapshot.layer("chunk").vectors[rows] @ view.query.vector
    return rows, np.maximum(cosines, 0.0)
