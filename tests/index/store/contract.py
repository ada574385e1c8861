"""What Clew relies on in a store, as tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from clew.base.types import GRAPH, UNITS, Document, Extraction, Scalar, Triple, VocabularyEntry
from clew.errors import IndexLocked, InputError
from clew.index import adding, building, choose
from clew.index import recipe as recipes
from clew.index.generation import compact, open_former, open_snapshot, wasted_share
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.layers.imported import Statements, build_imported_batch
from clew.index.snapshot.batch import Batch
from clew.models.run import Meter
from clew.testing import models, small_documents
from tests import snapshots
from tests.index.build import contents
from tests.snapshots import check_consistent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.index.store.segmented import Store

    OpenStore = Callable[[], Store]

_TWO = ("mira toll", "bo dahl")  # whom the contracts' triple is about


class StoreContract:
    """What a store must do. Give the fixture `open_store`.

    It is a function without arguments that opens one new store, and each time it is called again
    another session on that same store, made with the recipe `StoreContract.recipe`.
    """

    recipe: Mapping[str, Scalar] = recipes.Settings().build_recipe(models())

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Store]:
        """Give one new store, that is closed afterwards."""
        store = open_store()
        yield store
        store.close()

    @staticmethod
    def _batch(store: Store, *documents: Document) -> Batch:
        return building.build_batch(documents, store, models(), Meter())

    def _commit(self, store: Store, *documents: Document) -> int:
        hashes = [adding.hash_content(document) for document in documents]
        return store.commit(self._batch(store, *documents), hashes)

    def test_new_store_is_empty(self, store: Store) -> None:
        """A new store has its recipe, no document, and a snapshot without rows."""
        snapshot = open_snapshot(store)
        assert dict(store.recipe) == dict(self.recipe)
        assert store.hashes() == {}
        assert wasted_share(store) == 0
        assert [len(layer) for layer in snapshot.layers.values()] == [0] * len(snapshot.layers)
        snapshot.close()

    def test_commit_is_seen_at_once(self, store: Store) -> None:
        """What is committed is in `hashes`, in the next generation and in the next snapshot."""
        before = store.generation
        a, b = small_documents()[:2]
        assert self._commit(store, a, b) == store.generation > before
        assert store.hashes() == {d.id: adding.hash_content(d) for d in (a, b)}
        with closing(open_snapshot(store)) as snapshot:
            assert snapshot.generation == store.generation
            assert snapshot.documents([0, 1]) == [a, b]
            check_consistent(snapshot)

    def test_same_id_replaces(self, store: Store) -> None:
        """A document replaces the one of its id."""
        a, b = small_documents()[:2]
        self._commit(store, a, b)
        new = replace(a, text="Something else about Cape Lund.")
        self._commit(store, new)
        assert store.hashes()[a.id] == adding.hash_content(new)
        with closing(open_snapshot(store)) as snapshot:
            assert snapshot.documents([0, 1]) == [new, b]
            check_consistent(snapshot)

    def test_snapshots_do_not_change(self, store: Store) -> None:
        """A snapshot gives the same rows, texts and vectors whatever is committed after it."""
        documents = small_documents()
        self._commit(store, *documents[:4])
        with closing(open_snapshot(store)) as snapshot:
            before = snapshots.contents(snapshot, vectors=False)
            self._commit(store, *documents[4:])
            store.remove([documents[0].id])
            compact(store)
            _assemble(store)
            assert snapshots.contents(snapshot, vectors=False) == before
            assert len(snapshot.layer("chunk").vectors) == len(snapshot.layer("chunk"))

    def test_remove_and_revive(self, store: Store) -> None:
        """Removed documents are gone; one of the same id and hash comes back as it was."""
        documents = small_documents()
        self._commit(store, *documents)
        hashes = dict(store.hashes())
        before = contents(store)
        ids = [documents[2].id, documents[5].id]
        generation = store.generation
        assert store.remove([*ids, "never there"]) == ids
        assert store.generation > generation
        assert not set(ids) & set(store.hashes())
        assert wasted_share(store) > 0
        generation = store.generation
        assert store.remove(ids) == []
        assert store.revive({documents[0].id: hashes[documents[0].id]}) == []
        assert store.revive({ids[0]: "another hash", "never there": "x"}) == []
        assert store.generation == generation
        assert store.revive({i: hashes[i] for i in ids}) == ids
        assert store.hashes() == hashes
        assert contents(store) == before

    def test_restate(self, store: Store) -> None:
        """What documents say of themselves changes; their rows, texts and numbers do not."""
        documents = small_documents()
        adding.add_documents(store, documents, models())
        before = contents(store)
        new = replace(documents[1], text="", source="elsewhere", metadata={"kind": "x"}, pages=(0,))
        store.restate([new], ["other"])
        assert store.hashes()[new.id] == "other"
        with closing(open_snapshot(store)) as snapshot:
            after = snapshots.contents(snapshot)
            [found] = snapshot.documents([1])
        assert found == replace(new, text=documents[1].text)
        assert {k: v for k, v in after.items() if k != "documents"} == {
            k: v for k, v in before.items() if k != "documents"
        }
        assert store.generation == 2

    def test_rename(self, store: Store) -> None:
        """A document has its rows under another id and source, as if it had been made with them."""
        documents = small_documents()
        moved = {
            documents[0].id: replace(documents[0], id="zz", source="in/zz.txt"),
            documents[4].id: replace(documents[4], id="0", source="in/0.txt"),
        }
        self._commit(store, *documents)
        self._extract(store, "met")
        assert store.rename({"never there": documents[1]}) == []
        assert store.rename({documents[1].id: documents[2]}) == []
        with closing(open_snapshot(store)) as snapshot:
            before = snapshots.contents(snapshot)
            generation = store.generation
            assert store.rename(moved) == list(moved)
            assert store.generation > generation
            assert snapshots.contents(snapshot) == before
        assert store.rename(moved) == []
        renamed = {document.id: adding.hash_content(document) for document in moved.values()}
        assert store.hashes().items() >= renamed.items()
        assert not moved.keys() & store.hashes().keys()
        assert wasted_share(store) == 0
        for change in (_assemble, compact, _assemble):
            change(store)
            with closing(open_snapshot(store)) as snapshot:
                check_consistent(snapshot)
                rows = snapshot.layer("document").rows(list(renamed))
                assert snapshot.documents(rows) == list(moved.values())
                triples = snapshot.layer("triple")
                assert triples.texts(range(len(triples))) == ["Mira Toll met Bo Dahl"]
        back = {new.id: old for new, old in zip(moved.values(), documents[::4], strict=False)}
        assert store.rename(back) == list(back)
        assert contents(store) == before

    def test_unnamed_entities(self, store: Store) -> None:
        """An entity key is unnamed until a batch brings its name vector."""
        document = small_documents()[0]
        batch = self._batch(store, document)
        named = [batch.entities[i] for i in batch.columns["name.entity"].tolist()]
        assert store.unnamed([*named, "never there"]) == list(range(len(named) + 1))
        store.commit(batch, ["hash"])
        assert store.unnamed([*named, "never there"]) == [len(named)]

    def test_compacting_changes_no_row(self, store: Store) -> None:
        """Compacting leaves every row, text, link and vector as it was, assembled or not."""
        documents = small_documents()
        self._commit(store, *documents[6:])
        self._commit(store, *documents[:7])
        store.remove([documents[3].id])
        before = contents(store)
        hashes = dict(store.hashes())
        for change in (_assemble, compact, _assemble):
            change(store)
            assert store.hashes() == hashes
            assert contents(store) == before
        assert wasted_share(store) == 0

    def test_everything_is_kept(self, open_store: OpenStore) -> None:
        """A store that was closed opens with the same generation, documents and rows."""
        store = open_store()
        self._commit(store, *small_documents())
        generation, hashes = store.generation, dict(store.hashes())
        before = contents(store)
        store.close()
        again = open_store()
        assert (again.generation, again.hashes()) == (generation, hashes)
        assert contents(again) == before
        again.close()

    def test_extractions_hang_on_chunks(self, store: Store) -> None:
        """The newest extraction of a chunk counts, goes with its document, and comes back."""
        documents = small_documents()
        self._commit(store, *documents)
        hashes = dict(store.hashes())
        self._extract(store, "met")
        self._extract(store, "saw")
        with closing(open_snapshot(store)) as snapshot:
            before = snapshots.contents(snapshot)
            check_consistent(snapshot)
            triples = snapshot.layer("triple")
            assert len(triples) == 1
            assert triples.texts([0]) == ["Mira Toll saw Bo Dahl"]
            assert set(snapshot.link("triple", "chunk").indices) == {0, 1}
        store.remove([documents[0].id, documents[1].id])
        with closing(open_snapshot(store)) as snapshot:
            assert not len(snapshot.layer("triple"))
        store.revive(hashes)
        for change in (compact, _assemble):
            change(store)
            assert contents(store) == before

    def test_documents_come_with_their_extractions(self, store: Store) -> None:
        """A batch may have both, and then its extractions are of its own chunks."""
        self._commit(store, *small_documents())
        statements = Statements()
        statements.add(Triple(subject="Mira Toll", relation="met", object="Bo Dahl"), "")
        statements.add(Triple(subject="Bo Dahl", relation="left", object="Verle"), "")
        graph = statements.to_graph()
        subjects = list(graph.subjects("kg.tsv", "kg.tsv"))
        batch = build_imported_batch(
            graph,
            subjects,
            building.read_chunking(store.recipe),
            models().embedder,
            store.unnamed,
            late=store.recipe["vectors"] == recipes.LATE,
        )
        store.commit(batch, [subject.content for subject in subjects])
        with closing(open_snapshot(store)) as snapshot:
            check_consistent(snapshot)
            before = snapshots.contents(snapshot)
            assert before["triple"]["texts"] == ["Bo Dahl left Verle", "Mira Toll met Bo Dahl"]
            chunks = snapshot.layer("chunk").texts(
                snapshot.link("triple", "chunk").indices.tolist()
            )
            assert chunks == ["Bo Dahl left Verle.", "Mira Toll met Bo Dahl."]
            entities = snapshot.layer("entity")
            assert entities.columns["linkable"][entities.rows(["bo dahl"])].all()
        for change in (compact, _assemble):
            change(store)
            assert contents(store) == before
        store.remove([subject.document.id for subject in subjects])
        with closing(open_snapshot(store)) as snapshot:
            assert not len(snapshot.layer("triple"))

    def test_work_is_kept_until_it_is_done(self, store: Store) -> None:
        """Chunks wait in their packs, through a compaction, until their extraction comes."""
        self._commit(store, *small_documents()[4:])
        self._commit(store, *small_documents()[:4])
        with closing(open_snapshot(store)) as snapshot:
            stored = choose.stored_chunk_numbers(snapshot).tolist()
        store.set_work(GRAPH, {stored[0]: 0, stored[1]: 0, stored[2]: 1, stored[3]: -1})
        store.set_note("wanted", {"triples": "llm"})
        store.set_note("another", {"names": ["a", "b"]})
        compact(store)
        with closing(open_snapshot(store)) as snapshot:
            stored = choose.stored_chunk_numbers(snapshot).tolist()
        assert store.work(GRAPH) == {stored[0]: 0, stored[1]: 0, stored[2]: 1, stored[3]: -1}
        assert store.work(UNITS) == {}
        self._extract(store, "met")
        assert store.work(GRAPH) == {stored[2]: 1, stored[3]: -1}
        assert store.note("wanted") == {"triples": "llm"}
        assert store.note("another") == {"names": ["a", "b"]}
        assert store.note("never") == {}

    def test_what_is_settled_later_is_in_the_recipe(self, store: Store) -> None:
        """It is there for snapshots from then on, also through a compaction, until taken out."""
        self._commit(store, *small_documents()[:2])
        before = dict(store.recipe)
        store.settle({"entity_words": 2})
        assert dict(store.recipe) == {**before, "entity_words": 2}
        compact(store)
        with closing(open_snapshot(store)) as snapshot:
            assert dict(snapshot.recipe) == {**before, "entity_words": 2}
        store.settle({"entity_words": None})
        assert dict(store.recipe) == before

    def test_aliases_can_be_taken_back(self, store: Store) -> None:
        """An entity that stands for another has no row, until it stands for itself again."""
        self._commit(store, *small_documents())
        self._extract(store, "met")
        before = contents(store)
        other = next(key for key in before["entity"]["ids"] if key not in _TWO)
        generation = store.generation
        assert store.set_aliases({"bo dahl": other}) == store.generation > generation
        assert store.aliases() == {"bo dahl": other}
        with closing(open_snapshot(store)) as snapshot:
            entities = snapshot.layer("entity")
            assert "bo dahl" not in entities.ids(range(len(entities)))
            assert entities.rows(["bo dahl"]) == entities.rows([other])
            assert snapshot.layer("triple").ids([0]) == [f"mira toll|met|{other}"]
            check_consistent(snapshot)
        store.set_aliases({"bo dahl": "mira toll"})
        with closing(open_snapshot(store)) as snapshot:
            assert not len(snapshot.layer("triple"))  # it would say something of one thing
        compact(store)
        store.set_aliases({"bo dahl": None})
        assert contents(store) == before

    def test_vocabulary_is_kept(self, open_store: OpenStore) -> None:
        """What is said of entities stays until it is replaced; only targets change rows."""
        store = open_store()
        self._commit(store, *small_documents())
        before = contents(store)
        named = VocabularyEntry(name="Bo H. Dahl", type="person", apart=True, listed=True)
        generation = store.generation
        assert store.set_vocabulary({"bo dahl": named, "ada": VocabularyEntry()}) > generation
        assert store.aliases() == {}
        assert contents(store) == before
        store.set_aliases({"bo dahl": "mira toll"})
        compact(store)
        store.close()
        again = open_store()
        assert again.vocabulary() == {"bo dahl": replace(named, target="mira toll")}
        again.set_vocabulary({"bo dahl": VocabularyEntry()})
        assert again.vocabulary() == {}
        with closing(again.view()) as view:
            assert view.vocabulary() == {}
        assert contents(again) == before
        again.close()

    def test_generations_are_remembered(self, store: Store) -> None:
        """The documents of each generation are known, until what it had is erased."""
        a, b, c = small_documents()[:3]
        self._commit(store, b, c)
        self._commit(store, a)
        compact(store)  # which erases nothing
        self._commit(store, replace(a, text="Something else about Cape Lund."))
        store.rename({c.id: replace(c, id="zz")})
        hashes = dict(store.hashes())
        store.remove([b.id])
        store.revive(hashes)
        ids = [(), (b.id, c.id), (a.id, b.id, c.id), (a.id, b.id, c.id), (a.id, b.id, c.id)]
        ids += [(a.id, b.id, "zz"), (a.id, "zz"), (a.id, b.id, "zz")]
        for generation, wanted in enumerate(ids):
            with closing(store.view()) as view:
                assert view.remembered == 0
                assert [i for i, _ in view.documents_at(generation)] == sorted(wanted)
                assert [*view.list_times()] == [*range(1, len(ids))]
        store.rename({b.id: replace(b, id="zzz")})  # which came back under its former id
        with closing(store.view()) as view:
            assert [i for i, _ in view.documents_at(5)] == [a.id, b.id, "zz"]
        store.rename({"zzz": b})
        with closing(open_former(store, 2)) as snapshot:
            assert snapshot.generation == 2
            assert snapshot.documents([0, 1]) == [a, b]
        compact(store)
        with closing(store.view()) as view:
            assert view.remembered == 4  # which replaced the text that is erased now
            assert [i for i, _ in view.documents_at(6)] == [a.id, "zz"]

    def test_a_clock_that_is_none_is_said(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
        with pytest.raises(
            InputError, match="SOURCE_DATE_EPOCH must be seconds since 1970, not 'today'"
        ):
            self._commit(store, *small_documents()[:1])
        with closing(store.view()) as view:
            assert view.documents_at(0) == []
            assert view.generation == 0

    @staticmethod
    def _extract(store: Store, relation: str) -> None:
        """Give the first two chunks the triple that Mira Toll and Bo Dahl are in that relation."""
        triple = Triple(subject="Mira Toll", relation=relation, object="Bo Dahl")
        with closing(open_snapshot(store)) as snapshot:
            chunks = choose.stored_chunk_numbers(snapshot)[:2].tolist()
        extraction = Extraction(triples=(triple,))
        extracted = [ChunkExtraction(chunk, "recorded", extraction) for chunk in chunks]
        store.commit(build_graph_batch(extracted, models(), store.unnamed), ())

    def test_stored_numbers_stay(self, store: Store) -> None:
        """What is added or removed changes no stored number; a rewriting changes the numbering."""
        documents = small_documents()
        self._commit(store, *documents[4:8])
        before, numbering = self._numbers(store)
        self._commit(store, *documents[:4])
        store.remove([documents[7].id])
        after, same = self._numbers(store)
        assert same == numbering
        for name, numbers in after.items():
            assert len(set(numbers.values())) == len(numbers)
            both = numbers.keys() & before[name].keys()
            assert both
            assert {i: numbers[i] for i in both} == {i: before[name][i] for i in both}
        compact(store)
        assert self._numbers(store)[1] != numbering

    @staticmethod
    def _numbers(store: Store) -> tuple[dict[str, dict[str, int]], int]:
        """Return the stored number of each chunk, entity and term by its id, and the numbering."""
        with closing(open_snapshot(store)) as snapshot, closing(store.view()) as view:
            chunks = snapshot.layer("chunk")
            numbers = {
                "chunk": dict(
                    zip(
                        chunks.ids(range(len(chunks))),
                        chunks.columns["number"].tolist(),
                        strict=True,
                    )
                )
            }
            for name in ("entity", "term"):
                ids = snapshot.layer(name).ids(range(len(snapshot.layer(name))))
                numbers[name] = dict(view.rows(name, ids))
                assert view.keys(name, [numbers[name][each] for each in ids]) == ids
            return numbers, view.numbering

    def test_cached_arrays(self, open_store: OpenStore) -> None:
        """Arrays are cached under a name for one generation, and for every session."""
        store = open_store()
        generation = self._commit(store, small_documents()[0])
        assert store.cache.load("odd", generation) is None
        assert store.cache.newest("odd") is None
        store.cache.save("odd", generation, _ODD)
        other: dict[str, NDArray[Any]] = {"a": np.zeros((0, 3)), "b": np.ones(2, dtype=bool)}
        store.cache.save("even", generation, other)
        store.close()
        again = open_store()
        _check_same(again.cache.load("odd", generation), _ODD)
        _check_same(again.cache.load("even", generation), other)
        assert {"odd", "even"} <= set(again.cache.names())
        assert again.cache.load("odd", generation + 1) is None
        again.close()

    def test_cached_arrays_of_earlier_generations(self, store: Store) -> None:
        """The newest stay until newer ones come, or until those of dead text are dropped."""
        a, b = small_documents()[:2]
        first = self._commit(store, a, b)
        store.cache.save("odd", first, _ODD)
        store.cache.save("even", first, _ODD)
        store.remove([a.id])
        second = store.generation
        _check_same(store.cache.newest("odd"), _ODD)
        newer = {"x": np.arange(3.0)}
        store.cache.save("odd", second, newer)
        _check_same(store.cache.newest("odd"), newer)
        store.cache.save("odd", first, _ODD)
        _check_same(store.cache.newest("odd"), newer)
        compact(store)
        _check_same(store.cache.newest("even"), _ODD)
        store.cache.save("odd", store.generation, newer)
        store.sweep()
        assert store.cache.newest("even") is None
        _check_same(store.cache.newest("odd"), newer)

    def test_a_lock_is_until_the_end(self, open_store: OpenStore) -> None:
        """Behind it nobody else makes a generation: what is built refers to what is there."""
        first, second = open_store(), open_store()
        a, b = small_documents()[:2]
        self._commit(first, a)
        first.close()
        first = open_store()
        first.lock()
        batch = self._batch(second, b)
        generation = first.generation
        for write in (second.lock, lambda: second.commit(batch, ["hash"]), lambda: compact(second)):
            with pytest.raises(IndexLocked):
                write()
        assert first.generation == generation
        first.close()
        second.lock()
        second.commit(batch, ["hash"])
        assert list(second.hashes()) == [a.id, b.id]
        second.close()

    def test_one_writer(self, open_store: OpenStore) -> None:
        """While one writes, another reads, is refused to write, and may once the first is done."""
        first, second = open_store(), open_store()
        a, b = small_documents()[:2]
        self._commit(first, a)
        assert list(second.hashes()) == [a.id]
        batch = self._batch(second, b)
        with pytest.raises(IndexLocked):
            second.commit(batch, ["hash"])
        first.close()
        second.commit(batch, ["hash"])
        assert list(second.hashes()) == [a.id, b.id]
        second.close()


def _assemble(store: Store) -> None:
    open_snapshot(store).close()


_ODD: Mapping[str, NDArray[Any]] = {
    "odd": np.arange(1, 9, 2),
    "of": np.array([[2.5]], dtype=np.float32),
}


def _check_same(
    found: Mapping[str, NDArray[Any]] | None, expected: Mapping[str, NDArray[Any]]
) -> None:
    assert found is not None
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
