"""Grow candidates over a graph without texts, along walks that match the question.

The walks of a candidate begin at the entities that the question names exactly. They are scored as
`paths` scores them: all relations of a walk together and in order, so a relation may come twice.
"""

from collections.abc import Iterable, Iterator, Sequence

from clew.algo.bubble import Piece, RankedPiece
from clew.graph_paths import NamedEntity, ReachedEntity, ReachLimits, rank_answers
from clew.methods.bubble.growth import AdjacentTriples, CandidateGrowth, GrownTriple, describe_end
from clew.methods.bubble.view import BubbleView
from clew.models import Models

_HOPS = 3  # at most, of a walk
_ANSWERS = 20  # ends of walks to which a candidate grows


def add_uncovered(
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
                yield GrownTriple(each.triples[level], level + 1, _describe_path(each), each.score)


def _describe_path(each: ReachedEntity) -> str:
    return f"on the way by {', '.join(each.relations)}: {each.score:.2f} of what is asked"
