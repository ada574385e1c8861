"""Count how often a short answer is given, how often it is right, and how likely it is said to be.

    python benchmarks/short_answers.py [--held] [--show] [DATASET=INDEX...]

The questions are those of `short_answers.json`: what was developed on, or with --held what was not.
A DATASET is a folder that `clew eval` takes, INDEX an index of it. A short answer is right where it
is one of the answers by SQuAD's normalisation; one where there is none to give is wrong.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import clew
from clew.base.types import Document
from clew.extras.evaluate.metrics import exact_match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUESTIONS = Path(__file__).with_suffix(".json")
Z = 1.96  # of an interval of 95 %
Row = tuple[str, str, "Sequence[str]"]  # kind, question, right answers


def read_own(*, held: bool) -> tuple[list[Document], list[Row]]:
    """Return the documents and questions of one half of our own."""
    half = json.loads(QUESTIONS.read_text(encoding="utf-8"))["held" if held else "developed"]
    documents = [
        Document(id=title, title=title, text=text, metadata={})
        for title, text in half["documents"].items()
    ]
    return documents, [tuple(row) for row in half["questions"]]


def read_dataset(folder: Path) -> Iterator[Row]:
    """Yield the questions of a data set; their kinds are its types, if any."""
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        is_yes_no = {"yes", "no"}.intersection(row["answers"])
        yield "yes or no" if is_yes_no else row.get("type", "all"), row["question"], row["answers"]


def interval(right: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, square = right / n, Z * Z / n
    half = Z * (share * (1 - share) / n + square / n / 4) ** 0.5
    return (share + square / 2 - half) / (1 + square), (share + square / 2 + half) / (1 + square)


def measure(name: str, index: clew.Index, rows: Sequence[Row], *, show: bool) -> None:
    """Print a line for each kind of question."""
    kinds: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    asked: dict[str, int] = defaultdict(int)
    for kind, question, answers in rows:
        asked[kind] += 1
        short = index.ask(question).short
        if short is None:
            continue
        is_right = bool(answers) and exact_match(short.text, answers) == 1
        kinds[kind].append((is_right, short.probability))
        if show and not is_right:
            print(f"{question} -> {short.text} ({short.probability:.2f}), not {list(answers)}")
    for kind, n in asked.items():
        given = kinds[kind]
        right, claimed = sum(r for r, _ in given), sum(p for _, p in given)
        cells = [name, kind, str(n), str(len(given)), str(right)]
        if given:
            low, high = interval(right, len(given))
            cells.append(f"{right / len(given):.2f} ({low:.2f} to {high:.2f})")
            cells.append(f"{claimed / len(given):.2f}")
        print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", metavar="DATASET=INDEX")
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print("| questions | kind | asked | given | right | precision | claimed |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder, clew.open(Path(folder) / "own.clew") as index:
        documents, rows = read_own(held=options.held)
        index.add(documents)
        measure("held" if options.held else "developed", index, rows, show=options.show)
    for each in options.datasets:
        path, _, place = each.partition("=")
        with clew.open(place) as index:
            rows = list(read_dataset(Path(path)))
            measure(Path(path).name, index, rows, show=options.show)


if __name__ == "__main__":
    main()
