"""Measure rules that give a text a label, without an LLM.

    python benchmarks/classification.py FOLDER [--development 300] [--limit N] [--opaque]

FOLDER has train.jsonl, the labelled texts to index, and test.jsonl ({"id", "label", "text"} a
line). The first texts by id are for development, the others for the report; a rule is chosen by the
former. --opaque replaces the labels by numbers, which say nothing: what a rule does then shows how
far it leans on names. Times are wall seconds on whatever else the machine is doing.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clew
from clew import methods, steps
from clew.algo.fusion import mean_of_min_max
from clew.algo.topk import top_k
from clew.asking import classify
from clew.evaluate.metrics import accuracy, macro_recall
from clew.models.around import add_memory
from clew.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray


CUT = 5


def main() -> None:
    """Index the labelled texts, classify the others by each rule, and print the table."""
    options = _options()
    train, test = (_records(options.folder / f"{name}.jsonl") for name in ("train", "test"))
    labels = list(dict.fromkeys(row["label"] for row in train))
    shown = {label: f"class {i:03d}" if options.opaque else label for i, label in enumerate(labels)}
    documents = [
        Document(id=row["id"], text=row["text"], metadata={"label": shown[row["label"]]})
        for row in train
    ]
    test = sorted(test, key=lambda row: row["id"])[: options.limit]
    right = [shown[row["label"]] for row in test]
    with tempfile.TemporaryDirectory() as folder, clew.open(folder) as index:
        index.add(documents)
        ranked, weight, seconds = _ranked(index, [row["text"] for row in test])
    print(f"{len(labels)} labels, {len(train)} labelled texts, {len(test)} to classify")
    print(f"weight of names {weight:.3f}; {seconds:.3f} s for a text by the last rule")
    parts = {"development": slice(options.development), "report": slice(options.development, None)}
    print(f"{'':<42}" + "".join(f"{name:>30}" for name in parts))
    print(f"{'rule':<42}" + f"{'accuracy':>10}{'macro':>10}{f'first {CUT}':>10}" * len(parts))
    for rule, lists in ranked.items():
        cells = [cell for part in parts.values() for cell in _scores(right[part], lists[part])]
        print(f"{rule:<42}" + "".join(f"{cell:>10.3f}" for cell in cells))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure rules that give a text a label.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--development", type=int, default=300)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--opaque", action="store_true")
    return parser.parse_args()


def _records(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _scores(right: Sequence[str], ranked: Sequence[Sequence[str]]) -> Iterator[float]:
    if not right:
        yield from [float("nan")] * 3
        return
    first = [labels[0] for labels in ranked]
    yield accuracy(right, first)
    yield macro_recall(right, first)
    pairs = zip(right, ranked, strict=True)
    yield float(np.mean([label in labels[:CUT] for label, labels in pairs]))


def _ranked(
    index: clew.Index, texts: Sequence[str]
) -> tuple[Mapping[str, list[list[str]]], float, float]:
    """Return the labels that each rule puts first, best first, for each text.

    Also the weight that the index gives to names, and the seconds for a text by the last rule.
    """
    snapshot = index.snapshot()
    given = index.models
    known = classify.read_labels(snapshot, "label")
    of_chunk = known.of_document[snapshot.layer("chunk").columns["document"]]
    names = given.embedder.embed(known.names, kind="document")
    hybrid = methods.load("hybrid")()
    ranked: dict[str, list[list[str]]] = {}
    seconds, weight = 0.0, 0.0

    def best(chunk_scores: NDArray[np.floating]) -> NDArray[np.float64]:
        scores = np.full(len(known.names), -np.inf)
        np.maximum.at(scores, of_chunk, chunk_scores)
        return scores

    for text in texts:
        models = add_memory(given)  # a text is read once for all rules
        query = steps.read_query(models, text)
        chunks = np.arange(len(of_chunk))
        relevance = steps.Relevance(snapshot, models, query).of_chunks(chunks.tolist())
        dense = best(steps.dense_scores(snapshot, "chunk", query))
        lexical = best(steps.lexical_scores(snapshot, text))
        named = np.asarray(names @ query.vector, dtype=np.float64)
        scores = {
            "nearest text, BM25": lexical,
            "nearest text, cosine": dense,
            "nearest text, hybrid": best(steps.hybrid_scores(snapshot, query)),
            "nearest text, reranker": best(relevance),
            "nearest name, cosine": named,
            "text and name, sum of cosines": dense + named,
            "text, name and BM25, sum of min-max": mean_of_min_max(
                mean_of_min_max(dense, lexical), named
            ),
        }
        for rule, values in scores.items():
            rows = top_k(values, CUT).tolist()
            ranked.setdefault(rule, []).append([known.names[row] for row in rows])
        started = time.perf_counter()
        evidence = hybrid.retrieve(text, snapshot, index.models)
        found = classify.classify_text(text, evidence, snapshot, index.models)
        seconds, weight = seconds + time.perf_counter() - started, found.name_weight
        rules = {
            "first label of the hits (--name-weight 0)": 0.0,
            "nearest name, tokens (--name-weight 1)": 1.0,
        }
        for rule, fixed in rules.items():
            fixed_found = classify.classify_text(
                text, evidence, snapshot, models, name_weight=fixed
            )
            ranked.setdefault(rule, []).append([label for label, _ in fixed_found.candidates])
        last = [label for label, _ in found.candidates]
        ranked.setdefault("hits and names, reciprocal ranks (default)", []).append(last)
    return ranked, weight, seconds / len(texts)


if __name__ == "__main__":
    main()
