"""A small graph of the chunks gathered so far, for spreading weight from the question.

It says which entities lead to chunks that are worth to be fetched: forward push as in
`clew.algo.pagerank`, from where `pagerank` and `walk` begin, over what shards told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import steps
from clew.algo.topk import mean_of_min_max, top_k
from clew.extras.cluster.shards.exchange import Hashes, ToldChunks
from clew.extras.cluster.shards.whole import CorpusTotals

TITLE_WEIGHT, CHUNK_WEIGHT, SEED_CHUNKS, DAMPING = 5.0, 0.2, 30, 0.6  # as of `pagerank`
FAR = 2**40  # beyond every row of a shard
_STEPS = 8  # after which a hundredth of the weight still moves


@dataclass(frozen=True)
class ChunkPool:
    """Distinct chunks of several shards, with their entities."""

    dense: NDArray[np.float64]  # (m,)
    lexical: NDArray[np.float64]  # (m,)
    entities: Hashes  # (n,) distinct, ascending
    numbers: NDArray[np.int64]  # (3, n), of all shards
    link: csr_array  # (m, n) ways

    @classmethod
    def from_replies(cls, replies: Sequence[ToldChunks], whole: CorpusTotals) -> Self:
        """Collect the distinct chunks of shards' replies, in order."""
        hashes = np.concatenate([each.counted.hashes for each in replies])
        numbers = np.concatenate([whole.entities.find(each.counted) for each in replies], axis=1)
        entities, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        starts = np.cumsum([0, *(len(each.counted.hashes) for each in replies[:-1])])
        columns = [
            place[start + each.entities] for each, start in zip(replies, starts, strict=True)
        ]
        lengths = np.concatenate([np.diff(each.begins) for each in replies])
        entries = (
            np.concatenate([each.ways for each in replies]),
            np.concatenate(columns),
            np.concatenate([[0], np.cumsum(lengths)]),
        )
        return cls(
            np.concatenate([each.dense for each in replies]),
            np.concatenate([each.lexical for each in replies]),
            entities,
            numbers[:, first],
            csr_array(entries, shape=(len(lengths), len(entities))),
        )

    def spread(
        self, seeds: Mapping[int, float], n_chunks: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the (m,) and (n,) scores of chunks and entities for the question.

        `seeds` are weights of entities by their hashes, `n_chunks` how many chunks all shards have.
        """
        mentioned, titled, either = self.numbers
        rarity = np.log1p(n_chunks / np.maximum(either, 1))
        ways, places = self.link.data, self.link.indices
        worth = (ways & steps.MENTIONED > 0) + TITLE_WEIGHT * (ways & steps.TITLED > 0)
        link = csr_array((worth * rarity[places], places, self.link.indptr), shape=self.link.shape)
        of_chunks = np.maximum(np.asarray(link.sum(axis=1)), 1e-12)
        of_entities = np.maximum((mentioned + TITLE_WEIGHT * titled) * rarity, 1e-12)
        chunks, entities = np.zeros(link.shape[0]), np.zeros(link.shape[1])
        hybrid = mean_of_min_max(self.dense, self.lexical)
        best = top_k(hybrid, SEED_CHUNKS)
        chunks[best] = CHUNK_WEIGHT * hybrid[best]
        rows = {int(hash_): i for i, hash_ in enumerate(self.entities.tolist())}
        for hash_, weight in seeds.items():
            if hash_ in rows:
                entities[rows[hash_]] = weight
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
        """Return the number of each entity's chunks outside the pool."""
        here = np.bincount(self.link.indices, minlength=len(self.entities))
        return np.asarray(np.maximum(self.numbers[2] - here, 0))
