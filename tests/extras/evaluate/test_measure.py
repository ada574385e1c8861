"""One protocol over an index: what its settings are given, and what a report then holds."""

from dataclasses import replace

import pytest

from clew.api import open_index
from clew.base.types import DirectAnswer, Usage
from clew.errors import InputError, UnknownMethod
from clew.evaluate import Scoring, Setting, grid, read_run
from clew.extras.evaluate.measure import Protocol, check_protocol, index_cost, measure
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedChat, models

SETTINGS = (Setting("bm25"), *grid("clue", {"depth": [1, 2]}))
JUDGED = Protocol(settings=SETTINGS, answers=True, judge="local")


@pytest.fixture
def index(dataset, tmp_path):
    with open_index(tmp_path / "capitals.clew", models=models()) as opened:
        opened.add(dataset.corpus)
        yield opened


def test_settings_are_given_what_is_common_and_what_varies():
    """As many chunks as the largest cut-off or nDCG@10 needs, unless something else is said."""
    protocol = Protocol(
        settings=SETTINGS, scoring=Scoring(ks=(5, 20)), common={"clue": {"depth": 9, "width": 3}}
    )
    given = [protocol.parameters(setting) for setting in SETTINGS]
    assert given[0] == {"chunks": 20}
    assert given[1] == {"chunks": 20, "depth": 1, "width": 3}
    assert protocol.parameters(Setting("ket")) == {}
    assert protocol.parameters(Setting("bm25", {"chunks": 3})) == {"chunks": 3}
    narrow = replace(protocol, scoring=Scoring(ks=(2, 5)))
    assert narrow.parameters(Setting("bm25")) == {"chunks": 10}
    assert narrow.parameters(Setting("bubble")) == {"chunks": 15}


def test_a_papers_variant_returns_as_many_chunks_as_the_paper_says(index, dataset):
    """Unless someone says otherwise: Clue-RAG's five stay five."""
    protocol = Protocol(settings=(Setting("clue_paper"), Setting("bubble_paper")))
    assert [protocol.parameters(each) for each in protocol.settings] == [{}, {}]
    assert protocol.parameters(Setting("clue_paper", {"chunks": 9})) == {"chunks": 9}
    index.add(dataset.corpus, triples="cooccurrence")
    found = measure(index, dataset, protocol)
    assert max(len(row.document_ids) for row in found.rows if row.label == "clue_paper") <= 5


def test_exact_reaches_every_question_and_the_head(index, dataset, tmp_path, monkeypatch):
    asked = []
    search = index.search
    monkeypatch.setattr(
        index, "search", lambda question: asked.append(question) or search(question)
    )
    protocol = Protocol(settings=SETTINGS[:1], exact=True)
    measure(index, dataset, protocol, folder=tmp_path / "runs")
    assert asked
    assert all(question.exact for question in asked)
    measure(index, dataset, replace(protocol, exact=False), folder=tmp_path / "runs")
    assert not asked[-1].exact


@pytest.mark.parametrize(
    ("protocol", "error", "message"),
    [
        (Protocol(settings=(Setting("magic"),)), UnknownMethod, "no method 'magic'"),
        (Protocol(settings=(Setting("bm25", {"depth": 1}),)), InputError, "no parameter 'depth'"),
        (
            Protocol(settings=(Setting("ket", {"tokens": 5_000}),)),
            InputError,
            "ket fills contexts of 5,000 tokens, but the limit is 4,000",
        ),
        (Protocol(settings=SETTINGS, judge="local"), InputError, "a judge needs answers"),
        (replace(JUDGED, judged=("taste",)), InputError, "faithfulness, not 'taste'"),
        (replace(JUDGED, judged=()), InputError, "not nothing"),
    ],
)
def test_what_cannot_be_measured_is_said_first(protocol, error, message):
    with pytest.raises(error, match=message):
        check_protocol(protocol)


def test_runs_change_nothing_in_the_report(index, dataset, tmp_path):
    protocol = Protocol(settings=SETTINGS, answers=True)
    reports = [
        measure(index, dataset, protocol, folder=folder)
        for folder in (None, tmp_path / "runs", tmp_path / "runs")
    ]
    plain, written, again = reports
    assert again.to_json(with_rows=True) == written.to_json(with_rows=True)
    assert [row.scores for row in plain.rows] == [row.scores for row in written.rows]
    assert [row.document_ids for row in plain.rows] == [row.document_ids for row in written.rows]
    assert len(list((tmp_path / "runs").iterdir())) == len(SETTINGS)


def test_another_generation_is_another_run(index, dataset, tmp_path):
    """Rows over two states of an index never stand in one run."""
    protocol = Protocol(settings=SETTINGS[:1])
    measure(index, dataset, protocol, folder=tmp_path / "runs")
    index.add(dataset.corpus, triples="cooccurrence")
    measure(index, dataset, protocol, folder=tmp_path / "runs")
    run = read_run(tmp_path / "runs" / "bm25.jsonl")
    assert run.head.index["generation"] > 1
    assert len(run.rows) == len(dataset.questions)


def test_a_report_says_what_it_was_made_with(index, dataset, monkeypatch):
    report = measure(index, dataset, Protocol(settings=SETTINGS[:1]))
    assert report.models["embedder"] == index.models.embedder.name
    assert "llm" not in report.models
    assert report.versions["clew"] == "0.1.0"
    assert report.index_cost["documents"] == 5
    assert report.index_cost["tokens"] == 0
    assert report.summaries[0].index_cost == report.index_cost
    short = Protocol(settings=SETTINGS[:1], scoring=Scoring(context_tokens=14), answers=True)
    report = measure(index, replace(dataset, questions=dataset.questions[:1]), short)
    assert 0 < (report.rows[0].context_tokens or 0) <= 14


def test_the_cost_of_an_index_may_be_unknown(index, monkeypatch):
    (index.folder / "calls.sqlite").unlink()
    cost = index_cost(index)
    assert (cost["documents"], cost["triples"]) == (5, 0)
    assert {cost[name] for name in ("LLM calls", "tokens", "USD", "seconds")} == {"unknown"}
    assert "LLM calls recorded before" not in cost
    monkeypatch.setattr(index, "spent", lambda: Usage(llm_calls=1, recorded_calls=7))
    assert index_cost(index)["LLM calls recorded before"] == 7


def test_one_reader_answers_for_all(index, dataset, monkeypatch):
    """Also where a method brings an answer of the index's LLM along."""
    search, reader = index.search, ScriptedChat(lambda *_: "ANSWER: of the reader")

    def answered(*args, **options):
        evidence = search(*args, **options)
        hit = evidence.hits[0]
        mine = DirectAnswer(text="of the method", chunk_id=hit.chunk_id, quote=hit.text[:20])
        return replace(evidence, answer=mine)

    monkeypatch.setattr(index, "search", answered)
    monkeypatch.setattr(index, "load_llm", lambda _spec, **_: recorded(reader))
    part = replace(dataset, questions=dataset.questions[:1])
    protocol = Protocol(settings=SETTINGS[:1], answers=True)
    assert measure(index, part, protocol).rows[0].answer == "of the method"
    read = measure(index, part, replace(protocol, answer_llm="local"))
    assert read.rows[0].answer == "of the reader"
