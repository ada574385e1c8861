"""Search a graph of entities and relations, starting at a few seeds (GraphRAG's local search).

Huang et al. (2025), "KET-RAG", arXiv:2502.09304, Algorithm 2, which is GraphRAG's local search
(Edge et al. 2024, arXiv:2404.16130). A relation is an unordered pair of entities with all that is
said of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew.algo.links import neighbours, take_rows
from clew.algo.topk import DECIMALS

_OUTER_PER_SEED = 10  # relations that lead out of the seeds


@dataclass(frozen=True, slots=True)
class RelationLinks:
    """The r relations of a graph of n entities."""

    ends: NDArray[np.int64]  # (r, 2), entities, the smaller first
    weight: NDArray[np.float64]  # (r,), sums of the triples' strengths
    triples: csr_array  # (r, n_triples), which triples are the relation
    chunks: csr_array  # (r, n_chunks), where it was found
    of_entity: csr_array  # (n, r)

    @property
    def degree(self) -> NDArray[np.int64]:
        """(n,) number of relations of each entity, which ranks it."""
        return np.diff(self.of_entity.indptr)


def group_relations(
    subjects: NDArray[np.integer],
    objects: NDArray[np.integer],
    triple_chunks: csr_array,
    n_entities: int,
) -> RelationLinks:
    """Group triples into relations, by first occurrence of their entities.

    `subjects` and `objects` are the (n_triples,) ends, `triple_chunks` (n_triples, n_chunks) the
    strength of each triple in each chunk. A triple that stands in no chunk is left out.
    """
    rows = np.flatnonzero(np.diff(triple_chunks.indptr))
    both = np.stack([subjects[rows], objects[rows]], axis=1).astype(np.int64)
    both.sort(axis=1)
    ends, groups = np.unique(both, axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    member = csr_array(
        (np.ones(len(rows), dtype=np.float32), (groups, rows)), shape=(len(ends), len(subjects))
    )
    strengths = csr_array(member @ triple_chunks)
    strengths.sort_indices()
    twice = np.ones(2 * len(ends), dtype=np.float32)
    of_both = ends.T.ravel(), np.tile(np.arange(len(ends)), 2)
    return RelationLinks(
        ends=ends,
        weight=np.asarray(strengths.sum(axis=1), dtype=np.float64),
        triples=member,
        chunks=strengths,
        of_entity=csr_array((twice, of_both), shape=(n_entities, len(ends))),
    )


def find_relations(relations: RelationLinks, seeds: Sequence[int]) -> tuple[NDArray[np.intp], int]:
    """Return the seeds' relations, best first, and how many of them join two seeds.

    Relations between two seeds come first, by the sum of their ends' degrees; then those of one
    seed, by the number of seeds linked to the other end, then by degrees, at most ten per seed.
    """
    is_seed = np.zeros(relations.of_entity.shape[0], dtype=bool)
    is_seed[list(seeds)] = True
    mine = [neighbours(relations.of_entity, seed) for seed in seeds]
    rows = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *mine])).astype(np.intp)
    ends = relations.ends[rows]
    rank = relations.degree[ends].sum(axis=1)
    inside = is_seed[ends].all(axis=1)
    outer = np.where(is_seed[ends[:, 0]], ends[:, 1], ends[:, 0])
    _, groups, sizes = np.unique(outer[~inside], return_inverse=True, return_counts=True)
    links = np.zeros(len(rows), dtype=np.intp)
    links[~inside] = sizes[groups.reshape(-1)]
    order = np.lexsort((rows, -rank, -links, ~inside))
    n_inside = int(inside.sum())
    return rows[order[: n_inside + _OUTER_PER_SEED * len(seeds)]], n_inside


@dataclass(frozen=True, slots=True)
class LocalText:
    """A text, the seed that led to it, and how many of the seed's relations it supports."""

    row: int
    seed: int
    n_relations: int


def find_texts(
    seeds: Sequence[int],
    entity_chunks: csr_array,
    relations: RelationLinks,
    parts: csr_array,
    cosines: NDArray[np.floating],
) -> Iterator[LocalText]:
    """Yield the distinct sub-chunks of the seeds' chunks.

    Seeds keep their order. A seed's parts come by how many of its relations were found in their
    chunk, then by the (n_parts,) `cosines` to the query. The second key is ours: all parts of a
    chunk tie in the first. `parts` is (n_chunks, n_parts), each part in one chunk.
    """
    listed = np.zeros(parts.shape[1], dtype=bool)
    for seed in seeds:
        own = take_rows(relations.chunks, neighbours(relations.of_entity, seed))
        n_relations = np.bincount(own.indices, minlength=parts.shape[0])
        chunks = neighbours(entity_chunks, seed)
        of_chunks = take_rows(parts, chunks)
        counts = np.repeat(n_relations[chunks], of_chunks.counts)
        new = ~listed[of_chunks.indices]
        rows, counts = of_chunks.indices[new], counts[new]
        listed[rows] = True
        order = np.lexsort((rows, -np.round(cosines[rows], DECIMALS), -counts))
        for row, count in zip(rows[order].tolist(), counts[order].tolist(), strict=True):
            yield LocalText(row, seed, count)
