"""Measure indexing and questions beside other systems: the same passages and the same stubs.

    python benchmarks/peers/run.py [--passages 200] [--questions 50] [--systems clew,lightrag,...]

Each system runs in a process of its own, with an embedder of hashed words and a stub in the place
of the LLM, both in the process: so what is left is the systems' own work. The stub extracts runs of
capitalised words, and relates neighbours, in the form that each system asks for. A question is
asked for its context alone: no answer is written. A system that is not installed is passed over
with a note; the README beside this file says how they are installed. Prints a line of JSON for each
system, and the table of docs/results/peers.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")]

MORE = 10  # passages that are added afterwards


def main() -> None:
    """Run each system in a process of its own, and print its figures and the table."""
    from systems import SYSTEMS

    parser = argparse.ArgumentParser(description="Measure Clew beside other systems.")
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="with commas")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    parser.add_argument("--cold", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(options)))
        return
    rows = []
    for name in options.systems.split(","):
        with tempfile.TemporaryDirectory() as folder:
            row = run_system(name, folder, options)
        print(json.dumps(row), flush=True)
        rows.append(row)
    print(format_table([row for row in rows if "error" not in row]))


def run_system(name: str, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a system: of an index that is made, then opened by a new process."""
    row: dict[str, Any] = {"system": name}
    sizes = ["--passages", str(options.passages), "--questions", str(options.questions)]
    for more in ([], ["--cold"]):
        command = [sys.executable, __file__, "--one", name, "--folder", folder, *sizes, *more]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode:
            return row | {"error": ended.stderr.strip().rpartition("\n")[2]}
        row |= json.loads(ended.stdout.strip().rpartition("\n")[2])
    return row


def measure_one(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one system in this process: CPU time, tokens, bytes, memory."""
    import run as corpus
    from systems import SYSTEMS, Stub

    stub, folder = Stub(), Path(options.folder)
    package, open_index = SYSTEMS[options.one]
    documents, asked = corpus.made(options.passages + MORE, options.questions)
    questions = [each.text if hasattr(each, "text") else str(each) for each in asked]
    opened = open_index(folder, stub)
    if options.cold:
        next(iter(opened.ask.values()))(questions[0])
        return {"cold_cpu_s": round(time.process_time(), 2)}
    first, more = documents[: options.passages], documents[options.passages :]
    index_s = _time(opened.add, first)
    figures = {
        "version": version(package),
        "passages": options.passages,
        "index_cpu_s": round(index_s, 2),
        "llm_calls": stub.calls,
        "prompt_tokens": stub.prompt_tokens,
        f"{MORE}_more_cpu_s": round(_time(opened.add, more), 3),
        "disk_kb": round(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1000),
        "ask_cpu_ms": {
            method: round(1000 * statistics.median(_time(ask, each) for each in questions), 1)
            for method, ask in opened.ask.items()
        },
    }
    return figures | {"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


def _time(run: Callable[[Any], object], given: object) -> float:
    started = time.process_time()
    run(given)
    return time.process_time() - started


def format_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of docs/results/peers.md."""
    heads = (
        *("system", "version", "index, CPU s", f"{MORE} more", "disk, MB", "peak, MB"),
        *("prompt tokens", "from start to the first context, CPU s", "a question, CPU ms (p50)"),
    )
    lines = [f"| {' | '.join(heads)} |", "|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for row in rows:
        asks = ", ".join(f"{name} {ms}" for name, ms in row["ask_cpu_ms"].items())
        lines.append(
            f"| {row['system']} | {row['version']} | {row['index_cpu_s']} "
            f"| {row[f'{MORE}_more_cpu_s']} | {row['disk_kb'] / 1000:.1f} | {row['peak_mb']} "
            f"| {row['prompt_tokens']:,} | {row['cold_cpu_s']} | {asks} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
