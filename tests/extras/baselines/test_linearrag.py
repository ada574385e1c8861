"""LinearRAG beside networkx on the same graph, and on an example small enough for paper."""

import math

import networkx as nx
import numpy as np
import pytest

from clew import steps
from clew.extras.baselines.linearrag import LinearRag, activate_entities
from clew.methods import load
from clew.testing import QUESTIONS, built, small_documents
from clew.testing import models as hashing
from tests.methods.memory import models, snapshot

QUESTION = "Where was Ada's friend born?"
TEXTS = {
    "a": ["Ada knows Bo."],
    "b": ["Bo was born in Moss.", "Bo owns a Saab."],
    "c": ["Moss lies by the sea."],
    "d": ["Dag lives in Holt."],
}
MENTIONS = {
    "Ada knows Bo.": ["ada", "bo"],
    "Bo was born in Moss.": ["bo", "moss"],
    "Bo owns a Saab.": ["bo", "saab"],
    "Moss lies by the sea.": ["moss"],
    "Dag lives in Holt.": ["dag", "holt"],
}


def at(cosine):
    """Return a vector of this cosine to the question's."""
    return [cosine, math.sqrt(1 - cosine**2)]


VECTORS = {
    QUESTION: [1.0, 0.0],
    "Ada knows Bo.": at(0.8),
    "Bo was born in Moss.": at(0.7),
    "Bo owns a Saab.": at(0.2),
    "Moss lies by the sea.": at(0.6),
    "Dag lives in Holt.": at(0.1),
    "ada": [0.0, 1.0],
    "bo": [0.6, 0.8],
    "moss": [0.8, 0.6],
    "saab": [1.0, 0.0],
    "dag": [-1.0, 0.0],
    "holt": [-0.6, 0.8],
}


@pytest.fixture(scope="module")
def index():
    return snapshot(TEXTS, MENTIONS, VECTORS)


def ask(index, names=("Ada",), **parameters):
    return LinearRag(**parameters).retrieve(QUESTION, index, models(VECTORS, names))


def active(index, **parameters):
    """Return the last score and level of each active entity, and its weight, by its name."""
    given = models(VECTORS, ("Ada",))
    asked = steps.read_query(given, QUESTION)
    linked = steps.similar_entities(index, given, ["Ada"], 1)
    settings = {"threshold": 0.4, "levels": 3, "n_sentences": 3} | parameters
    found = activate_entities(index, asked, linked, None, **settings)
    names = index.layer("entity").ids(list(found))
    return {
        name: (round(each.score, 6), each.level, round(each.weight, 6))
        for name, each in zip(names, found.values(), strict=True)
    }


def test_entities_wake_each_other_on_paper(index):
    """Ada starts with 1; "Ada knows Bo." gives both .8; "Bo was born in Moss." gives .8 · .7.

    "Bo owns a Saab." gives .8 · .2, which is too little, and a third level is the last one. As in
    the released code the last score and level count for passages, and the sum for PageRank.
    """
    assert active(index, levels=1) == {"ada": (1.0, 1, 1.0)}
    two = {"ada": (0.8, 2, 1.8), "bo": (0.8, 2, 0.8)}
    assert active(index, levels=2) == two
    assert active(index, threshold=0.6) == two
    assert active(index) == two | {"bo": (0.56, 3, 1.36), "moss": (0.56, 3, 0.56)}
    assert active(index, threshold=0.1)["saab"] == (0.16, 3, 0.16)
    assert "saab" not in active(index, threshold=0.1, n_sentences=1)


def test_the_thread_shows_how(index):
    """Each entity on it was reached through the sentence before it."""
    found = ask(index, chunks=4)
    assert [step.text for step in found.seeds] == ["ada"]
    thread = next(path for path in found.paths if path.steps[-1].id.startswith("c:"))
    assert [(step.layer, step.text) for step in thread.steps] == [
        ("query", QUESTION),
        ("entity", "ada"),
        ("unit", "Ada knows Bo."),
        ("entity", "bo"),
        ("unit", "Bo was born in Moss."),
        ("entity", "moss"),
        ("chunk", "Moss lies by the sea."),
    ]
    [alone] = [path for path in found.paths if path.steps[-1].id.startswith("d:")]
    assert [step.layer for step in alone.steps] == ["query", "chunk"]


def test_a_question_without_names_gets_the_nearest_chunks(index):
    """A note says so."""
    found = ask(index, names=())
    assert found.notes == ("the question names no entity: used the chunks nearest to it",)
    assert found.hits[0].document_id == "a"


def woken(method, linked, unit_entities, cosines):
    """Return the last score and level of each active entity, and the sum over all ways to it.

    From the (n_units, n_entities) truths.
    """
    best = {e: (s, 1, s) for e, s in sorted((link.row, link.score) for link in linked)}
    last, used = {entity: score for entity, (score, _, _) in best.items()}, set()
    for level in range(2, method.levels + 1):
        new = {}
        for entity in [e for e, score in last.items() if score >= method.threshold]:
            units = [u for u in np.flatnonzero(unit_entities[:, entity]) if u not in used]
            units.sort(key=lambda u: (-round(float(cosines[u]), 6), u))
            used.update(units[: method.sentences])
            for unit in units[: method.sentences]:
                score = last[entity] * cosines[unit]
                for other in np.flatnonzero(unit_entities[unit]).tolist():
                    if score >= method.threshold:
                        _, _, weight = best.get(other, (0, 0, 0.0))
                        best[other] = (score, level, weight + score)
                        new[other] = score
        last = new
    return best


def oracle(index, method, question, given):
    """Return each document's score by networkx, from links and texts of the index."""
    asked = steps.read_query(given, question)
    chunk_units, unit_entities = (
        index.link(*pair).toarray() > 0 for pair in (("chunk", "unit"), ("unit", "entity"))
    )
    counts = chunk_units.astype(int) @ unit_entities.astype(int)
    owners = index.layer("chunk").columns["document"]
    counts += (index.link("document", "entity").toarray() > 0).astype(int)[owners]
    names, _ = steps.query_names(given, question)
    linked = steps.similar_entities(index, given, names, 1)
    cosines = np.asarray(index.layer("unit").vectors[:] @ asked.vector)
    best = woken(method, linked, unit_entities, cosines)
    near = np.asarray(index.layer("chunk").vectors[:] @ asked.vector)
    scaled = (near - near.min()) / (near.max() - near.min())
    graph, restart = nx.Graph(), {("entity", e): weight for e, (_, _, weight) in best.items()}
    for c in range(len(owners)):
        graph.add_node(("chunk", c))
        bonus = sum(s * math.log1p(counts[c, e]) / level for e, (s, level, _) in best.items())
        own = method.passage_ratio * scaled[c] + math.log1p(bonus)
        restart["chunk", c] = method.passage_weight * own
        for e in np.flatnonzero(counts[c]).tolist():
            graph.add_edge(("chunk", c), ("entity", e), weight=counts[c, e] / counts[c].sum())
    ranks = nx.pagerank(
        graph, alpha=method.damping, personalization=restart, max_iter=1000, tol=1e-12
    )
    return {index.layer("document").ids([d])[0]: ranks["chunk", c] for c, d in enumerate(owners)}


METHODS = [
    LinearRag(chunks=99),
    LinearRag(chunks=99, threshold=0.05, levels=4, sentences=1),
    LinearRag(chunks=99, damping=0.85, passage_ratio=0.5, passage_weight=1.0),
]


@pytest.mark.parametrize("method", METHODS, ids=["default", "wide", "other weights"])
def test_scores_are_those_of_networkx(index, method):
    """The same graph and restart, built entry by entry, give the same scores, best first."""
    given = models(VECTORS, ("Ada",))
    found = method.retrieve(QUESTION, index, given)
    expected = oracle(index, method, QUESTION, given)
    assert {hit.document_id: hit.score for hit in found.hits} == pytest.approx(expected, abs=1e-6)
    assert found.hits == tuple(sorted(found.hits, key=lambda hit: -hit.score))


@pytest.mark.parametrize("method", METHODS, ids=["default", "wide", "other weights"])
def test_scores_of_a_stored_index_are_those_of_networkx(method):
    """With titles, and sentences that several chunks share."""
    asked = 0
    with built(small_documents()) as stored:
        for question in QUESTIONS:
            found = method.retrieve(question, stored, hashing())
            if not found.notes:
                asked += 1
                scores = {hit.document_id: hit.score for hit in found.hits}
                expected = oracle(stored, method, question, hashing())
                assert scores == pytest.approx(expected, abs=1e-6)
    assert asked >= 2


def test_presets_are_those_of_the_authors_script():
    """Iterations, threshold, sentences and passage ratio of each data set."""
    presets = {
        "linearrag_musique": (5, 0.1, 4, 2.0),
        "linearrag_hotpotqa": (3, 0.4, 1, 0.05),
        "linearrag": (3, 0.4, 3, 2.0),
    }
    for name, values in presets.items():
        method = load(name)()
        assert (
            method.levels, method.threshold, method.sentences, method.passage_ratio
        ) == values  # fmt: skip
        with built(small_documents()) as few:
            assert method.retrieve(QUESTIONS[0], few, hashing()).method == name
