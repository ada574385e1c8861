"""KET-RAG: a graph of core chunks and keywords of all chunks, within a token budget.

Huang et al. (2025), arXiv:2502.09304, Algorithms 2 and 4, and the systems that its experiments
compare, each a setting. `ket` itself has two parameters of ours. Choices where the paper is silent:
docs/methods/ket.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.pool import take_fitting
from clew.algo.topk import DECIMALS, top_k
from clew.base.types import Evidence, Hit, Limits, Path, Step
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.methods.ket import text_candidates
from clew.methods.ket.text_candidates import TextCandidates
from clew.methods.ket.text_walk import TextSpread, find_by_walk, spread_weight
from clew.models import Models
from clew.steps import skeleton_search
from clew.steps.choosing import ChosenChunks, order_as_set
from clew.steps.skeleton import read_skeleton
from clew.steps.skeleton_search import LocalGraph
from clew.steps.subchunks import Texts
from clew.text import blocks

Core = Literal["pagerank", "random"]
Rest = Literal["walk", "keywords", "nearest", "neighbours"]
Order = Literal["walk", "cosine", "channels"]
Budgets = Literal["graph", "apart", "texts"]

_UNCHOSEN = ChosenChunks([], {})
_MIN_INFLUENCE = 1e-12  # influence whose logarithm is taken
_BATCH_SIZE = 32  # texts that are read
_MAX_PASSAGES = 999  # passages: the number of a further one would take more tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Ket:
    """KET-RAG's retrieval. The budget is hard: tables, headings and numbers count."""

    layers: ClassVar = frozenset({"chunk", "subchunk", "sentence", "term"})
    needs: ClassVar = (steps.KEYWORDS, steps.NEIGHBOURS, steps.SKETCHES["entity"], *steps.LEXICAL)
    limits: ClassVar = Limits(tokens="tokens")
    name: ClassVar[str] = "ket"

    tokens: int = 4_000  # of the whole context [λ]
    graph_share: float = 0.4  # of the tokens, for entities, relations and their texts [θ]
    core_share: float = 0.8  # of the chunks, whose triples make the graph [β]
    core: Core = "pagerank"  # how these chunks are chosen [-P, -U]
    rest: Rest = "walk"  # what the other tokens are for
    k: int = 2  # neighbours of a chunk in the graph of chunks [K]
    seed_entities: int = 10  # most similar to the query [k_e]
    pool: float = 2.0  # times the keywords' tokens, of which the best are kept
    summarise: bool = False  # let the LLM shorten long descriptions of an entity
    seed: int = 0  # of a random core
    order: Order = "walk"  # of texts: by influence, cosine to the question, or as they are found
    budgets: Budgets = "graph"  # what is filled first and leaves the rest to the other, or neither
    keyword_length: bool = True  # keywords are compared by cosine; off: by inner products of means
    ties: bool = True  # of a chunk's parts in the graph channel, by cosine; off: in their order
    as_set: bool = True  # texts are chosen as a set from the best by that order

    def __post_init__(self) -> None:
        steps.check_words(self, core=Core, rest=Rest, order=Order, budgets=Budgets)
        steps.check_range(self, 0, 1, "graph_share", "core_share")
        steps.check_least(self, 1, "tokens", "seed_entities")
        if self.k < 2 or self.k % 2:
            raise InputError(f"k must be even and at least 2, half for each kind, not {self.k}")

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        texts = Texts(snapshot, steps.dense_scores(snapshot, "subchunk", question))
        walks = self.rest == "walk" or self.order == "walk"
        walked = spread_weight(snapshot, question) if walks else None
        others = text_candidates.NOTHING
        of_graph = int(round(self.graph_share * self.tokens, DECIMALS))
        if self.budgets != "graph":
            others, used = self._fill_texts(snapshot, question, texts, walked, of_graph)
            of_graph = self.tokens - used if self.budgets == "texts" else of_graph
        graph, notes = self._search_graph(snapshot, question, texts, models, of_graph)
        if self.budgets == "graph" and self.graph_share < 1:
            others = self._find_others(snapshot, question, texts, walked, self.tokens - graph.used)
        if self.graph_share < 1 and self.rest == "keywords" and not len(snapshot.layer("sentence")):
            notes += ("no sentences, so no keywords: an imported graph has none",)
        worth = texts.cosines
        if walked is not None and self.order == "walk":
            worth = np.log(np.maximum(walked.texts, _MIN_INFLUENCE))
        coverage = steps.Coverage(snapshot, question) if self.as_set else None
        order = _Order(texts, question, worth, coverage, sorts=self.order != "channels")
        printed = _choose_printed(texts, graph, others, self.tokens, order)
        if (others.rows or graph.seeds) and not printed:
            notes += (f"no text fits into a budget of {self.tokens} tokens",)
        return Evidence(
            query=query,
            method=self.name,
            tables=graph.tables,
            hits=tuple(printed.values()),
            paths=tuple(_build_paths(snapshot, question, texts, graph, others, printed)),
            seeds=tuple(_build_seeds(snapshot, graph, others, printed)),
            notes=notes,
        )

    def _fill_texts(
        self,
        snapshot: Snapshot,
        query: steps.Query,
        texts: Texts,
        walked: TextSpread | None,
        of_graph: int,
    ) -> tuple[TextCandidates, int]:
        """Return the texts beside the graph that fit into their own share, and their tokens.

        If not even the first fits it is returned, and will be cut.
        """
        if self.graph_share == 1:
            return text_candidates.NOTHING, 0
        budget = self.tokens - of_graph
        found = self._find_others(snapshot, query, texts, walked, budget)
        fit = take_fitting(found.rows, texts.count_cost, budget)
        used = sum(map(texts.count_cost, fit)) or budget * bool(found.rows)
        return replace(found, rows=tuple(fit) or found.rows[:1]), used

    def _search_graph(
        self, snapshot: Snapshot, query: steps.Query, texts: Texts, models: Models, budget: int
    ) -> tuple[LocalGraph, tuple[str, ...]]:
        """Search the graph within a budget of tokens; also return notes."""
        if self.graph_share == 0:
            return skeleton_search.NOTHING, ()
        view = read_skeleton(snapshot, self.core_share, self.core, self.seed, self.k)
        llm = models.llm if self.summarise else None
        half, n_seeds = budget // 2, self.seed_entities
        ties = texts.cosines if self.ties else np.zeros_like(texts.cosines)
        graph = skeleton_search.search_graph(
            query, view, texts, half, half, n_seeds=n_seeds, ties=ties, llm=llm
        )
        notes = (*view.notes, *graph.notes)
        if self.summarise and llm is None:
            notes += ("no LLM to shorten descriptions: the longest instead",)
        return graph, notes

    def _find_others(
        self,
        snapshot: Snapshot,
        query: steps.Query,
        texts: Texts,
        walked: TextSpread | None,
        budget: int,
    ) -> TextCandidates:
        pool = int(self.pool * budget)
        if self.rest == "walk" and walked is not None:
            return find_by_walk(snapshot, walked, texts, pool)
        if self.rest == "keywords":
            return text_candidates.find_by_keywords(
                snapshot, query, texts, pool, by_cosine=self.keyword_length
            )
        if self.rest == "neighbours":
            return text_candidates.find_with_neighbours(snapshot, texts, budget, self.k)
        return text_candidates.find_nearest_texts(texts, budget)


@dataclass(frozen=True, slots=True)
class _Order:
    """The order in which sub-chunks are chosen and printed."""

    texts: Texts
    query: steps.Query
    worth: NDArray[np.float64]  # (n,) of each by itself
    coverage: steps.Coverage | None  # of the query, where texts are chosen as a set
    sorts: bool  # or else keeps the graph's texts before the others, both as they were found

    def sort(self, rows: Sequence[int]) -> tuple[list[int], ChosenChunks]:
        """Sort rows, best first; also mark the chunks that repeat others if chosen as a set."""
        ascending = np.array(sorted(rows), dtype=np.intp)
        ordered: list[int] = ascending[top_k(self.worth[ascending], len(rows))].tolist()
        if self.coverage is None or not ordered:
            return ordered, _UNCHOSEN
        owners, worth = self.texts.owners[ordered].tolist(), self.worth[ordered]
        snapshot = self.texts.snapshot
        places, choice = order_as_set(snapshot, self.query, owners, worth, self.coverage)
        return [ordered[i] for i in places], choice


def _choose_printed(
    texts: Texts, graph: LocalGraph, others: TextCandidates, budget: int, order: _Order
) -> dict[int, Hit]:
    """Return the sub-chunks to print by row, in order.

    Chunks already in the graph's part are not printed twice, and its unused tokens go to the
    others. If not even the first of these fits, it is truncated.
    """
    left = budget - graph.used
    printed = {each.row: texts.build_hit(each.row, skeleton_search.CHANNEL) for each in graph.texts}
    candidates = others.rows if order.coverage is None else order.sort(others.rows)[0]
    rows = [row for row in candidates if row not in printed]
    texts.read_hits(rows[:_BATCH_SIZE])
    fit = take_fitting(rows, texts.count_cost, left)[: _MAX_PASSAGES - len(printed)]
    printed |= {row: texts.build_hit(row, others.channel) for row in fit}
    if rows and not fit:
        cut = _truncate_hit(texts.build_hit(rows[0], others.channel), left)
        printed |= {rows[0]: cut} if cut.text else {}
    ordered, choice = order.sort(list(printed)) if order.sorts else (list(printed), _UNCHOSEN)
    ids = texts.snapshot.layer("chunk").ids
    if order.coverage is None and order.sorts:
        return {row: replace(printed[row], score=float(order.worth[row])) for row in ordered}
    also = (tuple(ids(choice.also.get(int(texts.owners[row]), ()))) for row in ordered)
    return {
        row: replace(printed[row], score=1 / place, also=repeated)
        for place, (row, repeated) in enumerate(zip(ordered, also, strict=True), 1)
    }


def _truncate_hit(hit: Hit, limit: int) -> Hit:
    """Truncate a hit so that its passage has at most `limit` tokens."""
    head, text = blocks.truncate_passage(hit.head, hit.text, limit)
    if not head:
        hit = replace(hit, title="", section="", page=None, last_page=None)
    return replace(hit, text=text, end=hit.start + len(text))


# -- evidence -------------------------------------------------------------------------------------


def _build_seeds(
    snapshot: Snapshot, graph: LocalGraph, others: TextCandidates, rows: Iterable[int]
) -> Iterator[Step]:
    """Yield the entities near the query, and the keywords that led to printed sub-chunks."""
    for entity, cosine in graph.seeds.items():
        yield steps.read_step(snapshot, "entity", entity, skeleton_search.LIKE, cosine)
    terms = {others.keywords[row] for row in rows if row in others.keywords}
    for term in sorted(terms, key=lambda term: (-round(others.score(term), DECIMALS), term)):
        yield steps.read_step(snapshot, "term", term, others.explain(term), others.score(term))


def _build_paths(
    snapshot: Snapshot,
    query: steps.Query,
    texts: Texts,
    graph: LocalGraph,
    others: TextCandidates,
    hits: Mapping[int, Hit],
) -> Iterator[Path]:
    """Yield the path to each printed sub-chunk: from an entity, a keyword or a neighbour."""
    by_row = {each.row: each for each in graph.texts}
    for row, hit in hits.items():
        if row in by_row:
            chunk = int(texts.owners[row])
            way = list(skeleton_search.build_thread(snapshot, query, graph, by_row[row], chunk))
        elif row in others.keywords:
            term = others.keywords[row]
            way = [
                steps.read_step(snapshot, "term", term, others.explain(term), others.score(term))
            ]
        elif others.seeds.get(row, row) != row:
            way = [texts.build_step(others.seeds[row], text_candidates.NEAR)]
        else:
            continue
        first = Step(layer="query", id="", text=query.text)
        yield Path((first, *way, texts.build_step(row, "holds it")), hit.score)


# -- the systems that the paper compares -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paper(Ket):
    """Settings that the paper's variants share: keywords and texts by cosine alone."""

    rest: Rest = "keywords"
    order: Order = "cosine"
    as_set: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRag(_Paper):
    """Text-RAG: the sub-chunks nearest to the query."""

    name: ClassVar[str] = "text_rag"
    graph_share: float = 0.0
    rest: Rest = "nearest"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnngRag(_Paper):
    """KNNG-RAG: the nearest sub-chunks, each with its neighbours in the graph of chunks."""

    name: ClassVar[str] = "knng_rag"
    graph_share: float = 0.0
    rest: Rest = "neighbours"


@dataclass(frozen=True, slots=True, kw_only=True)
class KgRag(_Paper):
    """KG-RAG: the graph of all chunks and nothing beside it, GraphRAG's local search."""

    name: ClassVar[str] = "kg_rag"
    graph_share: float = 1.0
    core_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRag(_Paper):
    """Hybrid-RAG: half from the graph of all chunks, half the nearest sub-chunks."""

    name: ClassVar[str] = "hybrid_rag"
    graph_share: float = 0.5
    core_share: float = 1.0
    rest: Rest = "nearest"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordRag(_Paper):
    """Keyword-RAG: sub-chunks by keywords alone, which needs no LLM at all."""

    name: ClassVar[str] = "keyword_rag"
    graph_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonRag(_Paper):
    """Skeleton-RAG: the graph of the core chunks alone."""

    name: ClassVar[str] = "skeleton_rag"
    graph_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KetRagU(_Paper):
    """KET-RAG-U: keywords, and the graph of a core that is a uniform random sample."""

    name: ClassVar[str] = "ket_rag_u"
    core: Core = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class KetRagP(_Paper):
    """KET-RAG-P: keywords, and the graph of the core of highest PageRank."""

    name: ClassVar[str] = "ket_rag_p"


@dataclass(frozen=True, slots=True, kw_only=True)
class KetPaper(_Paper):
    """KET-RAG-P as printed, with a context of 12,000 tokens (Algorithms 2 and 4)."""

    name: ClassVar[str] = "ket_paper"
    tokens: int = 12_000
    order: Order = "channels"
    budgets: Budgets = "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class KetReleased(KetPaper):
    """KET-RAG's released strategy "keyword"; deviations are listed in docs/methods/ket.md."""

    name: ClassVar[str] = "ket_released"
    seed_entities: int = 20
    budgets: Budgets = "texts"
    keyword_length: bool = False
    ties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridReleased(KetReleased):
    """KET-RAG's released strategy "text": the nearest sub-chunks in place of keywords."""

    name: ClassVar[str] = "hybrid_released"
    rest: Rest = "nearest"
    graph_share: float = 0.5
    core_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonReleased(KetReleased):
    """The strategy "skeleton" of that code: the graph alone."""

    name: ClassVar[str] = "skeleton_released"
    graph_share: float = 1.0


METHOD = Ket
GROUP = "paper"
_KINDS = (
    *(TextRag, KnngRag, KgRag, HybridRag, KeywordRag, SkeletonRag, KetRagU, KetRagP, KetPaper),
    *(KetReleased, HybridReleased, SkeletonReleased),
)
VARIANTS = {kind.name: kind for kind in _KINDS}
# What KET-RAG is compared with.
BASELINES = frozenset({"text_rag", "knng_rag", "kg_rag", "hybrid_rag", "hybrid_released"})
