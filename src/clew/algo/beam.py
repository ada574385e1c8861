"""Grow sets of units from entity to entity, keeping the few that read best together.

Algorithm 3 ("Q-Iter") of Clue-RAG (arXiv:2507.08445), with the names of the paper in brackets.
A state is a unit set [S] with the entities of the unit that was added last [its frontier] and
what of the query its units leave unsaid [φ_v: the query vector minus the units' vectors].
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import Vectors, multiply_rows
from clew.algo.topk import top_k

Score = Callable[[Sequence[tuple[int, ...]]], NDArray[np.float64]]
Tried = Callable[[int, NDArray[np.float32]], None]  # an entity, and (n, d) directions


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


@dataclass(frozen=True, slots=True)
class UnitGraph:
    """Units and entities, joined both ways; `vectors` are the units', (n_units, d)."""

    entities_of: Callable[[int], Sequence[int]]  # that a unit mentions, ascending
    units_of: Callable[[int], NDArray[np.integer]]  # that mention an entity, ascending
    vectors: Vectors


def grow_unit_sets(
    graph: UnitGraph,
    seeds: Sequence[int],
    query: NDArray[np.floating],
    score: Score,
    beam: Beam,
    *,
    seed_units: Sequence[int] = (),
    tried: Tried | None = None,
) -> list[UnitSet]:
    """Return the kept sets of all depths [C*], shallow first, best first inside a depth.

    `seeds` are entity rows [A], `query` is (d,). `score` gives (n,) scores for sets of units,
    each an ascending tuple of rows, in one batch per depth. Sets with the same units are one,
    whatever the way to them, and go on from the union of their frontiers. Equal scores keep the
    order of the rows. `seed_units` enter at depth one beside the units of the seeds. `tried` is
    told of each entity that is gone on from, and to what its units are compared.
    """
    residual = np.asarray(query, dtype=np.float64)
    start = UnitSet((), (), tuple(sorted(set(seeds))), residual, 0.0)
    states, kept = [start], []
    for depth in range(beam.depth):
        candidates: dict[tuple[int, ...], UnitSet] = {}
        for state, via, unit in _next_units(graph, states, beam.k, tried):
            _add_set(candidates, _extend_set(graph, state, via, unit))
        for unit in seed_units if depth == 0 else ():
            _add_set(candidates, _extend_set(graph, start, -1, unit))
        if not candidates:
            break
        states = _keep_best(graph, candidates, score, beam)
        kept += states
    return kept


def _next_units(
    graph: UnitGraph, states: Sequence[UnitSet], k: int, tried: Tried | None
) -> Iterator[tuple[UnitSet, int, int]]:
    """Yield (state, entity, unit): each frontier entity's `k` units nearest to the residual.

    The units of an entity are read once for all states that go on from it.
    """
    directions = np.array([_normalize(state.residual) for state in states], dtype=np.float32)
    places: dict[int, list[int]] = {}
    for place, state in enumerate(states):
        for entity in state.frontier:
            places.setdefault(entity, []).append(place)
    near: dict[tuple[int, int], list[int]] = {}
    for entity, here in places.items():
        if tried is not None:
            tried(entity, directions[here])
        pool = graph.units_of(entity)
        similarity = multiply_rows(graph.vectors, pool, directions[here].T)
        for place, scores in zip(here, similarity.T, strict=True):
            known = states[place].units
            best = pool[top_k(scores, k + len(known))].tolist()
            near[place, entity] = [unit for unit in best if unit not in known][:k]
    for place, state in enumerate(states):
        for entity in state.frontier:
            yield from ((state, entity, unit) for unit in near[place, entity])


def _normalize(residual: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(residual))
    return residual / length if length > 0 else residual


def _extend_set(graph: UnitGraph, state: UnitSet, via: int, unit: int) -> UnitSet:
    """Return the state with one more unit; its residual is still the one before."""
    units, frontier = (*state.units, unit), tuple(graph.entities_of(unit))
    return UnitSet(units, (*state.via, via), frontier, state.residual, 0.0)


def _add_set(sets: dict[tuple[int, ...], UnitSet], state: UnitSet) -> None:
    """Add a state; one with the same units gets the union of both frontiers."""
    key = tuple(sorted(state.units))
    if key in sets:
        frontier = tuple(sorted({*sets[key].frontier, *state.frontier}))
        state = replace(sets[key], frontier=frontier)
    sets[key] = state


def _keep_best(
    graph: UnitGraph, sets: dict[tuple[int, ...], UnitSet], score: Score, beam: Beam
) -> list[UnitSet]:
    """Return the best of the found sets, scored, and what each leaves of the query."""
    keys, best = sorted(sets), []
    scores = score(keys)
    for i in top_k(scores, beam.width):
        state = sets[keys[i]]
        explained = graph.vectors[state.units[-1]] if beam.query_updating else 0.0
        best.append(replace(state, residual=state.residual - explained, score=float(scores[i])))
    return best
