"""Measure the systems that KET-RAG's paper compares as its Table 2 does: coverage by budget.

    python -m benchmarks.ket DATASET [--indexes FOLDER] [--tokens 1500,3000,12000] [--limit N]
                             [--triples cooccurrence] [--degrees FILE]

The passages of DATASET, a folder that `clew eval` takes, are one text that is cut into chunks of
1,200 tokens ("low", without halves and halved three times) and of 150 ("high"), without overlap. A
question is covered where a right answer stands in the context. No LLM takes part, so the triples
are those of rules, and nothing is paid. Scores repeat to the digit. With `--degrees` no question is
asked, and FILE, .svg or .png, shows how skewed the graph of the chunks is, as the paper's Figure 2:
that of the passages as they are, in the index DATASET of FOLDER.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import clew
from benchmarks.figures import draw_degrees
from clew import readers, steps
from clew.base.types import Document
from clew.evaluate import Dataset, Scoring, Setting, load
from clew.extras.evaluate.measure import Protocol, measure
from clew.index.recipe import Settings
from clew.text.chunking import Chunking

SYSTEMS = ("text_rag", "knng_rag", "keyword_rag", "skeleton_rag", "ket_rag_u", "ket_rag_p", "ket")
CUTS = {
    "low": Chunking(size=1200, overlap=0),
    "low, halved": Chunking(size=1200, overlap=0, subchunk_depth=3),
    "high": Chunking(size=150, overlap=0),
}


def main() -> None:
    """Print a row for each system and cut, a column for each budget."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--indexes", type=Path, default=Path("ket.clew"))
    parser.add_argument("--tokens", default="1500,3000,12000")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--triples", default="cooccurrence")
    parser.add_argument("--degrees", type=Path, help="draw the graph of chunks alone")
    options = parser.parse_args()
    budgets = [int(each) for each in options.tokens.split(",")]
    dataset = load(options.dataset, limit=options.limit)
    if options.degrees:
        with clew.open(options.indexes / dataset.name) as index:
            index.add(dataset.corpus)
            graph = steps.chunk_graph(index.snapshot())
        draw_degrees({f"{dataset.name}, {graph.shape[0]:,} chunks": graph}, options.degrees)
        return
    text = as_one_text(dataset)
    print(f"{'coverage':<28}" + "".join(f"{budget:>10}" for budget in budgets))
    for name, chunking in CUTS.items():
        folder = options.indexes / f"{dataset.name}-{name.replace(', ', '-')}"
        with clew.open(folder, settings=Settings(chunking=chunking)) as index:
            index.add([text], triples=options.triples)
            coverages = [coverage(index, dataset, budget) for budget in budgets]
        for system in SYSTEMS:
            cells = "".join(f"{100 * each[system]:>10.1f}" for each in coverages)
            print(f"{f'{system}, {name}':<28}{cells}", flush=True)


def as_one_text(dataset: Dataset) -> Document:
    """Return the passages of a corpus behind each other, each below its title."""
    given = dataset.corpus
    passages = readers.read([given]) if isinstance(given, Path) else given
    texts = (f"{p.title}\n{p.text}" for p in passages if isinstance(p, Document))
    return Document(id="corpus", text="\n\n".join(texts))


def coverage(index: clew.Index, dataset: Dataset, tokens: int) -> dict[str, float]:
    """Return each system's share of questions whose answer stands in a context of `tokens`."""
    protocol = Protocol(
        settings=tuple(Setting(system, {"tokens": tokens}) for system in SYSTEMS),
        scoring=replace(Scoring(), context_tokens=tokens),
    )
    report = measure(index, dataset, protocol)
    labels = zip(SYSTEMS, report.summaries, strict=True)
    return {system: summary.estimates["coverage"].mean for system, summary in labels}


if __name__ == "__main__":
    main()
