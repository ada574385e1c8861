"""Rank answers in a graph, found along the relations that a question names.

Clew's own. What is weighed: docs/methods/paths.md, and what was tried: docs/results/paths.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew import steps
from clew.algo.links import neighbours
from clew.base.types import Evidence, EvidenceGraph, Limits, Path, Step
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.evidence import NO_TRIPLES, build_facts, table_facts
from clew.steps.graph_paths import (
    RankedAnswers,
    ReachedEntity,
    ReachLimits,
    Reading,
    rank_answers,
    to_graph_answers,
)

_NO_TRIPLES_NOTE = f"{NO_TRIPLES}: used the chunks nearest to the question"
_NO_NAME_NOTE = (
    "the question names nothing that has a triple: used the chunks nearest to the question"
)
_NO_PATH_NOTE = "no path begins at what the question names: used the chunks nearest to it"
_LIMIT_NOTE = "some paths exceed the limit of triples (edges) and were left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Retrieval over triples: the ends of the paths that match the question's relations."""

    layers: ClassVar = frozenset({"chunk", "entity", "term", "triple"})
    needs: ClassVar = (steps.SKETCHES["entity"],)
    limits: ClassVar = Limits(chunks="chunks")
    name: ClassVar[str] = "paths"

    chunks: int = 15  # returned
    answers: int = 50  # entities ranked
    facts: int = 60  # triples shown; an answer is left out if its way is not among them
    hops: int = 3  # triples between a name and an answer
    walks: int = 5  # kinds of ways that count, the best ones
    width: int = 30  # relations followed, those nearest to the question's words
    edges: int = 1_000_000  # triples that are gone along from one name
    reading: Reading = "words"  # of the question; "text": all as one text, as a plain method does

    def __post_init__(self) -> None:
        steps.check_words(self, reading=Reading)
        counts = ("chunks", "answers", "facts", "hops", "walks", "width", "edges")
        steps.check_least(self, 1, *counts)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if not len(snapshot.layer("triple")):
            return self._retrieve_near(query, snapshot, models, _NO_TRIPLES_NOTE)
        limits = ReachLimits(
            reading=self.reading,
            hops=self.hops,
            walks=self.walks,
            width=self.width,
            answers=self.answers,
            edges=self.edges,
        )
        answers = rank_answers(snapshot, models, query, limits)
        if not answers.reached:
            return self._retrieve_near(
                query, snapshot, models, _NO_PATH_NOTE if answers.starts else _NO_NAME_NOTE
            )
        return self._build_evidence(snapshot, query, answers)

    def _build_evidence(self, snapshot: Snapshot, query: str, ranked: RankedAnswers) -> Evidence:
        """Return the first triples on the paths to answers, and their first chunks.

        Answers are left out from the first one whose path does not fit. Chunks are ordered by their
        first fact.
        """
        reached, rows = _take_fitting(ranked.reached, self.facts)
        stated = build_facts(snapshot, rows, [(1, 0)] * len(rows))
        entities = _build_entities(snapshot, query, ranked, reached, rows)
        names = {step.id: step.text for step in entities}
        answers = to_graph_answers(snapshot, reached)
        places = _find_chunks(snapshot, rows, self.chunks)
        scores = 1.0 / np.arange(1, len(places) + 1)
        hits = steps.hits(snapshot, list(places), scores)
        through = {row: each for each in reversed(reached) for row in each.triples}
        starts = list(dict.fromkeys(start.entity for start in ranked.starts))
        seeds = entities[: len(starts)]
        stops = dict(zip(starts, seeds, strict=True))
        paths = [
            _build_thread(
                snapshot, query, through[row], row, chunk, score, stops[through[row].start]
            )
            for (chunk, row), score in zip(places.items(), scores.tolist(), strict=True)
        ]
        return Evidence(
            query=query,
            method=self.name,
            tables=(table_facts(stated, names),),
            hits=tuple(replace(hit, channel="triple") for hit in hits),
            paths=tuple(paths),
            seeds=seeds,
            graph=EvidenceGraph(entities=entities, facts=stated, answers=answers),
            notes=(_LIMIT_NOTE,) if ranked.ended else (),
        )

    def _retrieve_near(self, query: str, snapshot: Snapshot, models: Models, note: str) -> Evidence:
        scores = steps.hybrid_scores(snapshot, steps.read_query(models, query))
        return steps.ranked(snapshot, query, self.name, scores, self.chunks, notes=(note,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsPlain(Paths):
    """Return the first answers whose paths together have at most `most` triples, and these.

    The names in the question do not count.
    """

    name: ClassVar[str] = "paths_plain"

    hops: int = 2
    reading: Reading = "text"


# -- evidence: the facts on the ways to answers, and the chunks where these stand -----------------


def _take_fitting(
    reached: Sequence[ReachedEntity], most: int
) -> tuple[list[ReachedEntity], list[int]]:
    """Return the first answers whose paths have at most `most` triples, and these triples."""
    rows: dict[int, None] = {}
    first: list[ReachedEntity] = []
    for each in reached:
        after = rows | dict.fromkeys(each.triples)
        if len(after) > most and first:
            break
        rows = after
        first.append(each)
    return first, list(rows)


def _build_entities(
    snapshot: Snapshot,
    query: str,
    ranked: RankedAnswers,
    reached: Sequence[ReachedEntity],
    rows: Sequence[int],
) -> tuple[Step, ...]:
    """Return the named entities, the answers, and the entities in between."""
    columns = snapshot.layer("triple").columns
    reasons = {
        start.entity: steps.Linked(start.entity, query[slice(*start.span)], start.cosine).reason
        for start in ranked.starts
    }
    scores: dict[int, float] = dict.fromkeys(reasons, 1.0)
    for each in reached:
        reasons.setdefault(each.entity, f"an answer by: {', '.join(each.relations)}")
        scores.setdefault(each.entity, each.score)
    for row in rows:
        for name in ("subject", "object"):
            reasons.setdefault(int(columns[name][row]), "on the way")
    layer, entities = snapshot.layer("entity"), list(reasons)
    pairs = zip(entities, layer.ids(entities), layer.texts(entities), strict=True)
    return tuple(
        Step(layer="entity", id=key, text=text, reason=reasons[row], score=scores.get(row))
        for row, key, text in pairs
    )


def _find_chunks(snapshot: Snapshot, rows: Sequence[int], most: int) -> Mapping[int, int]:
    """Return the first chunks of triples, each with its first triple."""
    link = snapshot.link("triple", "chunk")
    places: dict[int, int] = {}
    for row in rows:
        for chunk in neighbours(link, row).tolist():
            places.setdefault(chunk, row)
    return dict(list(places.items())[:most])


def _build_thread(  # noqa: PLR0917 -- what a path is made of
    snapshot: Snapshot,
    query: str,
    answer: ReachedEntity,
    row: int,
    chunk: int,
    score: float,
    start: Step,  # the entity that the question names
) -> Path:
    """Return the path over a start's triples to a chunk with one of them."""
    passed = answer.triples[: answer.triples.index(row) + 1]
    names = ("continues from what is named", *["goes on"] * (len(passed) - 1))
    between = [
        steps.read_step(snapshot, "triple", each, reason)
        for each, reason in zip(passed, names, strict=True)
    ]
    first = Step(layer="query", id="", text=query)
    last = steps.read_step(snapshot, "chunk", chunk, "holds it", score)
    return Path((first, start, *between, last), score)


METHOD = Paths
GROUP = "own"
VARIANTS = {"paths_plain": PathsPlain}
BASELINES = ("paths_plain",)
