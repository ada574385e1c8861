"""Run the four papers' methods with an LLM at every step: indexing, searching, answering.

    python -m benchmarks.papers DATASET... --llm SPEC [--price MODEL=IN,OUT] [--into FOLDER]
                                [--limit N] [--near K] [--only PART,...] [--budget-tokens N]

A DATASET is a folder that `clew eval` takes. One index of each grows: sentences only, then the
LLM's units for half of the tokens and for all of them (Clue-RAG at α of 0, 0.5 and 1), then its
triples of a core and of all chunks (KET-RAG; BubbleRAG, and AGRAG "w. LLM ER"). AGRAG itself has an
index of its own, whose triples join statistical entities (its Eq. 4). Each text is embedded by
itself, and vectors are kept as they come. With --near K only the first N questions' supporting
passages are indexed, and the K nearest to each, so that a small LLM comes to an end. Every reply is
kept in FOLDER: a second run goes on where the first one ended, and pays for nothing twice. `clew
plan` says before what a corpus would cost.

It prints a row for each method, and for each prompt how many replies were of no use.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

import clew
from clew import readers
from clew.evaluate import Dataset, Report, Scoring, Setting, load
from clew.evaluate.measure import Protocol, measure
from clew.index import PAPERS
from clew.loading import Specs
from clew.models.budget import Budget
from clew.models.ledger import Ledger
from clew.models.prices import parse_prices
from clew.store.paid import CALLS
from clew.types import Document

METRICS = ("recall@5", "coverage", "EM", "F1 plain", "Acc")


@dataclass(frozen=True, slots=True)
class Part:
    """What is extracted before, and who is asked then."""

    extracted: dict[str, object]  # arguments of `Index.add`
    settings: Sequence[Setting]
    index: str = ""  # behind the name of the index that has it


PARTS = {
    "α=0": Part({}, (Setting("dense"), Setting("clue_paper", name="Clue-RAG, α=0"))),
    "α=0.5": Part({"units": 0.5}, (Setting("clue_paper", name="Clue-RAG, α=0.5"),)),
    "α=1": Part({"units": 1.0}, (Setting("clue_paper", name="Clue-RAG, α=1"),)),
    "core": Part({"triples": "llm", "core": 0.8}, (Setting("ket_rag_p", name="KET-RAG"),)),
    "triples": Part(
        {"triples": "llm", "core": 1.0},
        (
            Setting("bubble_paper", name="BubbleRAG"),
            Setting("agrag_paper", {"entities": "extracted"}, name="AGRAG w. LLM ER"),
        ),
    ),
    "statistical": Part(
        {"triples": "llm", "entities": "statistical"},
        (Setting("agrag_paper", name="AGRAG"),),
        index="-statistical",
    ),
}


def main() -> None:
    """Grow each index by the parts, and ask after each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", type=Path, nargs="+")
    parser.add_argument("--llm", required=True)
    parser.add_argument("--price", action="append", default=[])
    parser.add_argument("--into", type=Path, default=Path("papers.clew"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--near", type=int)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--budget-tokens", type=int)
    parser.add_argument("--context-tokens", type=int, default=4_000)
    parser.add_argument("--answer-tokens", type=int, default=64)
    given = parser.parse_args()
    scoring = Scoring(context_tokens=given.context_tokens, answer_tokens=given.answer_tokens)
    budget = Budget(tokens=given.budget_tokens) if given.budget_tokens else None
    names = given.only.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}: take of {', '.join(PARTS)}")
    for folder in given.datasets:
        dataset = load(folder, limit=given.limit)
        if given.near is not None:
            dataset = narrowed(dataset, given.near, given.into / f"{dataset.name}-all")
        into = given.into / dataset.name
        specs = Specs(llm=given.llm)
        prices = {m: p for text in given.price for m, p in parse_prices(text).items()}
        for name in names:
            place = into.with_name(f"{into.name}{PARTS[name].index}")
            with clew.open(place, specs=specs, prices=prices, settings=PAPERS) as index:
                grown(index, dataset, PARTS[name], budget)
                report = asked(index, dataset, PARTS[name], scoring, budget)
            for line in rows(report):
                click.echo(line)
        for place in sorted(into.parent.glob(f"{into.name}*/{CALLS}")):
            for line in faults(place.parent):
                click.echo(line)


def narrowed(dataset: Dataset, near: int, folder: Path) -> Dataset:
    """Return a dataset with the supporting passages and the `near` next to each question only."""
    given = dataset.corpus
    found = readers.read([given]) if isinstance(given, Path) else given
    documents = [each for each in found if isinstance(each, Document)]
    kept = {name for question in dataset.questions for name in question.supporting_ids}
    with clew.open(folder) as index:
        index.add(documents)
        for question in dataset.questions:
            hits = index.search(question.text, method="dense", chunks=near).hits
            kept |= {hit.document_id for hit in hits}
    corpus = tuple(each for each in documents if each.id in kept)
    return replace(dataset, corpus=corpus, document_ids=frozenset(d.id for d in corpus))


def grown(index: clew.Index, dataset: Dataset, part: Part, budget: Budget | None) -> None:
    """Extract what a part wants, and say what came of it."""
    added = index.add(dataset.corpus, budget=budget, **part.extracted)  # type: ignore[arg-type]
    done, spent = added.extracted, added.usage
    tokens = spent.prompt_tokens + spent.completion_tokens
    said = f"{part.extracted or 'sentences'}: {added.n_chunks:,} chunks, {tokens:,} tokens"
    said += f", by the LLM {done.llm}, by rules instead {done.fallback}"
    click.echo(f"{said}{', ' + done.stopped if done.stopped else ''}")


def asked(
    index: clew.Index, dataset: Dataset, part: Part, scoring: Scoring, budget: Budget | None
) -> Report:
    """Return what the methods of a part find and answer."""
    tokens = {"tokens": scoring.context_tokens}
    protocol = Protocol(
        settings=tuple(part.settings), scoring=scoring, common={"ket_rag_p": tokens}, answers=True
    )
    return measure(index, dataset, protocol, budget=budget)


def rows(report: Report) -> Iterator[str]:
    """Yield a line for each setting."""
    for each in report.summaries:
        means = (
            f"{name} {each.estimates[name].mean:.3f}" for name in METRICS if name in each.estimates
        )
        spent = [s.tokens for s in (each.search, each.answer) if s is not None]
        failed = each.n_failed + each.n_failed_answers
        yield f"  {each.label:<18}{'  '.join(means)}  {sum(spent):,.0f} tokens, {failed} failed"
        for note, n in each.notes.items():
            yield f"    {n} x {note}"


def faults(folder: Path) -> Iterator[str]:
    """Yield a line for each prompt: how often it was sent, and how many replies were of no use."""
    ledger = Ledger(folder / CALLS)
    for (model, version), total in ledger.totals().items():
        yield f"  {model} {version}: {total.calls} calls, {total.faults} replies of no use"


if __name__ == "__main__":
    main()
