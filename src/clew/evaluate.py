"""Measure methods on a dataset: retrieval, answers, cost, and statistical significance.

A report of two settings:

    report = evaluate(load("data/hotpotqa"), search, [Setting("bm25"), Setting("clue")])
    print(render(report))

The code is in `clew.extras.evaluate`.
"""

from clew.base.runtime.lazy import lazy
from clew.extras.evaluate.datasets import Dataset, DatasetQuestion, load
from clew.extras.evaluate.evaluation import evaluate
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.run_files import Run, read_run, read_runs, report_of
from clew.extras.evaluate.settings import Scoring, Setting, grid
from clew.extras.evaluate.tables import render

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
    "clew.extras.evaluate",
    {
        "figures.sensitivity": ("draw",),
        "llm_judge": ("LLMJudge",),
        "measure": ("Protocol", "measure"),
        "summary": ("Verdict",),
    },
)
