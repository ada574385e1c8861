"""The vectors of chunks that a new version of a document has in common with the stored one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.links import expand_ranges
from clew.index import LATE
from clew.layers.chunks import Chunks
from clew.layers.vectors import ChunkKey, ChunkVectors, chunk_keys
from clew.store.columns import StoredColumns
from clew.text.chunking import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.store import Store
    from clew.types import Document

    Spans = Sequence[Sequence[tuple[int, int]]]

_FEW = 4_096  # characters: the few chunks of a shorter document are embedded sooner than found


def read_stored_vectors(
    store: Store, documents: Sequence[Document]
) -> dict[ChunkKey, ChunkVectors]:
    """Return the vectors of the chunks that former versions of long `documents` have.

    None where an index embeds each text by itself: what is paid for is cached by its text.
    """
    ids = [document.id for document in documents if len(document.text) > _FEW]
    if not ids or store.recipe["vectors"] != LATE:
        return {}
    with closing(store.view()) as view:
        former = list(view.rows("document", ids).values())
        if not former:
            return {}
        columns = StoredColumns(view.segments)
        halves = bool(store.recipe["subchunk_depth"])
        return _read_vectors(columns, view.documents(former), np.array(former), halves=halves)


def _read_vectors(
    columns: StoredColumns, documents: Sequence[Document], former: NDArray[Any], *, halves: bool
) -> dict[ChunkKey, ChunkVectors]:
    rows, owners = columns.rows_below("chunk", former)
    fields = (columns.take(f"chunk.{name}", rows).tolist() for name in ("start", "end", "n_tokens"))
    sentence_rows, bounds = _rows_of_chunks(columns, "sentence", rows)
    sentences = _split_spans(columns, "sentence", ("start", "end"), sentence_rows, bounds)
    windows = [Window(*each) for each in zip(*fields, map(tuple, sentences), strict=True)]
    part_rows, part_bounds = _rows_of_chunks(columns, "subchunk", rows)
    parts = _split_spans(columns, "subchunk", ("start", "end"), part_rows, part_bounds)
    counts = columns.tail("chunk.n_stored", 0)
    ends = np.cumsum(counts, dtype=np.int64)[rows]
    token_owners, token_rows = expand_ranges(ends - counts[rows], ends)
    token_bounds = np.searchsorted(token_owners, np.arange(1, len(rows)))
    vectors = zip(
        np.split(columns.take("chunk.vectors", rows), np.arange(1, len(rows))),
        np.split(columns.take("sentence.vectors", sentence_rows), bounds),
        np.split(columns.take("subchunk.vectors", part_rows), part_bounds),
        np.split(columns.take("token.vectors", token_rows), token_bounds),
        _split_spans(columns, "sentence", ("first_token", "last_token"), sentence_rows, bounds),
        strict=True,
    )
    chunks = Chunks(documents, owners.tolist(), windows, parts if halves else None)
    return {key: ChunkVectors(*each) for key, each in zip(chunk_keys(chunks), vectors, strict=True)}


def _rows_of_chunks(
    columns: StoredColumns, layer: str, chunks: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows of a layer below n chunks, and where those of the last n - 1 begin."""
    rows, owners = columns.rows_below(layer, chunks)
    return rows, np.searchsorted(owners, np.arange(1, len(chunks)))


def _split_spans(
    columns: StoredColumns,
    layer: str,
    ends: tuple[str, str],
    rows: NDArray[Any],
    bounds: NDArray[Any],
) -> Spans:
    """Return two columns of a layer as pairs, those of each chunk together."""
    pairs = np.stack([columns.take(f"{layer}.{name}", rows) for name in ends], axis=1)
    return [[(a, b) for a, b in part.tolist()] for part in np.split(pairs, bounds)]
