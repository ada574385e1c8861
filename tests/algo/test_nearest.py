"""The nearest vectors: every pair as the oracle, and how many are found in the cells around."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array

from clew.algo import nearest
from clew.algo.nearest import find_nearest, highest_columns


def clustered(n, d=24, n_clusters=40, spread=1.0, seed=3):
    """Return unit vectors around centres, so wide that clusters run into each other."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_clusters, d))
    vectors = centres[rng.integers(0, n_clusters, n)] + spread * rng.standard_normal((n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def itself(n):
    return csr_array(eye_array(n, dtype=np.int32))


@st.composite
def problems(draw):
    """Few directions, exact in binary, so that ties are common; some pairs that are taken."""
    n = draw(st.integers(0, 9))
    axes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    directions = np.array([[1, 0], [0, 1], [-1, 0], [0.5, 0.75**0.5]])
    taken = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    return directions[np.array(axes, dtype=int)], np.array(taken, dtype=int).reshape(n, n)


@given(problems(), st.integers(1, 4), st.booleans())
def test_they_are_those_of_sorting_all_pairs(problem, h, exact):
    """Of few vectors, cells miss none; equal ones come by row, and -1 where none are left."""
    vectors, taken = problem
    found = find_nearest(vectors, h, csr_array(taken), exact=exact).rows
    assert found.shape == (len(vectors), h)
    for i, row in enumerate(found.tolist()):
        free = [j for j in range(len(vectors)) if not taken[i, j]]
        free.sort(key=lambda j: (-round(float(vectors[i] @ vectors[j]), 6), j))
        assert row == (free + [-1] * h)[:h]


def test_cells_miss_few():
    """Where they do, another one about as near takes the place."""
    vectors = clustered(6_000)
    exact, found = (find_nearest(vectors, 2, itself(6_000), exact=e).rows for e in (True, False))
    assert 0.9 < np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)]) < 1
    cosines = [np.einsum("id,ihd->ih", vectors, vectors[rows]) for rows in (exact, found)]
    assert cosines[1].mean() > 0.99 * cosines[0].mean()
    assert (cosines[1] <= cosines[0] + 1e-5).all()


@pytest.mark.parametrize("exact", [True, False])
def test_the_same_vectors_have_the_same_neighbours(exact):
    """Nobody has itself, or another twice."""
    vectors = clustered(2_000)
    first = find_nearest(vectors, 2, itself(2_000), exact=exact).rows
    assert first.tobytes() == find_nearest(vectors, 2, itself(2_000), exact=exact).rows.tobytes()
    assert (first != np.arange(2_000)[:, None]).all()
    assert (first >= 0).all()
    assert (first[:, 0] != first[:, 1]).all()


def test_what_is_taken_is_never_found():
    """Each row may have half of the others."""
    vectors = clustered(600)
    taken = csr_array(np.add.outer(np.arange(600), np.arange(600)) % 2 == 0)
    found = find_nearest(vectors, 3, taken, exact=False).rows
    assert ((found + np.arange(600)[:, None]) % 2 == 1).all()


def test_comparisons_have_a_bound(monkeypatch):
    """The larger the cells, the fewer a row visits, its own and the nearest of the others."""
    monkeypatch.setattr(nearest, "_COMPARED", 100)
    n_visits, n_compared = np.zeros(2_000, dtype=int), np.zeros(2_000, dtype=int)
    for rows, columns in nearest.iterate_cells(clustered(2_000)):
        n_visits[rows] += 1
        n_compared[rows] += len(columns)
    assert (n_visits == 5).all()  # of 88 cells
    assert n_compared.mean() < 200


@pytest.mark.parametrize(("exact", "n"), [(True, 600), (False, 2_500)])
def test_equal_vectors_come_by_row(exact, n):
    """All texts are the same, and one cell has them all: the first rows are the nearest."""
    vectors = np.tile(clustered(1), (n, 1))
    found = find_nearest(vectors, 2, itself(n), exact=exact).rows
    assert found[:3].tolist() == [[1, 2], [0, 2], [0, 1]]
    assert (found[2:] == [0, 1]).all()


def test_highest_columns():
    """Equal ones by column, and -inf behind the last."""
    columns, scores = highest_columns(np.array([[1.0, 3, 3], [-np.inf, -np.inf, 2]]), 2)
    assert columns[0].tolist() == [1, 2]
    assert columns[1, 0] == 2
    assert scores.tolist() == [[3, 3], [2, -np.inf]]
