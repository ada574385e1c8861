"""From the places of terms to the ranges of text that have them: sentences and sub-chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import expanded
from clew.generation.rows import follow, link, places, stacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from clew.generation.rows import Live, Rows


@dataclass(frozen=True, slots=True)
class Ranges:
    """Character ranges of chunks, in the order of the chunks."""

    chunk: Rows  # places among the live chunks
    start: NDArray[Any]
    end: NDArray[Any]

    @classmethod
    def of(cls, table: Mapping[str, NDArray[Any]], layer: str, rows: Rows, chunk: Rows) -> Ranges:
        """Return the ranges of stored `rows` of a layer, which lie in these chunks."""
        return cls(chunk, table[f"{layer}.start"][rows], table[f"{layer}.end"][rows])

    def part(self, begin: int, end: int) -> Ranges:
        """Return some of them."""
        return Ranges(self.chunk[begin:end], self.start[begin:end], self.end[begin:end])

    def columns(self, layer: str) -> dict[str, NDArray[Any]]:
        """Return the ranges as columns of a layer."""
        chunk = self.chunk.astype(np.int32)
        return {f"{layer}.chunk": chunk, f"{layer}.start": self.start, f"{layer}.end": self.end}


@dataclass(frozen=True, slots=True)
class Postings:
    """Where terms stand in the chunks' own texts, in the order of chunks and of their text."""

    chunk: NDArray[np.integer]  # places among the live chunks
    term: NDArray[np.integer]  # in the numbers of the generation
    start: NDArray[Any]
    n_terms: int

    @classmethod
    def of(cls, table: Mapping[str, NDArray[Any]], live: Live, terms: Rows) -> Postings:
        """Return those of live chunks; `terms` are the stored rows of the generation's terms."""
        n_chunks = len(table["chunk.document"])
        rows, chunk = follow(table["posting.chunk"], live.rows["chunk"], n_chunks)
        small = np.int32 if max(n_chunks, len(terms)) < _FAR else np.int64
        numbers = places(terms, int(terms.max(initial=-1)) + 1).astype(small)
        term, start = numbers[table["posting.term"][rows]], table["posting.start"][rows]
        return cls(chunk.astype(small), term, start, len(terms))

    def sentence_terms(self, sentences: Ranges) -> csr_array:
        """Return the link from sentences to the terms that stand in them, of weight 1."""
        blocks = []
        for begin in range(0, max(len(sentences.chunk), 1), _AT_ONCE):
            some = sentences.part(begin, begin + _AT_ONCE)
            blocks.append(link(*self._inside(some), len(some.chunk), self.n_terms))
        return stacked(blocks)

    def subchunk_terms(self, subchunks: Ranges, chunks: Rows, terms: Rows) -> csr_array:
        """Return the link from sub-chunks to terms, by how often these stand there.

        `chunks` and `terms` are the pairs of the link from chunks to terms. What a chunk has of
        its title alone, each of its sub-chunks has once. A word of the title that stands in the
        chunk's own text too is linked to the sub-chunks where it stands, and not to the others.
        """
        own_chunk = self.chunk.astype(np.int64)
        keys, own_keys = chunks * self.n_terms + terms, own_chunk * self.n_terms + self.term
        titled = ~np.isin(keys, own_keys)
        firsts = np.searchsorted(subchunks.chunk, chunks[titled])
        lasts = np.searchsorted(subchunks.chunk, chunks[titled], side="right")
        pairs, below = expanded(firsts, lasts)
        inside, own_terms = self._inside(subchunks)
        rows = np.concatenate([inside, below])
        found = np.concatenate([own_terms, terms[titled][pairs]])
        return link(rows, found, len(subchunks.chunk), self.n_terms, np.ones(len(rows)))

    def _inside(self, ranges: Ranges) -> tuple[Rows, NDArray[np.integer]]:
        """Return the place of a range and the term, of each posting that starts in the range."""
        if not len(ranges.chunk):
            return ranges.chunk, ranges.chunk
        bounds = np.array([ranges.chunk[0], ranges.chunk[-1] + 1])
        first, last = np.searchsorted(self.chunk, bounds).tolist()
        ascending = self.chunk[first:last].astype(np.int64) * _FAR + self.start[first:last]
        firsts = np.searchsorted(ascending, ranges.chunk * _FAR + ranges.start)
        lasts = np.searchsorted(ascending, ranges.chunk * _FAR + ranges.end)
        rows, postings = expanded(firsts, lasts)
        return rows, self.term[first:last][postings]


_FAR = 2**31  # beyond every character of a document
_AT_ONCE = 2**17  # sentences
