"""`clew eval`."""

import json
import re
import sys
from shutil import copytree

import pytest

from clew.extras.evaluate import figures, metrics
from tests.cli.conftest import ARTICLES, open_with_doubles


def test_eval_prints_a_table(clew, dataset, tmp_path):
    result = clew("eval", dataset, "--methods", "bm25,clue", "--ks", "1,2")
    assert result.exit_code == 0
    assert result.stdout.startswith("tiny: 2 questions, 6 documents")
    for part in ("recall@2", "bm25", "clue", "index seconds", "index tokens: 0"):
        assert part in result.stdout
    assert (tmp_path / "tiny.clew").is_dir()
    assert "6 added" in result.stderr
    results = [clew("eval", dataset, "--methods", "bm25", "--json") for _ in range(2)]
    assert "6 unchanged" in results[1].stderr
    first, second = (json.loads(result.stdout) for result in results)
    assert first["methods"]["bm25"]["metrics"] == second["methods"]["bm25"]["metrics"]
    assert first["index_cost"] == second["index_cost"]
    assert first["index_cost"]["seconds"] > 0


def test_eval_answers(clew, dataset):
    result = clew("eval", dataset, "--methods", "bm25", "--answers", "--json")
    method = json.loads(result.stdout)["methods"]["bm25"]
    assert {"EM", "F1 plain", "F1 hotpot", "F1 ket", "Acc", "ROUGE-L"} <= set(method["metrics"])
    assert method["answer"]["p50_s"] > 0
    assert method["failed_answers"] == 0


def test_eval_scores_what_another_system_found(clew, dataset, tmp_path):
    """A file of results is a row beside the methods', and one that is wrong ends all at once."""
    questions = [
        json.loads(line) for line in (dataset / "questions.jsonl").read_text().splitlines()
    ]
    results = [
        {"method": "LightRAG", "question_id": each["id"], "retrieved_ids": each["supporting_ids"]}
        for each in questions
    ]
    (tmp_path / "found.json").write_text(json.dumps(results))
    options = ("--methods", "bm25", "--published", tmp_path / "found.json")
    result = clew("eval", dataset, *options)
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if line.startswith("peer: LightRAG"))
    assert "1.000" in line
    assert "no cost is known of: peer: LightRAG" in result.stdout
    (tmp_path / "found.json").write_text(json.dumps(results[1:]))
    result = clew("eval", dataset, *options, "--index", "new.clew")
    assert result.exit_code == 1
    assert "method 'LightRAG' has no result for 1 of 2 questions" in result.stderr
    assert not (tmp_path / "new.clew").exists()


def test_eval_takes_a_part_of_the_questions(clew, dataset):
    options = ("--methods", "bm25", "--json")
    for chosen in (["--split", "dev"], ["--limit", 1]):
        data = json.loads(clew("eval", dataset, *chosen, *options).stdout)
        assert data["dataset"]["questions"] == 1
    common = ("eval", dataset, "--methods", "dense", "--ks", "1,4", "--json", "--rows")
    rows = json.loads(clew(*common).stdout)["rows"]
    assert {len(row["document_ids"]) for row in rows} == {6}  # all that there are
    rows = json.loads(clew(*common, "--param", "dense.chunks=2").stdout)["rows"]
    assert {len(row["document_ids"]) for row in rows} == {2}


def test_coverage_is_of_the_context(clew, dataset):
    """The usual context holds both answers, one of 12 tokens only the one that stands first."""
    common = ("eval", dataset, "--methods", "bm25", "--json")
    method = json.loads(clew(*common).stdout)["methods"]["bm25"]
    assert method["metrics"]["coverage"]["mean"] == 1
    assert method["context_tokens"] > 12
    data = json.loads(clew(*common, "--context-tokens", 12).stdout)
    assert data["settings"]["context_tokens"] == 12
    assert data["methods"]["bm25"]["metrics"]["coverage"]["mean"] == 0.5
    assert 0 < data["methods"]["bm25"]["context_tokens"] <= 12
    assert data["methods"]["bm25"]["metrics"]["recall@5"] == method["metrics"]["recall@5"]
    common = ("eval", dataset, "--methods", "bm25", "--answers", "--json", "--rows", "--limit", 1)
    [row] = json.loads(clew(*common).stdout)["rows"]
    assert "Larvik" in row["answer"]
    [row] = json.loads(clew(*common, "--context-tokens", 12).stdout)["rows"]
    assert "Larvik" not in row["answer"]


def test_a_method_that_fills_a_context_is_told_its_size(clew, dataset):
    """The budget reaches a method's parameter `tokens`, where nothing else was given for it."""
    told = []

    def opened(folder, **options):
        index = open_with_doubles(folder, **options)
        search = index.search

        def spied(question):
            told.append(
                (question.context_tokens, *map(question.parameters.get, ("depth", "chunks")))
            )
            return search(question)

        index.search = spied
        return index

    arguments = ("--methods", "clue", "--param", "clue.depth=2", "--context-tokens", 500)
    assert clew("eval", dataset, *arguments, "--limit", 1, obj=opened).exit_code == 0
    assert told == [(500, 2, 10)]


def test_a_grid_has_a_row_for_each_combination(clew, dataset):
    grids = ("--grid", "clue.depth=1,2", "--grid", "clue.query_updating=yes,no")
    fixed = ("--param", "clue.chunks=2", "--ks", "1,4", "--json", "--rows")
    data = json.loads(clew("eval", dataset, "--methods", "bm25", *grids, *fixed).stdout)
    each = [(depth, updating) for depth in (1, 2) for updating in (True, False)]
    named = [f"clue depth={depth} query_updating={updating}" for depth, updating in each]
    assert list(data["methods"]) == ["bm25", *named]
    last = data["methods"]["clue depth=2 query_updating=False"]
    assert last["parameters"] == {"depth": 2, "query_updating": False}
    assert set(last["against_first"]) == {data["headline"]}
    found = {row["method"]: len(row["document_ids"]) for row in data["rows"]}
    assert found.pop("bm25") <= 4
    assert set(found.values()) <= {1, 2}
    options = ("--methods", "bm25", "--grid", "dense.chunks=1,3", "--json", "--rows")
    rows = json.loads(clew("eval", dataset, *options).stdout)["rows"]
    found = {row["method"]: len(row["document_ids"]) for row in rows}
    assert (found["dense chunks=1"], found["dense chunks=3"]) == (1, 3)


def test_a_setting_that_a_grid_has_too_is_measured_once(clew, dataset):
    options = ("--methods", "clue,bm25", "--grid", "clue.query_updating=true,false", "--json")
    data = json.loads(clew("eval", dataset, *options).stdout)
    unchanged, changed = "clue query_updating=True", "clue query_updating=False"
    assert list(data["methods"]) == [unchanged, "bm25", changed]


def test_runs_grow(clew, dataset, tmp_path):
    """By questions, by answers, and by what is new in the index."""
    for more in (("--limit", 1), (), ("--answers",)):
        ask = ("eval", dataset, "--methods", "bm25", "--runs", "runs", *more)
        result = clew(*ask)
        assert result.exit_code == 0, result.stderr
    assert clew(
        "index", dataset / "corpus.jsonl", "--index", "tiny.clew", "--triples", "cooccurrence"
    )
    assert clew("eval", dataset, "--methods", "pagerank", "--runs", "runs").exit_code == 0
    result = clew("eval", dataset, "--methods", "bm25,pagerank", "--runs", "runs")
    assert result.exit_code == 0, result.stderr
    assert clew("eval", "compare", tmp_path / "runs").exit_code == 0


def test_plot_draws_the_grid(clew, dataset, tmp_path):
    options = ("--methods", "bm25,dense", "--grid", "clue.depth=1,2", "--plot", "depth.svg")
    result = clew("eval", dataset, *options)
    assert result.exit_code == 0
    assert "clue depth=2" in result.stdout
    drawn = (tmp_path / "depth.svg").read_text(encoding="utf-8")
    texts = ("recall@5", "coverage", "depth of clue", "clue by depth", "bm25", "dense", "tiny: 2")
    for text in texts:
        assert f">{text}" in drawn
    assert ">MRR@10" not in drawn
    first = (tmp_path / "depth.svg").read_bytes()
    clew("eval", dataset, *options)
    assert (tmp_path / "depth.svg").read_bytes() == first
    options = ("--methods", "bm25", "--grid", "clue.depth=1,2", "--answers")
    clew("eval", dataset, *options, "--plot", "f1.svg", "--metrics", "F1 plain, all@2")
    drawn = (tmp_path / "f1.svg").read_text(encoding="utf-8")
    assert ">F1 plain" in drawn
    assert ">all@2" in drawn
    assert ">coverage" not in drawn
    clew("eval", dataset, *options, "--plot", "f1.png", "--metrics", "Acc")
    assert (tmp_path / "f1.png").read_bytes().startswith(b"\x89PNG")


def test_notes_stand_below_the_table(clew, dataset):
    options = ("--methods", "bm25,bubble", "--grid", "ket.graph_share=0,1")
    stdout = clew("eval", dataset, *options).stdout
    assert re.search(r"(?m)^bubble: the index has no triples .+ \(2 questions\)$", stdout)
    [note] = [line for line in stdout.splitlines() if ": no triples, so no graph" in line]
    assert note.startswith("ket graph_share=1.0: ")
    assert note.endswith(" (2 questions)")
    data = json.loads(clew("eval", dataset, *options, "--json").stdout)["methods"]
    assert list(data["ket graph_share=1.0"]["notes"].values()) == [2]
    assert data["ket graph_share=0.0"]["notes"] == {}


@pytest.mark.parametrize(
    ("module", "options", "extra"),
    [
        ("matplotlib", ["--grid", "clue.depth=1,2", "--plot", "depth.svg"], "plots"),
        ("snowballstemmer", ["--methods", "bm25", "--answers"], "eval"),
    ],
)
def test_what_is_missing_is_said_first(
    clew, dataset, tmp_path, monkeypatch, module, options, extra
):
    for name in ("sensitivity", "canvas"):
        monkeypatch.delitem(sys.modules, f"clew.extras.evaluate.figures.{name}", raising=False)
        monkeypatch.delattr(figures, name, raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    metrics._stem.cache_clear()  # noqa: SLF001 -- it may know the words
    result = clew("eval", dataset, *options)
    assert result.exit_code == 1
    assert f"pip install 'clew[{extra}]'" in result.stderr
    assert not (tmp_path / "tiny.clew").exists()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--methods", "bm25,magic"], "there is no method 'magic'"),
        (["--methods", ","], "names no method"),
        (["--methods", "bm25, bm25"], "--methods takes different methods, not 'bm25, bm25'"),
        (["--ks", "2,two"], "--ks takes different whole numbers"),
        (["--ks", "0"], "--ks takes different whole numbers"),
        (["--param", "depth=2"], "--param takes METHOD.NAME=VALUE"),
        (["--methods", "bm25", "--param", "clue.depth=2"], "METHOD.NAME=VALUE, METHOD of"),
        (["--param", "clue.nothing=2"], "no parameter 'nothing'"),
        (["--split", "none"], "no question of split 'none'"),
        (["--limit", "0"], "at least 1"),
        (["--grid", "clue.depth"], "--grid takes METHOD.NAME=V1,V2,..., not 'clue.depth'"),
        (["--grid", "depth=1,2"], "--grid takes METHOD.NAME=V1,V2,..."),
        (["--grid", "clue.depth=1,,2"], "--grid takes METHOD.NAME=V1,V2,..."),
        (["--grid", "clue.depth=1,1"], "--grid takes different values"),
        (["--grid", "magic.depth=1,2"], "there is no method 'magic'"),
        (["--grid", "clue.nothing=1,2"], "no parameter 'nothing'"),
        (["--grid", "clue.depth=1,deep"], "is a whole number, not 'deep'"),
        (["--grid", "clue.depth=-1"], "depth of the method 'clue' is at least 0, not -1"),
        (["--grid", "clue.depth=1", "--grid", "clue.depth=2"], "names clue.depth twice"),
        (["--grid", "clue.depth=1", "--param", "clue.depth=2"], "both set clue.depth"),
        (["--runs", "tiny/corpus.jsonl/runs"], "corpus.jsonl/runs: Not a directory"),
        (["--plot", "x.svg"], "nothing varies: add --grid"),
        (["--grid", "clue.depth=1,2", "--plot", "x.pdf"], "a plot is a file .png or .svg"),
        (["--grid", "clue.depth=1,2", "--plot", "no/x.svg"], "there is no folder 'no'"),
        (["--grid", "clue.depth=1,2", "--plot", "x.svg", "--metrics", "F1"], "cannot show 'F1'"),
        (["--grid", "clue.depth=1,2", "--plot", "x.svg", "--metrics", ","], "cannot show nothing"),
        (["--grid", "clue.depth=1,2", "--plot", "x.svg", "--metrics", ""], "cannot show nothing"),
    ],
)
def test_eval_refuses_before_it_indexes(clew, dataset, tmp_path, options, part):
    result = clew("eval", dataset, *options)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert part in line
    assert not (tmp_path / "tiny.clew").exists()


def test_what_eval_needs(clew, articles, dataset, own_index):
    result = clew("eval", articles)
    assert result.exit_code == 1
    assert f"{articles}: no file with questions" in result.stderr
    assert clew("eval", dataset, "--rows").exit_code == 2
    assert clew("eval", dataset, "--metrics", "MRR@10").exit_code == 2
    result = clew("eval", dataset, "--methods", "bm25", "--index", own_index)
    assert result.exit_code == 1
    assert "holds 'polar/archer.md'" in result.stderr
    shown = json.loads(clew("show", "--index", own_index, "--json").stdout)
    assert shown["layers"]["document"] == len(ARTICLES)


def test_a_skipped_record_gives_status_3(clew, dataset):
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "blank", "title": "", "text": "..."}\n')
    result = clew("eval", dataset, "--methods", "bm25")
    assert result.exit_code == 3
    assert "clew: skipped" in result.stderr
    assert result.stdout.startswith("tiny: 2 questions")


def test_the_corpus_may_be_a_folder(clew, dataset, articles):
    (dataset / "corpus.jsonl").unlink()
    copytree(articles, dataset / "polar")
    for n_unchanged in (0, 6):
        result = clew("eval", dataset, "--methods", "bm25", "--json")
        assert f"{n_unchanged} unchanged" in result.stderr
