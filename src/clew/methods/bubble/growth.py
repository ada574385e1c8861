"""Read the triples adjacent to a candidate within a query's budget, for it to grow by."""

import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.algo.topk import top_k
from clew.methods.bubble.view import BubbleView


class GrownTriple(NamedTuple):
    """A triple that was added to a candidate."""

    triple: int  # row
    depth: int  # from 1
    reason: str
    score: float | None = None  # of the path that leads to it; None where an LLM chose it


class CandidateGrowth(NamedTuple):
    """The triples added to a candidate, in order."""

    candidate: int  # its rank, from 1
    triples: tuple[GrownTriple, ...] = ()
    notes: tuple[str, ...] = ()


class AdjacentTriples:
    """The triples adjacent to a candidate's, cached by entity.

    Only the `width` most similar to the query are offered. Once `seconds` have passed since
    `begun`, a time.monotonic(), no further level begins; 0 is no limit.
    """

    def __init__(self, view: BubbleView, width: int, seconds: float, begun: float) -> None:
        self.view = view
        self._width = width
        self._seconds = seconds
        self._until = begun + seconds if seconds else math.inf
        self._cosines: dict[int, tuple[NDArray[np.int32], NDArray[np.float64]]] = {}

    def read_candidate(self, nodes: Sequence[int]) -> tuple[list[int], set[int]]:
        """Return the triples of a candidate, and its entities including their ends."""
        n = self.view.graph.n_entities
        held = [node - n for node in nodes if node >= n]
        return held, {node for node in nodes if node < n} | self.get_ends(held)

    def get_ends(self, triples: Iterable[int]) -> set[int]:
        """Return the ends of triples."""
        return {end for triple in triples for end in self.view.graph.ends_of(triple)}

    def explain_end(self) -> str:
        """Return the reason why the search is over, or an empty text."""
        return f"{self._seconds:g} seconds are over" if time.monotonic() > self._until else ""

    def find_options(self, frontier: Iterable[int], held: Sequence[int]) -> list[int]:
        """Return the entities' triples outside the candidate, the best of them by cosine."""
        enough = self._width + len(held)  # of each entity: no more of its triples can be held
        cosines: dict[int, float] = {}
        for entity in frontier:
            rows, values = self._read_entity(entity)
            best = top_k(values, enough)
            cosines |= zip(rows[best].tolist(), values[best].tolist(), strict=True)
        new = sorted(cosines.keys() - set(held))
        order = top_k(np.array([cosines[row] for row in new]), self._width)
        return [new[place] for place in order.tolist()]

    def _read_entity(self, entity: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the triples of an entity with their cosines to the query, cached."""
        if entity not in self._cosines:
            rows = self.view.graph.triples_of(entity)
            self._cosines[entity] = rows, self.view.node_cosines(rows + self.view.graph.n_entities)
        return self._cosines[entity]


def describe_end(rank: int, depth: int, reason: str) -> str:
    """Say why a candidate stopped growing."""
    return f"the expansion of candidate {rank} ended at depth {depth}: {reason}"
