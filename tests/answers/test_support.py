"""How probably what was found answers the question."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.answers import support
from clew.answers.question import MIN_SUPPORT
from clew.api import open_index
from clew.base.types import Document
from clew.errors import InputError
from clew.index.recipe import Settings
from clew.testing import HashTokenEmbedder, ScriptedLLM, models

DOCUMENTS = [
    Document(id="fram", title="Fram", text="Colin Archer built the Fram for Fridtjof Nansen."),
    Document(id="archer", title="Colin Archer", text="Colin Archer was born in Larvik in 1832."),
    Document(id="quest", title="Quest", text="The Quest sank off Labrador in 1962."),
    Document(id="mill", title="Mill", text="A mill turns wind into flour."),
]
KNOWN, UNKNOWN = "Who built the Fram for Fridtjof Nansen?", "How do I bake sourdough bread?"
GRAPH = '{"subject": "Fram", "relation": "built by", "object": "Colin Archer"}\n'


class Calibrated(HashTokenEmbedder):
    """An embedder that has the name of the one whose vectors the weights are for."""

    name = f"{support.CALIBRATED}double"


@pytest.fixture(params=["words", "late"])
def index(request, tmp_path):
    """An index that is judged by words, and one that is by token vectors."""
    embedder = Calibrated() if request.param == "late" else HashTokenEmbedder()
    # Vectors of hashes are no usual numbers: most are zero.
    exact = Settings(unit_bits=8, token_bits=8)
    with open_index(tmp_path / "i.clew", models=models(embedder), settings=exact) as opened:
        opened.add(DOCUMENTS)
        yield opened


def features(index, query, *ids):
    snapshot = index.snapshot()
    rows = snapshot.layer("document").rows(ids)
    return support.Features(query, snapshot, index.models, rows)


def test_support_and_relevance_are_probabilities(index):
    known, unknown = index.search(KNOWN), index.search(UNKNOWN)
    for found in (known, unknown):
        assert 0 <= found.support <= 1
        assert all(0 <= hit.relevance <= 1 for hit in found.hits)
    assert unknown.support < MIN_SUPPORT < known.support
    assert known.hits[0].document_id == "fram"
    assert known.hits[0].relevance == max(hit.relevance for hit in known.hits)
    first, second = index.search(KNOWN), index.search(KNOWN)
    assert first.support == second.support
    assert [hit.relevance for hit in first.hits] == [hit.relevance for hit in second.hits]
    for query in ("???", "the", "Who?"):
        assert 0 <= index.search(query, method="dense").support <= 1
    found = index.search(KNOWN, chunks=1)
    assert 0 <= found.support <= 1
    assert len(found.hits) == 1


@pytest.mark.parametrize("method", ["bm25", "dense", "hybrid", "pagerank"])
def test_a_chunk_is_as_relevant_by_every_method(index, method):
    """The relevance of a chunk depends on the question and the chunk alone."""
    known = {hit.chunk_id: hit.relevance for hit in index.search(KNOWN).hits}
    found = index.search(KNOWN, method=method).hits
    assert found
    for hit in found:
        assert hit.relevance == pytest.approx(known[hit.chunk_id])


def test_features_of_support(index):
    """More chunks never cover less, and only a name that is nowhere in the index is unknown."""
    one, two = (features(index, KNOWN, *ids).of_set()[0] for ids in (["mill"], ["mill", "fram"]))
    assert (two[:3] >= one[:3] - 1e-6).all()
    assert two[0] > one[0]
    unknown = support.SUPPORT["words"].features.index("unknown names")
    asked = {"Who was Nansen?": 0, "Was Fram near Zanzibar?": 0.5, "Zanzibar was seen when?": 0}
    for question, share in asked.items():
        assert features(index, question, "fram").of_set()[0, unknown] == share


@pytest.mark.satellite
def test_a_graph_alone_is_not_judged(tmp_path):
    (tmp_path / "graph.jsonl").write_text(GRAPH, encoding="utf-8")
    with open_index(tmp_path / "i.clew", models=models()) as index:
        index.import_graph(tmp_path / "graph.jsonl")
        answer = index.ask(UNKNOWN, method="dense")
        assert index.search("zebra", method="bm25").support is None
    assert answer.kind == "quoted"
    assert answer.evidence.support is None
    assert {hit.relevance for hit in answer.evidence.hits} == {None}


def test_below_the_threshold_nothing_is_quoted(index):
    """A refused answer has no text, and what is nearest as its context; 0 refuses nothing."""
    answer = index.ask(UNKNOWN)
    assert (answer.kind, answer.text, answer.citations) == ("refused", "", ())
    assert answer.context.passages
    assert index.ask(KNOWN).kind == "quoted"
    assert index.ask(KNOWN, min_support=1).kind == "refused"
    assert index.ask(UNKNOWN, min_support=0).kind == "quoted"
    assert index.answer(index.search(UNKNOWN)).kind == "quoted"
    answer = index.ask("zebra", method="bm25")
    assert (answer.evidence.support, answer.kind) == (0, "refused")
    answer = index.ask(UNKNOWN, method="zero_shot", min_support=1)
    assert (answer.evidence.support, answer.kind) == (None, "none")


SHORT = {
    "languages": "The firmware is written in C++, and the boot loader in C.",
    "screens": "The dashboard is written in C#.",
    "log": "Release v2.1 fixed the login page. Release v2.10 removed the export.",
    "made": "Production is led by Per Foss.",
    "school": "Sara Holm teaches chemistry. Karl Vik wrote The Long Night.",
    "line": "The line was leased from AT&T in 1988. The AT-6 flew from the field in 1951.",
    "it": "The IT department is led by Ida Moen. It moved to the third floor.",
    "ferries": "All ferries take cars, except the Lofoten.",
}


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("AT&T", "line"),
        ("IT", "it"),
        ("IT department", "it"),
        ("What did v2.1 fix?", "log"),
        ("List all ferries", "ferries"),
        ("What is written in C#?", "screens"),
        ("Who leads IT?", "it"),
        ("Who leads production?", "made"),
        ("By whom is chemistry taught?", "school"),
        ("By whom was The Long Night written?", "school"),
        ("What changed in v2.10?", "log"),
        ("What is new in v2.1?", "log"),
    ],
)
def test_keywords_and_codes_are_answered_by_what_has_them(tmp_path, question, document):
    """The quote that has every word of them comes first, and is not refused."""
    with open_index(tmp_path / "i.clew", models=models(Calibrated())) as opened:
        opened.add([Document(id=name, text=text) for name, text in SHORT.items()])
        answer = opened.ask(question)
    assert answer.kind == "quoted"
    assert answer.citations[0].document_id == document
    assert answer.evidence.support >= 0.5


@pytest.mark.parametrize(
    "question", ["Who leads the choir?", "Who leads marketing?", "What changed in v2.12?"]
)
def test_a_verb_alone_answers_nothing(tmp_path, question):
    """Who leads something else, and what another version changed, is refused."""
    with open_index(tmp_path / "i.clew") as opened:
        opened.add([Document(id=name, text=text) for name, text in SHORT.items()])
        assert opened.ask(question).kind == "refused"
        answer = opened.ask("Who leads sales?")
    assert answer.evidence.support < 0.5
    assert answer.is_unsure


def test_a_code_that_no_quote_has_lowers_the_support(index):
    """Four errors are described, and the fifth is not: its question is doubted more."""
    texts = {f"E{n}": f"Error E{n} means that part {n} is worn out." for n in range(101, 105)}
    index.add([Document(id=name, text=text) for name, text in texts.items()])
    there, gone = (
        index.ask(f"What does error {code} mean?", min_support=0) for code in ("E103", "E107")
    )
    assert there.citations[0].document_id == "E103"
    assert gone.evidence.support < there.evidence.support - 0.2


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_is_a_probability(index, threshold):
    with pytest.raises(InputError, match="from 0 to 1"):
        index.ask(KNOWN, min_support=threshold)
    with pytest.raises(InputError, match="from 0 to 1"):
        index.answer(index.search(KNOWN), min_support=threshold)


def test_an_llm_is_told_and_may_refuse(tmp_path):
    """The support stands in the prompt; it decides by itself, and not at all at threshold 0."""
    llm = ScriptedLLM("ANSWER: Colin Archer [1]", "ANSWER: Unknown.", "ANSWER: Unknown.")
    with open_index(tmp_path / "i.clew", models=models(llm=llm)) as index:
        index.add(DOCUMENTS)
        found = index.search(KNOWN, method="bm25")
        given = [(0.07, 0.25), (0.9, 0.25), (0.9, 0)]
        kinds = [index.answer(replace(found, support=s), min_support=t).kind for s, t in given]
    assert kinds == ["generated", "refused", "generated"]
    told = [re.findall(r"a probability of (0\.\d\d)\.", prompt.user) for prompt in llm.prompts]
    assert told == [["0.07"], ["0.90"], []]


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.integers(0, 5), st.floats(0, 1))
def test_each_feature_counts_one_way(values, place, more):
    """More coverage never lowers the probability, more unknown names never raise it."""
    model = support.SUPPORT["late"]
    lower, higher = np.array(values), np.array(values)
    higher[place] = max(values[place], more)
    a, b = model.compute_probabilities(np.stack([lower, higher]))
    assert 0 <= a <= 1
    assert (b >= a) if model.weights[place] > 0 else (b <= a)
