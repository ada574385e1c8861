"""HippoRAG 2 beside networkx on the same graph, and on an example small enough for paper."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from clew.errors import InputError
from clew.extras.baselines.hipporag2 import HippoRag2
from clew.testing import HashEmbedder, ScriptedLLM, models, small_documents
from clew.testing import built as built_index
from clew.text.keys import name_key
from tests.methods.bubble import comet

QUESTION = comet.QUESTION
ALL = HippoRag2(chunks=99)
CHAIN = {"a": "Ada met Bo.", "b": "Bo met Cy.", "c": "Cy met Di.", "d": "Nobody met Ed."}
FACTS = {name: [(text.split()[0], "met", text.split()[2][:-1])] for name, text in CHAIN.items()}
# Names that differ by little have near vectors of hashes of their parts.
ALIKE = {
    "early": [("Ola Eriksen the elder", "built", "Comet")],
    "late": [("Ola Eriksen the elder son", "sold", "Comet"), ("crew", "left", "Comet")],
}


@pytest.fixture(scope="module")
def ships():
    with comet.indexed() as snapshot:
        yield snapshot


@pytest.fixture(scope="module")
def chain():
    with comet.indexed(CHAIN, FACTS) as snapshot:
        yield snapshot


def scores(found):
    return {hit.document_id: hit.score for hit in found.hits}


def drawn(snapshot, triples, above):
    """Return the graph of the triples that the index was made of, and the chunks of each phrase."""
    graph, chunks_of = nx.Graph(), {}
    graph.add_nodes_from(("chunk", name) for name in triples)

    def join(a, b, weight):
        have = graph.get_edge_data(a, b, {"weight": 0.0})["weight"]
        graph.add_edge(a, b, weight=have + weight)

    for document, rows in triples.items():
        for subject, _, target in rows:
            ends = [name_key(subject), name_key(target)]
            join(*(("phrase", end) for end in ends), 2.0)
            for end in ends:
                chunks_of.setdefault(end, set()).add(document)
    for end, within in chunks_of.items():
        for document in within:
            join(("phrase", end), ("chunk", document), 1.0)
    layer = snapshot.layer("entity")
    vectors = dict(zip(chunks_of, layer.vectors[layer.rows(list(chunks_of))], strict=True))
    for a, b in combinations(sorted(chunks_of), 2):
        cosine = round(float(vectors[a] @ vectors[b]), 6)
        if cosine > above and min(sum(map(str.isalnum, end)) for end in (a, b)) > 2:
            join(("phrase", a), ("phrase", b), 2.0 * cosine)
    return graph, chunks_of


def weighed(snapshot, method, asked, chunks_of):
    """Return the weights of the ends of the facts nearest to a question, by name."""
    entity, triple = snapshot.layer("entity"), snapshot.layer("triple")
    cosines = dict(zip(triple.ids(range(len(triple))), triple.vectors @ asked, strict=True))
    best = sorted(cosines, key=lambda key: (-round(float(cosines[key]), 6), key))
    parts = {}
    for key in [key for key in best[: method.facts] if cosines[key] > 0]:
        row = triple.rows([key])
        for end in ("subject", "object"):
            [name] = entity.ids(triple.columns[end][row].tolist())
            parts.setdefault(name, []).append(cosines[key] / cosines[best[0]])
    weights = {name: np.mean(found) / len(chunks_of[name]) for name, found in parts.items()}
    rows = dict(zip(weights, entity.rows(list(weights)), strict=True))
    kept = sorted(weights, key=lambda name: (-round(weights[name], 6), rows[name]))
    return {name: weights[name] for name in kept[: method.phrases]}


def oracle(snapshot, triples, method, question):
    """Return each document's score by networkx."""
    asked = HashEmbedder().embed([question], kind="query")[0]
    chunk = snapshot.layer("chunk")
    graph, chunks_of = drawn(snapshot, triples, method.synonym)
    phrases = weighed(snapshot, method, asked, chunks_of)
    restart = {("phrase", name): weight for name, weight in phrases.items()}
    near = chunk.vectors @ asked
    scaled = (near - near.min()) / (near.max() - near.min())
    names = snapshot.layer("document").ids(chunk.columns["document"].tolist())
    for name, share in zip(names, scaled.tolist(), strict=True):
        graph.add_node(("chunk", name))
        restart["chunk", name] = method.passage_weight * share
    ranks = nx.pagerank(
        graph, alpha=method.damping, personalization=restart, max_iter=1000, tol=1e-12
    )
    return {name: ranks["chunk", name] for name in names}


@pytest.mark.parametrize(
    "method",
    [
        ALL,
        replace(ALL, facts=2, phrases=1),
        replace(ALL, damping=0.85, passage_weight=1.0),
        replace(ALL, facts=99, phrases=99, passage_weight=0.0),
    ],
    ids=["default", "one phrase", "other weights", "no passages"],
)
@pytest.mark.parametrize(
    ("texts", "triples", "questions"),
    [
        (comet.TEXTS, comet.TRIPLES, (QUESTION, "Who built the Comet?", "capital of Osterland")),
        (CHAIN, FACTS, ("Ada met Bo", "Bo met Cy")),
        ({"early": "They built her.", "late": "They sold her."}, ALIKE, ("Eriksen built Comet",)),
    ],
    ids=["comet", "chain", "alike"],
)
def test_scores_are_those_of_networkx(texts, triples, questions, method):
    """The same graph and restart, built entry by entry, give the same scores, best first."""
    with comet.indexed(texts, triples) as snapshot:
        for question in questions:
            found = method.retrieve(question, snapshot, models())
            expected = oracle(snapshot, triples, method, question)
            assert found.notes == ()
            assert scores(found) == pytest.approx(expected, abs=1e-6)
            best = sorted(expected.values(), reverse=True)
            assert [hit.score for hit in found.hits] == pytest.approx(best, abs=1e-6)


def test_near_names_are_joined():
    """Two of the names are so near that one leads to the chunk of the other."""
    texts = {"early": "They built her.", "late": "They sold her."}
    method = HippoRag2(facts=1, phrases=1, passage_weight=0.0)
    apart = {"early": ALIKE["early"], "late": [("Ola Eriksen the elder son", "sold", "ship")]}
    with comet.indexed(texts, apart) as snapshot:
        found = method.retrieve("Ola Eriksen the elder built", snapshot, models())
        assert scores(found)["late"] > 0
        found = replace(method, synonym=1.0).retrieve(
            "Ola Eriksen the elder built", snapshot, models()
        )
        assert scores(found)["late"] == 0


def test_an_example_on_paper():
    """A chunk with one fact.

    Both ends start with 1/2 and are joined by 2, each to the chunk by 1. Of the weight x of either
    1/3 may go to the chunk, half of the time: the chunk has 2 x / 6, and 2 x + x / 3 = 1.
    """
    with comet.indexed({"a": "Ada met Bo."}, {"a": [("Ada", "met", "Bo")]}) as snapshot:
        found = HippoRag2().retrieve("Ada met Bo", snapshot, models())
    assert scores(found) == {"a": pytest.approx(1 / 7, abs=1e-9)}


def test_a_chain_of_facts_is_followed(chain):
    """The first fact leads to a chunk that has no name of it; its triple stands on the thread."""
    method = HippoRag2(facts=1, passage_weight=0.0)
    found = method.retrieve("Ada met", chain, models())
    assert [hit.document_id for hit in found.hits] == ["a", "b", "c", "d"]
    assert scores(found)["c"] > scores(found)["d"] == 0
    assert [(step.layer, step.text) for step in found.seeds] == [("triple", "Ada met Bo")]
    layers = [[step.layer for step in path.steps] for path in found.paths]
    assert layers[0] == ["query", "triple", "chunk"]
    assert [step.text for step in found.paths[1].steps[1:3]] == ["Ada met Bo", "Bo met Cy"]
    assert [step.text for step in found.paths[2].steps[1:2]] == ["Cy met Di"]
    assert [step.reason for step in found.paths[2].steps[1:]] == [
        "of the highest scores there",
        "holds it",
    ]
    assert found.paths[3].steps[-1].reason in {"holds it", "near the question"}


def test_phrases_in_many_chunks_weigh_less(ships):
    """Osterland is in three chunks and Verle in one, so of one fact's ends Verle starts it."""
    method = HippoRag2(facts=1, phrases=1, passage_weight=0.0, damping=0.0, chunks=99)
    question = "Verle capital of Osterland"
    found = method.retrieve(question, ships, models())
    assert set(scores(found).values()) == {0.0}  # all weight stays where it starts
    found = replace(method, damping=0.5).retrieve(question, ships, models())
    assert found.hits[0].document_id == "verle"
    assert "Verle" in found.paths[0].steps[1].text


def test_an_llm_leaves_facts_out(chain):
    """It may keep none, and then the nearest chunks come back; without one all are kept."""
    assert len(HippoRag2(facts=3).retrieve("Ada met", chain, models()).seeds) == 3
    llm = ScriptedLLM({"keep": [2]})
    found = HippoRag2(facts=3).retrieve("Ada met", chain, models(llm=llm))
    assert llm.n_left == 0
    assert len(found.seeds) == 1
    none = HippoRag2().retrieve("Ada met", chain, models(llm=ScriptedLLM({"keep": []})))
    assert none.notes == (
        "no fact of the graph is about the question: used the chunks nearest to the question",
    )
    assert len(none.hits) == len(CHAIN)
    off = HippoRag2(facts=3, filter=False).retrieve("Ada met", chain, models(llm=ScriptedLLM()))
    assert len(off.seeds) == 3


def test_without_triples_the_nearest_chunks_come_back():
    """A note says so, and what to do."""
    with built_index(small_documents()) as snapshot:
        found = HippoRag2().retrieve("Where is Bakken?", snapshot, models())
    assert len(found.hits) == 10
    [note] = found.notes
    assert note.startswith("the index has no triples ('clew index --triples' extracts")


def test_a_synonym_below_what_is_stored_is_refused():
    """Pairs below 0.8 are in no index."""
    with pytest.raises(InputError, match=r"synonym is from 0.8 to 1, not 0.7"):
        HippoRag2(synonym=0.7)
