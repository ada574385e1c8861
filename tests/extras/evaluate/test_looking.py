"""Runs that can be looked into, and questions that are asked at once."""

import json
import threading
from dataclasses import replace

import pytest

from clew.api import open_index
from clew.errors import BudgetSpent, InputError
from clew.evaluate import Setting, evaluate
from clew.extras.evaluate.measure import Protocol, measure
from clew.extras.evaluate.run_files import read_runs
from clew.models.budget import Budget
from clew.testing import ScriptedChat, models

PROTOCOL = Protocol(settings=(Setting("bm25"), Setting("dense")), answers=True)


@pytest.fixture
def chat():
    return ScriptedChat(lambda *_: "ANSWER: Oslo [1]", price=(1.0, 1.0))


@pytest.fixture
def index(dataset, tmp_path, chat):
    with open_index(tmp_path / "capitals.clew", models=models(llm=chat)) as opened:
        opened.add(dataset.corpus)
        yield opened


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_contexts_have_all_that_a_question_was_given(index, dataset, chat, tmp_path):
    report = measure(index, dataset, PROTOCOL, folder=tmp_path / "runs", contexts=True)
    kept = lines(tmp_path / "runs" / "contexts" / "bm25.jsonl")
    rows = [row for row in report.rows if row.label == "bm25"]
    assert [line["question_id"] for line in kept] == [row.question_id for row in rows]
    prompts = {prompt.user for prompt, _ in chat.asked}
    for line, row in zip(kept, rows, strict=True):
        found = [hit["document_id"] for hit in line["evidence"]["hits"]]
        assert tuple(dict.fromkeys(found)) == row.document_ids
        assert line["chunk_ids"] == [hit["chunk_id"] for hit in line["evidence"]["hits"]]
        assert all(hit["text"] in line["context"] for hit in line["evidence"]["hits"][:1])
        [call] = line["calls"]
        assert call["user"] in prompts
        assert line["question"] in call["user"]
        assert call["reply"] == "ANSWER: Oslo [1]"
        assert line["answer"] == row.answer
    assert len(read_runs([tmp_path / "runs"])) == 2  # contexts are no runs
    measure(index, dataset, PROTOCOL, folder=tmp_path / "runs", contexts=True)
    assert len(lines(tmp_path / "runs" / "contexts" / "bm25.jsonl")) == len(rows)


def test_without_contexts_nothing_is_kept(index, dataset, tmp_path):
    measure(index, dataset, PROTOCOL, folder=tmp_path / "runs")
    assert not (tmp_path / "runs" / "contexts").exists()


def test_questions_at_once_are_those_in_a_row(index, dataset, tmp_path):
    """The same rows in the same order, in the same bytes but for seconds and recorded calls."""
    one = measure(index, dataset, PROTOCOL, folder=tmp_path / "one")
    many = measure(index, dataset, PROTOCOL, folder=tmp_path / "many", concurrency=4)
    names = ("question_id", "label", "document_ids", "scores", "answer", "notes")
    for before, after in zip(one.rows, many.rows, strict=True):
        assert [getattr(before, n) for n in names] == [getattr(after, n) for n in names]
    files = [[line["question_id"] for line in lines(tmp_path / d / "bm25.jsonl")[1:]]
             for d in ("one", "many")]  # fmt: skip
    assert files[0] == files[1] == [each.id for each in dataset.questions]


def test_two_are_really_asked_at_once(dataset, evidence):
    """Each of two waits until the other one is there."""
    meet = threading.Barrier(2, timeout=120)

    def search(question, setting):
        meet.wait()
        return evidence(question, setting.method, [dataset.questions[0].supporting_ids[0]])

    part = replace(dataset, questions=dataset.questions[:2])
    report = evaluate(part, search, [Setting("bm25")], concurrency=2)
    assert not any(row.error for row in report.rows)
    with pytest.raises(InputError, match="concurrency must be at least 1, not 0"):
        evaluate(part, search, [Setting("bm25")], concurrency=0)


def test_one_budget_bounds_all_that_are_asked_at_once(index, dataset, chat, tmp_path):
    """It ends the run, what was paid is within it, and the run goes on later."""
    budget = Budget(tokens=900)
    with pytest.raises(BudgetSpent):
        measure(index, dataset, PROTOCOL, folder=tmp_path / "runs", budget=budget, concurrency=4)
    spent = index.spent()
    assert 0 < len(chat.asked) < len(dataset.questions) * 2
    assert spent is not None
    again = measure(index, dataset, PROTOCOL, folder=tmp_path / "runs", concurrency=4)
    assert not any(row.is_failed for row in again.rows)
