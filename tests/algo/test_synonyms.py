"""Near pairs against a comparison of all with all, one by one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo import synonyms
from clew.algo.synonyms import find_near_pairs, update_pairs


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def by_hand(vectors, threshold, most):
    """Return the cosines of pairs of which one end has the other among its nearest."""
    n = len(vectors)
    cosines = np.round((vectors[:, None] * vectors).sum(axis=2, dtype=np.float32), 6)
    found = np.zeros((n, n), dtype=np.float32)
    for i in range(n):
        others = [j for j in range(n) if j != i and cosines[i, j] > threshold]
        for j in sorted(others, key=lambda j: (-cosines[i, j], j))[:most]:
            found[i, j] = found[j, i] = max(cosines[i, j], cosines[j, i])
    return found


def crowd(n, topics, seed=0):
    """Return vectors that lie in small crowds, as spellings of one name do."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(topics, 32))
    return unit(centres[random.integers(topics, size=n)] + 0.3 * random.normal(size=(n, 32)))


# Cosines of these have two decimals, so that rounding makes no difference.
UNIT = [(1, 0, 0), (0, 1, 0), (0.6, 0.8, 0), (0.8, 0.6, 0), (0.8, 0, 0.6), (0, -0.6, 0.8)]


@given(
    st.lists(st.sampled_from(UNIT), min_size=1, max_size=12),
    st.sampled_from([0.3, 0.7, 0.9]),
    st.integers(1, 4),
)
def test_pairs_are_those_of_all(vectors, threshold, most):
    """Whichever way is taken, few vectors give the same pairs, ties by row."""
    vectors = unit(vectors)
    expected = by_hand(vectors, threshold, most)
    for exact in (True, False):
        found = find_near_pairs(vectors, threshold, most=most, exact=exact)
        np.testing.assert_allclose(found.toarray(), expected, atol=2e-6)


@given(
    st.lists(st.sampled_from(UNIT), min_size=8, max_size=12),
    st.lists(st.lists(st.integers(0, 7), unique=True), min_size=2, max_size=4),
    st.sampled_from([0.3, 0.7]),
    st.integers(1, 4),
)
def test_what_is_renewed_is_what_is_computed(vectors, states, threshold, most):
    """Names came, went and changed places: the pairs are those of a fresh computation."""
    vectors, pairs = unit(vectors), None
    for then, now in pairwise(states):
        before = find_near_pairs(vectors[then], threshold, most=most) if pairs is None else pairs
        earlier = np.array([then.index(i) if i in then else -1 for i in now], dtype=int)
        pairs = update_pairs(before, earlier, vectors[now], threshold, most=most)
        expected = find_near_pairs(vectors[now], threshold, most=most)
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(pairs, name), getattr(expected, name))


def test_what_is_renewed_beyond_a_size(monkeypatch):
    """There a new name misses none of its like, and what was found stays."""
    monkeypatch.setattr(synonyms, "EXACT_UP_TO", 1_000)
    monkeypatch.setattr(synonyms, "_MAX_COMPARED", 500)
    vectors = crowd(2_000, 250)
    earlier = np.arange(2_000) - np.cumsum(np.arange(2_000) % 40 == 0)
    earlier[::40] = -1
    before = find_near_pairs(vectors[earlier >= 0], 0.8)
    found, exact = (
        update_pairs(before, earlier, vectors, 0.8),
        find_near_pairs(vectors, 0.8, exact=True),
    )
    assert (found[::40] != exact[::40]).nnz == 0
    kept = np.flatnonzero(earlier >= 0)
    assert (found[kept][:, kept] != before).nnz == 0
    assert update_pairs(before, np.full(2_000, -1), vectors, 0.8) is None
    assert update_pairs(before, earlier[:900], vectors[:900], 0.8) is None


def test_pairs_are_symmetric_and_ordered():
    """Both ways the same cosine, columns ascending, nothing on the diagonal."""
    found = find_near_pairs(crowd(300, 60), 0.8)
    assert found.nnz > 300
    assert (found != found.T).nnz == 0
    assert found.has_canonical_format
    assert not found.diagonal().any()
    assert found.dtype == np.float32


def test_cells_miss_few():
    """Of many vectors each is compared with those around it, which is where its like are."""
    vectors = crowd(4_000, 500)
    exact, cells = (find_near_pairs(vectors, 0.8, exact=way) for way in (True, False))
    assert ((cells > 0) > (exact > 0)).nnz == 0
    assert cells.nnz > 0.99 * exact.nnz


def test_many_are_not_compared_with_all(monkeypatch):
    """From a size on cells are the default."""
    vectors = crowd(50, 5)
    monkeypatch.setattr(synonyms, "EXACT_UP_TO", 49)
    monkeypatch.setattr(synonyms, "_iterate_blocks", None)
    assert find_near_pairs(vectors, 0.8).nnz


@pytest.mark.parametrize("exact", [True, False])
def test_far_from_all_pairs_are_held(monkeypatch, exact):
    """Where many names are alike, those behind the nearest are dropped on the way."""
    monkeypatch.setattr(synonyms, "_BATCH_SIZE", 8)
    monkeypatch.setattr(synonyms, "_BLOCK", 12)
    vectors = np.tile(unit([UNIT[2]]), (40, 1))
    found = find_near_pairs(vectors, 0.8, most=2, exact=exact)
    np.testing.assert_allclose(found.toarray(), by_hand(vectors, 0.8, 2), atol=2e-6)


@pytest.mark.parametrize("exact", [True, False])
def test_no_vectors_have_no_pairs(exact):
    """Before the first name there is none to be near."""
    assert find_near_pairs(np.empty((0, 3), dtype=np.float32), 0.8, exact=exact).shape == (0, 0)


@pytest.fixture
def sorted_sizes(monkeypatch):
    """Return a list of how many pairs were sorted, each time that some were."""
    sizes, sort = [], vars(synonyms)["_nearest_per_row"]

    def sort_pairs(parts, most):
        sizes.append(sum(len(row) for row, *_ in parts))
        return sort(parts, most)

    monkeypatch.setattr(synonyms, "_nearest_per_row", sort_pairs)
    return sizes


@pytest.mark.parametrize("exact", [True, False])
def test_equal_vectors_are_no_crowd(sorted_sizes, exact):
    """Of names that are all alike no more pairs are held than the nearest of each."""
    vectors = np.tile(unit([UNIT[2]]), (700, 1))
    pairs = find_near_pairs(vectors, 0.8, most=5, exact=exact).toarray()
    assert (pairs[:5] > 0).sum(axis=1).tolist() == [699] * 5
    assert ((pairs[6:] > 0).sum(axis=1) == 5).all()
    assert max(sorted_sizes) <= 2 * 6 * 700


def test_what_is_kept_is_not_sorted_again_and_again(monkeypatch, sorted_sizes):
    """Pairs wait until they are as many as were kept, even if these alone fill a batch."""
    monkeypatch.setattr(synonyms, "_BATCH_SIZE", 100)
    monkeypatch.setattr(synonyms, "_BLOCK", 20)
    found = find_near_pairs(crowd(1_000, 20), 0.5, exact=True)
    assert found.nnz > 20_000
    assert sum(sorted_sizes) < 5 * found.nnz
