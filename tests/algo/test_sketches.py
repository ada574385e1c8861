"""The nearest rows: sorting all of them as the oracle, and how many are found by sketches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.sketches import Sketches, search, search_all, sketched


def clustered(n, d=48, n_clusters=60, spread=0.5, seed=3):
    """Return unit vectors around centres, in far fewer directions than they have numbers."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((d // 4, d))
    centres = rng.standard_normal((n_clusters, d // 4)) @ directions
    noise = rng.standard_normal((n, d // 4)) @ directions
    vectors = centres[rng.integers(0, n_clusters, n)] + spread * noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def brute_force(vectors, query, k, only=None):
    """Return rows and cosines by sorting all of them."""
    rows = [row for row in range(len(vectors)) if only is None or only[row]]
    cosines = {row: round(float(vectors[row] @ query), 6) for row in rows}
    best = sorted(rows, key=lambda row: (-cosines[row], row))[:k]
    return best, [cosines[row] for row in best]


def plain(found):
    return [(rows.tolist(), cosines.tolist()) for rows, cosines in found]


def approximately(found):
    return [(rows, pytest.approx(cosines, abs=2e-6)) for rows, cosines in found]


@st.composite
def problems(draw):
    """Few directions, exact in binary, so that ties are common; and some rows that count."""
    n = draw(st.integers(1, 12))
    axes = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    directions = np.array([[1, 0], [0, 1], [-1, 0], [0.5, 0.75**0.5], [0, 0]], dtype=np.float32)
    only = draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    return directions[axes], None if only is None else np.array(only)


@given(problems(), st.integers(1, 5))
def test_they_are_those_of_sorting_all(problem, k):
    """By sketches too, of which these few all are candidates; ties come by row."""
    vectors, only = problem
    queries = np.array([[1, 0], [0.5, 0.75**0.5], [0, -1]], dtype=np.float32)
    wanted = approximately([brute_force(vectors, query, k, only) for query in queries])
    assert plain(search_all(vectors, queries, k, only=only)) == wanted
    assert plain(search(sketched(vectors), vectors, queries, k, only=only)) == wanted


def test_many_rows_are_read_in_blocks():
    """The best of all blocks are found, and equal ones of several come by row."""
    vectors = clustered(40_000)
    vectors[[7, 20_000, 39_999]] = vectors[30_000]
    [(rows, cosines)] = search_all(vectors, vectors[30_000][None], 5)
    assert rows[:4].tolist() == [7, 20_000, 30_000, 39_999]
    assert cosines[:4].tolist() == [1, 1, 1, 1]
    scores = np.round(vectors @ vectors[30_000], 6)
    assert sorted(cosines.tolist(), reverse=True) == pytest.approx(
        np.sort(scores)[::-1][:5].tolist(), abs=2e-6
    )


def test_sketches_miss_few():
    """Of 20,000 rows, 300 are compared with a query, and nearly all of the nearest are there."""
    vectors, queries = clustered(20_000), clustered(40, seed=4)
    exact = search_all(vectors, queries, 10)
    known = sketched(vectors)
    coarse = Sketches(known.axes[:6], known.codes[:, :6])
    recall = {
        name: np.mean(
            [
                np.isin(a[0], b[0]).mean()
                for a, b in zip(
                    exact, search(made, vectors, queries, 10, candidates=300), strict=True
                )
            ]
        )
        for name, made in (("whole", known), ("coarse", coarse))
    }
    assert recall["whole"] > 0.99
    assert 0.5 < recall["coarse"] < recall["whole"]


def test_what_is_found_has_its_own_cosine():
    """Sketches choose; the order and the cosines are those of the rows."""
    vectors, queries = clustered(3_000), clustered(5, seed=4)
    found = search(sketched(vectors), vectors, queries, 10, candidates=50)
    for query, (rows, cosines) in zip(queries, found, strict=True):
        assert cosines.tolist() == pytest.approx((vectors[rows] @ query).tolist(), abs=2e-6)
        assert (np.diff(cosines) <= 0).all()


def test_only_some_rows():
    """What is left out costs no place among the candidates."""
    vectors, queries = clustered(3_000), clustered(5, seed=4)
    only = np.zeros(3_000, dtype=bool)
    only[5::300] = True
    wanted = plain(search_all(vectors, queries, 10, only=only))
    assert all(set(rows) == set(range(5, 3_000, 300)) for rows, _ in wanted)
    found = search(sketched(vectors), vectors, queries, 10, only=only, candidates=10)
    assert plain(found) == approximately(wanted)


def test_fewer_rows_than_asked_for():
    """There are as many as there are; none of no rows, and none where none counts."""
    vectors, query = clustered(3), clustered(1)
    assert len(search_all(vectors, query, 10)[0][0]) == 3
    assert len(search(sketched(vectors), vectors, query, 10)[0][0]) == 3
    assert plain(search_all(vectors[:0], query, 10)) == [([], [])]
    none = np.zeros(3, dtype=bool)
    assert plain(search_all(vectors, query, 10, only=none)) == [([], [])]
    assert plain(search(sketched(vectors), vectors, query, 10, only=none)) == [([], [])]
    assert search_all(vectors, vectors[:0], 10) == []


def test_equal_vectors():
    """All are equal, so the first rows are candidates, though rows have no axis to differ on."""
    vectors = np.tile(clustered(1), (5_000, 1))
    known = sketched(vectors)
    assert (known.codes == known.codes[0]).all()
    [(rows, _)] = search(known, vectors, vectors[:1], 4, candidates=20)
    assert rows.tolist() == [0, 1, 2, 3]


def test_sketches_are_small_and_near():
    """They have a byte for each of at most 128 axes, from which a row can be told."""
    vectors = clustered(2_000, d=200)
    known = sketched(vectors)
    assert known.codes.dtype == np.int8
    assert known.codes.shape == (2_000, 128)
    back = known.codes @ known.axes + vectors.mean(axis=0)
    assert np.abs(back - vectors).max() < 0.02
    again = sketched(vectors)
    assert again.codes.tobytes() == known.codes.tobytes()
    assert again.axes.tobytes() == known.axes.tobytes()
