"""Beam search for sets of units, from entity to entity, that together match the query best.

Algorithm 3 ("Q-Iter") of Clue-RAG (arXiv:2507.08445), with the names of the paper in brackets. A
state is a unit set [S] with the entities of the unit added last [its frontier] and the residual of
the query [φ_v: the query vector minus the units' vectors].
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import Vectors, multiply_rows
from clew.algo.topk import top_k, top_k_of_groups

Score = Callable[[Sequence[tuple[int, ...]]], NDArray[np.float64]]
_Key = tuple[tuple[int, ...], tuple[int, ...]]  # a state's units, and where it counts its frontier
Tried = Callable[[int, NDArray[np.float32]], None]  # an entity, and (n, d) directions
Ways = Literal["union", "last", "separate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """The depth and width of the search."""

    depth: int = 3  # units in a set at most [D]
    width: int = 5  # sets kept per depth, over all states [M]
    k: int = 3  # units tried per entity [K]
    query_updating: bool = True  # subtract found units from the query [Q-U]
    ways: Ways = "union"  # to one set of units, and so the states that it is


@dataclass(frozen=True, slots=True)
class UnitSet:
    """A set of units; units[i] was reached through entity via[i]."""

    units: tuple[int, ...]  # in the order in which they were found
    via: tuple[int, ...]  # -1 where the unit itself was a seed
    frontier: tuple[int, ...]  # entities to go on from, ascending
    residual: NDArray[np.float64]  # (d,)
    score: float


@dataclass(frozen=True, slots=True)
class UnitGraph:
    """The bipartite graph of units and entities; `vectors`, (n_units, d), are the units'."""

    entities_of: Callable[[Sequence[int]], Sequence[Sequence[int]]]  # that units mention, ascending
    units_of: Callable[[Sequence[int]], Sequence[NDArray[np.integer]]]  # of entities, ascending
    vectors: Vectors


@dataclass(slots=True)
class _Candidate:
    """A unit set of the current depth, not yet scored."""

    before: UnitSet  # the state that a unit was added to
    via: int
    unit: int
    frontier: set[int]


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

    `seeds` are entity rows [A], `query` is (d,). `score` gives (n,) scores for sets of units, each
    an ascending tuple of rows, in one batch per depth. Sets with the same units are one state, with
    the union of their frontiers or that of the last way to them; or "separate" states for different
    frontiers, as in line 14. Ties keep row order. `seed_units` enter at depth one beside the units
    of the seeds. `tried` receives each expanded entity, and the vectors that its units are compared
    with.
    """
    residual = np.asarray(query, dtype=np.float64)
    start = UnitSet((), (), tuple(sorted(set(seeds))), residual, 0.0)
    states, sets = [start], []
    for depth in range(beam.depth):
        ways = list(_next_units(graph, states, beam.k, tried))
        ways += [(start, -1, unit) for unit in seed_units if depth == 0]
        if not ways:
            break
        states = _keep_best(graph, _collect_sets(graph, ways, beam), score, beam)
        sets += states
    return sets


def _next_units(
    graph: UnitGraph, states: Sequence[UnitSet], k: int, tried: Tried | None
) -> Iterator[tuple[UnitSet, int, int]]:
    """Yield (state, entity, unit): per frontier entity the `k` units nearest to the residual."""
    directions = np.array([_normalize(state.residual) for state in states], dtype=np.float32)
    ways = [(place, entity) for place, state in enumerate(states) for entity in state.frontier]
    if not ways:
        return
    places_of: dict[int, list[int]] = {}  # the states whose frontier has an entity
    for place, entity in ways:
        places_of.setdefault(entity, []).append(place)
    distinct = sorted(places_of)
    if tried is not None:
        for entity in distinct:
            tried(entity, directions[places_of[entity]])
    pools = dict(zip(distinct, graph.units_of(distinct), strict=True))
    products = _multiply_pools(graph.vectors, pools, places_of, directions)
    cosines = np.concatenate([products[way] for way in ways])
    units = np.concatenate([pools[entity] for _, entity in ways])
    owners = np.repeat(np.arange(len(ways)), [len(pools[entity]) for _, entity in ways])
    own = np.array([states[place].units for place, _ in ways])  # of one depth: equally many
    cosines[(own[owners] == units[:, None]).any(axis=1)] = -np.inf
    best = top_k_of_groups(cosines, owners, k)
    for way, unit in zip(owners[best].tolist(), units[best].tolist(), strict=True):
        place, entity = ways[way]
        yield states[place], entity, unit


def _multiply_pools(
    vectors: Vectors,
    pools: Mapping[int, NDArray[np.integer]],
    places_of: Mapping[int, Sequence[int]],
    directions: NDArray[np.float32],
) -> dict[tuple[int, int], NDArray[np.floating]]:
    """Return the products of each entity's units with the directions of the states that have it.

    Entities of the same states are multiplied together: of a large index, all units with all
    directions would take most of the time.
    """
    together: dict[tuple[int, ...], list[int]] = {}
    for entity, places in places_of.items():
        together.setdefault(tuple(places), []).append(entity)
    products: dict[tuple[int, int], NDArray[np.floating]] = {}
    for places, entities in together.items():
        rows = np.concatenate([pools[entity] for entity in entities])
        towards = multiply_rows(vectors, rows, directions[list(places)].T).T
        end = 0
        for entity in entities:
            start, end = end, end + len(pools[entity])
            for place, of_place in zip(places, towards, strict=True):
                products[place, entity] = of_place[start:end]
    return products


def _normalize(residual: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(residual))
    return residual / length if length > 0 else residual


def _collect_sets(
    graph: UnitGraph, ways: Sequence[tuple[UnitSet, int, int]], beam: Beam
) -> dict[_Key, _Candidate]:
    """Merge expansions that reach the same state; return one candidate for each state."""
    units = list(dict.fromkeys(unit for _, _, unit in ways))
    entities = dict(zip(units, graph.entities_of(units), strict=True))
    sets: dict[_Key, _Candidate] = {}
    for state, via, unit in ways:
        counted = tuple(entities[unit]) if beam.ways == "separate" else ()
        key = tuple(sorted((*state.units, unit))), counted
        if key in sets and beam.ways != "last":
            sets[key].frontier.update(entities[unit])
        else:
            sets[key] = _Candidate(state, via, unit, set(entities[unit]))
    return sets


def _keep_best(
    graph: UnitGraph, sets: Mapping[_Key, _Candidate], score: Score, beam: Beam
) -> list[UnitSet]:
    """Return the best sets with their scores, and the query residual of each."""
    keys = sorted(sets)
    distinct = list(dict.fromkeys(units for units, _ in keys))
    score_of = dict(zip(distinct, score(distinct).tolist(), strict=True))
    scores = np.array([score_of[units] for units, _ in keys])
    best = top_k(scores, beam.width).tolist()
    candidates = [sets[keys[i]] for i in best]
    explained = np.zeros((len(best), 1))
    if beam.query_updating:
        explained = graph.vectors[[each.unit for each in candidates]]
    return [
        UnitSet(
            units=(*each.before.units, each.unit),
            via=(*each.before.via, each.via),
            frontier=tuple(sorted(each.frontier)),
            residual=each.before.residual - own,
            score=float(scores[i]),
        )
        for i, each, own in zip(best, candidates, explained, strict=True)
    ]
