"""What is kept of a generation is what would be computed from it, and mostly is not computed."""

from contextlib import closing

import numpy as np
import pytest

from clew import steps, testing
from clew.algo.keywords import keyword_lengths
from clew.index import choose
from clew.index.keep import keep_derived
from clew.layers.extractions import Extracted, graph_batch
from clew.types import Extraction, Triple
from tests.index.build import MODELS, add, create, document, scratch

DOCUMENTS = testing.small_documents()


@pytest.fixture
def store():
    """Give a new, empty store."""
    with scratch() as folder, create(folder / "index") as made:
        yield made


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
        graph = steps.chunk_graph(snapshot, 2)
    arrays = kept(store, "neighbours-2")
    assert graph.nnz
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "indptr": graph.indptr.tolist(),
        "indices": graph.indices.tolist(),
    }
    with closing(store.snapshot()) as snapshot:
        assert (steps.chunk_graph(snapshot, 2) != graph).nnz == 0


def test_an_empty_index_has_nothing_to_keep(store):
    """Nothing is kept where there are no sentences, and where the last one went."""
    assert kept(store) is None
    add(store, DOCUMENTS[:1])
    assert kept(store) is not None
    store.remove([DOCUMENTS[0].id])
    assert kept(store) is None
