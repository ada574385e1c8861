"""Measure questions of AGRAG by the size of the graph, and what takes their time.

    python benchmarks/agrag.py [--sizes 4000,40000,400000] [--questions N] [--keep FOLDER]

The graphs and questions are those of `benchmarks/graph_scale.py`. A graph that is imported has a
chunk for each subject, so there are about two and a half edges for each triple. Times are those of
`search` in milliseconds of wall time, without the embedder's, after a first question that opens the
index and puts the graph together; a stage is what `retrieve` spends in one function. A busy machine
makes all of it longer: compare within a run.
"""

from __future__ import annotations

import statistics
import time
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from common import cuts_ms, peak_mb
from graph_scale import each_size, opened, written

from clew.methods import agrag

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

# The functions of AGRAG's `retrieve` whose time is told apart.
STAGES = {
    "facts": "map_facts",
    "PageRank": "compute_influence",
    "tree": "steiner_tree",
    "growth": "grow_tree",
    "evidence": "subgraph_evidence",
}


def main() -> None:
    """Measure every size in a process of its own and print the table."""
    stages = "".join(f"{stage:>10}" for stage in STAGES)
    head = f"{'edges':>10}{'open':>8}{'p50':>8}{'p95':>8}{stages}"
    sizes = f"{'nodes':>8}{'edges':>7}{'peak':>10}"
    each_size(__file__, "4000,40000,400000", measured, head + sizes, _row)


def measured(n_triples: int, n_questions: int, keep: Path) -> dict[str, Any]:
    """Return the figures of one graph."""
    file, questions = written(n_triples, n_questions + 1, keep)
    spent: dict[str, list[float]] = {stage: [] for stage in STAGES}
    for stage, name in STAGES.items():
        setattr(agrag, name, _timed(getattr(agrag, name), spent[stage]))
    graphs: list[agrag.AgragGraph] = []
    agrag.build_graph = _noting(agrag.build_graph, graphs)
    with opened(n_triples, keep) as index:
        index.import_graph(file)
        started = time.perf_counter()
        index.search(questions[0], method="agrag")
        first = time.perf_counter() - started
        for times in spent.values():
            times.clear()
        found = [index.search(question, method="agrag") for question in questions[1:]]
    p50, p95 = cuts_ms([each.usage.seconds["search"] for each in found])
    subgraphs = [each.graph.subgraph for each in found if each.graph and each.graph.subgraph]
    return {
        "n_edges": graphs[0].n_edges,
        "open": first,
        "p50": p50,
        "p95": p95,
        "stages": {stage: 1000 * statistics.median(times or [0]) for stage, times in spent.items()},
        "nodes": statistics.median(len(each.nodes) for each in subgraphs),
        "edges": statistics.median(len(each.edges) for each in subgraphs),
        "peak": peak_mb(),
    }


def _timed(function: Callable[P, T], times: list[float]) -> Callable[P, T]:
    """Return `function`, which notes how long each call took."""

    @wraps(function)
    def measure(*arguments: P.args, **named: P.kwargs) -> T:
        started = time.perf_counter()
        result = function(*arguments, **named)
        times.append(time.perf_counter() - started)
        return result

    return measure


def _noting(function: Callable[P, T], results: list[T]) -> Callable[P, T]:
    """Return `function`, which notes what each call gave."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        results.append(function(*arguments, **named))
        return results[-1]

    return call


def _row(found: dict[str, Any]) -> str:
    stages = "".join(f"{milliseconds:>10.1f}" for milliseconds in found["stages"].values())
    size = f"{found['nodes']:>8.0f}{found['edges']:>7.0f}{found['peak']:>7.0f} MB"
    times = "{open:>6.1f} s{p50:>8.0f}{p95:>8.0f}".format(**found)
    return f"{found['n_edges']:>10,}{times}{stages}{size}"


if __name__ == "__main__":
    main()
