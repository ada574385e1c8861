"""Grow candidates without an LLM, along relations similar to phrases of the question.

Each path that leaves a candidate is scored, per phrase of the question, by its most similar
relation; its score is the mean over the phrases. A triple is added if it raises its path's score,
independently of other paths. Over a graph without texts the paths are walks from the named
entities, scored as by `paths`: all relations together and in order, so a relation may occur twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.bubble import Piece, RankedPiece
from clew.algo.topk import DECIMALS, top_k
from clew.methods.bubble.growth import AdjacentTriples, CandidateGrowth, GrownTriple, describe_end
from clew.methods.bubble.view import BubbleView
from clew.models import Embedder, Models
from clew.steps.graph_paths import NamedEntity, ReachLimits, rank_answers

_LEAST_GAIN = 0.05  # by which a triple must raise the score of its path to be added
_MARGIN = 0.1  # a path whose score is this far below the best one is not followed
_HOPS = 3  # at most, of a walk
_ANSWERS = 20  # ends of walks to which a candidate grows


class _Path(NamedTuple):
    """A path from a candidate: the candidate's triples, then the path's."""

    triples: tuple[int, ...]
    entities: frozenset[int]  # of all of these triples
    ends: frozenset[int]  # the entities from which it may go on
    near: NDArray[np.float64]  # (n_phrases,) the similarity of its best relation to each phrase

    @property
    def score(self) -> float:
        return float(self.near.mean())


def grow_by_relations(
    beside: AdjacentTriples,
    embedder: Embedder,
    candidates: Sequence[Sequence[int]],
    depth: int,
    phrases: Sequence[str],
) -> list[CandidateGrowth]:
    """Return the growth of each candidate."""
    guide = _Guide(beside, embedder, phrases)
    return [guide.grow_candidate(rank, nodes, depth) for rank, nodes in enumerate(candidates, 1)]


class _Guide:
    """Compares relations with phrases, and caches the result per relation."""

    def __init__(self, beside: AdjacentTriples, embedder: Embedder, phrases: Sequence[str]) -> None:
        self._beside = beside
        self._embedder = embedder
        self._phrases = embedder.embed(list(phrases), kind="document")
        self._near: dict[str, NDArray[np.float64]] = {}  # relations to (n_phrases,) cosines
        self._over = False

    def grow_candidate(self, rank: int, nodes: Sequence[int], most: int) -> CandidateGrowth:
        """Return the growth of a candidate over at most `most` levels."""
        if self._over:
            return CandidateGrowth(rank)
        held, entities = self._beside.read_candidate(nodes)
        ends = frozenset(entities)
        nothing = np.zeros((1, len(self._phrases)))
        similarity = np.concatenate([nothing, self._relation_nearness(held)]).max(axis=0)
        paths = [_Path(tuple(held), ends, ends, similarity)]
        added: list[GrownTriple] = []
        for depth in range(1, most + 1):
            if reason := self._beside.explain_end():
                self._over = True
                return CandidateGrowth(rank, tuple(added), (describe_end(rank, depth, reason),))
            frontier = {end for path in paths for end in path.ends}
            ways = self._extend_paths(paths, self._beside.find_options(frontier, held))
            for before, path in ways:
                gained = f", {before.score:.2f} before" if before.triples else ""
                reason = f"similarity to the question so far {path.score:.2f}{gained}"
                added.append(GrownTriple(path.triples[-1], depth, reason, path.score))
            held += [path.triples[-1] for _, path in ways]
            paths = [path for _, path in ways if path.ends]
            if not paths:
                break
        return CandidateGrowth(rank, tuple(added))

    def _extend_paths(
        self, paths: Sequence[_Path], options: Sequence[int]
    ) -> list[tuple[_Path, _Path]]:
        """Return the best extension of the paths to each of some triples, best first.

        A way that gains nothing is none, nor is one that says far less than the best.
        """
        ends = {option: self._beside.get_ends([option]) for option in options}
        ways = [(p, o) for p in paths for o in options if not p.ends.isdisjoint(ends[o])]
        if not ways:
            return []
        similarities = dict(zip(options, self._relation_nearness(options), strict=True))
        after = np.stack([np.maximum(path.near, similarities[option]) for path, option in ways])
        scores = after.mean(axis=1)
        best: dict[int, tuple[_Path, _Path]] = {}
        for place in top_k(scores, len(ways)).tolist():
            path, option = ways[place]
            if scores[place] < scores.max() - _MARGIN:
                break
            if option not in best and scores[place] >= path.score + _LEAST_GAIN:
                triples = (*path.triples, option)
                new = frozenset(ends[option] - path.entities)
                best[option] = path, _Path(triples, path.entities | new, new, after[place])
        return list(best.values())

    def _relation_nearness(self, triples: Sequence[int]) -> NDArray[np.float64]:
        """Return (n, n_phrases) similarities of the triples' relations to the phrases."""
        relations = self._beside.view.snapshot.triples.relations(triples)
        new = [each for each in dict.fromkeys(relations) if each not in self._near]
        if new:
            vectors = self._embedder.embed(new, kind="document")
            cosines = np.round((vectors @ self._phrases.T).astype(np.float64), DECIMALS)
            self._near |= zip(new, cosines, strict=True)
        return np.array([self._near[each] for each in relations]).reshape(-1, len(self._phrases))


def add_missing_entities(
    view: BubbleView,
    starts: Iterable[NamedEntity],
    pieces: Sequence[RankedPiece],
    places: Iterable[int],
) -> list[Piece]:
    """Add a candidate for each named entity that no chosen one has."""
    n = view.graph.n_entities
    covered: set[int] = set()
    for place in places:
        nodes = pieces[place].piece.nodes
        covered.update(node for node in nodes if node < n)
        covered.update(end for node in nodes if node >= n for end in view.graph.ends_of(node - n))
    rows = dict.fromkeys(start.entity for start in starts if start.entity not in covered)
    return [Piece((row,), (), "single") for row in rows]


def grow_by_walks(
    beside: AdjacentTriples,
    models: Models,
    candidates: Sequence[Sequence[int]],
    depth: int,
    starts: Sequence[NamedEntity],
) -> list[CandidateGrowth]:
    """Return the growth of each candidate: the paths from its `starts`, level by level.

    A name that several candidates have is gone on from in the first of them.
    """
    grown: list[CandidateGrowth] = []
    left = list(starts)
    for rank, nodes in enumerate(candidates, 1):
        if reason := beside.explain_end():
            grown.append(CandidateGrowth(rank, notes=(describe_end(rank, 1, reason),)))
            break
        held, entities = beside.read_candidate(nodes)
        mine = [start for start in left if start.entity in entities]
        left = [start for start in left if start.entity not in entities]
        added = tuple(_grow_candidate(beside, models, mine, held, depth))
        grown.append(CandidateGrowth(rank, added))
    return grown


def _grow_candidate(
    beside: AdjacentTriples,
    models: Models,
    starts: Sequence[NamedEntity],
    held: Sequence[int],
    depth: int,
) -> Iterator[GrownTriple]:
    if not starts or not depth:
        return
    view = beside.view
    reach = ReachLimits(hops=min(depth, _HOPS), answers=_ANSWERS)
    answers = rank_answers(
        view.snapshot, models, view.query.text, reach, begin={start.entity for start in starts}
    )
    seen = set(held)
    for level in range(reach.hops):
        for each in answers.reached:
            if level < len(each.triples) and each.triples[level] not in seen:
                seen.add(each.triples[level])
                reason = (
                    f"on the way by {', '.join(each.relations)}: {each.score:.2f} of what is asked"
                )
                yield GrownTriple(each.triples[level], level + 1, reason, each.score)
