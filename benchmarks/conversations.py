"""Measure how questions of a conversation are read: recall@5 of the last turn.

    python benchmarks/conversations.py [--split report] [--llm local] [--kept FILE.sqlite]

`examples/conversations.jsonl` has conversations of two and three turns about `examples/polar`, each
with its last question as somebody would ask it alone. That question is searched for by the default
method, without an LLM, as it is; as the rules read it; as an LLM writes it anew, where one is
named; and by hand, which is the ceiling. Beside recall@5 stands the mean of 1 / the rank of the
first document needed among the first five, 0 where there is none.

Replies are kept in FILE.sqlite, and not asked for again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import clew
from clew.answers import follow_up
from clew.models.ledger import Ledger
from clew.models.loading import load_llm

EXAMPLES = Path(__file__).parents[1] / "examples"
FIRST = 5
Read = Callable[[Mapping[str, Any]], str]


def main() -> None:
    """Print a row for each kind of conversation, and one for all of them."""
    parser = argparse.ArgumentParser(description="Measure how follow-up questions are read.")
    parser.add_argument("--split", choices=("tune", "report"), default="report")
    parser.add_argument("--llm")
    parser.add_argument("--kept", type=Path, default=Path("conversations.sqlite"))
    parser.add_argument("--show", action="store_true", help="print each question as it was read")
    options = parser.parse_args()
    lines = (EXAMPLES / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    talks = [each for each in map(json.loads, lines) if each["split"] == options.split]
    with tempfile.TemporaryDirectory() as folder, clew.open(Path(folder) / "index") as index:
        index.add(EXAMPLES / "polar")
        readings: dict[str, Read] = {
            "as it is": lambda talk: str(talk["question"]),
            "by rules": partial(read, index, index.models),
        }
        if options.llm:
            llm = load_llm(options.llm, ledger=Ledger(options.kept))
            readings["by the LLM"] = partial(read, index, replace(index.models, llm=llm))
        readings["by hand"] = lambda talk: str(talk["standalone"])
        found: dict[str, list[tuple[float, float]]] = {}
        for name, reading in readings.items():
            for talk in talks:
                query = reading(talk)
                found.setdefault(name, []).append(scores(index, query, talk["supporting_ids"]))
                if options.show:
                    print(f"{name:<12}{talk['id']}  {query}", flush=True)
    for line in table(found, [talk["kind"] for talk in talks]):
        print(line)


def read(index: clew.Index, models: clew.Models, talk: Mapping[str, Any]) -> str:
    """Return the last question of a conversation as it is read with these models."""
    history = [clew.Exchange(each["question"], each["answer"]) for each in talk["history"]]
    return follow_up.resolve_question(talk["question"], history, index.snapshot(), models)[0]


def scores(index: clew.Index, query: str, needed: Sequence[str]) -> tuple[float, float]:
    """Return recall@5, and 1 / the rank of the first document needed."""
    hits = index.search(query).hits
    first = list(dict.fromkeys(hit.document_id for hit in hits))[:FIRST]
    ranks = [place for place, document in enumerate(first, 1) if document in needed]
    return len(ranks) / len(needed), 1 / ranks[0] if ranks else 0.0


def table(found: Mapping[str, Sequence[tuple[float, float]]], kinds: Sequence[str]) -> list[str]:
    """Return a table in Markdown: recall@5 and the mean of 1 / rank for each reading."""
    rows = [f"| kind | questions | {' | '.join(found)} |", f"|---|{'---:|' * (len(found) + 1)}"]
    for kind in [*dict.fromkeys(kinds), "all"]:
        of_kind = [place for place, each in enumerate(kinds) if kind in {each, "all"}]
        cells = [
            " / ".join(f"{sum(own[p][i] for p in of_kind) / len(of_kind):.3f}" for i in (0, 1))
            for own in found.values()
        ]
        rows.append(f"| {kind} | {len(of_kind)} | {' | '.join(cells)} |")
    return rows


if __name__ == "__main__":
    main()
