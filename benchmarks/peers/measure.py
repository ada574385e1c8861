"""Print the figures of one system as a line of JSON; `run.py` has a process for each.

    python benchmarks/peers/measure.py SYSTEM FOLDER PASSAGES QUESTIONS warm|cold

`warm` makes an index in the folder and asks it, `cold` opens it and asks one question. This is run
by its path, since an environment may have a package that is named `benchmarks`, too.
"""

from __future__ import annotations

import json
import resource
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from systems import MORE, SYSTEMS, Stub

CORPUS = Path(__file__).resolve().parents[1] / "run.py"


def main() -> None:
    """Measure what the arguments name."""
    name, folder, n_passages, n_questions, part = sys.argv[1:]
    documents, questions = runpy.run_path(str(CORPUS))["made"](
        int(n_passages) + MORE, int(n_questions)
    )
    if part == "cold":
        figures = measure_start(name, Path(folder), questions[0])
    else:
        figures = measure_index(name, Path(folder), documents, questions)
    print(json.dumps(figures))


def measure_start(name: str, folder: Path, question: str) -> dict[str, Any]:
    """Return the CPU time of this process until an index has given its first context."""
    opened = SYSTEMS[name].open(folder, Stub())
    next(iter(opened.ask.values()))(question)
    return {"start_cpu_s": round(time.process_time(), 3)}


def measure_index(
    name: str, folder: Path, documents: list[Any], questions: list[str]
) -> dict[str, Any]:
    """Return the CPU time, tokens, bytes and memory of an index, and the time of a question."""
    stub, system, n_first = Stub(), SYSTEMS[name], len(documents) - MORE
    opened = system.open(folder, stub)
    index_s = _time(opened.add, documents[:n_first])
    figures = {
        "version": version(system.package),
        "passages": n_first,
        "questions": len(questions),
        "index_cpu_s": round(index_s, 3),
        "llm_calls": stub.calls,
        "prompt_tokens": stub.prompt_tokens,
        "more_cpu_s": round(_time(opened.add, documents[n_first:]), 4),
        "disk_kb": round(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1000),
        "ask_cpu_ms": {
            method: round(1000 * statistics.median(_time(ask, each) for each in questions), 2)
            for method, ask in opened.ask.items()
        },
    }
    return figures | {"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


def _time(run: Callable[[Any], object], given: object) -> float:
    started = time.process_time()
    run(given)
    return time.process_time() - started


if __name__ == "__main__":
    main()
