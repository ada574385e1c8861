# ruff: noqa: S101 -- a contract speaks in assert
"""What Clew relies on in a store, as tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import index
from clew.errors import IndexLocked, InputError, MissingLayer
from clew.index import choose
from clew.layers.extractions import Extracted, graph_batch
from clew.layers.imported import Statements, imported_batch
from clew.models.metered import Meter
from clew.types import (
    GRAPH,
    UNITS,
    Batch,
    Document,
    Extraction,
    Scalar,
    Snapshot,
    Triple,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.store import Store

    OpenStore = Callable[[], Store]
from clew.testing.doubles import models
from clew.testing.small import small_documents


class StoreContract:
    """What a store must do. Give the fixture `open_store`.

    It is a function without arguments that opens one new store, and each time it is called again
    another session on that same store, made with the recipe `StoreContract.recipe`.
    """

    recipe: Mapping[str, Scalar] = index.Settings().recipe(models())

    @staticmethod
    def _batch(store: Store, *documents: Document) -> Batch:
        return index.build(documents, store, models(), Meter())

    def _commit(self, store: Store, *documents: Document) -> int:
        hashes = [index.content_hash(document) for document in documents]
        return store.commit(self._batch(store, *documents), hashes)

    def test_new_store_is_empty(self, open_store: OpenStore) -> None:
        """A new store has its recipe, no document, and a snapshot without rows."""
        store = open_store()
        snapshot = store.snapshot()
        assert dict(store.recipe) == dict(self.recipe)
        assert store.hashes() == {}
        assert store.wasted() == 0
        assert [len(layer) for layer in snapshot.layers.values()] == [0] * len(snapshot.layers)
        snapshot.close()
        store.close()

    def test_commit_is_seen_at_once(self, open_store: OpenStore) -> None:
        """What is committed is in `hashes`, in the next generation and in the next snapshot."""
        store = open_store()
        before = store.generation
        a, b = small_documents()[:2]
        assert self._commit(store, a, b) == store.generation > before
        assert store.hashes() == {d.id: index.content_hash(d) for d in (a, b)}
        with _open(store) as snapshot:
            assert snapshot.generation == store.generation
            assert snapshot.documents([0, 1]) == [a, b]
            check_consistent(snapshot)
        store.close()

    def test_same_id_replaces(self, open_store: OpenStore) -> None:
        """A document replaces the one of its id."""
        store = open_store()
        a, b = small_documents()[:2]
        self._commit(store, a, b)
        new = replace(a, text="Something else about Cape Lund.")
        self._commit(store, new)
        assert store.hashes()[a.id] == index.content_hash(new)
        with _open(store) as snapshot:
            assert snapshot.documents([0, 1]) == [new, b]
            check_consistent(snapshot)
        store.close()

    def test_snapshots_do_not_change(self, open_store: OpenStore) -> None:
        """A snapshot gives the same rows, texts and vectors whatever is committed after it."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents[:4])
        with _open(store) as snapshot:
            before = contents(snapshot, vectors=False)
            self._commit(store, *documents[4:])
            store.remove([documents[0].id])
            store.compact()
            store.freeze()
            assert contents(snapshot, vectors=False) == before
            assert len(snapshot.layer("chunk").vectors) == len(snapshot.layer("chunk"))
        store.close()

    def test_remove_and_revive(self, open_store: OpenStore) -> None:
        """Removed documents are gone; one of the same id and hash comes back as it was."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents)
        hashes = dict(store.hashes())
        with _open(store) as snapshot:
            before = contents(snapshot)
        ids = [documents[2].id, documents[5].id]
        generation = store.generation
        assert store.remove([*ids, "never there"]) == ids
        assert store.generation > generation
        assert not set(ids) & set(store.hashes())
        assert store.wasted() > 0
        generation = store.generation
        assert store.remove(ids) == []
        assert store.revive({documents[0].id: hashes[documents[0].id]}) == []
        assert store.revive({ids[0]: "another hash", "never there": "x"}) == []
        assert store.generation == generation
        assert store.revive({i: hashes[i] for i in ids}) == ids
        assert store.hashes() == hashes
        with _open(store) as snapshot:
            assert contents(snapshot) == before
        store.close()

    def test_unnamed_entities(self, open_store: OpenStore) -> None:
        """An entity key is unnamed until a batch brings its name vector."""
        store = open_store()
        document = small_documents()[0]
        batch = self._batch(store, document)
        named = [batch.entities[i] for i in batch.columns["name.entity"].tolist()]
        assert store.unnamed([*named, "never there"]) == list(range(len(named) + 1))
        store.commit(batch, ["hash"])
        assert store.unnamed([*named, "never there"]) == [len(named)]
        store.close()

    def test_compact_and_freeze_change_no_row(self, open_store: OpenStore) -> None:
        """Compacting and freezing leave every row, text, link and vector as it was."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents[6:])
        self._commit(store, *documents[:7])
        store.remove([documents[3].id])
        with _open(store) as snapshot:
            before = contents(snapshot)
        hashes = dict(store.hashes())
        for change in (store.freeze, store.compact, store.freeze):
            change()
            assert store.hashes() == hashes
            with _open(store) as snapshot:
                assert contents(snapshot) == before
                check_consistent(snapshot)
        assert store.wasted() == 0
        store.close()

    def test_everything_is_kept(self, open_store: OpenStore) -> None:
        """A store that was closed opens with the same generation, documents and rows."""
        store = open_store()
        self._commit(store, *small_documents())
        generation, hashes = store.generation, dict(store.hashes())
        with _open(store) as snapshot:
            before = contents(snapshot)
        store.close()
        again = open_store()
        assert (again.generation, again.hashes()) == (generation, hashes)
        with _open(again) as snapshot:
            assert contents(snapshot) == before
        again.close()

    def test_extractions_hang_on_chunks(self, open_store: OpenStore) -> None:
        """The newest extraction of a chunk counts, goes with its document, and comes back."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents)
        hashes = dict(store.hashes())
        self._extract(store, "met")
        self._extract(store, "saw")
        with _open(store) as snapshot:
            before = contents(snapshot)
            check_consistent(snapshot)
            triples = snapshot.layer("triple")
            assert len(triples) == 1
            assert triples.texts([0]) == ["Mira Toll saw Bo Dahl"]
            assert set(snapshot.link("triple", "chunk").indices) == {0, 1}
        store.remove([documents[0].id, documents[1].id])
        with _open(store) as snapshot:
            assert not len(snapshot.layer("triple"))
        store.revive(hashes)
        for change in (store.compact, store.freeze):
            change()
            with _open(store) as snapshot:
                assert contents(snapshot) == before
        store.close()

    def test_documents_come_with_their_extractions(self, open_store: OpenStore) -> None:
        """A batch may have both, and then its extractions are of its own chunks."""
        store = open_store()
        self._commit(store, *small_documents())
        statements = Statements()
        statements.add(Triple(subject="Mira Toll", relation="met", object="Bo Dahl"), "")
        statements.add(Triple(subject="Bo Dahl", relation="left", object="Verle"), "")
        graph = statements.graph()
        subjects = list(graph.subjects("kg.tsv", "kg.tsv"))
        batch = imported_batch(
            graph,
            subjects,
            index.chunking(store.recipe),
            models().embedder,
            store.unnamed,
            late=store.recipe["vectors"] == index.LATE,
        )
        store.commit(batch, [subject.content for subject in subjects])
        with _open(store) as snapshot:
            check_consistent(snapshot)
            before = contents(snapshot)
            assert before["triple"]["texts"] == ["Bo Dahl left Verle", "Mira Toll met Bo Dahl"]
            chunks = snapshot.layer("chunk").texts(
                snapshot.link("triple", "chunk").indices.tolist()
            )
            assert chunks == ["Bo Dahl left Verle.", "Mira Toll met Bo Dahl."]
            entities = snapshot.layer("entity")
            assert entities.columns["linkable"][entities.rows(["bo dahl"])].all()
        for change in (store.compact, store.freeze):
            change()
            with _open(store) as snapshot:
                assert contents(snapshot) == before
        store.remove([subject.document.id for subject in subjects])
        with _open(store) as snapshot:
            assert not len(snapshot.layer("triple"))
        store.close()

    def test_work_is_kept_until_it_is_done(self, open_store: OpenStore) -> None:
        """Chunks wait in their packs, through a compaction, until their extraction comes."""
        store = open_store()
        self._commit(store, *small_documents()[4:])
        self._commit(store, *small_documents()[:4])
        with _open(store) as snapshot:
            stored = choose.stored_chunks(snapshot).tolist()
        store.set_work(GRAPH, {stored[0]: 0, stored[1]: 0, stored[2]: 1, stored[3]: -1})
        store.set_wanted({"triples": "llm"})
        store.compact()
        with _open(store) as snapshot:
            stored = choose.stored_chunks(snapshot).tolist()
        assert store.work(GRAPH) == {stored[0]: 0, stored[1]: 0, stored[2]: 1, stored[3]: -1}
        assert store.work(UNITS) == {}
        self._extract(store, "met")
        assert store.work(GRAPH) == {stored[2]: 1, stored[3]: -1}
        assert store.wanted() == {"triples": "llm"}
        store.close()

    def test_what_is_settled_later_is_in_the_recipe(self, open_store: OpenStore) -> None:
        """It is there for snapshots from then on, also through a compaction, until taken out."""
        store = open_store()
        self._commit(store, *small_documents()[:2])
        before = dict(store.recipe)
        store.settle({"entity_words": 2})
        assert dict(store.recipe) == {**before, "entity_words": 2}
        store.compact()
        with _open(store) as snapshot:
            assert dict(snapshot.recipe) == {**before, "entity_words": 2}
        store.settle({"entity_words": None})
        assert dict(store.recipe) == before
        store.close()

    def test_aliases_can_be_taken_back(self, open_store: OpenStore) -> None:
        """An entity that stands for another has no row, until it stands for itself again."""
        store = open_store()
        self._commit(store, *small_documents())
        self._extract(store, "met")
        with _open(store) as snapshot:
            before = contents(snapshot)
        other = next(key for key in before["entity"]["ids"] if key not in _TWO)
        generation = store.generation
        assert store.set_aliases({"bo dahl": other}) == store.generation > generation
        assert store.aliases() == {"bo dahl": other}
        with _open(store) as snapshot:
            entities = snapshot.layer("entity")
            assert "bo dahl" not in entities.ids(range(len(entities)))
            assert entities.rows(["bo dahl"]) == entities.rows([other])
            assert snapshot.layer("triple").ids([0]) == [f"mira toll|met|{other}"]
            check_consistent(snapshot)
        store.set_aliases({"bo dahl": "mira toll"})
        with _open(store) as snapshot:
            assert not len(snapshot.layer("triple"))  # it would say something of one thing
        store.compact()
        store.set_aliases({"bo dahl": None})
        with _open(store) as snapshot:
            assert contents(snapshot) == before
        store.close()

    @staticmethod
    def _extract(store: Store, relation: str) -> None:
        """Give the first two chunks the triple that Mira Toll and Bo Dahl are in that relation."""
        triple = Triple(subject="Mira Toll", relation=relation, object="Bo Dahl")
        with _open(store) as snapshot:
            chunks = choose.stored_chunks(snapshot)[:2].tolist()
        extraction = Extraction(triples=(triple,))
        extracted = [Extracted(chunk, "recorded", extraction) for chunk in chunks]
        store.commit(graph_batch(extracted, models(), store.unnamed), ())

    def test_stored_numbers_stay(self, open_store: OpenStore) -> None:
        """What is added or removed changes no stored number; a compaction changes the numbering."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents[4:8])
        before, numbering = self._numbers(store)
        self._commit(store, *documents[:4])
        store.remove([documents[7].id])
        store.freeze()
        after, same = self._numbers(store)
        assert same == numbering
        for name, numbers in after.items():
            assert len(set(numbers.values())) == len(numbers)
            both = numbers.keys() & before[name].keys()
            assert both
            assert {i: numbers[i] for i in both} == {i: before[name][i] for i in both}
        store.compact()
        assert self._numbers(store)[1] != numbering
        store.close()

    @staticmethod
    def _numbers(store: Store) -> tuple[dict[str, dict[str, int]], int]:
        """Return the stored number of each row of a layer by its id, and the numbering."""
        with _open(store) as snapshot:
            ids = {
                name: snapshot.layer(name).ids(range(len(rows)))
                for name, rows in snapshot.stored.items()
            }
            assert {"chunk", "sentence", "term"} <= ids.keys()
            numbers = {
                name: dict(zip(ids[name], rows.tolist(), strict=True))
                for name, rows in snapshot.stored.items()
            }
            return numbers, snapshot.numbering

    def test_what_was_computed_is_kept(self, open_store: OpenStore) -> None:
        """Arrays are kept of a frozen generation, for its snapshots and for later sessions."""
        import pytest

        store = open_store()
        self._commit(store, small_documents()[0])
        with pytest.raises(InputError):
            store.keep("odd", _ODD)
        store.freeze()
        assert store.kept("odd") is None
        with _open(store) as old:
            store.keep("odd", _ODD)
            self._check_kept(store, "odd", _ODD, fresh=True)
            other: dict[str, NDArray[Any]] = {"a": np.zeros((0, 3)), "b": np.ones(2, dtype=bool)}
            store.keep("even", other)
            store.keep("odd", other)
            self._check_kept(store, "odd", other, fresh=True)
            self._check_kept(store, "even", other, fresh=True)
            assert store.kept("never") is None
            assert old.kept("never") is None
            contents(old)
        store.close()
        again = open_store()
        self._check_kept(again, "odd", other, fresh=True)
        again.close()

    def test_what_was_kept_of_an_earlier_generation(self, open_store: OpenStore) -> None:
        """The store gives it until something newer is kept, or rows get new numbers."""
        store = open_store()
        a, b, c = small_documents()[:3]
        self._commit(store, a, b)
        store.freeze()
        store.keep("odd", _ODD)
        with _open(store) as old:
            self._commit(store, c)
            self._check_kept(store, "odd", _ODD, fresh=False)
            store.remove([a.id])
            store.freeze()
            self._check_kept(store, "odd", _ODD, fresh=False)
            _check_same(old.kept("odd"), _ODD)
            newer = {"x": np.arange(3.0)}
            store.keep("odd", newer)
            self._check_kept(store, "odd", newer, fresh=True)
        store.compact()
        assert store.kept("odd") is None
        store.freeze()
        assert store.kept("odd") is None
        store.keep("odd", _ODD)
        self._check_kept(store, "odd", _ODD, fresh=True)
        store.close()

    def test_a_claim_is_until_the_end(self, open_store: OpenStore) -> None:
        """Behind it nobody else makes a generation: what is computed is kept of its own one."""
        import pytest

        first, second = open_store(), open_store()
        a, b = small_documents()[:2]
        self._commit(first, a)
        first.freeze()
        first.close()
        first = open_store()
        first.claim()
        batch = self._batch(second, b)
        generation = first.generation
        for write in (second.claim, lambda: second.commit(batch, ["hash"]), second.compact):
            with pytest.raises(IndexLocked):
                write()
        assert first.generation == generation
        first.keep("odd", _ODD)
        self._check_kept(first, "odd", _ODD, fresh=True)
        first.close()
        second.claim()
        second.commit(batch, ["hash"])
        assert list(second.hashes()) == [a.id, b.id]
        second.close()

    @staticmethod
    def _check_kept(
        store: Store, name: str, arrays: Mapping[str, NDArray[Any]], *, fresh: bool
    ) -> None:
        """Check what the store keeps, and its newest snapshot where that is of its generation."""
        _check_same(store.kept(name), arrays)
        with _open(store) as snapshot:
            if fresh:
                _check_same(snapshot.kept(name), arrays)
            else:
                assert snapshot.kept(name) is None

    def test_one_writer(self, open_store: OpenStore) -> None:
        """While one writes, another reads, is refused to write, and may once the first is done."""
        first, second = open_store(), open_store()
        a, b = small_documents()[:2]
        self._commit(first, a)
        assert list(second.hashes()) == [a.id]
        batch = self._batch(second, b)
        try:
            second.commit(batch, ["hash"])
        except IndexLocked:
            pass
        else:
            raise AssertionError("two sessions wrote at once")
        first.close()
        second.commit(batch, ["hash"])
        assert list(second.hashes()) == [a.id, b.id]
        second.close()


@contextmanager
def _open(store: Store) -> Iterator[Snapshot]:
    snapshot = store.snapshot()
    try:
        yield snapshot
    finally:
        snapshot.close()


_ODD: Mapping[str, NDArray[Any]] = {
    "odd": np.arange(1, 9, 2),
    "of": np.array([[2.5]], dtype=np.float32),
}


def _check_same(
    found: Mapping[str, NDArray[Any]] | None, expected: Mapping[str, NDArray[Any]]
) -> None:
    assert found is not None
    assert {n: _bytes(a) for n, a in found.items()} == {n: _bytes(a) for n, a in expected.items()}


def contents(snapshot: Snapshot, *, vectors: bool = True) -> dict[str, Any]:
    """Return all that a snapshot holds as plain values; equal ones are equal byte for byte."""
    held: dict[str, Any] = {"documents": snapshot.documents(range(_n(snapshot, "document")))}
    for name, layer in snapshot.layers.items():
        rows = range(len(layer))
        held[name] = {"ids": layer.ids(rows), "texts": layer.texts(rows)}
        held[name] |= {column: _bytes(array) for column, array in layer.columns.items()}
        try:
            held[name]["vectors"] = _bytes(layer.vectors) if vectors and len(layer) else None
            held[name]["tokens"] = [_bytes(layer.tokens(row)) for row in rows]
        except MissingLayer as error:
            held[name]["missing"] = str(error)
    for pair, link in snapshot.links.items():
        held["-".join(pair)] = [link.shape, *map(_bytes, (link.indptr, link.indices, link.data))]
    return held


def _n(snapshot: Snapshot, layer: str) -> int:
    return len(snapshot.layer(layer))


def _bytes(array: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


_TWO = ("mira toll", "bo dahl")  # whom the contracts' triple is about

_POINTERS = {
    ("document", "title_entity"): "entity",
    ("chunk", "document"): "document",
    ("subchunk", "chunk"): "chunk",
    ("sentence", "chunk"): "chunk",
    ("unit", "chunk"): "chunk",
    ("triple", "subject"): "entity",
    ("triple", "object"): "entity",
    ("triple", "chunk"): "chunk",
    ("description", "entity"): "entity",
    ("description", "chunk"): "chunk",
    ("profile", "description"): "description",
    ("profile", "entity"): "entity",
    ("profile", "chunk"): "chunk",
}


# Chunks that overlap may have a part in common; merged entities are described twice in a chunk.
_REPEATING = ("subchunk", "profile")


def check_consistent(snapshot: Snapshot) -> None:
    """Raise AssertionError where a row or link of `snapshot` points to what is not there."""
    for (name, column), target in _POINTERS.items():
        pointers = snapshot.layer(name).columns[column]
        assert len(pointers) == _n(snapshot, name)
        assert pointers.max(initial=-1) < _n(snapshot, target)
        assert pointers.min(initial=0) >= (-1 if column == "title_entity" else 0)
    for (a, b), link in snapshot.links.items():
        assert link.shape == (_n(snapshot, a), _n(snapshot, b))
        assert link.indices.max(initial=-1) < link.shape[1]
        assert np.all(np.diff(link.indptr) >= 0)
        assert link.indptr[-1] == len(link.indices) == len(link.data)
        assert link.has_sorted_indices
        assert np.all(link.data > 0)
    documents = snapshot.documents(range(_n(snapshot, "document")))
    assert [d.id for d in documents] == sorted(d.id for d in documents)
    for name in ("chunk", "subchunk", "sentence", "unit", "triple", "profile"):
        layer = snapshot.layer(name)
        rows = range(len(layer))
        ids = layer.ids(rows)
        assert layer.ids(layer.rows(ids)) == ids
        assert name in _REPEATING or len(set(ids)) == len(ids)
        assert all(layer.texts(rows))
        if len(layer):
            np.testing.assert_allclose(np.linalg.norm(layer.vectors, axis=1), 1, atol=1e-3)
    entities = snapshot.layer("entity")
    assert entities.rows(entities.ids(range(len(entities)))) == list(range(len(entities)))
    if len(entities):
        lengths = np.linalg.norm(entities.vectors, axis=1)
        named = entities.columns["linkable"] | entities.columns["extracted"]
        np.testing.assert_allclose(lengths, named.astype(float), atol=1e-3)
