"""An evaluation as a job, of uploaded questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.evaluate.measure import measure
from clew.server.jobs.files import QUESTIONS, REPORT, RUNS
from clew.server.jobs.options import EvaluateOptions, make_protocol
from clew.wire.refusals import hide_addresses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clew.api import Index
    from clew.models.budget import Budget


def run_evaluation(
    index: Index,
    options: EvaluateOptions,
    folder: Path,
    budget: Budget,
    on_progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Run an evaluation, write its report into the job's folder, and return its summary.

    What a process that died had measured is not asked again, unless the index has changed since.
    """
    from clew.evaluate.datasets import load_questions

    [questions] = folder.glob(f"{QUESTIONS}.*")
    dataset = load_questions(
        questions,
        index.documents(),
        name=options.name,
        split=options.split,
        limit=options.limit,
        sample=options.sample,
        seed=options.seed,
    )
    runs = folder / RUNS / str(index.snapshot().generation)
    report = measure(
        index, dataset, make_protocol(options), folder=runs, budget=budget, on_progress=on_progress
    )
    found = _hide_addresses(report.to_json(with_rows=True))
    new = folder / f"{REPORT}.new"
    new.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8", errors="replace")
    new.replace(folder / REPORT)
    headline = found["headline"]
    return {
        "headline": headline,
        "n_questions": found["dataset"]["questions"],
        "methods": {
            label: each["metrics"].get(headline) for label, each in found["methods"].items()
        },
    }


def _hide_addresses(found: Any) -> Any:  # noqa: ANN401 -- JSON
    """Remove the addresses of models from the errors of a report."""
    if isinstance(found, list):
        return [_hide_addresses(each) for each in found]
    if not isinstance(found, dict):
        return found
    return {
        name: hide_addresses(each)
        if name.endswith("error") and isinstance(each, str)
        else _hide_addresses(each)
        for name, each in found.items()
    }
