"""How each system is opened for `run.py`, with the stub of an LLM and hashed words."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

DIMENSION = 384
MORE = 10  # passages that are added afterwards
_NAME = re.compile(r"\b[A-Z]\w+(?: [A-Z]\w+)*")
_PASSAGE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_AT_MOST = 10  # passages of a context


class Opened(NamedTuple):
    """An index of a system: what adds passages, and what asks a question, by the method's name."""

    add: Callable[[Sequence[Any]], object]
    ask: Mapping[str, Callable[[str], object]]


class System(NamedTuple):
    """A system to measure."""

    title: str
    package: str  # whose version is shown
    open: Callable[[Path, Stub], Opened]
    like: Mapping[str, tuple[str, ...]] = {}  # its methods, and Clew's to compare each with
    with_llm: bool = False  # whether an LLM extracts its graph
    indexes: bool = True  # whether its index is its own, and not Clew's


class Stub:
    """An LLM that names the names in a text; counts what it is asked."""

    def __init__(self) -> None:
        self.calls = self.prompt_tokens = 0

    def count(self, *parts: str) -> None:
        """Count one call with a prompt of some parts."""
        from clew.text import tokens

        self.calls += 1
        self.prompt_tokens += sum(map(tokens.count, parts))

    def name(self, text: str) -> list[str]:
        """Return the names in a text, each once."""
        return list(dict.fromkeys(_NAME.findall(text)))

    def relate(self, text: str) -> list[tuple[str, str]]:
        """Return the names in a text that follow each other."""
        return list(itertools.pairwise(self.name(text)))


def embed(texts: Sequence[str]) -> Any:  # noqa: ANN401 -- an array
    """Return the (n, 384) vectors of hashed words."""
    from clew.testing import HashEmbedder

    return HashEmbedder(DIMENSION).embed(list(texts), kind="document")


def open_clew(folder: Path, stub: Stub, *, llm: bool = False) -> Opened:
    """Open an index of Clew; with `llm` the stub extracts its triples."""
    import clew
    from clew.models import Turn
    from clew.testing import HashEmbedder, models

    class Chat:
        name, concurrency, price = "stub", 1, (0.0, 0.0)

        def ask(self, prompt: Any, turns: Any = (), **_: Any) -> Turn:  # noqa: ANN401, ARG002
            stub.count(prompt.system, prompt.user)
            _, asked, question = prompt.user.rpartition("Question: ")
            reply: dict[str, Any] = {n: _extract(stub, t) for n, t in _PASSAGE.findall(prompt.user)}
            if asked and not reply:  # the keywords of a question
                names = stub.name(question)[-3:]
                reply = {"specific": names, "general": names}
            return Turn(json.dumps(reply), prompt_tokens=1, completion_tokens=1)

        def count_tokens(self, *_: Any) -> None:  # noqa: ANN401
            return None

    chosen = models(HashEmbedder(DIMENSION), llm=Chat() if llm else None)
    index = clew.open(folder / "my.clew", models=chosen)
    triples: dict[str, Any] = {"triples": "llm"} if llm else {}
    methods = ("walk", "hybrid", "dense", "bm25", "pagerank", "clue", "linearrag")
    asks = {name: partial(index.search, method=name) for name in methods}
    if llm:  # it searches triples
        asks["lightrag, mix"] = partial(index.search, method="lightrag", mode="mix")
    return Opened(lambda documents: index.add(documents, **triples), asks)


def open_linearrag_core(folder: Path, stub: Stub) -> Opened:  # noqa: ARG001 -- it asks no LLM
    """Open an index of Clew's for LinearRAG's core, with PageRank by igraph, as released.

    How often a passage has a name is counted once, where the released code counts at each question.
    """
    from cores import LinearCore, LinearSettings, World

    import clew
    from clew.testing import HashEmbedder, models

    class Core(LinearCore):
        @cached_property
        def joined(self) -> Any:  # noqa: ANN401 -- igraph.Graph
            import igraph

            edges = list(self.graph.edges(data="weight"))
            graph = igraph.Graph(len(self.graph), [edge[:2] for edge in edges])
            graph.es["weight"] = [weight for *_, weight in edges]
            return graph

        def rank(self, reset: Mapping[int, float]) -> Any:  # noqa: ANN401 -- by node
            return self.joined.personalized_pagerank(
                damping=self.settings.damping,
                directed=False,
                weights="weight",
                reset=[reset.get(node, 0.0) for node in range(len(self.graph))],
                implementation="prpack",
            )

    index = clew.open(folder / "my.clew", models=models(HashEmbedder(DIMENSION)))
    core: list[Core] = []

    def ask(question: str) -> object:
        if not core:
            world = World(index.snapshot(), index.models)
            core.append(Core(world, LinearSettings(), world.occurrences, adjacent=True))
        return core[0](question)

    return Opened(index.add, {"retrieve": ask})


def _extract(stub: Stub, text: str) -> dict[str, Any]:
    return {
        "entities": [
            {"name": n, "type": "other", "description": f"{n} is named."} for n in stub.name(text)
        ],
        "relations": [
            {
                "subject": a,
                "predicate": "stands by",
                "object": b,
                "description": f"{a} stands by {b}.",
                "strength": 5,
            }
            for a, b in stub.relate(text)
        ],
    }


def _join(document: Any) -> str:  # noqa: ANN401 -- clew.base.types.Document
    return f"{document.title}\n{document.text}"


def _answer_delimited(stub: Stub, text: str, *, parts: str, rows: str, end: str) -> str:
    """Return entities and relations in the form of LightRAG and nano-graphrag."""
    entities = [("entity", n, "Other", f"{n} is named.") for n in stub.name(text)]
    relations = [
        ("relation", a, b, "stands by", f"{a} stands by {b}.") for a, b in stub.relate(text)
    ]
    return rows.join([parts.join(row) for row in [*entities, *relations]] + [end])


def open_lightrag(folder: Path, stub: Stub) -> Opened:
    """Open an index of LightRAG without gleaning and without its cache of replies."""
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import EmbeddingFunc, Tokenizer

    from clew.text import tokens

    encoding = tokens._encoding()  # noqa: SLF001 -- the only one that needs no download

    async def llm(prompt: str, system_prompt: str | None = None, **_: Any) -> str:  # noqa: ANN401
        stub.count(system_prompt or "", prompt)
        _, marker, rest = prompt.rpartition("---Input Text---")
        if not marker:
            names = stub.name(prompt)[-3:]
            return json.dumps({"high_level_keywords": names, "low_level_keywords": names})
        text = rest.partition("---Output---")[0]
        return _answer_delimited(stub, text, parts="<|#|>", rows="\n", end="<|COMPLETE|>")

    async def embed_all(texts: list[str]) -> Any:  # noqa: ANN401
        return embed(texts)

    loop = asyncio.new_event_loop()

    async def make() -> LightRAG:
        rag = LightRAG(
            working_dir=str(folder),
            llm_model_func=llm,
            embedding_func=EmbeddingFunc(DIMENSION, embed_all),
            tokenizer=Tokenizer("cl100k_base", encoding),
            entity_extract_max_gleaning=0,
            enable_llm_cache=False,
        )
        await rag.initialize_storages()
        return rag

    rag = loop.run_until_complete(make())

    def add(documents: Sequence[Any]) -> None:
        texts = [_join(each) for each in documents]
        loop.run_until_complete(rag.ainsert(texts, ids=[each.id for each in documents]))

    def ask(question: str, mode: str) -> object:
        wanted = QueryParam(mode=mode, only_need_context=True, enable_rerank=False)
        return loop.run_until_complete(rag.aquery(question, param=wanted))

    modes = ("mix", "hybrid", "local", "global", "naive")
    return Opened(add, {mode: partial(ask, mode=mode) for mode in modes})


def open_nano_graphrag(folder: Path, stub: Stub) -> Opened:
    """Open an index of nano-graphrag, naive retrieval included."""
    import tiktoken

    from clew.text import tokens

    encoding = tokens._encoding()  # noqa: SLF001 -- the only one that needs no download
    tiktoken.encoding_for_model = lambda _: encoding
    from nano_graphrag import GraphRAG, QueryParam
    from nano_graphrag._utils import EmbeddingFunc

    async def llm(prompt: str, system_prompt: str | None = None, **named: Any) -> str:  # noqa: ANN401
        stub.count(
            system_prompt or "",
            prompt,
            *(m["content"] for m in named.get("history_messages") or ()),
        )
        if "-Real Data-" not in prompt:
            return json.dumps(
                {
                    "title": "A",
                    "summary": "A.",
                    "rating": 1,
                    "rating_explanation": "A.",
                    "findings": [],
                }
            )
        text = prompt.rpartition("Text:")[2]
        return _answer_nano(stub, text)

    async def embed_all(texts: list[str]) -> Any:  # noqa: ANN401
        return embed(texts)

    rag = GraphRAG(
        working_dir=str(folder),
        enable_naive_rag=True,
        entity_extract_max_gleaning=0,
        enable_llm_cache=False,
        best_model_func=llm,
        cheap_model_func=llm,
        embedding_func=EmbeddingFunc(embedding_dim=DIMENSION, max_token_size=8192, func=embed_all),
    )

    def ask(question: str, mode: str) -> object:
        return rag.query(question, param=QueryParam(mode=mode, only_need_context=True))

    return Opened(
        lambda documents: rag.insert([_join(each) for each in documents]),
        {mode: partial(ask, mode=mode) for mode in ("local", "naive")},
    )


def _answer_nano(stub: Stub, text: str) -> str:
    entities = [f'("entity"<|>"{n}"<|>"other"<|>"{n} is named.")' for n in stub.name(text)]
    relations = [
        f'("relationship"<|>"{a}"<|>"{b}"<|>"{a} stands by {b}."<|>5)' for a, b in stub.relate(text)
    ]
    return "##".join([*entities, *relations]) + "<|COMPLETE|>"


def open_fast_graphrag(folder: Path, stub: Stub) -> Opened:
    """Open an index of fast-graphrag."""
    from fast_graphrag import GraphRAG, QueryParam
    from fast_graphrag._llm import BaseEmbeddingService, BaseLLMService
    from fast_graphrag._models import TEditRelationList, TEntityDescription, TQueryEntities
    from fast_graphrag._types import TEntity, TGraph, TRelation

    class Model(BaseLLMService):
        async def send_message(self, prompt: str, system_prompt: str = "", **named: Any) -> Any:  # noqa: ANN401
            before = (m["content"] for m in named.get("history_messages") or ())
            stub.count(system_prompt, prompt, *before)
            wanted = named["response_model"]
            if wanted is TEntityDescription:
                return TEntityDescription(description="A name."), []
            if wanted is TEditRelationList:
                return TEditRelationList(grouped_facts=[]), []
            if wanted is TQueryEntities:
                question = prompt.rpartition("Query:")[2].partition("Output:")[0]
                return TQueryEntities(named=stub.name(question)[-3:], generic=["name"]), []
            if wanted is not TGraph:
                return wanted(status="done"), []
            text = prompt.rpartition("**Document**:")[2].partition("<<DOCUMENT_END>>")[0]
            graph = TGraph(
                entities=[
                    TEntity(name=n, type="OTHER", description=f"{n}.") for n in stub.name(text)
                ],
                relationships=[
                    TRelation(source=a, target=b, description=f"{a} stands by {b}.")
                    for a, b in stub.relate(text)
                ],
            )
            return graph, [{"role": "user", "content": prompt}]

    class Embedder(BaseEmbeddingService):
        async def encode(self, texts: list[str], model: str | None = None) -> Any:  # noqa: ANN401, ARG002
            return embed(texts)

    rag = GraphRAG(
        working_dir=str(folder),
        domain="Find the people and things.",
        example_queries="Who built it?",
        entity_types=["OTHER"],
        config=GraphRAG.Config(
            llm_service=Model(model="stub"), embedding_service=Embedder(embedding_dim=DIMENSION)
        ),
    )
    return Opened(
        lambda documents: rag.insert([_join(each) for each in documents], show_progress=False),
        {"query": lambda question: rag.query(question, params=QueryParam(only_context=True))},
    )


def open_chroma(folder: Path, stub: Stub) -> Opened:  # noqa: ARG001 -- it asks no LLM
    """Open a collection of Chroma: passages and their vectors."""
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    rows = client.get_or_create_collection("passages", embedding_function=None)

    def add(documents: Sequence[Any]) -> None:
        texts = [_join(each) for each in documents]
        rows.add([each.id for each in documents], embeddings=embed(texts), documents=texts)

    def ask(question: str) -> object:
        return rows.query(query_embeddings=embed([question]), n_results=_AT_MOST)

    return Opened(add, {"dense": ask})


def open_txtai(folder: Path, stub: Stub, *, graph: bool = False) -> Opened:  # noqa: ARG001
    """Open an index of txtai: passages, their words and vectors; with `graph` their likeness."""
    from txtai import Embeddings

    def transform(texts: list[str]) -> Any:  # noqa: ANN401
        return embed(texts)

    wanted: dict[str, Any] = {"method": "external", "transform": transform}
    wanted |= {"hybrid": True, "content": True} | ({"graph": {}} if graph else {})
    index, place = Embeddings(wanted), str(folder / "index")
    if index.exists(place):
        index.load(place, config=wanted)

    def add(documents: Sequence[Any]) -> None:
        index.upsert([(each.id, _join(each)) for each in documents])
        index.save(place)

    asks = {"hybrid": partial(index.search, limit=_AT_MOST)}
    return Opened(
        add, asks | ({"graph": partial(index.search, limit=_AT_MOST, graph=True)} if graph else {})
    )


_TXTAI = {"hybrid": ("hybrid",), "graph": ("walk",)}
_LIGHTRAG = ("mix", "hybrid", "local", "global")

SYSTEMS: Mapping[str, System] = {
    "clew": System("Clew", "clew", open_clew),
    "clew-llm": System(
        "Clew, triples by the LLM", "clew", partial(open_clew, llm=True), with_llm=True
    ),
    "fast-graphrag": System(
        *("fast-graphrag", "fast-graphrag", open_fast_graphrag),
        {"query": ("walk", "pagerank")},
        with_llm=True,
    ),
    "nano-graphrag": System(
        *("nano-graphrag", "nano-graphrag", open_nano_graphrag),
        {"local": ("walk",), "naive": ("dense",)},
        with_llm=True,
    ),
    "lightrag": System(
        *("LightRAG", "lightrag-hku", open_lightrag),
        {**dict.fromkeys(_LIGHTRAG, ("lightrag, mix",)), "naive": ("dense",)},
        with_llm=True,
    ),
    "linearrag-core": System(
        *("LinearRAG's core", "igraph", open_linearrag_core),
        {"retrieve": ("linearrag",)},
        indexes=False,
    ),
    "chroma": System("Chroma", "chromadb", open_chroma, {"dense": ("dense",)}),
    "txtai": System("txtai", "txtai", open_txtai, _TXTAI),
    "txtai-graph": System("txtai with its graph", "txtai", partial(open_txtai, graph=True), _TXTAI),
}
