"""A batch: the rows that one commit adds, possibly cut from a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clew.base.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rows that one commit adds: documents with all rows below them, extractions, or both.

    `columns` holds arrays by "layer.column". A column that holds rows of another layer counts from
    the first row of the batch; entities and terms are positions in `entities` and `terms`, which
    the store turns into its own rows. Extractions beside documents belong to the chunks of the
    batch; without any, to chunks that are in the index already: `extraction.chunk` holds the
    "number" of a snapshot's chunks.
    """

    documents: Sequence[Document] = ()
    entities: Sequence[str]  # keys, by first occurrence
    terms: Sequence[str]
    columns: Mapping[str, NDArray[np.generic]]
    notes: Sequence[tuple[str, str]] = ()  # for the report of the run, by the document's id


class Cut(NamedTuple):
    """Chunks of a snapshot as a batch, with their rows in the snapshot.

    The arrays hold the row of each of the batch's chunks, entities and terms, -1 for one that the
    snapshot does not count: a word that only begins sentences.
    """

    batch: Batch
    chunks: NDArray[np.int64]
    entities: NDArray[np.int64]
    terms: NDArray[np.int64]
