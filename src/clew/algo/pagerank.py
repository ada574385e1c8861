"""Personalized PageRank, over a whole graph or only near the seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from clew.algo.ascending import match_sorted, merge_sums, sort_distinct
from clew.algo.links import Entries, Matrix, replace_data, take_rows
from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


class LocalScores(NamedTuple):
    """The scores of the nodes reached; all others are 0.

    No score exceeds the exact one; the L1 distance to the exact scores is `error`.
    """

    nodes: NDArray[np.intp]  # (m,) ascending
    scores: NDArray[np.float64]  # (m,) >= 0, their sum is 1 - error
    error: float

    def get(self, nodes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the (len(nodes),) scores of some nodes."""
        scores = np.zeros(len(nodes))
        reached, places = match_sorted(self.nodes, nodes)
        scores[reached] = self.scores[places]
        return scores

    def mix(self, other: LocalScores, share: float) -> LocalScores:
        """Return a mixture: `share` of these scores and the rest of another restart's."""
        nodes, scores = merge_sums(
            (self.nodes, share * self.scores), (other.nodes, (1 - share) * other.scores)
        )
        return LocalScores(nodes, scores, share * self.error + (1 - share) * other.error)


def transition_matrix(adjacency: Matrix) -> Matrix:
    """Return the (n, n) matrix P^T that moves weight along the rows of `adjacency`.

    Column j of the result is row j of the non-negative `adjacency` divided by its sum; a row
    without edges stays zero ("dangling").
    """
    from scipy.sparse import csr_array, diags_array  # which take longer to load than numpy

    degree = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    return csr_array((diags_array(inverse) @ adjacency).T)


def personalized_pagerank(
    transition: Matrix,
    restart: NDArray[np.float64],
    *,
    damping: float = 0.85,
    tolerance: float = 1e-7,
    max_iterations: int = 1_000,
) -> NDArray[np.float64]:
    """Return the (n,) scores, which sum to 1.

    `transition` is what `transition_matrix` returns, `restart` (n,) >= 0, not all zero.
    With probability 1 - `damping` the walk starts again in `restart`, and so it does from a node
    without edges. Iterates until the L1 change is below `tolerance`, which takes about
    log(tolerance) / log(damping) sparse products.

    Raises InputError for an empty restart, a damping outside [0, 1), or where `max_iterations`
    are too few to come below `tolerance` at this damping.
    """
    restart = _normalize_restart(restart, damping)
    n_edges = np.bincount(transition.indices, minlength=len(restart))
    dangling = np.flatnonzero(n_edges == 0)
    scores = restart.copy()
    for _ in range(max_iterations):
        back = 1 - damping + damping * scores[dangling].sum()
        moved = transition @ scores
        moved *= damping
        moved += back * restart
        scores -= moved
        change = np.abs(scores, out=scores).sum()
        scores = moved
        if change < tolerance:
            return scores
    raise InputError(
        f"PageRank at damping {damping:g} still changes by more than {tolerance:g} after "
        f"{max_iterations} iterations: use a lower damping, or a higher tolerance or limit"
    )


class BipartiteGraph(NamedTuple):
    """A graph whose edges join n rows to m columns.

    Kept are its (n, m) weights over the roots of both ends' degrees, from both sides.
    """

    by_row: Matrix
    by_column: Matrix
    roots: NDArray[np.float64]  # (n + m,) of the degrees

    @classmethod
    def from_weights(cls, weights: Matrix) -> BipartiteGraph:
        """Return the graph of an (n, m) matrix of weights >= 0."""
        degrees = [np.asarray(weights.sum(axis=axis), dtype=np.float64) for axis in (1, 0)]
        rows, columns = (
            np.divide(1.0, np.sqrt(each), out=np.zeros_like(each), where=each > 0)
            for each in degrees
        )
        data = weights.data * rows.repeat(np.diff(weights.indptr)) * columns[weights.indices]
        scaled = replace_data(weights, data)
        return cls(scaled, scaled.T.tocsr(), np.sqrt(np.concatenate(degrees)))


def bipartite_pagerank(
    graph: BipartiteGraph, restart: NDArray[np.float64], *, damping: float = 0.85
) -> NDArray[np.float64]:
    """Return (n + m,) scores that approximate `personalized_pagerank`, rows before columns.

    The columns' scores follow from the rows'. For the rows conjugate gradients (Hestenes and
    Stiefel 1952) solve a symmetric system with eigenvalues from 1 - `damping`² to 1. A step takes
    as long as one power iteration, and reduces the error at least fivefold at a damping of .75. It
    stops when the residual's norm is a millionth of the first. Raises InputError for an empty
    restart or a damping outside [0, 1).
    """
    n = graph.by_row.shape[0]
    own = (1 - damping) * _normalize_restart(restart, damping)
    alone = graph.roots == 0
    sources = np.divide(own, graph.roots, out=np.zeros_like(own), where=~alone)
    left = sources[:n] + damping * (graph.by_row @ sources[n:])
    rows, step, size = np.zeros(n), left, left @ left
    enough = _LEFT * _LEFT * size
    while size > enough:
        moved = step - damping * damping * (graph.by_row @ (graph.by_column @ step))
        length = size / (step @ moved)
        rows += length * step
        left = left - length * moved
        size, before = left @ left, size
        step = left + size / before * step
    columns = sources[n:] + damping * (graph.by_column @ rows)
    scores = np.concatenate([rows, columns]) * graph.roots
    scores[alone] = own[alone]
    return np.asarray(scores / scores.sum())


class Degrees(Protocol):
    """The degree of each node: an array, or an object that reads degrees on access."""

    def __len__(self) -> int: ...

    def __getitem__(self, nodes: NDArray[np.integer], /) -> NDArray[np.float64]: ...


ReadEdges: TypeAlias = "Callable[[NDArray[np.intp]], Entries]"  # the rows of nodes, ascending


def printed_influence(
    adjacency: Matrix, terminals: Sequence[int], damping: float, tolerance: float = 1e-13
) -> NDArray[np.float64]:
    """Return the (n,) scores of AGRAG's Eqs. 10 to 12 as printed (arXiv:2511.05549).

    s = (1 - d) p + d P s, where p is 1 at the terminals, and P has 1 / |N(u)| for an edge of u and
    1 / n for any other node, u itself among them. So rows add up to nearly 2, and the sum of the
    scores grows with n. P is a sparse matrix and 1 / n everywhere, so by Sherman and Morrison two
    sums of powers of the sparse part, whose norm is below 1, give the fixed point.
    """
    from scipy.sparse import csr_array, diags_array

    n = adjacency.shape[0]
    ends = adjacency.indices.copy(), adjacency.indptr.copy()  # which what follows changes
    edges = csr_array((np.ones(len(ends[0])), *ends), (n, n))
    edges.sum_duplicates()  # of two entries for one pair
    edges.data[:] = 1.0
    degree = np.diff(edges.indptr)
    weights = np.divide(1.0, degree, out=np.zeros(n), where=degree > 0) - (degree > 0) / n
    sparse = csr_array(diags_array(damping * weights) @ edges)

    def solve(right: NDArray[np.float64]) -> NDArray[np.float64]:
        total = term = right
        while np.abs(term).max() > tolerance * np.abs(total).max():
            term = np.asarray(sparse @ term)
            total = total + term
        return total

    reset = np.zeros(n)
    reset[list(terminals)] = 1 - damping
    own, everywhere = solve(reset), solve(np.ones(n))
    share = damping / n
    return np.asarray(own + everywhere * (share * own.sum() / (1 - share * everywhere.sum())))


def local_pagerank(
    edges: ReadEdges | WholeGraph,
    degrees: Degrees,
    restart: Mapping[int, float],
    *,
    damping: float = 0.85,
    residual: float = 3e-7,
    beyond: Degrees | None = None,
) -> LocalScores:
    """Approximate `personalized_pagerank` near the restart nodes within a known error.

    `edges` are the symmetric (n, n) matrix of weights > 0, or give the (m, n) rows of m nodes,
    ascending, of it; `degrees`, n of them, are the sums of its rows, or less for nodes with other
    edges too. `restart` has the weights of nodes, >= 0 and at least one > 0. Where the graph is a
    part of another one, `beyond` has the weights of each node's edges out of it: what goes along
    these is lost.

    Forward push (Andersen, Chung and Lang 2006, "Local graph partitioning using PageRank vectors",
    section 3, without lazy steps): of the weight that has come to it, a node keeps 1 - `damping`
    and passes on the rest, as soon as the weight is above `residual` times its degree. All such
    nodes do it at once. At the end the others keep their part too; what they would have passed on
    is the error, of which at most `damping * residual * degrees[v]` is missing at node v. The
    degrees of all nodes that pass weight on, counted each time, sum to at most
    1 / (`residual` (1 - `damping`)), whatever n is. Only a pass over n flags grows with it; where
    most edges of a matrix are gone along, all are.

    Raises InputError for an empty restart or one outside the graph, a damping outside [0, 1), a
    residual that is not above 0, or where the degrees do not match.
    """
    n = len(degrees)
    if not residual > 0:
        raise InputError(f"the residual must be above 0, but is {residual:g}")
    nodes = np.array(sorted(restart), dtype=np.intp)
    if len(nodes) and not 0 <= nodes[0] <= nodes[-1] < n:
        raise InputError(f"the restart names nodes that the graph of {n} does not have")
    weights = np.array([restart[node] for node in nodes.tolist()], dtype=float)
    shares = _normalize_restart(weights, damping)
    alone = degrees[nodes] == 0
    # What comes to a node without edges starts again, and so on: a geometric series.
    shares /= 1 - damping * shares[alone].sum()
    push = _Push(edges, degrees, damping, residual, beyond)
    push.reached[nodes] = True
    push.scores[nodes[alone]] = (1 - damping) * shares[alone]
    push.waiting[nodes[~alone]] = shares[~alone]
    pushing = nodes[push.waiting[nodes] > residual * degrees[nodes]]
    push.run(pushing)
    nodes = np.flatnonzero(push.reached)
    left, scores = push.waiting[nodes], push.scores[nodes]
    push.give_back(nodes)
    return LocalScores(nodes, scores + (1 - damping) * left, float(damping * left.sum()))


@dataclass(frozen=True)
class WholeGraph:
    """A graph in memory, whose edges can be followed all at once."""

    edges: Entries  # (n, n)
    _products: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.edges.shape

    def multiply(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (n,) products of the rows with a vector.

        SciPy does it in a quarter of the time, to the same bits, but takes long to load.
        """
        if next(self._products) * len(self.edges.data) > _FEW_EDGES:
            return np.asarray(self._matrix @ vector)
        columns, owners, weights = self._by_place
        products = np.bincount(owners, weights * vector.take(columns), self.edges.shape[0])
        return products.astype(float, copy=False)

    @property
    def most(self) -> float:
        """The number of edges above which following all at once is faster.

        Of many edges all are gone along so, which has the last digits of edges that are read.
        """
        n_edges = len(self.edges.data)
        return n_edges / _MOST_EDGES if n_edges <= MANY_EDGES else np.inf

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """The (n,) degrees of the nodes."""
        return self.edges.counts.astype(float)

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The (n,) sums of each node's edge weights."""
        return self.edges.sum_rows()

    @cached_property
    def _by_place(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
        """The columns, rows and weights of all edges: the first edge of each row, then the second.

        A row's edges are added in the same order, but no sum waits for the one before it.
        """
        edges, owners = self.edges, self.edges.owners
        places = np.arange(len(owners)) - edges.indptr[owners]
        order = np.argsort(places, kind="stable")
        return edges.indices[order].astype(np.intp), owners[order], edges.data[order]

    @cached_property
    def _matrix(self) -> Matrix:
        return self.edges.to_matrix()


class _Push:
    """Forward push: the estimates and residuals of n nodes."""

    def __init__(
        self,
        edges: ReadEdges | WholeGraph,
        degrees: Degrees,
        damping: float,
        residual: float,
        beyond: Degrees | None,
    ) -> None:
        self._edges, self._degrees, self._beyond = edges, degrees, beyond
        self._damping, self._residual = damping, residual
        self._n = n = len(degrees)
        try:
            self._room = _ROOMS.pop(n)
        except KeyError:  # none is kept, or other threads have it
            self._room = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
        self.scores, self.waiting, self.reached = self._room

    def give_back(self, nodes: NDArray[np.intp]) -> None:
        """Clear the arrays at the nodes reached, and keep them for the next question."""
        for each in self._room:
            each[nodes] = 0
        _ROOMS.clear()
        if self._n <= _KEPT_NODES:
            _ROOMS[self._n] = self._room

    def run(self, nodes: NDArray[np.intp]) -> None:
        """Push residuals along edges until none is large enough."""
        graph = self._edges
        while len(nodes):
            if isinstance(graph, WholeGraph) and graph.counts[nodes].sum() > graph.most:
                nodes = self._push_all(graph)
            else:
                nodes = self._push_nodes(nodes)

    def _push_nodes(self, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Push the residuals of some nodes; return the nodes to push next."""
        edges = self._edges
        if isinstance(edges, WholeGraph):
            entries, sums = take_rows(edges.edges, nodes), edges.sums[nodes]
        else:
            entries = edges(nodes)
            sums = entries.sum_rows()
        if entries.shape != (len(nodes), self._n):
            raise InputError(
                f"{entries.shape[1]} nodes need as many degrees, but there are {self._n}"
            )
        if self._beyond is not None:
            sums = sums + self._beyond[nodes]
        weights = self.waiting[nodes]
        self.scores[nodes] += (1 - self._damping) * weights
        self.waiting[nodes] = 0
        passed, ends = self._damping * weights / sums, entries.indices.astype(np.intp, copy=False)
        np.add.at(self.waiting, ends, np.repeat(passed, entries.counts) * entries.data)
        is_many = len(ends) * _DENSITY > self._n
        ends = _unique(ends, self._n) if is_many else ends
        self.reached[ends] = True
        enough = ends[self.waiting[ends] > self._residual * self._degrees[ends]]
        return enough if is_many else _unique(enough, self._n)

    def _push_all(self, graph: WholeGraph) -> NDArray[np.intp]:
        """Push all nodes at once until few edges are left; return the nodes to push next."""
        every, waiting = np.arange(self._n), self.waiting
        least = self._residual * self._degrees[every]
        sums = graph.sums if self._beyond is None else graph.sums + self._beyond[every]
        sums = np.where(sums > 0, sums, 1.0)
        enough = (waiting > least).astype(float)  # of floats products are faster
        weights, kept = np.empty((2, self._n))
        while graph.counts @ enough > graph.most:
            np.multiply(waiting, enough, out=weights)
            waiting -= weights
            self.scores += np.multiply(weights, 1 - self._damping, out=kept)
            weights *= self._damping
            weights /= sums
            waiting += graph.multiply(weights)
            np.greater(waiting, least, out=enough, casting="unsafe")
        self.reached |= (self.scores > 0) | (waiting > 0)
        return np.flatnonzero(enough)


def _unique(nodes: NDArray[np.integer], n: int) -> NDArray[np.intp]:
    """Return the distinct nodes, ascending."""
    if len(nodes) * _DENSITY > n:
        is_there = np.zeros(n, dtype=bool)
        is_there[nodes] = True
        return np.flatnonzero(is_there)
    return sort_distinct(nodes).astype(np.intp)


_LEFT = 1e-6
# Zeros of the question before, by their number: to clear new ones took a third of the time in a
# graph of a million nodes. Of larger ones the system clears the pages in use alone.
_ROOMS: dict[int, tuple[NDArray[Any], ...]] = {}
_KEPT_NODES = 2_000_000
_DENSITY = 8  # nodes to one that is given: of fewer, flags are faster than sorting
_FEW_EDGES = 75_000_000  # gone along by products of NumPy: as much time as SciPy takes to load
MANY_EDGES = 1_000_000
_MOST_EDGES = 4  # edges to one that is gone along: of fewer, all at once are faster


def _normalize_restart(restart: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    """Check the arguments, and scale the restart weights to sum to 1."""
    total = restart.sum()
    if not total > 0 or restart.min() < 0:
        raise InputError("PageRank needs a restart vector of weights >= 0 with at least one > 0")
    if not 0 <= damping < 1:
        raise InputError(f"damping must be in [0, 1), but is {damping:g}")
    return np.asarray(restart / total)
