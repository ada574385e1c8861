"""`clew eval` with runs, reports, an LLM that answers and one that judges; `compare`."""

import json

import pytest

from clew.evaluate import read_run
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedChat

THREE = ("--methods", "bm25,dense", "--grid", "clue.depth=1", "--ks", "1,2")


@pytest.fixture
def llms(monkeypatch):
    """Give each LLM by its spec, a chat that answers "Larvik" and judges all to be correct."""
    chats = {}

    def load(spec, **_):
        def reply(prompt, _turns):
            return {"verdict": "correct"} if prompt.schema else "ANSWER: Larvik"

        chats[spec] = ScriptedChat(reply)
        return recorded(chats[spec])

    monkeypatch.setattr("clew.models.loading.load_llm", load)
    return chats


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_runs_are_compared_as_they_were_reported(clew, dataset, tmp_path):
    told = clew("eval", dataset, *THREE, "--runs", "runs", "--json", "--rows").stdout
    files = ["runs/bm25.jsonl", "runs/dense.jsonl", "runs/clue-depth=1.jsonl"]
    assert sorted(f"runs/{path.name}" for path in (tmp_path / "runs").iterdir()) == sorted(files)
    compared = json.loads(clew("eval", "compare", *files, "--json").stdout)
    reported = json.loads(told)
    rows = reported.pop("rows")
    assert compared == reported
    assert len(rows) == 6
    text = clew("eval", "compare", "runs", "--baseline", "bm25").stdout
    assert text.startswith("tiny: 2 questions, 6 documents")
    assert "recall@2 minus bm25's" in text


def test_a_head_says_how_a_run_was_made(clew, dataset, tmp_path):
    """All parameters, those left as they are too; models, versions, the index and its cost."""
    clew("eval", dataset, *THREE, "--runs", "runs")
    head, *rows = lines(tmp_path / "runs" / "clue-depth=1.jsonl")
    assert head["setting"] == {"method": "clue", "parameters": {"depth": 1}, "name": ""}
    assert (head["parameters"]["depth"], head["parameters"]["chunks"]) == (1, 10)
    assert "width" in head["parameters"]
    assert set(head["models"]) == {"embedder", "tagger", "reranker"}
    versions = "clew python numpy scipy snowballstemmer"
    assert set(head["versions"]) == {*versions.split()}
    assert head["index"]["rows"] == {"document": 6, "chunk": 6, "triple": 0}
    assert head["index_cost"]["tokens"] == 0
    assert head["prompts"] == {}
    assert [row["question_id"] for row in rows] == ["q1", "q2"]
    assert rows[0]["usage"]["seconds"]["search"] > 0


def test_a_run_goes_on_where_it_ended(clew, dataset, tmp_path):
    """What stands there keeps its seconds, which are never the same twice."""
    clew("eval", dataset, *THREE, "--runs", "runs")
    file = tmp_path / "runs" / "bm25.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    clew("eval", dataset, *THREE, "--runs", "runs")
    before, after = whole.splitlines(), file.read_bytes().splitlines()
    assert after[:2] == before[:2]
    old, new = json.loads(before[2]), json.loads(after[2])
    assert old.pop("usage") != new.pop("usage")
    assert old == new
    clew("eval", dataset, *THREE, "--runs", "runs")
    result = clew("eval", dataset, *THREE, "--runs", "runs", "--param", "bm25.chunks=1")
    assert result.exit_code == 0
    assert read_run(file).head.parameters["chunks"] == 1
    assert file.read_bytes().startswith(before[0])


def test_compare_needs_runs(clew, dataset, tmp_path):
    (tmp_path / "none").mkdir()
    assert clew("eval", "compare").exit_code == 2
    assert "there is no run" in clew("eval", "compare", "none").stderr
    assert "corpus.jsonl is not a run" in clew("eval", "compare", dataset / "corpus.jsonl").stderr
    clew("eval", dataset, *THREE, "--runs", "runs")
    result = clew("eval", "compare", "runs", "--baseline", "ket")
    assert "there is no run 'ket': choose one of bm25, clue depth=1, dense" in result.stderr
    text = clew("eval", "compare", "--help").stdout
    assert text.startswith("Usage: main eval compare [OPTIONS] RUN...")
    for option in ("--baseline", "--report", "--json"):
        assert option in text
    assert "of a folder the first by name]" in " ".join(text.split())
    assert "clew eval compare RUN..." in clew("eval", "--help").stdout


def test_a_report_always_has_dense_and_bm25(clew, dataset, tmp_path):
    """They are measured beside the methods named, which stay first, where there is a report."""
    options = ("--methods", "clue,bm25", "--json")
    data = json.loads(clew("eval", dataset, *options, "--report", "a.md").stdout)
    assert list(data["methods"]) == ["clue", "bm25", "dense"]
    written = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert all(part in written for part in ("clue", "bm25", "dense", "tiny"))
    assert list(json.loads(clew("eval", dataset, *options).stdout)["methods"]) == ["clue", "bm25"]


def test_a_report_of_runs_and_a_dataset_called_compare(clew, dataset, tmp_path):
    clew("eval", dataset, "--methods", "dense,bm25", "--runs", "runs", "--report", "a.md")
    result = clew("eval", "compare", "runs", "--baseline", "dense", "--report", "b.md")
    assert result.exit_code == 0
    one, other = ((tmp_path / f"{name}.md").read_text(encoding="utf-8") for name in "ab")
    assert one.replace("(a-", "(b-") == other
    dataset.rename(tmp_path / "compare")
    result = clew("eval", "./compare", "--methods", "bm25")
    assert result.stdout.startswith("compare: 2 questions")


@pytest.mark.parametrize("file", ["report.pdf", "no/report.md", "/proc/report.md"])
def test_a_report_that_cannot_be_written_is_refused_first(clew, dataset, tmp_path, file):
    result = clew("eval", dataset, "--report", file)
    assert result.exit_code == 1
    assert "report" in result.stderr
    assert not (tmp_path / "tiny.clew").exists()


def test_a_sample_is_drawn_by_the_seed(clew, dataset):
    common = ("eval", dataset, "--methods", "bm25", "--sample", 1, "--rows", "--json")

    def asked(seed):
        rows = json.loads(clew(*common, "--seed", seed).stdout)["rows"]
        return [row["question_id"] for row in rows]

    assert asked(3) == asked(3)
    assert {asked(seed)[0] for seed in range(8)} == {"q1", "q2"}
    assert clew(*common, "--limit", 1).exit_code == 1


def test_the_corpus_may_be_another_one(clew, dataset, articles, tmp_path):
    (dataset / "corpus.jsonl").rename(tmp_path / "elsewhere.jsonl")
    options = ("--methods", "bm25", "--corpus", "elsewhere.jsonl", "--index", "x.clew", "--json")
    data = json.loads(clew("eval", dataset, *options).stdout)
    assert data["dataset"]["documents"] == 6
    assert data["methods"]["bm25"]["metrics"]["MRR@10"]["mean"] > 0


def test_an_llm_may_answer_and_do_nothing_else(clew, dataset, llms):
    options = ("--methods", "bm25", "--answer-llm", "local", "--answer-tokens", 7, "--json")
    data = json.loads(clew("eval", dataset, *options, "--rows").stdout)
    method = data["methods"]["bm25"]
    assert [row["answer"] for row in data["rows"]] == ["Larvik", "Larvik"]
    assert method["metrics"]["EM"]["mean"] == 0.5
    assert (method["search"]["llm_calls"], method["answer"]["llm_calls"]) == (0, 1)
    assert {prompt.max_tokens for prompt, _ in llms["local"].asked} == {7}
    assert data["models"]["answer"] == "scripted"
    assert "llm" not in data["models"]
    options = ("eval", dataset, "--methods", "bm25", "--answer-llm", "local", "--json")
    first = json.loads(clew(*options).stdout)["methods"]["bm25"]
    second = json.loads(clew(*options).stdout)["methods"]["bm25"]
    assert (first["answer"]["llm_calls"], second["answer"]["llm_calls"]) == (1, 0)
    assert first["metrics"] == second["metrics"]


def test_a_judge_judges_the_answers(clew, dataset, llms, tmp_path):
    options = ("--methods", "bm25", "--answers", "--judge", "local", "--runs", "runs")
    result = clew("eval", dataset, *options, "--judge-metrics", "taste")
    assert result.exit_code == 1
    assert "judge, graded, correctness, answer coverage, faithfulness" in result.stderr
    assert not (tmp_path / "tiny.clew").exists()
    data = json.loads(clew("eval", dataset, *options, "--json").stdout)
    method = data["methods"]["bm25"]
    assert method["metrics"]["judge"]["mean"] == 1
    assert method["judge"]["llm_calls"] == 1
    assert method["answer"]["llm_calls"] == 0
    head = lines(tmp_path / "runs" / "bm25.jsonl")[0]
    assert (head["models"]["judge"], head["judged"]) == ("scripted", ["judge"])
    assert any(name.startswith("judge") for name in head["prompts"])


def test_a_judge_may_be_shown_in_a_plot(clew, dataset, llms, tmp_path):
    options = ("--methods", "bm25", "--grid", "clue.depth=1,2", "--answers", "--judge", "local")
    result = clew("eval", dataset, *options, "--plot", "j.svg", "--metrics", "judge")
    assert result.exit_code == 0
    assert ">judge" in (tmp_path / "j.svg").read_text(encoding="utf-8")


def test_a_budget_ends_an_evaluation(clew, dataset, llms, tmp_path):
    """With status 4, and without a row that was answered some other way; then it goes on."""
    options = ("eval", dataset, "--methods", "bm25", "--answer-llm", "local", "--runs", "runs")
    result = clew(*options, "--budget-tokens", 10)
    assert result.exit_code == 4
    assert "leaves no room" in result.stderr
    assert len(lines(tmp_path / "runs" / "bm25.jsonl")) == 1
    assert "there is none" not in result.stderr
    assert clew(*options, "--budget-tokens", 100_000).exit_code == 0
    assert len(lines(tmp_path / "runs" / "bm25.jsonl")) == 3


@pytest.mark.parametrize(
    "options",
    [
        ["--judge", "local"],
        ["--judge-metrics", "judge", "--answers"],
        ["--answer-tokens", "0"],
        ["--answer-tokens", "9"],
        ["--budget-tokens", "-1", "--llm", "local"],
        ["--budget-tokens", "9", "--answers"],
        ["--budget-usd", "1"],
    ],
)
def test_options_that_make_no_sense_are_usage_errors(clew, dataset, options):
    assert clew("eval", dataset, *options).exit_code == 2
