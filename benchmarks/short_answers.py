"""Count how often a short answer of each kind is given, and how often it is right.

    python -m benchmarks.short_answers [--held] [--show] [--method paths] [DATASET=INDEX...]

The questions are those of `short_answers.json`: what was developed on, or with --held what was not.
A DATASET is a folder that `clew eval` takes, INDEX an index of it, which has to have triples for
the answers of a graph. A line is for those whose first quote has at least a probability; of these
`clew.answers.short_answer` has the lowest for which .85 are right, and .80 at the lower end of
Wilson's interval of 80 %. A short answer is right where it is one of the answers by SQuAD's
normalisation, has one beside at most three words (a unit, a month), or has the same numbers.
"""

from __future__ import annotations

import json
import re
import tempfile
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import clew
from benchmarks.quotes import find_parts
from clew.answers import short_answer
from clew.answers.quotes import choose_quotes
from clew.answers.sentences import find_sentences
from clew.base.types import Document
from clew.extras.evaluate.metrics import normalize_answer
from clew.text.questions import question_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUESTIONS = Path(__file__).with_suffix(".json")
Z = 1.2816  # of an interval of 80 %
LEVELS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
NUMBER = re.compile(r"\d|^(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)$")
MORE = 3  # words of a short answer beside those of the answer
Row = tuple[str, "Sequence[str]"]  # question, right answers


def read_own(*, held: bool) -> tuple[list[Document], list[Row]]:
    """Return the documents and questions of one half of our own."""
    half = json.loads(QUESTIONS.read_text(encoding="utf-8"))["held" if held else "developed"]
    documents = [
        Document(id=title, title=title, text=text, metadata={})
        for title, text in half["documents"].items()
    ]
    return documents, [(question, answers) for _, question, answers in half["questions"]]


def read_dataset(folder: Path) -> Iterator[Row]:
    """Yield the answered questions of a data set, and the steps of which it says what they are."""
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for each in (row, *find_parts(row.get("decomposition", ()))):
            if each["answers"]:
                yield each["question"], each["answers"]


def interval(right: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, square = right / n, Z * Z / n
    half = Z * (share * (1 - share) / n + square / n / 4) ** 0.5
    return (share + square / 2 - half) / (1 + square), (share + square / 2 + half) / (1 + square)


def find_short(
    index: clew.Index, question: str, method: str | None
) -> tuple[str, float, clew.ShortAnswer | None]:
    """Return the kind of a question, what its threshold is compared with, and the short answer."""
    evidence = index.search(question, method=method)
    snapshot, passages = index.snapshot(), clew.build_context(evidence).passages
    sentences = find_sentences(passages, snapshot)
    quotes, _ = choose_quotes(question, sentences, passages, index.models, snapshot)
    if method is not None:
        _, short = short_answer.add_graph_answer(
            question, quotes, sentences, passages, evidence, snapshot
        )
        return "graph", 1.0, short
    if short := short_answer.name_first(question, quotes, passages):
        return "which of two", 1.0, short
    kind = short_answer.find_kind(question, quotes) or question_kind(question)
    likely = quotes[0].probability if quotes else 0.0
    return kind, likely, short_answer.find_value(question, quotes, least=0.0)


def is_right(text: str, answers: Sequence[str]) -> bool:
    """Check whether a short answer is one of the answers, with a unit or a month beside it."""
    words = normalize_answer(text).split()
    for answer in answers:
        wanted = normalize_answer(answer).split()
        numbers = [[w for w in each if NUMBER.search(w)] for each in (words, wanted)]
        is_close = abs(len(words) - len(wanted)) <= MORE
        is_in = wanted and f" {' '.join(wanted)} " in f" {' '.join(words)} "
        if words == wanted or (is_close and (is_in or numbers[0] == numbers[1] != [])):
            return True
    return False


def measure(name: str, index: clew.Index, rows: Sequence[Row], options: Namespace) -> None:
    """Print a line for each kind of question and level."""
    asked: dict[str, int] = defaultdict(int)
    given: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for question, answers in rows:
        kind, likely, short = find_short(index, question, options.method)
        asked[kind] += 1
        if short is None:
            continue
        right = is_right(short.text, answers)
        given[kind].append((likely, right))
        if options.show and not right:
            print(f"{question} -> {short.text} ({likely:.2f}), not {list(answers)}")
    for kind in sorted(given):
        for level in LEVELS:
            found = [right for likely, right in given[kind] if likely >= level]
            cells = [name, kind, f"{level}", str(asked[kind]), str(len(found)), str(sum(found))]
            low, high = interval(sum(found), max(len(found), 1))
            cells.append(f"{sum(found) / max(len(found), 1):.2f} ({low:.2f} to {high:.2f})")
            print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    """Measure, and print."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", metavar="DATASET=INDEX")
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--method", choices=["paths"], help="measure the answers of a graph")
    options = parser.parse_args()
    print("| questions | kind | from | asked | given | right | precision |")
    print("|---|---|---:|---:|---:|---:|---:|")
    if not options.method:
        with tempfile.TemporaryDirectory() as folder, clew.open(Path(folder) / "own.clew") as index:
            documents, rows = read_own(held=options.held)
            index.add(documents)
            measure("held" if options.held else "developed", index, rows, options)
    for each in options.datasets:
        path, _, place = each.partition("=")
        with clew.open(place) as index:
            measure(Path(path).name, index, list(read_dataset(Path(path))), options)


if __name__ == "__main__":
    main()
