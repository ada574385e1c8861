"""Count the terms of chunks, for BM25, keywords and co-occurrence."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clew.layers.chunks import Chunks, Columns, TermPlaces
from clew.layers.numbers import number_values


def count_columns(chunks: Chunks) -> tuple[Columns, list[str]]:
    """Return the count and posting columns, and the terms that they count into.

    A count says how often a chunk has a term, and how often in lower case; a title counts as part
    of its chunk's text. A posting is one place of a term in the chunk's own text, a character of
    the document.
    """
    places, texts = chunks.term_places, chunks.titled_texts()
    chunk = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(places.begin))
    start = places.span[:, 0]
    lower = [texts[c][0][i].islower() for c, i in zip(chunk.tolist(), start.tolist(), strict=True)]
    offsets = np.array([offset for _, offset in texts], dtype=np.int32)[chunk]
    begins = np.array([window.start for window in chunks.windows], dtype=np.int32)[chunk]
    own = start >= offsets
    postings = {
        "posting.chunk": chunk[own],
        "posting.term": places.term[own],
        "posting.start": (start + begins - offsets)[own],
    }
    return _counts(chunk, places, lower) | postings, places.terms


def _counts(chunk: NDArray[np.int32], places: TermPlaces, lower: Sequence[bool]) -> Columns:
    """Return the count columns, with each chunk's terms by first occurrence."""
    keys = chunk.astype(np.int64) * len(places.terms) + places.term
    first, groups = number_values(keys)
    n_lower = np.bincount(groups, weights=lower, minlength=len(first))
    return {
        "count.chunk": chunk[first],
        "count.term": places.term[first],
        "count.n": np.bincount(groups, minlength=len(first)).astype(np.int32),
        "count.n_lower": n_lower.astype(np.int32),
    }
