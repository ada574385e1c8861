"""What a report says, to programs and to people."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from clew.evaluate import Dataset, evaluate, load, render
from clew.types import Evidence

Search = Callable[[str, str], Evidence]
MakeEvidence = Callable[..., Evidence]


def test_equal_runs_give_equal_bytes(dataset: Dataset, search: Search) -> None:
    """Keys have one order and resampling one seed."""
    one, other = (evaluate(dataset, search, ["words", "fixed"]) for _ in range(2))
    assert json.dumps(one.to_json(with_rows=True)) == json.dumps(other.to_json(with_rows=True))
    assert render(one) == render(other)


def test_json_has_rows_on_demand(dataset: Dataset, search: Search) -> None:
    """A row holds what its scores can be recomputed from."""
    report = evaluate(dataset, search, ["words"])
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
    assert row["answering"] is None


def test_json_says_what_was_left_out(dataset: Dataset, search: Search) -> None:
    """The dataset block counts what the means do not hold."""
    data = evaluate(dataset, search, ["words"], ks=(10, 2)).to_json()
    assert data["dataset"] == {
        "name": "capitals",
        "questions": 6,
        "documents": 5,
        "questions_without_supporting_ids": 2,
        "questions_without_answers": 1,
        "unknown_supporting_ids": ["lost"],
        "dropped_answers": ["A"],
    }
    assert data["settings"] == {"ks": [2, 10], "seed": 0, "f1_yes_no": "plain"}
    metrics = list(data["methods"]["words"]["metrics"])
    assert metrics[:6] == ["recall@2", "recall@10", "all@2", "all@10", "nDCG@10", "MRR"]


def test_index_cost_is_carried_along(dataset: Dataset, search: Search) -> None:
    """What the index cost stands in both forms of the report."""
    report = evaluate(dataset, search, ["fixed"])
    report = replace(report, index_cost={"tokens": 1234, "seconds": 5.5})
    assert report.to_json()["index_cost"] == {"tokens": 1234, "seconds": 5.5}
    assert "index tokens: 1234\nindex seconds: 5.5" in render(report)


def test_table_holds_what_a_reader_compares(dataset: Dataset, search: Search) -> None:
    """Means with the headline's interval, the difference with its p, types, and notes."""
    text = render(evaluate(dataset, search, ["fixed", "words"]))
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


def test_no_notes_where_nothing_was_left_out(folder: Path, search: Search) -> None:
    """A report on a clean dataset ends with its last table."""
    text = render(evaluate(load(folder, split="dev"), search, ["fixed"]))
    assert text.strip().splitlines()[-2].startswith("search, a question")


def test_columns_are_aligned(dataset: Dataset, search: Search) -> None:
    """All lines of a table are equally long."""
    text = render(evaluate(dataset, search, ["fixed", "words"]))
    for block in text.strip().split("\n\n")[1:-1]:
        assert len({len(line) for line in block.splitlines()}) == 1, block


def test_control_characters_do_not_reach_the_terminal(
    dataset: Dataset, evidence: MakeEvidence
) -> None:
    """A type out of a dataset cannot colour or clear the screen."""
    odd = replace(dataset.questions[0], type="\x1b[2Jbridge\n")
    report = evaluate(
        replace(dataset, questions=(odd,)),
        lambda q, m: evidence(q, m, ["paris"]),
        ["fixed"],
    )
    assert "\x1b" not in render(report)
    assert "\N{REPLACEMENT CHARACTER}[2Jbridge\N{REPLACEMENT CHARACTER} (1)" in render(report)


def test_a_dataset_with_nothing_to_measure_still_reports_cost(
    dataset: Dataset, search: Search
) -> None:
    """Without gold and answers there is no score, and no crash."""
    bare = replace(dataset.questions[3], answers=())
    report = evaluate(replace(dataset, questions=(bare,)), search, ["fixed", "words"])
    assert report.headline == ""
    assert report.to_json()["methods"]["fixed"]["metrics"] == {}
    assert "p95 s" in render(report)
