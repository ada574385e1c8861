"""Batches of documents to rows, here one after another, or by workers with the same result.

What a batch becomes depends on its documents, the recipe and the models, but for one thing: a name
is embedded where the index lacks its vector, so that depends on the batches before. Workers make
the rows in any order; which names each batch is to embed is settled here, in the batches' order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clew.errors import RecipeMismatch
from clew.layers import chunks, entities, terms, vectors
from clew.models import Models, gives_tokens
from clew.models.metered import Meter, metered
from clew.store import Store, schema
from clew.text.chunking import Chunking
from clew.types import Batch, Document, Scalar

if TYPE_CHECKING:
    from clew.layers.chunks import Columns
    from clew.stopping import Stop

LATE = "late"  # one pass per chunk gives all of its vectors; else every text is embedded by itself

Hashed = list[tuple[Document, str]]  # documents with their content hashes


@dataclass(frozen=True, slots=True)
class Rows:
    """What a batch of documents becomes, whatever else the index has."""

    entities: list[str]  # keys
    terms: list[str]
    columns: Columns
    nameable: frozenset[int]  # entities that questions can be linked to


class Pending(Protocol):
    """A task that a worker was given."""

    def is_done(self) -> bool: ...

    def result(self) -> Any:  # noqa: ANN401 -- as the task returns
        """Return what the task returned, once it is done; raise what it raised.

        Raises ModelError where workers that had it ended again and again.
        """
        ...


class Workers(Protocol):
    """Processes that have the models, on this machine or on others."""

    @property
    def n(self) -> int:
        """How many tasks can be done at once."""
        ...

    def submit(self, task: str, *given: Any) -> Pending:  # noqa: ANN401 -- as the task takes
        """Let a worker do one of `clew.workers.tasks`; tasks begin in the order given.

        A worker that ends before its task is done is replaced, and the task is done again.
        """
        ...

    def close(self) -> None:
        """End the workers, and what they have at hand."""
        ...


def rows_of(
    documents: Sequence[Document], recipe: Mapping[str, Scalar], models: Models, meter: Meter
) -> Rows:
    """Return the rows of some documents, without the vectors of names."""
    models = metered(models, meter)
    with meter.stage("chunk"):
        cut = chunks.cut(documents, chunking(recipe))
        columns = chunks.chunk_columns(cut) | chunks.sentence_columns(cut)
        columns |= chunks.subchunk_columns(cut)
        counted, found_terms = terms.count_columns(cut)
    with meter.stage("entities"):
        mentioned, keys = entities.mention_columns(cut, models.tagger, found_terms)
        nameable = frozenset(entities.nameable(mentioned, len(keys)))
    with meter.stage("vectors"):
        embedder, code = models.embedder, partial(schema.in_codes, recipe=recipe)
        if recipe["vectors"] == LATE and gives_tokens(embedder):
            embedded = vectors.late_columns(cut, embedder, code)
        else:
            embedded = vectors.separate_columns(cut, embedder, code)
    return Rows(keys, found_terms, columns | counted | mentioned | embedded, nameable)


def build(documents: Sequence[Document], store: Store, models: Models, meter: Meter) -> Batch:
    """Return the rows of `documents` as they come into a store, without committing them."""
    rows = rows_of(documents, store.recipe, models, meter)
    unnamed = [i for i in store.unnamed(rows.entities) if i in rows.nameable]
    with meter.stage("vectors"):
        embedder = metered(models, meter).embedder
        found = vectors.embedded_names([rows.entities[i] for i in unnamed], embedder)
    return _batch(documents, rows, unnamed, found)


def _batch(documents: Sequence[Document], rows: Rows, unnamed: Sequence[int], found: Any) -> Batch:  # noqa: ANN401 -- vectors
    return Batch(
        documents=documents,
        entities=rows.entities,
        terms=rows.terms,
        columns=rows.columns | vectors.name_columns(unnamed, found),
    )


@dataclass(slots=True)
class _AtHand:
    """A batch that workers have."""

    batch: Hashed
    rows: Pending
    unnamed: list[int] = field(default_factory=list)
    names: Pending | None = None

    @property
    def documents(self) -> list[Document]:
        return [document for document, _ in self.batch]

    @property
    def size(self) -> int:
        return sum(len(document.text) for document, _ in self.batch)


def built_by(
    workers: Workers,
    batches: Iterator[Hashed],
    store: Store,
    meter: Meter,
    stop: Stop,
    *,
    most: int,
) -> Iterator[tuple[Hashed, Batch]]:
    """Yield batches with their rows, in order; each must be committed before the next is taken.

    Batches of `most` characters are at hand, and the one that goes beyond. Where `stop` is asked
    for, the batch that is next is the last.
    """
    at_hand: deque[_AtHand] = deque()
    claimed: set[str] = set()  # keys whose vectors batches at hand will bring
    ended = False
    while True:
        while not (ended or stop.is_asked) and sum(each.size for each in at_hand) < most:
            batch = next(batches, None)
            if batch is None:
                ended = True
                break
            store.lock()  # which names are embedded depends on what the store has now
            documents = [document for document, _ in batch]
            at_hand.append(_AtHand(batch, workers.submit("rows", documents, dict(store.recipe))))
        if not at_hand:
            return
        for each in at_hand:
            if each.names is None:
                if each is not at_hand[0] and not each.rows.is_done():
                    break
                with meter.stage("workers"):
                    rows = each.rows.result()
                missing = (i for i in store.unnamed(rows.entities) if i in rows.nameable)
                each.unnamed = [i for i in missing if rows.entities[i] not in claimed]
                keys = [rows.entities[i] for i in each.unnamed]
                claimed.update(keys)
                each.names = workers.submit("names", keys)
        first = at_hand.popleft()
        assert first.names is not None  # noqa: S101 -- the first one's are always submitted
        with meter.stage("workers"):
            rows, found = first.rows.result(), first.names.result()
        yield first.batch, _batch(first.documents, rows, first.unnamed, found)
        claimed.difference_update(rows.entities[i] for i in first.unnamed)
        if stop.is_asked:
            return


def chunking(recipe: Mapping[str, Scalar]) -> Chunking:
    """Return how an index with this recipe cuts documents."""
    return Chunking(
        size=_int(recipe, "chunk_size"),
        overlap=_int(recipe, "chunk_overlap"),
        subchunk_depth=_int(recipe, "subchunk_depth"),
    )


def _int(recipe: Mapping[str, Scalar], name: str) -> int:
    value = recipe[name]
    if not isinstance(value, int):
        raise RecipeMismatch(f"the index's recipe has {name} {value!r}: index into a new folder")
    return value
