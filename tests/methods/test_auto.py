"""What `auto` chooses by which signs, and how it puts what the methods find together."""

import numpy as np
import pytest

import clew
from clew import methods
from clew.methods.auto import Auto, choose_methods
from clew.testing import QUESTIONS, ScriptedLLM, built, models, small_documents
from tests.methods.test_ket import robots, searched

QUESTION = QUESTIONS[0]
NAMES = ("clue", "pagerank")


@pytest.fixture(scope="module")
def snapshot():
    with built(small_documents(), triples=True) as opened:
        yield opened


def ask(snapshot, question=QUESTION, *, llm=None, fused="clue,pagerank", **parameters):
    return Auto(fused=fused, **parameters).retrieve(question, snapshot, models(llm=llm))


def alone(snapshot, name, question=QUESTION, **parameters):
    return methods.load(name)(**parameters).retrieve(question, snapshot, models())


@pytest.mark.parametrize(
    ("given", "names", "reason"),
    [
        ({"texts": False, "imported": True}, ("paths",), "the index is a graph without texts"),
        (
            {"texts": True, "imported": True},
            ("clue", "pagerank", "paths"),
            "the index has texts and an imported graph",
        ),
        ({"texts": True, "imported": False}, ("clue", "pagerank"), "the index is of texts"),
    ],
)
def test_signs_choose(given, names, reason):
    """What the index holds decides."""
    assert choose_methods(NAMES, **given) == (names, reason)
    assert choose_methods(("paths",), **given)[0] == ("paths",)  # which is named once


def test_one_method_alone_keeps_its_order(snapshot):
    """By default the chunks, threads and seeds of texts are walk's; its hits come by ranks."""
    found = Auto().retrieve(QUESTION, snapshot, models())
    expected = alone(snapshot, "walk")
    assert found.notes == ("walk: the index is of texts",)
    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in expected.hits]
    assert [hit.score for hit in found.hits] == [1 / rank for rank in range(1, 11)]
    assert [hit.also for hit in found.hits] == [hit.also for hit in expected.hits]
    assert (found.paths, found.seeds) == (expected.paths, expected.seeds)


GRAPH = "subject\trelation\tobject\nComet\tlies off\tCape Lund\nOla Eriksen\tbuilt\tComet\n"


@pytest.fixture
def graph(tmp_path):
    (tmp_path / "graph.tsv").write_text(GRAPH, encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.import_graph(tmp_path / "graph.tsv")
        yield index


@pytest.mark.satellite
def test_a_graph_without_texts_is_for_paths(graph):
    """Its triples are what there is; without a name there is no way to begin with."""
    found = graph.search("Who built the Comet?", method="auto")
    assert found.notes[0] == "paths: the index is a graph without texts"
    assert {fact.id for fact in found.graph.facts} >= {"ola eriksen|built|comet"}
    assert found.tables
    assert {hit.channel for hit in found.hits} == {"paths"}
    found = graph.search("What was built?", method="auto")
    assert found.notes[0].startswith("bubble: the index is a graph without texts, of which")
    assert found.graph is not None


@pytest.mark.satellite
def test_a_graph_beside_texts_is_searched_too(graph):
    """Texts and triples are found by one question."""
    graph.add(small_documents())
    found = graph.search("Who built the Comet?", method="auto")
    reason = "the index has texts and an imported graph"
    assert found.notes[0] == f"walk and paths: {reason}"
    assert any("paths" in hit.channel for hit in found.hits)
    assert any("walk" in hit.channel for hit in found.hits)


@pytest.mark.parametrize("constant", [0, 1, 60])
@pytest.mark.parametrize("fused", ["clue,pagerank", "dense, bm25 ,hybrid", "bm25,dense,bm25"])
def test_scores_are_sums_of_reciprocal_ranks(snapshot, fused, constant):
    """Beside a plain computation: equal scores in the order of the methods, then of their hits."""
    names = list(dict.fromkeys(name.strip() for name in fused.split(",")))
    question = "Who measured the harbour of Verle in 1911?"
    ranks = {name: [h.chunk_id for h in alone(snapshot, name, question).hits] for name in names}
    sums = {}
    for ids in ranks.values():
        for rank, chunk in enumerate(ids, 1):
            sums[chunk] = sums.get(chunk, 0.0) + 1 / (constant + rank)
    order = sorted(sums, key=lambda chunk: -round(sums[chunk], 6))[:10]
    found = ask(snapshot, question, fused=fused, constant=constant)
    assert [hit.chunk_id for hit in found.hits] == order
    np.testing.assert_allclose([hit.score for hit in found.hits], [sums[c] for c in order])
    for hit in found.hits:
        found_by = [name for name in names if hit.chunk_id in ranks[name]]
        found_by.sort(key=lambda name: ranks[name].index(hit.chunk_id))
        assert hit.channel == "+".join(found_by)


def test_parts_of_a_chunk_are_that_chunk():
    """`ket` finds halves: each chunk comes once and whole, with the thread to its first half."""
    question = "Who built the robot?"
    with searched(robots(), size=24, subchunk_depth=1) as halved:
        parts = alone(halved, "ket", question)
        found = ask(halved, question, fused="ket,bm25")
    assert any(step.layer == "subchunk" for path in parts.paths for step in path.steps)
    ids = [hit.chunk_id for hit in found.hits]
    assert len(set(ids)) == len(ids)
    assert len({hit.chunk_id for hit in parts.hits}) < len(parts.hits)
    texts = {document.id: document.text for document in robots()}
    for hit in found.hits:
        assert hit.chunk_id.endswith(f"{hit.start}-{hit.end}")
        assert hit.text == texts[hit.document_id][hit.start : hit.end]
    assert found.paths
    assert set(found.paths) <= set(parts.paths)
    assert found.tables == parts.tables


def test_threads_are_the_first_methods(snapshot):
    """Each hit has at most one; where clue has none for it, it is pagerank's."""
    found = ask(snapshot)
    ends = [path.steps[-1].id for path in found.paths]
    ids = [hit.chunk_id for hit in found.hits]
    assert ends == [chunk for chunk in ids if chunk in ends]
    first, second = (alone(snapshot, name).paths for name in NAMES)
    known = {path.steps[-1].id: path for path in (*reversed(second), *reversed(first))}
    assert found.paths == tuple(known[chunk] for chunk in ends)
    assert set(found.paths) & set(first)
    assert set(found.paths) - set(first)


def test_seeds_are_those_of_all_methods_once(snapshot):
    """A row that two methods start from has the reason of the first."""
    found = ask(snapshot)
    seeds = [[(s.layer, s.id) for s in alone(snapshot, name).seeds] for name in NAMES]
    assert [(s.layer, s.id) for s in found.seeds] == list(dict.fromkeys(seeds[0] + seeds[1]))
    assert set(seeds[0]) & set(seeds[1])
    assert found.seeds[: len(seeds[0])] == alone(snapshot, "clue").seeds


@pytest.mark.satellite
def test_the_graph_is_the_first_methods_that_has_one(snapshot):
    """So are the tables."""
    found = ask(snapshot, fused="clue,bubble,agrag")
    graph = alone(snapshot, "bubble")
    assert found.graph == graph.graph
    assert found.tables == graph.tables
    assert graph.tables
    assert ask(snapshot).graph is None


def test_notes_name_their_method():
    """The first says what was chosen and why."""
    with built(small_documents()) as bare:
        found = ask(bare, fused="clue,agrag")
        [note] = alone(bare, "agrag").notes
    first = "clue and agrag: the index is of texts"
    assert found.notes == (first, f"agrag: {note}")


def test_the_llm_is_asked(snapshot):
    """Both methods let it name entities; its answer from bubble is kept."""
    names = {"named_entities": ["Ola Eriksen"]}
    llm = ScriptedLLM(names, names)
    found = ask(snapshot, llm=llm)
    assert len(llm.prompts) == 2
    assert "ola eriksen" in {step.id for step in found.seeds}
    proof = {
        "sufficient": True,
        "answer": "Verle",
        "passage": 1,
        "quote": "Its capital is Verle.",
        "query_type": "default",
        "concepts": [],
    }
    answered = ask(
        snapshot, "What is the capital?", llm=ScriptedLLM(names, proof), fused="clue,bubble"
    )
    assert answered.answer.text == "Verle"
