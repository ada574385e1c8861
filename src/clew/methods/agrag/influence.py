"""How much each node of the graph matters to the terminals: AGRAG's node influence (Eqs. 7 to 13).

As printed the equations are no PageRank; docs/methods/agrag.md says why this is what they mean.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.algo.pagerank import local_pagerank, personalized_pagerank
from clew.methods.agrag.view import AgragGraph

LOCAL_ABOVE = 500_000  # edges, where both take as long
_TOLERANCE = 1e-7  # of all influence, from one step to the next
_RESIDUAL = 3e-7  # of all influence, for each unit of a node's degree


def compute_influence(
    graph: AgragGraph, terminals: Sequence[int], damping: float
) -> NDArray[np.float64]:
    """Return the (n,) PageRank of all nodes, personalised to the terminals; together 1.

    In a graph of more than `LOCAL_ABOVE` edges nodes far from the terminals have none, and all
    together have 1 less the error of `local_pagerank`.
    """
    n = graph.adjacency.shape[0]
    if graph.n_edges <= LOCAL_ABOVE:
        restart = np.zeros(n)
        restart[list(terminals)] = 1.0
        return personalized_pagerank(
            graph.transition, restart, damping=damping, tolerance=_TOLERANCE
        )
    near = local_pagerank(
        graph.adjacency.__getitem__,
        graph.degrees,
        dict.fromkeys(terminals, 1.0),
        damping=damping,
        residual=_RESIDUAL,
    )
    scores = np.zeros(n)
    scores[near.nodes] = near.scores
    return scores
