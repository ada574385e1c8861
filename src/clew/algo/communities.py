"""Hierarchical communities of a weighted graph.

Traag, Waltman and van Eck (2019), "From Louvain to Leiden: guaranteeing well-connected
communities", https://doi.org/10.1038/s41598-019-41695-z; the algorithm is graspologic-native's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import Matrix
from clew.algo.topk import top_k

Rows = NDArray[np.int64]

_RESOLUTION = 0.5  # of modularity: the lower, the fewer and larger communities
_LEVELS = 4
_SEED = 0


@dataclass(frozen=True)
class Communities:
    """A tree of m communities of n nodes, parents before their parts."""

    parents: Rows  # (m,) -1 at the top
    leaves: Rows  # (n,) the smallest community that each node is of, -1 for none

    @cached_property
    def levels(self) -> Rows:
        """(m,) depth of each community, 0 at the top."""
        levels = np.zeros(len(self.parents), dtype=np.int64)
        for community, parent in enumerate(self.parents.tolist()):
            levels[community] = 0 if parent < 0 else levels[parent] + 1
        return levels

    @cached_property
    def members(self) -> Matrix:
        """(m, n) of ones: the nodes of each community and its descendants."""
        nodes, labels = np.flatnonzero(self.leaves >= 0), self.leaves
        rows, columns = [labels[nodes]], [nodes]
        while len(nodes):
            above = self.parents[rows[-1]]
            nodes = nodes[above >= 0]
            rows.append(above[above >= 0])
            columns.append(nodes)
        pairs = np.concatenate(rows), np.concatenate(columns)
        return csr_array((np.ones(len(pairs[0])), pairs), shape=(len(self.parents), len(labels)))

    @cached_property
    def sizes(self) -> Rows:
        """(m,) number of nodes of each community."""
        return np.diff(self.members.indptr)

    def of_level(self, level: int) -> list[int]:
        """Return the communities of a level, largest first.

        One above that level is among them where it has no parts.
        """
        whole = ~np.isin(np.arange(len(self.parents)), self.parents[self.sizes > 0])
        wanted = (self.levels == level) | ((self.levels < level) & whole)
        rows = np.flatnonzero(wanted & (self.sizes > 0))
        order: list[int] = rows[np.argsort(-self.sizes[rows], kind="stable")].tolist()
        return order


def find_communities(
    graph: Matrix, n_counted: int, most: int, least: int = 3, resolution: float = _RESOLUTION
) -> Communities:
    """Detect communities in a symmetric graph, restricted to its first `n_counted` nodes.

    `graph` is (n, n) weights > 0. Communities with more than `most` counted nodes are split into
    parts of at least `least`, down to four levels; nodes of smaller parts stay in the parent. Each
    level is ordered by size, then by lowest node. The result is deterministic.
    """
    leaves = np.full(n_counted, -1, dtype=np.int64)
    parents: list[int] = []
    parted = [(-1, np.arange(graph.shape[0]))]
    for level in range(_LEVELS):
        parts = [
            (parent, part)
            for parent, nodes in parted
            for part in _part(graph, nodes, n_counted, 1 if level == 0 else least, resolution)
        ]
        sizes = np.array([np.searchsorted(part, n_counted) for _, part in parts], dtype=float)
        parted = []
        for place in top_k(sizes, len(parts)).tolist():
            parent, part = parts[place]
            leaves[part[: int(sizes[place])]] = len(parents)
            if sizes[place] > most:
                parted.append((len(parents), part))
            parents.append(parent)
    return Communities(np.array(parents, dtype=np.int64), leaves)


def _part(
    graph: Matrix, nodes: Rows, n_counted: int, least: int, resolution: float
) -> Iterator[Rows]:
    """Split a community; yield the nodes of each part, or nothing if it stays whole."""
    is_top = len(nodes) == graph.shape[0]
    labels = _leiden(graph if is_top else graph[nodes][:, nodes], resolution)
    order = np.argsort(labels, kind="stable")
    parts = np.split(nodes[order], np.cumsum(np.bincount(labels))[:-1])
    large = sorted((p for p in parts if np.searchsorted(p, n_counted) >= least), key=lambda p: p[0])
    if is_top or len(large) > 1:
        yield from large


def _leiden(graph: Matrix, resolution: float) -> Rows:
    """Return the community of each node; an isolated node is its own."""
    from graspologic_native import leiden_csr

    n = graph.shape[0]
    labels = np.full(n, -1, dtype=np.int64)
    if graph.nnz:
        arrays = ((graph.indptr, np.int64), (graph.indices, np.int32), (graph.data, np.float64))
        _, communities = leiden_csr(
            *(np.ascontiguousarray(array, dtype=kind) for array, kind in arrays),
            n,
            resolution=resolution,
            seed=_SEED,
        )
        labels[list(communities)] = list(communities.values())
    alone = np.flatnonzero(labels < 0)
    labels[alone] = labels.max(initial=-1) + 1 + np.arange(len(alone))
    return labels


def join_communities(former: Communities, rows: Rows, links: Matrix) -> Communities:
    """Carry communities over to a changed graph; new nodes join those they are linked to.

    `rows` has the former row of each of n nodes, -1 for a new one, and `links` (k, n) the link
    weights of the k new ones to all. A new node joins the leaf with most weight, ties to the lower
    one, and none without links. Communities stay, even without members.
    """
    leaves = np.where(rows >= 0, former.leaves[rows], -1)
    came, m = np.flatnonzero(rows < 0), len(former.parents)
    members = np.flatnonzero(leaves >= 0)
    one_hot = csr_array((np.ones(len(members)), (members, leaves[members])), shape=(len(leaves), m))
    weights = (links @ one_hot).tocsr()
    weights.sort_indices()
    for place, row in enumerate(came.tolist()):
        own = slice(weights.indptr[place], weights.indptr[place + 1])
        if own.start < own.stop:
            leaves[row] = weights.indices[own][weights.data[own].argmax()]
    return Communities(former.parents, leaves)


def match_communities(former: Matrix, now: Matrix, share: float = 0.5) -> Rows:
    """Return the former community that each of the m communities continues, or -1.

    Both are (m', n) and (m, n) members. It is the one with the largest Jaccard similarity, at least
    `share`; each former community is continued at most once.
    """
    common = (now @ former.T).tocoo()
    sizes = [np.diff(each.tocsr().indptr) for each in (now, former)]
    union = sizes[0][common.row] + sizes[1][common.col] - common.data
    likeness = common.data / np.maximum(union, 1)
    matches = np.full(now.shape[0], -1, dtype=np.int64)
    taken = np.zeros(former.shape[0], dtype=bool)
    for place in np.lexsort((common.col, common.row, -likeness)).tolist():
        row, column = common.row[place], common.col[place]
        if likeness[place] < share:
            break
        if matches[row] < 0 and not taken[column]:
            matches[row], taken[column] = column, True
    return matches
