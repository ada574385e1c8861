"""Themes: communities of chunks that share names or are near to each other, as a tree.

A chunk is linked to its entities by rarity, as in the graph of `walk`, and to its nearest
neighbours. People name themes, so these keep their numbers over edits: few changes move nothing,
and after many a theme takes the number of the former one that shares at least half of the members
of both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.communities import Communities, find_communities, join_communities, match_communities
from clew.algo.links import Matrix
from clew.base.derived import Arrays, CachedArrays, Derived, EarlierArrays
from clew.index.snapshot import Snapshot, refer_to
from clew.steps.entity_graph import WEIGHTS, entity_graph

Rows = NDArray[np.integer]

THEME_MARK = "theme:"  # before the number of a theme, in its id
_MOST = 20  # chunks of a theme that is not parted again
_TITLE_WEIGHT = 1.0
_BEST = 3  # chunks of a theme, by which it is near to a question
_PLACES = ("document", "start", "end")
_CHANGED = 0.1  # of the chunks came or went: themes are made anew


@dataclass(frozen=True)
class Themes(Communities):
    """m themes of a snapshot's chunks, level by level, largest first."""

    of: Callable[[], Snapshot]  # which keeps them
    numbers: Rows  # (m,) what each is called by, which it keeps
    vectors: NDArray[np.float32]  # (m, d) of length one, the middle of each

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the themes."""
        return self.of()

    @cached_property
    def ids(self) -> list[str]:
        return [f"{THEME_MARK}{number}" for number in self.numbers.tolist()]

    def chunks(self, theme: int) -> Rows:
        """Return the chunks of a theme, ascending."""
        return self.members.indices[self.members.indptr[theme] : self.members.indptr[theme + 1]]

    def children(self, theme: int) -> list[int]:
        """Return the parts of a theme, largest first."""
        return [c for c in np.flatnonzero(self.parents == theme).tolist() if self.sizes[c]]

    def find(self, name: str) -> int:
        """Return the theme with an id, -1 if there is none."""
        return self.ids.index(name) if name in self.ids else -1

    def mean_of_best(self, chunks: Rows, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (m,) the mean score of each theme's three best chunks; missing ones count 0.

        `chunks` are the best of all, best first, and `scores`, (len(chunks),), are theirs.
        """
        sums = np.zeros(len(self))
        above, scores = self.leaves[chunks], np.maximum(scores, 0)
        while (inside := above >= 0).any():
            above, scores = above[inside], scores[inside]
            order = np.argsort(above, kind="stable")
            own = above[order]
            place = np.arange(len(own)) - np.searchsorted(own, own)
            first = order[place < _BEST]
            np.add.at(sums, above[first], scores[first])
            above = self.parents[above]
        return sums / _BEST


def themes(snapshot: Snapshot) -> Themes:
    """Return the themes of a snapshot."""
    return snapshot.get(_THEMES)


def _open_themes(snapshot: Snapshot) -> Themes:
    arrays = snapshot.get(THEMES)
    names = "parents", "leaves", "numbers", "vectors"
    return Themes(of=refer_to(snapshot), **{name: arrays[name] for name in names})


# -- how they are made -----------------------------------------------------------------------------


def _make_themes(snapshot: Snapshot) -> Arrays:
    tree = _find_tree(snapshot)
    m = len(tree.parents)
    keys = _hash_chunks(snapshot, np.arange(len(tree.leaves)))
    return _build_arrays(snapshot, tree, keys, np.arange(1, m + 1), m + 1, 0)


def _update_themes(snapshot: Snapshot, earlier: EarlierArrays) -> Arrays:
    """Assign new chunks to the themes that they are linked to; rebuild all after many changes.

    A theme that is made anew has the number of the former one whose chunks it has.
    """
    then, rows = earlier.arrays, earlier.rows["chunk"]
    if (rows < 0).all():  # as after compaction, which gives other numbers
        keys = _hash_chunks(snapshot, np.arange(len(rows)))
        rows = _find_rows(then["keys"], keys)
    else:
        came = np.flatnonzero(rows < 0)
        keys = then["keys"][rows]
        keys[came] = _hash_chunks(snapshot, came)
    former = Communities(then["parents"], then["leaves"])
    if np.array_equal(rows, np.arange(len(then["keys"]))):
        return then
    stayed = int(np.count_nonzero(rows >= 0))
    changed = int(then["changed"][0]) + len(rows) + len(then["keys"]) - 2 * stayed
    if changed <= _CHANGED * len(then["keys"]):
        came = np.flatnonzero(rows < 0)
        tree = join_communities(former, rows, _link_chunks(snapshot, came))
        return _build_arrays(snapshot, tree, keys, then["numbers"], int(then["next"][0]), changed)
    tree = _find_tree(snapshot)
    kept = np.flatnonzero(rows >= 0)
    matched = match_communities(former.members[:, rows[kept]], tree.members[:, kept])
    return _build_arrays(snapshot, tree, keys, *_number_themes(matched, then), 0)


def _number_themes(matched: Rows, then: Arrays) -> tuple[Rows, int]:
    """Return the number of each theme, a former theme's or a new one, and the next free number."""
    numbers = np.where(matched >= 0, then["numbers"][matched], 0)
    new, first = np.flatnonzero(matched < 0), int(then["next"][0])
    numbers[new] = first + np.arange(len(new))
    return numbers, first + len(new)


def _build_arrays(
    snapshot: Snapshot,
    tree: Communities,
    keys: NDArray[np.uint64],
    numbers: Rows,
    following: int,
    changed: int,
) -> Arrays:
    sums = np.zeros((len(tree.parents), 0), dtype=np.float32)
    if len(tree.leaves):
        vectors = snapshot.layer("chunk").vectors
        sums = tree.members @ np.asarray(vectors[np.arange(len(vectors))], dtype=np.float32)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return {
        "parents": tree.parents,
        "leaves": tree.leaves,
        "numbers": numbers,
        "next": np.array([following]),
        "changed": np.array([changed]),
        "keys": keys,
        "vectors": (sums / np.maximum(lengths, 1e-12)).astype(np.float32),
    }


def _find_tree(snapshot: Snapshot) -> Communities:
    """Find the communities of all chunks; those of an imported graph are linked by names only."""
    n = len(snapshot.layer("chunk"))
    if not n:
        return Communities(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    graph = entity_graph(snapshot, _TITLE_WEIGHT)
    edges = graph.get_edges(np.arange(len(graph.degrees))).to_matrix()
    near = steps.chunk_graph(snapshot)
    # Neighbours weigh as much as names, by the median of all chunks.
    names = np.median(np.asarray(edges[:n].sum(axis=1)))
    each = max(float(names), 1.0) / max(near.nnz / n, 1e-12)
    ends = np.concatenate([near.indptr, np.full(edges.shape[0] - n, near.indptr[-1])])
    beside = csr_array((near.data * each, near.indices, ends), shape=edges.shape)
    both = csr_array(edges + beside)
    both.sort_indices()
    return find_communities(both, n, _MOST)


def _link_chunks(snapshot: Snapshot, chunks: Rows) -> Matrix:
    """Return the (k, n_chunks) link weights of some chunks to all.

    Two chunks are linked by the rarity of each common entity, divided by its number of chunks, and
    as neighbours.
    """
    graph = entity_graph(snapshot, _TITLE_WEIGHT)
    own = graph.chunk_entities.entries_of(chunks)
    entities = np.unique(own.indices)
    back = graph.entity_chunks.entries_of(entities).to_matrix().astype(np.float64)
    back.data[:] = 1.0
    weights = graph.rarity[entities] / np.maximum(graph.entity_chunks.counts_of(entities), 1)
    places = np.searchsorted(entities, own.indices)
    by_names = csr_array((weights[places], places, own.indptr), shape=(len(chunks), len(entities)))
    found = by_names @ back
    return csr_array(
        found + steps.chunk_graph(snapshot)[chunks] * np.log1p(steps.n_chunks(snapshot))
    )


def _hash_chunks(snapshot: Snapshot, chunks: Rows) -> NDArray[np.uint64]:
    """Return a hash of each chunk's document id and place."""
    columns = {name: snapshot.layer("chunk").columns[name][chunks] for name in _PLACES}
    documents, owners = np.unique(columns["document"], return_inverse=True)
    if len(documents) == len(snapshot.document_layer):
        ids = [each.id for each in snapshot.document_layer.headers()]
    else:
        ids = snapshot.document_layer.ids(documents.tolist())
    hashed = [int.from_bytes(blake2b(i.encode(), digest_size=8).digest()) for i in ids]
    keys: NDArray[np.uint64] = np.array(hashed, dtype=np.uint64)[owners]
    for edge in ("start", "end"):
        keys = (keys ^ columns[edge].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def _find_rows(then: NDArray[np.uint64], now: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the former row of each key, -1 for a new one."""
    order = np.argsort(then, kind="stable")
    places = np.searchsorted(then, now, sorter=order)
    rows = order[np.minimum(places, len(then) - 1)] if len(then) else np.zeros(len(now), dtype=int)
    same = then[rows] == now if len(then) else np.zeros(len(now), dtype=bool)
    return np.where(same, rows, -1).astype(np.int64)


THEMES = CachedArrays(
    "themes", _make_themes, inputs=("chunk",), update=_update_themes, lazy=True, remember=True
)
_THEMES = Derived("themes", _open_themes)
THEME_NEEDS = (*steps.MENTIONS, steps.NEIGHBOURS, WEIGHTS, THEMES)
