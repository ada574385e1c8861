"""Measure methods on a dataset: retrieval, answers, cost, and statistical significance.

A report of two settings:

    report = evaluate(load("data/hotpotqa"), search, [Setting("bm25"), Setting("clue")])
    print(render(report))
"""

from clew.evaluate.datasets import Dataset, DatasetQuestion, load
from clew.evaluate.evaluation import evaluate
from clew.evaluate.report import Report
from clew.evaluate.run_files import Run, read_run, read_runs, report_of
from clew.evaluate.settings import Scoring, Setting, grid
from clew.evaluate.tables import render
from clew.runtime.lazy import lazy

__all__ = [
    "Dataset",
    "DatasetQuestion",
    "Report",
    "Run",
    "Scoring",
    "Setting",
    "evaluate",
    "grid",
    "load",
    "read_run",
    "read_runs",
    "render",
    "report_of",
]

__getattr__ = lazy(
    "clew.evaluate",
    {
        "figures.sensitivity": ("draw",),
        "llm_judge": ("LLMJudge",),
        "measure": ("Protocol",),
        "summary": ("Verdict",),
    },
    renamed={"Question": "DatasetQuestion"},
)
