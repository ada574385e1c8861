"""A snapshot of some documents is that of an index that never held others, byte for byte."""

from functools import lru_cache

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from clew import testing
from clew.base.types import Document
from clew.index import adding, choose
from clew.index.extract import run_extractions
from clew.index.generation import compact, open_snapshot
from clew.index.store.embedded import EmbeddedStore
from clew.models.cooccurrence import Cooccurrence
from tests import snapshots
from tests.index.build import MODELS, scratch
from tests.index.test_update import TEXTS, recipe, version
from tests.trials import trials

ALL = sorted(TEXTS)
SUBSETS = st.sets(st.sampled_from(ALL), min_size=1)


def build(store, names):
    adding.add_documents(
        store, [version(name, i % 2) for i, name in enumerate(ALL) if name in names], MODELS
    )
    rules = Cooccurrence(MODELS.tagger)
    run_extractions(store, MODELS, choose.Wanted(triples="cooccurrence"), rules=rules)
    store.set_aliases({"bo dahl": "dahl", "amber lane": "amber"})


@lru_cache(maxsize=1000)
def alone(names, late, depth):
    """Return what an index of these documents holds."""
    with scratch() as folder, EmbeddedStore.create(folder, recipe(late, depth)) as store:
        build(store, names)
        snapshot = open_snapshot(store)
        return snapshots.contents(snapshot)


CHOICES = {"chosen": SUBSETS, "gone": SUBSETS, "late": st.booleans(), "depth": st.integers(0, 1)}


@trials(6, 300)
@given(**CHOICES)
@example(chosen={"amber"}, gone={"bo"}, late=True, depth=1)
@example(chosen={"empty"}, gone={"han"}, late=False, depth=0)
def test_some_documents_are_an_index_of_their_own(chosen, gone, late, depth):
    """No name, number, order or text of what is left out can be seen."""
    with scratch() as folder, EmbeddedStore.create(folder, recipe(late, depth)) as store:
        build(store, frozenset(ALL))
        if len(gone) < len(ALL):
            store.remove(sorted(gone))
        if len(gone) % 2:
            compact(store)
        whole = open_snapshot(store)
        ids = whole.layer("document").ids(range(len(whole.document_layer)))
        chosen = frozenset(chosen) & frozenset(ids)
        if not chosen:
            return
        rows = np.flatnonzero([each in chosen for each in ids])
        some = whole.among(rows)
        snapshots.check_consistent(some)
        assert snapshots.contents(some) == alone(chosen, late, depth)
        assert some.generation == whole.generation


def test_what_is_left_out_cannot_be_looked_up():
    """Its id, chunks, entities and terms have no row; the others have theirs."""
    documents, hidden = testing.small_documents(), "eriksen"
    with testing.built(documents, triples=True) as whole:
        ids = whole.layer("document").ids(range(len(documents)))
        some = whole.among(np.flatnonzero([each != hidden for each in ids]))
        [row] = whole.layer("document").rows([hidden])
        chunks = np.flatnonzero(whole.layer("chunk").columns["document"] == row)
        assert some.layer("document").rows([hidden, "comet"]) == [-1, 2]
        assert some.layer("chunk").rows(whole.layer("chunk").ids(chunks.tolist())) == [-1]
        assert hidden not in {each.id for each in some.document_layer.headers()}
        for name in ("entity", "term"):
            layer = some.layer(name)
            lost = set(whole.layer(name).ids(range(len(whole.layer(name)))))
            lost -= set(layer.ids(range(len(layer))))
            assert lost
            assert set(layer.rows(sorted(lost))) == {-1}


def test_an_alias_that_is_left_out_is_not_known():
    """A name of a document that is left out leads nowhere, and what it stands for is not told."""
    documents = [
        Document(id="a", text="Bo Dahl built the Fram. Bo Dahl sailed."),
        Document(id="b", text="Robert Quill built the Fram. Robert Quill sailed."),
    ]
    with scratch() as folder, EmbeddedStore.create(folder, recipe(True, 0)) as store:
        adding.add_documents(store, documents, MODELS)
        store.set_aliases({"robert quill": "bo dahl"})
        whole = open_snapshot(store)
        [row] = whole.layer("entity").rows(["robert quill"])
        assert whole.layer("entity").ids([row]) == ["bo dahl"]
        some = whole.among(np.array([0]))
        assert some.layer("entity").rows(["robert quill"]) == [-1]
        store.set_aliases({"robert quill": None, "bo dahl": "robert quill"})
        some = open_snapshot(store).among(np.array([0]))
        [row] = some.layer("entity").rows(["bo dahl"])
        assert some.layer("entity").ids([row]) == ["bo dahl"]
