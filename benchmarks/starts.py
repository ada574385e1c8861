"""What starts, first questions and runs without changes take of the processor.

    python benchmarks/starts.py [--besides SOURCE] [--runs 5] [--documents 10000] [--files 0]

CPU seconds of whole processes, medians: commands on the examples of the repository, by the default
models; and with `--documents` the first question of a process on so many made passages
(`benchmarks/run.py`, hashed words in place of a model), before and after one more was added, and
that of a process that stays open while documents are added. With `--files` so many short files are
indexed, then again as they are, then with one changed; the first run embeds them all, which takes
minutes. `--besides` names the `src` of another version, whose runs take turns with this one's, so
that both see the same machine. Bytecode is written first, as an installed package has it.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "In which town was the builder of Nansen's polar ship Fram born?"
COMMAND = "from clew.cli import main; main(prog_name='clew')"
PYTHON = f"""
import clew
with clew.open("my.clew") as index:
    index.ask({QUESTION!r})
"""
OPEN = f"""
import os, sys, time
sys.path.append({str(Path(__file__).parent)!r})
import clew, run
from clew.base.types import Document
from clew.testing import HashTokenEmbedder, models
began = time.process_time()
index = clew.open("made.clew", models=models(HashTokenEmbedder(384)))
"""
MAKE = OPEN + "index.add(run.made_passages({size}), methods=['walk'])"
ADD = OPEN + "index.add([Document(id='new', title='Hesper', text='The brig sailed from Lund.')])"
SEARCH = OPEN + f"index.search({QUESTION!r}); print(time.process_time() - began)"
STAY = OPEN + (
    f"""
index.search({QUESTION!r})
taken = []
for i in range(6):
    name = f"Hesper {{os.getpid()}} {{i}}"  # another one in each run
    index.add([Document(id=name, title=name, text="She sailed from Lund.")])
    began = time.process_time()
    index.search({QUESTION!r})
    taken.append(time.process_time() - began)
print(sorted(taken)[3])
"""
)


def main() -> None:
    """Print a line for each measure, a column for each version."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--besides", type=Path, metavar="SOURCE", help="the src of another version")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=0)
    options = parser.parse_args()
    sources = [each.resolve() for each in (options.besides, ROOT / "src") if each is not None]
    for source in sources:
        compileall.compile_dir(source, quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copytree(ROOT / "examples", "examples")
        _cpu_s(sources[-1], COMMAND, "index", "examples/polar")
        commands = {"--help": ["--help"], "search": ["search", QUESTION], "ask": ["ask", QUESTION]}
        for name, arguments in commands.items():
            _compare(f"clew {name}", sources, options.runs, COMMAND, *arguments)
        _compare("first question in Python", sources, options.runs, PYTHON)
        if options.documents:
            _measure_writes(sources, options.runs, options.documents)
        if options.files:
            _measure_files(sources, options.runs, options.files)


def _measure_writes(sources: list[Path], runs: int, size: int) -> None:
    _cpu_s(sources[-1], MAKE.format(size=size))
    _compare(f"first question, {size:,} documents", sources, runs, SEARCH, told=True)
    _cpu_s(sources[-1], ADD)
    _compare("after one more, a new process", sources, runs, SEARCH, told=True)
    _compare("after one more, the same process", sources, runs, STAY, told=True)


def _measure_files(sources: list[Path], runs: int, size: int) -> None:
    from run import made

    for i, each in enumerate(made(size, 1)[0]):
        file = Path("files") / f"{i % 50:02}" / f"{i}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {each.title}\n\n{each.text.partition('.')[0]}.\n", encoding="utf-8")
    run = (COMMAND, "index", "files", "--index", "files.clew")
    _cpu_s(sources[-1], *run)
    _compare(f"{size:,} files again", sources, runs, *run)
    taken = []
    for source in sources:
        with file.open("a", encoding="utf-8") as stream:
            stream.write("It was rebuilt.\n")
        taken.append(_cpu_s(source, *run)[0])
    _print(f"one of {size:,} files changed", taken)


def _compare(
    name: str, sources: list[Path], runs: int, program: str, *arguments: str, told: bool = False
) -> None:
    """Print the median of some runs of a program by each version, which take turns.

    A program that has `told` its own CPU seconds is believed; a first run of each does not count.
    """
    taken: dict[Path, list[float]] = {source: [] for source in sources}
    for _ in range(runs + 1):
        for source in sources:
            whole, own = _cpu_s(source, program, *arguments)
            taken[source].append(own if told else whole)
    _print(name, [statistics.median(each[1:]) for each in taken.values()])


def _print(name: str, taken: list[float]) -> None:
    print(f"{name:36}" + " ".join(f"{each:8.3f}" for each in taken), flush=True)


def _cpu_s(source: Path, program: str, *arguments: str) -> tuple[float, float]:
    """Return the CPU seconds of a process, and what it printed last as a number, else 0."""
    hidden = ("CLEW", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    environment |= {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    out, flags = "out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    opened = [(os.POSIX_SPAWN_OPEN, number, out, flags, 0o600) for number in (1, 2)]
    command = [sys.executable, "-c", program, *arguments]
    process = os.posix_spawn(sys.executable, command, environment, file_actions=opened)
    _, status, used = os.wait4(process, 0)
    told = Path(out).read_text(encoding="utf-8")
    if status:
        sys.exit(f"{command[3:]} failed: {told}")
    last = told.split()[-1:]
    own = float(last[0]) if last and last[0].replace(".", "", 1).isdigit() else 0.0
    return used.ru_utime + used.ru_stime, own


if __name__ == "__main__":
    main()
