"""Chunks to counted terms: what BM25, keywords and co-occurrence are made of."""

import numpy as np

from clew.layers.chunks import Chunks, Columns
from clew.text.analyze import counted_terms


def count_columns(chunks: Chunks) -> tuple[Columns, list[str]]:
    """Return how often each chunk has each term, how often in lower case, and the terms.

    A title counts as part of its chunk's text.
    """
    rows: dict[str, int] = {}
    found: list[tuple[int, int, int, int]] = []
    for c, (text, _) in enumerate(chunks.titled_texts()):
        for term, (n, n_lower) in counted_terms(text).items():
            found.append((c, rows.setdefault(term, len(rows)), n, n_lower))
    table = np.asarray(found, dtype=np.int32).reshape(-1, 4)
    names = ("count.chunk", "count.term", "count.n", "count.n_lower")
    return {name: table[:, i].copy() for i, name in enumerate(names)}, list(rows)
