"""The walk: what it chooses, where it goes on, what it says of that."""

from dataclasses import replace

import pytest

from clew.algo import pagerank
from clew.base.types import Document
from clew.methods.walk import Walk
from clew.steps import entity_graph as graphs
from clew.steps.entity_graph import entity_graph
from clew.testing import HashTokenEmbedder, ScriptedLLM, built, models
from clew.text.chunking import Chunking

CHAIN = [
    Document(id="a", title="Ada Lund", text="Ada Lund sailed with Bo Tarn. She wore a red coat."),
    Document(id="b", title="Bo Tarn", text="Bo Tarn had a teacher, Cy Venn."),
    Document(id="c", title="Cy Venn", text="Cy Venn kept bees in Moss."),
    Document(id="d", title="Fir Oster", text="Fir Oster wore a red coat in Holt."),
]
QUESTION = "Who taught the friend of Ada Lund?"
ALONE = Walk(anchored_units=0, seed_chunks=0)  # only what the question names
LATE = HashTokenEmbedder(64)


@pytest.fixture(scope="module", params=["words", "token vectors"])
def chain(request):
    """An index whose chunks are matched by words, or by token vectors that it stores."""
    embedder = LATE if request.param == "token vectors" else None
    with built(CHAIN, models(embedder)) as snapshot:
        yield snapshot, models(embedder)


def ids(found):
    return [hit.document_id for hit in found.hits]


def test_it_goes_on_to_what_the_found_chunks_name(chain):
    """The question names a only; b and c follow by their names. The order is that of a set."""
    first, *between, last = ids(ALONE.retrieve(QUESTION, *chain))
    assert (first, sorted(between), last) == ("a", ["b", "c"], "d")
    found = ALONE.retrieve(QUESTION, *chain)
    assert [hit.score for hit in found.hits] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])


def test_legs_and_candidates(chain):
    """Without a leg the third name has less influence."""
    here = [replace(ALONE, legs=legs).retrieve(QUESTION, *chain) for legs in (0, 1)]
    scores = [{p.steps[-1].document_id: p.score for p in found.paths} for found in here]
    assert scores[0]["c"] < scores[1]["c"]
    found = replace(ALONE, candidates=2).retrieve(QUESTION, *chain)
    assert len(ids(found)) == len(set(ids(found))) == len(CHAIN)
    assert ids(replace(ALONE, candidates=2, chunks=2).retrieve(QUESTION, *chain)) == ids(found)[:2]


def test_a_thread_says_where_the_walk_went_on(chain):
    """The way to c leads from the question to a, and on from there or from b."""
    found = ALONE.retrieve(QUESTION, *chain)
    threads = {path.steps[-1].document_id: path.steps for path in found.paths}
    reasons = [step.reason for step in threads["c"] if step.layer == "entity"]
    assert reasons[0] == "the question names it: ada lund"
    assert any(reason.startswith("reached from ") for reason in reasons)
    for path, hit in zip(found.paths, found.hits, strict=True):
        assert path.steps[0].text == QUESTION
        assert path.steps[-1].id == hit.chunk_id


def test_a_chunk_that_says_the_same_stands_behind():
    """The second version of a text comes after all others, and the first one lists it."""
    text = "Ada Lund sailed with Bo Tarn on the brig Hesper from the town of Moss to Holt in May."
    documents = [
        Document(id="one", text=text),
        Document(id="two", text=text.replace("in May", "in late May")),
        Document(id="other", text="Bo Tarn drew maps of Moss."),
    ]
    with built(documents) as snapshot:
        found = ALONE.retrieve("Who sailed with Ada Lund?", snapshot, models())
    assert ids(found)[1] == "other"
    best, _, last = found.hits
    assert best.also == (last.chunk_id,)
    assert last.also == ()


def test_versions_that_differ_in_a_name_are_no_repeats():
    """Short texts of one mould that tell of different things both keep their places."""
    documents = [
        Document(id=name, text=f"{name} Lund was born in {place} in {year}.")
        for name, place, year in (("Ada", "Moss", 1811), ("Eva", "Holt", 1822))
    ]
    with built(documents) as snapshot:
        found = ALONE.retrieve("Where was Ada Lund born?", snapshot, models())
    assert [hit.also for hit in found.hits] == [(), ()]


def test_the_first_questions_of_a_large_graph_give_what_later_ones_do(monkeypatch):
    """They read the edges that they go along; those behind them find all edges made."""
    for module in (graphs, pagerank):
        monkeypatch.setattr(module, "MANY_EDGES", 0)
    monkeypatch.setattr(graphs, "_FIRST", 1)
    with built(CHAIN) as snapshot:
        first = ALONE.retrieve(QUESTION, snapshot, models())
        assert first.paths
        assert entity_graph(snapshot, 5.0).edges is not None
        assert ALONE.retrieve(QUESTION, snapshot, models()) == first
        with built(CHAIN) as later:
            later.prepare_as(snapshot)
            assert entity_graph(later, 5.0).edges is not None
    with built(CHAIN) as snapshot:
        assert entity_graph(snapshot, 5.0).edges is None


def test_where_it_starts(chain):
    """At a name that the LLM says and the index has, or at the nearest chunks, with a note."""
    snapshot, given = chain
    llm = ScriptedLLM({"named_entities": ["Cy Venn"]})
    found = ALONE.retrieve("Who kept animals?", snapshot, replace(given, llm=llm))
    assert [step.id for step in found.seeds] == ["cy venn"]
    assert found.hits[0].document_id == "c"
    found = ALONE.retrieve("bees?", *chain)
    assert found.notes == ("nothing to start from: used the chunks nearest to the query",)
    assert len(found.hits) == len(CHAIN)


def test_words_count_where_a_title_is_of_many_chunks():
    """In a long document the hybrid score is part of a chunk's worth; among articles it is not."""
    book = " ".join(f"Day {n} brought rain and a letter from Moss." for n in range(60))
    long = [Document(id="book", title="The Log of the Hesper", text=book)]
    for documents, counts in ((long, True), (CHAIN, False)):
        with built(documents, chunking=Chunking(size=32, overlap=0)) as snapshot:
            plain, worded = (
                replace(ALONE, hybrid=weight, chunks=30, seed_chunks=30)
                .retrieve("Which day brought a letter from Moss, 7 or 31?", snapshot, models())
                .hits
                for weight in (0.0, 5.0)
            )
            assert (plain != worded) is counts
