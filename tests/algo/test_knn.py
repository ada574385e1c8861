"""The k-nearest-neighbour graph and its core: a worked example, brute force, and networkx."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo import knn
from clew.algo.knn import (
    choose_core,
    choose_neighbours,
    core_size,
    find_overlaps,
    page_ranks,
    update_neighbours,
)
from clew.algo.links import StoredLink
from clew.algo.pagerank import personalized_pagerank, transition_matrix
from clew.errors import InputError

# Six chunks: which of twelve keywords each holds, and the direction of its vector. Chunks 0 to 2
# share two keywords with each other, 3 shares two with 0, 4 two with 1, and 5 none with any.
KEYWORDS = [[0, 1, 2, 3], [0, 1, 4, 5], [0, 1, 6], [2, 3, 5], [4, 5, 6], [7, 8, 9, 10, 11]]
ANGLES = [10, 25, 20, 60, 40, 170]  # degrees
EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 4), (3, 4), (3, 5)]
PAGERANK = [0.182197, 0.178946, 0.178946, 0.196920, 0.182197, 0.080794]


def terms_of(keywords, n_terms=12):
    matrix = np.zeros((len(keywords), n_terms), dtype=np.int32)
    for row, columns in enumerate(keywords):
        matrix[row, columns] = 1
    return csr_array(matrix)


def at(degrees):
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def core_chunks(graph, share, seed=None):
    """Return the core of a graph: of the highest PageRank, or a sample where there is a seed."""
    n = graph.shape[0]
    size = core_size(n, share)
    if seed is not None:
        return choose_core(n, size, seed=seed)
    return choose_core(n, size, page_ranks(graph))


def edges(graph):
    return [(a, b) for a, b in zip(*map(np.ndarray.tolist, graph.nonzero()), strict=True) if a < b]


def joined(n, pairs):
    a, b = np.array(pairs).T
    ends = (np.concatenate([a, b]), np.concatenate([b, a]))
    return csr_array((np.ones(2 * len(a)), ends), shape=(n, n))


def by_sorting(terms, vectors, k, excluded):
    """Choose neighbours the slow way, from every pair."""
    held = [set(np.flatnonzero(row)) for row in terms]
    barred = {frozenset(pair) for pair in excluded}
    found = set()
    for i in range(len(held)):
        others = [j for j in range(len(held)) if j != i and frozenset((i, j)) not in barred]
        lexical = sorted(others, key=lambda j: (-len(held[i] & held[j]), j))[: k // 2]
        lexical = [j for j in lexical if held[i] & held[j]]
        rest = [j for j in others if j not in lexical]
        semantic = sorted(rest, key=lambda j: (-round(float(vectors[i] @ vectors[j]), 6), j))
        found |= {(min(i, j), max(i, j)) for j in lexical + semantic[: k // 2]}
    return sorted(found)


@st.composite
def problems(draw):
    """Few terms and few directions, so that ties are common; both are exact in binary."""
    n, n_terms = draw(st.integers(0, 9)), draw(st.integers(0, 4))
    counts = st.lists(st.sampled_from([0, 0, 1, 3]), min_size=n * n_terms, max_size=n * n_terms)
    axes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    row = st.integers(0, max(n - 1, 0))
    excluded = draw(st.lists(st.tuples(row, row), max_size=6)) if n else []
    terms = np.array(draw(counts), dtype=np.int64).reshape(n, n_terms)
    directions = np.array([[1, 0], [0, 1], [-1, 0], [0.5, 0.75**0.5]])
    return terms, directions[np.array(axes, dtype=int)], excluded


def test_the_worked_example():
    """Six chunks, one lexical and one semantic neighbour each; 0 and 4 tie, the row decides."""
    graph = choose_neighbours(terms_of(KEYWORDS), at(ANGLES), 2).to_graph()
    assert edges(graph) == EDGES
    scores = personalized_pagerank(transition_matrix(graph), np.ones(6), tolerance=1e-12)
    np.testing.assert_allclose(scores, PAGERANK, atol=5e-7)
    assert core_chunks(graph, 0.5).tolist() == [0, 3, 4]
    assert core_chunks(graph, 1 / 3).tolist() == [0, 3]


@given(problems(), st.sampled_from([2, 4, 6]), st.sampled_from([None, True, False]))
def test_the_graph_is_that_of_sorting_all_pairs(problem, k, exact):
    """Either way for few: ties, chunks without terms, too few others, pairs that are barred."""
    terms, vectors, excluded = problem
    pairs = np.array(excluded, dtype=np.intp).reshape(-1, 2)
    graph = choose_neighbours(csr_array(terms), vectors, k, excluded=pairs, exact=exact).to_graph()
    assert edges(graph) == by_sorting(terms, vectors, k, excluded)
    dense = graph.toarray()
    assert graph.shape == (len(terms), len(terms))
    assert (dense == dense.T).all()
    assert (graph.data == 1).all()
    assert not dense.diagonal().any()


@given(problems(), st.sampled_from([2, 4]))
def test_no_chunk_is_alone_where_there_are_two(problem, k):
    """If no other shares a term, the nearest is there all the same."""
    terms, vectors, _ = problem
    degrees = choose_neighbours(csr_array(terms), vectors, k).to_graph().sum(axis=1)
    assert len(terms) < 2 or (degrees >= 1).all()


@st.composite
def histories(draw):
    """Chunks that were there and chunks that are, among twelve of which many tie; some may not."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    terms = (rng.random((12, 5)) < draw(st.sampled_from([0.1, 0.4, 0.9]))).astype(np.int64)
    axes = np.array([[1, 0], [0, 1], [-1, 0], [0.5, 0.75**0.5]])[rng.integers(0, 4, 12)]
    vectors = draw(st.sampled_from([axes, at(rng.integers(0, 360, 12))])).astype(np.float32)
    states = []
    for _ in range(draw(st.integers(2, 4))):
        rows = draw(st.lists(st.integers(0, 11), unique=True, max_size=12))
        kept = sorted(rows) if draw(st.booleans()) else rows
        states.append(np.array(kept, dtype=np.int64))
    able = rng.random(12) < draw(st.sampled_from([0.6, 1.0]))
    return terms, vectors, states, able


def overlaps(rows):
    """Return the places of chunks of which one comes behind the other in a document of three."""
    return np.argwhere((np.subtract.outer(rows, rows) == 1) & (rows % 3 > 0)[:, None])


@given(histories(), st.sampled_from([2, 4, 6]))
def test_what_is_renewed_is_what_is_computed(history, k):
    """Chunks came, went and moved: choices and their scores are those of a fresh computation."""
    terms, vectors, states, able = history
    chosen, then = None, None
    for rows in states:
        texts = np.flatnonzero(able[rows])
        pairs = overlaps(rows)
        inside = np.isin(pairs, texts).all(axis=1)
        places = np.searchsorted(texts, pairs[inside])
        alone = csr_array(terms[rows][texts]), vectors[rows][texts]
        fresh = choose_neighbours(*alone, k, excluded=places).renumber(texts, len(rows))
        if chosen is not None:
            earlier = np.array([then.tolist().index(r) if r in then else -1 for r in rows], int)
            matrix = csr_array(terms[rows])
            links = StoredLink.from_matrix(matrix), StoredLink.from_matrix(csr_array(matrix.T))
            given_ = {"able": able[rows], "excluded": pairs}
            chosen = update_neighbours(chosen, earlier, *links, vectors[rows], **given_)
            for kind in ("lexical", "semantic"):
                for name in ("rows", "scores"):
                    ours, theirs = (getattr(getattr(c, kind), name) for c in (chosen, fresh))
                    np.testing.assert_array_equal(ours, theirs)
        chosen, then = fresh, rows


def test_what_is_renewed_beyond_a_size(monkeypatch):
    """There nobody gets farther from its neighbours than a fresh computation would have it."""
    monkeypatch.setattr(knn, "EXACT_UP_TO", 100)
    monkeypatch.setattr(knn, "_MAX_COMPARED", 1_000)
    terms, vectors = many()
    none = np.empty((0, 2), dtype=np.intp)
    before = np.delete(np.arange(2_500), np.arange(7, 2_500, 50))
    then = choose_neighbours(terms[before], vectors[before], 2)
    links = StoredLink.from_matrix(terms), StoredLink.from_matrix(csr_array(terms.T))
    earlier = np.full(2_500, -1)
    earlier[before] = np.arange(len(before))
    able = np.ones(2_500, dtype=bool)
    found = update_neighbours(then, earlier, *links, vectors, able=able, excluded=none)
    exact, fresh = (choose_neighbours(terms, vectors, 2, exact=e) for e in (True, False))
    for kind in ("lexical", "semantic"):
        recall = [
            np.mean(getattr(each, kind).rows == getattr(exact, kind).rows)
            for each in (found, fresh)
        ]
        assert recall[0] >= recall[1]
    new = np.flatnonzero(earlier < 0)
    assert (found.lexical.rows[new] == exact.lexical.rows[new]).all()
    assert not found.exact
    assert (
        update_neighbours(then, np.full(2_500, -1), *links, vectors, able=able, excluded=none)
        is None
    )
    monkeypatch.setattr(knn, "EXACT_UP_TO", 2_500)
    assert update_neighbours(then, earlier, *links, vectors, able=able, excluded=none) is None


def many():
    """Return 2,500 chunks of wide clusters, of which some neighbours are hard to find."""
    rng = np.random.default_rng(6)
    topics = rng.integers(0, 30, 2_500)
    vectors = rng.standard_normal((30, 24))[topics] + rng.standard_normal((2_500, 24))
    words = (rng.zipf(1.3, (2_500, 20)) + topics[:, None] * (np.arange(20) % 2)) % 900
    rows = np.repeat(np.arange(2_500), 20)
    terms = csr_array((np.ones(50_000), (rows, words.ravel())), shape=(2_500, 900))
    return terms, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_all_pairs_are_compared_up_to_a_size(monkeypatch):
    """Beyond it most of the edges are the same, and the same again; either way can be forced."""
    terms, vectors = many()
    excluded = np.array([[i, i + 1] for i in range(2_499)])
    graphs = {
        e: choose_neighbours(terms, vectors, 4, excluded=excluded, exact=e).to_graph()
        for e in (True, False)
    }
    assert (graphs[True] != graphs[False]).nnz
    assert graphs[True].multiply(graphs[False]).nnz > 0.9 * graphs[True].nnz
    for size, exact in ((2_500, True), (2_499, False)):
        monkeypatch.setattr(knn, "EXACT_UP_TO", size)
        graph = choose_neighbours(terms, vectors, 4, excluded=excluded).to_graph()
        assert (graph != graphs[exact]).nnz == 0
        assert not (graph[excluded[:, 0], excluded[:, 1]] != 0).any()
        assert not graph.diagonal().any()


@given(st.lists(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 6)), max_size=6), max_size=4))
def test_overlapping_chunks(documents):
    """Brute force over all pairs: only of one document, however far apart they stand."""
    chunks = []
    for owner, steps in enumerate(documents):
        start = end = 0
        for step, longer in steps:  # both ends move on, as those of windows do
            start += step
            end = max(end, start) + 1 + longer
            chunks.append((owner, start, end))
    owners, starts, ends = np.array(chunks, dtype=int).reshape(-1, 3).T
    expected = [
        (i, j)
        for i, (owner, _, end) in enumerate(chunks)
        for j, (other, start, _) in enumerate(chunks)
        if i < j and owner == other and start < end
    ]
    found = find_overlaps(owners, starts, ends)
    assert found.shape == (len(expected), 2)
    assert sorted(map(tuple, found.tolist())) == expected


@given(problems(), st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_the_core_is_that_of_networkx(problem, share):
    """On graphs with isolated chunks too, as exclusion can leave them."""
    terms, vectors, excluded = problem
    pairs = np.array(excluded, dtype=np.intp).reshape(-1, 2)
    graph = choose_neighbours(csr_array(terms), vectors, 2, excluded=pairs).to_graph()
    n = len(terms)
    oracle = nx.from_numpy_array(graph.toarray())
    scores = nx.pagerank(oracle, alpha=0.85, tol=1e-13, max_iter=1000)
    order = sorted(range(n), key=lambda i: (-round(n * scores[i], 6), i))
    assert core_chunks(graph, share).tolist() == sorted(order[: math.ceil(share * n)])


@pytest.mark.parametrize("k", [-2, 0, 1, 3])
def test_k_is_half_and_half(k):
    """An odd number has no halves, and none below two leaves a neighbour of each kind."""
    with pytest.raises(InputError, match=rf"k must be even and at least 2, .* but is {k}"):
        choose_neighbours(terms_of(KEYWORDS), at(ANGLES), k).to_graph()


@pytest.mark.parametrize("n", [5, 7])
def test_terms_and_vectors_are_of_the_same_chunks(n):
    """Rows that do not match would join the wrong chunks without a word."""
    with pytest.raises(InputError, match=f"6 rows of terms need as many vectors, .* are {n}"):
        choose_neighbours(terms_of(KEYWORDS), np.ones((n, 2)), 2).to_graph()


@pytest.mark.parametrize(("share", "size"), [(0, 0), (0.001, 1), (0.07, 7), (0.071, 8), (1, 100)])
@pytest.mark.parametrize("seed", [None, 4])
def test_the_core_has_the_share_asked_for(share, size, seed):
    """Rounded up, but not by what binary fractions add (0.07 * 100 > 7); 0 is none."""
    ring = joined(100, [(i, (i + 1) % 100) for i in range(100)])
    core = core_chunks(ring, share, seed=seed)
    assert len(core) == size
    assert (np.diff(core) > 0).all()
    assert seed is not None or core.tolist() == list(range(size))  # all tie


def test_a_seed_gives_the_same_sample_again():
    """And another seed another one, whatever the graph."""
    ring = joined(40, [(i, (i + 1) % 40) for i in range(40)])
    first = core_chunks(ring, 0.5, seed=1).tolist()
    assert core_chunks(csr_array((40, 40)), 0.5, seed=1).tolist() == first
    assert core_chunks(ring, 0.5, seed=2).tolist() != first


def test_the_best_of_many_chunks_are_told_apart():
    """In a chain they stand near both ends; scores around 1 / 20,000 tie at six decimals."""
    n = 20_000
    core = core_chunks(joined(n, [(i, i + 1) for i in range(n - 1)]), 20 / n)
    assert core.tolist() == [*range(1, 11), *range(n - 11, n - 1)]


@pytest.mark.parametrize("share", [-0.1, 1.5, np.nan])
def test_a_share_is_a_part_of_the_whole(share):
    """The value is named."""
    with pytest.raises(InputError, match=rf"must be in \[0, 1\], but is {share:g}"):
        core_chunks(joined(2, [(0, 1)]), share)
