"""Split documents into chunks, and chunks into sentences and sub-chunks."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.lazy import compile_re
from clew.base.types import Document, title_heads
from clew.index.layers.numbers import number_values
from clew.text import tokens
from clew.text.analyze import term_spans
from clew.text.chunking import Chunking, Window, cut_windows, halve
from clew.text.normalize import collapse
from clew.text.sections import SEPARATOR

_HEADING = compile_re(SEPARATOR)  # before each one above a text
_FIRST = compile_re(r"[^\W_]+")  # word

Columns = dict[str, NDArray[np.generic]]
Span = tuple[int, int, int]  # a chunk, and where a piece of it begins and ends in its document


@dataclass(frozen=True, slots=True)
class TermPlaces:
    """The positions of terms in the titled texts of chunks."""

    terms: list[str]  # by first occurrence
    term: NDArray[np.int32]  # (n,) positions in `terms`, in order of the texts
    span: NDArray[np.int32]  # (n, 2) the first character in the titled text, and the one behind
    begin: NDArray[np.int64]  # (n_chunks + 1,) the first of each chunk, and n

    def of_chunk(self, chunk: int) -> slice:
        """Return the rows of a chunk's terms."""
        return slice(int(self.begin[chunk]), int(self.begin[chunk + 1]))


@dataclass(frozen=True)
class Chunks:
    """The chunks of a batch of documents, in order."""

    documents: Sequence[Document]
    owners: Sequence[int]  # the document of each chunk
    windows: Sequence[Window]
    parts: Sequence[Sequence[tuple[int, int]]] | None = None  # of each chunk, where it is halved

    def texts(self) -> list[str]:
        """Return each chunk's text."""
        return self.texts_at([(c, w.start, w.end) for c, w in enumerate(self.windows)])

    def texts_at(self, spans: Sequence[Span]) -> list[str]:
        """Return the texts of spans in chunks."""
        return [self.documents[self.owners[c]].text[start:end] for c, start, end in spans]

    def sentence_spans(self) -> list[Span]:
        """Return each statement of the chunks."""
        return [(c, *span) for c, window in enumerate(self.windows) for span in window.sentences]

    def texts_above(self) -> list[str]:
        """Return the headings above each statement with a line break, or ""."""
        above = [(c, s.above) for c, w in enumerate(self.windows) for s in w.statements]
        texts = (self.documents[self.owners[c]].text for c, _ in above)
        pairs = zip(texts, above, strict=True)
        return ["" if span is None else f"{text[slice(*span)]}\n" for text, (_, span) in pairs]

    def part_spans(self) -> list[Span]:
        """Return each sub-chunk."""
        return [(c, *span) for c, parts in enumerate(self.parts or ()) for span in parts]

    def titled_texts(self) -> list[tuple[str, int]]:
        """Return each chunk's titled text, and the offset of the chunk in it.

        That is the document's title and the chunk's section, a line break and the chunk's text.
        """
        spans = [(c, w.start, w.end) for c, w in enumerate(self.windows)]
        return [(head + text, len(head)) for head, text in self._heads_and_texts(spans)]

    @cached_property
    def term_places(self) -> TermPlaces:
        """The positions of terms in the titled texts, computed once."""
        rows: dict[str, int] = {}
        numbers, begin = array("i"), [0]
        for text, _ in self.titled_texts():
            for term, start, end in term_spans(text):
                numbers.extend((rows.setdefault(term, len(rows)), start, end))
            begin.append(len(numbers) // 3)
        table = np.frombuffer(numbers, dtype=np.int32).reshape(-1, 3)
        return TermPlaces(list(rows), table[:, 0], table[:, 1:], np.asarray(begin))

    def titled_parts(self) -> list[str]:
        """Return the text of each sub-chunk as a model reads it: title, section and text."""
        return [head + text for head, text in self._heads_and_texts(self.part_spans())]

    def _heads_and_texts(self, spans: Sequence[Span]) -> Iterable[tuple[str, str]]:
        texts = self.texts_at(spans)
        documents = [self.documents[self.owners[c]] for c, *_ in spans]
        heads = title_heads(documents, [start for _, start, _ in spans], texts)
        return zip(heads, texts, strict=True)


def cut_chunks(documents: Sequence[Document], chunking: Chunking) -> Chunks:
    """Split `documents` into chunks."""
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
    spans = [(d, window.start, window.end) for d, window in pairs]
    n_tokens = np.asarray([window.n_tokens for window in chunks.windows], dtype=np.int32)
    return {**_span_columns("chunk", "document", spans), "chunk.n_tokens": n_tokens}


def subchunk_columns(chunks: Chunks) -> Columns:
    """Return the sub-chunk layer's columns, or none if chunks are not halved."""
    if chunks.parts is None:
        return {}
    spans = chunks.part_spans()
    n_tokens = np.asarray(list(map(tokens.count, chunks.texts_at(spans))), dtype=np.int32)
    return {**_span_columns("subchunk", "chunk", spans), "subchunk.n_tokens": n_tokens}


def sentence_columns(chunks: Chunks) -> Columns:
    """Return the sentence layer's columns; equal texts below equal ones have equal keys."""
    spans = chunks.sentence_spans()
    texts = map("".join, zip(chunks.texts_above(), chunks.texts_at(spans), strict=True))
    statements = [each for window in chunks.windows for each in window.statements]
    above = np.array([each.above or (0, 0) for each in statements], np.int32).reshape(-1, 2)
    return {
        **_span_columns("sentence", "chunk", spans),
        "sentence.key": np.asarray(list(map(text_key, texts)), dtype=np.uint64),
        "sentence.above_start": above[:, 0].copy(),
        "sentence.above_end": above[:, 1].copy(),
        "sentence.is_context": np.array([s.is_context for s in statements], dtype=np.uint8),
    }


def _span_columns(layer: str, owner: str, spans: Sequence[Span]) -> Columns:
    table = np.array(spans, dtype=np.int32).reshape(-1, 3)
    names = owner, "start", "end"
    return {f"{layer}.{name}": table[:, i].copy() for i, name in enumerate(names)}


def text_key(text: str) -> int:
    """Return a 64-bit hash; two of 10^7 sentences collide with probability 3e-6."""
    return int.from_bytes(blake2b(collapse(text).encode(), digest_size=8).digest(), "little")


def count_columns(chunks: Chunks) -> tuple[Columns, list[str]]:
    """Return the count and posting columns, and the terms that they count into.

    A count says how often a chunk has a term, and how much oftener with a capital than in lower
    case, but for capitals that every sentence begins with; a title counts as part of its chunk's
    text. A posting is one place of a term in the chunk's own text, a character of the document.
    """
    places, texts = chunks.term_places, chunks.titled_texts()
    chunk = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(places.begin))
    start = places.span[:, 0]
    begins = [
        _find_begins(*text, window) for text, window in zip(texts, chunks.windows, strict=True)
    ]
    capitals = [
        -1 if texts[c][0][i].islower() else int(i not in begins[c])
        for c, i in zip(chunk.tolist(), start.tolist(), strict=True)
    ]
    offsets = np.array([offset for _, offset in texts], dtype=np.int32)[chunk]
    firsts = np.array([window.start for window in chunks.windows], dtype=np.int32)[chunk]
    own = start >= offsets
    postings = {
        "posting.chunk": chunk[own],
        "posting.term": places.term[own],
        "posting.start": (start + firsts - offsets)[own],
    }
    return _counts(chunk, places, capitals) | postings, places.terms


def _find_begins(text: str, offset: int, window: Window) -> set[int]:
    """Return the positions in a titled text where a capitalized sentence or heading begins."""
    starts = [match.end() for match in _HEADING.finditer(text, 0, offset)]
    starts += [start - window.start + offset for start, _ in window.sentences]
    words = (_FIRST.search(text, start) for start in starts)
    return {word.start() for word in words if word and _is_plain(word[0])}


def _is_plain(word: str) -> bool:
    """Check whether a sentence-initial capital is uninformative: not for "NixOS" or "C"."""
    return len(word) > 1 and word.isalpha() and (word.istitle() or word.isupper())


def _counts(chunk: NDArray[np.int32], places: TermPlaces, capitals: Sequence[int]) -> Columns:
    """Return the count columns, with each chunk's terms by first occurrence."""
    keys = chunk.astype(np.int64) * len(places.terms) + places.term
    first, groups = number_values(keys)
    n_capitals = np.bincount(groups, weights=capitals, minlength=len(first))
    return {
        "count.chunk": chunk[first],
        "count.term": places.term[first],
        "count.n": np.bincount(groups, minlength=len(first)).astype(np.int32),
        "count.capitals": n_capitals.astype(np.int32),
    }
