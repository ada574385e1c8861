"""`clew eval papers`: rows of papers' tables beside what is measured here."""

import json
import re

import pytest

from clew.api import open_index
from clew.extras.evaluate.papers import load_tables
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedChat, models
from tests.cli.conftest import with_llm
from tests.index.reads import reply_to

CLUE = ("eval", "papers", "clue-2")
COLUMN = ("--column", "8B MuSiQue")


def reads_and_answers(prompt, _turns):
    return reply_to(prompt.system, prompt.user) if prompt.schema else "ANSWER: Larvik"


def test_tables_are_listed(clew):
    shown = clew("eval", "papers").stdout
    names = [line.split()[0] for line in shown.splitlines()]
    assert {"clue-2", "clue-6", "ket-2", "ket-sweeps", "bubble-5", "agrag-3", "agrag-9"} < set(
        names
    )
    assert "https://arxiv.org/abs/2502.09304" in shown
    assert len(names) == len(json.loads(clew("eval", "papers", "--json").stdout)) == 20


def test_without_an_llm_the_other_rows_say_why(clew, dataset):
    result = clew("eval", "papers", "ket-2", dataset, "--column", "MuSiQue, high")
    assert result.exit_code == 0
    lines = {line[:12].strip(): line.split() for line in result.stdout.splitlines()}
    free = ["0.05", "0.00", "76.80", "100.00", "12.80", "-", "19.40", "-"]
    assert lines["Text-RAG"][1:] == [*free, "1.000", "0", "0.0", "0.00"]
    paid = ["20.04", "-", "79.60", "-", "19.20", "-", "26.60", "-"]
    assert lines["KET-RAG-P"][1:] == [*paid, "-", "-", "-", "-"]
    assert "KET-RAG-U, KET-RAG-P: an LLM extracts its graph or units" in result.stdout
    assert "3 of 8 rows" in result.stderr


def test_with_one_all_rows_are_measured_and_paid_for_once(clew, dataset):
    chat = ScriptedChat(reads_and_answers)
    ask = (*CLUE, dataset, *COLUMN, "--llm", "openai:model", "--json")
    first = clew(*ask, obj=with_llm(chat))
    assert first.exit_code == 0, first.output
    rows = json.loads(first.stdout)["rows"]
    cells = {row["row"]: row["columns"]["8B MuSiQue"]["F1 plain"] for row in rows}
    assert cells["Clue-RAG-1.0"]["printed"] == 25.48
    assert cells["RAPTOR"]["printed"] == 10.58
    assert {name for name, cell in cells.items() if cell["measured"] is None} == {"SIRERAG"}
    assert cells["Vanilla"]["measured"] == 50
    cost = {row["row"]: row["columns"]["8B MuSiQue"]["question tokens"]["measured"] for row in rows}
    assert min(cost["RAPTOR"], cost["Vanilla"]) > 0  # though the answers of one are recorded
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
    assert "12 of 13 rows on tiny, 2 questions, 5 indexes" in result.stderr
    assert "units=0.5: Clue-RAG-0.5" in result.stderr
    assert "24 answers of at most 4,000 tokens of context each" in result.stderr
    assert not chat.asked
    assert not (tmp_path / "papers.clew").exists()


@pytest.mark.parametrize("name", load_tables())
def test_every_table_has_a_plan(clew, dataset, tmp_path, name):
    """With any column that is of questions; those of labels are of other data sets."""
    columns = load_tables()[name].columns
    column = next((each for each in columns if each.format not in ("", "labels")), None)
    if column is None:
        return
    named = ("--llm", "openai:model", "--plan")
    ask = ("eval", "papers", name, dataset, "--column", column.name, *named)
    result = clew(*ask, obj=with_llm(ScriptedChat(reads_and_answers)))
    assert result.exit_code == 0, result.output
    assert "all indexes: " in result.stderr


def test_the_plan_of_all_indexes_is_what_they_cost(clew, dataset):
    """A larger share takes over what a smaller one paid for, but for prompts that are not full."""
    texts = [f"Station {i} lies near Larvik. It was built by Colin Archer." for i in range(60)]
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"s{i}", "text": t}) + "\n" for i, t in enumerate(texts))
    chat = ScriptedChat(reads_and_answers)
    rows = ("Clue-RAG-0.5", "Clue-RAG-1.0", "KETRAG", "LLightRAG")
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
    ask = (*CLUE, dataset, *COLUMN, "--row", "LLightRAG", "--row", "Vanilla", "--json")
    found = [
        {row["row"]: row["columns"]["8B MuSiQue"]["recall@5"]["measured"] for row in rows}
        for rows in (
            json.loads(clew(*ask, *more).stdout)["rows"]
            for more in ((), ("--triples", recorded), ("--triples", recorded))
        )
    ]
    [index] = (tmp_path / "papers.clew" / "tiny").glob("*=recorded")
    with open_index(index, models=models()) as opened:
        assert len(opened.snapshot().layer("triple")) == 1
        generation = opened.snapshot().generation
    (index / "triples.whole").unlink()  # as where the import was killed
    clew(*ask, "--triples", recorded)
    with open_index(index, models=models()) as opened:
        assert opened.snapshot().generation > generation
    assert found[0]["LLightRAG"] is None
    assert found[1]["LLightRAG"] is not None
    assert found[1] == found[2]
    assert found[0]["Vanilla"] == found[1]["Vanilla"] == 1


def test_rows_of_a_table_are_listed(clew):
    """With the models of the paper as options, and the columns."""
    shown = clew("eval", "papers", "bubble-2").stdout
    lines = {line[:17].strip(): line for line in shown.splitlines()}
    assert "lightrag chunks=15 mode=global" in lines["LightRAG (global)"]
    assert "is not a method of Clew" in lines["ToG"]
    assert "--embedder sentence-transformers:Qwen/Qwen3-Embedding-8B" in shown
    assert "\n  30B MuSiQue\n" in shown


def test_a_table_grows(clew, dataset):
    """By an LLM, by questions, by another column; a question is asked once for all of these."""
    some = ("--row", "Vanilla", "--row", "Zero-shot", "--json")
    chat = ScriptedChat(reads_and_answers)
    answered = ("--answer-llm", "openai:reader")
    steps = [
        ("8B MuSiQue", "--limit", 1),
        ("8B MuSiQue", "--limit", 1, *answered),
        ("8B MuSiQue", *answered),
        ("32B MuSiQue", *answered),
        ("8B MuSiQue",),
    ]
    n_asked, scores = [], []
    for column, *more in steps:
        result = clew(*CLUE, dataset, "--column", column, *some, *more, obj=with_reader(chat))
        assert result.exit_code == 0, result.output
        row = json.loads(result.stdout)["rows"][1]
        assert row["row"] == "Vanilla"
        n_asked.append(len(chat.asked))
        scores.append(row["columns"][column]["Acc"]["measured"])
    assert n_asked == [0, 2, 4, 4, 4]
    assert scores == [None, 100, 50, 50, None]


def with_reader(chat):
    """Return an opener of an index whose LLMs for answers are all this one."""

    def open_with_reader(folder, **named):
        del named["specs"]
        index = open_index(folder, models=models(), **named)
        index.load_llm = lambda _spec, budget=None: recorded(chat, ledger=None, budget=budget)
        return index

    return open_with_reader


def test_the_models_of_a_paper(clew, dataset, monkeypatch):
    """They are those of the options, or of the environment, and have indexes of their own."""
    opened = []

    def opener(folder, *, specs, settings, prices):
        opened.append((folder, specs, settings))
        return open_index(folder, models=models(), settings=settings, prices=prices)

    named = ("--tagger", "spacy-only:x", "--reranker", "cosine", "--splitter", "nltk")
    monkeypatch.setenv("CLEW_EMBEDDER", "static:here")
    monkeypatch.setattr("clew.text.chunking.load_punkt", lambda: None)
    monkeypatch.setattr("clew.text.sentences.load_punkt", lambda: None)
    result = clew(*CLUE, dataset, *COLUMN, "--row", "Clue-RAG-0.0", *named, "--plan", obj=opener)
    assert result.exit_code == 0, result.output
    assert not opened  # nothing to pay for
    result = clew(*CLUE, dataset, *COLUMN, "--row", "Vanilla", *named, obj=opener)
    folder, specs, settings = opened[0]
    assert folder.parent.name.startswith("static-here-spacy-only-x-nltk-")
    assert (specs.embedder, specs.tagger, specs.reranker) == (
        "static:here",
        "spacy-only:x",
        "cosine",
    )
    assert settings.chunking.splitter == "nltk"
    assert settings.vector_bits == 32


def test_a_passage_is_a_chunk(clew, dataset):
    """However long it is, where a paper's tables are of passages."""
    long = " ".join(f"Station {i} lies near Larvik." for i in range(400))
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "long", "text": long}) + "\n")
    n_documents = len((dataset / "corpus.jsonl").read_text().splitlines())
    ask = ("eval", "papers", "clue-6", dataset, "--column", "MuSiQue", "--llm", "openai:model")
    result = clew(*ask, "--json", obj=with_llm(ScriptedChat(reads_and_answers)))
    assert result.exit_code == 0, result.output
    cell = json.loads(result.stdout)["rows"][0]["columns"]["MuSiQue"]
    assert cell["texts"] == {"printed": 11656, "measured": n_documents}
    assert cell["units"]["measured"] > n_documents
    assert cell["index tokens"]["measured"] > 0


def test_answers_are_as_long_as_their_task_asks(clew, dataset):
    """Creative tasks have a prompt of their own, and each type is asked only of its questions."""
    lines = [json.loads(line) for line in (dataset / "questions.jsonl").read_text().splitlines()]
    types = ("Creative Generation", "Fact Retrieval")
    (dataset / "questions.jsonl").write_text(
        "".join(json.dumps({**q, "type": t}) + "\n" for q, t in zip(lines, types, strict=True))
    )
    chat = ScriptedChat(reads_and_answers)
    columns = [part for type_ in types for part in ("--column", f"{type_}, Novel")]
    ask = ("eval", "papers", "agrag-3", dataset, *columns, "--row", "NaiveRAG")
    result = clew(*ask, "--llm", "openai:model", "--json", obj=with_llm(chat))
    assert result.exit_code == 0, result.output
    answers = [prompt.name for prompt, _ in chat.asked if prompt.name.endswith("_answer")]
    assert answers == ["long_answer", "short_answer"]
    cells = json.loads(result.stdout)["rows"][0]["columns"]
    assert "faithfulness" in cells["Creative Generation, Novel"]
    assert cells["Fact Retrieval, Novel"]["ROUGE-L"]["measured"] is not None


def test_what_cannot_be_measured_is_said(clew, dataset):
    assert "there is no table 'clue-9'" in clew("eval", "papers", "clue-9").stderr
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
    assert cell["index tokens"]["measured"] == 0
