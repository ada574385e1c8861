"""Link sentences and sub-chunks to the terms inside their ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import expand_ranges
from clew.index.generation.rows import build_link, index_type

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.index.generation.rows import Rows


@dataclass(frozen=True, slots=True)
class Ranges:
    """Character ranges inside chunks, in chunk order."""

    chunk: Rows  # places among the live chunks
    start: NDArray[Any]
    end: NDArray[Any]

    def part(self, begin: int, end: int) -> Ranges:
        return Ranges(self.chunk[begin:end], self.start[begin:end], self.end[begin:end])


@dataclass(frozen=True, slots=True)
class Postings:
    """The positions of terms in the chunks' own texts, in order."""

    chunk: NDArray[np.integer]  # places among the live chunks, ascending
    term: NDArray[np.integer]  # in the numbers of the generation
    start: NDArray[Any]
    n_terms: int

    def sentence_terms(self, sentences: Ranges) -> csr_array:
        """Return the link from sentences to the terms in them, of weight 1."""
        from scipy.sparse import csr_array

        n, size = len(sentences.chunk), 0
        most = max(n, len(self.term) + 1, self.n_terms)
        indptr = np.zeros(n + 1, dtype=index_type(most))
        indices = np.empty(len(self.term), dtype=indptr.dtype)
        for begin in range(0, n, _BATCH_SIZE):
            some = sentences.part(begin, begin + _BATCH_SIZE)
            block = build_link(*self._locate(some), len(some.chunk), self.n_terms)
            if size + block.nnz > len(indices):  # where sentences overlap, as chunks may
                indices = np.resize(indices, 2 * (size + block.nnz))
            indptr[begin + 1 : begin + 1 + len(some.chunk)] = size + block.indptr[1:]
            indices[size : size + block.nnz] = block.indices
            size += block.nnz
        ones = np.ones(size, dtype=np.float32)
        return csr_array((ones, indices[:size], indptr), shape=(n, self.n_terms))

    def subchunk_terms(self, subchunks: Ranges, chunks: Rows, terms: Rows) -> csr_array:
        """Return the link from sub-chunks to terms, weighted by frequency.

        `chunks` and `terms` are the pairs of the link from chunks to terms. What a chunk has of
        its title alone, each of its sub-chunks has once. A word of the title that stands in the
        chunk's own text too is linked to the sub-chunks where it stands, and not to the others.
        """
        own_chunk = self.chunk.astype(np.int64)
        keys = chunks.astype(np.int64) * self.n_terms + terms
        own_keys = own_chunk * self.n_terms + self.term
        titled = ~np.isin(keys, own_keys)
        firsts = np.searchsorted(subchunks.chunk, chunks[titled])
        lasts = np.searchsorted(subchunks.chunk, chunks[titled], side="right")
        pairs, below = expand_ranges(firsts, lasts)
        inside, own_terms = self._locate(subchunks)
        rows = np.concatenate([inside, below])
        term_rows = np.concatenate([own_terms, terms[titled][pairs]])
        return build_link(rows, term_rows, len(subchunks.chunk), self.n_terms, np.ones(len(rows)))

    def _locate(self, ranges: Ranges) -> tuple[Rows, NDArray[np.integer]]:
        """Return the range and the term of each posting that starts in some range."""
        if not len(ranges.chunk):
            return ranges.chunk, ranges.chunk
        bounds = np.array([ranges.chunk[0], ranges.chunk[-1] + 1], dtype=self.chunk.dtype)
        first, last = np.searchsorted(self.chunk, bounds).tolist()
        ascending = self.chunk[first:last].astype(np.int64) * _END_OF_TEXT + self.start[first:last]
        chunk = ranges.chunk.astype(np.int64)
        firsts = np.searchsorted(ascending, chunk * _END_OF_TEXT + ranges.start)
        lasts = np.searchsorted(ascending, chunk * _END_OF_TEXT + ranges.end)
        rows, postings = expand_ranges(firsts, lasts)
        return rows, self.term[first:last][postings]


_END_OF_TEXT = 2**31  # beyond every character of a document
_BATCH_SIZE = 2**15  # sentences
