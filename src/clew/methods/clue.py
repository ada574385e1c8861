"""Clue-RAG: beam search from the query's entities over units, and chunks of the best unit sets.

Su et al. (2025), arXiv:2507.08445, Algorithms 3 and 4. Choices where the paper is silent, and the
options beside it: docs/methods/clue.md. In large indexes an entity in very many units offers only
those of the chunks nearest to the question, since comparing all took most of the time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.beam import Beam, Tried, UnitGraph, UnitSet, Ways, grow_unit_sets
from clew.algo.topk import min_max, top_k
from clew.base.runtime.cached_values import Once
from clew.base.types import Evidence, Limits, Path, Step
from clew.index.snapshot import TRANSPOSED_LINKS, Snapshot
from clew.index.snapshot.layers import UnitsSought
from clew.models import Models
from clew.steps.choosing import CANDIDATES, build_hits, order_as_set

T = TypeVar("T")
_Links = Mapping[int, Sequence[int]]  # of units to the rows of another layer
By = Literal["sets", "chunks"]  # what ranks chunks: the sets that they support, or themselves

CHUNK_SHARE = 0.5  # of a chunk's own relevance beside the votes of its sets


@dataclass(frozen=True, slots=True, kw_only=True)
class Clue:
    """Clue-RAG's retrieval. The first eight fields are the paper's; `clue_paper` has its values."""

    layers: ClassVar = frozenset({"chunk", "unit", "entity", "term"})
    limits: ClassVar = Limits(chunks="chunks")
    name: ClassVar[str] = "clue"
    needs: ClassVar = (
        *steps.LEXICAL,
        steps.SKETCHES["chunk"],
        *steps.MENTIONS,
        TRANSPOSED_LINKS["entity", "unit"],
        TRANSPOSED_LINKS["unit", "chunk"],
    )

    chunks: int = 10  # chunks returned [N]
    k: int = 3  # units per entity, entities per query name, anchored units [K]
    depth: int = 3  # units in a set [D]
    width: int = 20  # unit sets kept per depth [M]
    entity_anchoring: bool = True  # seeds: entities similar to the query's names [S-A]
    unit_anchoring: bool = True  # seeds: entities of the units nearest to the query [K-A]
    query_updating: bool = True  # search on for what the units leave unsaid [Q-U]

    ways: Ways = (
        "union"  # to one set of units: one state; the "last", released; "separate", printed
    )

    # Ours: what each is worth, and the paper's setting, stand in docs/results/clue.md.
    exact_names: bool = True  # seeds: entities whose name stands in the query, not their like
    seed_units: bool = True  # anchored units are states of depth one
    title_links: bool = True  # every unit mentions its document's title
    ranking: By = "sets"  # by the sets a chunk supports, or by itself
    fill: bool = True  # where fewer chunks than asked for were found, hybrid ones follow
    as_set: bool = True  # chunks are chosen as a set from the best by that ranking

    def __post_init__(self) -> None:
        steps.check_words(self, ranking=By, ways=Ways)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        question = steps.read_query(models, query)
        relevance = steps.Relevance(snapshot, models, question)
        linked, notes = self._link_query(query, snapshot, models)
        sets = self._search_sets(snapshot, question, relevance, linked)
        if not sets:
            notes += ("no entity or unit to start from: used the chunks nearest to the query",)
            return steps.nearest_chunks(snapshot, question, self.name, self.chunks, notes)
        support = _collect_support(snapshot, sets)
        wanted = max(self.chunks, CANDIDATES) if self.as_set else self.chunks
        rows, scores = self._rank_chunks(relevance, support, wanted)
        # The surest of an entity's links says why it is a seed.
        reasons = {link.row: link.reason for link in sorted(linked, key=lambda link: link.score)}
        ranked = set(rows)
        if self.fill and len(rows) < wanted:
            hybrid = steps.hybrid_ranking(snapshot, question)
            others = [row for row in hybrid.best(wanted).tolist() if row not in ranked]
            more = others[: wanted - len(rows)]
            own = hybrid.of(np.array(more, dtype=np.intp))
            below = scores.min() - (1.0 - own)  # hybrid scores are at most 1
            rows, scores = rows + more, np.concatenate([scores, below])
        if self.as_set:
            order, choice = order_as_set(snapshot, question, rows, scores, most=self.chunks)
            rows = [rows[i] for i in order[: self.chunks]]
            hits = build_hits(snapshot, rows, choice)
        else:
            hits = steps.hits(snapshot, rows, scores)
        seeds = [steps.UnreadStep("entity", *each) for each in sorted(reasons.items())]
        return Evidence(
            query=query,
            method=self.name,
            hits=hits,
            paths=_read_paths(
                snapshot, query, {row: support[row].best for row in rows if row in ranked}, reasons
            ),
            seeds=tuple(steps.read_steps(snapshot, seeds)),
            notes=notes,
        )

    def seeks(self, query: str, snapshot: Snapshot, models: Models) -> UnitsSought:
        """Return the entities whose units the search compares, and the directions."""
        question = steps.read_query(models, query)
        relevance = steps.Relevance(snapshot, models, question)
        linked, _ = self._link_query(query, snapshot, models)
        entities: list[int] = []
        directions = [np.empty((0, len(question.vector)), dtype=np.float32)]

        def record_tried(entity: int, towards: NDArray[np.float32]) -> None:
            entities.extend([entity] * len(towards))
            directions.append(towards)

        self._search_sets(snapshot, question, relevance, linked, record_tried)
        return UnitsSought(
            entities=np.array(entities, dtype=np.int64),
            directions=np.concatenate(directions),
            units=self.k + self.depth - 1,  # those of a set are not tried again
            titles=self.title_links,
        )

    def _search_sets(
        self,
        snapshot: Snapshot,
        query: steps.Query,
        relevance: steps.Relevance,
        linked: Sequence[steps.Linked],
        tried: Tried | None = None,
    ) -> list[UnitSet]:
        near = steps.units_near(snapshot, query)
        graph = _build_graph(snapshot, near, self.title_links)
        anchored = steps.nearest_units(snapshot, query, self.k, near)[0].tolist()
        seeds = {link.row for link in linked}
        if self.unit_anchoring:
            seeds.update(entity for own in graph.entities_of(anchored) for entity in own)
        return grow_unit_sets(
            graph,
            sorted(seeds),
            query.vector,
            relevance.of_unit_sets,
            Beam(
                depth=self.depth,
                width=self.width,
                k=self.k,
                query_updating=self.query_updating,
                ways=self.ways,
            ),
            seed_units=anchored if self.unit_anchoring and self.seed_units else (),
            tried=tried,
        )

    def _rank_chunks(
        self, relevance: steps.Relevance, support: "Mapping[int, _Support]", n: int
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Return the `n` best chunks of the kept sets, and their scores."""
        rows = sorted(support)
        scores = relevance.of_chunks(rows)
        if self.ranking == "sets":
            votes = np.array([support[row].votes for row in rows])
            scores = min_max(votes) + CHUNK_SHARE * min_max(scores)
        best = top_k(scores, n)
        return [rows[i] for i in best], scores[best]

    def _link_query(
        self, query: str, snapshot: Snapshot, models: Models
    ) -> tuple[list[steps.Linked], tuple[str, ...]]:
        linked = steps.named_entities(snapshot, query) if self.exact_names else []
        if not self.entity_anchoring:
            return linked, ()
        names, notes = steps.query_names(models, query)
        if self.exact_names:  # a name that the index has is not searched for its like
            same = steps.same_names(snapshot, names)
            mentions = {link.mention for link in same}
            linked, names = linked + same, [name for name in names if name not in mentions]
        return linked + steps.similar_entities(snapshot, models, names, self.k), notes


def _build_graph(
    snapshot: Snapshot,
    near: NDArray[np.integer] | None,
    title_links: bool,  # noqa: FBT001 -- a setting
) -> UnitGraph:
    """Return the graph of units and entities for one question, read lazily and cached.

    `near` are the units of the chunks nearest to the question, of a large index.
    """
    layer = snapshot.layer("unit")
    entities: Once[int] = Once(len(layer))
    units: Once[int] = Once(len(snapshot.layer("entity")))

    def read_entities(new: NDArray[np.integer]) -> list[tuple[int, ...]]:
        links = [snapshot.linked("unit", "entity").entries_of(new)]
        if title_links:
            links.append(steps.chunk_titles(snapshot, layer.columns["chunk"][new]))
        together = zip(*(link.split_rows() for link in links), strict=True)
        return [tuple(sorted(set().union(*own))) for own in together]

    def read_units(new: NDArray[np.integer]) -> list[NDArray[np.integer]]:
        return steps.entity_units(snapshot, new, titles=title_links, near=near)

    return UnitGraph(
        partial(_get_rows, entities, read_entities),
        partial(_get_rows, units, read_units),
        layer.vectors,
    )


def _get_rows(
    cache: Once[int], read: Callable[[NDArray[np.integer]], Sequence[T]], rows: Sequence[int]
) -> list[T]:
    """Return cached values of some rows; missing ones are read together."""
    values = cache.get_all(rows, lambda new: read(np.array(new)))
    return [values[row] for row in rows]


@dataclass(slots=True)
class _Support:
    """The votes of the kept sets for a chunk."""

    best: UnitSet  # the first of the best sets that hold a unit of the chunk
    votes: float = 0.0  # the sum over all of them of 1 / place in their depth, once per unit


def _collect_support(snapshot: Snapshot, sets: Sequence[UnitSet]) -> dict[int, _Support]:
    unit_chunks = _read_links(snapshot, "chunk", sets)
    first: dict[int, int] = {}  # of each depth, whose sets come best first
    places = [i - first.setdefault(len(own.units), i) + 1 for i, own in enumerate(sets)]
    support: dict[int, _Support] = {}
    for i in top_k(np.array([state.score for state in sets]), len(sets)).tolist():
        for unit in sets[i].units:
            for chunk in unit_chunks[unit]:
                support.setdefault(chunk, _Support(sets[i])).votes += 1 / places[i]
    return support


def _read_links(snapshot: Snapshot, layer: str, sets: Iterable[UnitSet]) -> _Links:
    """Return the rows of a layer that the units of some sets are linked to, by unit."""
    units = list(dict.fromkeys(unit for own in sets for unit in own.units))
    entries = snapshot.linked("unit", layer).entries_of(np.array(units, dtype=np.intp))
    return dict(zip(units, entries.split_rows(), strict=True))


def _read_paths(
    snapshot: Snapshot, query: str, sets: Mapping[int, UnitSet], reasons: Mapping[int, str]
) -> tuple[Path, ...]:
    """Return a path to each chunk, over its set's units up to the first one in the chunk."""
    links = [_read_links(snapshot, to, sets.values()) for to in ("chunk", "entity")]
    stops = [list(_trace_path(own, chunk, links, reasons)) for chunk, own in sets.items()]
    read = iter(steps.read_steps(snapshot, [stop for each in stops for stop in each]))
    start = Step(layer="query", id="", text=query)
    return tuple(
        Path((start, *islice(read, len(each))), own.score)
        for each, own in zip(stops, sets.values(), strict=True)
    )


def _trace_path(
    state: UnitSet, chunk: int, links: Sequence[_Links], reasons: Mapping[int, str]
) -> Iterator[steps.UnreadStep]:
    unit_chunks, unit_entities = links
    before: set[int] = set()  # entities of the units so far
    for unit, via in zip(state.units, state.via, strict=True):
        mentioned = unit_entities[unit]
        why = "near the question"
        if via >= 0:
            where = "in a sentence before" if via in before else "in a sentence near the question"
            yield steps.UnreadStep("entity", via, reasons.get(via, where))
            why = "mentions it" if via in mentioned else "stands under this title"
        yield steps.UnreadStep("unit", unit, why)
        before.update(mentioned)
        if chunk in unit_chunks[unit]:
            break
    yield steps.UnreadStep("chunk", chunk, "holds it")


@dataclass(frozen=True, slots=True, kw_only=True)
class CluePaper(Clue):
    """Clue-RAG as the paper's Algorithms 3 and 4 have it."""

    name: ClassVar[str] = "clue_paper"

    chunks: int = 5
    width: int = 5
    ways: Ways = "separate"
    exact_names: bool = False
    seed_units: bool = False
    title_links: bool = False
    ranking: By = "chunks"
    fill: bool = False
    as_set: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClueReleased(CluePaper):
    """Clue-RAG as the authors' public code runs it; deviations: docs/methods/clue.md."""

    name: ClassVar[str] = "clue_released"

    ways: Ways = "last"


METHOD = Clue
GROUP = "paper"
VARIANTS = {"clue_paper": CluePaper, "clue_released": ClueReleased}
