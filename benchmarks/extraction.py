"""Compare triples with reference triples: how many pairs of entities are found.

    python benchmarks/extraction.py CORPUS.jsonl GOLD_TRIPLES.jsonl [--extractor NAME] [--limit N]

CORPUS has lines {"id", "title", "text"}, GOLD_TRIPLES lines {"passage_id", "triples": [[s, p, o],
...]}. The extractor is `dependency` (or `dependency:PIPELINE`), `cooccurrence`, or `recorded:FILE`
with lines like the gold ones. Only passages that the gold file names are read, and of a recording
those that it covers. Relations are worded freely, so pairs of entities are compared: in order, in
any order, or in any order where one name's words may contain the other's. A triple is matched at
most once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from clew.models import Extractor
from clew.text.normalize import entity_key, title_head

Pair = tuple[str, str]  # the keys of subject and object
Triples = dict[str, list[Pair]]  # by passage id


def main() -> None:
    """Extract, compare, print."""
    options = _options()
    gold = _pairs_of(_lines(options.gold))
    gold = dict(list(gold.items())[: options.limit or None])
    started = time.perf_counter()
    predicted = _predicted(options.extractor, options.corpus, gold)
    seconds = time.perf_counter() - started
    gold = {passage: gold[passage] for passage in gold if passage in predicted}
    if not gold:
        raise SystemExit(f"{options.extractor} covers no passage that {options.gold} names")
    n_gold, n_predicted = _count(gold), _count(predicted)
    print(
        f"{options.extractor}: {len(gold)} passages, {n_gold} gold triples, {n_predicted}"
        f" extracted ({n_predicted / max(len(gold), 1):.1f} a passage), {seconds:.1f} s"
    )
    print(f"{'pairs':<12}{'precision':>10}{'recall':>10}{'F1':>10}")
    for name, same in STRICTNESS.items():
        found = sum(matched(gold[passage], predicted[passage], same) for passage in gold)
        print(f"{name:<12}" + "".join(f"{x:>10.3f}" for x in scores(found, n_predicted, n_gold)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare triples with reference triples.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--extractor", default="dependency")
    parser.add_argument("--limit", type=int, default=0, help="passages, from the first; 0: all")
    return parser.parse_args()


def _predicted(extractor: str, corpus: Path, gold: Triples) -> Triples:
    kind, _, name = extractor.partition(":")
    if kind == "recorded":
        recorded = _pairs_of(_lines(Path(name)))
        return {passage: recorded[passage] for passage in gold if passage in recorded}
    passages = {line["id"]: line for line in _lines(corpus) if line["id"] in gold}
    texts = [title_head(p["title"], p["text"]) + p["text"] for p in passages.values()]
    extracted = _extractor(kind, name).extract(texts)
    return {
        passage: _keys((t.subject, t.object) for t in extraction.triples)
        for passage, extraction in zip(passages, extracted, strict=True)
    }


def _extractor(kind: str, name: str) -> Extractor:
    if kind == "cooccurrence":
        from clew.models.extractors.cooccurrence import Cooccurrence
        from clew.models.rules import RuleTagger

        return Cooccurrence(RuleTagger())
    if kind == "dependency":
        from clew.models.extractors.dependency import DependencyTriples

        return DependencyTriples(name) if name else DependencyTriples()
    raise SystemExit(f"no extractor {kind!r}: dependency, cooccurrence or recorded:FILE")


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _pairs_of(lines: Iterable[Mapping[str, Any]]) -> Triples:
    return {
        line["passage_id"]: _keys((subject, object_) for subject, _, object_ in line["triples"])
        for line in lines
    }


def _keys(ends: Iterable[tuple[str, str]]) -> list[Pair]:
    return [(entity_key(subject), entity_key(object_)) for subject, object_ in ends]


def _count(triples: Triples) -> int:
    return sum(map(len, triples.values()))


def _ordered(a: Pair, b: Pair) -> bool:
    return a == b


def _unordered(a: Pair, b: Pair) -> bool:
    return b in {a, a[::-1]}


def _contained(a: Pair, b: Pair) -> bool:
    straight = _overlap(a[0], b[0]) and _overlap(a[1], b[1])
    return straight or (_overlap(a[0], b[1]) and _overlap(a[1], b[0]))


def _overlap(a: str, b: str) -> bool:
    """Say whether one key contains the other as whole words."""
    return bool(a and b) and (f" {a} " in f" {b} " or f" {b} " in f" {a} ")


STRICTNESS: Mapping[str, Callable[[Pair, Pair], bool]] = {
    "ordered": _ordered,
    "unordered": _unordered,
    "contained": _contained,
}


def matched(
    gold: Sequence[Pair], predicted: Sequence[Pair], same: Callable[[Pair, Pair], bool]
) -> int:
    """Return how many pairs can be matched one to one, at most."""
    table = np.array([[same(g, p) for p in predicted] for g in gold], dtype=bool)
    if not table.any():
        return 0
    return int((maximum_bipartite_matching(csr_array(table)) >= 0).sum())


def scores(found: int, n_predicted: int, n_gold: int) -> tuple[float, float, float]:
    """Return precision, recall and F1; 0 where there is nothing to divide by."""
    precision, recall = found / max(n_predicted, 1), found / max(n_gold, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-12)


if __name__ == "__main__":
    main()
