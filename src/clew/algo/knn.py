"""Build the nearest-neighbour graph of chunks, and choose its core.

Huang et al. (2025), "KET-RAG", arXiv:2502.09304, Algorithm 3: half of the neighbours by shared
keywords, half by vectors; the chunks of the highest PageRank are worth reading by a model.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.coding import Vectors
from clew.algo.links import Link
from clew.algo.nearest import Choices, ChoosingRows, find_nearest, pair_cosines, update_nearest
from clew.algo.pagerank import personalized_pagerank, transition_matrix
from clew.algo.row_edits import drop_disordered
from clew.algo.sharing import find_sharing, update_sharing
from clew.algo.topk import DECIMALS, top_k
from clew.errors import InputError

# From here on the other way is the faster one, on two cores.
EXACT_UP_TO = 20_000
_MAX_COMPARED = 4_096  # chunks with all others: nearby cells of each have no fewer


@dataclass(frozen=True, slots=True)
class ChosenNeighbours:
    """Each chunk's neighbours: by shared terms, and by cosine."""

    lexical: Choices
    semantic: Choices
    exact: bool  # each among all others

    def to_graph(self) -> csr_array:
        """Return the (n, n) adjacency: an edge where either end chose the other."""
        directed = _choice_matrix(np.concatenate([self.lexical.rows, self.semantic.rows], axis=1))
        return csr_array((directed + directed.T) > 0, dtype=np.float64)

    def renumber(self, rows: NDArray[np.integer], n: int) -> "ChosenNeighbours":
        """Renumber the choices after the chunks became `rows` among n, ascending."""
        earlier = np.full(n, -1)
        earlier[rows] = np.arange(len(rows))
        lexical, _ = self.lexical.renumber(earlier)
        semantic, _ = self.semantic.renumber(earlier)
        return ChosenNeighbours(lexical, semantic, self.exact)


def choose_neighbours(
    terms: csr_array,
    vectors: Vectors,
    k: int,
    *,
    excluded: NDArray[np.integer] | None = None,
    exact: bool | None = None,
) -> ChosenNeighbours:
    """Choose the neighbours of each of n chunks.

    `terms` is (n, n_terms) counts >= 0, `vectors` (n, d) unit rows. A chunk chooses the k / 2
    others that share most terms with it, at least one, and then the k / 2 nearest by cosine that
    are not among those. The (m, 2) pairs of rows `excluded`, such as overlapping chunks, get none.

    `exact` compares all pairs, O(n² d), by default up to `EXACT_UP_TO` chunks; beyond, most of
    the same neighbours are found in cells (`iterate_cells`). Memory grows with n in both.

    Raises InputError for a k that is odd or below 2, and where the rows do not match.
    """
    if k < 2 or k % 2:
        raise InputError(f"k must be even and at least 2, half of it for each kind, but is {k}")
    n = terms.shape[0]
    if len(vectors) != n:
        raise InputError(f"{n} rows of terms need as many vectors, but there are {len(vectors)}")
    if exact is None:
        exact = n <= EXACT_UP_TO
    barred = _excluded_pairs(n, excluded)
    lexical = find_sharing(terms, k // 2, barred, exact=exact)
    semantic = find_nearest(vectors, k // 2, barred + _choice_matrix(lexical.rows), exact=exact)
    return ChosenNeighbours(lexical, semantic, exact)


def update_neighbours(
    then: ChosenNeighbours,
    earlier: NDArray[np.integer],
    terms: Link,
    by_term: Link,
    vectors: Vectors,
    *,
    able: NDArray[np.bool_],
    excluded: NDArray[np.integer],
) -> ChosenNeighbours | None:
    """Update the choices, or return None if `choose_neighbours` is faster.

    (n,) `earlier` is which chunk each was then, -1 for a new one; those whose order changed are
    taken for new. A chunk that is not `able` takes no part. Only new chunks, and those that lost
    one that they had chosen, look at all others: O(n d) for each of these. So choices that were
    exact are those of `choose_neighbours`, and others stay as near as they were, or come nearer.
    """
    n = len(able)
    earlier = drop_disordered(earlier)
    new = able & (earlier < 0)
    lexical, lost = then.lexical.renumber(earlier)
    semantic, gone = then.semantic.renumber(earlier)
    lexical_rows = np.flatnonzero(new | (lost & able))
    choosing = ChoosingRows(lexical_rows, new, able, _excluded_pairs(n, excluded))
    if n <= EXACT_UP_TO and not then.exact:
        return None
    n_asked = len(choosing.rows) + np.count_nonzero(gone)
    if n > EXACT_UP_TO and n_asked > _MAX_COMPARED:
        return None
    before, lexical = lexical, update_sharing(lexical, choosing, terms, by_term)
    taken = choosing.taken + _choice_matrix(lexical.rows)
    is_taken = _are_among(semantic.rows, lexical.rows).any(axis=1)
    rows = np.flatnonzero(able & (new | gone | is_taken))
    semantic = update_nearest(semantic, ChoosingRows(rows, new, able, taken), vectors)
    # What was chosen by its terms, and is no more, may be one of the nearest.
    row, place = np.nonzero((before.rows >= 0) & ~_are_among(before.rows, lexical.rows))
    fixed = ~np.isin(row, rows)
    row, column = row[fixed], before.rows[row[fixed], place[fixed]]
    more = row, column, pair_cosines(vectors, row, column)
    return ChosenNeighbours(lexical, semantic.add_pairs(*more), then.exact)


def page_ranks(graph: csr_array) -> NDArray[np.float64]:
    """Return the (n,) PageRank scores in an (n, n) graph, damping 0.85 (teleport 0.15).

    They are scaled to a mean of 1, so that rounding them suits any n.
    """
    n = graph.shape[0]
    if n == 0:
        return np.empty(0)
    return n * personalized_pagerank(transition_matrix(graph), np.ones(n), tolerance=1e-10)


def core_size(n: int, share: float) -> int:
    """Return ⌈share n⌉, the size of the core of n chunks; 0 for a share of 0.

    Raises InputError for a share outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise InputError(f"the share of core chunks must be in [0, 1], but is {share:g}")
    return math.ceil(round(share * n, DECIMALS))  # 0.07 of 100 is 7, not 7.000000000000001


def choose_core(
    n: int, size: int, ranks: NDArray[np.float64] | None = None, seed: int = 0
) -> NDArray[np.intp]:
    """Return the (size,) rows of the core of n chunks, ascending.

    They are those of the highest (n,) `ranks`, and without ranks a uniform sample.
    """
    order = np.random.default_rng(seed).permutation(n) if ranks is None else top_k(ranks, size)
    return np.sort(order[:size])


def find_overlaps(
    owners: NDArray[np.integer], starts: NDArray[np.integer], ends: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Return the (m, 2) pairs of chunks of one document whose character ranges overlap.

    The (n,) chunks come document after document, and a document's in the order of their starts
    and of their ends.
    """
    pairs = [np.empty((0, 2), dtype=np.intp)]
    for gap in range(1, len(owners)):
        both = (owners[gap:] == owners[:-gap]) & (starts[gap:] < ends[:-gap])
        first = np.flatnonzero(both)
        if not len(first):  # then none overlap that are farther apart
            break
        pairs.append(np.stack([first, first + gap], axis=1))
    return np.concatenate(pairs)


def _are_among(rows: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark the elements of (n, h) that occur in the same row of the (n, m) others."""
    is_among = (rows[:, :, None] == others[:, None, :]).any(axis=2)
    return np.asarray(is_among & (rows >= 0))


def _excluded_pairs(n: int, excluded: NDArray[np.integer] | None) -> csr_array:
    """Return the (n, n) pairs that may not be joined, the diagonal included."""
    pairs = np.empty((0, 2), dtype=np.intp) if excluded is None else excluded
    own = np.arange(n)
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], own])
    columns = np.concatenate([pairs[:, 1], pairs[:, 0], own])
    return _adjacency(rows, columns, n)


def _adjacency(rows: NDArray[np.integer], columns: NDArray[np.integer], n: int) -> csr_array:
    return csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(n, n))


def _choice_matrix(choices: NDArray[np.integer]) -> csr_array:
    """Return (n, n) with an entry for each choice of a row in (n, h) `choices`."""
    rows, places = np.nonzero(choices >= 0)
    return _adjacency(rows, choices[rows, places], len(choices))
