"""From a question to the snapshot of what all shards have about it."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew import steps
from clew.algo.topk import DECIMALS, positive_top_k, top_k
from clew.shards.exchange import (
    Alike,
    Around,
    FoundAround,
    Near,
    Nearest,
    Neighbourhood,
    Seeds,
    SharedQuestion,
    Take,
    Taken,
    Tell,
    ToldChunks,
    Towards,
    hash_keys,
)
from clew.shards.joined import join_shards
from clew.shards.pool import FAR, ChunkPool
from clew.text.analyze import terms
from clew.text.keys import name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.models import Models
    from clew.shards.exchange import Hashes, Reply, Request
    from clew.shards.whole import CorpusTotals
    from clew.snapshot import Snapshot
    from clew.snapshot.layers import UnitsSought
    from clew.types import Scalar

    Seeker = Callable[[str, Snapshot, Models], UnitsSought]
    # Asks shards, by their numbers, all at once; the replies come in the order of the requests.
    AskShards = Callable[[Sequence[tuple[int, Request]]], list[Reply]]
    Places = NDArray[np.int64]  # of chunks: the place of their shard and their row in one number

_ALIKE, _FACT = 0.3, 0.3  # weight of an entity like a name, and of an end of a near fact


@dataclass(frozen=True, slots=True)
class CombinedShards:
    """The shards as one index, in one generation of each."""

    shards: Sequence[int]  # the numbers of those that have chunks
    generations: Sequence[int]  # of these
    whole: CorpusTotals
    recipe: Mapping[str, Scalar]
    aliases: Mapping[str, str]
    where: str = ""
    exact: bool = False  # every shard compares the question with all that it has


@dataclass(frozen=True, slots=True)
class Gathered:
    """What all shards have about a question, and how long it took to come by it."""

    snapshot: Snapshot
    seconds: Mapping[str, float] = field(default_factory=dict)  # of each stage
    n_chunks: int = 0


def gather_snapshot(
    question: str,
    models: Models,
    together: CombinedShards,
    ask: AskShards,
    size: Neighbourhood,
    *,
    salient: bool = False,
    seekers: Sequence[Seeker] = (),
) -> Gathered:
    """Return the snapshot of what shards have about a question, with `salient` terms if asked for.

    Each of `seekers` says where a method looks in it, and what is there comes besides.

    Raises StoreError where a shard does not reply, and GenerationChanged where one was written to
    meanwhile.
    """
    found = _Gathering(question, models, together, ask, size)
    places, seeds = found.find_near()
    pool = found.fetch_entities(places)
    for n in range(size.rounds):
        more = found.find_around(pool, seeds, places)
        places = np.concatenate([places, more])
        if n + 1 < size.rounds and len(more):
            pool = pool.join(found.fetch_entities(more))
    snapshot = found.take_snapshot(places, salient=salient)
    more = places[:0]
    for seeks in seekers:
        with found.timing("seek"):
            sought = seeks(question, snapshot, models)
        more = np.union1d(more, found.find_towards(sought, snapshot, places))
    if len(more):
        places = np.concatenate([places, more])
        snapshot = found.take_snapshot(places, salient=salient)
    return Gathered(snapshot, dict(found.seconds), len(places))


@dataclass
class _Gathering:
    """One question on its way through the shards."""

    question: str
    models: Models
    together: CombinedShards
    ask: AskShards
    size: Neighbourhood
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        self._n = len(self.together.shards)
        with self.timing("read"):
            self._vector = steps.read_query(self.models, self.question).vector
            self._words = list(dict.fromkeys(terms(self.question)))
            self._df = self.together.whole.term_chunks(self._words)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add how long a block takes to the seconds of a stage."""
        began = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - began

    def find_near(self) -> tuple[Places, dict[int, float]]:
        """Return the chunks nearest to the question, and the weights of entities to begin with."""
        size, spans = self.size, steps.name_spans(self.question)
        keys = list(dict.fromkeys(spans.values()))
        requests = {
            shard: Near(
                asked=self._shared_question(shard),
                chunks=shard_share(size.chunks, self._n),
                units=shard_share(size.units, self._n),
                triples=shard_share(size.triples, self._n),
                keys=keys,
            )
            for shard in range(self._n)
        }
        replies = self._ask_some("near", requests)
        found = [each for _, each in replies if isinstance(each, Nearest)]
        named: dict[str, int] = {}
        for each in found:
            for hash_, key in zip(each.named.tolist(), each.named_keys.tolist(), strict=True):
                named[keys[key]] = hash_
        known = [span for span, key in spans.items() if key in named]
        seeds = {named[spans[span]]: 1.0 for span in steps.longest(known)}
        likely = list(seeds)
        with self.timing("pool"):
            places = self._choose_nearest(found, seeds)
        likely += self._find_alike(set(named), seeds)
        if likely and self.size.named:
            wanted = np.array(list(dict.fromkeys(likely)), dtype=np.uint64)
            places = np.union1d(places, self._find_entity_chunks(wanted, self.size.named))
        return places, seeds

    def _choose_nearest(self, found: Sequence[Nearest], seeds: dict[int, float]) -> Places:
        """Return the chunks that are nearest in all shards, and add what these lead to."""
        size = self.size
        places = np.concatenate([i * FAR + each.rows for i, each in enumerate(found)])
        dense, lexical = (
            np.concatenate([getattr(each, name) for each in found]) for name in ("dense", "lexical")
        )
        chosen = [
            places[top_k(dense, size.chunks)],
            places[positive_top_k(lexical, size.chunks)],
            places[top_k(-dense, 1)],
        ]
        kinds = (
            ([e.units for e in found], [e.unit_chunks for e in found], size.units, 3, 1.0),
            ([e.triples for e in found], [e.triple_chunks for e in found], size.triples, 5, _FACT),
        )
        for parts, chunks, most, leading, weight in kinds:
            scores = np.concatenate([each.scores for each in parts])
            at = np.concatenate([i * FAR + rows for i, rows in enumerate(chunks)])
            best = top_k(scores, most)
            chosen.append(at[best])
            entities = [e for part in parts for e in _split_seeds(part)]
            for i in best[:leading].tolist():
                for entity in entities[i] if scores[i] > 0 else ():
                    seeds[entity] = seeds.get(entity, 0.0) + weight * float(scores[i])
        return np.unique(np.concatenate(chosen))

    def _find_alike(self, known: set[str], seeds: dict[int, float]) -> list[int]:
        """Return entities whose names are like one in the question that no shard has, as seeds."""
        [mentions] = self.models.tagger.tag([self.question])
        texts = [self.question[m.start : m.end] for m in mentions if m.label != "DATE"]
        names = [key for key in dict.fromkeys(map(name_key, texts)) if key not in known]
        if not names or not self.size.alike:
            return []
        vectors = self.models.embedder.embed(names, kind="document")
        most, together = shard_share(self.size.alike, self._n), self.together
        requests = {
            shard: Alike(generation=generation, where=together.where, names=vectors, most=most)
            for shard, generation in enumerate(together.generations)
        }
        replies = self._ask_some("alike", requests)
        parts = [each for _, each in replies if isinstance(each, Seeds)]
        scores = np.concatenate([each.scores for each in parts])
        entities = [e for part in parts for e in _split_seeds(part)]
        best = top_k(scores, self.size.alike * len(names)).tolist()
        for i in best:
            for entity in entities[i]:
                seeds[entity] = max(seeds.get(entity, 0.0), _ALIKE * float(scores[i]))
        return [entity for i in best for entity in entities[i]]

    def fetch_entities(self, places: Places) -> ChunkPool:
        """Return chunks with their entities, as their shards have them."""
        requests = {
            i: Tell(asked=self._shared_question(i), chunks=rows)
            for i, rows in self._group_by_shard(places)
        }
        found = self._ask_some("tell", requests)
        with self.timing("pool"):
            parts = [(i, each) for i, each in found if isinstance(each, ToldChunks)]
            return ChunkPool.from_replies(parts, self.together.whole)

    def find_around(self, pool: ChunkPool, seeds: Mapping[int, float], known: Places) -> Places:
        """Return chunks that are not known, of the entities that most weight comes to.

        Of each one those that are worth most, in all shards.
        """
        size = self.size
        with self.timing("pool"):
            _, weights = pool.spread(seeds, self.together.whole.n_chunks)
            missing = np.minimum(pool.count_missing(), size.most)
            gains = np.where(missing > 0, weights / np.maximum(pool.numbers[2], 1), 0.0)
            order = positive_top_k(gains, len(gains))
            order = order[np.cumsum(missing[order]) <= size.around]
        if not len(order):
            return known[:0]
        return np.setdiff1d(self._find_entity_chunks(pool.entities[order], size.most), known)

    def _find_entity_chunks(self, wanted: Hashes, n: int) -> Places:
        """Return the `n` chunks of each of some entities that are worth most, of all shards."""
        most = shard_share(n, self._n)
        requests = {
            i: Around(asked=self._shared_question(i), entities=wanted, most=most)
            for i in range(self._n)
        }
        return self._find_best("around", requests, len(wanted), n)

    def find_towards(self, sought: UnitsSought, snapshot: Snapshot, known: Places) -> Places:
        """Return chunks that are not known, in which a method looks for units of entities."""
        keys = snapshot.layer("entity").ids(sought.entities.tolist())
        if not keys:
            return known[:0]
        hashes = hash_keys(keys)
        order = np.argsort(hashes, kind="stable")
        requests = {
            i: Towards(
                asked=self._shared_question(i),
                entities=hashes[order],
                directions=sought.directions[order],
                most=shard_share(sought.units, self._n),
                titles=sought.titles,
            )
            for i in range(self._n)
        }
        return np.setdiff1d(self._find_best("towards", requests, len(keys), sought.units), known)

    def _find_best(
        self, stage: str, requests: Mapping[int, Request], n_owners: int, n: int
    ) -> Places:
        """Return the `n` chunks that are worth most for each owner, of all shards."""
        found = [(i, e) for i, e in self._ask_some(stage, requests) if isinstance(e, FoundAround)]
        began = time.perf_counter()
        places = np.concatenate([i * FAR + each.rows for i, each in found])
        owners, worth = (
            np.concatenate([getattr(each, name) for _, each in found])
            for name in ("owners", "worth")
        )
        best = np.lexsort((places, -np.round(worth, DECIMALS), owners))
        first = np.searchsorted(owners[best], np.arange(n_owners))
        best = best[np.arange(len(best)) - first[owners[best]] < n]
        self.seconds["pool"] += time.perf_counter() - began
        return np.asarray(places[best])

    def take_snapshot(self, places: Places, *, salient: bool) -> Snapshot:
        """Return the snapshot of some chunks."""
        together = self.together
        requests = {
            i: Take(
                generation=together.generations[i],
                where=together.where,
                chunks=rows,
                salient=salient,
            )
            for i, rows in self._group_by_shard(places)
        }
        found = [each for _, each in self._ask_some("take", requests) if isinstance(each, Taken)]
        with self.timing("join"):
            return join_shards(found, together.whole, together.recipe, together.aliases)

    def _group_by_shard(self, places: Places) -> list[tuple[int, NDArray[np.int64]]]:
        """Return the shards that have some chunks, and the rows of these, ascending."""
        ordered = np.sort(places)
        shards, firsts = np.unique(ordered // FAR, return_index=True)
        parts = np.split(ordered % FAR, firsts[1:])
        return list(zip(shards.tolist(), parts, strict=True))

    def _shared_question(self, shard: int) -> SharedQuestion:
        whole = self.together.whole
        return SharedQuestion(
            generation=self.together.generations[shard],
            where=self.together.where,
            vector=self._vector,
            terms=self._words,
            df=self._df,
            n_chunks=whole.n_chunks,
            mean_length=whole.mean_length,
            exact=self.together.exact,
        )

    def _ask_some(self, stage: str, requests: Mapping[int, Request]) -> list[tuple[int, Reply]]:
        """Return what some shards reply, in the order of their numbers."""
        with self.timing(stage):
            found = self.ask([(self.together.shards[i], each) for i, each in requests.items()])
        return list(zip(requests, found, strict=True))


def shard_share(n: int, n_shards: int) -> int:
    """Return how many of the `n` best of all to ask each shard for.

    Documents are in shards by chance, so each has n / n_shards of them, and hardly ever three
    standard deviations more.
    """
    mean = n / n_shards
    return min(n, int(np.ceil(mean + 3 * np.sqrt(mean))) + 1)


def _split_seeds(seeds: Seeds) -> list[list[int]]:
    bounds, flat = seeds.begins.tolist(), seeds.entities.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(bounds)]
