"""Join cuts of several shards into a snapshot that any method can run on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew import Snapshot
from clew.base.derived import Arrays, CachedArrays
from clew.base.types import Document, Scalar, VocabularyEntry
from clew.errors import StoreError
from clew.extras.cluster.shards.exchange import Taken, count_entities
from clew.extras.cluster.shards.salient_merging import SalientTerms, combine_salient_terms
from clew.extras.cluster.shards.whole import CombinedShards
from clew.filters import match, parse
from clew.index.generation.assemble import assemble
from clew.index.generation.assembly import Assembly, IndexCounts
from clew.index.generation.layers import Parts, build_snapshot, resolve_aliases
from clew.index.layers.statistical import STATISTICAL
from clew.index.snapshot.layers import Totals
from clew.index.store import schema


@dataclass
class _View:
    """Cuts of shards as a store view: documents by row, and shared keys only once."""

    recipe: Mapping[str, Scalar]
    segments: Sequence[Mapping[str, NDArray[Any]]]
    stored: Sequence[Document]
    names: Mapping[str, Mapping[str, int]]  # the row of each entity and term
    together: CombinedShards
    generation: int = 0

    def live_documents(self) -> Sequence[tuple[str, int]]:
        return sorted((document.id, row) for row, document in enumerate(self.stored))

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        documents = [self.stored[row] for row in rows]
        return documents if texts else [replace(each, text="") for each in documents]

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        keys = list(self.names[table])
        return [keys[row] for row in rows]

    def rows(self, table: str, keys: Sequence[str]) -> Mapping[str, int]:
        place = dict(self.live_documents()) if table == "document" else self.names[table]
        return {key: place[key] for key in keys if key in place}

    def count(self, table: str) -> int:
        return len(self.stored if table == "document" else self.names[table])

    def aliases(self) -> Mapping[str, str]:
        return self.together.aliases

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        return self.together.vocabulary

    def close(self) -> None:
        pass


def join_shards(taken: Sequence[Taken], together: CombinedShards) -> Snapshot:
    """Return a snapshot of cuts from shards; entities are joined by key.

    Raises StoreError where two shards have a document of one id.
    """
    whole, recipe = together.whole, together.recipe
    view, numbers = _build_view(taken, together)
    live = view.live_documents()
    twice = next((a for (a, _), (b, _) in pairwise(live) if a == b), None)
    if twice is not None:
        raise StoreError(f"the document {twice!r} is in two shards: remove it from one of them")
    n_chunks = sum(len(each.batch.columns["chunk.document"]) for each in taken)
    has_all = n_chunks == whole.n_chunks and not together.missing
    pairs, rows = resolve_aliases(together.aliases), view.names["entity"]
    counts = IndexCounts(whole.n_chunks, numbers["term"][1], numbers["entity"][0])
    assembly = assemble(
        view.segments,
        np.array([row for _, row in live], dtype=np.int64),
        {rows[a]: rows[b] for a, b in pairs.items() if a in rows and b in rows},
        halved=recipe["subchunk_depth"] != 0,
        whole=None if has_all else counts,
        during=match.find_time(parse(together.where)) if together.where else 0,
    )
    snapshot = build_snapshot(Parts(assembly, view), recall=None)
    if has_all:
        return snapshot
    parts = [each.salient for each in taken if each.salient is not None]
    if len(parts) == len(taken):
        recall = partial(_recall_carried, parts, assembly.stored["chunk"])
        snapshot = replace(snapshot, recall=recall)
    return replace(snapshot, totals=_build_totals(snapshot, assembly, together, numbers))


def _recall_carried(
    parts: Sequence[SalientTerms],
    chunks: NDArray[np.int64],
    snapshot: Snapshot,
    what: CachedArrays,
    given: Mapping[str, Any],
) -> Arrays:
    """Return values of some chunks that depend on all chunks of their shards."""
    if what is STATISTICAL:
        return combine_salient_terms(snapshot, parts, chunks)
    return what.compute(snapshot, **given)


def _build_view(
    taken: Sequence[Taken], together: CombinedShards
) -> tuple[_View, dict[str, NDArray[np.int64]]]:
    """Return cuts as the view of one store, with global counts of entities and terms."""
    whole, recipe = together.whole, together.recipe
    names: dict[str, dict[str, int]] = {"entity": {}, "term": {}}
    segments: list[Mapping[str, NDArray[Any]]] = []
    documents: list[Document] = []
    first: dict[str, int] = {}
    places: dict[str, list[list[int]]] = {"entity": [], "term": []}
    for each in taken:
        keys = {"entity": each.batch.entities, "term": each.batch.terms}
        for table, rows_of in names.items():
            places[table].append([rows_of.setdefault(key, len(rows_of)) for key in keys[table]])
        own = {table: rows[-1] for table, rows in places.items()}
        arrays = schema.place_batch(each.batch, own, {"document": len(documents), **first}, recipe)
        for layer, n in schema.count_rows(arrays).items():
            first[layer] = first.get(layer, 0) + n
        segments.append(arrays)
        documents += each.batch.documents
    known = {"entity": whole.entities.numbers, "term": whole.terms.numbers}
    numbers = {t: np.zeros((len(known[t]), len(names[t])), dtype=np.int64) for t in names}
    for at, each in enumerate(taken):
        entities, terms = whole.entities.find(each.entities), whole.terms.find(each.terms)
        for table, counts in (("entity", entities), ("term", terms)):
            rows = np.asarray(places[table][at], dtype=np.int64)
            numbers[table][:, rows] = np.maximum(numbers[table][:, rows], counts)
    return _View(recipe, segments, documents, names, together), numbers


def _build_totals(
    snapshot: Snapshot,
    assembly: Assembly,
    together: CombinedShards,
    numbers: Mapping[str, NDArray[np.int64]],
) -> Totals:
    """Return the totals over all shards by the rows of a snapshot, never below its own."""
    of_entities = numbers["entity"][:, assembly.stored["entity"]]
    mentioned, titled, either = np.maximum(of_entities, count_entities(snapshot))
    n_here = snapshot.linked("term", "chunk").counts
    return Totals(
        n_chunks=together.whole.n_chunks,
        n_titles=together.whole.n_titles,
        mean_length=together.whole.mean_length,
        term_chunks=np.maximum(numbers["term"][0][assembly.stored["term"]], n_here),
        mentioned=mentioned,
        titled=titled,
        either=either,
        missing=together.missing,
        reached=together.reached,
    )
