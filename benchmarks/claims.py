"""Count how often a true sentence of an answer is called unsupported, and a false one is not.

    python -m benchmarks.claims [--held] [--show] [--words]

`claims.json` has sentences over the statements of a passage, written before any was scored: true
ones that paraphrase a statement or merge two of them, and false ones with a contradiction, another
number, another name, or something that is not there. Those of one half were there to fit the
threshold of `clew.answers.claims` and the words of `clew.text.assertions`, those of the other half,
with --held, to test them. With --words they are judged by words alone, as without token vectors.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from clew.answers.citations import find_citations
from clew.answers.claims import StatementReader
from clew.base.types import Context, Passage
from clew.models.minilm import DIMENSION, MiniLM, read_subwords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.models import TokenVectors

PAIRS = Path(__file__).with_suffix(".json")
HALVES = ("fit", "held", "second", "third", "fourth")
TRUE = ("paraphrase", "merged")
FALSE = ("contradiction", "number", "name", "not there")
Judged = tuple[str, str, bool]  # kind, sentence, whether it was called unsupported


def judge(half: str, reader: StatementReader) -> Iterator[Judged]:
    """Yield each sentence of a half, judged by the passage that it cites."""
    for each in json.loads(PAIRS.read_text(encoding="utf-8")):
        if each["half"] == half:
            context = _build_context(" ".join(each["statements"]))
            for kind in (*TRUE, *FALSE):
                for claim in each.get(kind, ()):
                    found = find_citations("", [(claim, "[1]"), ("", "")], context, reader)
                    yield kind, claim, bool(found.unsupported)


def _embed_words(texts: Sequence[str]) -> list[TokenVectors]:
    return [read_subwords(text, DIMENSION) for text in texts]


def _build_context(text: str) -> Context:
    passage = Passage(
        number=1,
        chunk_id="",
        document_id="",
        title="",
        source="",
        start=0,
        end=len(text),
        text=text,
    )
    return Context(passages=(passage,), text=text, n_tokens=0, budget_tokens=0)


def count(judged: list[Judged]) -> Mapping[str, tuple[int, int]]:
    """Return how many sentences of each kind were judged wrongly, and how many there are."""
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for kind, _, is_accused in judged:
        for name in (kind, "true" if kind in TRUE else "false"):
            by_kind[name].append(is_accused == (kind in TRUE))
    return {kind: (sum(wrong), len(wrong)) for kind, wrong in by_kind.items()}


def main() -> None:
    """Print the figures of a part of the sentences."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", default="fit", choices=HALVES, help="the sentences to judge")
    parser.add_argument("--show", action="store_true", help="the sentences that are judged wrongly")
    parser.add_argument("--words", action="store_true", help="without token vectors")
    told = parser.parse_args()
    reader = StatementReader(_embed_words if told.words else MiniLM(threads=1).embed_tokens)
    reader.find_nearest("It is loaded.", _build_context("It loads.").passages)
    start = time.perf_counter()
    judged = list(judge(told.half, reader))
    seconds = time.perf_counter() - start
    for kind, (wrong, n) in count(judged).items():
        says = "called unsupported" if kind in {*TRUE, "true"} else "not called unsupported"
        print(f"{kind:14} {wrong:3} of {n:3} {says} ({wrong / n:.1%})")
    print(f"{1000 * seconds / len(judged):.0f} ms a sentence")
    for kind, claim, is_accused in judged if told.show else ():
        if is_accused == (kind in TRUE):
            print(f"{kind:14} {claim}")


if __name__ == "__main__":
    main()
