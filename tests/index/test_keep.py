"""What is kept of a generation is what would be computed from it, and mostly is not computed."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from clew import index, steps, testing
from clew.algo.keywords import keyword_lengths
from clew.algo.sketches import sketched
from clew.errors import IndexLocked, MissingExtra
from clew.index import choose, keep
from clew.index import extract as extraction
from clew.index.choose import Wanted
from clew.index.keep import keep_derived
from clew.layers.extractions import Extracted, graph_batch
from clew.layers.statistical import statistical
from clew.store.embedded import EmbeddedStore
from clew.types import Extraction, Triple
from tests.index.build import MODELS, add, create, document, scratch

DOCUMENTS = testing.small_documents()


@pytest.fixture
def store():
    """Give a new, empty store."""
    with scratch() as folder, create(folder / "index") as made:
        yield made


@pytest.fixture
def computations(monkeypatch):
    """Give the list of what is computed of a whole index from here on, by name."""
    names = []

    def counted(module, name):
        real = getattr(module, name)

        def count(*arguments, **named):
            names.append(name)
            return real(*arguments, **named)

        monkeypatch.setattr(module, name, count)

    counted(steps.nearest, "knn_graph")
    counted(keep, "keyword_lengths")
    counted(keep, "updated_lengths")
    return names


def kept(store, name="keywords"):
    """Freeze and keep, and return what is kept under a name."""
    store.freeze()
    keep_derived(store)
    with closing(store.snapshot()) as snapshot:
        return snapshot.kept(name)


def computed(store):
    with closing(store.snapshot()) as snapshot:
        vectors = snapshot.layer("sentence").vectors
        return keyword_lengths(snapshot.link("sentence", "term"), vectors)


def falsify(store, length):
    """Keep a length that no term has, so that one shows what was taken over."""
    arrays = {name: np.array(array) for name, array in kept(store).items()}
    arrays["lengths"][:] = length
    store.keep("keywords", arrays)


def everything_kept(store):
    """Return what is kept of the newest generation, as plain values."""
    with closing(store.snapshot()) as snapshot:
        arrays = [snapshot.kept(name) for name in ("keywords", "neighbours-2")]
    return [{name: array.tolist() for name, array in each.items()} for each in arrays]


def extract(store, *chunks):
    """Give chunks a triple."""
    with closing(store.snapshot()) as snapshot:
        stored = choose.stored_chunks(snapshot)[list(chunks)].tolist()
    found = Extraction(triples=(Triple(subject="Mira Toll", relation="met", object="Bo Dahl"),))
    extracted = [Extracted(chunk, "recorded", found) for chunk in stored]
    store.commit(graph_batch(extracted, MODELS, store.unnamed), ())


def test_lengths_are_those_of_the_generation(store):
    """After documents came and went, they are those of a fresh computation, byte for byte."""
    add(store, DOCUMENTS[2:6])
    assert kept(store)["lengths"].tobytes() == computed(store).tobytes()
    add(store, [*DOCUMENTS, document("zest", DOCUMENTS[3].text + " Bo Dahl came too.")])
    store.remove([DOCUMENTS[3].id])
    assert kept(store)["lengths"].tobytes() == computed(store).tobytes()


def test_an_update_computes_what_changed(store):
    """A term whose sentences stayed has the length that was kept, another one its own."""
    add(store, DOCUMENTS)
    falsify(store, 77)
    add(store, [document("new", "Quinces ripen late in Orrin.")])
    lengths = kept(store)["lengths"]
    with closing(store.snapshot()) as snapshot:
        [quinces] = snapshot.layer("term").rows(["quinces"])
    assert lengths[quinces] == pytest.approx(1, abs=1e-3)
    assert np.count_nonzero(lengths == 77) > len(lengths) / 2


def test_what_is_there_is_left(store):
    """A second call for one generation keeps nothing anew."""
    add(store, DOCUMENTS)
    falsify(store, 77)
    assert (kept(store)["lengths"] == 77).all()


def test_after_a_compaction_all_is_computed(store):
    """Stored rows have new numbers, so nothing can be taken over."""
    add(store, DOCUMENTS)
    falsify(store, 77)
    store.remove([DOCUMENTS[0].id])
    store.compact()
    assert kept(store)["lengths"].tobytes() == computed(store).tobytes()


def test_the_graph_of_chunks_is_kept_where_there_are_triples(store):
    """Only methods that use triples need it; a reader then takes it as it was computed."""
    add(store, DOCUMENTS)
    assert kept(store, "neighbours-2") is None
    extract(store, 0, 1)
    with closing(store.snapshot()) as snapshot:
        graph, chunks = steps.chunk_graph(snapshot, 2), snapshot.stored["chunk"]
    arrays = kept(store, "neighbours-2")
    assert graph.nnz
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "chunks": chunks.tolist(),
        "indptr": graph.indptr.tolist(),
        "indices": graph.indices.tolist(),
    }
    with closing(store.snapshot()) as snapshot:
        assert (steps.chunk_graph(snapshot, 2) != graph).nnz == 0


def test_what_leaves_the_chunks_leaves_what_is_kept(store, computations):
    """Merging entities and extracting anew are generations for which nothing is computed."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    index.finish(store)
    assert sorted(computations) == ["keyword_lengths", "knn_graph"]
    before = everything_kept(store)
    with closing(store.snapshot()) as snapshot:
        keys = snapshot.layer("entity").ids(range(len(snapshot.layer("entity"))))
    other = next(key for key in keys if key not in ("bo dahl", "mira toll"))
    for change in (
        lambda: store.set_aliases({"bo dahl": other}),
        lambda: store.set_aliases({"bo dahl": None}),
        lambda: extract(store, 1, 2),
    ):
        generation = store.generation
        change()
        index.finish(store)
        assert store.generation > generation
        assert everything_kept(store) == before
    assert len(computations) == 2


@pytest.mark.parametrize("change", ["add", "replace", "remove", "restore"])
def test_other_chunks_have_another_graph(store, computations, change):
    """It is computed once for them, and the one that is kept is theirs."""
    *others, last = DOCUMENTS
    gone = max(others, key=lambda each: each.id)  # not one with triples: that would compact
    add(store, others)
    if change == "restore":
        store.remove([gone.id])
    extract(store, 0, 1)
    index.finish(store)
    computations.clear()
    if change == "remove":
        store.remove([gone.id])
    else:
        replaced = document(gone.id, "Quinces ripen late in Orrin.")
        add(store, [{"add": last, "replace": replaced, "restore": gone}[change]])
    index.finish(store)
    assert computations.count("knn_graph") == 1
    with closing(store.snapshot()) as snapshot:
        arrays = snapshot.kept("neighbours-2")
        assert arrays["chunks"].tolist() == snapshot.stored["chunk"].tolist()
        fresh = steps.nearest._chunk_graph(snapshot, 2)  # noqa: SLF001 -- what is kept is not asked
    assert arrays["indptr"].tolist() == fresh.indptr.tolist()
    assert arrays["indices"].tolist() == fresh.indices.tolist()


def test_a_graph_that_chooses_chunks_is_computed_once(store, computations):
    """It is kept before the extraction, found by the choice, and kept again after it.

    The commits are so small that `finish` compacts, which it does before the choice only.
    """
    for each in DOCUMENTS:
        add(store, [each])
    llm = testing.ScriptedLLM(*["no graph at all"] * len(DOCUMENTS))
    extraction.extract(store, replace(MODELS, llm=llm), Wanted(triples="llm", core=0.5))
    with closing(store.snapshot()) as snapshot:
        numbering = snapshot.numbering
    assert numbering > 0
    index.finish(store)
    assert llm.prompts
    assert computations.count("knn_graph") == 1
    with closing(store.snapshot()) as snapshot:
        assert snapshot.kept("neighbours-2") is not None
        assert snapshot.numbering == numbering


def test_nobody_commits_while_something_is_computed(store, monkeypatch):
    """Another session that writes meanwhile is refused, so lengths are of their generation."""
    add(store, DOCUMENTS[:6])
    store.freeze()
    store.close()
    refused = []

    def slow(*arguments):
        with EmbeddedStore.open(store.folder) as second, pytest.raises(IndexLocked) as error:
            add(second, DOCUMENTS[6:])
        refused.append(error)
        return keyword_lengths(*arguments)

    monkeypatch.setattr(keep, "keyword_lengths", slow)
    with EmbeddedStore.open(store.folder) as first:
        index.finish(first)
        assert refused
        with closing(first.snapshot()) as snapshot:
            assert snapshot.kept("keywords")["lengths"].tobytes() == computed(first).tobytes()


def test_what_another_session_just_committed_counts(store, monkeypatch):
    """It came between the look at what is missing and the claim: then it is the newest."""
    add(store, DOCUMENTS[:6])
    store.freeze()
    store.close()

    def late(first):
        with EmbeddedStore.open(first.folder) as second:
            add(second, DOCUMENTS[6:])
        claim(first)

    claim = EmbeddedStore.claim
    with EmbeddedStore.open(store.folder) as first:
        monkeypatch.setattr(first, "claim", lambda: late(first))
        index.finish(first)
        with closing(first.snapshot()) as snapshot:
            assert len(snapshot.layer("document")) == len(DOCUMENTS)
            assert snapshot.kept("keywords")["lengths"].tobytes() == computed(first).tobytes()


def test_where_nothing_is_missing_nobody_is_locked_out(store):
    """A session that has nothing to keep does not become the writer."""
    add(store, DOCUMENTS)
    index.finish(store)
    with EmbeddedStore.open(store.folder) as second:
        index.finish(second)
        with pytest.raises(IndexLocked):
            second.claim()


def everything_near(snapshot, layer):
    """Return the nearest rows to some vectors of a layer, and to others than these."""
    vectors = snapshot.layer(layer).vectors
    return steps.near_rows(snapshot, layer, np.concatenate([vectors[:3], -vectors[:2]]), 3)


def test_sketches_are_kept_of_large_layers_of_a_graph(store):
    """Above a size, once there are triples; what is near is then found by them."""
    add(store, DOCUMENTS)
    store.freeze()
    keep_derived(store, exact_up_to=1)
    assert kept(store, "sketches-entity") is None
    extract(store, 0, 1)
    assert kept(store, "sketches-entity") is None
    with closing(store.snapshot()) as snapshot:
        exact = {name: everything_near(snapshot, name) for name in ("entity", "triple")}
    keep_derived(store, exact_up_to=1)
    with closing(store.snapshot()) as snapshot:
        assert snapshot.kept("sketches-triple") is None
        arrays = snapshot.kept("sketches-entity")
        assert sorted(arrays) == ["axes", "codes", "digest"]
        assert len(arrays["codes"]) == len(snapshot.layer("entity"))
        assert everything_near(snapshot, "entity") == exact["entity"]
        assert everything_near(snapshot, "triple") == exact["triple"]
    store.keep("sketches-entity", {**arrays, "codes": arrays["codes"][:1]})
    with closing(store.snapshot()) as snapshot:
        assert {row for found in everything_near(snapshot, "entity") for row, _ in found} == {0}


def test_sketches_of_the_same_vectors_are_taken_over(store, monkeypatch):
    """Other vectors have other sketches, those of a fresh computation."""
    add(store, DOCUMENTS)
    extract(store, 0, 1)
    store.freeze()
    keep_derived(store, exact_up_to=0)
    computed = []
    monkeypatch.setattr(keep, "sketched", lambda v: computed.append(len(v)) or sketched(v))
    with closing(store.snapshot()) as snapshot:
        before = snapshot.kept("sketches-triple")
    extract(store, 0, 1)
    store.freeze()
    keep_derived(store, exact_up_to=0)
    assert computed == []
    with closing(store.snapshot()) as snapshot:
        after = snapshot.kept("sketches-triple")
    assert {name: array.tolist() for name, array in after.items()} == {
        name: array.tolist() for name, array in before.items()
    }
    add(store, [document("new", "Quinces ripen late in Orrin.")])
    store.freeze()
    keep_derived(store, exact_up_to=0)
    with closing(store.snapshot()) as snapshot:
        n_entities = len(snapshot.layer("entity"))
        fresh = sketched(snapshot.layer("entity").vectors)
        assert computed == [n_entities]
        assert snapshot.kept("sketches-entity")["codes"].tobytes() == fresh.codes.tobytes()


def test_an_empty_index_has_nothing_to_keep(store):
    """Nothing is kept where there are no sentences, and where the last one went."""
    index.finish(store, graph=True)
    assert kept(store) is None
    assert kept(store, "neighbours-2") is None
    add(store, DOCUMENTS[:1])
    assert kept(store) is not None
    store.remove([DOCUMENTS[0].id])
    assert kept(store) is None


# -- statistical entities -------------------------------------------------------------------------


def no_embedder():
    """Fail: nothing new needs a vector."""
    pytest.fail("an embedder was asked for")


def statistical_of(store, embedder=lambda: MODELS.embedder):
    """Finish, and return what is kept of statistical entities, without the chunks' own numbers."""
    index.finish(store, embedder)
    with closing(store.snapshot()) as snapshot:
        arrays = snapshot.kept("statistical")
    return {name: array.tolist() for name, array in arrays.items() if name != "chunks"}


def test_statistical_entities_are_kept_where_there_are_triples(store):
    """A method then finds them, and needs the embedder for other settings only."""
    add(store, DOCUMENTS)
    index.finish(store, no_embedder)
    extract(store, 0, 1)
    index.finish(store)
    with closing(store.snapshot()) as snapshot:
        assert snapshot.kept("statistical") is None
        computed = statistical(snapshot, MODELS.embedder, synonym=0.85)
    assert statistical_of(store)["rates"]
    with closing(store.snapshot()) as snapshot:
        kept = statistical(snapshot, None, synonym=0.85)
        others = statistical(snapshot, MODELS.embedder, synonym=0.3)
    assert kept.names == computed.names
    assert kept.vectors.tobytes() == computed.vectors.tobytes()
    assert kept.grounded.tolist() == computed.grounded.tolist()
    assert kept.empty == computed.empty
    for name in ("entities", "terms", "synonyms"):
        assert (getattr(kept, name) != getattr(computed, name)).nnz == 0
    assert others.synonyms.nnz > kept.synonyms.nnz


def test_of_kept_synonyms_those_above_a_cosine_count(store):
    """One that is as high as what is asked for is not above it."""
    add(store, DOCUMENTS)
    near = Triple(subject="Old Bo Dahl of Bakken", relation="is", object="old bo dahl bakken")
    with closing(store.snapshot()) as snapshot:
        stored = int(choose.stored_chunks(snapshot)[0])
    found = Extracted(stored, "recorded", Extraction(triples=(near,)))
    store.commit(graph_batch([found], MODELS, store.unnamed), ())
    cosines = statistical_of(store)["cosines"]
    highest = max(cosines)
    with closing(store.snapshot()) as snapshot:
        assert statistical(snapshot, None, synonym=highest).synonyms.nnz == 0
        below = statistical(snapshot, None, synonym=highest - 1e-6).synonyms
    assert below.nnz == cosines.count(highest)


def test_an_update_keeps_what_a_fresh_build_keeps(store):
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
    with scratch() as folder, create(folder / "index") as fresh:
        add(fresh, [changed, *(each for each in DOCUMENTS if each.id != "comet")])
        with closing(fresh.snapshot()) as new, closing(store.snapshot()) as old:
            columns = [each.layer("chunk").columns["graph"] for each in (new, old)]
            rows = np.flatnonzero(columns[1])
        extract(fresh, *rows)
        fresh.set_aliases({"mira toll": "bakken"})
        assert statistical_of(fresh) == updated
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
    index.freeze(store, no_embedder, compact=True)
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
    monkeypatch.setattr("clew.layers.statistical.as_written", None)
    monkeypatch.setattr("clew.layers.statistical.near_pairs", None)
    extract(store, 1, 2)
    after = statistical_of(store, no_embedder)
    assert len(after.pop("grounded")) > len(before.pop("grounded"))
    assert after == before


def test_without_a_model_questions_compute_them(store):
    """A removal is done whether or not the index's embedder can be had."""

    def gone():
        raise MissingExtra("onnxruntime", "minilm", "the embedder")

    add(store, DOCUMENTS)
    extract(store, 0, 1)
    index.finish(store, gone)
    with closing(store.snapshot()) as snapshot:
        assert snapshot.kept("keywords") is not None
        assert snapshot.kept("statistical") is None
    assert statistical_of(store)["rates"]
