"""A graph of triples as steps: along a relation, or against it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import expand_ranges
from clew.base.derived import Derived
from clew.index.snapshot import Snapshot
from clew.steps.graph_paths.relations import Relations

Rows = NDArray[np.int64]

Walk = tuple[int, ...]  # steps: twice the relation, and one more against its direction


@dataclass(frozen=True, slots=True)
class StepGraph:
    """Each entity's edges in both directions, sorted by step and target."""

    indptr: Rows  # (n_entities + 1,)
    steps: NDArray[np.int32]  # (n_edges,)
    targets: NDArray[np.int32]  # (n_edges,), entities
    triples: NDArray[np.int32]  # (n_edges,), rows
    kinds_indptr: Rows  # (n_entities + 1,)
    kinds: NDArray[np.int32]  # the distinct steps from each entity
    n_steps: int

    def find_edges(self, entities: Rows) -> Rows:
        """Return the positions of all edges of entities."""
        return expand_ranges(self.indptr[entities], self.indptr[entities + 1])[1]

    def follow_step(self, entities: Rows, step: int) -> Rows:
        """Return the entities one step away from any of some entities, ascending."""
        edges = self.find_edges(entities)
        return np.unique(self.targets[edges[self.steps[edges] == step]]).astype(np.int64)

    def list_steps(self, entities: Rows) -> Rows:
        """Return the steps possible from any of some entities, ascending."""
        _, places = expand_ranges(self.kinds_indptr[entities], self.kinds_indptr[entities + 1])
        seen = np.zeros(self.n_steps, dtype=bool)
        seen[self.kinds[places]] = True
        return np.flatnonzero(seen)


def build_step_graph(
    snapshot: Snapshot, relations: Relations, triples: Sequence[int] | None = None
) -> StepGraph:
    """Build the step graph of some or all triples of an index."""
    if triples is None:
        return snapshot.get(_STEPS, relations=relations)
    return _build_steps(snapshot, relations, np.array(sorted(triples), dtype=np.int64))


def _build_steps(snapshot: Snapshot, relations: Relations, rows: Rows | None = None) -> StepGraph:
    columns = snapshot.layer("triple").columns
    rows = np.arange(len(columns["subject"])) if rows is None else rows
    subjects, objects = columns["subject"][rows], columns["object"][rows]
    along = 2 * relations.of_triple[rows]
    sources, targets = np.append(subjects, objects), np.append(objects, subjects)
    steps, rows = np.append(along, along + 1), np.append(rows, rows)
    order = np.lexsort((rows, targets, steps, sources))
    n = len(snapshot.layer("entity"))
    sources, steps = sources[order], steps[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (sources[1:] != sources[:-1]) | (steps[1:] != steps[:-1])
    return StepGraph(
        indptr=_build_indptr(sources, n),
        steps=steps.astype(np.int32),
        targets=targets[order].astype(np.int32),
        triples=rows[order].astype(np.int32),
        kinds_indptr=_build_indptr(sources[first], n),
        kinds=steps[first].astype(np.int32),
        n_steps=2 * len(relations.labels),
    )


_STEPS = Derived("steps along all triples", _build_steps)


def _build_indptr(sources: NDArray[np.integer], n: int) -> Rows:
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=n))])


class Walks:
    """The walks of at most `hops` steps from one entity that never return to it.

    Only steps in `allowed`, (n_steps,) booleans, are taken. If the walks, except the longest, would
    visit more than `most` edges, some are left out.
    """

    def __init__(
        self, graph: StepGraph, start: int, hops: int, allowed: NDArray[np.bool_], most: int
    ) -> None:
        self.graph = graph
        self.start = start
        self.ended = False  # before all walks were seen
        self._left = most
        self._reached: dict[Walk, Rows] = {(): np.array([start], dtype=np.int64)}
        self.all = list(self._iterate_walks(hops, allowed))

    def get_reached(self, walk: Walk) -> Rows:
        """Return the entities at the end of a walk, ascending."""
        if walk not in self._reached:
            ends = self.graph.follow_step(self.get_reached(walk[:-1]), walk[-1])
            self._reached[walk] = ends[ends != self.start]
        return self._reached[walk]

    def compute_shares(self, walk: Walk) -> NDArray[np.float64]:
        """Return the probability that a random walk ends at each entity of `reached`.

        At each entity the ways on are equally probable. Where some cannot go on the sum is below 1.
        """
        here = self.get_reached(())
        mass: NDArray[np.float64] = np.ones(1)
        indptr = self.graph.indptr
        for n, step in enumerate(walk, 1):
            owners, edges = expand_ranges(indptr[here], indptr[here + 1])
            stays = (self.graph.steps[edges] == step) & (self.graph.targets[edges] != self.start)
            edges, owners = edges[stays], owners[stays]
            ways = np.bincount(owners, minlength=len(here))
            after = self.get_reached(walk[:n])
            places = np.searchsorted(after, self.graph.targets[edges])
            weights = mass[owners] / ways[owners]
            mass = np.zeros(len(after))
            np.add.at(mass, places, weights)
            here = after
        return mass

    def trace_path(self, walk: Walk, end: int) -> tuple[int, ...]:
        """Return the triples of one path to an entity at a walk's end, in order."""
        graph, way, here = self.graph, [], end
        for n in range(len(walk), 0, -1):
            edges = graph.find_edges(np.array([here], dtype=np.int64))
            edges = edges[graph.steps[edges] == walk[n - 1] ^ 1]
            before = self.get_reached(walk[: n - 1])
            edge = edges[np.isin(graph.targets[edges], before)][0]
            way.append(int(graph.triples[edge]))
            here = int(graph.targets[edge])
        return tuple(reversed(way))

    def _iterate_walks(self, hops: int, allowed: NDArray[np.bool_]) -> Iterator[Walk]:
        """Yield walks, shorter ones first; the longest are not extended to their last step."""
        level: list[Walk] = [()]
        for depth in range(1, hops + 1):
            longer: list[Walk] = []
            for walk in level:
                if depth < hops:
                    longer += self._extend_walk(walk, allowed)
                else:
                    steps = self.graph.list_steps(self.get_reached(walk))
                    longer += [(*walk, step) for step in steps[allowed[steps]].tolist()]
            yield from longer
            level = longer

    def _extend_walk(self, walk: Walk, allowed: NDArray[np.bool_]) -> list[Walk]:
        """Extend a walk by one step, caching the entities reached."""
        edges = self.graph.find_edges(self.get_reached(walk))
        if len(edges) > self._left:
            self.ended = True
            return []
        self._left -= len(edges)
        steps, targets = self.graph.steps[edges], self.graph.targets[edges].astype(np.int64)
        stays = allowed[steps] & (targets != self.start)
        n = len(self.graph.indptr)
        keys = np.unique(steps[stays].astype(np.int64) * n + targets[stays])
        if not len(keys):
            return []
        ends, first = np.unique(keys // n, return_index=True)
        for step, rows in zip(ends.tolist(), np.split(keys % n, first[1:]), strict=True):
            self._reached[*walk, step] = rows
        return [(*walk, step) for step in ends.tolist()]
