"""Vectors of chunks, sentences, sub-chunks and entity names.

Two ways: *late* reads each chunk once and takes the chunk's vector, those of its sentences and
sub-chunks (means of their tokens in the chunk's context: late chunking, Günther et al. 2024,
arXiv:2409.04701) and, for the reranker, those of the tokens of terms from that one pass; *separate*
embeds every text by itself. Tokens of stop words are not stored: they are nearly half of all, and
no ranking gained by them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.index.layers.chunks import Chunks, Columns, Span
from clew.models import Embedder, TokenEmbedder, TokenVectors
from clew.text.analyze import term_spans

Code = Callable[[str, NDArray[Any]], NDArray[Any]]  # a column's name and rows, to what is kept

_CHUNK_BATCH = 64  # chunks
_TEXT_BATCH = 1024
_CODING_BATCH = 512  # rows
_SCALE = 127  # of stored token vectors: unit length times 127, rounded to int8


class ChunkVectors(NamedTuple):
    """The vectors from one pass over a chunk, as floats or coded."""

    chunk: NDArray[Any]  # (1, d)
    sentences: NDArray[Any]  # (n, d)
    parts: NDArray[Any]  # (m, d), of sub-chunks
    tokens: NDArray[Any]  # (k, d), of the tokens of terms
    ranges: Sequence[Sequence[int]]  # (n, 2) the first token of each sentence, and the one behind


ChunkKey = tuple[str, int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


def chunk_keys(chunks: Chunks) -> list[ChunkKey]:
    """Return a key of everything that each chunk's vectors depend on.

    That is its titled text, and where the chunk, its sentences and its sub-chunks are in that.
    """
    keys = []
    parts = chunks.parts or [()] * len(chunks.windows)
    for (text, offset), window, inside in zip(
        chunks.titled_texts(), chunks.windows, parts, strict=True
    ):
        sentences, sub_chunks = (
            tuple((a - window.start, b - window.start) for a, b in spans)
            for spans in (window.sentences, inside)
        )
        keys.append((text, offset, sentences, sub_chunks))
    return keys


def identity_code(_name: str, rows: NDArray[Any]) -> NDArray[Any]:
    """Return vectors uncoded."""
    return rows


class _CodedRows:
    """Collects coded rows in blocks, without a second copy.

    They wait until there are some hundred: to code one alone takes as long as to code fifty.
    """

    def __init__(self, name: str, dimension: int, dtype: type[np.generic], code: Code) -> None:
        self._name, self._code = name, code
        self._array = code(name, np.zeros((0, dimension), dtype=dtype))
        self._n = 0
        self._waiting: list[NDArray[Any]] = []
        self._n_waiting = 0

    def add(self, rows: NDArray[Any]) -> None:
        if self._waiting and self._waiting[0].dtype != rows.dtype:  # stored rows are coded already
            self._code_waiting()
        self._waiting.append(rows)
        self._n_waiting += len(rows)
        if self._n_waiting >= _CODING_BATCH:
            self._code_waiting()

    def _code_waiting(self) -> None:
        if not self._waiting:
            return
        rows = self._code(self._name, np.concatenate(self._waiting))
        self._waiting, self._n_waiting = [], 0
        end = self._n + len(rows)
        if end > len(self._array):
            room = max(end, len(self._array) + (len(self._array) >> 2))
            self._array.resize((room, self._array.shape[1]), refcheck=False)
        self._array[self._n : end] = rows
        self._n = end

    def to_array(self) -> NDArray[Any]:
        self._code_waiting()
        self._array.resize((self._n, self._array.shape[1]), refcheck=False)
        return self._array


def late_columns(
    chunks: Chunks,
    embedder: TokenEmbedder,
    code: Code = identity_code,
    *,
    tokens: type[np.generic] = np.int8,
    stored: Mapping[ChunkKey, ChunkVectors] | None = None,
) -> Columns:
    """Return chunk, sentence, sub-chunk and token vectors from one pass per chunk.

    A chunk whose vectors are `stored` is not read again.
    """
    keys, stored = chunk_keys(chunks), stored or {}
    d = embedder.dimension
    names = ("chunk.vectors", "sentence.vectors", "subchunk.vectors")
    chunk_vectors, sentence_vectors, part_vectors = (
        _CodedRows(name, d, np.float32, code) for name in names
    )
    token_vectors, counts = _CodedRows("token.vectors", d, tokens, code), []
    ranges: list[Sequence[int]] = []
    for begin in range(0, len(keys), _CHUNK_BATCH):  # float tokens are eight times what is kept
        block = range(begin, min(begin + _CHUNK_BATCH, len(keys)))
        new = [c for c in block if keys[c] not in stored]
        passes = iter(embedder.embed_tokens([keys[c][0] for c in new]) if new else ())
        for c in block:
            known = stored.get(keys[c])
            spans = chunks.term_places.span[chunks.term_places.of_chunk(c)]
            read = known or _read_pass(next(passes), keys[c], spans, tokens)
            chunk_vectors.add(read.chunk)
            sentence_vectors.add(read.sentences)
            if chunks.parts is not None:
                part_vectors.add(read.parts)
            token_vectors.add(read.tokens)
            counts.append(len(read.tokens))
            ranges += read.ranges
    columns: Columns = {
        "chunk.vectors": chunk_vectors.to_array(),
        "chunk.n_stored": np.asarray(counts, dtype=np.int32),
        "token.vectors": token_vectors.to_array(),
        "sentence.vectors": sentence_vectors.to_array(),
        "sentence.first_token": np.asarray([a for a, _ in ranges], dtype=np.int32),
        "sentence.last_token": np.asarray([b for _, b in ranges], dtype=np.int32),
    }
    if chunks.parts is not None:
        columns["subchunk.vectors"] = part_vectors.to_array()
    return columns


def _read_pass(
    read: TokenVectors, key: ChunkKey, spans: NDArray[Any], dtype: type[np.generic]
) -> ChunkVectors:
    """Return the vectors of a chunk whose terms are at the (m, 2) `spans` of its titled text."""
    _, offset, sentences, parts = key
    places = [_token_range(read, a + offset, b + offset) for a, b in sentences]
    within = [_token_range(read, a + offset, b + offset) for a, b in parts]
    is_term = _mark_term_tokens(spans, read)
    n_before = np.concatenate([[0], np.cumsum(is_term)]).tolist()
    return ChunkVectors(
        chunk=read.pooled[None],
        sentences=_means(read, places),
        parts=_means(read, within),
        tokens=_quantize(read.vectors[is_term], dtype),
        ranges=[(n_before[first], n_before[last]) for first, last in places],
    )


def ragged_tokens(
    texts: Sequence[str], embedder: TokenEmbedder, dtype: type[np.generic] = np.int8
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.float32]]:
    """Return the token vectors of texts, concatenated, their counts, and the text vectors."""
    stored = _CodedRows("statement_token.vectors", embedder.dimension, dtype, identity_code)
    pooled = _CodedRows("statement.vectors", embedder.dimension, np.float32, identity_code)
    counts = []
    for begin in range(0, len(texts), _CHUNK_BATCH):
        block = texts[begin : begin + _CHUNK_BATCH]
        for text, tokens in zip(block, embedder.embed_tokens(block), strict=True):
            spans = np.array([span for _, *span in term_spans(text)]).reshape(-1, 2)
            is_term = _mark_term_tokens(spans, tokens)
            stored.add(_quantize(tokens.vectors[is_term], dtype))
            pooled.add(tokens.pooled[None])
            counts.append(int(is_term.sum()))
    return stored.to_array(), np.asarray(counts, dtype=np.int32), pooled.to_array()


def separate_columns(chunks: Chunks, embedder: Embedder, code: Code = identity_code) -> Columns:
    """Return chunk, sentence and sub-chunk vectors, each text embedded separately."""
    columns: Columns = {}
    for name, texts in texts_by_column(chunks).items():
        rows = _CodedRows(name, embedder.dimension, np.float32, code)
        for begin in range(0, len(texts), _TEXT_BATCH):
            rows.add(embedder.embed(texts[begin : begin + _TEXT_BATCH], kind="document"))
        columns[name] = rows.to_array()
    return columns


def find_zero_rows(chunks: Chunks, columns: Columns, dimension: int, code: Code) -> list[Span]:
    """Return the chunks, and the sentences of other chunks, whose vectors are zero."""
    whole = [(c, window.start, window.end) for c, window in enumerate(chunks.windows)]
    bare: list[Span] = []
    for name, spans in (("chunk.vectors", whole), ("sentence.vectors", chunks.sentence_spans())):
        zero = code(name, np.zeros((1, dimension), dtype=np.float32))
        rows = np.flatnonzero((columns[name] == zero).all(axis=1)).tolist()
        known = {c for c, *_ in bare}
        bare += [spans[row] for row in rows if spans[row][0] not in known]
    return bare


def texts_by_column(chunks: Chunks) -> dict[str, list[str]]:
    """Return the texts to embed separately, by the column of their vectors.

    Chunks and sub-chunks are read behind their document's title.
    """
    spans = chunks.sentence_spans()
    texts = {
        "chunk.vectors": [text for text, _ in chunks.titled_texts()],
        "sentence.vectors": list(
            map("".join, zip(chunks.texts_above(), chunks.texts_at(spans), strict=True))
        ),
    }
    if chunks.parts is not None:
        texts["subchunk.vectors"] = chunks.titled_parts()
    return texts


def embed_names(keys: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Return the (n, d) vectors of entity names."""
    return embedder.embed(list(keys), kind="document")


def name_columns(entities: Sequence[int], vectors: NDArray[np.float32]) -> Columns:
    """Return the columns of name vectors; row i belongs to entities[i]."""
    return {"name.entity": np.asarray(entities, dtype=np.int32), "name.vectors": vectors}


def _quantize(vectors: NDArray[np.float32], dtype: type[np.generic]) -> NDArray[Any]:
    """Scale (n, d) token vectors to unit length, in the type `dtype`."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit if dtype is np.float32 else np.asarray(np.rint(unit * _SCALE), dtype=np.int8)


def _mark_term_tokens(spans: NDArray[Any], tokens: TokenVectors) -> NDArray[np.bool_]:
    """Mark the (n,) tokens that overlap one of the (m, 2) `spans` of terms.

    Marks and stop words are what hardly any token of a question is nearest to.
    """
    begins, ends = tokens.spans.T
    last = np.searchsorted(spans[:, 0], ends, side="left") - 1  # the last that begins before
    n_before = np.concatenate([[0], spans[:, 1]])  # the terms end in the order in which they begin
    return np.asarray(n_before[last + 1] > begins)


def _token_range(tokens: TokenVectors, start: int, end: int) -> tuple[int, int]:
    """Return the tokens [first, last) that overlap the characters [start, end)."""
    first = int(np.searchsorted(tokens.spans[:, 1], start, side="right"))
    last = int(np.searchsorted(tokens.spans[:, 0], end, side="left"))
    return first, max(last, first)


def _means(tokens: TokenVectors, places: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    """Return the unit mean of each token range; the text's vector for an empty range."""
    means = np.repeat(tokens.pooled[None], len(places), axis=0)
    for row, (first, last) in enumerate(places):
        if first < last:
            mean = tokens.vectors[first:last].mean(axis=0, dtype=np.float64)
            length = float(np.linalg.norm(mean))
            if length > 0:
                means[row] = mean / length
    return means
