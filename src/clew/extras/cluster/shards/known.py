"""What is known of shards between questions: their descriptions, and what all have together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from clew.base.runtime.cached_values import Once
from clew.errors import InputError, RecipeMismatch, StoreError
from clew.extras.cluster.shards.asking import Inquiry, Shard
from clew.extras.cluster.shards.exchange import Count, Counts, Describe, ShardDescription
from clew.extras.cluster.shards.routing import Sketch
from clew.extras.cluster.shards.shard import GenerationChanged
from clew.extras.cluster.shards.whole import OF_SHARDS, CombinedShards, CorpusTotals
from clew.filters import match, parse

_CACHED_FILTERS = 8  # filters whose numbers stay in memory


class KnownShards:
    """The descriptions of shards, and their counts by filter, renewed after a write."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._is_current = False
        self._described: dict[int, ShardDescription] = {}
        self._together: Once[str] = Once(_CACHED_FILTERS)

    def expire(self) -> None:
        """Describe the shards anew before the next question."""
        self._is_current = False

    def describe(self, inquiry: Inquiry) -> Mapping[int, ShardDescription]:
        """Return the descriptions of shards by their numbers: of lost ones the last, if any."""
        known = self._described if self._is_current else {}
        wanted = [n for n in range(len(self._shards)) if n not in known]
        replies = inquiry.ask({number: Describe() for number in wanted})
        new = {n: each for n, each in replies.items() if isinstance(each, ShardDescription)}
        if any(self._described.get(number) != each for number, each in new.items()):
            self._described = dict(sorted({**self._described, **new}.items()))
            self._together = Once(_CACHED_FILTERS)
        self._is_current = True
        self._check_alike()
        return self._described

    def check_current(self, asked: Collection[int], inquiry: Inquiry) -> None:
        """Raise GenerationChanged for a shard that was not asked and was written to."""
        numbers = [number for number in self._described if number not in asked]
        replies = inquiry.ask({number: Describe() for number in numbers}, is_needed=False)
        if any(self._described.get(number) != each for number, each in replies.items()):
            raise GenerationChanged("a shard was written to that was not asked: ask again")

    def combine(self, where: str, inquiry: Inquiry) -> CombinedShards:
        """Combine the shards that are not lost, restricted to documents that match a filter."""
        described = self.describe(inquiry)
        count = partial(self._count, where, inquiry)
        one = self._together.get(where, count)
        back = described.keys() - one.counted - inquiry.lost.keys()
        if back:
            inquiry.ask({number: Describe() for number in sorted(back)})
            self._together = Once(_CACHED_FILTERS)
            one = self._together.get(where, count)
        here = [i for i, number in enumerate(one.shards) if number not in inquiry.lost]
        if not here:
            lost = ", ".join(inquiry.missing)
            raise StoreError(f"nothing was found, and shards did not reply ({lost}): ask again")
        own: dict[str, Any] = {name: [getattr(one, name)[i] for i in here] for name in OF_SHARDS}
        return replace(
            one, **own, missing=inquiry.missing, reached=1 - len(inquiry.lost) / len(self._shards)
        )

    def _count(self, where: str, inquiry: Inquiry) -> CombinedShards:
        shards = self._described
        vocabulary = dict(chain.from_iterable(each.vocabulary.items() for each in shards.values()))
        aliases = {key: each.target for key, each in vocabulary.items() if each.target}
        requests = {n: Count(state=each.state, where=where) for n, each in shards.items()}
        replies = inquiry.ask(requests)
        counts = {n: each for n, each in replies.items() if isinstance(each, Counts)}
        some = [number for number, each in counts.items() if each.n_chunks]
        if where and not inquiry.lost:
            names = dict.fromkeys(chain.from_iterable(each.fields for each in counts.values()))
            match.check_fields(parse(where), list(names))
        if not some and not inquiry.lost:
            if where:
                raise InputError(f"no document matches the filter {where!r:.200}: see 'clew list'")
            raise InputError("these shards are empty: add documents first")
        return CombinedShards(
            shards=some,
            states=[shards[number].state for number in some],
            whole=CorpusTotals.from_counts(list(counts.values()), aliases),
            entities=[Sketch.from_counts(counts[number].entities) for number in some],
            terms=[Sketch.from_counts(counts[number].terms) for number in some],
            recipe=next(iter(shards.values())).recipe,
            aliases=aliases,
            vocabulary=vocabulary,
            where=where,
            counted=frozenset(counts),
        )

    def _check_alike(self) -> None:
        """Raise RecipeMismatch for a shard built with other settings than the first one."""
        (first, one), *others = self._described.items()
        for number, each in others:
            for name in sorted({*each.recipe, *one.recipe}):
                if each.recipe.get(name) != one.recipe.get(name):
                    raise RecipeMismatch(
                        f"the shard {self._shards[number].name} was built with {name}"
                        f" {each.recipe.get(name)!r}, and {self._shards[first].name} with"
                        f" {one.recipe.get(name)!r}: index one of them again"
                    )
