"""The graph of an index for drawing: nodes with computed positions, and edges."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from clew import steps
from clew.algo.links import Link
from clew.base.derived import Derived
from clew.extras.graphs.browse import RANKED, count_texts
from clew.extras.graphs.layout import force_layout
from clew.extras.wire.graphs import DrawnEntity, DrawnIndex, DrawnLink
from clew.index.snapshot import Snapshot
from clew.index.snapshot.layers import TripleLayer
from clew.steps.entity_types import find_types
from clew.steps.themes import themes

MOST_NODES = 5_000
_SIZES = (200, 1_000, MOST_NODES)  # of which layouts are kept
_EDGES_PER_NODE = 4  # that are drawn, in the mean
_MAX_RELATIONS = 5  # told of one edge


def draw_index(snapshot: Snapshot, limit: int) -> DrawnIndex:
    """Draw the graph of the `limit` most mentioned entities.

    A layout is computed once for a generation, for few sizes: a smaller graph is a part of one.
    """
    drawn = snapshot.get(_DRAWN, next(size for size in _SIZES if size >= limit))
    if limit >= len(drawn.nodes):
        return drawn
    nodes = drawn.nodes[:limit]
    keys = {node.id for node in nodes}
    edges = tuple(edge for edge in drawn.edges if keys >= {edge.source, edge.target})
    return DrawnIndex(nodes=nodes, edges=edges, n_entities=drawn.n_entities)


def _draw_entities(snapshot: Snapshot, limit: int) -> DrawnIndex:
    ranked = snapshot.get(RANKED)
    rows = ranked[:limit]
    together, relations = _count_shared_texts(snapshot, rows), _find_relations(snapshot, rows)
    pairs = np.array([*relations], dtype=np.int64).reshape(-1, 2)
    counts = np.array([len(each) for each in relations.values()], dtype=np.float64)
    weights = coo_array(together + _make_graph(pairs[:, 0], pairs[:, 1], counts, len(rows)))
    upper = weights.row < weights.col
    a, b, weight = (each[upper] for each in (weights.row, weights.col, weights.data))
    best = np.sort(np.lexsort([b, a, -weight])[: _EDGES_PER_NODE * len(rows)])
    a, b, weight = a[best], b[best], weight[best]
    places = force_layout(_make_graph(a, b, weight, len(rows))).tolist()
    layer, n_texts = snapshot.layer("entity"), count_texts(snapshot)[rows].tolist()
    keys, names = layer.ids(rows.tolist()), layer.texts(rows.tolist())
    types = find_types(snapshot, rows.tolist())
    both = np.asarray(together[a, b]).ravel().tolist() if len(a) else []
    return DrawnIndex(
        nodes=tuple(
            DrawnEntity(id=key, name=name, type=kind, n_texts=n, theme=theme, x=x, y=y)
            for key, name, kind, n, theme, (x, y) in zip(
                keys, names, types, n_texts, _find_themes(snapshot, rows), places, strict=True
            )
        ),
        edges=tuple(
            DrawnLink(
                source=keys[i],
                target=keys[j],
                n_texts=int(n),
                relations=tuple(relations.get((i, j), ())[:_MAX_RELATIONS]),
            )
            for i, j, n in zip(a.tolist(), b.tolist(), both, strict=True)
        ),
        n_entities=len(ranked),
    )


_DRAWN = Derived("the graph of an index as it is drawn", _draw_entities)


def _find_themes(snapshot: Snapshot, rows: NDArray[np.int64]) -> list[str]:
    """Return the id of each entity's main top-level theme, by chunk count, or ""."""
    found = themes(snapshot)
    widest = found.of_level(0)
    chunks = _read_ones(steps.entity_chunks(snapshot), rows)
    counts = (chunks @ found.members[widest].T).toarray()
    best = counts.argmax(axis=1) if widest else np.zeros(len(rows), dtype=np.int64)
    some = counts.any(axis=1)
    return [
        found.ids[widest[place]] if has else ""
        for place, has in zip(best.tolist(), some.tolist(), strict=True)
    ]


def _count_shared_texts(snapshot: Snapshot, rows: NDArray[np.int64]) -> csr_array:
    ones = _read_ones(snapshot.linked("entity", "unit"), rows)
    counts = csr_array(ones @ ones.T)
    counts.setdiag(0)
    counts.eliminate_zeros()
    return counts


def _read_ones(link: Link, rows: NDArray[np.int64]) -> csr_array:
    """Return some rows of a link as a binary matrix."""
    found = link.entries_of(rows)
    ones = np.ones(len(found.indices))
    return csr_array((ones, found.indices, found.indptr), shape=found.shape)


def _find_relations(
    snapshot: Snapshot, rows: NDArray[np.int64]
) -> dict[tuple[int, int], list[str]]:
    """Return the distinct relations between pairs of entities, by indices a < b in `rows`."""
    layer = cast("TripleLayer", snapshot.layer("triple"))
    place = np.full(len(snapshot.layer("entity")), -1)
    place[rows] = np.arange(len(rows))
    subjects, objects = (place[layer.columns[end]] for end in ("subject", "object"))
    triples = np.flatnonzero((subjects >= 0) & (objects >= 0) & (subjects != objects))
    relations: dict[tuple[int, int], list[str]] = {}
    ends = np.sort(np.stack([subjects[triples], objects[triples]], axis=1), axis=1).tolist()
    for (a, b), relation in zip(ends, layer.relations(triples.tolist()), strict=True):
        names = relations.setdefault((a, b), [])
        if relation not in names:
            names.append(relation)
    return relations


def _make_graph(a: NDArray[Any], b: NDArray[Any], weights: NDArray[Any], n: int) -> csr_array:
    return csr_array((np.r_[weights, weights], (np.r_[a, b], np.r_[b, a])), shape=(n, n))
