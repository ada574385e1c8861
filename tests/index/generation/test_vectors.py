"""Stored vectors are read as an array of them would be."""

import numpy as np
import pytest

from clew.algo.coding import encode
from clew.errors import DamagedIndex
from clew.index.generation.vectors import StoredVectors
from clew.index.store import segments
from clew.index.store.columns import StoredColumn

D = 24
ROWS = np.array([4, 5, 6, -1, 0, 9, 9, 7], dtype=np.int64)  # of two arrays, of 6 and 4 vectors


def whole():
    vectors = np.random.default_rng(0).standard_normal((10, D)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def stored(parts, rows=ROWS, bits=8):
    columns = [StoredColumn({"chunk.vectors": part}, "chunk.vectors") for part in parts]
    return StoredVectors(columns, rows, dimension=D, bits=bits)


@pytest.fixture
def vectors():
    return stored([encode(whole()[:6], 8), encode(whole()[6:], 8)])


def expected():
    rows = np.zeros((len(ROWS), D), dtype=np.float32)
    rows[ROWS >= 0] = whole()[ROWS[ROWS >= 0]]
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        slice(None), slice(2, 5), slice(0, 0), slice(0, 3), 0, -1, 3, [], [7, 0, 0], np.array([3]),
        np.array([True, False] * 4),
    ],
    ids=str,
)  # fmt: skip
def test_rows(vectors, rows):
    rows = np.array(rows, dtype=np.intp) if isinstance(rows, list) else rows
    found = vectors[rows]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected()[rows], atol=4e-3)


def test_as_an_array(vectors):
    assert len(vectors) == len(ROWS)
    assert vectors.shape == (len(ROWS), D)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.asarray(vectors), expected(), atol=4e-3)
    assert np.asarray(vectors, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="which is a copy"):
        np.asarray(vectors, copy=False)
    with pytest.raises(IndexError):
        vectors[len(ROWS)]


def test_products(vectors, monkeypatch):
    """They are computed block by block, and are those of the rows that are read."""
    monkeypatch.setattr("clew.index.generation.vectors._BLOCK", 3)
    query = np.arange(D, dtype=np.float32)
    np.testing.assert_allclose(vectors @ query, vectors[:] @ query, rtol=1e-5)
    np.testing.assert_allclose(vectors @ np.eye(D, 2), vectors[:][:, :2], atol=1e-6)
    none = stored([encode(whole(), 8)], ROWS[:0])
    assert (none @ query).shape == (0,)
    assert (none @ np.eye(D, 2)).shape == (0, 2)


def test_no_more_is_looked_at_than_the_rows_that_are_read(tmp_path):
    """A damage elsewhere is told by who reads there, and by nobody else."""
    vectors = np.random.default_rng(0).standard_normal((100_000, D)).astype(np.float32)
    path = tmp_path / "segments" / "000000.safetensors"
    segments.write_segment(path, {"chunk.vectors": encode(vectors, 8)})
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)
    column = StoredColumn(segments.open_segment(path), "chunk.vectors")
    read = StoredVectors([column], np.arange(100_000), dimension=D, bits=8)
    np.testing.assert_allclose(read[:10], vectors[:10], atol=0.05)
    np.testing.assert_allclose(read[np.array([7, 3])], vectors[[7, 3]], atol=0.05)
    with pytest.raises(DamagedIndex, match="the array 'chunk.vectors'"):
        read[np.array([3, 99_999])]
    with pytest.raises(DamagedIndex, match="the array 'chunk.vectors'"):
        read @ vectors[0]


@pytest.mark.parametrize("bits", [4, 8])
def test_few_vectors_are_looked_up_once_and_stay_the_same(bits):
    codes = encode(whole(), bits)
    read = stored([codes[:6], codes[6:]], bits=bits)
    rows, question = np.array([7, 3, 0, 2]), whole()[0]
    before = read[rows], read.products(rows, question), read @ question
    codes[:] = 0  # from now on nothing is read
    for found, earlier in zip(
        (read[rows], read.products(rows, question), read @ question), before, strict=True
    ):
        np.testing.assert_array_equal(found, earlier)
    np.testing.assert_array_equal(read[3], np.zeros(D))
    np.testing.assert_array_equal(read[ROWS == 9], read[[5, 6]])


def test_many_vectors_are_read_each_time(monkeypatch):
    monkeypatch.setattr("clew.index.generation.vectors._SMALL", 100)
    codes = encode(whole(), 8)
    read = stored([codes[:6], codes[6:]])
    before = read @ whole()[0]
    codes[:] = 0
    assert before.any()
    assert not (read @ whole()[0]).any()
