"""KET-RAG against a second implementation: its graph of chunks, both channels, whole presets."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from clew.algo.keywords import keyword_cosines, keyword_lengths
from clew.algo.knn import choose_core, choose_neighbours, core_size, page_ranks
from clew.algo.local_search import find_relations, find_texts, group_relations
from clew.algo.pool import pool_rows
from clew.methods import load
from clew.text import blocks
from clew.text.chunking import Chunking
from tests.papers import ket_oracle as oracle
from tests.papers import worlds

# The worked example: six chunks of eight words, vectors at these angles, K = 2.
CHUNKS = [
    "alice founded acme robotics in paris france city",
    "acme robotics builds welding robots in lyon factory",
    "bob is the chief engineer of acme robotics",
    "lyon is a large french city near paris",
    "the lyon factory was opened by bob yesterday",
    "penguins swim quickly in cold southern ocean water",
]
ANGLES = [10, 25, 20, 60, 40, 170]
STOPS = {"in", "is", "the", "of", "a", "near", "was", "by"}
EDGES = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 4), (3, 4), (3, 5)}
RANKS = [0.182197, 0.178946, 0.178946, 0.196920, 0.182197, 0.080794]


def angled(degrees):
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def test_the_oracle_follows_the_worked_example():
    words = [set(text.split()) - STOPS for text in CHUNKS]
    edges = oracle.neighbours(words, angled(ANGLES), 2)
    assert {tuple(sorted(edge)) for edge in edges} == EDGES
    ranks = oracle.pagerank(edges, 6)
    assert ranks == pytest.approx(RANKS, abs=1e-6)
    assert oracle.core(ranks, 0.5) == [3, 0, 4]


@pytest.mark.parametrize("seed", range(60))
def test_the_core_is_the_paper_s(seed):
    """Neighbours by words and by vectors, PageRank, and the best share; many words tie."""
    draw, rng = worlds.drawing(seed), np.random.default_rng(seed)
    n, k = draw.randint(2, 12), draw.choice([2, 4])
    words = [set(draw.sample(range(12), draw.randint(0, 6))) for _ in range(n)]
    vectors = rng.normal(size=(n, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = np.array([[draw.randint(1, 3) * (w in own) for w in range(12)] for own in words])
    graph = choose_neighbours(csr_array(counts), vectors, k).to_graph()
    edges = oracle.neighbours(words, vectors.astype(float), k)
    assert {frozenset(pair) for pair in zip(*graph.nonzero(), strict=True)} == edges
    ranks = page_ranks(graph)
    assert (ranks / n).tolist() == pytest.approx(oracle.pagerank(edges, n), abs=1e-8)
    share = draw.random()
    found = choose_core(n, core_size(n, share), ranks).tolist()
    assert found == sorted(oracle.core(oracle.pagerank(edges, n), share))


@pytest.mark.parametrize("seed", range(60))
def test_the_local_search_is_the_paper_s(seed):
    """Relations inside and outside of the seeds, and texts by seed and count, with many ties."""
    draw = worlds.drawing(seed)
    n, n_chunks, n_parts = draw.randint(2, 9), draw.randint(1, 6), draw.randint(1, 2)
    triples = []
    for _ in range(draw.randint(1, 14)):
        chunks = draw.sample(range(n_chunks), min(n_chunks, draw.randint(1, 2)))
        triples.append((*draw.sample(range(n), 2), sorted(chunks)))
    weight = np.zeros((len(triples), n_chunks), dtype=np.float32)
    for row, (_, _, chunks) in enumerate(triples):
        weight[row, chunks] = 1.0
    ends = np.array([triple[:2] for triple in triples])
    links = group_relations(ends[:, 0], ends[:, 1], csr_array(weight), n)
    pairs = sorted({tuple(sorted(triple[:2])) for triple in triples})
    relations = [
        (set(pair), {c for s, o, own in triples if {s, o} == set(pair) for c in own})
        for pair in pairs
    ]
    degree = [sum(e in pair for pair in pairs) for e in range(n)]
    seeds = draw.sample(range(n), draw.randint(1, n))
    found, n_inside = find_relations(links, seeds)
    assert found.tolist() == oracle.local_relations(seeds, [set(p) for p in pairs], degree)
    assert n_inside == sum(set(pair) <= set(seeds) for pair in pairs)
    entity_chunks = np.array(
        [
            [any(e in t[:2] and c in t[2] for t in triples) for c in range(n_chunks)]
            for e in range(n)
        ]
    )
    owners = [c for c in range(n_chunks) for _ in range(n_parts)]
    parts = csr_array((np.ones(len(owners)), (owners, range(len(owners)))))
    cosines = np.array([draw.choice([0.1, 0.5, 0.9]) for _ in owners])
    texts = find_texts(seeds, csr_array(entity_chunks.astype(float)), links, parts, cosines)
    chunks_of = [np.flatnonzero(row).tolist() for row in entity_chunks]
    parts_of = [[p for p, c in enumerate(owners) if c == chunk] for chunk in range(n_chunks)]
    expected = oracle.local_texts(seeds, relations, chunks_of, parts_of, cosines)
    assert [each.row for each in texts] == expected


@pytest.mark.parametrize("seed", range(60))
def test_the_pool_of_keywords_is_the_paper_s(seed):
    """Cosines of means, and parts word by word up to a limit that they often meet exactly."""
    draw, rng = worlds.drawing(seed), np.random.default_rng(seed)
    n_words, n_parts = draw.randint(1, 6), draw.randint(1, 8)
    has = rng.integers(0, 2, (n_parts, n_words))
    vectors = rng.normal(size=(n_parts, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = rng.normal(size=4)
    terms = csr_array(has.astype(np.float32))
    found = keyword_cosines(terms, vectors @ query, keyword_lengths(terms, vectors))
    sentences = [set(np.flatnonzero(row).tolist()) for row in has]
    expected = oracle.keywords(sentences, vectors.astype(float), query)
    assert {w: x for w, x in enumerate(found.tolist()) if np.isfinite(x)} == pytest.approx(expected)
    tokens, limit = [draw.randint(1, 4) for _ in range(n_parts)], draw.randint(1, 12)
    cosines = [draw.choice([0.1, 0.5, 0.9]) for _ in range(n_parts)]
    postings = {w: [p for p, own in enumerate(sentences) if w in own] for w in range(n_words)}

    def posted(word):
        return sorted(postings[word], key=lambda p: (-cosines[p], p))

    pool = pool_rows(worlds.ranked(expected), posted, np.array(tokens), limit)
    assert list(pool) == oracle.collect(expected, postings, cosines, tokens, limit)


class Plain:
    """A snapshot as plain values, and what a preset should find in it."""

    def __init__(self, snapshot, query, method):
        self.snapshot, self.method = snapshot, method
        self.query = worlds.TOKENLESS.embedder.embed([query], kind="query")[0].astype(float)
        parts = snapshot.layer("subchunk")
        self.owner = parts.columns["chunk"].tolist()
        self.tokens = parts.columns["n_tokens"].tolist()
        self.cosines = [float(v @ self.query) for v in worlds.vectors(snapshot, "subchunk")]
        self.texts = parts.texts(range(len(self.owner)))

    def rows(self, hits):
        """Return the sub-chunks that hits are."""
        chunks = self.snapshot.layer("chunk").ids(self.owner)
        at = {pair: part for part, pair in enumerate(zip(chunks, self.texts, strict=True))}
        return [at[hit.chunk_id, hit.text] for hit in hits]

    def cost(self, part):
        return blocks.count_passage_tokens("", self.texts[part])

    def core(self):
        snapshot = self.snapshot
        words = [set(own) for own in worlds.linked(snapshot, "chunk", "term")]
        edges = oracle.neighbours(words, worlds.vectors(snapshot, "chunk"), self.method.k)
        ranks = oracle.pagerank(edges, len(words))
        made = snapshot.layer("chunk").columns["graph"].tolist()
        size = len(oracle.core(ranks, self.method.core_share))
        among = {c: len(ranks) * rank for c, rank in enumerate(ranks) if made[c]}
        return worlds.ranked(among, size)

    def keyword_texts(self, budget):
        snapshot, method = self.snapshot, self.method
        if method.rest == "nearest":
            return oracle.take(dict(enumerate(self.cosines)), self.cost, budget)
        words = [set(own) for own in worlds.linked(snapshot, "sentence", "term")]
        similarity = oracle.keywords(
            words, worlds.vectors(snapshot, "sentence"), self.query, by_length=method.keyword_length
        )
        postings = dict(enumerate(worlds.linked(snapshot, "term", "subchunk")))
        return oracle.keyword_channel(
            similarity, postings, self.cosines, self.tokens, self.cost, budget
        )

    def graph_texts(self):
        """The order of all texts of the graph channel, of which a prefix fits."""
        seeds, relations, entity_chunks = self.graph()
        parts_of = [[p for p, c in enumerate(self.owner) if c == n] for n in range(len(self.owner))]
        ties, given = self.method.ties, (seeds, list(relations.items()), entity_chunks)
        return oracle.local_texts(*given, parts_of, self.cosines, ties=ties)

    def graph_relations(self):
        """The order of the relations' ends, by name, of which a prefix fits."""
        seeds, relations, _ = self.graph()
        pairs = sorted(relations, key=sorted)
        degree = [
            sum(e in pair for pair in pairs) for e in range(len(self.snapshot.layer("entity")))
        ]
        names = self.snapshot.layer("entity").texts
        order = oracle.local_relations(seeds, [set(pair) for pair in pairs], degree)
        return [set(names(sorted(pairs[i]))) for i in order]

    def graph(self):
        """The seeds, the relations of the core with their chunks, and the entities' chunks."""
        snapshot, core = self.snapshot, set(self.core())
        triples = snapshot.layer("triple").columns
        stands = [
            {c for c in own if c in core} for own in worlds.linked(snapshot, "triple", "chunk")
        ]
        relations = {}
        for s, o, chunks in zip(triples["subject"], triples["object"], stands, strict=True):
            if chunks:
                relations.setdefault(frozenset((int(s), int(o))), set()).update(chunks)
        entity_chunks = [
            [c for c in own if c in core] for own in worlds.linked(snapshot, "entity", "chunk")
        ]
        near = self.entity_cosines(core, entity_chunks)
        return worlds.ranked(near, self.method.seed_entities), relations, entity_chunks

    def entity_cosines(self, core, entity_chunks):
        """Of the mean vector of an entity's descriptions in the core."""
        columns = self.snapshot.layer("profile").columns
        profiles = worlds.vectors(self.snapshot, "profile")
        near = {}
        for entity, chunks in enumerate(entity_chunks):
            own = [
                v
                for v, e, c in zip(profiles, columns["entity"], columns["chunk"], strict=True)
                if e == entity and c in core
            ]
            if chunks and own:
                mean = np.mean(own, axis=0)
                near[entity] = float(mean @ self.query) / np.linalg.norm(mean)
        return near


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "preset", ["ket_paper", "ket_released", "hybrid_released", "skeleton_released"]
)
@pytest.mark.parametrize("tokens", [300, 1500])
def test_a_whole_preset_prints_what_the_oracle_prints(seed, preset, tokens):
    """Both channels over an index at 32-bit floats, its chunks halved once."""
    chunking = Chunking(subchunk_depth=1, size=40, overlap=0)
    with worlds.indexed(worlds.write_world(seed), chunking=chunking) as snapshot:
        for query in worlds.QUESTIONS:
            method = load(preset)(tokens=tokens)
            found = method.retrieve(query, snapshot, worlds.TOKENLESS)
            plain = Plain(snapshot, query, method)
            rows = plain.rows(found.hits)
            graph = [
                row for row, hit in zip(rows, found.hits, strict=True) if hit.channel == "graph"
            ]
            others = rows[len(graph) :]
            assert graph == plain.graph_texts()[: len(graph)]
            for table in (t for t in found.tables if t.name == "Relations"):
                drawn = [set(row[1:3]) for row in table.rows]
                assert drawn == plain.graph_relations()[: len(drawn)]
            of_graph = round(method.graph_share * tokens)
            texts = plain.keyword_texts(tokens - of_graph) if method.graph_share < 1 else []
            assert others == [part for part in texts if part not in graph]
            spent = sum(map(plain.cost, texts))
            of_graph = tokens - spent if method.budgets == "texts" else of_graph
            left = of_graph // 2 - sum(map(plain.cost, graph))
            rest = plain.graph_texts()[len(graph) :]
            assert left >= 0
            assert not rest or plain.cost(rest[0]) > left
