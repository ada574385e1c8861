"""An index whose triples an earlier version of Clew read from the dependency parse."""

from contextlib import closing
from dataclasses import asdict

import pytest

import clew
from clew.base.types import GRAPH
from clew.errors import InputError
from clew.index.choose import NOTE, Wanted
from clew.index.extract import ExtractionCorpus
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch
from clew.index.store import opening
from clew.models.extractors.cooccurrence import Cooccurrence
from clew.testing import models, small_documents

MODELS = models()
NEW = clew.Document(id="new", text="Ola Eriksen built the Comet at Norrvik.")
SENTENCE = (
    "this index asks for triples from the dependency parse, which Clew no longer extracts: ask for "
    "others, as in --triples cooccurrence, or for none; those that it has stay"
)


@pytest.fixture
def folder(tmp_path):
    """Give an index with triples and the setting as an earlier version stored them."""
    place = tmp_path / "my.clew"
    with clew.open(place, models=MODELS) as index:
        index.add(small_documents())
    with closing(opening.open_store(place)) as store:
        with closing(ExtractionCorpus(store, MODELS)) as corpus:
            extractions = Cooccurrence(MODELS.tagger).extract(corpus.texts)
            made = [
                ChunkExtraction(int(chunk), "parse", extraction)
                for chunk, extraction in zip(corpus.stored, extractions, strict=True)
            ]
        store.commit(build_graph_batch(made, MODELS, store.unnamed), ())
        store.set_note(NOTE, {**asdict(Wanted()), "triples": "parse"})
    return place


@pytest.fixture
def index(folder):
    with clew.open(folder, models=MODELS) as opened:
        yield opened


def sources(index):
    return {by: n for by, n in index.show()["extraction"][GRAPH].items() if n}


def test_it_answers_and_what_needs_no_new_triples_works(index):
    n_chunks = len(index.snapshot().layer("chunk"))
    assert sources(index) == {"parse": n_chunks}
    evidence = index.search("Where was the builder of the Comet at home?", method="ket")
    assert evidence.hits
    assert "by the parse of sentences" in str(evidence.notes)
    index.remove(small_documents()[0].id)
    index.compact()
    assert index.check() == []
    assert [*sources(index)] == ["parse"]


def test_more_of_them_are_refused(index):
    """The sentence says what to ask for, and nothing is written before."""
    before = len(index)
    with pytest.raises(InputError) as error:
        index.add(NEW)
    assert str(error.value) == SENTENCE
    assert len(index) == before
    with pytest.raises(InputError, match="'parse'"):
        index.add(NEW, triples="parse")


@pytest.mark.parametrize(("triples", "new"), [("none", "none"), ("cooccurrence", "cooccurrence")])
def test_other_triples_are_asked_for_once(index, triples, new):
    """They are of new texts alone, and later runs know them."""
    [(_, n_chunks)] = sources(index).items()
    index.add(NEW, triples=triples)
    assert sources(index) == {"parse": n_chunks, new: 1}
    index.add(clew.Document(id="newer", text="Mira Toll crossed the Analog Sea."))
    assert sources(index) == {"parse": n_chunks, new: 2}
