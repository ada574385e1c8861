"""Measure `auto` beside every single method, and how far it stays behind the best of them.

    python benchmarks/auto.py DATASET... --indexes FOLDER [--split NAME] [--param NAME=VALUE]...

A DATASET is a folder that `clew eval` takes; FOLDER has an index of its name for each. Parameters
are those of `auto`. The methods return 15 chunks, `ket` fills 4,000 tokens; an answer is covered
where it stands in the first 4,000 tokens. The margin is what `auto` has less than the best single
method, at worst. Scores repeat to the digit; milliseconds depend on the machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import clew
from clew.cli.options import parse_parameters
from clew.evaluate import Report, Scoring, Setting, evaluate, load

if TYPE_CHECKING:
    from clew.types import Evidence

SINGLE = ("dense", "bm25", "hybrid", "pagerank", "walk", "clue", "ket", "bubble", "agrag")
MEASURES = ("recall@2", "recall@5", "recall@10", "coverage")
CHUNKS = 15


def main() -> None:
    """Measure every dataset, print its table, and the margin over all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", nargs="+", type=Path, metavar="DATASET")
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--split")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    auto = Setting("auto", parse_parameters("auto", options.param))
    worst = dict.fromkeys(MEASURES, 1.0)
    for folder in options.datasets:
        report = measured(folder, options.indexes, options.split, auto)
        print(table(report, auto), flush=True)
        for measure, gain in gains(report, auto).items():
            worst[measure] = min(worst[measure], gain)
    print("margin:", ", ".join(f"{m} {max(0.0, -gain):.3f}" for m, gain in worst.items()))


def measured(folder: Path, indexes: Path, split: str | None, auto: Setting) -> Report:
    """Return what every method finds for the questions of a dataset."""
    dataset = load(folder, split=split)

    def search(question: str, setting: Setting) -> Evidence:
        chunks = {} if setting.method == "ket" else {"chunks": CHUNKS}
        return index.search(question, method=setting.method, **chunks, **setting.parameters)

    with clew.open(indexes / dataset.name) as index:
        settings = [auto, *map(Setting, SINGLE)]
        for setting in settings:
            search(dataset.questions[0].text, setting)  # computes what a session computes once
        return evaluate(dataset, search, settings, Scoring())


def table(report: Report, auto: Setting) -> str:
    """Return a row for each method, what `auto` has more than the best, and what it chose."""
    size = f"{report.dataset.name}, {report.dataset.n_questions} questions"
    lines = [size, f"{'':<10}" + "".join(f"{name:>11}" for name in (*MEASURES, "p50 ms", "p95 ms"))]
    for summary in report.summaries:
        means = [summary.estimates[measure].mean for measure in MEASURES]
        seconds = [] if summary.search is None else [summary.search.p50_s, summary.search.p95_s]
        cells = [f"{mean:>11.3f}" for mean in means] + [f"{s * 1000:>11.0f}" for s in seconds]
        lines.append(f"{summary.label[:10]:<10}{''.join(cells)}")
    more = "".join(f"{gain:>+11.3f}" for gain in gains(report, auto).values())
    lines.append(f"{'more':<10}{more}")
    notes = report.summaries[0].notes
    lines += [f"  {n:>4} {note}" for note, n in notes.items()]
    return "\n".join(lines) + "\n"


def gains(report: Report, auto: Setting) -> dict[str, float]:
    """Return by measure what `auto` has more than the best single method."""
    means = {
        summary.label: {measure: summary.estimates[measure].mean for measure in MEASURES}
        for summary in report.summaries
    }
    own = means.pop(auto.label)
    return {m: own[m] - max(single[m] for single in means.values()) for m in MEASURES}


if __name__ == "__main__":
    main()
