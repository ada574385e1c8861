"""RAPTOR's tree of extractive summaries, and the search in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import count_ends
from clew.algo.topk import find_highest, top_k
from clew.base.derived import Arrays, CachedArrays, Derived
from clew.base.types import Evidence, Path, Step, Table
from clew.extras.baselines.mixture import ReadsRows, soft_clusters
from clew.index.snapshot import Snapshot

_LEVELS = 5  # of summaries, at most
_COORDINATES = 10  # that clusters are made by
_SENTENCES = 5  # of a summary, at most
_MOST = 14  # nodes below one; of more, its cluster is parted again


@dataclass(frozen=True, slots=True)
class Summaries:
    """Summaries as rows of units: first those of chunks, then those of summaries."""

    vectors: NDArray[np.float32]  # (n, d), of length one
    begins: NDArray[np.integer]  # (n + 1,) where the units of each begin
    units: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.vectors)

    def get_units(self, row: int) -> NDArray[np.integer]:
        """Return the sentences of a summary, ascending."""
        return self.units[self.begins[row] : self.begins[row + 1]]


def summaries(snapshot: Snapshot) -> Summaries:
    """Return RAPTOR's tree of summaries of a snapshot's chunks."""
    return snapshot.get(_SUMMARIES)


@dataclass(frozen=True, slots=True)
class Node:
    """A chunk or summary near the question, and the chunk to return for it."""

    score: float
    chunk: int
    summary: int = -1  # -1: it is the chunk itself
    unit: int = -1  # the sentence of a summary that is nearest to the question


def nearest_nodes(
    snapshot: Snapshot, query: steps.Query, n_chunks: int, n_summaries: int
) -> Iterator[Node]:
    """Yield the nearest chunks and summaries, ranked together by cosine."""
    tree, columns = summaries(snapshot), snapshot.layer("unit").columns
    rows, cosines = steps.nearest(snapshot, "chunk", query, n_chunks)
    near = np.asarray(tree.vectors @ query.vector, dtype=np.float64)
    best = top_k(near, n_summaries)
    for place in top_k(np.concatenate([cosines, near[best]]), len(rows) + len(best)).tolist():
        if place < len(rows):
            yield Node(float(cosines[place]), int(rows[place]))
            continue
        summary = int(best[place - len(rows)])
        units = tree.get_units(summary)
        unit = int(units[find_highest(steps.cosines_of(snapshot, "unit", query, units))])
        yield Node(float(near[summary]), int(columns["chunk"][unit]), summary, unit)


def collect_nodes(
    snapshot: Snapshot, query: str, method: str, nodes: Iterable[Node], k: int
) -> Evidence:
    """Return the first `k` distinct chunks of ranked nodes as evidence."""
    by_chunk: dict[int, Node] = {}
    shown: list[int] = []  # summaries
    for node in nodes if k else ():
        by_chunk.setdefault(node.chunk, node)
        shown += [node.summary] if node.summary >= 0 else []
        if len(by_chunk) == k:
            break
    tree, units = summaries(snapshot), snapshot.layer("unit")
    texts = tuple((" ".join(units.texts(tree.get_units(row).tolist())),) for row in shown)
    hits = steps.hits(snapshot, by_chunk, np.array([node.score for node in by_chunk.values()]))
    return Evidence(
        query=query,
        method=method,
        tables=(Table(name="Summaries", columns=("summary",), rows=texts),) if texts else (),
        hits=tuple(
            replace(hit, channel="chunk" if node.unit < 0 else "summary")
            for hit, node in zip(hits, by_chunk.values(), strict=True)
        ),
        paths=tuple(
            Path(_build_thread(snapshot, query, node), node.score) for node in by_chunk.values()
        ),
    )


def _build_thread(snapshot: Snapshot, query: str, node: Node) -> tuple[Step, ...]:
    start = Step(layer="query", id="", text=query)
    if node.unit < 0:
        return (start, steps.read_step(snapshot, "chunk", node.chunk, "near the question"))
    through = steps.read_step(snapshot, "unit", node.unit, "in a summary near the question")
    return (start, through, steps.read_step(snapshot, "chunk", node.chunk, "holds it"))


def _open_summaries(snapshot: Snapshot) -> Summaries:
    arrays = snapshot.get(SUMMARIES)
    return Summaries(arrays["vectors"], arrays["begins"], arrays["units"])


@dataclass(frozen=True, slots=True)
class _SomeRows:
    """A subset of a layer's vectors."""

    vectors: ReadsRows
    rows: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, places: NDArray[np.integer]) -> NDArray[np.floating]:
        return self.vectors[self.rows[places]]


def _build_tree(snapshot: Snapshot) -> Arrays:
    """Build all summaries level by level, until a level has few nodes."""
    chunks = np.flatnonzero(snapshot.are_texts())
    link, of_units = snapshot.linked("chunk", "unit"), snapshot.layer("unit").vectors
    nodes: ReadsRows = _SomeRows(snapshot.layer("chunk").vectors, chunks)
    units: Sequence[NDArray[np.integer]] = []
    all_vectors, all_units = [of_units[:0].astype(np.float32)], list[NDArray[np.integer]]()
    for level in range(_LEVELS):
        if len(nodes) <= _COORDINATES + 1:
            break
        parents: list[tuple[NDArray[np.integer], NDArray[np.float32]]] = []
        for cluster in soft_clusters(nodes, _COORDINATES, _MOST):
            if level == 0:
                below = np.unique(link.entries_of(chunks[cluster]).indices)
            else:
                below = np.unique(np.concatenate([units[place] for place in cluster.tolist()]))
            if len(below):
                parents.append(_summarise(nodes[cluster].sum(axis=0), below, of_units[below]))
        if not parents or len(parents) >= len(nodes):
            break
        units = [rows for rows, _ in parents]
        nodes = np.stack([vector for _, vector in parents])
        all_units += units
        all_vectors.append(nodes)
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *all_units])
    counts = np.array([len(each) for each in all_units], dtype=np.int64)
    return {"vectors": np.concatenate(all_vectors), "begins": count_ends(counts), "units": rows}


def _summarise(
    direction: NDArray[np.floating], units: NDArray[np.integer], vectors: NDArray[np.floating]
) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
    """Return the units nearest to a cluster's centre, ascending, and their mean vector."""
    best = np.sort(top_k(vectors @ direction, _SENTENCES))
    mean = vectors[best].sum(axis=0)
    return units[best].astype(np.int64), (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(
        np.float32
    )


SUMMARIES = CachedArrays(
    "summaries", _build_tree, update=lambda now, _earlier: _build_tree(now), lazy=True
)
_SUMMARIES = Derived("a tree of summaries", _open_summaries)
