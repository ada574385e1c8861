"""How often the answer is in an LLM's context: ten chunks, a filled budget, and the chain first.

    python -m benchmarks.contexts DATASET=INDEX... [--split dev]

DATASET has `questions.jsonl` with `answers`; questions of yes or no are left out. What is printed
for each budget are shares of the questions, and the mean tokens of a context.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import mean

import clew
from clew.answers.context import build_context
from clew.answers.method import widen
from clew.answers.quotes import put_quotable_first
from clew.base.types import Evidence
from clew.evaluate import load
from clew.methods.walk import Walk
from clew.text.normalize import fold

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
_NOT_LOOKED_FOR = {"yes", "no"}


def find_orders(index: clew.Index, question: str) -> dict[str, Evidence]:
    """Return the evidence of ten chunks, of as many as fill the largest budget, and chain first."""
    snapshot = index.snapshot()
    method, usual = widen("walk", {}, Walk(), snapshot, max(BUDGETS))
    filled = index.search(question, method=method)
    ten = replace(filled, hits=filled.hits[:usual])
    passages = build_context(ten, budget_tokens=max(BUDGETS)).passages
    chain = put_quotable_first(filled, passages, index.models, snapshot)
    return {"ten": ten, "filled": filled, "chain": chain}


def main() -> None:
    """Print a line for each data set and budget."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", nargs="+", metavar="DATASET=INDEX")
    parser.add_argument("--split")
    given = parser.parse_args()
    for pair in given.pairs:
        folder, _, place = pair.partition("=")
        measure(Path(folder), Path(place), given.split)


def measure(folder: Path, place: Path, split: str | None) -> None:
    """Print what share of a data set's answers the contexts have, by budget and order."""
    found: dict[tuple[int, str], list[tuple[bool, int]]] = defaultdict(list)
    with clew.open(place) as index:
        for each in load(folder).questions:
            answers = [" ".join(fold(answer).split()) for answer in each.answers]
            if not _NOT_LOOKED_FOR.isdisjoint(answers) or split not in {None, each.split}:
                continue
            for order, evidence in find_orders(index, each.text).items():
                for budget in BUDGETS:
                    context = build_context(evidence, budget_tokens=budget)
                    text = " ".join(fold(context.text).split())
                    held = any(answer in text for answer in answers)
                    found[budget, order].append((held, context.n_tokens))
    for budget in BUDGETS:
        cells = [
            f"{order} {mean(held for held, _ in rows):.3f} ({mean(n for _, n in rows):.0f} tokens)"
            for (size, order), rows in found.items()
            if size == budget
        ]
        print(folder.name, budget, *cells, sep="  ")


if __name__ == "__main__":
    main()
