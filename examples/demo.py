"""Index the articles in `polar/` and ask about them: `make demo`.

It needs no key and no network, and prints by the same functions as the command line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

import clew
from clew.cli import render
from clew.cli.building import added_lines
from clew.cli.plain import aligned, columns, dim, heading, wrapped
from clew.cli.progress import documents_done, questions_asked
from clew.context import build_context
from clew.errors import ClewError
from clew.evaluate.metrics import covered, distinct, ranking

ROOT = Path(__file__).resolve().parents[1]
ARTICLES, QUESTIONS = Path("examples/polar"), Path("examples/questions.jsonl")
INDEX = Path("polar.clew")
FOREIGN = "How do I bake sourdough bread?"
IN_FULL = slice(None, None, 5)  # every fifth question, as they come
METHODS = ("dense", "bm25", "hybrid", "pagerank", "clue", "walk")
K = 5


def main() -> None:
    """Index, ask some questions in full, score all of them, and say how to go on."""
    os.chdir(ROOT)
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    with clew.open(INDEX) as index:
        build(index)
        for question in questions[IN_FULL]:
            show(index, question)
        refused(index)
        score(index, questions)
    print(f"\nWhat an LLM would cost:  .venv-demo/bin/clew plan {ARTICLES} --into {INDEX}")
    asked = "Which airship crossed the North Pole in 1926?"
    print(f"Go on:  .venv-demo/bin/clew ask {json.dumps(asked)} --index {INDEX}")


def build(index: clew.Index) -> None:
    """Bring the index up to date, and say what that took."""
    title(f"Indexing {ARTICLES} into {INDEX}")
    with documents_done() as (on_progress, _):
        added = index.add(ARTICLES, on_progress=on_progress)
    print("\n".join(added_lines(added)))


def show(index: clew.Index, question: dict[str, Any]) -> None:
    """Ask one question, and print the answer beside the expected one."""
    title(wrapped(question["question"]))
    kind = f"{question['type']}, {question['hop_count']} documents needed"
    click.echo(dim(f"expected: {question['answers'][0]} ({kind})") + "\n")
    click.echo(render.answer(index.ask(question["question"])))


def refused(index: clew.Index) -> None:
    """Ask what no article answers."""
    title(FOREIGN)
    click.echo(dim("expected: no answer (no article is about bread)") + "\n")
    click.echo(render.answer(index.ask(FOREIGN)))


def score(index: clew.Index, questions: list[dict[str, Any]]) -> None:
    """Ask all questions of two methods; print what was found, and the means."""
    title(f"All {len(questions)} questions")
    rows = [("", *METHODS, "expected answer")]
    recalls: dict[str, list[float]] = {method: [] for method in METHODS}
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    with questions_asked() as on_progress:
        for done, question in enumerate(questions, 1):
            cells = []
            for method in METHODS:
                evidence = index.search(question["question"], method=method)
                gold = question["supporting_ids"]
                ranked = distinct(hit.document_id for hit in evidence.hits)
                recall = ranking(ranked, gold, (K,))[f"recall@{K}"]
                there = covered(question["answers"], build_context(evidence).text)
                recalls[method].append(recall)
                found[method].append(there)
                n_found = f"{round(recall * len(gold))} of {len(gold)}"
                cells.append(n_found + (" +" if there else "  "))
            rows.append((question["id"], *cells, question["answers"][0]))
            if on_progress is not None:
                on_progress(done, len(questions))
    print(aligned(rows))
    print(f"\n2 of 3: documents needed, found among the first {K}; +: the context has the answer\n")
    for method in METHODS:
        means = [sum(values) / len(values) for values in (recalls[method], found[method])]
        print(
            f"{method:<8} recall@{K} {means[0]:.3f}, answer in the context {means[1]:.0%} "
            "of the questions"
        )


def title(text: str) -> None:
    """Print a headline."""
    click.echo(f"\n{heading(text)}\n{dim('─' * columns())}")


if __name__ == "__main__":
    try:
        main()
    except ClewError as error:
        sys.exit(f"clew: {error}")
