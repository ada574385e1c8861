"""Dense, BM25, hybrid and the methods without retrieval, each beside a plain computation."""

import math
from collections import Counter

import numpy as np
import pytest

from clew.errors import UnknownMethod
from clew.index.snapshot import Snapshot
from clew.methods import load, names
from clew.methods.bm25 import Bm25
from clew.methods.dense import Dense
from clew.methods.hybrid import Hybrid
from clew.methods.zero_shot import ChainOfThought, ZeroShot
from clew.testing import QUESTIONS, HashEmbedder, ScriptedLLM, built, models, small_documents
from clew.text.analyze import terms

QUESTION = QUESTIONS[0]


@pytest.fixture(scope="module", params=["tokens", "plain"])
def given(request):
    return models() if request.param == "tokens" else models(HashEmbedder())


@pytest.fixture(scope="module")
def index(given):
    with built(small_documents(), given) as snapshot:
        yield snapshot


def scores(found):
    return {hit.document_id: hit.score for hit in found.hits}


def read(document):
    """Return what models and BM25 see of a document of one chunk: its title belongs to it."""
    started = document.text.startswith(document.title)
    return document.text if started else f"{document.title}\n{document.text}"


def cosines(given, question, index):
    """Return the cosines to the stored vectors, which are nearly those of the texts."""
    texts = [read(document) for document in small_documents()]
    exact = given.embedder.embed(texts, kind="document")
    asked = given.embedder.embed([question], kind="query")[0]
    rows = index.layer("document").rows([document.id for document in small_documents()])
    found = index.layer("chunk").vectors[np.array(rows)] @ asked
    np.testing.assert_allclose(found, exact @ asked, atol=4e-3)
    return {d.id: float(v) for d, v in zip(small_documents(), found, strict=True)}


def okapi(question):
    """Return BM25 by its formula (k1 1.2, b 0.75), a term of the question counted once."""
    bags = {d.id: Counter(terms(read(d))) for d in small_documents()}
    mean = sum(bag.total() for bag in bags.values()) / len(bags)
    found = {}
    for name, bag in bags.items():
        found[name] = 0.0
        for term in set(terms(question)):
            df = sum(term in other for other in bags.values())
            idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
            saturation = 1.2 * (1 - 0.75 + 0.75 * bag.total() / mean)
            found[name] += idf * bag[term] * 2.2 / (bag[term] + saturation)
    return found


def scaled(values):
    low, high = min(values.values()), max(values.values())
    return {name: (value - low) / (high - low) for name, value in values.items()}


@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_dense_is_the_cosine(given, index, question):
    """Every chunk by the cosine of its vector to the query's, best first."""
    found = Dense(chunks=99).retrieve(question, index, given)
    expected = cosines(given, question, index)
    assert scores(found) == pytest.approx(expected, abs=1e-5)
    assert [h.document_id for h in found.hits] == sorted(
        expected, key=lambda name: (-round(expected[name], 6), name)
    )


@pytest.mark.parametrize("question", [*QUESTIONS[:3], "comet comet COMET bakken"])
def test_bm25_is_the_formula(given, index, question):
    """Okapi BM25, titles counted; a chunk without any of the words is no hit."""
    expected = {name: score for name, score in okapi(question).items() if score > 0}
    found = Bm25(chunks=99).retrieve(question, index, given)
    assert scores(found) == pytest.approx(expected)
    values = [hit.score for hit in found.hits]
    assert values == sorted(values, reverse=True)


def test_without_a_known_word(given, index):
    """Unknown words give no hits rather than any, and a flat lexical ranking has no say."""
    assert Bm25().retrieve("what is the zzz of it", index, given).hits == ()
    found = Hybrid(chunks=99).retrieve("zzz", index, given)
    assert scores(found) == pytest.approx(scaled(cosines(given, "zzz", index)), abs=1e-5)


@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_hybrid_is_the_mean_of_both_scaled(given, index, question):
    """Both rankings scaled to [0, 1] over all chunks, then averaged."""
    dense, lexical = scaled(cosines(given, question, index)), scaled(okapi(question))
    expected = {name: (dense[name] + lexical[name]) / 2 for name in dense}
    found = Hybrid(chunks=99).retrieve(question, index, given)
    assert scores(found) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_hybrid_by_reciprocal_ranks(given, index, question):
    """1 / (60 + rank) summed over both rankings, positive scores only."""
    expected = Counter(dict.fromkeys(cosines(given, question, index), 0.0))
    for ranking in (cosines(given, question, index), okapi(question)):
        order = sorted(ranking, key=lambda name: (-round(ranking[name], 6), name))
        for rank, name in enumerate((n for n in order if ranking[n] > 0), start=1):
            expected[name] += 1 / (60 + rank)
    found = Hybrid(chunks=99, fusion="rrf").retrieve(question, index, given)
    assert scores(found) == pytest.approx(dict(expected))


@pytest.mark.parametrize("method", [Dense, Bm25, Hybrid])
def test_the_best_come_first_and_no_more_than_asked_for(given, index, method):
    """A small `chunks` is the head of a large one."""
    many = method(chunks=99).retrieve(QUESTION, index, given)
    few = method(chunks=2).retrieve(QUESTION, index, given)
    assert few.hits == many.hits[:2]
    assert method(chunks=0).retrieve(QUESTION, index, given).hits == ()


@pytest.mark.parametrize("method", [Dense, Bm25, Hybrid])
def test_hits_name_their_place(given, index, method):
    """A hit is a range of its document's text, with the document's title and source."""
    documents = {document.id: document for document in small_documents()}
    hits = method().retrieve(QUESTION, index, given).hits
    assert hits
    for hit in hits:
        of = documents[hit.document_id]
        assert (hit.title, hit.source) == (of.title, of.source)
        assert of.text[hit.start : hit.end] == hit.text
        assert hit.chunk_id == f"{of.id}:{hit.start}-{hit.end}"


@pytest.mark.parametrize(
    ("method", "name"), [(ZeroShot(), "zero_shot"), (ChainOfThought(), "chain_of_thought")]
)
def test_methods_without_retrieval_need_no_index(method, name):
    """They touch no layer, find nothing, ask no model, and say so where no LLM can answer."""
    nothing = Snapshot(None, {}, {})
    with_llm = method.retrieve(QUESTION, nothing, models(llm=ScriptedLLM()))
    assert (with_llm.hits, with_llm.notes, with_llm.method) == ((), (), name)
    without = method.retrieve(QUESTION, nothing, models())
    assert without.notes == (f"{name} needs an LLM: name one with --llm",)
    assert method.layers == frozenset()


def test_an_unknown_method_is_answered_with_the_known():
    """The message lists what there is."""
    with pytest.raises(
        UnknownMethod,
        match=r"'clu' \(did you mean 'clue'\?\): choose one of agrag, .*chain_of_thought, clue",
    ):
        load("clu")


def test_scores_are_plain_numbers(given, index):
    """A hit's score is a float of Python, which JSON can hold."""
    for name in sorted({*names()} - {"graphrag_global", "ircot", "raptor"}):  # which need an LLM
        found = load(name)().retrieve(QUESTION, index, given)
        assert found.method == name
        assert found.hits or found.notes, name
        for hit in found.hits:
            assert type(hit.score) is float
            assert np.isfinite(hit.score)
