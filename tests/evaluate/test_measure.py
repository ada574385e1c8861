"""One protocol over an index: what its settings are given, and what a report then holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.api import Index, open_index
from clew.errors import InputError, UnknownMethod
from clew.evaluate import Dataset, Scoring, Setting, grid
from clew.evaluate.measure import Protocol, check_protocol, index_cost, measure
from clew.models.conversation import recorded
from clew.testing import ScriptedChat, models
from clew.types import DirectAnswer, Evidence, Usage

SETTINGS = (Setting("bm25"), *grid("clue", {"depth": [1, 2]}))


@pytest.fixture
def index(dataset: Dataset, tmp_path: Path) -> Iterator[Index]:
    with open_index(tmp_path / "capitals.clew", models=models()) as opened:
        opened.add(dataset.corpus)
        yield opened


def test_settings_are_given_what_is_common_and_what_varies() -> None:
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


@pytest.mark.parametrize(
    ("protocol", "error", "message"),
    [
        (Protocol(settings=(Setting("magic"),)), UnknownMethod, "no method 'magic'"),
        (Protocol(settings=(Setting("bm25", {"depth": 1}),)), InputError, "no parameter 'depth'"),
        (
            Protocol(settings=(Setting("ket", {"tokens": 5_000}),)),
            InputError,
            "ket is to fill 5,000 tokens, and contexts have at most 4,000",
        ),
        (Protocol(settings=SETTINGS, judge="local"), InputError, "a judge judges answers"),
        (
            Protocol(settings=SETTINGS, answers=True, judge="local", judged=("taste",)),
            InputError,
            "faithfulness, not 'taste'",
        ),
        (
            Protocol(settings=SETTINGS, answers=True, judge="local", judged=()),
            InputError,
            "not nothing",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_first(
    protocol: Protocol, error: type[Exception], message: str
) -> None:
    """Before anything is indexed or asked."""
    with pytest.raises(error, match=message):
        check_protocol(protocol)


def test_runs_change_nothing_in_the_report(index: Index, dataset: Dataset, tmp_path: Path) -> None:
    """Written down, gone on with or not at all: scores and rankings are the same."""
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


def test_another_generation_is_another_run(index: Index, dataset: Dataset, tmp_path: Path) -> None:
    """Rows over two states of an index never stand in one file."""
    protocol = Protocol(settings=SETTINGS[:1])
    measure(index, dataset, protocol, folder=tmp_path / "runs")
    index.add(dataset.corpus, triples="cooccurrence")
    with pytest.raises(InputError, match=r"bm25\.jsonl is a run in which index\.generation is 1"):
        measure(index, dataset, protocol, folder=tmp_path / "runs")


def test_a_report_says_what_it_was_made_with(index: Index, dataset: Dataset) -> None:
    """Models that took part, versions, and the size and cost of the index."""
    report = measure(index, dataset, Protocol(settings=SETTINGS[:1]))
    assert report.models["embedder"] == index.models.embedder.name
    assert "llm" not in report.models
    assert report.versions["clew"] == "0.1.0"
    assert report.index_cost["documents"] == 5
    assert report.index_cost["tokens"] == 0
    assert report.summaries[0].index_cost == report.index_cost


def test_the_cost_of_an_index_may_be_unknown(index: Index) -> None:
    """Then its size is told, and that the rest is not known."""
    (index.folder / "calls.sqlite").unlink()
    cost = index_cost(index)
    assert (cost["documents"], cost["triples"]) == (5, 0)
    assert {cost[name] for name in ("LLM calls", "tokens", "USD", "seconds")} == {"unknown"}


def test_answers_are_cut_by_the_scoring(index: Index, dataset: Dataset) -> None:
    """A context of few tokens is what answers are made from."""
    short = Protocol(settings=SETTINGS[:1], scoring=Scoring(context_tokens=14), answers=True)
    report = measure(index, replace(dataset, questions=dataset.questions[:1]), short)
    assert 0 < (report.rows[0].context_tokens or 0) <= 14


def test_one_reader_answers_for_all(
    index: Index, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a method brings an answer of the index's LLM along."""
    search, reader = index.search, ScriptedChat(lambda *_: "ANSWER: of the reader")

    def answered(*args: Any, **options: Any) -> Evidence:
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


def test_an_index_that_took_replies_from_its_ledger_says_so(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tokens are not all that such an index takes."""
    assert "LLM calls recorded before" not in index_cost(index)
    monkeypatch.setattr(index, "spent", lambda: Usage(llm_calls=1, recorded_calls=7))
    assert index_cost(index)["LLM calls recorded before"] == 7
