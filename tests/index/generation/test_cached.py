"""Cached arrays are what would be computed of their generation, and mostly are not computed."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from clew import steps, testing
from clew.algo import keywords, sketches
from clew.base.derived import CachedArrays
from clew.base.types import Extraction, Triple
from clew.errors import MissingExtra
from clew.index import adding, choose, generation, neighbours
from clew.index import extract as extraction
from clew.index.choose import Wanted
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.layers.statistical import STATISTICAL, statistical_entities
from clew.index.store.embedded import EmbeddedStore
from tests.index.build import MODELS, add, create, document, scratch

DOCUMENTS = testing.small_documents()
ALL = (steps.KEYWORDS, steps.NEIGHBOURS, *steps.SKETCHES.values())


@pytest.fixture
def store():
    """Give a new, empty store."""
    with scratch() as folder, create(folder / "index") as made:
        yield made


@pytest.fixture
def computed():
    """Give the names of what is computed anew or updated, in order."""
    return []


def arrays_of(store, what, **given):
    """Return cached arrays of the newest generation, as plain values."""
    with closing(generation.open_snapshot(store)) as snapshot:
        return {name: array.tolist() for name, array in snapshot.get(what, **given).items()}


def counting(what, computed):
    """Return the same declaration, which computes all anew and says so."""

    def compute(snapshot, **given):
        computed.append(what.name)
        return what.compute(snapshot, **given)

    return replace(what, compute=compute, update=None)


def fresh(store, what):
    """Return what is computed without anything that is cached."""
    with closing(generation.open_snapshot(store)) as snapshot:
        return {name: array.tolist() for name, array in what.compute(snapshot).items()}


def falsify(store, what, name, value):
    """Cache an array that no computation gives, so that one shows what was taken over."""
    arrays_of(store, what)
    found = {each: np.array(a) for each, a in store.cache.newest(what.name).items()}
    found[name][:] = value
    store.cache.save(what.name, store.generation, found)


def extract(store, *chunks):
    """Give chunks a triple."""
    with closing(generation.open_snapshot(store)) as snapshot:
        stored = choose.stored_chunk_numbers(snapshot)[list(chunks)].tolist()
    found = Extraction(triples=(Triple(subject="Mira Toll", relation="met", object="Bo Dahl"),))
    extracted = [ChunkExtraction(chunk, "recorded", found) for chunk in stored]
    store.commit(build_graph_batch(extracted, MODELS, store.unnamed), ())


# -- one mechanism for all ------------------------------------------------------------------------


def test_computed_once_for_all_sessions(store, computed):
    """The first who asks computes and caches; the same generation computes nothing again."""
    add(store, DOCUMENTS)
    what = counting(steps.NEIGHBOURS, computed)
    first = arrays_of(store, what)
    assert computed == ["chunk-neighbours"]
    with EmbeddedStore.open(store.folder) as other:
        assert arrays_of(other, what) == first
    assert computed == ["chunk-neighbours"]


def test_taken_over_where_the_inputs_are_the_same(store, computed):
    """Merging entities and extracting anew are generations with the same chunks."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    what = counting(steps.NEIGHBOURS, computed)
    before = arrays_of(store, what)
    for change in (
        lambda: store.set_aliases({"bo dahl": "mira toll"}),
        lambda: store.set_aliases({"bo dahl": None}),
        lambda: extract(store, 1, 2),
    ):
        change()
        assert arrays_of(store, what) == before
    assert computed == ["chunk-neighbours"]


@pytest.mark.parametrize("change", ["add", "replace", "remove", "restore", "compact"])
def test_computed_anew_where_they_are_others(store, computed, change):
    """Other chunks have another graph; after a compaction no row is known to be the same."""
    *others, last = DOCUMENTS
    gone = others[3]
    add(store, others)
    if change == "restore":
        store.remove([gone.id])
    what = counting(steps.NEIGHBOURS, computed)
    arrays_of(store, what)
    if change == "remove":
        store.remove([gone.id])
    elif change == "compact":
        generation.compact(store)
    else:
        replaced = document(gone.id, "Quinces ripen late in Orrin.")
        add(store, [{"add": last, "replace": replaced, "restore": gone}[change]])
    assert arrays_of(store, what) == fresh(store, steps.NEIGHBOURS)
    assert computed == ["chunk-neighbours"] * 2


def test_an_update_gets_the_earlier_rows(store):
    """It is told which row each row was, -1 for one that is new, and nothing after a compaction."""
    told = []

    def update(_snapshot, earlier):
        told.append(earlier)
        return earlier.arrays

    what = CachedArrays(
        "told", lambda _: {"one": np.ones(1)}, inputs=("document", "entity"), update=update
    )
    add(store, DOCUMENTS[2:4])
    arrays_of(store, what)
    add(store, [DOCUMENTS[0], DOCUMENTS[5]])
    arrays_of(store, what)
    ids = sorted(each.id for each in DOCUMENTS[2:4])
    now = sorted(each.id for each in (DOCUMENTS[0], *DOCUMENTS[2:4], DOCUMENTS[5]))
    assert told[0].rows["document"].tolist() == [ids.index(i) if i in ids else -1 for i in now]
    assert told[0].unchanged == frozenset()
    store.set_aliases({"nobody": "no one"})
    arrays_of(store, what)
    assert told[1].unchanged == {"document", "entity"}
    generation.compact(store)
    arrays_of(store, what)
    assert (told[2].rows["document"] == -1).all()
    assert told[2].unchanged == frozenset()


def test_without_a_store_it_is_computed(store):
    """It is kept as long as the snapshot is open; a name that no file can have is refused."""
    add(store, DOCUMENTS)
    with closing(generation.open_snapshot(store)) as snapshot:
        alone = replace(snapshot, recall=None)
        found = alone.get(steps.KEYWORDS)
        assert alone.get(steps.KEYWORDS) is found
        assert found["lengths"].tobytes() == snapshot.get(steps.KEYWORDS)["lengths"].tobytes()
    add(store, DOCUMENTS[:1])
    with pytest.raises(ValueError, match="use a-z, digits and hyphens"):
        arrays_of(store, CachedArrays("a name/of: anything", lambda _: {"one": np.ones(1)}))


# -- a write renews what is in use ----------------------------------------------------------------


def test_finish_renews_what_it_is_told(store, computed):
    """And nothing else: what nobody has asked for is computed for nobody."""
    add(store, DOCUMENTS)
    used, unused = (counting(each, computed) for each in (steps.NEIGHBOURS, steps.KEYWORDS))
    adding.finish_index(store, cached=[used])
    assert computed == ["chunk-neighbours"]
    assert unused.name not in store.cache.names()
    add(store, [document("new", "Quinces ripen late in Orrin.")])
    adding.finish_index(store, cached=[used])
    assert store.cache.load("chunk-neighbours", store.generation) is not None
    assert computed == ["chunk-neighbours"] * 2


def test_a_write_computes_nothing_that_is_not_worth_it(store, monkeypatch):
    """Sketches of small layers are never read, and without triples nobody asks for entities."""
    add(store, DOCUMENTS)
    adding.finish_index(store, no_embedder, cached=[*ALL, STATISTICAL])
    assert store.cache.names() == ["assembly", "chunk-neighbours", "keywords"]
    extract(store, 0, 1)
    monkeypatch.setattr(sketches, "EXACT_UP_TO", 1)
    adding.finish_index(store, lambda: MODELS.embedder, cached=[*ALL, STATISTICAL])
    more = ["sketches-chunk", "sketches-entity", "statistical-entities"]
    assert store.cache.names() == ["assembly", "chunk-neighbours", "keywords", *more]


def test_a_graph_that_chooses_chunks_is_computed_once(store, monkeypatch):
    """It is cached by the choice and taken over after the extraction.

    The commits are so small that `finish` compacts, which it does before the choice only.
    """
    graphs = []
    real = neighbours.choose_neighbours
    monkeypatch.setattr(
        neighbours, "choose_neighbours", lambda *a, **b: graphs.append(1) or real(*a, **b)
    )
    for each in DOCUMENTS:
        add(store, [each])
    llm = testing.ScriptedLLM(*["no graph at all"] * len(DOCUMENTS))
    extraction.run_extractions(store, replace(MODELS, llm=llm), Wanted(triples="llm", core=0.5))
    with closing(store.view()) as view:
        numbering = view.numbering
    assert numbering > 0
    adding.finish_index(store, cached=[steps.NEIGHBOURS])
    assert llm.prompts
    assert len(graphs) == 1
    with closing(store.view()) as view:
        assert view.numbering == numbering


def test_an_empty_index_has_nothing_to_cache(store):
    """Nothing is computed where there are no chunks, nor where the last one went."""
    adding.finish_index(store, cached=ALL)
    assert store.cache.names() == ["assembly"]
    add(store, DOCUMENTS[:1])
    adding.finish_index(store, cached=ALL)
    assert "keywords" in store.cache.names()
    store.remove([DOCUMENTS[0].id])
    adding.finish_index(store, cached=ALL, compact=True)
    assert store.cache.names() == ["assembly"]


def test_compacting_erases_what_is_cached_of_dead_text(store):
    """What is renewed stays; the arrays of others may quote what is gone."""
    add(store, DOCUMENTS)
    arrays_of(store, steps.KEYWORDS)
    arrays_of(store, steps.NEIGHBOURS)
    store.remove([DOCUMENTS[0].id])
    adding.finish_index(store, cached=[steps.KEYWORDS], compact=True)
    assert store.cache.names() == ["assembly", "keywords"]
    assert arrays_of(store, steps.KEYWORDS) == fresh(store, steps.KEYWORDS)


# -- keywords -------------------------------------------------------------------------------------


def test_lengths_are_those_of_the_generation(store):
    """After documents came and went, they are those of a fresh computation, byte for byte."""
    add(store, DOCUMENTS[2:6])
    arrays_of(store, steps.KEYWORDS)
    add(store, [*DOCUMENTS, document("zest", DOCUMENTS[3].text + " Bo Dahl came too.")])
    store.remove([DOCUMENTS[3].id])
    with closing(generation.open_snapshot(store)) as snapshot:
        link, vectors = snapshot.link("sentence", "term"), snapshot.layer("sentence").vectors
        expected = keywords.keyword_lengths(link, vectors)
        assert steps.keyword_lengths(snapshot).tobytes() == expected.tobytes()


def test_an_update_computes_what_changed(store):
    """A term whose sentences stayed has the length that was cached, another one its own."""
    add(store, DOCUMENTS)
    falsify(store, steps.KEYWORDS, "lengths", 77)
    add(store, [document("new", "Quinces ripen late in Orrin.")])
    with closing(generation.open_snapshot(store)) as snapshot:
        lengths = steps.keyword_lengths(snapshot)
        [quinces] = snapshot.layer("term").rows(["quinces"])
    assert lengths[quinces] == pytest.approx(1, abs=0.02)  # of a vector in four bits
    assert np.count_nonzero(lengths == 77) > len(lengths) / 2


# -- sketches -------------------------------------------------------------------------------------


def everything_near(store, layer, *, exact=False):
    """Return the nearest rows to some vectors of a layer, and to others than these."""
    with closing(generation.open_snapshot(store)) as opened:
        snapshot = opened.exactly() if exact else opened
        vectors = snapshot.layer(layer).vectors
        near = steps.near_rows(snapshot, layer, np.concatenate([vectors[:3], -vectors[:2]]), 3)
        return [[(row, pytest.approx(cosine, abs=5e-6)) for row, cosine in each] for each in near]


def test_large_layers_are_searched_by_sketches(store, monkeypatch):
    """Above a size what is near is found by them, and is the same here."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    exact = {layer: everything_near(store, layer) for layer in ("entity", "triple")}
    assert "sketches-entity" not in store.cache.names()
    monkeypatch.setattr(sketches, "EXACT_UP_TO", 1)
    assert {layer: everything_near(store, layer) for layer in ("entity", "triple")} == exact
    assert "sketches-entity" in store.cache.names()
    assert "sketches-triple" not in store.cache.names()  # there is one triple
    found = {each: np.array(a) for each, a in store.cache.newest("sketches-entity").items()}
    found["codes"] = found["codes"][:, :1]
    store.cache.save("sketches-entity", store.generation, found)
    assert {row for near in everything_near(store, "entity") for row, _ in near} == {0}
    assert everything_near(store, "entity", exact=True) == exact["entity"]


@pytest.mark.parametrize("layer", sorted(steps.SKETCHES))
def test_sketches_are_those_of_the_generation(store, layer):
    """After documents came and went, they are those of a fresh computation, byte for byte."""
    what = steps.SKETCHES[layer]
    add(store, DOCUMENTS[2:6])
    extract(store, 0, 1)
    arrays_of(store, what)
    add(store, DOCUMENTS)
    store.remove([DOCUMENTS[3].id])
    extract(store, 0, 1)
    assert arrays_of(store, what) == fresh(store, what)


def test_sketches_of_rows_that_stay_are_taken_over(store):
    """Only those of new rows are computed."""
    add(store, DOCUMENTS)
    falsify(store, steps.SKETCHES["chunk"], "codes", 7)
    add(store, [document("new", "Quinces ripen late in Orrin.")])
    with closing(generation.open_snapshot(store)) as snapshot:
        codes = snapshot.get(steps.SKETCHES["chunk"])["codes"]
        [new] = np.flatnonzero((codes != 7).all(axis=0)).tolist()
        assert snapshot.layer("chunk").texts([new]) == ["Quinces ripen late in Orrin."]


# -- statistical entities -------------------------------------------------------------------------


def no_embedder():
    """Fail: nothing new needs a vector."""
    pytest.fail("an embedder was asked for")


def statistical_of(store, embedder=lambda: MODELS.embedder):
    """Return what a question caches of statistical entities."""
    return arrays_of(store, STATISTICAL, embedder=embedder)


def test_statistical_entities_are_cached(store):
    """A method then finds them, and needs the embedder for other settings only."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    with closing(generation.open_snapshot(store)) as snapshot:
        alone = statistical_entities(replace(snapshot, recall=None), MODELS.embedder, synonym=0.85)
    assert statistical_of(store)["rates"]
    with closing(generation.open_snapshot(store)) as snapshot:
        found = statistical_entities(snapshot, None, synonym=0.85)
        others = statistical_entities(snapshot, MODELS.embedder, synonym=0.3)
    assert found.names == alone.names
    assert found.vectors.tobytes() == alone.vectors.tobytes()
    assert found.grounded.tolist() == alone.grounded.tolist()
    assert found.empty == alone.empty
    for name in ("entities", "terms", "synonyms"):
        assert (getattr(found, name) != getattr(alone, name)).nnz == 0
    assert others.synonyms.nnz > found.synonyms.nnz


def test_of_cached_synonyms_those_above_a_cosine_count(store):
    """One that is as high as what is asked for is not above it."""
    add(store, DOCUMENTS)
    near = Triple(subject="Old Bo Dahl of Bakken", relation="is", object="old bo dahl bakken")
    with closing(generation.open_snapshot(store)) as snapshot:
        stored = int(choose.stored_chunk_numbers(snapshot)[0])
    extracted = [ChunkExtraction(stored, "recorded", Extraction(triples=(near,)))]
    store.commit(build_graph_batch(extracted, MODELS, store.unnamed), ())
    cosines = statistical_of(store)["cosines"]
    highest = max(cosines)
    with closing(generation.open_snapshot(store)) as snapshot:
        assert statistical_entities(snapshot, None, synonym=highest).synonyms.nnz == 0
        below = statistical_entities(snapshot, None, synonym=highest - 1e-6).synonyms
    assert below.nnz == cosines.count(highest)


def test_an_update_caches_what_a_fresh_build_caches(store):
    """Documents came, went and were replaced, and one was merged away: the same arrays."""
    changed = document("comet", "The Comet was a steamer. Nobody saw the steamer sink.")
    add(store, DOCUMENTS[2:9])
    extract(store, 1, 2)
    statistical_of(store)
    add(store, [*DOCUMENTS, document("zest", DOCUMENTS[3].text + " Bo Dahl came too.")])
    statistical_of(store)
    add(store, [changed])
    store.remove(["zest"])
    store.set_aliases({"mira toll": "bakken"})
    updated = statistical_of(store)
    with scratch() as folder, create(folder / "index") as new:
        add(new, [changed, *(each for each in DOCUMENTS if each.id != "comet")])
        with closing(generation.open_snapshot(store)) as old:
            rows = np.flatnonzero(old.layer("chunk").columns["graph"])
        extract(new, *rows)
        new.set_aliases({"mira toll": "bakken"})
        assert statistical_of(new) == updated
    assert updated["cosines"] or updated["rates"]


def test_only_new_names_are_embedded(store):
    """Vectors of names are taken over, also across a compaction, and where texts are gone."""
    asked = []

    class Remembering:
        def embed(self, texts, *, kind):
            asked.extend(texts)
            return MODELS.embedder.embed(texts, kind=kind)

    add(store, DOCUMENTS)
    extract(store, 0, 1)
    statistical_of(store, Remembering)
    names = set(asked)
    assert names
    adding.finish_index(store, no_embedder, cached=[STATISTICAL], compact=True)
    asked.clear()
    add(store, [document("new", "The quinces ripen late. Yellow quinces!")])
    statistical_of(store, Remembering)
    assert "quinces" in asked
    assert names.isdisjoint(asked)
    store.remove(["new"])
    before = statistical_of(store, Remembering)
    store.set_aliases({"bo dahl": "bakken"})
    assert statistical_of(store, no_embedder)["rates"] == before["rates"]


def test_what_leaves_the_chunks_leaves_their_salient_terms(store, monkeypatch):
    """An extraction or a merge counts no n-grams; nor are synonyms of the same vectors sought."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    before = statistical_of(store)
    monkeypatch.setattr("clew.index.layers.salient_chunks.spell_terms", None)
    monkeypatch.setattr("clew.index.layers.statistical.find_near_pairs", None)
    monkeypatch.setattr("clew.index.layers.statistical.update_pairs", None)
    extract(store, 1, 2)
    after = statistical_of(store, no_embedder)
    assert len(after.pop("grounded")) > len(before.pop("grounded"))
    assert after == before


def test_a_write_leaves_them_to_the_next_question(store):
    """Once they are there; the first write for a method computes them, and one that compacts."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    adding.finish_index(store, lambda: MODELS.embedder, cached=[STATISTICAL])
    assert store.cache.generations("statistical-entities") == [store.generation]
    add(store, [document("new", "The quinces ripen late. Yellow quinces!")])
    adding.finish_index(store, no_embedder, cached=[STATISTICAL], compact=False)
    assert store.generation not in store.cache.generations("statistical-entities")
    adding.finish_index(store, lambda: MODELS.embedder, cached=[STATISTICAL], compact=True)
    assert store.cache.generations("statistical-entities") == [store.generation]
    assert statistical_of(store, no_embedder)["rates"]


def test_without_a_model_questions_compute_them(store):
    """A removal is done whether or not the index's embedder can be had."""

    def gone():
        raise MissingExtra("onnxruntime", "minilm", "the embedder")

    add(store, DOCUMENTS)
    extract(store, 0, 1)
    adding.finish_index(store, gone, cached=[steps.KEYWORDS, STATISTICAL])
    assert "keywords" in store.cache.names()
    assert "statistical-entities" not in store.cache.names()
    assert statistical_of(store)["rates"]
