"""Gather the neighbourhood of a question from all shards into one snapshot."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from clew import Snapshot, steps
from clew.algo.topk import DECIMALS, positive_top_k, top_k
from clew.extras.cluster.shards import exchange
from clew.extras.cluster.shards.exchange import Hashes, Reply, Request, Seeds
from clew.extras.cluster.shards.joined import join_shards
from clew.extras.cluster.shards.pool import FAR, ChunkPool
from clew.extras.cluster.shards.routing import OF_ENTITIES, OF_TERMS, share_keys
from clew.extras.cluster.shards.whole import CombinedShards
from clew.index.layers.numbers import hash_texts
from clew.index.snapshot.layers import UnitsSought
from clew.models import Models
from clew.text.analyze import terms
from clew.text.keys import name_key

Seeker = Callable[[str, Snapshot, Models], UnitsSought]
# Asks shards by their numbers, all at once.
AskShards = Callable[[Mapping[int, Request]], Mapping[int, Reply]]
R = TypeVar("R")
Places = NDArray[np.int64]  # of chunks: the place of their shard and their row in one number

_ALIKE, _FACT = 0.3, 0.3  # weight of an entity like a name, and of an end of a near fact
_LEAST_SHARDS = 6  # of so few all are searched


@dataclass(frozen=True, slots=True)
class Gathered:
    """The neighbourhood of a question, and the seconds it took to gather."""

    snapshot: Snapshot
    seconds: Mapping[str, float] = field(default_factory=dict)  # of each stage
    n_chunks: int = 0
    searched: Sequence[int] = ()  # the numbers of shards that were searched for the question
    asked: frozenset[int] = frozenset()  # of those, and of others in which names were looked up


def gather_snapshot(
    question: str,
    models: Models,
    together: CombinedShards,
    ask: AskShards,
    size: exchange.Neighbourhood,
    *,
    salient: bool = False,
    seekers: Sequence[Seeker] = (),
) -> Gathered:
    """Return a snapshot of a question's neighbourhood, with `salient` terms if wanted.

    `seekers` say where methods look in it, and what is there is fetched too. Raises StoreError if a
    shard does not reply, GenerationChanged if one was written to meanwhile.
    """
    gathering = _Gathering(question, models, together, ask, size)
    places, seeds = gathering.find_near()
    chunks = gathering.fetch_entities(places)
    for n in range(size.rounds):
        more = gathering.find_entity_chunks(chunks, seeds, places)
        places = np.concatenate([places, more])
        if n + 1 < size.rounds and len(more):
            chunks += gathering.fetch_entities(more)
    snapshot = gathering.take_snapshot(places, salient=salient)
    more = places[:0]
    for seeks in seekers:
        with gathering.measure("seek"):
            sought = seeks(question, snapshot, models)
        more = np.union1d(more, gathering.find_sought_chunks(sought, snapshot, places))
    if len(more):
        places = np.concatenate([places, more])
        snapshot = gathering.take_snapshot(places, salient=salient)
    searched = [together.shards[i] for i in gathering.searched]
    asked = frozenset(gathering.asked)
    return Gathered(snapshot, dict(gathering.seconds), len(places), searched, asked)


@dataclass
class _Gathering:
    """The state of gathering for one question."""

    question: str
    models: Models
    together: CombinedShards
    ask: AskShards
    size: exchange.Neighbourhood
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    asked: set[int] = field(default_factory=set)  # the numbers of shards

    def __post_init__(self) -> None:
        self._n = len(self.together.shards)
        with self.measure("read"):
            self._vector = steps.read_query(self.models, self.question).vector
            self._words = list(dict.fromkeys(terms(self.question)))
            self._df = self.together.whole.term_chunks(self._words)

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the duration of a block to the seconds of a stage."""
        began = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - began

    def _choose_shards(self, keys: Sequence[str]) -> list[int]:
        """Return the shards that have most of the words and names of the question."""
        one, scores = self.together, np.zeros(self._n)
        most = max(_LEAST_SHARDS, math.ceil(self.size.shards * self._n))
        if not one.exact and most < self._n:
            names = [one.aliases.get(key, key) for key in keys]
            keyed = (one.terms, self._words, OF_TERMS), (one.entities, names, OF_ENTITIES)
            for sketches, own, weights in keyed:
                shares, totals = share_keys(sketches, hash_texts(own), weights)
                scores += shares @ np.log1p(one.whole.n_chunks / np.maximum(totals, 1))
        return sorted(positive_top_k(scores, most).tolist()) or list(range(self._n))

    def find_near(self) -> tuple[Places, dict[int, float]]:
        """Return the chunks nearest to the question, and the initial weights of entities."""
        size, spans = self.size, steps.name_spans(self.question)
        keys = list(dict.fromkeys(spans.values()))
        self.searched = self._choose_shards(keys)
        n = len(self.searched)
        requests = {
            shard: exchange.Near(
                asked=self._shared_question(shard),
                chunks=shard_share(size.chunks, n),
                units=shard_share(size.units, n),
                triples=shard_share(size.triples, n),
                keys=keys,
            )
            for shard in self.searched
        }
        nearest = self._ask_some("near", requests, exchange.Nearest)
        hashes: dict[str, int] = {}
        for each in nearest.values():
            for hash_, key in zip(each.named.tolist(), each.named_keys.tolist(), strict=True):
                hashes[keys[key]] = hash_
        linked = [span for span, key in spans.items() if key in hashes]
        likely = [hashes[spans[span]] for span in steps.longest(linked)]
        seeds = dict.fromkeys(likely, 1.0)
        with self.measure("pool"):
            places = self._choose_nearest(nearest, seeds)
        likely += self._find_alike(set(hashes), seeds)
        if likely and size.named:
            wanted = np.array(list(dict.fromkeys(likely)), dtype=np.uint64)
            places = np.union1d(places, self._find_entity_chunks(wanted, size.named))
        return places, seeds

    def _choose_nearest(
        self, nearest: Mapping[int, exchange.Nearest], seeds: dict[int, float]
    ) -> Places:
        """Return the nearest chunks over all shards, and add the seeds that they lead to."""
        size = self.size
        replies = list(nearest.values())
        places = _join_places((i, each.rows) for i, each in nearest.items())
        dense = np.concatenate([each.dense for each in replies])
        lexical = np.concatenate([each.lexical for each in replies])
        sets = [
            places[top_k(dense, size.chunks)],
            places[positive_top_k(lexical, size.chunks)],
            places[top_k(-dense, 1)],
        ]
        kinds = (
            ([(e.units, e.unit_chunks) for e in replies], size.units, 3, 1.0),
            ([(e.triples, e.triple_chunks) for e in replies], size.triples, 5, _FACT),
        )
        for parts, most, leading, weight in kinds:
            scores, entities = _join_seeds([part for part, _ in parts])
            best = top_k(scores, most)
            sets.append(_join_places(zip(nearest, (rows for _, rows in parts), strict=True))[best])
            for i in best[:leading].tolist():
                for entity in entities[i] if scores[i] > 0 else ():
                    seeds[entity] = seeds.get(entity, 0.0) + weight * float(scores[i])
        return np.unique(np.concatenate(sets))

    def _find_alike(self, keys: set[str], seeds: dict[int, float]) -> list[int]:
        """Return seeds for names that no shard has exactly: the most similar entities."""
        [mentions] = self.models.tagger.tag([self.question])
        texts = [self.question[m.start : m.end] for m in mentions if m.label != "DATE"]
        names = [key for key in dict.fromkeys(map(name_key, texts)) if key not in keys]
        if not names or not self.size.alike:
            return []
        vectors = self.models.embedder.embed(names, kind="document")
        most, together = shard_share(self.size.alike, self._n), self.together
        requests = {
            i: exchange.Alike(state=state, where=together.where, names=vectors, most=most)
            for i, state in enumerate(together.states)
            if i in self.searched
        }
        scores, entities = _join_seeds(self._ask_some("alike", requests, Seeds).values())
        best = top_k(scores, self.size.alike * len(names)).tolist()
        for i in best:
            for entity in entities[i]:
                seeds[entity] = max(seeds.get(entity, 0.0), _ALIKE * float(scores[i]))
        return [entity for i in best for entity in entities[i]]

    def fetch_entities(self, places: Places) -> list[exchange.ToldChunks]:
        """Fetch the entities of chunks from their shards."""
        requests = {
            i: exchange.Tell(asked=self._shared_question(i), chunks=rows)
            for i, rows in _group_by_shard(places)
        }
        return list(self._ask_some("tell", requests, exchange.ToldChunks).values())

    def find_entity_chunks(
        self, chunks: Sequence[exchange.ToldChunks], seeds: Mapping[int, float], places: Places
    ) -> Places:
        """Return chunks outside `places` of the entities with most weight.

        Of each one those that are worth most, in all shards.
        """
        with self.measure("pool"):
            whole, size = self.together.whole, self.size
            pool = ChunkPool.from_replies(chunks, whole)
            _, weights = pool.spread(seeds, whole.n_chunks)
            missing = np.minimum(pool.count_missing(), size.most)
            gains = np.where(missing > 0, weights / np.maximum(pool.numbers[2], 1), 0.0)
            order = positive_top_k(gains, len(gains))
            order = order[np.cumsum(missing[order]) <= size.around]
        if not len(order):
            return places[:0]
        return np.setdiff1d(self._find_entity_chunks(pool.entities[order], size.most), places)

    def _find_entity_chunks(self, wanted: Hashes, n: int) -> Places:
        """Return the `n` best chunks of each entity over all shards that have it."""
        shares, _ = share_keys(self.together.entities, wanted, OF_ENTITIES)
        most = shard_share(n, self._n)
        requests = {
            i: exchange.Around(asked=self._shared_question(i), entities=wanted, most=most)
            for i in range(self._n)
            if shares[i].any()
        }
        return self._find_best("around", requests, len(wanted), n)

    def find_sought_chunks(self, sought: UnitsSought, snapshot: Snapshot, places: Places) -> Places:
        """Return the chunks outside `places` near the units of entities that a method searches."""
        keys = snapshot.layer("entity").ids(sought.entities.tolist())
        if not keys:
            return places[:0]
        hashes = hash_texts(keys)
        order = np.argsort(hashes, kind="stable")
        requests = {
            i: exchange.Towards(
                asked=self._shared_question(i),
                entities=hashes[order],
                directions=sought.directions[order],
                most=shard_share(sought.units, self._n),
                titles=sought.titles,
            )
            for i in range(self._n)
        }
        return np.setdiff1d(self._find_best("towards", requests, len(keys), sought.units), places)

    def _find_best(
        self, stage: str, requests: Mapping[int, Request], n_owners: int, n: int
    ) -> Places:
        """Return the `n` best chunks of each owner over all shards."""
        if not requests:
            return np.zeros(0, dtype=np.int64)
        replies = self._ask_some(stage, requests, exchange.FoundAround)
        with self.measure("pool"):
            places = _join_places((i, each.rows) for i, each in replies.items())
            owners = np.concatenate([each.owners for each in replies.values()])
            worth = np.concatenate([each.worth for each in replies.values()])
            best = np.lexsort((places, -np.round(worth, DECIMALS), owners))
            first = np.searchsorted(owners[best], np.arange(n_owners))
            best = best[np.arange(len(best)) - first[owners[best]] < n]
        return np.asarray(places[best])

    def take_snapshot(self, places: Places, *, salient: bool) -> Snapshot:
        """Return a snapshot of some chunks."""
        one = self.together
        requests = {
            i: exchange.Take(state=one.states[i], where=one.where, chunks=rows, salient=salient)
            for i, rows in _group_by_shard(places)
        }
        taken = list(self._ask_some("take", requests, exchange.Taken).values())
        with self.measure("join"):
            return join_shards(taken, one)

    def _shared_question(self, shard: int) -> exchange.SharedQuestion:
        whole = self.together.whole
        return exchange.SharedQuestion(
            state=self.together.states[shard],
            where=self.together.where,
            vector=self._vector,
            terms=self._words,
            df=self._df,
            n_chunks=whole.n_chunks,
            mean_length=whole.mean_length,
            exact=self.together.exact,
        )

    def _ask_some(self, stage: str, requests: Mapping[int, Request], kind: type[R]) -> dict[int, R]:
        """Return the replies of some shards in the order of their numbers."""
        with self.measure(stage):
            numbers = {self.together.shards[i]: i for i in requests}
            self.asked.update(numbers)
            replies = self.ask({number: requests[i] for number, i in numbers.items()})
        return {numbers[n]: each for n, each in replies.items() if isinstance(each, kind)}


def _join_places(rows: Iterable[tuple[int, NDArray[np.int64]]]) -> Places:
    """Concatenate the row positions of shards."""
    return np.concatenate([shard * FAR + each for shard, each in rows])


def _group_by_shard(places: Places) -> list[tuple[int, NDArray[np.int64]]]:
    """Group chunks by shard, with ascending rows in each."""
    ordered = np.sort(places)
    shards, firsts = np.unique(ordered // FAR, return_index=True)
    return list(zip(shards.tolist(), np.split(ordered % FAR, firsts[1:]), strict=True))


def shard_share(n: int, n_shards: int) -> int:
    """Return how many of the `n` best overall to request from each shard.

    Documents are distributed at random, so a shard has n / n_shards of them, and hardly ever three
    standard deviations more.
    """
    mean = n / n_shards
    return min(n, int(np.ceil(mean + 3 * np.sqrt(mean))) + 1)


def _join_seeds(parts: Iterable[Seeds]) -> tuple[NDArray[np.float64], list[list[int]]]:
    """Concatenate the seeds of all parts: scores, and entities of each."""
    scores: list[NDArray[np.float64]] = []
    entities: list[list[int]] = []
    for part in parts:
        scores.append(part.scores)
        flat = part.entities.tolist()
        entities += [flat[a:b] for a, b in pairwise(part.begins.tolist())]
    return np.concatenate(scores), entities
