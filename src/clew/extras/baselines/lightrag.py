"""LightRAG: find entities by specific keywords of a question, relations by general ones.

Guo et al. (2024), arXiv:2410.05779. An LLM gives keywords; without one they are the question's
names, and the question. A relation is an unordered pair of entities. Where the paper and its
released code differ: docs/methods/lightrag.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.links import entry_rows, neighbours, take_rows
from clew.algo.topk import top_k
from clew.base.derived import Arrays, CachedArrays, Derived
from clew.base.types import Evidence, Limits, Step, Table
from clew.index.snapshot import Snapshot
from clew.models import Embedder, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema
from clew.steps.evidence import NO_TRIPLES
from clew.steps.skeleton import Skeleton, read_whole_graph
from clew.steps.skeleton_search import RowTexts
from clew.text.normalize import collapse

T = TypeVar("T")
Mode = Literal["hybrid", "local", "global", "mix"]

_WORDS = {"type": "array", "items": {"type": "string"}}
_SCHEMA = closed_schema({"specific": _WORDS, "general": _WORDS})
_CHUNKS_EACH = 2.5  # chunks that an entity or a relation brings, in the mean
_LONGEST = 300  # tokens of a description in a table
_LONGEST_RELATION = 500  # of the descriptions that a relation's vector has


def relation_cosines(snapshot: Snapshot, models: Models, words: str) -> NDArray[np.float64]:
    """Return the (r,) cosines between the keywords and every relation of the graph.

    Where no triple has a description, a relation's is the best one of its triples.
    """
    [vector] = models.embedder.embed([words], kind="query")
    if snapshot.get(_DESCRIBED):
        vectors = snapshot.get(RELATIONS, embedder=lambda: models.embedder)["vectors"]
        return np.asarray(vectors @ vector, dtype=np.float64)
    triples = read_whole_graph(snapshot).relations.triples
    cosines = np.full(triples.shape[0], -1.0)
    near = snapshot.layer("triple").vectors @ vector
    np.maximum.at(cosines, entry_rows(triples), near[triples.indices])
    return cosines


def _has_descriptions(snapshot: Snapshot) -> bool:
    layer = snapshot.triples
    return any(layer.descriptions(row) for row in range(len(layer)))


_DESCRIBED = Derived("whether triples have descriptions", _has_descriptions)


def _embed_relations(snapshot: Snapshot, *, embedder: Callable[[], Embedder]) -> Arrays:
    """Return the (r, d) vectors of relations: of their words, their ends and all descriptions."""
    graph = read_whole_graph(snapshot)
    triples, rows = graph.relations.triples, RowTexts(snapshot, graph, None, _LONGEST_RELATION)
    texts = []
    for i, row in enumerate(rows.relation_rows(range(triples.shape[0]))):
        words = snapshot.triples.relations(neighbours(triples, i).tolist())
        texts.append("\n".join((", ".join(dict.fromkeys(words)), *row[1:-1])))
    return {"vectors": embedder().embed(texts, kind="document")}


RELATIONS = CachedArrays(
    "relations",
    _embed_relations,
    inputs=("triple", "description"),
    lazy=True,
    embeds=True,
    worth=_has_descriptions,
)


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords to search entities and relations for, with a note if no LLM gave them."""

    specific: str
    general: str
    notes: tuple[str, ...] = ()


class LedBy(NamedTuple):
    """What led to a chunk: an entity, or a relation by one of its triples."""

    layer: Literal["entity", "triple"]
    row: int


Level = tuple[list[int], list[int]]  # the entities and relations of keywords, best first


@dataclass(frozen=True, slots=True, kw_only=True)
class LightRag:
    """LightRAG's retrieval on two levels, over the entities and relations of the index."""

    layers: ClassVar = frozenset({"chunk", "entity", "triple"})
    needs: ClassVar = (steps.SKETCHES["chunk"], steps.SKETCHES["entity"], RELATIONS)
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    mode: Mode = "hybrid"  # both levels; one of them; or both and the chunks nearest to the query
    top_k: int = 40  # entities, and relations, nearest to the keywords

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "top_k")
        steps.check_words(self, mode=Mode)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        if not len(snapshot.layer("triple")):
            note = f"{NO_TRIPLES}: used the chunks nearest to the question"
            return steps.nearest_chunks(snapshot, question, "lightrag", self.chunks, (note,))
        words, graph = read_keywords(models, query), read_whole_graph(snapshot)
        levels: list[Level] = []
        if self.mode != "global":
            specific = steps.read_query(models, words.specific)
            levels.append(self._search_entities(snapshot, graph, specific))
        if self.mode != "local":
            levels.append(self._search_relations(snapshot, graph, models, words.general))
        entities = list(dict.fromkeys(_take_turns(level[0] for level in levels)))
        relations = list(dict.fromkeys(_take_turns(level[1] for level in levels)))
        lists = list(_find_chunks(snapshot, graph, question, entities, relations))
        if self.mode == "mix":
            nearest, _ = steps.nearest(snapshot, "chunk", question, self.chunks)
            lists.insert(0, dict.fromkeys(nearest.tolist()))
        led: dict[int, LedBy | None] = {}
        for row, near in _take_turns(each.items() for each in lists):
            led.setdefault(row, near)
        rows = list(islice(led, self.chunks))
        through = {
            near: steps.read_step(snapshot, near.layer, near.row, "found by the keywords")
            for row in rows
            if (near := led[row])
        }
        return steps.build_evidence(
            snapshot,
            query,
            "lightrag",
            steps.by_rank(rows),
            lambda row: _trace(snapshot, through, led[row], row),
            tables=self._build_tables(snapshot, graph, entities, relations),
            seeds=tuple(through.values()),
            notes=words.notes,
        )

    def _search_entities(self, snapshot: Snapshot, graph: Skeleton, words: steps.Query) -> Level:
        """Return the entities nearest to keywords, and their relations.

        Relations come by the degrees of their ends, then by weight.
        """
        entities, _ = graph.find_nearest(snapshot, words, self.top_k)
        relations = graph.relations
        own = np.unique(take_rows(relations.of_entity, entities).indices)
        degrees = relations.degree[relations.ends[own]].sum(axis=1)
        order = np.lexsort((own, -relations.weight[own], -degrees))
        return entities.tolist(), own[order].tolist()

    def _search_relations(
        self, snapshot: Snapshot, graph: Skeleton, models: Models, words: str
    ) -> Level:
        """Return the relations nearest to keywords, and their ends."""
        best = top_k(relation_cosines(snapshot, models, words), self.top_k)
        ends = dict.fromkeys(graph.relations.ends[best].ravel().tolist())
        return list(ends), best.tolist()

    def _build_tables(
        self, snapshot: Snapshot, graph: Skeleton, entities: Sequence[int], relations: Sequence[int]
    ) -> tuple[Table, ...]:
        """Return tables of the first `top_k` entities and relations, with what is said of them."""
        texts = RowTexts(snapshot, graph, None, _LONGEST)
        entities, relations = entities[: self.top_k], relations[: self.top_k]
        names = snapshot.layer("entity").texts(entities)
        said = (texts.describe_entity(row, name) for row, name in zip(entities, names, strict=True))
        described = tuple(zip(names, said, strict=True))
        related = tuple(row[1:-1] for row in texts.relation_rows(relations))
        columns = ("source", "target", "description")
        return (
            Table(name="Entities", columns=("entity", "description"), rows=described),
            Table(name="Relations", columns=columns, rows=related),
        )


def read_keywords(models: Models, query: str) -> Keywords:
    """Return the specific and the general keywords of a question.

    Without an LLM, or where it gives none, they are the names in the question, and the question.
    """
    if models.llm is None:
        names, notes = steps.query_names(models, query)
        return Keywords(", ".join(names) or query, query, notes)
    prompt = fill_prompt("keywords", schema=_SCHEMA, max_tokens=256, question=collapse(query))
    reply = steps.reply_to(models.llm, prompt)
    if reply.error:
        note = f"the LLM gave no keywords ({reply.error}): the question instead"
        return Keywords(query, query, (note,))
    specific, general = (
        ", ".join(filter(str.strip, reply.data[kind])) for kind in ("specific", "general")
    )
    return Keywords(specific or query, general or query)


def _find_chunks(
    snapshot: Snapshot,
    graph: Skeleton,
    query: steps.Query,
    entities: Sequence[int],
    relations: Sequence[int],
) -> Iterator[dict[int, LedBy | None]]:
    """Yield the chunks of entities, then the other ones of relations, with what led to each.

    Of either kind those nearest to the question, 2.5 for each entity or relation.
    """
    seen: dict[int, LedBy | None] = {}
    triples = [int(neighbours(graph.relations.triples, row)[0]) for row in relations]
    kinds = (
        (graph.entity_chunks, entities, [LedBy("entity", row) for row in entities]),
        (graph.relations.chunks, relations, [LedBy("triple", row) for row in triples]),
    )
    for link, rows, nears in kinds:
        within = take_rows(link, np.array(rows, dtype=np.intp))
        led: dict[int, LedBy | None] = {}
        for place, chunk in zip(within.owners.tolist(), within.indices.tolist(), strict=True):
            if chunk not in seen:
                led.setdefault(chunk, nears[place])
        chunks = np.array(sorted(led), dtype=np.intp)
        cosines = steps.cosines_of(snapshot, "chunk", query, chunks)
        best = chunks[top_k(cosines, int(_CHUNKS_EACH * len(rows)))]
        seen |= (found := {chunk: led[chunk] for chunk in best.tolist()})
        yield found


def _take_turns(lists: Iterable[Iterable[T]]) -> Iterator[T]:
    """Interleave lists: the first element of each list, then the second, and so on."""
    return (each for each in chain.from_iterable(zip_longest(*lists)) if each is not None)


def _trace(
    snapshot: Snapshot, through: Mapping[LedBy, Step], near: LedBy | None, chunk: int
) -> Iterator[Step]:
    if near is not None:
        yield through[near]
    reason = "near the question" if near is None else "holds it"
    yield steps.read_step(snapshot, "chunk", chunk, reason)


METHOD = LightRag
GROUP = "baseline"
