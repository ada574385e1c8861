"""Documents to chunks, and chunks to their sentences and sub-chunks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.text import tokens
from clew.text.chunking import Chunking, Window, cut_windows
from clew.text.normalize import collapse
from clew.text.subchunks import halve
from clew.types import Document, title_heads

Columns = dict[str, NDArray[np.generic]]


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
    return {
        "chunk.document": np.asarray(chunks.owners, dtype=np.int32),
        "chunk.start": np.asarray([w.start for w in chunks.windows], dtype=np.int32),
        "chunk.end": np.asarray([w.end for w in chunks.windows], dtype=np.int32),
        "chunk.n_tokens": np.asarray([w.n_tokens for w in chunks.windows], dtype=np.int32),
    }


def subchunk_columns(chunks: Chunks) -> Columns:
    """Return the sub-chunk layer's columns, or none if chunks are not halved."""
    if chunks.parts is None:
        return {}
    owners = [c for c, parts in enumerate(chunks.parts) for _ in parts]
    ranges = [place for parts in chunks.parts for place in parts]
    n_tokens = [tokens.count(text) for text in chunks.part_texts()]
    return {
        "subchunk.chunk": np.asarray(owners, dtype=np.int32),
        "subchunk.start": np.asarray([start for start, _ in ranges], dtype=np.int32),
        "subchunk.end": np.asarray([end for _, end in ranges], dtype=np.int32),
        "subchunk.n_tokens": np.asarray(n_tokens, dtype=np.int32),
    }


def sentence_columns(chunks: Chunks) -> Columns:
    """Return the sentence layer's columns; equal texts have equal keys."""
    owners, starts, ends, keys = [], [], [], []
    for c, window in enumerate(chunks.windows):
        text = chunks.documents[chunks.owners[c]].text
        for start, end in window.sentences:
            owners.append(c)
            starts.append(start)
            ends.append(end)
            keys.append(text_key(text[start:end]))
    return {
        "sentence.chunk": np.asarray(owners, dtype=np.int32),
        "sentence.start": np.asarray(starts, dtype=np.int32),
        "sentence.end": np.asarray(ends, dtype=np.int32),
        "sentence.key": np.asarray(keys, dtype=np.uint64),
    }


def text_key(text: str) -> int:
    """Return 64 bits of a hash; two of 10^7 sentences collide with probability 3e-6."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(collapse(text).encode(), digest_size=8).digest(), "little")
