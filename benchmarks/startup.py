"""What a command of a process of its own takes: CPU seconds, and modules loaded.

    python -m benchmarks.startup [--runs 9]

Of the example corpus, whose index has been asked before. The median of the runs is printed, each
with an index of its own; `clew index` finds one changed file. Python and NumPy alone, which a
question cannot do without, come first.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "examples" / "polar"
QUESTION = "Who built the ship that took Amundsen to the South Pole?"
COMMANDS = {
    "clew --help": ["--help"],
    "clew ask": ["ask", QUESTION],
    "clew ask --method bm25": ["ask", QUESTION, "--method", "bm25"],
    "clew search": ["search", QUESTION],
    "clew search --method bm25": ["search", QUESTION, "--method", "bm25"],
    "clew index, of one changed file": ["index", "docs"],
}
_COUNT = "import atexit, sys; atexit.register(lambda: print(len(sys.modules), file=sys.stderr));"
_CLEW = "from clew.cli import main; main(prog_name='clew')"
_ALONE = {"python": "pass", "python, import numpy": "import numpy"}


def run(folder: Path, *arguments: str, program: str = _CLEW) -> tuple[float, int]:
    """Return the CPU seconds of a command, and how many modules it loads."""
    before = _seconds()
    done = subprocess.run(  # noqa: S603 -- ourselves
        [sys.executable, "-c", _COUNT + program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return _seconds() - before, int(done.stderr.split()[-1])


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    n_runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        shutil.copytree(CORPUS, whole / "docs")
        for arguments in (
            ["index", "docs"],
            COMMANDS["clew ask"],
            COMMANDS["clew ask --method bm25"],
        ):
            run(whole, *arguments)
        for name, program in _ALONE.items():
            report(name, [run(whole, program=program) for _ in range(n_runs)])
        for name, arguments in COMMANDS.items():
            found = []
            for i in range(n_runs):
                folder = shutil.copytree(whole, Path(place) / str(i))
                if arguments[0] == "index":
                    with (folder / "docs" / "fram.md").open("a") as file:
                        file.write("\nThe ship lies in Oslo now.\n")
                found.append(run(folder, *arguments))
                shutil.rmtree(folder)
            report(name, found)


def report(name: str, found: Sequence[tuple[float, int]]) -> None:
    """Print the medians of several runs."""
    seconds, modules = zip(*found, strict=True)
    print(f"{name:<32} {statistics.median(seconds):.2f} CPU s, {max(modules)} modules", flush=True)


if __name__ == "__main__":
    main()
