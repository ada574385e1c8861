"""Count the keys that several shards have over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.generation.layers import resolve_aliases
from clew.shards.exchange import TERM_NUMBERS, Counted, hash_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.shards.exchange import Counts, Hashes


@dataclass(frozen=True, slots=True)
class SharedKeys:
    """The keys that several shards have, with the sums of their numbers.

    Of a key that one shard alone has this says nothing: what that shard has is all there is.
    """

    hashes: Hashes  # ascending
    numbers: NDArray[np.int64]  # (3, n)

    @classmethod
    def from_parts(cls, parts: Sequence[Counted]) -> SharedKeys:
        """Return the keys that several of the shards have."""
        hashes = np.concatenate([each.hashes for each in parts])
        numbers = np.concatenate([each.numbers for each in parts], axis=1)
        order = np.argsort(hashes, kind="stable")
        hashes, numbers = hashes[order], numbers[:, order]
        first = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]])[: len(hashes)])
        sizes = np.diff(np.append(first, len(hashes)))
        sums = np.add.reduceat(numbers, first, axis=1) if len(first) else numbers
        several = sizes > 1
        return cls(hashes[first][several], sums[:, several])

    def find(self, counted: Counted) -> NDArray[np.int64]:
        """Return the (3, n) numbers of some keys of a shard in all of them."""
        shared = self.find_hashes(counted.hashes)
        return np.where(shared < 0, counted.numbers, shared)

    def find_hashes(self, hashes: Hashes) -> NDArray[np.int64]:
        """Return the (3, n) numbers of some keys, -1 for one that no two shards have."""
        at = np.searchsorted(self.hashes, hashes)
        known = np.flatnonzero(at < len(self.hashes))
        known = known[self.hashes[at[known]] == hashes[known]]
        numbers = np.full((3, len(hashes)), -1, dtype=np.int64)
        numbers[:, known] = self.numbers[:, at[known]]
        return numbers


@dataclass(frozen=True, slots=True)
class CorpusTotals:
    """The counts of all shards together."""

    n_chunks: int
    n_titles: int
    mean_length: float
    entities: SharedKeys
    terms: SharedKeys

    @classmethod
    def from_counts(cls, counts: Sequence[Counts], aliases: Mapping[str, str]) -> CorpusTotals:
        """Return the totals of the shards' counts; `aliases` are those of all shards."""
        parts = [each.entities for each in counts]
        if aliases:
            pairs = _known_pairs(parts, aliases)
            parts = [
                Counted(hashes=_resolve_hashes(p.hashes, *pairs), numbers=p.numbers) for p in parts
            ]
        titled = [part.hashes[part.numbers[1] > 0] for part in parts]
        n_chunks = sum(each.n_chunks for each in counts)
        return cls(
            n_chunks=n_chunks,
            n_titles=len(np.unique(np.concatenate(titled))),
            mean_length=sum(each.n_words for each in counts) / max(n_chunks, 1),
            entities=SharedKeys.from_parts(parts),
            terms=SharedKeys.from_parts([each.terms for each in counts]),
        )

    def term_chunks(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return how many chunks have each term, -1 where one shard alone can know."""
        numbers = self.terms.find_hashes(hash_keys(terms))
        chunks: NDArray[np.int64] = numbers[TERM_NUMBERS.index("chunks")]
        return chunks


def _known_pairs(parts: Sequence[Counted], aliases: Mapping[str, str]) -> tuple[Hashes, Hashes]:
    """Return the hashes of entities and of what they stand for, where shards have both."""
    pairs = resolve_aliases(aliases)
    known = np.unique(np.concatenate([each.hashes for each in parts]))
    own, target = hash_keys(list(pairs)), hash_keys(list(pairs.values()))
    both = np.isin(own, known) & np.isin(target, known)
    return own[both], target[both]


def _resolve_hashes(hashes: Hashes, own: Hashes, target: Hashes) -> Hashes:
    """Return the hashes of entities, with aliases resolved."""
    found = hashes.copy()
    for a, b in zip(own, target, strict=True):
        found[found == a] = b
    return found
