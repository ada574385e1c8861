"""Measure what the two indexing prompts cost: tokens sent, and with an LLM tokens that come back.

    python benchmarks/prompts.py CORPUS.jsonl [--llm SPEC] [--limit N]

CORPUS holds JSON records with `title` and `text`. Tokens are those of cl100k. The first table is
about the first 500 passages: what a passage costs by itself, packed with its neighbours, and how
many tokens packing saves. With --llm the first 20 passages are sent, packed and alone, and the
second table says how many completion tokens came back for each token of a passage.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.layers.graph_extraction import graph_prompt, read_graph
from clew.layers.packing import pack
from clew.layers.salient import salient_terms
from clew.layers.units import read_units, units_prompt
from clew.text.chunking import Chunking, cut_windows
from clew.text.tokens import count, truncate

if TYPE_CHECKING:
    from clew.models import LLM, Prompt

MEASURED = 500  # passages
LENGTH = 256  # tokens of a whole chunk


@dataclass(frozen=True, slots=True)
class Passages:
    """Texts as models read them, with the terms that are hinted at."""

    texts: Sequence[str]
    hints: Sequence[Sequence[str]]

    def at(self, rows: Sequence[int]) -> Passages:
        """Return the passages of these rows."""
        return Passages([self.texts[i] for i in rows], [self.hints[i] for i in rows])


def main() -> None:
    """Print what the prompts cost."""
    parser = argparse.ArgumentParser(description="Measure the two indexing prompts.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--llm", help="such as openai:MODEL@URL: ask it, and count what comes back")
    parser.add_argument("--limit", type=int, default=20, help="passages that the LLM reads")
    options = parser.parse_args()
    passages = read(options.corpus)
    lengths = list(map(count, passages.texts))
    print(f"{len(lengths)} passages of {statistics.mean(lengths):.0f} tokens on average")
    for name in PROMPTS:
        print(sent(name, passages))
    if options.llm:
        from clew.loading import load_llm

        llm = load_llm(options.llm)
        some = passages.at(range(min(options.limit, len(passages.texts))))
        for name in PROMPTS:
            for most in (1, 8):
                print(received(name, some, llm, most=most), flush=True)


def read(corpus: Path) -> Passages:
    """Return the first passages of a corpus, cut where they are longer than a chunk."""
    texts: list[str] = []
    with corpus.open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            body = record["text"]
            windows = cut_windows(body, 0, Chunking(size=LENGTH, overlap=0))
            texts += [f"{record['title']}\n{body[w.start : w.end]}" for w in windows]
            if len(texts) >= MEASURED:
                break
    return Passages(texts[:MEASURED], salient_terms(texts[:MEASURED]))


def units(passages: Passages) -> Prompt:
    """Return the prompt for the units of some passages."""
    return units_prompt(passages.texts)


def graph(passages: Passages) -> Prompt:
    """Return the prompt for the graph of some passages."""
    return graph_prompt(passages.texts, passages.hints)


PROMPTS = {"units": units, "graph": graph}


def sent(name: str, passages: Passages) -> str:
    """Return what a prompt costs to send, alone and packed."""
    ask = PROMPTS[name]
    sizes = [count(text) for text in passages.texts]
    groups = pack(sizes)
    alone = sum(cost(ask(passages.at([i]))) for i in range(len(sizes)))
    packed = sum(cost(ask(passages.at(group))) for group in groups)
    whole = [cost(ask(long)) for long in full(passages)]
    return (
        f"{name}: instruction {cost(ask(Passages([], [])))} tokens; per passage "
        f"{alone / len(sizes):.0f} alone, {packed / len(sizes):.0f} packed "
        f"({len(sizes) / len(groups):.1f} in a prompt), {1 - packed / alone:.1%} saved; "
        f"{LENGTH} tokens alone: {statistics.mean(whole):.0f}, at most {max(whole)}"
    )


def full(passages: Passages) -> list[Passages]:
    """Return passages of 256 tokens under the corpus's titles, with twelve hints each."""
    joined = [
        f"{text.partition(chr(10))[0]}\n{truncate(' '.join(passages.texts[i : i + 20]), LENGTH)}"
        for i, text in enumerate(passages.texts[:100])
    ]
    hints = salient_terms(joined, threshold=0.0, most=12)
    return [Passages([text], [terms]) for text, terms in zip(joined, hints, strict=True)]


def received(name: str, passages: Passages, llm: LLM, *, most: int) -> str:
    """Return what comes back from an LLM for a prompt, with `most` passages in it."""
    ask = PROMPTS[name]
    groups = [passages.at(g) for g in pack([count(t) for t in passages.texts], most=most)]
    replies = llm.complete([ask(group) for group in groups])
    ratios, rows, failed = [], 0, 0
    for group, reply in zip(groups, replies, strict=True):
        failed += bool(reply.error)
        if not reply.error:
            ratios.append(reply.completion_tokens / sum(map(count, group.texts)))
            rows += kept(name, reply.data, group)
    if not ratios:
        return f"{name}: none of {len(groups)} replies can be used: {replies[0].error}"
    tenths = statistics.quantiles(ratios, n=10, method="inclusive") if ratios[1:] else ratios * 9
    return (
        f"{name}, {len(passages.texts)} passages in {len(groups)} prompts to {llm.name}: "
        f"{statistics.mean(ratios):.2f} completion tokens per passage token, "
        f"standard deviation {statistics.pstdev(ratios):.2f}, tenth {tenths[0]:.2f}, "
        f"ninth tenth {tenths[-1]:.2f}; {failed} replies failed; {rows} rows kept"
    )


def kept(name: str, data: object, group: Passages) -> int:
    """Return how many units, or entities and triples, a reply gives."""
    if name == "units":
        return sum(map(len, read_units(data, group.texts)))
    extractions = read_graph(data, group.texts, group.hints)
    return sum(len(e.entities) + len(e.triples) for e in extractions if e is not None)


def cost(prompt: Prompt) -> int:
    """Return the tokens of a prompt's words."""
    return count(prompt.system) + count(prompt.user)


if __name__ == "__main__":
    main()
