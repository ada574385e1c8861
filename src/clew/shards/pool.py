"""The chunks that are known of so far, as a small graph on which weight spreads from the question.

It says which entities lead to chunks that are worth to be fetched: forward push as in
`clew.algo.pagerank`, from where `pagerank` and `walk` begin, over what shards told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from clew import steps
from clew.algo.fusion import mean_of_min_max
from clew.algo.topk import top_k

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.shards.exchange import Hashes, Rows, ToldChunks
    from clew.shards.whole import CorpusTotals

TITLE_WEIGHT, CHUNK_WEIGHT, SEED_CHUNKS, DAMPING = 5.0, 0.2, 30, 0.6  # as of `pagerank`
FAR = 2**40  # beyond every row of a shard
_STEPS = 8  # after which a hundredth of the weight still moves


@dataclass(frozen=True)
class ChunkPool:
    """Distinct chunks of several shards, with their entities; see `ToldChunks`."""

    shards: NDArray[np.int64]  # (m,)
    rows: Rows  # (m,)
    dense: NDArray[np.float64]
    lexical: NDArray[np.float64]
    entities: Hashes  # (n,) distinct, ascending
    numbers: NDArray[np.int64]  # (3, n), of all shards
    link: csr_array  # (m, n) ways

    @classmethod
    def from_replies(
        cls, found: Sequence[tuple[int, ToldChunks]], whole: CorpusTotals
    ) -> ChunkPool:
        """Return the chunks of the shards' replies, in the order of the shards."""
        return cls._concatenate(
            [
                cls(
                    np.full(len(each.rows), shard),
                    each.rows,
                    each.dense,
                    each.lexical,
                    each.counted.hashes,
                    whole.entities.find(each.counted),
                    csr_array(
                        (each.ways, each.entities, each.begins),
                        shape=(len(each.rows), len(each.counted.hashes)),
                    ),
                )
                for shard, each in found
            ]
        )

    @classmethod
    def _concatenate(cls, pools: Sequence[ChunkPool]) -> ChunkPool:
        """Return the chunks of several pools, with entities that are distinct and ascending."""
        entities, first, place = np.unique(
            np.concatenate([each.entities for each in pools]),
            return_index=True,
            return_inverse=True,
        )
        ends = np.cumsum([len(each.entities) for each in pools])
        places = np.split(place, ends[:-1])
        columns = [own[each.link.indices] for own, each in zip(places, pools, strict=True)]
        lengths = np.concatenate([np.diff(each.link.indptr) for each in pools])
        entries = (
            np.concatenate([each.link.data for each in pools]),
            np.concatenate(columns),
            np.concatenate([[0], np.cumsum(lengths)]),
        )
        names = "shards", "rows", "dense", "lexical"
        shards, rows, dense, lexical = (
            np.concatenate([getattr(each, name) for each in pools]) for name in names
        )
        return cls(
            shards,
            rows,
            dense,
            lexical,
            entities,
            np.concatenate([each.numbers for each in pools], axis=1)[:, first],
            csr_array(entries, shape=(len(lengths), len(entities))),
        )

    def select(self, chunks: NDArray[np.integer]) -> ChunkPool:
        """Return some of the chunks, with the entities of these alone."""
        link = csr_array(self.link[chunks])
        used, place = np.unique(link.indices, return_inverse=True)
        return ChunkPool(
            self.shards[chunks],
            self.rows[chunks],
            self.dense[chunks],
            self.lexical[chunks],
            self.entities[used],
            self.numbers[:, used],
            csr_array((link.data, place, link.indptr), shape=(link.shape[0], len(used))),
        )

    def join(self, other: ChunkPool) -> ChunkPool:
        """Return these chunks and those of another pool that are not among them."""
        own, others = (each.shards * FAR + each.rows for each in (self, other))
        return self._concatenate([self, other.select(np.flatnonzero(~np.isin(others, own)))])

    @property
    def hybrid(self) -> NDArray[np.float64]:
        """The (m,) fused dense and lexical scores."""
        return mean_of_min_max(self.dense, self.lexical)

    def spread(
        self, seeds: Mapping[int, float], n_chunks: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the (m,) and (n,) weights that come to chunks and entities from the question.

        `seeds` are weights of entities by their hashes, `n_chunks` how many chunks all shards have.
        """
        mentioned, titled, either = self.numbers
        rarity = np.log1p(n_chunks / np.maximum(either, 1))
        worth = (self.link.data & steps.MENTIONED > 0) + TITLE_WEIGHT * (
            self.link.data & steps.TITLED > 0
        )
        link = csr_array(
            (worth * rarity[self.link.indices], self.link.indices, self.link.indptr),
            shape=self.link.shape,
        )
        of_chunks = np.maximum(np.asarray(link.sum(axis=1)), 1e-12)
        of_entities = np.maximum((mentioned + TITLE_WEIGHT * titled) * rarity, 1e-12)
        chunks, entities = np.zeros(link.shape[0]), np.zeros(link.shape[1])
        best = top_k(self.hybrid, SEED_CHUNKS)
        chunks[best] = CHUNK_WEIGHT * self.hybrid[best]
        known = {int(hash_): i for i, hash_ in enumerate(self.entities.tolist())}
        for hash_, weight in seeds.items():
            if hash_ in known:
                entities[known[hash_]] = weight
        sums = chunks.copy(), entities.copy()
        turned = csr_array(link.T)
        for _ in range(_STEPS):
            chunks, entities = (
                DAMPING * (link @ (entities / of_entities)),
                DAMPING * (turned @ (chunks / of_chunks)),
            )
            sums[0][:] += chunks
            sums[1][:] += entities
        return sums

    def count_missing(self) -> NDArray[np.int64]:
        """Return how many chunks of each entity are not here."""
        here = np.bincount(self.link.indices, minlength=len(self.entities))
        return np.asarray(np.maximum(self.numbers[2] - here, 0))
