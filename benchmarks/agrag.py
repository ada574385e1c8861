"""Where the time of AGRAG's questions goes, by step, as its paper's Table IX has it.

    python -m benchmarks.agrag DATASET [--index FOLDER] [--questions N] [--method agrag] [--llm LLM]

The documents of DATASET, which `clew eval` takes, are indexed with triples by co-occurrence, unless
the index has some. Each question is answered, by quotes or by an LLM, and of each step the median
of its seconds is printed: CPU seconds, with an LLM those of the wall. The first question computes
the statistical entities (Eq. 2) and the graph for all others, so it stands in a column of its own.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

import clew
from clew import steps
from clew.answers import pipeline
from clew.evaluate import load
from clew.methods import agrag
from clew.models.loading import Specs

STEPS: dict[str, tuple[tuple[Any, str], ...]] = {
    "vectors of the question": ((steps, "read_query"),),
    "hybrid retrieval (Eq. 20)": ((steps, "hybrid_scores"),),
    "entities and graph": ((agrag.Agrag, "_open_graph"),),
    "mapping and filter (Eqs. 7 to 9)": ((agrag, "map_facts"),),
    "costs of edges (Eq. 14)": ((agrag, "open_view"),),
    "PageRank (Eqs. 10 to 13)": ((agrag, "compute_influence"),),
    "tree and growth (Algorithm 3)": ((agrag, "steiner_tree"), (agrag, "grow_tree")),
    "chunks and thread (Eqs. 21, 22)": ((agrag, "subgraph_evidence"),),
    "generation": ((pipeline, "answer_from"),),
}
REST = "support, context and the rest"


@contextmanager
def timed(clock: Callable[[], float]) -> Iterator[dict[str, float]]:
    """Give a dictionary to which the seconds of each step are added while a block runs."""
    seconds: dict[str, float] = defaultdict(float)

    def wrap(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*given: Any, **named: Any) -> Any:  # noqa: ANN401 -- those of the function
            began = clock()
            try:
                return function(*given, **named)
            finally:
                seconds[step] += clock() - began

        return run

    with ExitStack() as stack:
        for step, places in STEPS.items():
            for owner, name in places:
                stack.enter_context(patch.object(owner, name, wrap(step, getattr(owner, name))))
        yield seconds


def split_time(
    index: clew.Index, question: str, method: str, clock: Callable[[], float]
) -> dict[str, float]:
    """Return the seconds of each step of a question, and what no step has."""
    with timed(clock) as seconds:
        began = clock()
        index.ask(question, method=method)
        whole = clock() - began
    return {**{step: seconds[step] for step in STEPS}, REST: whole - sum(seconds.values())}


def main() -> None:
    """Print a row for each step: of the first question, the median of the others, its share."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--index", type=Path, default=Path("agrag.clew"))
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--method", default="agrag")
    parser.add_argument("--llm")
    given = parser.parse_args()
    clock = time.process_time if given.llm is None else time.perf_counter
    dataset = load(given.dataset, limit=given.questions)
    with clew.open(given.index, specs=Specs(llm=given.llm)) as index:
        index.add(dataset.corpus, triples="cooccurrence")
        rows = [split_time(index, q.text, given.method, clock) for q in dataset.questions]
    first, *others = rows
    medians = {step: statistics.median(row[step] for row in others) for step in first}
    whole = sum(medians.values())
    click.echo(f"{'step':<34}{'first, ms':>10}{'median, ms':>12}{'share':>8}")
    for step, median in medians.items():
        share = median / whole
        click.echo(f"{step:<34}{1000 * first[step]:>10.1f}{1000 * median:>12.1f}{share:>8.0%}")


if __name__ == "__main__":
    main()
