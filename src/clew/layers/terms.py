"""Chunks to terms: what BM25, keywords and co-occurrence are made of."""

from array import array

import numpy as np
from numpy.typing import NDArray

from clew.layers.chunks import Chunks, Columns
from clew.layers.numbers import number_values
from clew.text.analyze import term_spans

_TITLE = -1  # where a term of a title stands


def count_columns(chunks: Chunks) -> tuple[Columns, list[str]]:
    """Return the count and posting columns, and the terms that they count into.

    A count says how often a chunk has a term, and how often in lower case; a title counts as part
    of its chunk's text. A posting is one place of a term in the chunk's own text, a character of
    the document.
    """
    rows: dict[str, int] = {}
    numbers = array("i")
    for c, (text, offset) in enumerate(chunks.titled_texts()):
        shift = chunks.windows[c].start - offset
        for term, start, _ in term_spans(text):
            place = start + shift if start >= offset else _TITLE
            numbers.extend((c, rows.setdefault(term, len(rows)), place, text[start].islower()))
    table = np.frombuffer(numbers, dtype=np.int32).reshape(-1, 4)
    own = table[table[:, 2] != _TITLE]
    names = "posting.chunk", "posting.term", "posting.start"
    postings = {name: own[:, i].copy() for i, name in enumerate(names)}
    return _counts(table, len(rows)) | postings, list(rows)


def _counts(table: NDArray[np.int32], n_terms: int) -> Columns:
    """Return the count columns, each chunk's terms by first occurrence."""
    keys = table[:, 0].astype(np.int64) * n_terms + table[:, 1]
    first, groups = number_values(keys)
    n_lower = np.bincount(groups, weights=table[:, 3], minlength=len(first))
    return {
        "count.chunk": table[first, 0],
        "count.term": table[first, 1],
        "count.n": np.bincount(groups, minlength=len(first)).astype(np.int32),
        "count.n_lower": n_lower.astype(np.int32),
    }
