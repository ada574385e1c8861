"""Measure what indexing costs beside LightRAG and fast-graphrag: the same passages and models.

    python benchmarks/peers/run.py [--passages 200] [--systems clew,clew-llm,lightrag,fast-graphrag]

Each system runs in a process of its own, with an embedder of hashed words and a stub in the place
of the LLM, both in the process: so what is left is the systems' own work. The stub extracts runs of
capitalised words, and relates neighbours, in the form that each system asks for. A system that is
not installed is passed over; see README.md beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SYSTEMS = ("clew", "clew-llm", "lightrag", "fast-graphrag")
DIMENSION = 384
MORE = 10  # passages that are added afterwards
_NAME = re.compile(r"\b[A-Z]\w+(?: [A-Z]\w+)*")
_PASSAGE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def main() -> None:
    """Run each system, and print its figures as a line of JSON."""
    parser = argparse.ArgumentParser(description="Measure indexing beside other systems.")
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="with commas")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.passages)))
        return
    for name in options.systems.split(","):
        command = [sys.executable, __file__, "--one", name, "--passages", str(options.passages)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        last = ended.stdout.strip().rpartition("\n")[2]
        said = ended.stderr.strip().rpartition("\n")[2]
        print(last if ended.returncode == 0 else f"{name}: {said}")


class Stub:
    """The names in a text and relations between neighbours; counts what it is asked."""

    def __init__(self) -> None:
        self.calls = self.prompt_tokens = 0

    def asked(self, *parts: str) -> None:
        from clew.text import tokens

        self.calls += 1
        self.prompt_tokens += sum(map(tokens.count, parts))

    def names(self, text: str) -> list[str]:
        return list(dict.fromkeys(_NAME.findall(text)))


Passages = Sequence[Any]  # clew.types.Document
Add = Callable[[Passages], None]
System = Callable[[Path, Stub], Add]


def measure(name: str, n: int) -> dict[str, Any]:
    """Return the figures of one system: CPU seconds, bytes on disk, tokens, memory."""
    sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
    import run

    documents, _ = run.made(n + MORE, 1)
    stub = Stub()
    with tempfile.TemporaryDirectory() as folder:
        add = _SYSTEMS[name](Path(folder), stub)
        started = time.process_time()
        add(documents[:n])
        index_s = time.process_time() - started
        calls, asked = stub.calls, stub.prompt_tokens
        started = time.process_time()
        add(documents[n:])
        more_s = time.process_time() - started
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "system": name,
        "passages": n,
        "index_cpu_s": round(index_s, 2),
        f"{MORE}_more_cpu_s": round(more_s, 3),
        "llm_calls": calls,
        "prompt_tokens": asked,
        "disk_kb": round(size / 1000),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _vectors(texts: Sequence[str]) -> Any:  # noqa: ANN401 -- an array
    from clew.testing import HashEmbedder

    return HashEmbedder(DIMENSION).embed(texts, kind="document")


def _clew(folder: Path, stub: Stub, *, llm: bool = False) -> Add:
    import clew
    from clew.models import Turn
    from clew.testing import HashEmbedder, models

    class Chat:
        name, concurrency, price = "stub", 1, (0.0, 0.0)

        def ask(self, prompt: Any, turns: Any = (), **_: Any) -> Turn:  # noqa: ANN401, ARG002
            stub.asked(prompt.system, prompt.user)
            reply = {number: _graph(stub, text) for number, text in _PASSAGE.findall(prompt.user)}
            return Turn(json.dumps(reply), prompt_tokens=1, completion_tokens=1)

        def count_tokens(self, *_: Any) -> None:  # noqa: ANN401
            return None

    index = clew.open(
        folder / "my.clew", models=models(HashEmbedder(DIMENSION), llm=Chat() if llm else None)
    )
    triples: dict[str, Any] = {"triples": "llm"} if llm else {}
    return lambda documents: (index.add(documents, **triples), None)[1]


def _graph(stub: Stub, text: str) -> dict[str, Any]:
    names = stub.names(text)
    return {
        "entities": [{"name": n, "type": "other", "description": f"{n} is named."} for n in names],
        "relations": [
            {
                "subject": a,
                "predicate": "stands by",
                "object": b,
                "description": f"{a} stands by {b}.",
                "strength": 5,
            }
            for a, b in itertools.pairwise(names)
        ],
    }


def _lightrag(folder: Path, stub: Stub) -> Add:
    from lightrag import LightRAG
    from lightrag.utils import EmbeddingFunc, Tokenizer

    from clew.text import tokens

    encoding = tokens._encoding()  # noqa: SLF001 -- the only one that is here without a download

    async def llm(prompt: str, system_prompt: str | None = None, **_: Any) -> str:  # noqa: ANN401
        stub.asked(system_prompt or "", prompt)
        _, marker, rest = prompt.rpartition("---Input Text---")
        if not marker:
            return "A summary."
        names = stub.names(rest.partition("---Output---")[0])
        rows = [("entity", name, "Other", f"{name} is named.") for name in names]
        rows += [
            ("relation", a, b, "stands by", f"{a} stands by {b}.")
            for a, b in itertools.pairwise(names)
        ]
        return "\n".join(["<|#|>".join(row) for row in rows] + ["<|COMPLETE|>"])

    async def embed(texts: list[str]) -> Any:  # noqa: ANN401
        return _vectors(texts)

    loop = asyncio.new_event_loop()

    async def made() -> LightRAG:
        rag = LightRAG(
            working_dir=str(folder),
            llm_model_func=llm,
            embedding_func=EmbeddingFunc(DIMENSION, embed),
            tokenizer=Tokenizer("cl100k_base", encoding),
            entity_extract_max_gleaning=0,
            enable_llm_cache=False,
        )
        await rag.initialize_storages()
        return rag

    rag = loop.run_until_complete(made())

    def add(documents: Passages) -> None:
        texts = [f"{each.title}\n{each.text}" for each in documents]
        loop.run_until_complete(rag.ainsert(texts, ids=[each.id for each in documents]))

    return add


def _fast_graphrag(folder: Path, stub: Stub) -> Add:
    from fast_graphrag import GraphRAG
    from fast_graphrag._llm import BaseEmbeddingService, BaseLLMService
    from fast_graphrag._models import TEditRelationList, TEntityDescription
    from fast_graphrag._types import TEntity, TGraph, TRelation

    class Model(BaseLLMService):
        async def send_message(self, prompt: str, **named: Any) -> Any:  # noqa: ANN401
            stub.asked(prompt, *(m["content"] for m in named.get("history_messages") or ()))
            wanted = named["response_model"]
            if wanted is TEntityDescription:
                return TEntityDescription(description="A name."), []
            if wanted is TEditRelationList:
                return TEditRelationList(grouped_facts=[]), []
            if wanted is not TGraph:
                return wanted(status="done"), []
            names = stub.names(prompt.rpartition("Document:")[2])
            graph = TGraph(
                entities=[TEntity(name=n, type="OTHER", description=f"{n}.") for n in names],
                relationships=[
                    TRelation(source=a, target=b, description=f"{a} stands by {b}.")
                    for a, b in itertools.pairwise(names)
                ],
            )
            return graph, [{"role": "user", "content": prompt}]

    class Embedder(BaseEmbeddingService):
        async def encode(self, texts: list[str], model: str | None = None) -> Any:  # noqa: ANN401, ARG002
            return _vectors(texts)

    rag = GraphRAG(
        working_dir=str(folder),
        domain="Find the people and things.",
        example_queries="Who built it?",
        entity_types=["OTHER"],
        config=GraphRAG.Config(
            llm_service=Model(), embedding_service=Embedder(embedding_dim=DIMENSION)
        ),
    )
    return lambda documents: (
        rag.insert([f"{each.title}\n{each.text}" for each in documents], show_progress=False),
        None,
    )[1]


_SYSTEMS: dict[str, System] = {
    "clew": _clew,
    "clew-llm": lambda folder, stub: _clew(folder, stub, llm=True),
    "lightrag": _lightrag,
    "fast-graphrag": _fast_graphrag,
}

if __name__ == "__main__":
    main()
