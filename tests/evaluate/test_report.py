"""What a report says, to programs and to people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from clew.evaluate import Dataset, Scoring, Setting, evaluate, load, render
from clew.types import Evidence

Search = Callable[[str, Setting], Evidence]
MakeEvidence = Callable[..., Evidence]

WORDS, FIXED = Setting("words"), Setting("fixed")


def test_equal_runs_give_equal_bytes(dataset: Dataset, search: Search) -> None:
    """Keys have one order and resampling one seed."""
    one, other = (evaluate(dataset, search, [WORDS, FIXED]) for _ in range(2))
    assert json.dumps(one.to_json(with_rows=True)) == json.dumps(other.to_json(with_rows=True))
    assert render(one) == render(other)


def test_json_has_rows_on_demand(dataset: Dataset, search: Search) -> None:
    """A row holds what its scores can be recomputed from."""
    report = evaluate(dataset, search, [WORDS])
    assert "rows" not in report.to_json()
    row = report.to_json(with_rows=True)["rows"][0]
    assert (row["question_id"], row["method"], row["hops"]) == ("q1", "words", 2)
    assert row["document_ids"][0] == "paris"
    assert row["search"] == {
        "seconds": 0.75,
        "model_seconds": 0.25,
        "llm_calls": 1,
        "tokens": 10,
        "cost_usd": 0.0,
    }
    assert row["context_tokens"] > 0
    assert row["answering"] is None


def test_json_says_what_was_left_out(dataset: Dataset, search: Search) -> None:
    """The dataset block counts what the means do not hold."""
    data = evaluate(dataset, search, [WORDS], Scoring(ks=(10, 2))).to_json()
    assert data["dataset"] == {
        "name": "capitals",
        "format": "clew",
        "questions": 6,
        "documents": 5,
        "digest": dataset.about.digest,
        "questions_without_supporting_ids": 2,
        "questions_without_answers": 1,
        "unknown_supporting_ids": ["lost"],
        "dropped_answers": ["A"],
        "left_out": {},
    }
    assert data["settings"] == {
        "ks": [2, 10],
        "context_tokens": 4_000,
        "answer_tokens": 512,
        "seed": 0,
    }
    metrics = list(data["methods"]["words"]["metrics"])
    assert metrics[:6] == ["recall@2", "recall@10", "all@2", "all@10", "nDCG@10", "MRR@10"]


def test_index_cost_is_carried_along(dataset: Dataset, search: Search) -> None:
    """What the index cost stands in both forms of the report."""
    report = evaluate(dataset, search, [FIXED])
    report = replace(report, index_cost={"tokens": 1234, "seconds": 5.5})
    assert report.to_json()["index_cost"] == {"tokens": 1234, "seconds": 5.5}
    assert "index tokens: 1234\nindex seconds: 5.5" in render(report)


def test_table_holds_what_a_reader_compares(dataset: Dataset, search: Search) -> None:
    """Means with the headline's interval, the difference with its p, types, and notes."""
    text = render(evaluate(dataset, search, [FIXED, WORDS]))
    lines = text.splitlines()
    assert lines[0] == "capitals: 6 questions, 5 documents"
    header = next(line for line in lines if line.startswith("ranking"))
    assert header.split()[1:4] == ["recall@2", "recall@5", "95"]
    fixed = lines[lines.index(header) + 1]
    assert fixed.split()[:3] == ["fixed", "0.375", "0.375"]
    test = next(i for i, line in enumerate(lines) if line.startswith("recall@5 minus fixed's"))
    assert lines[test + 1].startswith("words")
    assert any("bridge (2)" in line and "comparison (1)" in line for line in lines)
    assert any("hops 1 (2)" in line for line in lines)
    assert "questions without supporting ids, not in the ranking: 2" in text
    assert "questions without answers, not in the answers: 1" in text
    assert "supporting ids that the corpus lacks, never found: 1" in text
    assert "answers that are empty once normalised, not used: 1" in text


def test_table_says_how_large_the_context_was(dataset: Dataset, search: Search) -> None:
    """The mean stands at the end of the search's cost; more hits make a larger context."""
    settings = [Setting("fixed", {"n": n}) for n in (0, 1, 3)]
    lines = render(evaluate(dataset, search, settings)).splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("search, a question"))
    assert lines[header].endswith("context tokens")
    sizes = [int(line.split()[-1]) for line in lines[header + 1 : header + 4]]
    assert 0 == sizes[0] < sizes[1] < sizes[2]


def test_no_notes_where_nothing_was_left_out(folder: Path, search: Search) -> None:
    """A report on a clean dataset ends with its last table."""
    text = render(evaluate(load(folder, split="dev"), search, [FIXED]))
    assert text.strip().splitlines()[-2].startswith("search, a question")


def noted(evidence: MakeEvidence, notes: Mapping[str, str]) -> Search:
    """Return a search in which 'fixed' has a note for each of these words in the question."""

    def find(question: str, setting: Setting) -> Evidence:
        found = evidence(question, setting.method, ["paris"])
        mine = tuple(note for word, note in notes.items() if word in question)
        return replace(found, notes=mine if setting == FIXED else ())

    return find


def test_notes_say_why_a_setting_went_another_way(dataset: Dataset, evidence: MakeEvidence) -> None:
    """Distinct notes with their numbers of questions, the most frequent first."""
    search = noted(evidence, {"Madrid": "no tagger", "": "no graph"})
    report = evaluate(dataset, search, [WORDS, FIXED])
    lines = render(report).splitlines()
    assert lines[-2:] == ["fixed: no graph (6 questions)", "fixed: no tagger (1 question)"]
    assert not any(line.startswith("words:") for line in lines)
    data = report.to_json(with_rows=True)
    assert list(data["methods"]["fixed"]["notes"].items()) == [("no graph", 6), ("no tagger", 1)]
    assert data["methods"]["words"]["notes"] == {}
    notes = {(row["question_id"], row["method"]): row["notes"] for row in data["rows"]}
    assert notes["q2", "fixed"] == ["no tagger", "no graph"]
    assert notes["q2", "words"] == []


def test_a_table_has_three_notes_of_a_setting(dataset: Dataset, evidence: MakeEvidence) -> None:
    """It says how many others there are, which the JSON has."""
    notes = {"land": "first", "Madrid": "second", "Tower": "third", "": "usual"}
    report = evaluate(dataset, noted(evidence, notes), [FIXED])
    assert render(report).splitlines()[-4:] == [
        "fixed: usual (6 questions)",
        "fixed: first (1 question)",
        "fixed: second (1 question)",
        "fixed: other notes, in the JSON: 1",
    ]
    assert list(report.to_json()["methods"]["fixed"]["notes"]) == [
        "usual",
        "first",
        "second",
        "third",
    ]
    del notes[""]
    report = evaluate(dataset, noted(evidence, notes), [FIXED])
    assert render(report).splitlines()[-1] == "fixed: third (1 question)"


def test_columns_are_aligned(dataset: Dataset, search: Search) -> None:
    """All lines of a table are equally long."""
    text = render(evaluate(dataset, search, [FIXED, WORDS]))
    blocks = text.strip().split("\n\n")[1:-1]
    assert len(blocks) > 2
    for block in blocks:
        assert len({len(line) for line in block.splitlines()}) == 1, block


def test_control_characters_do_not_reach_the_terminal(
    dataset: Dataset, evidence: MakeEvidence
) -> None:
    """A type out of a dataset cannot colour or clear the screen."""
    odd = replace(dataset.questions[0], type="\x1b[2Jbridge\n")
    report = evaluate(
        replace(dataset, questions=(odd,)), lambda q, s: evidence(q, s.method, ["paris"]), [FIXED]
    )
    assert "\x1b" not in render(report)
    assert "<U+001B>[2Jbridge<U+000A> (1)" in render(report)


def test_a_dataset_with_nothing_to_measure_still_reports_cost(
    dataset: Dataset, search: Search
) -> None:
    """Without gold and answers there is no score, and no crash."""
    bare = replace(dataset.questions[3], answers=())
    report = evaluate(replace(dataset, questions=(bare,)), search, [FIXED, WORDS])
    assert report.headline == ""
    assert report.to_json()["methods"]["fixed"]["metrics"] == {}
    assert "p95 s" in render(report)
