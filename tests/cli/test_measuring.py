"""`clew eval`."""

import json
from shutil import copytree

import pytest

from tests.cli.conftest import ARTICLES

QUESTIONS = [
    {
        "id": "q1",
        "question": "Where was the builder of the Fram born?",
        "answers": ["Larvik"],
        "type": "bridge",
        "supporting_ids": ["fram.md", "archer.md"],
        "hop_count": 2,
        "split": "dev",
    },
    {
        "id": "q2",
        "question": "Who died aboard the Quest?",
        "answers": ["Ernest Shackleton"],
        "type": "single",
        "supporting_ids": ["quest.md"],
        "split": "test",
    },
]


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    records = []
    for name, text in ARTICLES.items():
        title, _, body = text.removeprefix("# ").partition("\n\n")
        records.append({"id": name, "title": title, "text": body})
    for file, lines in (("corpus.jsonl", records), ("questions.jsonl", QUESTIONS)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def test_eval_prints_a_table(clew, dataset, tmp_path):
    """Every method has its row; the index is made beside, and its cost is told."""
    result = clew("eval", dataset, "--methods", "bm25,clue", "--ks", "1,2")
    assert result.exit_code == 0
    assert result.stdout.startswith("tiny: 2 questions, 6 documents")
    for part in ("recall@2", "bm25", "clue", "index seconds", "index tokens: 0"):
        assert part in result.stdout
    assert (tmp_path / "tiny.clew").is_dir()
    assert "6 added" in result.stderr


def test_eval_uses_its_index_again(clew, dataset):
    """A second run indexes nothing, and measures the same."""
    first = json.loads(clew("eval", dataset, "--methods", "bm25", "--json").stdout)
    second = json.loads(clew("eval", dataset, "--methods", "bm25", "--json").stdout)
    assert second["index_cost"]["unchanged"] == 6
    metrics = [run["methods"]["bm25"]["metrics"] for run in (first, second)]
    assert metrics[0] == metrics[1]


def test_eval_asks_for_as_many_chunks_as_it_measures(clew, dataset):
    """The largest cut-off is the number of chunks, where --param does not say otherwise."""
    common = ("eval", dataset, "--methods", "dense", "--ks", "1,4", "--json", "--rows")
    rows = json.loads(clew(*common).stdout)["rows"]
    assert {len(row["document_ids"]) for row in rows} == {4}
    rows = json.loads(clew(*common, "--param", "dense.chunks=2").stdout)["rows"]
    assert {len(row["document_ids"]) for row in rows} == {2}


def test_eval_answers(clew, dataset):
    """--answers adds the metrics of answers and what they cost."""
    result = clew("eval", dataset, "--methods", "bm25", "--answers", "--json")
    method = json.loads(result.stdout)["methods"]["bm25"]
    assert {"EM", "F1", "Acc"} <= set(method["metrics"])
    assert method["answer"]["p50_s"] > 0
    assert method["failed_answers"] == 0


def test_eval_takes_a_part_of_the_questions(clew, dataset):
    """--split and --limit choose questions."""
    options = ("--methods", "bm25", "--json")
    for chosen in (["--split", "dev"], ["--limit", 1]):
        data = json.loads(clew("eval", dataset, *chosen, *options).stdout)
        assert data["dataset"]["questions"] == 1


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--methods", "bm25,magic"], "there is no method 'magic'"),
        (["--methods", ","], "names no method"),
        (["--ks", "2,two"], "--ks takes different whole numbers"),
        (["--ks", "0"], "--ks takes different whole numbers"),
        (["--param", "depth=2"], "--param takes METHOD.NAME=VALUE"),
        (["--methods", "bm25", "--param", "clue.depth=2"], "METHOD.NAME=VALUE with a method of"),
        (["--param", "clue.nothing=2"], "no parameter 'nothing'"),
        (["--split", "none"], "no question of split 'none'"),
        (["--limit", "0"], "at least 1"),
    ],
)
def test_eval_refuses_before_it_indexes(clew, dataset, tmp_path, options, part):
    """What is asked for wrongly costs no indexing."""
    result = clew("eval", dataset, *options)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert part in line
    assert not (tmp_path / "tiny.clew").exists()


def test_the_corpus_may_be_a_folder(clew, dataset, articles):
    """Documents as files beside the questions are a corpus too."""
    (dataset / "corpus.jsonl").unlink()
    copytree(articles, dataset / "polar")
    for n_unchanged in (0, 6):
        result = clew("eval", dataset, "--methods", "bm25", "--json")
        assert json.loads(result.stdout)["index_cost"]["unchanged"] == n_unchanged


def test_eval_needs_a_dataset(clew, articles):
    """A folder without corpus.jsonl is named."""
    result = clew("eval", articles)
    assert result.exit_code == 1
    assert "corpus.jsonl: No such file or directory" in result.stderr


def test_eval_refuses_an_index_of_other_documents(clew, dataset, own_index):
    """Strange documents would falsify the numbers, and the corpus would soil the index."""
    result = clew("eval", dataset, "--methods", "bm25", "--index", own_index)
    assert result.exit_code == 1
    assert "holds 'polar/archer.md'" in result.stderr
    shown = json.loads(clew("show", "--index", own_index, "--json").stdout)
    assert shown["layers"]["document"] == len(ARTICLES)


def test_rows_go_with_json(clew, dataset):
    """A table has no room for rows, which is a usage error."""
    assert clew("eval", dataset, "--rows").exit_code == 2


def test_a_skipped_record_gives_status_3(clew, dataset):
    """A document without words is named, and the rest is measured."""
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "blank", "title": "", "text": "..."}\n')
    result = clew("eval", dataset, "--methods", "bm25")
    assert result.exit_code == 3
    assert "clew: skipped" in result.stderr
    assert result.stdout.startswith("tiny: 2 questions")
