"""Measure indexing and questions beside other systems: the same passages and the same stubs.

    python -m benchmarks.peers.run [--passages 200] [--questions 50] [--systems clew,lightrag,...]
        [--rounds 3] [--pythons FILE,...] [--rows FILE.jsonl] [--page FILE.md]

Each system runs in a process of its own, with an embedder of hashed words and a stub in the place
of the LLM, both in the process: so what is left is the systems' own work. The stub extracts runs of
capitalised words, and relates neighbours, in the form that each system asks for. A question is
asked for its context alone: no answer is written.

Systems take turns: one run of each in a round. `--pythons` names the interpreters of several
environments, and a system runs in the first one that has its package; the README beside this file
says what to install. A system that none of them has is passed over with a note. Prints a line of
JSON for each run, and tables of the medians with their ratios to Clew. With `--rows` the lines are
added to a file, and the tables are made from all of it: the runs of a system's last day, by the
number of passages. `--page` writes them between the marks of a page; `--rounds 0` does that alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.marks import Table, fill, markdown
from benchmarks.peers.systems import MORE, SYSTEMS, System

MEASURE = Path(__file__).resolve().with_name("measure.py")
OURS, OURS_LLM = "clew", "clew-llm"

# Figures of an index: key, heading, and the units of the key in one unit of the heading.
COSTS = {
    "index_cpu_s": ("index, CPU s", 1),
    "more_cpu_s": (f"{MORE} more, CPU s", 1),
    "disk_kb": ("disk, MB", 1000),
    "peak_mb": ("peak, MB", 1),
    "prompt_tokens": ("prompt tokens", 1),
    "start_cpu_s": ("start to first context, CPU s", 1),
}


def main() -> None:
    """Run each system in a process of its own, and print its figures and the tables."""
    options = _options()
    rows = _read(options.rows) if options.rows else []
    for row in measure(options):
        print(json.dumps(row), flush=True)
        rows.append(row)
        if options.rows:
            with options.rows.open("a", encoding="utf-8") as stream:
                stream.write(f"{json.dumps(row)}\n")
    found = tables(rows)
    for name, table in found.items():
        print(f"\n{name}\n\n{markdown(table)}", end="")
    if options.page:
        page, _ = fill(options.page.read_text(encoding="utf-8"), found)
        options.page.write_text(page, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Clew beside other systems.")
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="with commas")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each system, in turns")
    parser.add_argument("--pythons", default=sys.executable, help="interpreters, with commas")
    parser.add_argument("--rows", type=Path, help="file of JSON lines to add the figures to")
    parser.add_argument("--page", type=Path, help="Markdown to write the tables to")
    return parser.parse_args()


def _read(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the figures of each run, a round of all systems after the other."""
    pythons = {}
    for name in options.systems.split(",") if options.rounds else ():
        pythons[name] = find_python(SYSTEMS[name].package, options.pythons.split(","))
        if not pythons[name]:
            print(f"{name}: no interpreter has {SYSTEMS[name].package}", file=sys.stderr)
    for _ in range(options.rounds):
        for name, python in pythons.items():
            if python:
                with tempfile.TemporaryDirectory() as folder:
                    row = run_system(python, name, folder, options)
                if "error" in row:
                    print(f"{name}: {row['error']}", file=sys.stderr)
                else:
                    yield row


def find_python(package: str, pythons: Iterable[str]) -> str:
    """Return the first interpreter in whose environment a package is installed, or nothing."""
    for python in pythons:
        program = f"import importlib.metadata as m; m.version({package!r})"
        if not subprocess.run([python, "-c", program], capture_output=True, check=False).returncode:  # noqa: S603
            return str(Path(python).absolute()) if "/" in python else python
    return ""


def run_system(python: str, name: str, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a system: of an index that is made, then opened by a new process."""
    row: dict[str, Any] = {"system": name, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    sizes = str(options.passages), str(options.questions)
    for part in ("warm", "cold"):
        command = [python, str(MEASURE), name, folder, *sizes, part]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode:
            return row | {"error": ended.stderr.strip().rpartition("\n")[2]}
        row |= json.loads(ended.stdout.strip().rpartition("\n")[2])
    return row


def tables(rows: Sequence[Mapping[str, Any]]) -> dict[str, Table]:
    """Return the tables of a page by name: what an index costs, what a question, and the ratios."""
    found: dict[str, Table] = {}
    for n_passages in sorted({row["passages"] for row in rows}):
        last: dict[str, dict[str, Any]] = {}
        for name in SYSTEMS:
            runs = [r for r in rows if (r["system"], r["passages"]) == (name, n_passages)]
            if runs:
                last[name] = _median([run for run in runs if run["date"] == runs[-1]["date"]])
        at = f"peers, {n_passages}"
        found[at] = _cost_table(last)
        found[f"{at}, ratios"] = _ratio_table(last)
        found[f"{at}, Clew's questions"] = _method_table(last)
        found[f"{at}, questions"] = _question_table(last)
    return found


def _median(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the last of some runs of a system, with the medians of all."""
    asks = {
        method: statistics.median(run["ask_cpu_ms"][method] for run in runs)
        for method in runs[-1]["ask_cpu_ms"]
    }
    costs = {key: statistics.median(run[key] for run in runs) for key in COSTS}
    return {**runs[-1], **costs, "ask_cpu_ms": asks}


def _indexing(last: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[System, Mapping[str, Any]]]:
    """Yield the systems that have an index of their own, with their figures."""
    return ((SYSTEMS[name], row) for name, row in last.items() if SYSTEMS[name].indexes)


def _cost_table(last: Mapping[str, Mapping[str, Any]]) -> Table:
    heads = ("system", "version", "measured", *(name for name, _ in COSTS.values()))
    cells = [
        (
            *(system.title, row["version"], row["date"]),
            *(_short(row[key] / unit) for key, (_, unit) in COSTS.items()),
        )
        for system, row in _indexing(last)
    ]
    return Table(heads, (*cells,))


def _ratio_table(last: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return how many times Clew's cost each system has; by an LLM's graph, both of Clew's."""
    keys = [key for key in COSTS if key != "prompt_tokens"]
    cells = [
        (
            f"{system.title}, to {SYSTEMS[name].title}",
            *(_ratio(row[k], last[name][k]) for k in keys),
        )
        for name in (OURS, OURS_LLM)
        for system, row in _indexing(last)
        if name in last and row["system"] not in {OURS, OURS_LLM}
        if system.with_llm or not SYSTEMS[name].with_llm
    ]
    return Table(("ratio", *(COSTS[key][0].partition(", ")[0] for key in keys)), (*cells,))


def _method_table(last: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return what a question costs Clew, by method and by its triples."""
    ours = {name: last[name]["ask_cpu_ms"] for name in (OURS, OURS_LLM) if name in last}
    methods = dict.fromkeys(chain.from_iterable(ours.values()))
    cells = [(m, *(_short(asks.get(m)) for asks in ours.values())) for m in methods]
    return Table(("CPU ms", *(SYSTEMS[name].title for name in ours)), (*cells,))


def _question_table(last: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return what a question costs the others, and how many times what it costs Clew."""
    ours = [name for name in (OURS, OURS_LLM) if name in last]
    cells = []
    for name, row in last.items():
        system = SYSTEMS[name]
        asks = {our: last[our]["ask_cpu_ms"] for our in ours}
        if not system.with_llm:
            asks[OURS_LLM] = {}
        for method, ms in row["ask_cpu_ms"].items():
            for like in system.like.get(method, ()):
                ratios = (_ratio(ms, asks[our].get(like)) for our in ours)
                cells.append((f"{system.title}, {method}", _short(ms), like, *ratios))
    heads = (f"to {SYSTEMS[name].title}" for name in ours)
    return Table(("question", "CPU ms", "Clew's method", *heads), (*cells,))


def _ratio(theirs: float, ours: float | None) -> str:
    return _short(theirs / ours if ours else None)


def _short(value: float | None) -> str:
    """Return two digits of a number, or all before the point; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if not value or value >= 99.5 else f"{value:#.2g}".rstrip(".")


if __name__ == "__main__":
    main()
