"""Build the rows of document batches, sequentially or by workers with the same result.

What a batch becomes depends on its documents, the recipe and the models, but for one thing: a name
is embedded where the index lacks its vector, so that depends on the batches before. Workers make
the rows in any order; which names each batch is to embed is settled here, in the batches' order.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import expand_ranges
from clew.base.types import Document, Scalar
from clew.errors import ClewError, RecipeMismatch
from clew.index.adding import Hashed
from clew.index.layers import chunks, entities, vectors
from clew.index.layers.chunks import Chunks, Columns
from clew.index.layers.vectors import ChunkKey, ChunkVectors, chunk_keys
from clew.index.recipe import LATE
from clew.index.snapshot.batch import Batch
from clew.index.store import schema
from clew.index.store.columns import StoredColumns
from clew.index.store.segmented import Store
from clew.models import Models, gives_tokens
from clew.models.run import Meter
from clew.stopping import Stop
from clew.text.chunking import Chunking, Window
from clew.text.sentences import NUPUNKT, Splitter
from clew.text.statements import Statement

Spans = Sequence[Sequence[tuple[int, int]]]

_FEW = 4_096  # characters: the few chunks of a shorter document are embedded sooner than found


class Rows(NamedTuple):
    """The rows of a batch of documents, independent of the rest of the index."""

    entities: list[str]  # keys
    terms: list[str]
    columns: Columns
    nameable: frozenset[int]  # entities that questions can be linked to
    bare: tuple[tuple[str, str], ...] = ()  # of each text without a vector: document, and a note


class Pending(Protocol):
    """A task submitted to a worker."""

    def is_done(self) -> bool:
        """Check whether the result is available; errors are raised by `result`."""

    def result(self) -> Any:  # noqa: ANN401 -- as the task returns
        """Return the task's result, or raise its error.

        Raises ModelError where workers that had it ended again and again.
        """


class Workers(Protocol):
    """Processes with loaded models, on this machine or others."""

    @property
    def n(self) -> int:
        """Return the number of tasks that run at once."""

    def submit(self, task: str, *given: Any) -> Pending:  # noqa: ANN401 -- as the task takes
        """Submit one of `workers.tasks`; tasks start in submission order.

        A worker that ends before its task is done is replaced, and the task is done again.
        """

    def close(self) -> None:
        """Stop the workers, dropping unfinished tasks."""


def build_rows(
    documents: Sequence[Document],
    recipe: Mapping[str, Scalar],
    models: Models,
    meter: Meter,
    stored: Mapping[ChunkKey, ChunkVectors],
) -> Rows:
    """Return the rows of some documents, without the vectors of names.

    Chunks whose vectors are `stored` are not embedded again.
    """
    with meter.stage("chunk"):
        cut = chunks.cut_chunks(documents, read_chunking(recipe))
        columns = chunks.chunk_columns(cut) | chunks.sentence_columns(cut)
        columns |= chunks.subchunk_columns(cut)
        counted, found_terms = chunks.count_columns(cut)
    with meter.stage("entities"):
        mentioned, keys = entities.mention_columns(cut, models.tagger)
        nameable = frozenset(entities.find_nameable(mentioned, len(keys)))
    bare: tuple[tuple[str, str], ...] = ()
    with meter.stage("vectors"):
        embedder, code = models.embedder, partial(schema.encode_array, recipe=recipe)
        if recipe["vectors"] == LATE and gives_tokens(embedder):
            tokens = schema.token_type(recipe)
            embedded = vectors.late_columns(cut, embedder, code, tokens=tokens, stored=stored)
        else:
            embedded = vectors.separate_columns(cut, embedder, code)
            bare = tuple(
                (cut.documents[cut.owners[c]].id, f"no vector for the characters {start}-{end}")
                for c, start, end in vectors.find_zero_rows(cut, embedded, embedder.dimension, code)
            )
    return Rows(keys, found_terms, columns | counted | mentioned | embedded, nameable, bare)


def build_batch(documents: Sequence[Document], store: Store, models: Models, meter: Meter) -> Batch:
    """Return the rows of `documents` for a store, without committing them."""
    stored = read_stored_vectors(store, documents)
    rows = build_rows(documents, store.recipe, models, meter, stored)
    unnamed = [i for i in store.unnamed(rows.entities) if i in rows.nameable]
    with meter.stage("vectors"):
        name_vectors = vectors.embed_names([rows.entities[i] for i in unnamed], models.embedder)
    return _build_batch(documents, rows, unnamed, name_vectors)


def _build_batch(
    documents: Sequence[Document],
    rows: Rows,
    unnamed: Sequence[int],
    name_vectors: Any,  # noqa: ANN401 -- vectors
) -> Batch:
    return Batch(
        documents=documents,
        entities=rows.entities,
        terms=rows.terms,
        columns=rows.columns | vectors.name_columns(unnamed, name_vectors),
        notes=rows.bare,
    )


@dataclass(slots=True)
class _PendingBatch:
    """A batch built by workers: first its rows, then the name vectors assigned to it."""

    batch: Hashed
    documents: list[Document]
    pending: Pending  # its rows
    rows: Rows | None = None
    unnamed: list[int] = field(default_factory=list)
    names: Pending | None = None

    @property
    def size(self) -> int:
        return sum(len(document.text) for document in self.documents)

    @property
    def claimed(self) -> list[str]:
        return [self.rows.entities[i] for i in self.unnamed] if self.rows else []


def build_by_workers(
    workers: Workers,
    batches: Iterator[Hashed],
    store: Store,
    meter: Meter,
    stop: Stop,
    *,
    most: int,
) -> Iterator[tuple[Hashed, Batch]]:
    """Yield batches with their rows in order; commit each before requesting the next.

    Batches of `most` characters are at hand, and the one that goes beyond. Where `stop` is asked
    for, the batch that is next is the last. An error, of what is read or of a worker, is raised
    once all batches before it are committed, as where there are no workers.
    """
    at_hand: deque[_PendingBatch] = deque()
    claimed: set[str] = set()  # keys whose vectors batches at hand will bring
    error: ClewError | None = None  # that batches end with
    while not stop.is_asked:
        while error is None and sum(each.size for each in at_hand) < most and not stop.is_asked:
            try:
                batch = next(batches, None)
            except ClewError as raised:
                error = raised
                break
            if batch is None:
                break
            store.lock()  # which names are embedded depends on what the store has now
            documents = [document for document, _ in batch]
            stored = read_stored_vectors(store, documents)
            bare = [replace(document, pictures={}) for document in documents]
            rows = workers.submit("rows", bare, dict(store.recipe), stored)
            at_hand.append(_PendingBatch(batch, documents, rows))
        if not at_hand:
            if error is not None:
                raise error
            return
        _embed_names(at_hand, claimed, workers, store, meter)
        first = at_hand.popleft()
        assert first.rows is not None  # noqa: S101 -- the first one's are waited for
        assert first.names is not None  # noqa: S101
        with meter.stage("workers"):
            name_vectors = first.names.result()
        yield first.batch, _build_batch(first.documents, first.rows, first.unnamed, name_vectors)
        claimed.difference_update(first.claimed)


def _embed_names(
    at_hand: Iterable[_PendingBatch],
    claimed: set[str],
    workers: Workers,
    store: Store,
    meter: Meter,
) -> None:
    """Submit the name embedding of the first batch, and of later ones whose rows are ready."""
    for place, each in enumerate(at_hand):
        if each.names is not None:
            continue
        if place and not each.pending.is_done():
            return
        with meter.stage("workers"):
            rows = each.rows = each.pending.result()
        new = (i for i in store.unnamed(rows.entities) if i in rows.nameable)
        each.unnamed = [i for i in new if rows.entities[i] not in claimed]
        claimed.update(each.claimed)
        each.names = workers.submit("names", each.claimed)


def read_chunking(recipe: Mapping[str, Scalar]) -> Chunking:
    """Return the chunking settings of a recipe."""
    return Chunking(
        size=_read_int(recipe, "chunk_size"),
        overlap=_read_int(recipe, "chunk_overlap"),
        subchunk_depth=_read_int(recipe, "subchunk_depth"),
        splitter=cast("Splitter", recipe.get("splitter", NUPUNKT)),
    )


def _read_int(recipe: Mapping[str, Scalar], name: str) -> int:
    value = recipe[name]
    if not isinstance(value, int):
        raise RecipeMismatch(f"the index's recipe has {name} {value!r}: index into a new folder")
    return value


def read_stored_vectors(
    store: Store, documents: Sequence[Document]
) -> dict[ChunkKey, ChunkVectors]:
    """Return stored chunk vectors that changed versions of long `documents` can reuse.

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
    statements = (tuple(Statement(*span) for span in part) for part in sentences)
    windows = [Window(*each) for each in zip(*fields, statements, strict=True)]
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
    """Return a layer's rows below n chunks, and the first row of each chunk but the first."""
    rows, owners = columns.rows_below(layer, chunks)
    return rows, np.searchsorted(owners, np.arange(1, len(chunks)))


def _split_spans(
    columns: StoredColumns,
    layer: str,
    ends: tuple[str, str],
    rows: NDArray[Any],
    bounds: NDArray[Any],
) -> Spans:
    """Return two columns of a layer as pairs, grouped by chunk."""
    pairs = np.stack([columns.take(f"{layer}.{name}", rows) for name in ends], axis=1)
    return [[(a, b) for a, b in part.tolist()] for part in np.split(pairs, bounds)]
