"""Trace the threads from a question to chunks over a graph, for `pagerank` and `walk`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import Entries
from clew.algo.pagerank import LocalScores
from clew.algo.topk import DECIMALS
from clew.base.types import Path, Step
from clew.index.snapshot import Snapshot
from clew.steps.entity_graph import EntityGraph, Seeds

_MAX_STOPS = 3  # entities on a path

_Mention = tuple[int, int]  # a chunk and an entity in it: a stop at the first unit with it, if any
_Thread = list[steps.UnreadStep | _Mention]  # from a chunk back to a seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How weight reached the nodes of a graph, from which threads are traced."""

    influence: LocalScores
    seeds: Seeds
    # The chunk from which a walk went on to an entity, and the influence before it did.
    origins: Mapping[int, int] = field(default_factory=dict)
    before: LocalScores | None = None


class _End(NamedTuple):
    """The current end of a thread, traced back from a chunk."""

    thread: int
    chunk: int
    is_before: bool = False  # whether the influence before the walk went on led there


def strongest_paths(
    snapshot: Snapshot, query: str, graph: EntityGraph, spread: Spread, chunks: Sequence[int]
) -> tuple[Path, ...]:
    """Return the threads along which most of each chunk's influence may have come from a seed."""
    threads = _trace_threads(snapshot, graph, spread, chunks)
    units = find_mentions(
        snapshot, [e for each in threads for e in each if not isinstance(e, steps.UnreadStep)]
    )
    stops = [list(_name_units(thread, units)) for thread in threads]
    read = iter(steps.read_steps(snapshot, [stop for each in stops for stop in each]))
    start = Step(layer="query", id="", text=query)
    scores = spread.influence.get(np.array(chunks, dtype=np.intp)).tolist()
    return tuple(
        Path((start, *_drop_repeated_units([next(read) for _ in each][::-1])), score)
        for each, score in zip(stops, scores, strict=True)
    )


def _name_units(thread: _Thread, units: Mapping[_Mention, int]) -> Iterator[steps.UnreadStep]:
    for each in thread:
        if isinstance(each, steps.UnreadStep):
            yield each
        elif each in units:
            yield steps.UnreadStep("unit", units[each], "mentions it")


def _drop_repeated_units(steps_: Iterable[Step]) -> Iterator[Step]:
    seen: set[str] = set()
    for step in steps_:
        if step.layer != "unit" or step.id not in seen:
            yield step
        if step.layer == "unit":
            seen.add(step.id)


def _trace_threads(
    snapshot: Snapshot, graph: EntityGraph, spread: Spread, chunks: Sequence[int]
) -> list[_Thread]:
    """Trace the paths from the question to all chunks at once, one step at a time."""
    threads: list[_Thread] = [[steps.UnreadStep("chunk", chunk, "holds it")] for chunk in chunks]
    seen: list[set[int]] = [set() for _ in chunks]
    ends = [_End(i, chunk) for i, chunk in enumerate(chunks)]
    titles = _read_titles(snapshot, spread.origins.values())
    for _ in range(_MAX_STOPS):
        entities = _strongest_entities(graph, spread, ends, [seen[end.thread] for end in ends])
        led = [pair for pair in zip(ends, entities, strict=True) if pair[1] >= 0]
        ends, onward = [], []
        for end, entity in led:
            seen[end.thread].add(entity)
            thread, seed = threads[end.thread], spread.seeds.get(entity)
            origin = spread.origins.get(entity, end.chunk)
            reason = "on the path" if origin == end.chunk else f"reached from {titles[origin]}"
            reason = reason if seed is None else seed.reason
            thread += (end.chunk, entity), steps.UnreadStep("entity", entity, reason)
            if seed is not None:
                thread += [steps.UnreadStep("unit", seed.unit, "near the question")] * (
                    seed.unit >= 0
                )
            elif origin != end.chunk and spread.before is not None:
                thread.append((origin, entity))
                ends.append(_End(end.thread, origin, is_before=True))
            else:
                onward.append((end, entity))
        ends += _strongest_chunks(graph, spread, onward)
        if not ends:
            break
    return threads


def _read_titles(snapshot: Snapshot, chunks: Iterable[int]) -> dict[int, str]:
    """Return the title of each chunk's document, or its id."""
    rows = list(dict.fromkeys(chunks))
    owners = snapshot.layer("chunk").columns["document"][np.array(rows, dtype=np.intp)].tolist()
    documents = snapshot.documents(owners)
    return {row: each.title or each.id for row, each in zip(rows, documents, strict=True)}


def _strongest_entities(
    graph: EntityGraph, spread: Spread, ends: Sequence[_End], seen: Sequence[set[int]]
) -> list[int]:
    """Return each chunk's entity, not `seen` before, that contributes most; -1 for none.

    The title entity of its own document is excluded if no other chunk led there and the question
    names another entity of the chunk.
    """
    entries = graph.chunk_entities.entries_of(np.array([end.chunk for end in ends]))
    seeds = spread.seeds
    influence = _read_influence(spread, graph.n_chunks + entries.indices, ends, entries.owners)
    given = graph.kinds[entries.data] * graph.rarity[entries.indices] * influence
    for i, before in enumerate(seen):
        own = slice(*entries.indptr[i : i + 2])
        for entity in before:
            given[own][entries.indices[own] == entity] = 0.0
    strongest, own_title = _find_strongest(entries, given), entries.data & steps.TITLED > 0
    entities = [int(entries.indices[place]) if place >= 0 else -1 for place in strongest]
    doubtful = [
        i
        for i, (end, entity) in enumerate(zip(ends, entities, strict=True))
        if strongest[i] >= 0
        and own_title[strongest[i]]
        and entity not in seeds
        and spread.origins.get(entity, end.chunk) == end.chunk
    ]
    if doubtful:
        is_named = np.isin(entries.indices, [e for e, seed in seeds.items() if seed.unit < 0])
        by_name = _find_strongest(entries, given * is_named)
        for i in doubtful:
            if by_name[i] >= 0:
                entities[i] = int(entries.indices[by_name[i]])
    return entities


def _strongest_chunks(
    graph: EntityGraph, spread: Spread, onward: Sequence[tuple[_End, int]]
) -> Iterator[_End]:
    """Yield for each entity the other chunk that contributes most, if there is one."""
    ends = [end for end, _ in onward]
    links = graph.entity_chunks.entries_of(np.array([e for _, e in onward], dtype=np.intp))
    influence = _read_influence(spread, links.indices, ends, links.owners)
    given = graph.kinds[links.data] * influence
    given[links.indices == np.array([end.chunk for end in ends], dtype=np.intp)[links.owners]] = 0.0
    for end, place in zip(ends, _find_strongest(links, given), strict=True):
        if place >= 0:
            yield _End(end.thread, int(links.indices[place]), end.is_before)


def _read_influence(
    spread: Spread, nodes: NDArray[np.integer], ends: Sequence[_End], owners: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the influence of the nodes of each end."""
    influence = spread.influence.get(nodes)
    if spread.before is not None:
        earlier = np.array([end.is_before for end in ends], dtype=bool)[owners]
        influence[earlier] = spread.before.get(nodes[earlier])
    return influence


def _find_strongest(entries: Entries, given: NDArray[np.float64]) -> list[int]:
    """Return the entry of each row with the highest link weight times influence; -1 for none."""
    some, owners = np.flatnonzero(entries.counts), entries.owners
    most = np.ones(entries.shape[0])
    most[some] = np.maximum.reduceat(given, entries.indptr[some]) if len(some) else 1.0
    most[most == 0] = 1.0
    best = np.flatnonzero(np.round(given / most[owners], DECIMALS) == 1)[::-1]  # the first: last
    places = np.full(len(most), -1)
    places[owners[best]] = best
    strongest: list[int] = places.tolist()
    return strongest


def find_mentions(snapshot: Snapshot, mentions: Iterable[_Mention]) -> dict[_Mention, int]:
    """Return the first unit of each chunk that mentions its entity; none if the title does."""
    pairs = list(dict.fromkeys(mentions))
    chunks, entities = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    units = snapshot.linked("chunk", "unit").entries_of(chunks)
    entries = snapshot.linked("unit", "entity").entries_of(units.indices)
    owners = units.owners[entries.owners]
    has = np.flatnonzero(entries.indices == entities[owners])[::-1]  # the first one is the last
    first = zip(owners[has].tolist(), units.indices[entries.owners[has]].tolist(), strict=True)
    return {pairs[i]: unit for i, unit in first}
