"""What a report says, to programs and to people."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from clew.base.types import Evidence, Usage
from clew.evaluate import Scoring, Setting, evaluate, load, render
from tests.extras.evaluate.reports import report, rows

Search = Callable[[str, Setting], Evidence]
MakeEvidence = Callable[..., Evidence]

WORDS, FIXED = Setting("words"), Setting("fixed")


def test_equal_runs_give_equal_bytes(dataset, search):
    one, other = (evaluate(dataset, search, [WORDS, FIXED]) for _ in range(2))
    assert json.dumps(one.to_json(with_rows=True)) == json.dumps(other.to_json(with_rows=True))
    assert render(one) == render(other)
    blocks = render(one).strip().split("\n\n")[1:-1]  # whose lines are equally long
    assert len(blocks) > 2
    for block in blocks:
        assert len({len(line) for line in block.splitlines()}) == 1, block


def test_json_has_rows_on_demand_and_says_what_was_left_out(dataset, search):
    """A row holds what its scores can be recomputed from."""
    report = evaluate(dataset, search, [WORDS])
    assert "rows" not in report.to_json()
    row = report.to_json(with_rows=True)["rows"][0]
    assert (row["question_id"], row["method"], row["hops"]) == ("q1", "words", 2)
    assert row["document_ids"][0] == "paris"
    spent = {"seconds": 0.75, "model_seconds": 0.25, "llm_calls": 1, "tokens": 10, "cost_usd": 0}
    assert row["search"] == spent
    assert row["context_tokens"] > 0
    assert row["answering"] is None
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
    given = {"ks": [2, 10], "context_tokens": 4_000, "answer_tokens": 512, "seed": 0}
    assert data["settings"] == given
    metrics = list(data["methods"]["words"]["metrics"])
    assert metrics[:6] == ["recall@2", "recall@10", "all@2", "all@10", "nDCG@10", "MRR@10"]


def test_costs_and_sizes_stand_in_the_table(dataset, search, folder):
    report = evaluate(dataset, search, [FIXED])
    report = replace(report, index_cost={"tokens": 1234, "seconds": 5.5})
    assert report.to_json()["index_cost"] == {"tokens": 1234, "seconds": 5.5}
    assert "index tokens: 1234\nindex seconds: 5.5" in render(report)
    settings = [Setting("fixed", {"n": n}) for n in (0, 1, 3)]
    lines = render(evaluate(dataset, search, settings)).splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("search, a question"))
    assert lines[header].endswith("context tokens")
    sizes = [int(line.split()[-1]) for line in lines[header + 1 : header + 4]]
    assert 0 == sizes[0] < sizes[1] < sizes[2]
    text = render(evaluate(load(folder, split="dev"), search, [FIXED]))
    assert text.strip().splitlines()[-2].startswith("search, a question")


def test_table_holds_what_a_reader_compares(dataset, search):
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


def noted(evidence, notes):
    """Return a search in which 'fixed' has a note for each of these words in the question."""

    def find(question, setting):
        found = evidence(question, setting.method, ["paris"])
        mine = tuple(note for word, note in notes.items() if word in question)
        return replace(found, notes=mine if setting == FIXED else ())

    return find


def test_notes_say_why_a_setting_went_another_way(dataset, evidence):
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


def test_a_table_has_three_notes_of_a_setting(dataset, evidence):
    notes = {"land": "first", "Madrid": "second", "Tower": "third", "": "usual"}
    report = evaluate(dataset, noted(evidence, notes), [FIXED])
    assert render(report).splitlines()[-4:] == [
        "fixed: usual (6 questions)",
        "fixed: first (1 question)",
        "fixed: second (1 question)",
        "fixed: other notes, in the JSON: 1",
    ]
    told = report.to_json()["methods"]["fixed"]["notes"]
    assert list(told) == ["usual", "first", "second", "third"]
    del notes[""]
    report = evaluate(dataset, noted(evidence, notes), [FIXED])
    assert render(report).splitlines()[-1] == "fixed: third (1 question)"


def test_odd_types_and_nothing_to_measure(dataset, evidence, search):
    odd = replace(dataset.questions[0], type="\x1b[2Jbridge\n")
    report = evaluate(
        replace(dataset, questions=(odd,)), lambda q, s: evidence(q, s.method, ["paris"]), [FIXED]
    )
    assert "\x1b" not in render(report)
    assert "<U+001B>[2Jbridge<U+000A> (1)" in render(report)
    bare = replace(dataset.questions[3], answers=())
    report = evaluate(replace(dataset, questions=(bare,)), search, [FIXED, WORDS])
    assert report.headline == ""
    assert report.to_json()["methods"]["fixed"]["metrics"] == {}
    assert "p95 s" in render(report)


def line(text, beginning):
    [found] = [each for each in text.splitlines() if each.startswith(beginning)]
    return found


@pytest.mark.parametrize("hotpot", [0.25, 0.5])
def test_other_rules_of_f1_are_shown_where_they_change_something(hotpot):
    scores = [{"EM": 0.0, "F1 plain": 0.5, "F1 hotpot": hotpot, "F1 ket": 0.5}] * 2
    text = render(report([Setting("clue")], [rows("clue", scores)]))
    header = line(text, "answers")
    assert "F1 plain" in header
    assert ("F1 hotpot" in header) == (hotpot != 0.5)
    assert "F1 ket" not in header


def test_what_a_judge_says_and_costs_is_shown():
    scores = [{"judge": 1.0}, {"judge": 0.0}, {}]
    judged = rows("clue", scores, judge_usage=Usage(seconds={"llm": 1.5}, llm_calls=2))
    judged[2:] = rows("clue", [{}, {}], unparsable=("judge",), judge_error="EndpointError: down")
    judged = [*judged[:2], judged[3]]
    text = render(report([Setting("clue")], [judged]))
    assert line(text, "answers").split() == ["answers", "judge"]
    assert line(text, "clue     0.500")
    assert line(text, "judge, a question").split()[3:5] == ["p50", "s"]
    assert "replies of the judge that could not be read, judge: 1" in text
    failed = "clue: the judge failed on 1 of 3 answers, not in its means; first: "
    assert f"{failed}EndpointError: down" in text


def test_replies_of_the_ledger_and_what_is_missing_are_told():
    """They cost nothing this time, so the tables say too little of what the setting costs."""
    free = Usage(recorded_calls=2)
    measured = rows("clue", [{"EM": 1.0}] * 3, usage=free, answer_usage=Usage(llm_calls=1))
    text = render(report([Setting("clue")], [measured]))
    assert "clue: LLM calls that the ledger replied to, at no cost: 6 of search\n" in text
    assert "ledger" not in render(report([Setting("clue")], [rows("clue", [{"EM": 1.0}])]))
    measured = [rows("clue", [{"recall@5": 1.0, "EM": 1.0}]), rows("peer", [{"recall@5": 0.5}])]
    text = render(report([Setting("clue"), Setting("peer")], measured))
    answers = text[text.index("answers") :].splitlines()
    assert answers[1].split() == ["clue", "1.000"]
    assert answers[2].split() == ["peer", "-"]
