"""What grows with an index and what does not: `python benchmarks/growth.py [--sizes 10000,100000]`.

    python benchmarks/growth.py [--sizes 10000,100000] [--index FOLDER] [--triples] [--for NAMES]

Passages are made (`benchmarks/run.py`), about 100 words each. Words are hashed in place of a model,
and a vector of each is stored, as the default model's are. For each size an index is built,
questions are asked by each method, six documents are added one by one, and the questions are asked
again ("edited"), every step in a process of its own. Seconds and milliseconds are of CPU, medians
of five documents (the first one begins a base of edits) and of the questions; the first question is
that of a process that has just opened the index, wall time. Memory is the most that was resident,
mapped files included, and what is the process's own. A million takes an hour, 13 GB of disk and 7
of memory. `--index FOLDER` asks an index that is there; `--triples` extracts those of names in one
sentence; `--for` names the methods that the index is made for. MB are those that a document writes.
The last line has exponents: between the first and the last size a figure grows as n ** e.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import in_process, peak_mb

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
METHODS = ("dense", "hybrid", "pagerank", "walk", "clue", "auto")
OVER_TRIPLES = ("ket", "bubble", "agrag")
N_QUESTIONS = 20


def main() -> None:
    """Run every size and print one line of figures for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sizes", default="1000,10000,100000", help="passages, with commas")
    parser.add_argument("--index", type=Path, help="ask this index, of the size given")
    parser.add_argument("--step", choices=list(_STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--triples", action="store_true", help="of names in one sentence")
    parser.add_argument("--for", dest="made_for", default="walk,pagerank,clue", metavar="NAMES")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.step:
        print(json.dumps(_STEPS[options.step](options.index, sizes[0], options)))
        return
    rows = []
    for size in sizes:
        if options.index is not None:
            print(json.dumps(_run("ask", options.index, size, options)), flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            figures = {"passages": size}
            for step in _STEPS:
                figures |= _run(step, Path(folder) / "growth.clew", size, options)
            print(json.dumps(figures), flush=True)
            rows.append(figures)
    if len(rows) > 1:
        print(json.dumps({"exponents": compute_exponents(rows[0], rows[-1])}))


def compute_exponents(small: Mapping[str, Any], large: Mapping[str, Any]) -> dict[str, float]:
    """Return the exponent of every figure's growth between two sizes; 0 is constant, 1 linear."""
    growth = math.log(large["passages"] / small["passages"])
    return {
        name: round(math.log(large[name] / figure) / growth, 2)
        for name, figure in small.items()
        if name != "passages" and figure and large.get(name)
    }


def _run(step: str, folder: Path, size: int, options: argparse.Namespace) -> dict[str, Any]:
    how = ("--step", step, "--index", folder, "--sizes", size, "--for", options.made_for)
    found: dict[str, Any] = in_process(__file__, *how, *["--triples"] * options.triples)
    return found


def _build(folder: Path, size: int, options: argparse.Namespace) -> dict[str, Any]:
    from run import made_passages

    import clew

    began = time.process_time()
    with clew.open(folder, models=_models()) as index:
        triples = "cooccurrence" if options.triples else None
        index.add(made_passages(size), methods=options.made_for.split(","), triples=triples)
    spent = time.process_time() - began
    size_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "index_ms_a_chunk": round(spent / size * 1000, 3),
        "index_peak_mb": peak_mb(),
        "disk_bytes_a_chunk": round(size_bytes / size),
    }


def _more(folder: Path, _size: int, _options: argparse.Namespace) -> dict[str, Any]:
    import clew
    from clew.base.types import Document

    documents, _ = _made(50)
    spent, written = [], []
    for i, each in enumerate(documents[:6]):
        began, wrote = time.process_time(), _written()
        with clew.open(folder, models=_models()) as index:
            index.add([Document(id=f"new-{i}", title=each.title, text=f"{each.text} Revised.")])
        spent.append(time.process_time() - began)
        written.append((_written() - wrote) / 1e6)
    return {
        "one_more_mb": round(statistics.median(written[1:]), 1),
        "one_more_s": round(statistics.median(spent[1:]), 3),
        "one_more_first_s": round(spent[0], 3),
    }


def _ask(folder: Path, size: int, options: argparse.Namespace) -> dict[str, Any]:
    import clew

    questions = _made(size)[1][: N_QUESTIONS + 1] if size <= 100_000 else _made(1_000)[1]
    figures: dict[str, Any] = {}
    began = time.perf_counter()
    with clew.open(folder, models=_models()) as index:
        for method in (*METHODS, *(OVER_TRIPLES if options.triples else ())):
            index.search(questions[0], method=method)
            first = time.perf_counter() - began
            spent = []
            for question in questions[1 : N_QUESTIONS + 1]:
                began = time.process_time()
                index.search(question, method=method)
                spent.append(time.process_time() - began)
            figures[f"{method}_first_s"] = round(first, 2)
            figures[f"{method}_p50_ms"] = round(statistics.median(spent) * 1000, 1)
            began = time.perf_counter()
    return figures | {"ask_peak_mb": peak_mb(), "ask_own_mb": _own()}


def _ask_edited(folder: Path, size: int, options: argparse.Namespace) -> dict[str, Any]:
    """Ask again after edits, before the index is compacted: it should take no longer."""
    found = _ask(folder, size, options)
    return {
        f"edited_{name}": value for name, value in found.items() if name.endswith(("_ms", "_s"))
    }


_STEPS = {"build": _build, "ask": _ask, "more": _more, "ask-edited": _ask_edited}


def _made(size: int) -> tuple[list[Any], list[str]]:
    from run import made

    return made(size, N_QUESTIONS + 1)


def _models() -> Any:  # noqa: ANN401 -- clew.models.Models
    from clew.testing import HashTokenEmbedder, models

    return models(HashTokenEmbedder(384))


def _written() -> int:
    """Return how many bytes this process has written; 0 where the system does not say."""
    counters = Path("/proc/self/io")
    return (
        int(counters.read_text(encoding="utf-8").split("wchar: ")[1].split()[0])
        if counters.exists()
        else 0
    )


def _own() -> int | None:
    """Return the megabytes that no file backs, None where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("RssAnon")), None)


if __name__ == "__main__":
    main()
