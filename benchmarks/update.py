"""What one more document costs an index, in CPU seconds and in megabytes written.

    python -m benchmarks.update [--sizes 1000,10000,20000] [--triples] [--for NAMES] [--ask NAME]

Documents of invented words and names have one chunk each, with vectors by hashing, so that the
index itself is measured and no model. `--triples` are those of names in one sentence; `--for`
names methods that the index is made for. Three documents are added, a session each, and the
median is printed. With `--ask` a method is asked a question after each, in a session of its own,
and the median of these sessions is printed, too.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import clew
from clew import Document, testing

N_ADDED = 3
_SYLLABLES = "ba ce di ko gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()


def documents(n: int) -> Iterator[Document]:
    """Yield n documents of about 100 words, with names that several have in common."""
    draw = random.Random(7)  # noqa: S311 -- no secret
    words = ["".join(draw.choices(_SYLLABLES, k=draw.randint(2, 4))) for _ in range(20_000)]
    names = [f"{draw.choice(words)} {draw.choice(words)}".title() for _ in range(max(n // 2, 10))]
    for i in range(n):
        said = []
        for _ in range(8):
            ends = draw.choices(names, k=2)
            middle = (words[int(len(words) * draw.random() ** 3)] for _ in range(9))
            said.append(f"{ends[0]} {' '.join(middle)} {ends[1]}.")
        yield Document(id=f"d{i:06d}", title=draw.choice(names), text=" ".join(said))


def measured(n: int, *, triples: bool, made_for: list[str], ask: str) -> list[float]:
    """Return the median CPU seconds and megabytes of one more document at n, and of a question."""
    more = {"methods": made_for} if made_for else {}
    wanted = {"triples": "cooccurrence"} if triples else {}
    *given, a, b, c = documents(n + N_ADDED)
    models = testing.models(testing.HashEmbedder())
    with tempfile.TemporaryDirectory() as folder:
        with clew.open(Path(folder) / "index", models=models) as index:
            index.add(given, **wanted, **more)
        costs = [_added(Path(folder) / "index", models, each, ask) for each in (a, b, c)]
    return [statistics.median(each) for each in zip(*costs, strict=True)]


def _added(
    folder: Path, models: clew.Models, document: Document, ask: str
) -> tuple[float, float, float]:
    before, wrote = time.process_time(), _written()
    with clew.open(folder, models=models) as index:
        index.add([document])
    costs = time.process_time() - before, (_written() - wrote) / 1e6
    before = time.process_time()
    if ask:
        with clew.open(folder, models=models) as index:
            index.search(document.text[:60], method=ask)
    return *costs, time.process_time() - before


def _written() -> int:
    """Return how many bytes this process has written; 0 where the system does not say."""
    counters = Path("/proc/self/io")
    if not counters.exists():
        return 0
    return int(counters.read_text().partition("wchar: ")[2].split()[0])


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,20000")
    parser.add_argument("--triples", action="store_true")
    parser.add_argument("--for", dest="made_for", default="")
    parser.add_argument("--ask", default="")
    given = parser.parse_args()
    made_for = [name for name in given.made_for.split(",") if name]
    for size in map(int, given.sizes.split(",")):
        asked = {"made_for": made_for, "ask": given.ask}
        seconds, megabytes, answered = measured(size, triples=given.triples, **asked)
        line = f"{size:>9,} chunks: {seconds:.2f} CPU s, {megabytes:.1f} MB written"
        print(line + (f", {given.ask} asked in {answered:.2f} s" if given.ask else ""), flush=True)


if __name__ == "__main__":
    main()
