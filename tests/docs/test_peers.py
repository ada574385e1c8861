"""Figures beside other systems: how they are measured, and that the page has what was measured."""

import json
import sys
from argparse import Namespace

import pytest

from benchmarks.marks import fill
from benchmarks.peers.run import find_python, run_system, tables
from tests.docs.pages import ROOT


def run(system, *, day=1, index=1.0, disk=1000, passages=200, **asks):
    return {
        "system": system,
        "date": f"2026-01-0{day}",
        "version": "1.0",
        "passages": passages,
        "index_cpu_s": index,
        "more_cpu_s": 0.5,
        "disk_kb": disk,
        "peak_mb": 100,
        "prompt_tokens": 123456,
        "start_cpu_s": 1.0,
        "ask_cpu_ms": asks,
    }


def test_the_page_has_the_tables_of_the_kept_figures():
    """`run.py --rounds 0 --rows benchmarks/peers/figures.jsonl --page docs/results/peers.md`."""
    lines = (ROOT / "benchmarks/peers/figures.jsonl").read_text(encoding="utf-8").splitlines()
    page = (ROOT / "docs/results/peers.md").read_text(encoding="utf-8")
    found = tables([json.loads(line) for line in lines])
    assert all(f"<!-- table: {name} -->" in page for name in found)
    assert fill(page, found)[0] == page


def test_a_figure_is_the_median_of_the_last_days_runs():
    rows = [run("clew", index=9.0, walk=90.0), run("clew", passages=10, index=7.0, walk=1.0)]
    rows += [run("clew", day=2, index=each, walk=10 * each) for each in (3.0, 1.0, 2.0)]
    found = tables(rows)
    assert found["peers, 200"].cell("Clew", "index, CPU s") == "2.0"
    assert found["peers, 200"].cell("Clew", "measured") == "2026-01-02"
    assert found["peers, 200, Clew's questions"].cell("walk", "Clew") == "20"
    assert found["peers, 10"].cell("Clew", "index, CPU s") == "7.0"


def test_a_ratio_is_the_others_figure_over_clews():
    """A graph that an LLM extracted has Clew with and without one beside it, others the latter."""
    found = tables(
        [
            run("clew", index=2.0, disk=3000, walk=10.0, pagerank=4.0, dense=2.0),
            run("clew-llm", index=4.0, walk=20.0, pagerank=8.0, dense=2.0),
            run("fast-graphrag", index=3.0, disk=1500, query=20.0),
            run("chroma", index=1.0, dense=3.0),
        ]
    )
    costs = found["peers, 200, ratios"]
    assert costs.cell("fast-graphrag, to Clew", "index") == "1.5"
    assert costs.cell("fast-graphrag, to Clew", "disk") == "0.50"
    assert costs.cell("fast-graphrag, to Clew, triples by the LLM", "index") == "0.75"
    assert costs.cell("Chroma, to Clew", "index") == "0.50"
    assert len(costs.rows) == 3
    asked = found["peers, 200, questions"].rows
    assert ("fast-graphrag, query", "20", "walk", "2.0", "1.0") in asked
    assert ("fast-graphrag, query", "20", "pagerank", "5.0", "2.5") in asked
    assert ("Chroma, dense", "3.0", "dense", "1.5", "–") in asked
    assert found["peers, 200"].cell("Clew", "prompt tokens") == "123,456"


def test_another_systems_method_without_its_like_has_no_ratio():
    found = tables([run("clew", walk=10.0), run("clew-llm"), run("lightrag", mix=30.0)])
    asked = ("LightRAG, mix", "30", "lightrag, mix", "–", "–")
    assert found["peers, 200, questions"].rows == (asked,)
    assert tables([run("chroma", dense=1.0)])["peers, 200, ratios"].rows == ()
    assert tables([]) == {}


def test_a_system_runs_in_the_first_environment_that_has_it():
    assert find_python("pytest", [sys.executable]) == sys.executable
    assert not find_python("no-such-package-anywhere", [sys.executable])


@pytest.mark.parametrize("system", ["clew", "clew-llm"])
def test_a_system_is_measured_in_processes_of_its_own(system, tmp_path):
    sizes = Namespace(passages=6, questions=1)
    row = run_system(sys.executable, system, str(tmp_path), sizes)
    assert row.get("error") is None
    assert row["passages"] == 6
    assert (row["prompt_tokens"] > 0) == (system == "clew-llm")
    assert {"walk", "hybrid", "dense", "pagerank"} <= set(row["ask_cpu_ms"])
    assert row["start_cpu_s"] > 0
