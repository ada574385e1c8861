"""`clew eval papers`: rows of papers' tables beside what is measured here."""

import json

from clew.testing import ScriptedChat
from tests.cli.conftest import with_llm
from tests.index.reads import reply_to

CLUE = ("eval", "papers", "clue-2")
COLUMN = ("--column", "8B MuSiQue")


def reads_and_answers(prompt, _turns):
    return reply_to(prompt.system, prompt.user) if prompt.schema else "ANSWER: Larvik"


def test_tables_are_listed(clew):
    shown = clew("eval", "papers").stdout
    assert [line.split()[0] for line in shown.splitlines()] == [
        "clue-2",
        "ket-2",
        "bubble-2",
        "agrag-3",
    ]
    assert "https://arxiv.org/abs/2502.09304" in shown


def test_without_an_llm_the_other_rows_say_why(clew, dataset):
    result = clew("eval", "papers", "ket-2", dataset, "--column", "MuSiQue, high")
    assert result.exit_code == 0
    lines = {line[:12].strip(): line.split() for line in result.stdout.splitlines()}
    assert lines["Text-RAG"][-6:] == ["76.80", "100.00", "12.80", "-", "19.40", "-"]
    assert lines["KET-RAG-P"][-6:] == ["79.60", "-", "19.20", "-", "26.60", "-"]
    assert "KET-RAG-U, KET-RAG-P: an LLM extracts its graph or units" in result.stdout
    assert "3 of 8 rows" in result.stderr


def test_with_one_all_rows_are_measured_and_paid_for_once(clew, dataset):
    chat = ScriptedChat(reads_and_answers)
    ask = (*CLUE, dataset, *COLUMN, "--llm", "openai:model", "--json")
    first = clew(*ask, obj=with_llm(chat))
    assert first.exit_code == 0, first.output
    rows = json.loads(first.stdout)["rows"]
    cells = {row["row"]: row["columns"]["8B MuSiQue"]["F1 plain"] for row in rows}
    assert cells["Clue-RAG, α = 1"]["printed"] == 25.48
    assert {name for name, cell in cells.items() if cell["measured"] is None} == {
        "HippoRAG",
        "SiReRAG",
    }
    assert cells["Vanilla RAG"]["measured"] == 50
    asked = [(prompt.version, prompt.user) for prompt, turns in chat.asked if not turns]
    assert len(asked) == len(set(asked))  # an index has what another one paid for
    again = clew(*ask, obj=with_llm(chat))
    assert json.loads(again.stdout)["rows"] == rows
    assert len([1 for _, turns in chat.asked if not turns]) == len(asked)


def test_a_plan_asks_nothing(clew, dataset, tmp_path):
    chat = ScriptedChat(reads_and_answers)
    named = ("--llm", "openai:model", "--price", "scripted=1,2")
    result = clew(*CLUE, dataset, *COLUMN, *named, "--plan", obj=with_llm(chat))
    assert result.exit_code == 0, result.output
    assert "5 of 7 rows on tiny, 2 questions, 4 indexes" in result.stderr
    assert "units=0.5: Clue-RAG, α = 0.5" in result.stderr
    assert "10 answers of at most 4,000 tokens of context each" in result.stderr
    assert not chat.asked
    assert not (tmp_path / "papers.clew").exists()


def test_what_cannot_be_measured_is_said(clew, dataset):
    assert "there is no table 'clue-3'" in clew("eval", "papers", "clue-3").stderr
    assert "name a dataset for clue-2" in clew(*CLUE).stderr
    assert "say by --column which column" in clew(*CLUE, dataset).stderr
