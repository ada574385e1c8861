"""Count the replies of an LLM that could be used, by method and prompt.

    python -m benchmarks.replies [--llm SPEC] [--questions N] [--chunks N] [--descriptions full]

Twenty short texts, one chunk each, are indexed with units and triples, and twenty questions are
asked by the method of each paper. Without --llm the small model of `tools/gguf.py` runs here. With
--keep the ledger, in which each reply can be read, stays in the folder that is named.
"""

from __future__ import annotations

import json
import tempfile
from argparse import ArgumentParser
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import clew
from clew.base.types import Document
from clew.models.ledger import Ledger, Total
from tools import gguf

if TYPE_CHECKING:
    from collections.abc import Mapping

ASKED = Path(__file__).with_suffix(".json")
METHODS = ("clue", "ket", "bubble", "agrag")
_CONTEXT_TOKENS = 250  # of an answer, since a small model reads slowly


class Row(NamedTuple):
    """What became of the replies to one prompt at one stage: indexing, or a method's questions."""

    stage: str
    prompt: str
    total: Total


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of a run, and how its questions were answered."""

    rows: tuple[Row, ...]
    kinds: Mapping[str, Counter[str]]  # of the answers, by method; "silent" without a text
    n_calls: int  # that usage reports
    fallbacks: Mapping[str, int]  # chunks that have no extraction, by its kind


def measure(
    llm: str,
    folder: Path,
    *,
    n_chunks: int = 20,
    n_questions: int = 20,
    descriptions: str = "short",
) -> Run:
    """Index and ask with an LLM, named by its spec, in an index that stays in `folder`."""
    asked = json.loads(ASKED.read_text(encoding="utf-8"))
    texts = list(asked["texts"].items())[:n_chunks]
    documents = [Document(id=title, title=title, text=text) for title, text in texts]
    kinds: dict[str, Counter[str]] = {}
    rows: list[Row] = []
    with clew.open(folder, specs=clew.Specs(llm=llm)) as index:
        added = index.add(documents, units=1.0, triples="llm", descriptions=descriptions)
        n_calls = added.usage.llm_calls
        ledger = Ledger(folder / "calls.sqlite")
        before = _add_rows(rows, "indexing", {}, ledger)
        for method in METHODS if n_questions else ():
            answers = [
                index.ask(question, method=method, style="short", context_tokens=_CONTEXT_TOKENS)
                for question in asked["questions"][:n_questions]
            ]
            n_calls += sum(each.usage.llm_calls for each in answers)
            kinds[method] = Counter(each.kind if each.text else "silent" for each in answers)
            before = _add_rows(rows, method, before, ledger)
    return Run(tuple(rows), kinds, n_calls, added.extracted.fallback)


def _add_rows(
    rows: list[Row], stage: str, before: Mapping[str, Total], ledger: Ledger
) -> Mapping[str, Total]:
    """Add the rows of a stage, what the ledger has beyond `before`; return all that it has."""
    totals = {version.partition("-")[0]: each for (_, version), each in ledger.totals().items()}
    for prompt, total in totals.items():
        new = _subtract(total, before.get(prompt))
        if new.calls:
            rows.append(Row(stage, prompt, new))
    return totals


def _subtract(total: Total, before: Total | None) -> Total:
    if before is None:
        return total
    counts = {
        name: getattr(total, name) - getattr(before, name)
        for name in ("calls", "read", "repaired", "failed", "prompt_tokens", "completion_tokens")
    }
    return replace(total, **counts)


def describe(run: Run) -> str:
    """Return the table of a run, and how its questions were answered, as text."""
    rows = [("stage, prompt", "read", "repaired", "failed", "prompt tokens", "completion tokens")]
    for stage, prompt, total in run.rows:
        counts = (total.read, total.repaired, total.failed)
        sizes = (total.prompt_tokens, total.completion_tokens)
        rows.append((f"{stage}, {prompt}", *(f"{n:,}" for n in (*counts, *sizes))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    kinds = [f"{name}: {dict(sorted(each.items()))}" for name, each in run.kinds.items()]
    return "\n".join([*lines, *kinds, f"fallbacks: {dict(run.fallbacks)}"])


def main() -> None:
    """Print the table, and keep it where everything was asked."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--llm", default=f"local:{gguf.FILE}", help="the LLM, as for clew ask")
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--descriptions", default="short", help="short or full")
    parser.add_argument("--keep", type=Path, help="the folder of the index")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() if given.keep is None else nullcontext(given.keep) as folder:
        run = measure(
            given.llm,
            Path(folder) / "index",
            n_chunks=given.chunks,
            n_questions=given.questions,
            descriptions=given.descriptions,
        )
    print(describe(run))


if __name__ == "__main__":
    main()
