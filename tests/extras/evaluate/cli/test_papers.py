"""`clew eval papers`: rows of papers' tables beside what is measured here."""

import json
import re

from clew.testing import ScriptedChat
from tests.cli.conftest import with_llm
from tests.index.reads import reply_to

CLUE = ("eval", "papers", "clue-2")
COLUMN = ("--column", "8B MuSiQue")


def reads_and_answers(prompt, _turns):
    return reply_to(prompt.system, prompt.user) if prompt.schema else "ANSWER: Larvik"


def test_tables_are_listed(clew):
    shown = clew("eval", "papers").stdout
    assert "7 of 13 rows" in shown
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
    assert lines["Text-RAG"][-7:] == ["76.80", "100.00", "12.80", "-", "19.40", "-", "1.000"]
    assert lines["KET-RAG-P"][-7:] == ["79.60", "-", "19.20", "-", "26.60", "-", "-"]
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
    assert cells["RAPTOR"]["printed"] is None
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
    assert "14 of 16 rows on tiny, 2 questions, 5 indexes" in result.stderr
    assert "units=0.5: Clue-RAG, α = 0.5" in result.stderr
    assert "28 answers of at most 4,000 tokens of context each" in result.stderr
    assert not chat.asked
    assert not (tmp_path / "papers.clew").exists()


def test_the_plan_of_all_indexes_is_what_they_cost(clew, dataset):
    """A larger share takes over what a smaller one paid for, but for prompts that are not full."""
    texts = [f"Station {i} lies near Larvik. It was built by Colin Archer." for i in range(60)]
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"s{i}", "text": t}) + "\n" for i, t in enumerate(texts))
    chat = ScriptedChat(reads_and_answers)
    rows = ("Clue-RAG, α = 0.5", "Clue-RAG, α = 1", "KETRAG", "LightRAG")
    ask = (*CLUE, dataset, *COLUMN, *(part for row in rows for part in ("--row", row)))
    named = ("--llm", "openai:model", "--price", "scripted=1,2")
    plan = clew(*ask, *named, "--plan", obj=with_llm(chat)).stderr
    *each, whole = (int(n) for n in re.findall(r"(\d+) calls?,", plan))
    assert len(each) == 4
    assert clew(*ask, *named, obj=with_llm(chat)).exit_code == 0
    asked = [prompt for prompt, turns in chat.asked if not turns]
    extracted = sum(prompt.name in {"units", "graph"} for prompt in asked)
    assert whole <= extracted <= whole + 2 < sum(each)


def test_recorded_triples_stand_for_those_of_an_llm(clew, dataset, tmp_path):
    """So rows that need no more than these are measured without one."""
    documents = [json.loads(line) for line in (dataset / "corpus.jsonl").read_text().splitlines()]
    recorded = tmp_path / "triples.jsonl"
    recorded.write_text(
        "".join(
            json.dumps({"id": each["id"], "triples": [["Fram", "built by", "Colin Archer"]]}) + "\n"
            for each in documents
        ),
        encoding="utf-8",
    )
    ask = (*CLUE, dataset, *COLUMN, "--row", "LightRAG", "--row", "BM25", "--json")
    found = [
        {row["row"]: row["columns"]["8B MuSiQue"]["recall@5"]["measured"] for row in rows}
        for rows in (
            json.loads(clew(*ask, *more).stdout)["rows"]
            for more in ((), ("--triples", recorded), ("--triples", recorded))
        )
    ]
    assert found[0]["LightRAG"] is None
    assert found[1]["LightRAG"] is not None
    assert found[1] == found[2]
    assert found[0]["BM25"] == found[1]["BM25"] == 1


def test_rows_of_a_table_are_listed(clew):
    shown = clew("eval", "papers", "bubble-2").stdout
    lines = {line[:17].strip(): line for line in shown.splitlines()}
    assert "lightrag chunks=15 mode=global" in lines["LightRAG, global"]
    assert "not known to us" in lines["LightRAG, global"]
    assert "is not a method of Clew" in lines["ToG"]
    rows = json.loads(clew("eval", "papers", "bubble-2", "--json").stdout)
    assert {row["row"]: row["printed"] for row in rows}["BubbleRAG"] == "known"


def test_what_cannot_be_measured_is_said(clew, dataset):
    assert "there is no table 'clue-3'" in clew("eval", "papers", "clue-3").stderr
    assert "has no row 'GPT'" in clew(*CLUE, dataset, "--row", "GPT").stderr
    assert "choose with --column a column of Clue-RAG" in clew(*CLUE, dataset).stderr


def test_a_column_of_labels(clew, tmp_path):
    """Beside the numbers of the paper; without an LLM, the rows that need none."""
    for name, text in (("train", "Sled dogs eat fish."), ("test", "Which fish do dogs eat?")):
        (tmp_path / f"{name}.txt").write_text(f"sled_dogs\t{text}\nsea_ice\tThe ice drifts.\n")
    into, folder = tmp_path / "papers", tmp_path
    arguments = ["papers", "agrag-3", folder, "--column", "WOS", "--row", "NaiveRAG"]
    result = clew("eval", *arguments, "--into", into, "--json")
    assert result.exit_code == 0, result.stderr
    [row] = json.loads(result.stdout)["rows"]
    cell = row["columns"]["WOS"]
    assert cell["accuracy"]["printed"] == 0.237
    assert 0 < cell["accuracy"]["measured"] <= 1
    assert cell["recall@5"] == {"printed": None, "measured": None}
