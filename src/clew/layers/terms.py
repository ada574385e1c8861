"""Chunks to counted terms: what BM25, keywords and co-occurrence are made of."""

import numpy as np

from clew.layers.chunks import Chunks, Columns
from clew.text.analyze import terms


def count_columns(chunks: Chunks) -> tuple[Columns, list[str]]:
    """Return (chunk, term, n) triples and the terms. A title counts as part of its chunk's text."""
    rows: dict[str, int] = {}
    found: list[tuple[int, int, int]] = []
    for c, (text, _) in enumerate(chunks.titled_texts()):
        counts: dict[int, int] = {}
        for term in terms(text):
            row = rows.setdefault(term, len(rows))
            counts[row] = counts.get(row, 0) + 1
        found += [(c, row, n) for row, n in sorted(counts.items())]
    table = np.asarray(found, dtype=np.int32).reshape(-1, 3)
    return {
        "count.chunk": table[:, 0].copy(),
        "count.term": table[:, 1].copy(),
        "count.n": table[:, 2].copy(),
    }, list(rows)
