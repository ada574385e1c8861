"""HippoRAG beside networkx on the same graph of phrases, and an example small enough for paper."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import networkx as nx
import pytest

from clew.extras.baselines.hipporag import HippoRag
from clew.testing import HashEmbedder, ScriptedLLM, built, models, small_documents
from clew.text.keys import name_key
from tests.methods.bubble import comet

ALL = HippoRag(chunks=99)
# Names that differ by little have near vectors of hashes of their parts.
ALIKE = {
    "early": [("Ola Eriksen the elder", "built", "Comet"), ("Comet", "left", "Moss")],
    "late": [("Ola Eriksen the elder son", "sold", "Saga")],
    "both": [("Ola Eriksen the elder", "taught", "Ola Eriksen the elder son")],
}


def names(*given):
    return models(llm=ScriptedLLM({"named_entities": list(given)}))


def scores(found):
    return {hit.document_id: hit.score for hit in found.hits}


def oracle(triples, method, given):
    """Return the scores of documents by networkx: sums over the ends of their triples."""
    facts = {
        name: {(name_key(s), r, name_key(o)) for s, r, o in rows} for name, rows in triples.items()
    }
    ends = sorted({end for own in facts.values() for s, _, o in own for end in (s, o)})
    vectors = dict(zip(ends, HashEmbedder().embed(ends, kind="document"), strict=True))
    weights = Counter(tuple(sorted((s, o))) for own in facts.values() for s, _, o in own)
    for a, b in combinations(ends, 2):
        cosine = float(vectors[a] @ vectors[b])
        if cosine > method.synonym and min(sum(map(str.isalnum, end)) for end in (a, b)) > 2:
            weights[a, b] = cosine  # in place of the triples
    graph = nx.Graph()
    graph.add_nodes_from(ends)
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in weights.items())
    restart = {}
    for vector in HashEmbedder().embed([name_key(name) for name in given], kind="document"):
        best = max(ends, key=lambda end: round(float(vectors[end] @ vector), 6))
        n = sum(any(best in (s, o) for s, _, o in own) for own in facts.values())
        restart[best] = 1 / n if method.specificity else 1
    ranks = nx.pagerank(graph, alpha=method.damping, personalization=restart, tol=1e-14)
    return {name: sum(ranks[s] + ranks[o] for s, _, o in own) for name, own in facts.items()}


@pytest.mark.parametrize(
    "method",
    [ALL, replace(ALL, damping=0.1), replace(ALL, specificity=False), replace(ALL, synonym=1.0)],
    ids=["default", "released damping", "no specificity", "no synonyms"],
)
@pytest.mark.parametrize(
    ("triples", "given"),
    [
        (comet.TRIPLES, ("Osterland", "Comet")),
        (comet.TRIPLES, ("The ship Comet",)),
        (ALIKE, ("Ola Eriksen the elder",)),
        (ALIKE, ("Moss", "Saga")),
    ],
    ids=["two names", "a name like it", "alike", "far apart"],
)
def test_scores_are_those_of_networkx(triples, given, method):
    """The same graph, restart and sums, built entry by entry."""
    texts = {name: f"Text {name}." for name in triples}
    with comet.indexed(texts, triples) as snapshot:
        found = method.retrieve("Which?", snapshot, names(*given))
    expected = {name: score for name, score in oracle(triples, method, given).items() if score}
    assert {n: s for n, s in scores(found).items() if s > 1e-6} == pytest.approx(
        {n: s for n, s in expected.items() if s > 1e-6},
        abs=1e-4,  # vectors are stored rounded
    )
    assert [hit.score for hit in found.hits] == sorted(scores(found).values(), reverse=True)


def test_an_example_on_paper():
    """Ada starts with 1 and is joined to Bo by 1, Bo to Cy by 1.

    Half of all goes on: a = 1/2 + b/4, b = a/2 + c/2, c = b/4, so that b is 2/7 of all, a 4/7 and c
    1/14, if half of c goes back; hence Ada's chunk has a + b and Bo's b + c.
    """
    triples = {"x": [("Ada", "met", "Bo")], "y": [("Bo", "met", "Cy")]}
    with comet.indexed({"x": "One.", "y": "Two."}, triples) as snapshot:
        found = HippoRag().retrieve("Whom did she meet?", snapshot, names("Ada"))
    a, b, c = 7 / 12, 1 / 3, 1 / 12  # which solve these equations
    assert (a, b, c) == pytest.approx((1 / 2 + b / 4, a / 2 + c / 2, b / 4))
    assert scores(found) == pytest.approx({"x": a + b, "y": b + c}, abs=1e-6)
    assert [[step.layer for step in path.steps] for path in found.paths] == [
        ["query", "entity", "triple", "chunk"],
        ["query", "triple", "chunk"],
    ]
    assert [step.text for step in found.seeds] == ["Ada"]


def test_only_what_the_graph_leads_to_is_found():
    """Chunks without a triple, or apart from all names, are no hits."""
    with comet.indexed() as snapshot:
        found = ALL.retrieve("Who sails?", snapshot, names("lighthouse"))
    assert not {"fog", "gulls"} & set(scores(found))
    assert found.hits[0].document_id == "lund"


def test_without_names_or_triples_the_nearest_chunks_come_back():
    """A note says which."""
    with built(small_documents()) as snapshot:
        [note] = HippoRag().retrieve("Where is Bakken?", snapshot, models()).notes
    assert note.startswith("the index has no triples ('clew index --triples' extracts")
    with comet.indexed() as snapshot:
        found = HippoRag().retrieve("why is it so?", snapshot, models())
    assert found.notes == ("the question names no entity: used the chunks nearest to the question",)
    assert len(found.hits) == len(comet.TEXTS)
