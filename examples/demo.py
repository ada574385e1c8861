"""Index the articles in `polar/` and ask about them: `make demo`. It needs no key and no network.

All that it calls is public (docs/public.md), so it may serve as a beginning of one's own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

import clew
from clew.errors import RecipeMismatch
from clew.evaluate import Dataset, Report, Scoring, Setting, evaluate, load

ROOT = Path(__file__).resolve().parents[1]
ARTICLES, QUESTIONS = Path("examples/polar"), Path("examples/questions.jsonl")
INDEX = Path("polar.clew")
FOREIGN = "How do I bake sourdough bread?"
IN_FULL = slice(None, None, 5)  # every fifth question, as they come
METHODS = ("dense", "bm25", "hybrid", "pagerank", "clue", "walk")
K = 5
WIDTH = 100


def main() -> None:
    """Show it all on an index of this version, and say how to go on."""
    os.chdir(ROOT)
    dataset = load(QUESTIONS, corpus=ARTICLES)
    title(f"Indexing {ARTICLES} into {INDEX}")
    try:
        show(dataset)
    except RecipeMismatch:  # an earlier version of Clew made the index
        shutil.rmtree(INDEX)
        show(dataset)
    print(f"\nWhat an LLM would cost:  .venv-demo/bin/clew plan {ARTICLES} --into {INDEX}")
    asked = "Which airship crossed the North Pole in 1926?"
    print(f"Go on:  .venv-demo/bin/clew ask {json.dumps(asked)} --index {INDEX}")


def show(dataset: Dataset) -> None:
    """Index the articles, ask some questions in full, and score all of them."""
    with clew.open(INDEX) as index:
        build(index)
        for question in dataset.questions[IN_FULL]:
            needed = f"{question.type}, {len(question.supporting_ids)} documents needed"
            ask(index, question.text, f"{question.answers[0]} ({needed})")
        ask(index, FOREIGN, "no answer (no article is about bread)")
        title(f"All {len(dataset.questions)} questions")
        show_scores(dataset, scored(index, dataset))


def build(index: clew.Index) -> None:
    """Bring the index up to date, and say what that took."""
    added = index.add(ARTICLES)
    print(
        f"{added.n_documents} documents, {added.n_chunks} chunks, of which "
        f"{len(added.report.added)} documents are new, in {added.usage.total_seconds:.1f} s"
    )
    damages = index.check()
    print(*damages or ["The index passed its integrity check (clew check)."], sep="\n")


def ask(index: clew.Index, question: str, expected: str) -> None:
    """Ask one question, and print the answer below the expected one."""
    title(question)
    print(f"expected: {expected}\n")
    answer = index.ask(question)
    if answer.kind == "refused":
        print("Nothing in this index answers this.")
        print(f"What is nearest:  {', '.join(hit.document_id for hit in answer.evidence.hits[:3])}")
    if answer.is_unsure:
        print("Not sure: this may not answer the question.\n")
    for citation in answer.citations:
        name = f"{citation.link}:  " if citation.link else ""
        print(f"  [{citation.number}] {name}{citation.place}")
        print(indented(f'"{citation.quote}"', " " * 6))
    print(f"\n{answer.usage.total_tokens} tokens, {answer.usage.total_seconds:.2f} s")


def scored(index: clew.Index, dataset: Dataset) -> Report:
    """Return what each method finds for each question."""
    return evaluate(
        dataset,
        lambda question, setting: index.search(question, method=setting.method),
        [Setting(method) for method in METHODS],
        Scoring(ks=(K,)),
        on_progress=say_progress if sys.stderr.isatty() else None,
    )


def say_progress(done: int, total: int) -> None:
    """Say how many searches are done, on a line that goes when all are."""
    print(f"\r{done} of {total}" if done < total else "\r\x1b[K", end="", file=sys.stderr)


def show_scores(dataset: Dataset, report: Report) -> None:
    """Print a line for each question, and the means of each method."""
    print("       " + "".join(f"{method:<10}" for method in METHODS) + "expected answer")
    scores = {(row.question_id, row.label): row.scores for row in report.rows}
    for question in dataset.questions:
        n_needed, line = len(question.supporting_ids), f"  {question.id}  "
        for method in METHODS:
            found = scores[question.id, method]
            n_found, mark = round(found[f"recall@{K}"] * n_needed), "+" * bool(found["coverage"])
            line += f"{n_found} of {n_needed} {mark:<3}"
        print(line + question.answers[0])
    print(f"\n2 of 3: documents needed, found among the first {K}; +: the context has the answer\n")
    for summary in report.summaries:
        recall, there = (summary.estimates[m].mean for m in (f"recall@{K}", "coverage"))
        print(
            f"{summary.label:<8} recall@{K} {recall:.3f}, answer in the context {there:.0%} "
            "of the questions"
        )


def title(text: str) -> None:
    """Print a headline."""
    print(f"\n{textwrap.fill(text, WIDTH)}\n{'─' * WIDTH}")


def indented(text: str, rest: str, first: str = "") -> str:
    """Return text in lines that begin with `rest`, the first one with `first` if that is given."""
    return textwrap.fill(text, WIDTH, initial_indent=first or rest, subsequent_indent=rest)


if __name__ == "__main__":
    try:
        main()
    except clew.ClewError as error:
        sys.exit(f"clew: {error}")
