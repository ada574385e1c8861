"""Clue-RAG against a second implementation: choice of chunks, search, and whole presets."""

import math
import re

import numpy as np
import pytest

from clew import steps
from clew.algo.beam import Beam, UnitGraph, grow_unit_sets
from clew.index.layers.selection import chunk_values, select_chunks
from clew.methods import load
from clew.testing import ScriptedLLM, models
from clew.text.keys import name_key
from tests.methods import memory
from tests.papers import clue_oracle as oracle
from tests.papers import worlds

WORDS = ("ice", "ship", "crew", "north", "and", "the", "drift", ",")

# The worked example: five units on four axes, European Cup, FA Cup, Forest and ground. They are
# numbered in the order of their texts, by which the paper breaks ties.
UNITS = [
    "Chelsea won the FA Cup in 1970",
    "Nottingham Forest did win the FA Cup in 1898 and 1959",
    "Nottingham Forest plays at the City Ground",
    "The City Ground opened in 1898",
    "The European Cup was won by Nottingham Forest in 1979-80",
]
VECTORS = np.array(
    [[0, 1, 0, 0], [0, 0.8, 0.6, 0], [0, 0, 0.8, 0.6], [0, 0, 0, 1], [0.8, 0, 0.6, 0]]
)
ENTITIES = [
    "1898", "1959", "1970", "1979 80", "chelsea", "city ground", "european cup", "fa cup",
    "nottingham forest",
]  # fmt: skip
ENTITIES_OF = [[2, 4, 7], [0, 1, 7, 8], [5, 8], [0, 5], [3, 6, 8]]
UNITS_OF = [[u for u, own in enumerate(ENTITIES_OF) if e in own] for e in range(9)]
CHUNKS_OF = [[1], [2], [2], [3], [0]]
QUESTION = "When did the 1979-80 European Cup winner win the FA Cup?"
QUERY = np.array([0.6, 0.8, 0.0, 0.0])


def share_of_words(texts):
    """The worked example's reranker: the share of the question's words that a text has."""
    words, read = (set(re.findall(r"\w+", t.casefold())) for t in (QUESTION, " ".join(texts)))
    return len(words & read) / len(words)


def test_the_oracle_follows_the_worked_example():
    """Beam, residual and chunks of K=1, D=3, M=1, N=2, and of K=2, D=2, M=2, N=3."""

    def rerank(units):
        return share_of_words([UNITS[unit] for unit in units])

    cup, fa = np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])
    names = np.zeros((9, 4))
    names[4:] = VECTORS[1], VECTORS[3], cup, fa, [0, 0, 1, 0]
    linkable = [False] * 4 + [True] * 5
    seeds = oracle.anchor(QUERY, [cup, fa], names, linkable, VECTORS, ENTITIES_OF, 1)
    assert [ENTITIES[seed] for seed in seeds] == ["1970", "chelsea", "european cup", "fa cup"]
    given = (seeds, QUERY, VECTORS, ENTITIES_OF, UNITS_OF, rerank)
    kept = oracle.q_iter(*given, k=1, depth=3, width=1, ways="union", update=True)
    assert [(own, score) for own, _, score in kept] == [
        ((4,), 0.5), ((1, 4), 0.8), ((0, 1, 4), 0.8),
    ]  # fmt: skip
    assert kept[0][1] == {3, 6, 8}

    def of_chunk(chunk):
        return share_of_words([UNITS[u] for u, own in enumerate(CHUNKS_OF) if chunk in own])

    assert oracle.chunks(kept, CHUNKS_OF, of_chunk, 2) == [0, 2]
    seeds = oracle.anchor(QUERY, [cup, fa], names, linkable, VECTORS, ENTITIES_OF, 2)
    wide = oracle.q_iter(seeds, *given[1:], k=2, depth=2, width=2, ways="union", update=True)
    assert [(own, score) for own, _, score in wide] == [
        ((1,), 0.5), ((4,), 0.5), ((1, 4), 0.8), ((0, 1), 0.5),
    ]  # fmt: skip
    assert wide[2][1] == {0, 1, 3, 6, 7, 8}


def test_the_oracle_s_bleu_is_that_of_the_worked_example():
    texts = [
        "the cat sat on the mat",
        "the cat sat on the rug",
        "a dog ran in the park today",
        "stocks fell sharply on monday",
    ]
    tokens = [text.split() for text in texts]
    floor = [0.759836, 0.759836, 0.033032, 0.043989]
    assert [oracle.bleu(tokens, i) for i in range(4)] == pytest.approx(floor, abs=1e-6)
    bare = [oracle.bleu(tokens, i, smooth=0) for i in range(4)]
    assert bare == pytest.approx([*floor[:2], 0, 0], abs=1e-6)
    assert oracle.best_value([6, 6, 7, 5], floor, 12) == pytest.approx(1.519672, abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_chunks_are_chosen_as_the_paper_chooses_them(seed):
    """Algorithm 2: BLEU against all others, mean cosine, and the best choice for the budget."""
    draw = worlds.drawing(seed)
    tokens = [draw.choices(WORDS, k=draw.randint(1, 12)) for _ in range(draw.randint(2, 9))]
    texts = [" ".join(each) for each in tokens]
    vectors = np.random.default_rng(seed).normal(size=(len(texts), 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values = chunk_values(texts, vectors, "bleu")
    assert values.tolist() == pytest.approx([oracle.bleu(tokens, i) for i in range(len(tokens))])
    cosines = [
        sum(float(a @ b) for j, b in enumerate(vectors) if j != i) / (len(texts) - 1)
        for i, a in enumerate(vectors)
    ]
    assert chunk_values(texts, vectors, "cos").tolist() == pytest.approx(cosines, abs=1e-5)
    weights, share = [draw.randint(1, 30) for _ in texts], draw.choice([0.1, 0.25, 0.5, 0.75])
    chosen = select_chunks(np.array(weights), np.arange(len(texts)), share, values).tolist()
    capacity = math.ceil(share * sum(weights))
    assert sum(weights[i] for i in chosen) <= capacity
    best = oracle.best_value(weights, values.tolist(), capacity)
    assert sum(values[i] for i in chosen) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(120))
def test_the_search_keeps_the_paper_s_sets(seed):
    """Algorithm 3 over random units, entities and scores, with ties, in each reading of line 14."""
    draw, rng = worlds.drawing(seed), np.random.default_rng(seed)
    n_units, n_entities = draw.randint(1, 12), draw.randint(1, 8)
    entities_of = [
        sorted(draw.sample(range(n_entities), draw.randint(0, min(3, n_entities))))
        for _ in range(n_units)
    ]
    units_of = [[u for u, own in enumerate(entities_of) if e in own] for e in range(n_entities)]
    vectors = rng.normal(size=(n_units + 1, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    seeds = sorted(draw.sample(range(n_entities), draw.randint(1, n_entities)))
    ways, update = draw.choice(["union", "last", "separate"]), draw.random() < 0.7
    k, depth, width = draw.randint(1, 4), draw.randint(1, 4), draw.randint(1, 6)

    def rerank(units):
        return sum(7**unit for unit in units) % 5 / 5

    graph = UnitGraph(
        lambda rows: [tuple(entities_of[row]) for row in rows],
        lambda rows: [np.array(units_of[row], dtype=np.intp) for row in rows],
        vectors[:-1],
    )
    found = grow_unit_sets(
        graph,
        seeds,
        vectors[-1],
        lambda sets: np.array([rerank(units) for units in sets]),
        Beam(depth=depth, width=width, k=k, query_updating=update, ways=ways),
    )
    expected = oracle.q_iter(
        seeds, vectors[-1], vectors[:-1].astype(float), entities_of, units_of, rerank,
        k=k, depth=depth, width=width, ways=ways, update=update,
    )  # fmt: skip
    assert [(tuple(sorted(s.units)), set(s.frontier), s.score) for s in found] == expected


@pytest.mark.parametrize("seed", range(30))
def test_a_date_takes_no_place_among_the_nearest_entities(seed):
    """Algorithm 4 over entities without dates, be these nearest of all, and others opposite."""
    draw = np.random.default_rng(seed)
    names, dates = ("ann", "bo", "cid", "dora", "egil"), ("1901", "1902", "1903")
    spread = draw.choice([0.1, 1.0, 3.0])  # the narrower, the more are on the far side
    vectors = {
        text: (own := draw.normal((-1, 0, 0), spread)) / np.linalg.norm(own) for text in names
    }
    vectors |= {text: (own := draw.normal((1, 0, 0), 0.1)) / np.linalg.norm(own) for text in dates}
    vectors |= {
        "asked": np.array([1.0, 0, 0]),
        "other": np.array([0, 1.0, 0]),
        "A unit.": [0, 0, 1],
    }
    mentions = {"A unit.": [*names, *dates]}
    index = memory.snapshot({"t": ["A unit."]}, mentions, vectors, dates=dates)
    layer = index.layer("entity")
    k = int(draw.integers(1, 8))
    for name in ("asked", "other"):
        found = steps.similar_entities(index, memory.models(vectors), [name], k)
        rows, linkable = np.asarray(layer.vectors, dtype=float), layer.columns["linkable"]
        mention = np.asarray(vectors[name], dtype=float)
        seeds = oracle.anchor(mention, [mention], rows, linkable, np.zeros((0, 3)), [], k)
        assert sorted(each.row for each in found) == seeds
        assert len(found) == min(k, len(names))


def read_plainly(snapshot, llm_names, query, method):
    """Return the chunks that the preset should find, from the snapshot's rows alone."""
    given = worlds.TOKENLESS
    units, names = worlds.vectors(snapshot, "unit"), worlds.vectors(snapshot, "entity")
    entities_of, units_of = (
        worlds.linked(snapshot, *p) for p in (("unit", "entity"), ("entity", "unit"))
    )
    texts = snapshot.layer("unit").texts(range(len(units)))
    whole = snapshot.titled_texts(range(len(snapshot.layer("chunk"))))
    asked = given.embedder.embed([query], kind="query")[0].astype(float)
    mentions = given.embedder.embed([name_key(n) for n in llm_names], kind="document").astype(float)

    def rerank(units_):
        return float(given.reranker.score(query, [" ".join(sorted(texts[u] for u in units_))])[0])

    def rerank_chunk(chunk):
        return float(given.reranker.score(query, [whole[chunk]])[0])

    linkable = snapshot.layer("entity").columns["linkable"]
    seeds = oracle.anchor(asked, mentions, names, linkable, units, entities_of, method.k)
    kept = oracle.q_iter(
        seeds, asked, units, entities_of, units_of, rerank, k=method.k, depth=method.depth,
        width=method.width, ways=method.ways, update=method.query_updating,
    )  # fmt: skip
    chunks_of = worlds.linked(snapshot, "unit", "chunk")
    return oracle.chunks(kept, chunks_of, rerank_chunk, method.chunks)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("preset", ["clue_paper", "clue_released"])
def test_a_whole_preset_finds_what_the_oracle_finds(seed, preset):
    """From the LLM's names to the chunks, over an index at 32-bit floats."""
    with worlds.indexed(worlds.write_world(seed)) as snapshot:
        for query in worlds.QUESTIONS:
            known = (*worlds.PEOPLE, *worlds.SHIPS, *worlds.PLACES)
            llm_names = [*(name for name in known if name in query), "January 1911"]
            llm = ScriptedLLM({"named_entities": llm_names})
            method = load(preset)()
            given = models(worlds.TOKENLESS.embedder, llm=llm)
            found = method.retrieve(query, snapshot, given)
            rows = snapshot.layer("chunk").rows([hit.chunk_id for hit in found.hits])
            assert list(rows) == read_plainly(snapshot, llm_names, query, method)
