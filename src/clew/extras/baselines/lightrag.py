"""LightRAG: find entities by specific keywords of a question, relations by general ones.

Guo et al. (2024), arXiv:2410.05779. An LLM gives keywords; without one they are the question's
names, and the question. Where the paper and its released code differ: docs/methods/lightrag.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.links import Matrix, take_rows
from clew.base.derived import Derived
from clew.base.types import Evidence, Limits, Path, Step, Table
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema
from clew.steps.evidence import NO_TRIPLES
from clew.text.normalize import collapse

T = TypeVar("T")
Mode = Literal["hybrid", "local", "global", "mix"]

_WORDS = {"type": "array", "items": {"type": "string"}}
_SCHEMA = closed_schema({"specific": _WORDS, "general": _WORDS})


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords to search entities and relations for, with a note if no LLM gave them."""

    specific: str
    general: str
    notes: tuple[str, ...] = ()


class NearRow(NamedTuple):
    """An entity or a triple near to keywords."""

    layer: Literal["entity", "triple"]
    row: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Level:
    """The results for keywords of one kind, best first."""

    entities: Sequence[int] = ()
    triples: Sequence[int] = ()
    chunks: dict[int, NearRow | None] = field(default_factory=dict)  # what led to each, by its row


@dataclass(frozen=True, slots=True, kw_only=True)
class LightRag:
    """LightRAG's retrieval on two levels, over the triples of the index."""

    layers: ClassVar = frozenset({"chunk", "entity", "triple"})
    needs: ClassVar = (steps.SKETCHES["chunk"], steps.SKETCHES["entity"], steps.SKETCHES["triple"])
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 10  # chunks returned
    mode: Mode = "hybrid"  # both levels; one of them; or both and the chunks nearest to the query
    top_k: int = 60  # entities, and relations, nearest to the keywords

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "top_k")
        steps.check_words(self, mode=Mode)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        if not len(snapshot.layer("triple")):
            note = f"{NO_TRIPLES}: used the chunks nearest to the question"
            return steps.nearest_chunks(snapshot, question, "lightrag", self.chunks, (note,))
        words = read_keywords(models, query)
        vectors = models.embedder.embed([words.specific, words.general], kind="query")
        levels: list[Level] = []
        if self.mode != "global":
            levels.append(self._search_entities(snapshot, vectors[:1]))
        if self.mode != "local":
            levels.append(self._search_relations(snapshot, vectors[1:]))
        if self.mode == "mix":
            nearest, _ = steps.nearest(snapshot, "chunk", question, self.chunks)
            levels.append(Level(chunks=dict.fromkeys(nearest.tolist())))
        led: dict[int, NearRow | None] = {}
        for row, near in _take_turns(level.chunks.items() for level in levels):
            led.setdefault(row, near)
        rows = list(islice(led, self.chunks))
        elements = dict.fromkeys(near for row in rows if (near := led[row]))
        through = {near: _build_step(snapshot, near) for near in elements}
        scores = 1 / np.arange(1, len(rows) + 1)
        return Evidence(
            query=query,
            method="lightrag",
            tables=self._build_tables(snapshot, levels),
            hits=steps.hits(snapshot, rows, scores),
            paths=tuple(
                Path(_build_thread(snapshot, query, through, led[row], row), score)
                for row, score in zip(rows, scores.tolist(), strict=True)
            ),
            seeds=tuple(through.values()),
            notes=words.notes,
        )

    def _search_entities(self, snapshot: Snapshot, vector: NDArray[np.float32]) -> Level:
        """Return the entities nearest to a (1, d) vector, with their triples and chunks.

        Triples of the entities with most of them come first; chunks come by entity, then by how
        many of its triples they have.
        """
        own = snapshot.get(_ENTITY_TRIPLES)
        [near] = steps.near_rows(
            snapshot, "entity", vector, self.top_k, only=np.diff(own.indptr) > 0
        )
        entities = np.array([entity for entity, _ in near], dtype=np.intp)
        of_entities = take_rows(own, entities)
        within = snapshot.linked("triple", "chunk").entries_of(of_entities.indices)
        n_chunks = within.shape[1]
        pairs, counts = np.unique(
            of_entities.owners[within.owners] * n_chunks + within.indices, return_counts=True
        )
        places, rows = np.divmod(pairs, n_chunks)
        chunks: dict[int, NearRow | None] = {}
        for i in np.lexsort((rows, -counts, places)).tolist():
            chunks.setdefault(int(rows[i]), NearRow("entity", *near[places[i]]))
        triples = np.unique(of_entities.indices)
        return Level(entities.tolist(), _order_triples(snapshot, own, triples), chunks)

    def _search_relations(self, snapshot: Snapshot, vector: NDArray[np.float32]) -> Level:
        """Return the triples nearest to a (1, d) vector, with their ends and chunks."""
        [near] = steps.near_rows(snapshot, "triple", vector, self.top_k)
        triples, columns = [triple for triple, _ in near], snapshot.layer("triple").columns
        within = snapshot.linked("triple", "chunk").entries_of(np.array(triples, dtype=np.intp))
        chunks: dict[int, NearRow | None] = {}
        for place, row in zip(within.owners.tolist(), within.indices.tolist(), strict=True):
            chunks.setdefault(row, NearRow("triple", *near[place]))
        ends = ([int(columns[end][row]) for end in ("subject", "object")] for row in triples)
        return Level(list(dict.fromkeys(chain.from_iterable(ends))), triples, chunks)

    def _build_tables(self, snapshot: Snapshot, levels: Sequence[Level]) -> tuple[Table, ...]:
        """Return tables of the entities and relations of both levels, `top_k` of each."""
        entities = list(islice(_distinct(level.entities for level in levels), self.top_k))
        triples = list(islice(_distinct(level.triples for level in levels), self.top_k))
        layer, columns = snapshot.layer("entity"), snapshot.layer("triple").columns
        subjects, objects = (
            layer.texts([int(columns[end][row]) for row in triples])
            for end in ("subject", "object")
        )
        names = tuple((name,) for name in layer.texts(entities))
        facts = zip(subjects, snapshot.triples.relations(triples), objects, strict=True)
        return (
            Table(name="Entities", columns=("entity",), rows=names),
            Table(name="Relations", columns=("source", "relation", "target"), rows=tuple(facts)),
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


def _link_triples(snapshot: Snapshot) -> Matrix:
    """Return (n_entities, n_triples): the triples of each entity."""
    columns, n = snapshot.layer("triple").columns, len(snapshot.layer("triple"))
    ends = np.concatenate([columns["subject"], columns["object"]]).astype(np.int64)
    places = ends, np.tile(np.arange(n), 2)
    return csr_array((np.ones(2 * n), places), shape=(len(snapshot.layer("entity")), n))


_ENTITY_TRIPLES = Derived("triples of entities", _link_triples)


def _order_triples(snapshot: Snapshot, own: Matrix, triples: NDArray[np.integer]) -> list[int]:
    """Sort triples by the degrees of their ends, then by their number of chunks."""
    columns, degrees = snapshot.layer("triple").columns, np.diff(own.indptr)
    ranks = degrees[columns["subject"][triples]] + degrees[columns["object"][triples]]
    weights = snapshot.linked("triple", "chunk").counts_of(triples)
    order: list[int] = triples[np.lexsort((triples, -weights, -ranks))].tolist()
    return order


def _take_turns(lists: Iterable[Iterable[T]]) -> Iterator[T]:
    """Interleave lists: the first element of each list, then the second, and so on."""
    missing = object()
    for each in chain.from_iterable(zip_longest(*lists, fillvalue=missing)):
        if each is not missing:
            yield each  # type: ignore[misc]


def _distinct(lists: Iterable[Sequence[int]]) -> Iterable[int]:
    return dict.fromkeys(_take_turns(lists))


def _build_step(snapshot: Snapshot, near: NearRow) -> Step:
    if near.layer == "entity":
        return steps.read_step(
            snapshot, "entity", near.row, "near the specific keywords", near.cosine
        )
    return steps.read_step(snapshot, "triple", near.row, "near the general keywords", near.cosine)


def _build_thread(
    snapshot: Snapshot,
    query: str,
    through: Mapping[NearRow, Step],
    near: NearRow | None,
    chunk: int,
) -> tuple[Step, ...]:
    start = Step(layer="query", id="", text=query)
    if near is None:
        return (start, steps.read_step(snapshot, "chunk", chunk, "near the question"))
    return (start, through[near], steps.read_step(snapshot, "chunk", chunk, "holds it"))


METHOD = LightRag
GROUP = "baseline"
