"""Ranked answers as evidence: the facts on the ways to them, and the chunks where these stand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from clew import steps
from clew.algo.links import neighbours
from clew.graph_paths import RankedAnswers, ReachedEntity, to_graph_answers
from clew.snapshot import Snapshot
from clew.snapshot.layers import TripleLayer
from clew.types import Evidence, EvidenceGraph, Fact, Path, Step, Table

_COLUMNS = ("subject", "relation", "object")


def build_evidence(
    snapshot: Snapshot,
    query: str,
    found: RankedAnswers,
    *,
    method: str,
    chunks: int,
    facts: int,
    notes: tuple[str, ...],
) -> Evidence:
    """Return at most `facts` triples on the ways to answers, and at most `chunks` of their chunks.

    An answer whose way does not fit is left out, and so are those behind it. A chunk comes as early
    as the first fact that stands in it.
    """
    kept, rows = _take_fitting(found.reached, facts)
    stated = _build_facts(snapshot, rows)
    entities = _build_entities(snapshot, query, found, kept, rows)
    names = {step.id: step.text for step in entities}
    answers = to_graph_answers(snapshot, kept)
    places = _find_chunks(snapshot, rows, chunks)
    scores = 1.0 / np.arange(1, len(places) + 1)
    hits = steps.hits(snapshot, list(places), scores)
    through = {row: each for each in reversed(kept) for row in each.triples}
    seeds = entities[: len({start.entity for start in found.starts})]
    named = dict(zip(dict.fromkeys(start.entity for start in found.starts), seeds, strict=True))
    paths = [
        _build_thread(snapshot, query, through[row], row, chunk, score, named[through[row].start])
        for (chunk, row), score in zip(places.items(), scores.tolist(), strict=True)
    ]
    table = Table(
        name="Triples",
        columns=_COLUMNS,
        rows=tuple((names[f.subject], f.relation, names[f.object]) for f in stated),
    )
    return Evidence(
        query=query,
        method=method,
        tables=(table,),
        hits=tuple(replace(hit, channel="triple") for hit in hits),
        paths=tuple(paths),
        seeds=seeds,
        graph=EvidenceGraph(entities=entities, facts=stated, answers=answers),
        notes=notes,
    )


def _take_fitting(
    reached: Sequence[ReachedEntity], most: int
) -> tuple[list[ReachedEntity], list[int]]:
    """Return the first answers whose ways have at most `most` triples together, and these."""
    rows: dict[int, None] = {}
    kept: list[ReachedEntity] = []
    for each in reached:
        after = rows | dict.fromkeys(each.triples)
        if len(after) > most and kept:
            break
        rows = after
        kept.append(each)
    return kept, list(rows)


def _build_entities(
    snapshot: Snapshot,
    query: str,
    found: RankedAnswers,
    kept: Sequence[ReachedEntity],
    rows: Sequence[int],
) -> tuple[Step, ...]:
    """Return what the question names, the answers, and what stands between them."""
    columns = snapshot.layer("triple").columns
    reasons = {
        start.entity: steps.Linked(start.entity, query[slice(*start.span)], start.cosine).reason
        for start in found.starts
    }
    scores: dict[int, float] = dict.fromkeys(reasons, 1.0)
    for each in kept:
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


def _build_facts(snapshot: Snapshot, rows: Sequence[int]) -> tuple[Fact, ...]:
    layer = cast("TripleLayer", snapshot.layer("triple"))
    columns, link = layer.columns, snapshot.link("triple", "chunk")
    ids, texts, relations = layer.ids(rows), layer.texts(rows), layer.relations(rows)
    entities, chunks = snapshot.layer("entity"), snapshot.layer("chunk")
    subjects = entities.ids([int(columns["subject"][row]) for row in rows])
    objects = entities.ids([int(columns["object"][row]) for row in rows])
    return tuple(
        Fact(
            id=ids[i],
            subject=subjects[i],
            relation=relations[i],
            object=objects[i],
            text=texts[i],
            chunk_ids=tuple(chunks.ids(neighbours(link, row).tolist())),
            candidate=1,
        )
        for i, row in enumerate(rows)
    )


def _find_chunks(snapshot: Snapshot, rows: Sequence[int], most: int) -> Mapping[int, int]:
    """Return the first chunks where triples stand, each with the first triple in it."""
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
    """Return the way from the question by a start and its triples to a chunk with one of them."""
    passed = answer.triples[: answer.triples.index(row) + 1]
    names = ("goes on from what is named", *["goes on"] * (len(passed) - 1))
    between = [
        steps.triple_step(snapshot, each, reason)
        for each, reason in zip(passed, names, strict=True)
    ]
    first = Step(layer="query", id="", text=query)
    last = steps.chunk_step(snapshot, chunk, "holds it", score)
    return Path((first, start, *between, last), score)
