"""Grow sets of units from entity to entity, keeping the few that read best together.

Algorithm 3 ("Q-Iter") of Clue-RAG (arXiv:2507.08445), with the names of the paper in brackets.
A state is a unit set [S] with the entities of the unit that was added last [its frontier] and
what of the query its units leave unsaid [φ_v: the query vector minus the units' vectors].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.topk import DECIMALS, top_k

Score = Callable[[Sequence[tuple[int, ...]]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """How far and how wide to search."""

    depth: int = 3  # units in a set at most [D]
    width: int = 5  # sets kept per depth, over all states [M]
    k: int = 3  # units tried per entity [K]
    query_updating: bool = True  # subtract found units from the query [Q-U]


@dataclass(frozen=True, slots=True)
class UnitSet:
    """Units that were found together; units[i] was reached through entity via[i]."""

    units: tuple[int, ...]  # in the order in which they were found
    via: tuple[int, ...]  # -1 where the unit itself was a seed
    frontier: tuple[int, ...]  # entities to go on from, ascending
    residual: NDArray[np.float64]  # (d,)
    score: float


def grow_unit_sets(
    seeds: Sequence[int],
    entity_units: csr_array,
    unit_entities: csr_array,
    unit_vectors: NDArray[np.floating],
    query: NDArray[np.floating],
    score: Score,
    beam: Beam,
    *,
    seed_units: Sequence[int] = (),
) -> list[UnitSet]:
    """Return the kept sets of all depths [C*], shallow first, best first inside a depth.

    `seeds` are entity rows [A]. `score` gives (n,) scores for sets of units, each an ascending
    tuple of rows, in one batch per depth. Sets with the same units are one, whatever the way to
    them, and go on from the union of their frontiers. Equal scores keep the order of the rows.
    `seed_units` enter at depth one beside the units of the seeds.
    """
    query = np.asarray(query, dtype=np.float64)
    start = UnitSet((), (), tuple(sorted(set(seeds))), query, 0.0)
    states, kept = [start], []
    for depth in range(beam.depth):
        found: dict[tuple[int, ...], UnitSet] = {}
        for state in states:
            for via, unit in _next_units(state, entity_units, unit_vectors, beam.k):
                _add(found, state, via, unit, unit_entities, unit_vectors, beam)
        for unit in seed_units if depth == 0 else ():
            _add(found, start, -1, unit, unit_entities, unit_vectors, beam)
        if not found:
            break
        states = _best(found, score, beam.width)
        kept += states
    return kept


def _next_units(
    state: UnitSet, entity_units: csr_array, unit_vectors: NDArray[np.floating], k: int
) -> list[tuple[int, int]]:
    """Return (entity, unit) pairs: each frontier entity's `k` units nearest to the residual."""
    steps = []
    length = float(np.linalg.norm(state.residual))
    direction = state.residual / length if length > 0 else state.residual
    for entity in state.frontier:
        units = entity_units.indices[entity_units.indptr[entity] : entity_units.indptr[entity + 1]]
        units = np.sort(units[~np.isin(units, state.units)])
        similarity = unit_vectors[units] @ direction
        steps += [(entity, int(units[i])) for i in top_k(similarity, k)]
    return steps


def _add(
    found: dict[tuple[int, ...], UnitSet],
    state: UnitSet,
    via: int,
    unit: int,
    unit_entities: csr_array,
    unit_vectors: NDArray[np.floating],
    beam: Beam,
) -> None:
    key = tuple(sorted((*state.units, unit)))
    row = slice(unit_entities.indptr[unit], unit_entities.indptr[unit + 1])
    frontier = set(unit_entities.indices[row].tolist())
    if key in found:
        first = found[key]
        merged = tuple(sorted(frontier.union(first.frontier)))
        found[key] = UnitSet(first.units, first.via, merged, first.residual, 0.0)
        return
    said = unit_vectors[unit] if beam.query_updating else 0.0
    found[key] = UnitSet(
        (*state.units, unit),
        (*state.via, via),
        tuple(sorted(frontier)),
        state.residual - said,
        0.0,
    )


def _best(found: dict[tuple[int, ...], UnitSet], score: Score, width: int) -> list[UnitSet]:
    keys = sorted(found)
    scores = score(keys)
    order = np.argsort(-np.round(scores, DECIMALS), kind="stable")[:width]
    best = []
    for i in order:
        state = found[keys[i]]
        best.append(
            UnitSet(state.units, state.via, state.frontier, state.residual, float(scores[i]))
        )
    return best
