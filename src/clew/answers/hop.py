"""Expand from a passage or entity to the next passages, for agents that explore step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew import steps
from clew.algo.topk import top_k
from clew.answers.pipeline import check_length
from clew.base.types import Evidence, Path, Step
from clew.errors import InputError
from clew.steps.threads import find_mentions
from clew.text.keys import name_key
from clew.text.patterns import parse_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.index.snapshot import Snapshot
    from clew.models import Models

_TITLE = 2.0  # times what a mention gives: the passage is about the entity
_MOST_MENTIONS = 100_000  # of the start's entities that are looked at, those of rare ones first


def hop_on(start: str, snapshot: Snapshot, models: Models, query: str, chunks: int) -> Evidence:
    """Return the passages that share entities with a document, a passage or an entity.

    A passage scores by the rarity of the entities that it shares, which count twice where its
    title names them, times its likeness to the `query` if there is one. There is one passage of a
    document, and none of the start's own; its path says by which entity, and in which sentence.

    Raises InputError where nothing has the id or name `start`, and for a `query` that is too long.
    """
    check_length(query)
    own, entities = _find_start(start, snapshot)
    scores, by_entity = _score_chunks(entities, snapshot)
    owners = snapshot.layer("chunk").columns["document"]
    reached = np.flatnonzero(scores)
    reached = reached[~np.isin(owners[reached], owners[own])]
    if query.strip() and len(reached):
        cosines = steps.cosines_of(snapshot, "chunk", steps.read_query(models, query), reached)
        scores[reached] *= (1 + cosines) / 2
    ordered = reached[top_k(scores[reached], len(reached))]
    ordered = ordered[np.sort(np.unique(owners[ordered], return_index=True)[1])][:chunks]
    pairs = [(int(row), int(by_entity[row])) for row in ordered]
    return Evidence(
        query=query.strip() or start,
        method="hop",
        hits=steps.hits(snapshot, ordered.tolist(), scores[ordered]),
        paths=_build_paths(start, pairs, scores, snapshot, is_entity=not len(own)),
        notes=() if pairs else (f"no other document mentions an entity of {start!r:.200}",),
    )


def _find_start(start: str, snapshot: Snapshot) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
    """Return the chunks of the start (none for an entity) and its entities."""
    own = _find_chunks(start, snapshot)
    if len(own):
        entities = np.unique(steps.chunk_entities(snapshot).entries_of(own).indices)
        return own, entities[snapshot.layer("entity").columns["linkable"][entities]]
    [entity] = snapshot.layer("entity").rows([name_key(start)])
    if entity < 0:
        unknown = f"the index has no passage, document or entity {start!r:.200} to hop from"
        raise InputError(f"{unknown}: search finds passages by words")
    return own, np.array([entity], dtype=np.intp)


def _find_chunks(start: str, snapshot: Snapshot) -> NDArray[np.intp]:
    """Return the chunks of a document, or those that overlap its given range."""
    name, first, end = parse_range(start) or (start, 0, 0)
    [whole, part] = snapshot.layer("document").rows([start, name])
    chunks = snapshot.layer("chunk").columns
    if whole >= 0:
        return np.flatnonzero(chunks["document"] == whole)
    own = np.flatnonzero(chunks["document"] == part)  # none where there is no such document
    return own[(chunks["start"][own] < end) & (chunks["end"][own] > first)]


def _score_chunks(
    entities: NDArray[np.integer], snapshot: Snapshot
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return each chunk's total score from the entities, and its highest-scoring entity."""
    n = len(snapshot.layer("chunk"))
    counts = np.maximum(steps.entity_chunks(snapshot).counts_of(entities), 1)
    rarest = np.argsort(counts, kind="stable")
    fits = np.cumsum(counts[rarest]) <= _MOST_MENTIONS
    fits[:1] = True
    rows = rarest[fits]
    entries = steps.entity_chunks(snapshot).entries_of(entities[rows])
    given = np.log1p(n / counts[rows])[entries.owners]
    given *= np.where(entries.data & steps.TITLED > 0, _TITLE, 1.0)
    order = np.lexsort((entries.owners, given))  # the strongest entity of a chunk is written last
    strongest = np.full(n, -1, dtype=np.intp)
    strongest[entries.indices[order]] = entities[rows][entries.owners[order]]
    totals = np.bincount(entries.indices, weights=given, minlength=n)
    return np.asarray(totals, dtype=np.float64), strongest


def _build_paths(
    start: str,
    pairs: Sequence[tuple[int, int]],
    scores: NDArray[np.float64],
    snapshot: Snapshot,
    *,
    is_entity: bool,
) -> tuple[Path, ...]:
    units = find_mentions(snapshot, pairs)
    from_ = Step(layer="query", id="", text=start)
    reason = "the start" if is_entity else "named at the start"
    stops: list[list[steps.UnreadStep]] = []
    for chunk, entity in pairs:
        unit = units.get((chunk, entity))
        mention = [] if unit is None else [steps.UnreadStep("unit", unit, "mentions it")]
        end = steps.UnreadStep("chunk", chunk, "holds it" if mention else "is titled so")
        stops.append([steps.UnreadStep("entity", entity, reason), *mention, end])
    read = iter(steps.read_steps(snapshot, [stop for each in stops for stop in each]))
    return tuple(
        Path((from_, *(next(read) for _ in each)), float(scores[chunk]))
        for each, (chunk, _) in zip(stops, pairs, strict=True)
    )
