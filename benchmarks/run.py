"""Measure indexing and querying at three sizes: `make bench`, or with a corpus of your own.

    python benchmarks/run.py [--corpus FILE.jsonl --questions FILE.jsonl] [--sizes 1000,3000,6000]
                             [--methods A,B,...] [--hashed]

Without a corpus the passages are made: sentences about invented people, places and years, drawn
with a fixed seed, about 100 words each. Where a corpus is smaller than a size, further passages are
its sentences drawn anew. `--hashed` takes hashed words in place of the embedder, for sizes at which
models would need hours. Prints a table and writes `benchmarks/results.json`.
Times are wall seconds on whatever else the machine is doing, so compare within a run only. Each
size is built in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import clew

MODEL_STAGES = ("embed", "rerank", "tag", "llm")
METHODS = "dense,bm25,hybrid,pagerank,clue,keyword_rag,skeleton_rag,ket"
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Run every size in its own process and print the table."""
    options = _options()
    if options.size:
        print(json.dumps(measure(options)))
        return
    rows = []
    for size in options.sizes.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--size", size]
        run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        rows.append(json.loads(run.stdout.splitlines()[-1]))
        print(_table(rows[-1:]), flush=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(_growth(rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure indexing and querying.")
    parser.add_argument("--corpus", type=Path, nargs="*", help="JSONL records of id, title, text")
    parser.add_argument("--questions", type=Path, nargs="*", help="JSONL records with a question")
    parser.add_argument("--sizes", default="1000,3000,6000", help="passages, with commas")
    parser.add_argument("--n-questions", type=int, default=100)
    parser.add_argument("--methods", default=METHODS, help="with commas")
    parser.add_argument("--hashed", action="store_true", help="hashed words instead of a model")
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one size: indexing, three small updates, queries, memory."""
    import clew
    from clew.base.types import Document

    documents, questions = (
        _read(options) if options.corpus else made(options.size, options.n_questions)
    )
    documents = [*documents, *_drawn_anew(documents, options.size)][: options.size]
    with tempfile.TemporaryDirectory() as folder:
        index = clew.open(Path(folder) / "bench.clew", models=_hashed() if options.hashed else None)
        index.models.embedder.embed(["warm up"], kind="query")
        started = time.perf_counter()
        added = index.add(documents)
        build_s = time.perf_counter() - started
        started = time.perf_counter()
        index.add(documents)
        again_s = time.perf_counter() - started
        ten = [
            Document(id=f"new-{i}", title=d.title, text=f"{d.text} Revised.")
            for i, d in enumerate(documents[:10])
        ]
        started = time.perf_counter()
        index.add(ten)
        ten_s = time.perf_counter() - started
        index.remove([d.id for d in ten])
        index.compact()
        started = time.perf_counter()
        extracted = index.add(documents[:1], triples="cooccurrence")
        triples_s = time.perf_counter() - started
        started = time.perf_counter()
        index.add(ten)
        ten_with_triples_s = time.perf_counter() - started
        stages = dict(added.usage.seconds)
        model_s = sum(stages.get(name, 0.0) for name in MODEL_STAGES)
        return {
            "passages": len(documents),
            "chunks": added.n_chunks,
            "build_s": round(build_s, 2),
            "stages_s": {name: round(s, 3) for name, s in sorted(stages.items())},
            "model_share": round(model_s / build_s, 4),
            "overhead_beside_model": round((build_s - model_s) / model_s, 4),
            "add_same_again_s": round(again_s, 3),
            "add_ten_s": round(ten_s, 3),
            "add_ten_share": round(ten_s / build_s, 5),
            "triples_s": round(triples_s, 2),
            "keep_s": round(extracted.usage.seconds["store"], 2),
            "add_ten_with_triples_s": round(ten_with_triples_s, 3),
            "disk_mb": round(index.show()["size_bytes"] / 1e6, 1),
            "queries_ms": _queries(index, questions, options.methods.split(",")),
            "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }


def _queries(
    index: clew.Index, questions: Sequence[str], methods: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return p50 and p95 in milliseconds, all of it and without model time, by method."""
    figures = {}
    for method in methods:
        started = time.perf_counter()
        index.search(questions[0], method=method)  # builds what a method derives once
        first = time.perf_counter() - started
        whole, engine = [], []
        for question in questions:
            started = time.perf_counter()
            usage = index.search(question, method=method).usage
            passed = time.perf_counter() - started
            whole.append(passed)
            engine.append(passed - sum(usage.seconds.get(name, 0.0) for name in MODEL_STAGES))
        figures[method] = {
            "first": round(first * 1000, 1),
            "p50": _ms(whole, 50),
            "p95": _ms(whole, 95),
            "engine_p50": _ms(engine, 50),
            "engine_p95": _ms(engine, 95),
        }
    return figures


def _ms(seconds: Sequence[float], percent: int) -> float:
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return round(cuts[percent - 1] * 1000, 2)


def _read(options: argparse.Namespace) -> tuple[list[Any], list[str]]:
    from clew.base.types import Document

    documents = [
        Document(id=f"{file.parent.name}/{r['id']}", title=r.get("title", ""), text=r["text"])
        for file in options.corpus
        for r in _records([file])
    ]
    questions = [record["question"] for record in _records(options.questions or [])]
    return documents, questions[: options.n_questions] or [d.title for d in documents[:100]]


def _records(files: Iterable[Path]) -> Iterable[dict[str, Any]]:
    for file in files:
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _drawn_anew(documents: Sequence[Any], size: int) -> list[Any]:
    """Return as many passages as are missing, of sentences of the others."""
    from clew.base.types import Document
    from clew.text.statements import statement_spans

    if len(documents) >= size:
        return []
    draw = random.Random(11)  # noqa: S311
    sentences = [d.text[a:b] for d in documents for a, b in statement_spans(d.text)]
    titles = [d.title for d in documents]
    return [
        Document(
            id=f"drawn-{i:06d}",
            title=draw.choice(titles),
            text=" ".join(draw.choices(sentences, k=4)),
        )
        for i in range(size - len(documents))
    ]


def _hashed() -> Any:  # noqa: ANN401 -- clew.models.Models
    from clew.testing import HashEmbedder, models

    return models(HashEmbedder(384))


def made(n_documents: int, n_questions: int) -> tuple[list[Any], list[str]]:
    """Return invented passages that mention each other's subjects, and questions about them."""
    draw = random.Random(7)  # noqa: S311
    names = _names(draw, n_documents)
    documents = list(_passages(draw, names))
    questions = [f"Where did the friend of {draw.choice(names)} live?" for _ in range(n_questions)]
    return documents, questions


def made_passages(n_documents: int) -> Iterator[Any]:
    """Yield the same passages, each when it is asked for."""
    draw = random.Random(7)  # noqa: S311
    yield from _passages(draw, _names(draw, n_documents))


def _names(draw: random.Random, n: int) -> list[str]:
    names = sorted({f"{_word(draw)} {_word(draw)}" for _ in range(n * 2)})
    draw.shuffle(names)
    return names[:n]


def _passages(draw: random.Random, names: Sequence[str]) -> Iterator[Any]:
    from clew.base.types import Document

    verbs = ("met", "wrote to", "built a house for", "sailed with", "taught", "painted")
    for i, name in enumerate(names):
        sentences = []
        for _ in range(7):
            other = draw.choice(names)
            place, year = _word(draw), draw.randint(1700, 1990)
            verb = draw.choice(verbs)
            sentences.append(f"In {year} {name} {verb} {other} near the harbour of {place}.")
        yield Document(id=f"made-{i:06d}", title=name, text=" ".join(sentences))


def _word(draw: random.Random) -> str:
    syllables = ("ba", "ko", "li", "mar", "ne", "os", "pel", "ri", "sto", "tu", "ven", "zim")
    return "".join(draw.choices(syllables, k=draw.randint(2, 4))).capitalize()


def _table(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        lines.append(
            f"{row['passages']:>6} passages  build {row['build_s']:>7.1f} s, "
            f"models {row['model_share']:.1%}, overhead beside them "
            f"{row['overhead_beside_model']:.1%}; same again {row['add_same_again_s']:.2f} s, "
            f"ten more {row['add_ten_s']:.2f} s ({row['add_ten_share']:.2%}); "
            f"triples {row['triples_s']:.1f} s, {row['keep_s']:.1f} s of it to put together and "
            f"keep, ten more then {row['add_ten_with_triples_s']:.2f} s; "
            f"{row['disk_mb']:.0f} MB on disk, peak {row['peak_memory_mb']} MB"
        )
        for method, ms in row["queries_ms"].items():
            lines.append(
                f"        {method:<12} p50 {ms['p50']:>7.2f} ms  p95 {ms['p95']:>7.2f} ms   "
                f"without models: p50 {ms['engine_p50']:>6.2f} ms  p95 {ms['engine_p95']:>6.2f} ms"
            )
    return "\n".join(lines)


def _growth(rows: Sequence[dict[str, Any]]) -> str:
    if len(rows) < 2:
        return ""
    first, last = rows[0], rows[-1]
    times = last["build_s"] / first["build_s"]
    size = last["passages"] / first["passages"]
    return f"growth: {size:.1f} times the passages took {times:.1f} times as long to index"


if __name__ == "__main__":
    main()
