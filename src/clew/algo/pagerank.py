"""Spread weight from seeds over a graph."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from clew.errors import InputError


def transition(adjacency: csr_array) -> csr_array:
    """Return the (n, n) matrix P^T that moves weight along the rows of `adjacency`.

    Column j of the result is row j of the non-negative `adjacency` divided by its sum; a row
    without edges stays zero ("dangling").
    """
    degree = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    return csr_array((diags_array(inverse) @ adjacency).T)


def personalized_pagerank(
    transition: csr_array,
    restart: NDArray[np.float64],
    *,
    damping: float = 0.85,
    tolerance: float = 1e-7,
    max_iterations: int = 1_000,
) -> NDArray[np.float64]:
    """Return the (n,) scores, which sum to 1.

    `transition` is what the function of that name returns, `restart` (n,) >= 0, not all zero.
    With probability 1 - `damping` the walk starts again in `restart`, and so it does from a node
    without edges. Iterates until the L1 change is below `tolerance`, which takes about
    log(tolerance) / log(damping) sparse products.

    Raises InputError for an empty restart, a damping outside [0, 1), or where `max_iterations`
    are too few to come below `tolerance` at this damping.
    """
    total = restart.sum()
    if not total > 0 or restart.min() < 0:
        raise InputError("PageRank needs a restart vector of weights >= 0 with at least one > 0")
    if not 0 <= damping < 1:
        raise InputError(f"damping must be in [0, 1), but is {damping:g}")
    restart = restart / total
    n_edges = np.bincount(transition.indices, minlength=len(restart))
    dangling = np.flatnonzero(n_edges == 0)
    scores: NDArray[np.float64] = restart.copy()
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
        f"{max_iterations} iterations: take a lower damping, or a higher tolerance or limit"
    )
