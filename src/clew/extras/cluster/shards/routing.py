"""Tell which shards can matter for a question, by a sketch of the keys of each.

Of a word or name that few chunks have, those shards can matter that have some of these chunks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clew.extras.cluster.shards.exchange import Counted, Hashes

# What the kinds of counts of `Counted` weigh; that of all chunks with a key weighs 1.
OF_TERMS, OF_ENTITIES = (1.0, 0.0), (0.0, 5.0, 1.0)
_HALF, _MOST = np.uint64(32), 255  # bits of a hash, and chunks of a key, that a sketch tells


@dataclass(frozen=True, slots=True)
class Sketch:
    """The keys of a shard, by halves of their hashes, and how many chunks have each."""

    halves: NDArray[np.uint32]  # ascending
    counts: NDArray[np.uint8]  # (k, n)

    @classmethod
    def from_counts(cls, counted: Counted) -> Self:
        """Return the sketch of some keys."""
        halves = (counted.hashes >> _HALF).astype(np.uint32)
        order = np.argsort(halves, kind="stable")
        return cls(halves[order], np.minimum(counted.numbers[:, order], _MOST).astype(np.uint8))

    def count(self, hashes: Hashes) -> NDArray[np.float64]:
        """Return the (k, m) counts of some keys, 0 for unknown ones."""
        halves = (hashes >> _HALF).astype(np.uint32)
        counts = np.zeros((len(self.counts), len(halves)))
        if len(self.halves):
            places = np.minimum(np.searchsorted(self.halves, halves), len(self.halves) - 1)
            known = self.halves[places] == halves
            counts[:, known] = self.counts[:, places[known]]
        return counts


def share_keys(
    sketches: Sequence[Sketch], hashes: Hashes, weights: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the (n_shards, m) weighted shares of each key's chunks, and the (m,) chunks in all."""
    counts = np.stack([each.count(hashes) for each in sketches])
    totals = counts.sum(axis=0)
    shares = np.tensordot(counts / np.maximum(totals, 1), weights, axes=(1, 0))
    return shares, totals[weights.index(1.0)]
