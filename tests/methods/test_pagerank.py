"""PageRank over chunks and entities, beside networkx on the same graph."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from clew.base.types import Document
from clew.errors import InputError
from clew.methods.hybrid import Hybrid
from clew.methods.pagerank import PageRank
from clew.testing import QUESTIONS, ScriptedLLM, built, models, small_documents

CHAIN = [
    Document(id="a", text="Ada Lund sailed with Bo Tarn."),
    Document(id="b", text="Bo Tarn had a teacher, Cy Venn."),
    Document(id="c", text="Cy Venn kept bees in Moss."),
    Document(id="d", text="Fir Oster kept hens in Holt."),
]
QUESTION = "Who taught the friend of Ada Lund?"
ALONE = PageRank(anchored_units=0, seed_chunks=0)  # only what the question names


@pytest.fixture(scope="module")
def chain():
    with built(CHAIN) as snapshot:
        yield snapshot


def scores(found):
    return {hit.document_id: hit.score for hit in found.hits}


def told(path):
    return [(step.layer, step.text) for step in path.steps]


def oracle(snapshot, method, question):
    """Return each document's score by networkx, from the links of the index alone."""
    graph = nx.Graph()
    chunk_units, unit_entities, titled = (
        snapshot.link(*pair).toarray()
        for pair in (("chunk", "unit"), ("unit", "entity"), ("document", "entity"))
    )
    owners = snapshot.layer("chunk").columns["document"]
    mentions = chunk_units @ unit_entities > 0
    titles = titled[owners] * method.title_weight
    df = np.count_nonzero(mentions | (titles > 0), axis=0)
    rarity = np.log(1 + len(owners) / np.maximum(df, 1))
    graph.add_nodes_from(("chunk", c) for c in range(len(owners)))
    graph.add_nodes_from(("entity", e) for e in range(len(df)))
    direct = mentions + titles
    for c, e in zip(*np.nonzero(direct), strict=True):
        graph.add_edge(("chunk", c), ("entity", e), weight=direct[c, e] * rarity[e])
    found = method.retrieve(question, snapshot, models())
    entities = snapshot.layer("entity").rows([step.id for step in found.seeds])
    restart = {("entity", e): s.score for e, s in zip(entities, found.seeds, strict=True)}
    light = Hybrid(chunks=method.seed_chunks).retrieve(question, snapshot, models()).hits
    for hit in light:
        [row] = snapshot.layer("chunk").rows([hit.chunk_id])
        restart["chunk", row] = method.chunk_weight * hit.score
    ranks = nx.pagerank(
        graph, alpha=method.damping, personalization=restart, max_iter=1000, tol=1e-10
    )
    ids = snapshot.layer("document").ids(owners.tolist())
    return {name: ranks["chunk", c] for c, name in enumerate(ids)}


@pytest.mark.parametrize(
    "method",
    [
        PageRank(chunks=99),
        PageRank(chunks=99, damping=0.85, title_weight=0.5, chunk_weight=1.0, seed_chunks=3),
        PageRank(chunks=99, anchored_units=0, damping=0.0),
    ],
    ids=["default", "other weights", "no spreading"],
)
@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_scores_are_those_of_networkx(method, question):
    """The same graph and restart, built entry by entry, give the same scores."""
    with built(small_documents()) as snapshot:
        found = method.retrieve(question, snapshot, models())
        expected = oracle(snapshot, method, question)
        assert scores(found) == pytest.approx(expected, abs=1e-6)
        assert len(found.hits) == len(small_documents())
        for hit, path in zip(found.hits, found.paths, strict=True):
            assert (path.steps[0].text, path.steps[-1].id) == (question, hit.chunk_id)
            assert path.score == hit.score
            layers = [step.layer for step in path.steps]
            assert layers.count("query") == layers.count("chunk") == 1


def test_a_chain_of_names_is_followed(chain):
    """The question names a's subject."""
    found = ALONE.retrieve(QUESTION, chain, models())
    assert [hit.document_id for hit in found.hits] == ["a", "b", "c", "d"]
    assert scores(found)["c"] > scores(found)["d"] == 0
    full = scores(PageRank().retrieve(QUESTION, chain, models()))
    assert full["c"] > full["d"]
    found = replace(ALONE, damping=0.0).retrieve(QUESTION, chain, models())
    assert set(scores(found).values()) == {0.0}


def test_a_thread_goes_from_a_seed_over_shared_names_to_the_chunk(chain):
    """C was reached through Ada Lund, Bo Tarn and Cy Venn, each with the sentence that says so."""
    found = ALONE.retrieve(QUESTION, chain, models())
    assert [(step.id, step.score) for step in found.seeds] == [("ada lund", 1.0)]
    a, _, c, d = found.paths
    assert told(a) == [
        ("query", QUESTION),
        ("entity", "Ada Lund"),
        ("unit", CHAIN[0].text),
        ("chunk", CHAIN[0].text),
    ]
    assert [text for layer, text in told(c) if layer == "entity"] == [
        "Ada Lund",
        "Bo Tarn",
        "Cy Venn",
    ]
    assert told(c)[-1] == ("chunk", CHAIN[2].text)
    assert [step.reason for step in c.steps if step.layer == "entity"] == [
        "the question names it: ada lund",
        "on the path",
        "on the path",
    ]
    assert told(d) == [("query", QUESTION), ("chunk", CHAIN[3].text)]


def test_a_title_pulls_harder_than_a_mention(chain):
    """With a title weight the document about a thing is above one that only mentions it."""
    documents = [
        Document(id="about", title="Moss", text="A town with a pier."),
        Document(id="says", text="They sailed from Moss."),
    ]
    with built(documents) as snapshot:
        heavy = replace(ALONE, title_weight=5.0).retrieve("Moss?", snapshot, models())
        light = replace(ALONE, title_weight=0.2).retrieve("Moss?", snapshot, models())
        assert [hit.document_id for hit in heavy.hits] == ["about", "says"]
        assert [hit.document_id for hit in light.hits] == ["says", "about"]


def test_where_it_starts(chain):
    """At a name that the LLM says and that is there, or at the nearest chunks, with a note."""
    llm = ScriptedLLM({"named_entities": ["Cy Venn", "Nobody Known"]})
    found = ALONE.retrieve("Who was the beekeeper?", chain, models(llm=llm))
    assert [step.id for step in found.seeds] == ["cy venn"]
    assert found.hits[0].document_id in {"b", "c"}
    found = ALONE.retrieve("bees?", chain, models())
    assert found.notes == ("nothing to start from: used the chunks nearest to the query",)
    assert found.paths == ()
    assert len(found.hits) == len(CHAIN)


def test_dates_of_a_near_sentence_are_seeds_and_named_ones_are_not():
    """1911 in the question links to nothing; in an anchored sentence it leads on."""
    with built(small_documents()) as snapshot:
        named = ALONE.retrieve("what of 1911", snapshot, models())
        assert named.seeds == ()
        near = PageRank(anchored_units=1).retrieve("toll crossed it in 1911", snapshot, models())
        assert "1911" in {step.id for step in near.seeds}


def test_a_damping_of_one_is_refused(chain):
    """A walk that never comes back has no scores."""
    with pytest.raises(InputError, match="damping must be in"):
        PageRank(damping=1.0).retrieve(QUESTION, chain, models())
