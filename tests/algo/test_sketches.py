"""The nearest rows: sorting all of them as the oracle, and how many are found by sketches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.row_edits import RowEdits
from clew.algo.sketches import (
    Sketches,
    sample_near_and_far,
    search_exactly,
    search_sketches,
    sketch,
)


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
    assert plain(search_exactly(vectors, queries, k, only=only)) == wanted
    assert (
        plain(search_sketches(Sketches(sketch(vectors)), vectors, queries, k, only=only)) == wanted
    )


def test_many_rows_are_read_in_blocks():
    """The best of all blocks are found, and equal ones of several come by row."""
    vectors = clustered(40_000)
    vectors[[7, 20_000, 39_999]] = vectors[30_000]
    [(rows, cosines)] = search_exactly(vectors, vectors[30_000][None], 5)
    assert rows[:4].tolist() == [7, 20_000, 30_000, 39_999]
    assert cosines[:4].tolist() == [1, 1, 1, 1]
    scores = np.round(vectors @ vectors[30_000], 6)
    assert sorted(cosines.tolist(), reverse=True) == pytest.approx(
        np.sort(scores)[::-1][:5].tolist(), abs=2e-6
    )


def test_sketches_miss_few():
    """Of 20,000 rows, 200 are compared with a query, and nearly all of the nearest are there."""
    made = clustered(20_040, d=384)
    vectors, queries = made[40:], made[:40]
    exact = search_exactly(vectors, queries, 10)
    codes = sketch(vectors)
    assert codes.nbytes == 20_000 * 384 / 8
    recall = {}
    for n_words in (6, 1):
        known, some = Sketches(codes[:n_words]), slice(64 * n_words)
        found = [sample_near_and_far(known, query[some], 200) for query in queries]
        shares = [np.isin(rows, near).mean() for (rows, _), near in zip(exact, found, strict=True)]
        recall[n_words] = np.mean(shares)
    assert recall[6] > 0.99
    assert recall[1] < recall[6]


def test_what_is_found_has_its_own_cosine():
    """Sketches choose; the order and the cosines are those of the rows."""
    vectors, queries = clustered(3_000), clustered(5, seed=4)
    found = search_sketches(Sketches(sketch(vectors)), vectors, queries, 10, candidates=50)
    for query, (rows, cosines) in zip(queries, found, strict=True):
        assert cosines.tolist() == pytest.approx((vectors[rows] @ query).tolist(), abs=2e-6)
        assert (np.diff(cosines) <= 0).all()


def test_only_some_rows():
    """What is left out costs no place among the candidates."""
    vectors, queries = clustered(3_000), clustered(5, seed=4)
    only = np.zeros(3_000, dtype=bool)
    only[5::300] = True
    wanted = plain(search_exactly(vectors, queries, 10, only=only))
    assert all(set(rows) == set(range(5, 3_000, 300)) for rows, _ in wanted)
    found = search_sketches(
        Sketches(sketch(vectors)), vectors, queries, 10, only=only, candidates=10
    )
    assert plain(found) == approximately(wanted)


def test_few_rows_and_equal_ones():
    """There are as many as there are; where all are equal the first rows are candidates."""
    vectors, query = clustered(3), clustered(1)
    assert len(search_exactly(vectors, query, 10)[0][0]) == 3
    assert len(search_sketches(Sketches(sketch(vectors)), vectors, query, 10)[0][0]) == 3
    assert plain(search_exactly(vectors[:0], query, 10)) == [([], [])]
    none = np.zeros(3, dtype=bool)
    assert plain(search_exactly(vectors, query, 10, only=none)) == [([], [])]
    assert plain(search_sketches(Sketches(sketch(vectors)), vectors, query, 10, only=none)) == [
        ([], [])
    ]
    assert search_exactly(vectors, vectors[:0], 10) == []
    vectors = np.tile(clustered(1), (5_000, 1))
    [(rows, _)] = search_sketches(Sketches(sketch(vectors)), vectors, vectors[:1], 4, candidates=20)
    assert rows.tolist() == [0, 1, 2, 3]


def test_a_sketch_is_of_its_row_alone():
    """A bit for each number that is above zero, whatever other rows there are."""
    vectors = clustered(70, d=100)
    codes = sketch(vectors)
    assert codes.shape == (2, 70)
    bits = np.unpackbits(codes.T.copy().view(np.uint8), axis=1, bitorder="little")
    assert (bits[:, :100] == (vectors > 0)).all()
    assert (bits[:, 100:] == 0).all()
    assert (sketch(vectors[3:4])[:, 0] == codes[:, 3]).all()


@pytest.mark.parametrize("candidates", [40, 5_000])
def test_the_nearest_and_the_farthest(candidates):
    """Both ends are there, so scores can be scaled as all of them would be."""
    vectors = clustered(3_000, d=384)
    query = vectors[1_000]
    rows = sample_near_and_far(Sketches(sketch(vectors)), query, candidates)
    assert (np.diff(rows) > 0).all()
    cosines = vectors @ query
    assert np.isin(np.argsort(cosines)[[0, -3, -2, -1]], rows).all()
    assert len(rows) == min(candidates + 64, 3_000)


def test_rows_that_went_and_came():
    """The sketches of those that stayed are read where they were."""
    former, came = clustered(2_000), clustered(50, seed=9)
    gone = np.array([0, 7, 1_500])
    edits = RowEdits.from_changes(
        2_000, gone, np.sort(np.random.default_rng(0).integers(0, 2_000, 50))
    )
    now = edits.apply(former, came)
    known = Sketches(sketch(former), sketch(came), edits)
    queries = np.concatenate([came[:3], former[[7, 8, 1_999]], clustered(3, seed=4)])
    everything = search_exactly(now, queries, 5)
    assert plain(search_sketches(known, now, queries, 5)) == approximately(plain(everything))
    only = np.zeros(len(now), dtype=bool)
    only[1::2] = True
    wanted = approximately(plain(search_exactly(now, queries, 5, only=only)))
    assert plain(search_sketches(known, now, queries, 5, only=only)) == wanted
    rows = sample_near_and_far(known, queries[0], 2_050)
    assert rows.tolist() == list(range(len(now)))
