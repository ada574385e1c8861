"""Ask questions of a knowledge graph that has no texts.

    clew import-kg DIR/kg.tsv --into INDEX
    python benchmarks/graph_questions.py DIR --index INDEX [--limit N] [--llm SPEC] [NAME=VALUE...]

DIR holds questions.jsonl: {"id", "question", "answers", "hops", "topic_entity"}; the answers are
names in the graph. What `bubble` finds (NAME=VALUE are its parameters) is compared with the triples
nearest to the question, as many of them as bubble has facts. Entities are ranked as the evidence
has them, its facts in order, without the topic; hits@k says whether an answer is among the first k,
recall which share of the answers the evidence holds. With an LLM, its answers are scored by whether
they name one. Scores repeat to the digit; seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import clew
from clew import steps
from clew.cli.options import method_parameters
from clew.evaluate import metrics
from clew.specs import Specs
from clew.text.keys import name_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.api import Index
    from clew.types import EvidenceGraph, Snapshot

_MEASURES = ("hits@1", "hits@5", "recall")


def main() -> None:
    """Ask every question and print the means for each number of hops."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="every so many questions, this many in all")
    parser.add_argument("--llm")
    options = parser.parse_args()
    lines = (options.folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    if options.limit:
        questions = questions[:: len(questions) // options.limit][: options.limit]
    rows: dict[int, list[dict[str, float]]] = defaultdict(list)
    with clew.open(options.index, specs=Specs(llm=options.llm)) as index:
        for question in questions:
            row = asked(index, question, options.parameters, with_llm=bool(options.llm))
            rows[question["hops"]].append(row)
            if options.llm:
                print(question["id"], {k: round(v, 2) for k, v in row.items()}, flush=True)
    for hops, found in sorted(rows.items()):
        for name in found[0]:
            values = [row[name] for row in found if not np.isnan(row[name])]
            median = "ms" in name or "facts" in name or "tokens" in name
            middle = statistics.median(values) if median else statistics.fmean(values)
            print(f"{hops} hops, {len(values)} questions  {name:24} {middle:.3f}")


def asked(
    index: Index, question: dict[str, Any], parameters: Sequence[str], *, with_llm: bool
) -> dict[str, float]:
    """Return what one question scores with bubble, and with the nearest triples."""
    wanted = {name_key(answer) for answer in question["answers"]}
    topic = name_key(question["topic_entity"])
    chosen = method_parameters("bubble", parameters)
    begin = time.perf_counter()
    found = index.search(question["question"], method="bubble", **chosen)
    seconds = time.perf_counter() - begin
    graph = found.graph
    row = _scored("bubble", _entities(graph) if graph else [], wanted, topic)
    n_facts = len(graph.facts) if graph else 0
    near = _nearest(index, question["question"], max(n_facts, 10))
    row |= _scored("nearest", near, wanted, topic)
    row |= {"bubble ms": 1000 * seconds, "bubble facts": n_facts}
    if with_llm:
        answer = index.answer(found)
        is_right = metrics.contains(answer.text, question["answers"])
        row["answer"] = is_right if answer.kind == "generated" else float("nan")
        row["tokens"] = found.usage.total_tokens + answer.usage.total_tokens
    return row


def _scored(method: str, entities: Sequence[str], wanted: set[str], topic: str) -> dict[str, float]:
    """Return the measures of entities in order; the topic of the question is no answer."""
    ranked = [entity for entity in dict.fromkeys(entities) if entity != topic]
    values = (
        float(not wanted.isdisjoint(ranked[:1])),
        float(not wanted.isdisjoint(ranked[:5])),
        len(wanted.intersection(ranked)) / len(wanted),
    )
    return {f"{method} {name}": value for name, value in zip(_MEASURES, values, strict=True)}


def _entities(graph: EvidenceGraph) -> list[str]:
    """Return the entities of the facts in order, then the others."""
    ends = [end for fact in graph.facts for end in (fact.subject, fact.object)]
    return [*ends, *(step.id for step in graph.entities)]


def _nearest(index: Index, question: str, k: int) -> list[str]:
    """Return the entities of the `k` triples nearest to the question."""
    snapshot = index.snapshot()
    vector = steps.read_query(index.models, question).vector
    [near] = steps.near_rows(snapshot, "triple", vector[None], k)
    return snapshot.layer("entity").ids(list(_ends(snapshot, [row for row, _ in near])))


def _ends(snapshot: Snapshot, triples: Sequence[int]) -> Iterator[int]:
    columns = snapshot.layer("triple").columns
    for triple in triples:
        yield from (int(columns["subject"][triple]), int(columns["object"][triple]))


if __name__ == "__main__":
    main()
