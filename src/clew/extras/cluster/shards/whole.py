"""What all shards have together: counts of the keys that several of them have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clew.base.types import Scalar, VocabularyEntry
from clew.extras.cluster.shards.exchange import TERM_NUMBERS, Counted, Counts, Hashes
from clew.extras.cluster.shards.routing import Sketch
from clew.index.generation.layers import resolve_aliases
from clew.index.layers.numbers import hash_texts


@dataclass(frozen=True, slots=True)
class SharedKeys:
    """The keys that several shards have, with summed counts.

    Of a key that one shard alone has this says nothing: what that shard has is all there is.
    """

    hashes: Hashes  # ascending
    numbers: NDArray[np.int64]  # of each key, as `Counted` has them

    @classmethod
    def from_parts(cls, parts: Sequence[Counted]) -> Self:
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
        """Return the counts of some keys over all shards; the given ones for unshared keys."""
        numbers = counted.numbers.copy()
        at = np.searchsorted(self.hashes, counted.hashes)
        places = np.flatnonzero(at < len(self.hashes))
        places = places[self.hashes[at[places]] == counted.hashes[places]]
        numbers[:, places] = self.numbers[:, at[places]]
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
    def from_counts(cls, counts: Sequence[Counts], aliases: Mapping[str, str]) -> Self:
        """Sum the shards' counts; `aliases` are those of all shards."""
        parts = [each.entities for each in counts]
        if aliases:
            parts = _resolve_entities(parts, resolve_aliases(aliases))
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
        """Return the number of chunks of each term, -1 for a term of one shard."""
        unknown = np.full((len(TERM_NUMBERS), len(terms)), -1, dtype=np.int64)
        numbers = self.terms.find(Counted(hashes=hash_texts(terms), numbers=unknown))
        chunks: NDArray[np.int64] = numbers[TERM_NUMBERS.index("chunks")]
        return chunks


OF_SHARDS = ("shards", "states", "entities", "terms")  # fields with a value of each shard


@dataclass(frozen=True, slots=True)
class CombinedShards:
    """The shards as one index, each in a fixed state."""

    shards: Sequence[int]  # the numbers of those that have chunks
    states: Sequence[str]  # of these
    whole: CorpusTotals
    recipe: Mapping[str, Scalar]
    aliases: Mapping[str, str]  # those of the vocabulary
    vocabulary: Mapping[str, VocabularyEntry]
    where: str = ""
    exact: bool = False  # every shard compares the question with all that it has
    entities: Sequence[Sketch] = ()  # of these shards
    terms: Sequence[Sketch] = ()
    counted: frozenset[int] = frozenset()  # the numbers of shards whose counts `whole` has
    missing: tuple[str, ...] = ()  # the labels of shards that are lost
    reached: float = 1.0  # the share of shards that are not


def _resolve_entities(parts: Sequence[Counted], pairs: Mapping[str, str]) -> list[Counted]:
    """Replace aliases by their targets in parts from shards that have both."""
    every = np.unique(np.concatenate([each.hashes for each in parts]))
    own, target = hash_texts(pairs), hash_texts(pairs.values())
    both = np.isin(own, every) & np.isin(target, every)
    resolved = []
    for part in parts:
        hashes = part.hashes.copy()
        for a, b in zip(own[both], target[both], strict=True):
            hashes[hashes == a] = b
        resolved.append(Counted(hashes=hashes, numbers=part.numbers))
    return resolved
