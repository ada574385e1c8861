"""Select the chunks that an LLM splits into units, up to a share of the tokens.

Clue-RAG (Su et al. 2025, arXiv:2507.08445), Algorithm 2: the chunks of the most value whose tokens
fit into that share. A chunk's value is how much it has in common with the rest of the corpus.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clew.algo.bleu import leave_one_out_bleu
from clew.algo.knapsack import knapsack
from clew.text.ngrams import token_ids

Value = Literal["bleu", "cos", "random"]


def chunk_values(
    texts: Sequence[str], vectors: NDArray[np.float32], value: Value
) -> NDArray[np.float64] | None:
    """Return the (n,) values of chunks in comparison with all others, or None for "random".

    `texts` (n,) and their `vectors` (n, d) are those of the whole corpus; callers give texts behind
    their titles, while the tokens that `select_chunks` weighs are those without.
    """
    if value == "random":
        return None
    return leave_one_out_bleu(*token_ids(texts)) if value == "bleu" else mean_cosines(vectors)


def select_chunks(
    n_tokens: NDArray[np.integer],
    among: NDArray[np.intp],
    share: float,
    values: NDArray[np.float64] | None,
    seed: int = 0,
) -> NDArray[np.intp]:
    """Return which of the rows `among` to extract, ascending.

    `n_tokens` and `values` are (n,), of the whole corpus. The chosen chunks have at most
    ceil(`share` x tokens of `among`) tokens; a share of 0 or 1 takes none or all, whatever they
    are worth. Values solve the knapsack exactly; without them chunks are taken in a seeded random
    order while they fit.
    """
    if share <= 0 or not len(among):
        return among[:0]
    if share >= 1:
        return among
    weights = np.maximum(n_tokens[among].astype(np.int64), 1)
    capacity = math.ceil(share * int(weights.sum()))
    if values is not None:
        return among[knapsack(values[among], weights, capacity).rows]
    taken = []
    for row in np.random.default_rng(seed).permutation(len(among)).tolist():
        if weights[row] <= capacity:
            taken.append(row)
            capacity -= int(weights[row])
    return np.sort(among[taken])


def mean_cosines(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the (n,) mean cosines of (n, d) unit rows to all others, in linear time."""
    total = vectors.sum(axis=0, dtype=np.float64)
    return np.asarray((vectors @ total - 1) / max(len(vectors) - 1, 1), dtype=np.float64)
