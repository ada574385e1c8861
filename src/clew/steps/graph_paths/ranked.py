"""Rank the answers of a graph, each with the path to it."""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import DECIMALS, top_k
from clew.base.types import GraphAnswer
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.steps.graph_paths.asked import parse_question
from clew.steps.graph_paths.named import NamedEntity, find_starts
from clew.steps.graph_paths.relations import read_relations
from clew.steps.graph_paths.scores import ByText, ByWords
from clew.steps.graph_paths.steps_graph import Walk, Walks, build_step_graph

Reading = Literal["words", "text"]

_MAX_STARTS = 4
_SURE_OF = 5  # answers that are kept whatever their score
_LEAST_SHARE = 0.05  # of the best score, which any other answer has
_SHARPNESS = 3.0  # of the shares of walks: a score that is less by 1 / this is e times less likely


class ReachLimits(NamedTuple):
    """The limits of the search, and how to read a question."""

    reading: Reading = "words"  # or "text": as one text
    hops: int = 3  # steps of a walk
    walks: int = 5  # that count
    width: int = 30  # relations that are followed, those nearest to the question's words
    answers: int = 50
    edges: int = 1_000_000  # after which no further walk from a start is taken up


class ReachedEntity(NamedTuple):
    """A candidate answer."""

    entity: int  # row
    score: float  # 0 to 1
    start: int  # row of the entity from which it was reached
    relations: tuple[str, ...]  # of the walk, those against their direction with "of"
    triples: tuple[int, ...]  # rows, of one way from the start
    is_asked: bool  # the walk has all relations of the question, and no other


class RankedAnswers(NamedTuple):
    """The answers that a question's walks end at, best first."""

    starts: tuple[NamedEntity, ...]
    reached: tuple[ReachedEntity, ...]
    ended: bool = False  # some walks were not looked at, as they had too many triples


class _Way(NamedTuple):
    """A walk of the question."""

    score: float
    seen: Walks
    walk: Walk
    is_asked: bool


def rank_answers(
    snapshot: Snapshot,
    models: Models,
    question: str,
    limits: ReachLimits,
    *,
    triples: Sequence[int] | None = None,
    begin: Collection[int] | None = None,
) -> RankedAnswers:
    """Rank the entities at the ends of the best walks from those that the question names.

    `triples` restricts the triples to follow, and `begin` the starts. Each of the best walks has a
    share of their sum; an entity gets the share of the best walk from each start, added over
    starts. Ties go to the entity that a random walk reaches most probably.
    """
    starts = find_named(snapshot, models, question)
    if not starts or not len(snapshot.layer("triple")):
        return RankedAnswers((), ())
    relations = read_relations(snapshot, models.embedder)
    graph = build_step_graph(snapshot, relations, triples)
    ways: list[_Way] = []
    ended = False
    sure = [start.span for start in starts if start.sure]
    for start in (each for each in starts if begin is None or each.entity in begin):
        phrases = parse_question(question, sure or [start.span], relations.words)
        by = (ByWords if limits.reading == "words" else ByText)(relations, phrases, models.embedder)
        allowed = _nearest_steps(by.near, limits.width)
        seen = Walks(graph, start.entity, limits.hops, allowed, limits.edges)
        ended = ended or seen.ended
        scores = np.round(by.score(seen.all), DECIMALS)
        best = top_k(scores, len(scores)).tolist()
        order = (i for i in best if len(seen.get_reached(seen.all[i])))
        ways += [
            _Way(float(scores[i]), seen, seen.all[i], by.match_all(seen.all[i]))
            for i in islice(order, limits.walks)
        ]
    if not ways:
        return RankedAnswers(tuple(starts), (), ended)
    at = {start.entity for start in starts}
    return RankedAnswers(tuple(starts), _rank_reached(ways, at, relations.labels, limits), ended)


def find_named(snapshot: Snapshot, models: Models, question: str) -> list[NamedEntity]:
    """Return the named entities of a question to start from, in the order of their names."""
    return find_starts(snapshot, models, question)[:_MAX_STARTS]


def to_graph_answers(
    snapshot: Snapshot, reached: Sequence[ReachedEntity]
) -> tuple[GraphAnswer, ...]:
    """Convert ranked answers to evidence, with ids and names instead of rows."""
    entities, triples = snapshot.layer("entity"), snapshot.layer("triple")
    rows, starts = [each.entity for each in reached], [each.start for each in reached]
    parts = zip(
        reached, entities.ids(rows), entities.texts(rows), entities.ids(starts), strict=True
    )
    return tuple(
        GraphAnswer(
            id=key,
            text=text,
            score=each.score,
            start=start,
            relations=each.relations,
            is_asked=each.is_asked,
            facts=tuple(triples.ids(each.triples)),
        )
        for each, key, text, start in parts
    )


def _nearest_steps(near: NDArray[np.float64], width: int) -> NDArray[np.bool_]:
    """Return (2 r,): the steps of the relations nearest to the (n, r) phrases."""
    n = near.shape[1]
    allowed = np.ones(2 * n, dtype=bool)
    if n > width:
        best = near.max(axis=0, initial=-np.inf) if len(near) else np.zeros(n)
        allowed[:] = False
        rows = top_k(np.maximum(best, -1e6), width)
        allowed[2 * rows] = True
        allowed[2 * rows + 1] = True
    return allowed


def _rank_reached(
    ways: Sequence[_Way], at: Collection[int], labels: Sequence[str], limits: ReachLimits
) -> tuple[ReachedEntity, ...]:
    """Rank the ends of walks, except those `at` named entities."""
    scores = np.array([way.score for way in ways])
    shares = np.exp(_SHARPNESS * (scores - scores.max()))
    shares /= shares.sum()
    totals: dict[int, float] = {}
    through: dict[int, _Way] = {}
    often: dict[int, float] = {}
    counted: set[tuple[int, int]] = set()
    for place in top_k(shares, limits.walks).tolist():
        seen, walk = ways[place].seen, ways[place].walk
        ends, often_here = seen.get_reached(walk).tolist(), seen.compute_shares(walk).tolist()
        for entity, here in zip(ends, often_here, strict=True):
            if entity not in at and (entity, seen.start) not in counted:
                counted.add((entity, seen.start))
                totals[entity] = totals.get(entity, 0.0) + float(shares[place])
                through.setdefault(entity, ways[place])
                often.setdefault(entity, here)
    keys = [(-round(totals[e], DECIMALS), -round(often[e], DECIMALS), e) for e in totals]
    reached = []
    best = max(totals.values(), default=0.0)
    for place, (_, _, entity) in enumerate(sorted(keys)[: limits.answers]):
        if place >= _SURE_OF and totals[entity] < _LEAST_SHARE * best:
            break
        seen, walk = through[entity].seen, through[entity].walk
        reached.append(
            ReachedEntity(
                entity=entity,
                score=round(totals[entity], DECIMALS),
                start=seen.start,
                relations=tuple(f"{labels[s // 2]}{' of' if s % 2 else ''}" for s in walk),
                triples=seen.trace_path(walk, entity),
                is_asked=through[entity].is_asked,
            )
        )
    return tuple(reached)
