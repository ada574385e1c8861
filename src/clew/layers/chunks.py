"""Documents to chunks, and chunks to their sentences, sub-chunks and terms.

BM25, keywords and co-occurrence are made of terms.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.layers.numbers import number_values
from clew.text import tokens
from clew.text.analyze import term_spans
from clew.text.chunking import Chunking, Window, cut_windows, halve
from clew.text.normalize import collapse
from clew.types import Document, title_heads

Columns = dict[str, NDArray[np.generic]]
_TITLE = -1  # where a term of a title stands


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a batch of documents, in order."""

    documents: Sequence[Document]
    owners: Sequence[int]  # the document of each chunk
    windows: Sequence[Window]
    parts: Sequence[Sequence[tuple[int, int]]] | None = None  # of each chunk, where it is halved

    def texts(self) -> list[str]:
        """Return each chunk's text."""
        pairs = zip(self.owners, self.windows, strict=True)
        return [self.documents[d].text[w.start : w.end] for d, w in pairs]

    def titled_texts(self) -> list[tuple[str, int]]:
        """Return the text of each chunk as a model reads it, and where the chunk begins in it.

        That is the document's title and the chunk's section, a line break and the chunk's text.
        """
        texts = self.texts()
        owners = [self.documents[d] for d in self.owners]
        heads = title_heads(owners, [window.start for window in self.windows], texts)
        return [(head + text, len(head)) for head, text in zip(heads, texts, strict=True)]

    def titled_parts(self) -> list[str]:
        """Return the text of each sub-chunk as a model reads it: title, section and text."""
        texts = self.part_texts()
        places = self._part_places()
        heads = title_heads([each[0] for each in places], [each[1] for each in places], texts)
        return [head + text for head, text in zip(heads, texts, strict=True)]

    def part_texts(self) -> list[str]:
        """Return the text of each sub-chunk."""
        return [document.text[start:end] for document, start, end in self._part_places()]

    def _part_places(self) -> list[tuple[Document, int, int]]:
        return [
            (self.documents[d], start, end)
            for d, parts in zip(self.owners, self.parts or [()] * len(self.owners), strict=True)
            for start, end in parts
        ]


def cut_chunks(documents: Sequence[Document], chunking: Chunking) -> Chunks:
    """Return the chunks of `documents`."""
    owners, windows, parts = [], [], []
    for d, document in enumerate(documents):
        for window in cut_windows(document.text, document.body_start, chunking, document.headings):
            owners.append(d)
            windows.append(window)
            if chunking.subchunk_depth:
                place = window.start, window.end
                parts.append(halve(document.text, *place, chunking.subchunk_depth, chunking.size))
    return Chunks(documents, owners, windows, parts if chunking.subchunk_depth else None)


def chunk_columns(chunks: Chunks) -> Columns:
    """Return the chunk layer's columns; start and end count characters of the document."""
    pairs = zip(chunks.owners, chunks.windows, strict=True)
    table = [(d, window.start, window.end, window.n_tokens) for d, window in pairs]
    return split_table("chunk", ("document", "start", "end", "n_tokens"), table)


def subchunk_columns(chunks: Chunks) -> Columns:
    """Return the sub-chunk layer's columns, or none if chunks are not halved."""
    if chunks.parts is None:
        return {}
    places = [(c, *place) for c, parts in enumerate(chunks.parts) for place in parts]
    texts = zip(places, chunks.part_texts(), strict=True)
    table = [(*place, tokens.count(text)) for place, text in texts]
    return split_table("subchunk", ("chunk", "start", "end", "n_tokens"), table)


def split_table(
    layer: str, names: Sequence[str], table: Sequence[Sequence[int]] | NDArray[np.int32]
) -> Columns:
    """Return the columns of a layer from (n, m) rows of numbers."""
    columns = np.asarray(table, dtype=np.int32).reshape(-1, len(names)).T
    return {f"{layer}.{name}": each.copy() for name, each in zip(names, columns, strict=True)}


def sentence_columns(chunks: Chunks) -> Columns:
    """Return the sentence layer's columns; equal texts have equal keys."""
    spans = [(c, *span) for c, window in enumerate(chunks.windows) for span in window.sentences]
    texts = [chunks.documents[d].text for d in chunks.owners]
    keys = [text_key(texts[c][start:end]) for c, start, end in spans]
    columns = split_table("sentence", ("chunk", "start", "end"), spans)
    return columns | {"sentence.key": np.asarray(keys, dtype=np.uint64)}


def text_key(text: str) -> int:
    """Return 64 bits of a hash; two of 10^7 sentences collide with probability 3e-6."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(collapse(text).encode(), digest_size=8).digest(), "little")


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
    own = table[table[:, 2] != _TITLE, :3]
    postings = split_table("posting", ("chunk", "term", "start"), own)
    return _counts(table, len(rows)) | postings, list(rows)


def _counts(table: NDArray[np.int32], n_terms: int) -> Columns:
    """Return the count columns, each chunk's terms by first occurrence."""
    first, groups = number_values(table[:, 0].astype(np.int64) * n_terms + table[:, 1])
    n_lower = np.bincount(groups, weights=table[:, 3], minlength=len(first))
    return {
        "count.chunk": table[first, 0],
        "count.term": table[first, 1],
        "count.n": np.bincount(groups, minlength=len(first)).astype(np.int32),
        "count.n_lower": n_lower.astype(np.int32),
    }
