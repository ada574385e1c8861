"""Pairs of names that are near: those of a comparison of all, also after edits."""

from contextlib import closing
from itertools import combinations

import numpy as np
import pytest

from clew import testing
from clew.base.types import Extraction, Triple
from clew.extras.baselines.synonyms import LEAST, SYNONYMS, synonym_pairs
from clew.index import choose, generation
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from tests.index.build import MODELS, add, create, document, scratch

DOCUMENTS = testing.small_documents()
NAMES = [
    ("Ola Eriksen the elder", "Ola Eriksen the elder son"),
    ("Old Bo Dahl of Bakken", "old Bo Dahl Bakken"),
    ("ab", "ab c"),  # too short to be the same
]


@pytest.fixture
def store():
    """Give a new store of small documents."""
    with scratch() as folder, create(folder / "index") as made:
        add(made, DOCUMENTS)
        yield made


def extract(store, chunk, *ends):
    """Give a chunk triples that join these names."""
    with closing(generation.open_snapshot(store)) as snapshot:
        stored = int(choose.stored_chunk_numbers(snapshot)[chunk])
    triples = tuple(Triple(subject=a, relation="met", object=b) for a, b in ends)
    extracted = [ChunkExtraction(stored, "recorded", Extraction(triples=triples))]
    store.commit(build_graph_batch(extracted, MODELS, store.unnamed), ())


def pairs_of(store, above=LEAST):
    """Return the pairs of the newest generation with their cosines, by names."""
    with closing(generation.open_snapshot(store)) as snapshot:
        a, b, cosines = synonym_pairs(snapshot, above)
        ids = snapshot.layer("entity").ids
        names = zip(ids(a.tolist()), ids(b.tolist()), strict=True)
        return dict(zip(names, cosines.tolist(), strict=True))


def compared(store):
    """Return the same by comparing all names that triples have, each with each."""
    with closing(generation.open_snapshot(store)) as snapshot:
        layer, columns = snapshot.layer("entity"), snapshot.layer("triple").columns
        rows = sorted({*columns["subject"].tolist(), *columns["object"].tolist()})
        names, vectors = layer.ids(rows), layer.vectors[rows]
    found = {}
    for (a, of_a), (b, of_b) in combinations(zip(names, vectors, strict=True), 2):
        cosine = round(float(of_a @ of_b), 6)
        if cosine > LEAST and min(sum(map(str.isalnum, name)) for name in (a, b)) > 2:
            found[a, b] = cosine
    return found


def test_pairs_are_those_of_all_comparisons(store):
    """After each edit, too, where only what is new was compared."""
    for chunk, ends in enumerate(NAMES):
        extract(store, chunk, ends)
        assert pairs_of(store) == pytest.approx(compared(store), abs=1e-6)
    assert len(pairs_of(store)) == 2
    store.remove([DOCUMENTS[0].id])
    assert pairs_of(store) == pytest.approx(compared(store), abs=1e-6)
    assert len(pairs_of(store)) == 1
    add(store, [document("a", "Old Bo Dahl came.", title="Ola Eriksen")])
    extract(store, 0, NAMES[0])
    assert len(pairs_of(store)) == 2
    with closing(generation.open_snapshot(store)) as snapshot:
        fresh, updated = SYNONYMS.compute(snapshot), snapshot.get(SYNONYMS)
        assert all(np.array_equal(fresh[name], updated[name]) for name in fresh)


def test_only_pairs_above_a_cosine(store):
    """One that is as high is not above it."""
    extract(store, 0, *NAMES)
    highest = max(pairs_of(store).values())
    assert pairs_of(store, highest) == {}


def test_an_index_without_triples_has_none(store):
    """And nothing is in the arrays."""
    assert pairs_of(store) == {}
