"""How often counts, lists and amounts over the whole index are right.

    python benchmarks/counts.py [--held]

The documents and questions of `benchmarks/counts` were written for it: 40 questions of tables,
whose answers pandas computed from the files, and 20 of texts. Half of each was not looked at until
all was built: --held. An answer is right if its number is, to two decimals, or its names or groups
are all and only those. Those that are to find nothing have None. It is an error if a total has no
items.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import clew

if TYPE_CHECKING:
    from clew.base.types import CountResult

HERE = Path(__file__).parent / "counts"
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def read_number(text: str) -> float | None:
    """Return the first number of a text."""
    match = _NUMBER.search(text)
    return float(match[0].replace(",", "")) if match else None


def plain(name: str) -> str:
    """Return a name in lower case, without an article."""
    return re.sub(r"^the ", "", name.strip().casefold())


def is_right(
    counted: CountResult | None, expected: float | list[str] | dict[str, float] | None
) -> bool:
    """Say whether what was counted is what a question has for an answer."""
    if counted is None or expected is None:
        return counted is None and expected is None
    parts = counted.text.split("; ")
    if isinstance(expected, dict):
        groups = {name: read_number(n) for name, _, n in (p.rpartition(": ") for p in parts)}
        return groups == expected
    if isinstance(expected, list):
        names = [item.label for item in counted.items] if counted.kind != "amount" else parts
        read = {plain(re.split(r" \(|: ", name)[0]) for name in names}
        return read == set(map(plain, expected))
    number = read_number(counted.text)
    return number is not None and abs(number - expected) < 0.01


def main() -> None:
    """Print each wrong answer, and the shares that are right."""
    held = "--held" in sys.argv
    rows = json.loads((HERE / "questions.json").read_text(encoding="utf-8"))
    rows = [row for row in rows if row["held"] == held]
    right: Counter[str] = Counter()
    given: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, clew.open(Path(folder) / "counts.clew") as index:
        index.add(HERE / "documents")
        index.search("How many ferries are there?")  # loads the models
        begin = time.process_time()
        for row in rows:
            counted = index.ask(row["question"]).evidence.counted
            if counted is not None and not counted.items:
                raise SystemExit(f"a total without items: {row['question']}")
            correct = is_right(counted, row["expected"])
            right[row["source"]] += correct
            given[row["source"]] += counted is not None
            if not correct:
                said = counted and (counted.text, counted.note)
                print(f"{row['question']}\n  has {row['expected']}, was given {said}")
        spent = time.process_time() - begin
    for source, n in Counter(row["source"] for row in rows).items():
        print(f"{source}: {right[source]} of {n} right, {given[source]} counted")
    print(f"{1000 * spent / len(rows):.0f} ms of CPU a question")


if __name__ == "__main__":
    main()
