"""Baselines beside the released cores of their papers, written once more, on the same index.

    python benchmarks/peers/cores.py DATASET INDEX [N]

INDEX has the data set's passages, each one chunk, and triples of them. Each core is written from
its authors' public code, in our words, with networkx, and takes vectors, names, sentences and
triples of the index: what differs is the algorithm. docs/results/baselines.md has the figures.

- graphrag: `LocalSearchMixedContext`, the texts of a question in their order.
- linearrag: `LinearRAG.retrieve`, with the settings of the program and of the authors' script.
- e2graphrag: `Retriever.query`, the chunks in the order of its context.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np

import clew
from clew import steps
from clew.evaluate import load
from clew.index.snapshot import Snapshot
from clew.models import Models
from clew.text.normalize import entity_key


@dataclass(frozen=True)
class World:
    """An index as plain values."""

    snapshot: Snapshot
    models: Models
    _vectors: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def chunks_of(self) -> list[list[int]]:
        """The chunks in which an entity is mentioned, by sentence or title."""
        return self._rows((self.mentions > 0).T)

    @cached_property
    def sentences(self) -> list[list[int]]:
        """The entities of each sentence."""
        return self._rows(self.snapshot.link("unit", "entity").toarray() > 0)

    @cached_property
    def sentences_of(self) -> list[list[int]]:
        """The sentences of each entity."""
        found: list[list[int]] = [[] for _ in range(len(self.snapshot.layer("entity")))]
        for sentence, entities in enumerate(self.sentences):
            for entity in entities:
                found[entity].append(sentence)
        return found

    @cached_property
    def mentions(self) -> np.ndarray:
        """(n_chunks, n_entities), in how many sentences and titles an entity stands."""
        units = self.snapshot.link("chunk", "unit").toarray()
        own = units @ self.snapshot.link("unit", "entity").toarray()
        titles = self.snapshot.link("document", "entity").toarray()
        return own + titles[self.snapshot.layer("chunk").columns["document"]]

    @cached_property
    def occurrences(self) -> np.ndarray:
        """(n_chunks, n_entities), how often the name of an entity of a chunk stands in its text."""
        keys = list(self.snapshot.layer("entity").ids(range(self.mentions.shape[1])))
        texts = self.snapshot.titled_texts(range(self.mentions.shape[0]))
        found = np.zeros(self.mentions.shape)
        for chunk, text in enumerate(texts):
            key = entity_key(text)
            for entity in np.flatnonzero(self.mentions[chunk]):
                found[chunk, entity] = key.count(keys[entity])
        return found

    def vectors(self, layer: str) -> np.ndarray:
        """The (n, d) vectors of a layer, in memory."""
        if layer not in self._vectors:
            self._vectors[layer] = np.asarray(self.snapshot.layer(layer).vectors[:], dtype=float)
        return self._vectors[layer]

    def documents(self, chunks: Sequence[int]) -> list[str]:
        owners = self.snapshot.layer("chunk").columns["document"]
        return list(self.snapshot.layer("document").ids(owners[list(chunks)].tolist()))

    @staticmethod
    def _rows(table: np.ndarray) -> list[list[int]]:
        return [np.flatnonzero(row).tolist() for row in table]


Core = Callable[[str], list[int]]


def graphrag(world: World, n_entities: int = 20) -> Core:
    """Texts by the nearest entity that they are of, then by its relations there, then as listed.

    The package asks its store for twice the ten entities of its setting, and cuts none.
    """
    snapshot = world.snapshot
    columns = snapshot.layer("triple").columns
    of_entity = snapshot.link("entity", "chunk")
    extracted = np.flatnonzero(np.diff(of_entity.indptr))
    texts_of = {e: of_entity[[e]].indices.tolist() for e in extracted.tolist()}
    relations: dict[int, dict[int, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    link = snapshot.link("triple", "chunk")
    for triple in range(link.shape[0]):
        ends = int(columns["subject"][triple]), int(columns["object"][triple])
        for chunk in link[[triple]].indices.tolist():
            for end in ends:
                relations[end][chunk].add((min(ends), max(ends)))
    vectors = world.vectors("entity")[extracted]

    def ask(query: str) -> list[int]:
        [asked] = world.models.embedder.embed([query], kind="query")
        best = np.argsort(-(vectors @ asked), kind="stable")[:n_entities]
        listed: dict[int, tuple[int, int]] = {}
        for place, entity in enumerate(extracted[best].tolist()):
            for chunk in texts_of[entity]:
                listed.setdefault(chunk, (place, -len(relations[entity][chunk])))
        return sorted(listed, key=listed.__getitem__)

    return ask


@dataclass(frozen=True)
class LinearSettings:
    """The names of the authors' options."""

    max_iterations: int = 3
    iteration_threshold: float = 0.4
    top_k_sentence: int = 3
    passage_ratio: float = 2.0
    passage_node_weight: float = 0.05
    damping: float = 0.5


@dataclass(frozen=True)
class LinearCore:
    """PageRank from woken entities and all passages.

    `counts` is how often an entity stands in a passage; `adjacent` joins each to the next one.
    """

    world: World
    settings: LinearSettings
    counts: np.ndarray  # (n_chunks, n_entities)
    adjacent: bool = False

    @cached_property
    def graph(self) -> nx.Graph:
        """Passages, then entities, joined by an entity's share of a passage's names."""
        counts, graph = self.counts, nx.Graph()
        graph.add_nodes_from(range(sum(counts.shape)))
        for chunk, entity in zip(*counts.nonzero(), strict=True):
            share = counts[chunk, entity] / counts[chunk].sum()
            graph.add_edge(int(chunk), len(counts) + int(entity), weight=share)
        if self.adjacent:
            graph.add_edges_from(((i, i + 1) for i in range(len(counts) - 1)), weight=1.0)
        return graph

    def __call__(self, query: str) -> list[int]:
        [asked] = self.world.models.embedder.embed([query], kind="query")
        near = self.world.vectors("chunk") @ asked
        active, weights = self.wake(query, asked)
        if not active:
            return np.argsort(-near, kind="stable").tolist()
        counts, settings = self.counts, self.settings
        scaled = (near - near.min()) / (near.max() - near.min())
        bonus = np.zeros(len(near))
        for entity, (score, tier) in active.items():
            bonus += score * np.log1p(counts[:, entity]) / tier
        own = settings.passage_node_weight * (settings.passage_ratio * scaled + np.log1p(bonus))
        reset = {chunk: max(float(weight), 0.0) for chunk, weight in enumerate(own)}
        reset |= {len(near) + entity: max(weight, 0.0) for entity, weight in weights.items()}
        found = self.rank(reset)
        return sorted(range(len(near)), key=lambda chunk: -found[chunk])

    def rank(self, reset: Mapping[int, float]) -> Mapping[int, float]:
        """Return the PageRank of each node."""
        settings = self.settings
        return nx.pagerank(self.graph, settings.damping, reset, weight="weight", tol=1e-10)

    def wake(
        self, query: str, asked: np.ndarray
    ) -> tuple[dict[int, tuple[float, int]], dict[int, float]]:
        """Return the last score and tier of each active entity, and the sum of all its scores."""
        active = {seed: (score, 1) for seed, score in self.find_seeds(query)}
        weights = {seed: score for seed, (score, _) in active.items()}
        used: set[int] = set()
        current = dict(active)
        for tier in range(2, self.settings.max_iterations + 1):
            woken: dict[int, tuple[float, int]] = {}
            for entity, (score, _) in current.items():
                if score >= self.settings.iteration_threshold:
                    for other, given in self.read_sentences(entity, score, asked, used):
                        weights[other] = weights.get(other, 0.0) + given
                        woken[other] = (given, tier)
            active |= woken
            current = woken
        return active, weights

    def find_seeds(self, query: str) -> Iterator[tuple[int, float]]:
        """Yield the entity most like each name of the question, with its cosine."""
        mentioned, _ = steps.query_names(self.world.models, query)
        if mentioned:
            keys = [entity_key(name) for name in mentioned]
            for vector in self.world.models.embedder.embed(keys, kind="document"):
                near = self.world.vectors("entity") @ vector
                yield int(near.argmax()), float(near.max())

    def read_sentences(
        self, entity: int, score: float, asked: np.ndarray, used: set[int]
    ) -> Iterator[tuple[int, float]]:
        """Yield the entities of the sentences nearest to the question that were not used."""
        own = [s for s in self.world.sentences_of[entity] if s not in used]
        near = self.world.vectors("unit")[own] @ asked
        for place in np.argsort(-near, kind="stable")[: self.settings.top_k_sentence]:
            used.add(own[place])
            given = score * float(near[place])
            if given >= self.settings.iteration_threshold:
                yield from ((other, given) for other in self.world.sentences[own[place]])


@dataclass(frozen=True)
class E2Core:
    """Chunks that two close names share, in the order of the context; else the nearest, ranked."""

    world: World
    k: int = 25
    path: int = 4  # names on it

    @cached_property
    def graph(self) -> nx.Graph:
        """Names that stand in one sentence."""
        graph = nx.Graph()
        for entities in self.world.sentences:
            graph.add_edges_from(combinations(entities, 2))
        return graph

    def __call__(self, query: str) -> list[int]:
        named = [link.row for link in steps.named_entities(self.world.snapshot, query)]
        most = self.path
        before = found = self.share(named, most)
        if not found:
            return self.rank_nearest(query, named)
        while len(found) > self.k:
            before, most = found, most - 1
            found = self.share(named, most)
        return found or self.rank_shared(before, named)

    def share(self, named: Sequence[int], most: int) -> list[int]:
        """Return the chunks that two names share which are close."""
        by_chunk: dict[int, set[int]] = {}
        for one, other in combinations(named, 2):
            if not self.are_close(one, other, most):
                continue
            for chunk in sorted({*self.world.chunks_of[one]} & {*self.world.chunks_of[other]}):
                by_chunk.setdefault(chunk, set()).update((one, other))
        return _group(by_chunk)

    def are_close(self, one: int, other: int, most: int) -> bool:
        if one not in self.graph or other not in self.graph:
            return False
        joined = nx.has_path(self.graph, one, other)
        return joined and len(nx.shortest_path(self.graph, one, other)) <= most

    def rank_nearest(self, query: str, named: Sequence[int]) -> list[int]:
        """Return the nearest chunks by the mentions of names, those without one left out."""
        [asked] = self.world.models.embedder.embed([query], kind="query")
        near = np.argsort(-(self.world.vectors("chunk") @ asked), kind="stable").tolist()
        counts = [int(self.world.mentions[c, named].sum()) for c in near[: 2 * self.k]]
        order = sorted(range(len(counts)), key=lambda place: -counts[place])
        return [near[place] for place in order if counts[place]][: self.k] or near[: self.k]

    def rank_shared(self, chunks: Sequence[int], named: Sequence[int]) -> list[int]:
        """Rank too many chunks by how many names stand there, then by their mentions."""
        counts = self.world.mentions[:, named]
        keys = {c: (-int((counts[c] > 0).sum()), -int(counts[c].sum())) for c in chunks}
        return sorted(chunks, key=keys.__getitem__)[: self.k]


def _group(by_chunk: dict[int, set[int]]) -> list[int]:
    """Return chunks as the context has them: those of equal names stand together, in text order."""
    groups: dict[frozenset[int], list[int]] = {}
    for chunk, entities in by_chunk.items():
        groups.setdefault(frozenset(entities), []).append(chunk)
    return [chunk for group in groups.values() for chunk in sorted(group)]


def compare(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> str:
    """Return how many have the same first document, and the mean overlap of the first 5 and 10."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a and b]
    first = np.mean([a[0] == b[0] for a, b in pairs])
    cells = [f"{first:.2f}"]
    for k in (5, 10):
        shares = [len({*a[:k]} & {*b[:k]}) / max(min(k, len(a)), min(k, len(b))) for a, b in pairs]
        cells.append(f"{np.mean(shares):.3f}")
    return " | ".join([*cells, str(len(pairs))])


def _list_cores(world: World) -> Iterator[tuple[str, str, Core]]:
    """Yield the baseline, what differs in the core, and the core."""
    linear = {
        "linearrag": LinearSettings(),
        "linearrag_musique": LinearSettings(5, 0.1, 4, 2.0),
        "linearrag_hotpotqa": LinearSettings(3, 0.4, 1, 0.05),
    }
    yield "graphrag_local", "", graphrag(world)
    yield "e2graphrag", "", E2Core(world, 10)
    for name, settings in linear.items():
        yield name, "names counted by sentences", LinearCore(world, settings, world.mentions)
        yield name, "", LinearCore(world, settings, world.occurrences)
    settings = linear["linearrag"]
    yield "linearrag", "next passages joined", LinearCore(world, settings, world.occurrences, True)


def main() -> None:
    """Print a row for each baseline: same first, overlap of 5 and 10, and questions."""
    path, place, *limit = sys.argv[1:]
    dataset = load(path, limit=int(limit[0]) if limit else None)
    with clew.open(Path(place)) as index:
        world = World(index.snapshot(), index.models)
        for name, change, core in _list_cores(world):
            ours, theirs, right = [], [], []
            for question in dataset.questions:
                hits = index.search(question.text, method=name).hits
                ours.append(list(dict.fromkeys(hit.document_id for hit in hits)))
                theirs.append(list(dict.fromkeys(world.documents(core(question.text)))))
                gold = set(question.supporting_ids)
                right.append([len(gold & {*x[-1][:5]}) / len(gold) for x in (ours, theirs)])
            shown = ", ".join(filter(None, (name, change)))
            recall = " and ".join(f"{x:.3f}" for x in np.mean(right, axis=0))
            print(f"| {shown} | {compare(ours, theirs)} | recall@5 {recall}", flush=True)


if __name__ == "__main__":
    main()
