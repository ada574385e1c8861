"""The graph of an index with the entity and triple costs of one query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.bubble import Subdivided, subdivide
from clew.algo.coding import Vectors
from clew.algo.topk import DECIMALS
from clew.base.derived import Derived
from clew.index.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class BubbleView:
    """Nodes are those of `graph`: entities, then triples."""

    snapshot: Snapshot
    query: steps.Query
    graph: Subdivided

    def node_cosines(self, nodes: Sequence[int] | NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the (n,) cosines of nodes to the query, to six decimals."""
        rows = np.asarray(nodes, dtype=np.intp)
        is_triple = rows >= self.graph.n_entities
        cosines = np.empty(len(rows))
        entities, triples = rows[~is_triple], rows[is_triple] - self.graph.n_entities
        if len(entities):
            cosines[~is_triple] = self.snapshot.get(_ENTITY_VECTORS)[entities] @ self.query.vector
        if len(triples):
            cosines[is_triple] = self.snapshot.layer("triple").vectors[triples] @ self.query.vector
        return np.round(cosines, DECIMALS)

    def node_costs(self, nodes: Sequence[int] | NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the costs of nodes: 1 minus their cosines to the query."""
        return np.maximum(0.0, 1.0 - self.node_cosines(nodes))

    def read_texts(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of entities and the words of triples."""
        n = self.graph.n_entities
        names = iter(self.snapshot.layer("entity").texts([node for node in nodes if node < n]))
        words = iter(self.snapshot.layer("triple").texts([i - n for i in nodes if i >= n]))
        return [next(names) if node < n else next(words) for node in nodes]


def open_view(snapshot: Snapshot, query: steps.Query) -> BubbleView:
    """Return the graph of all triples of an index, as `query` sees it."""
    return BubbleView(snapshot, query, snapshot.get(_GRAPH))


def _build_graph(snapshot: Snapshot) -> Subdivided:
    columns = snapshot.layer("triple").columns
    n_entities = len(snapshot.layer("entity"))
    return subdivide(n_entities, columns["subject"], columns["object"])


_GRAPH = Derived("the graph of all triples", _build_graph)


def _compute_entity_vectors(snapshot: Snapshot) -> Vectors:
    """Return (n_entities, d) vectors of names, with the description if there is one."""
    names, profiles = snapshot.layer("entity").vectors, snapshot.layer("profile")
    if not len(profiles):
        return names
    owners = profiles.columns["entity"]
    ones = np.ones(len(owners), dtype=np.float32)
    member = csr_array((ones, (owners, np.arange(len(owners)))), shape=(len(names), len(owners)))
    sums = member @ np.asarray(profiles.vectors)
    lengths = np.linalg.norm(sums, axis=1)
    described = lengths > 0
    vectors = np.array(names)
    vectors[described] = sums[described] / lengths[described, None]
    return vectors


_ENTITY_VECTORS = Derived("vectors of described entities", _compute_entity_vectors)
