import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from clew.algo import coding
from clew.base.runtime import sqlite
from clew.errors import StoreError
from clew.models.cache import CachedEmbedder
from clew.testing import HashEmbedder


class Counting:
    """An embedder that remembers what it was asked, and can fail on a text."""

    def __init__(self, name="counting", d=3, fails_on=None):
        self.name, self.dimension, self.fails_on, self.asked = name, d, fails_on, []

    def embed(self, texts, *, kind):
        self.asked.append(list(texts))
        if self.fails_on in texts:
            raise ConnectionError
        rows = [[len(text) + 1, kind == "query", *[1] * (self.dimension - 2)] for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.sqlite"


def test_a_cached_embedder_gives_the_same_vectors(path):
    """The cache changes nothing but the bill."""
    texts = ["a", "bb", "", "ccc", "\ud800"]
    plain = Counting().embed(texts, kind="query")
    cached = CachedEmbedder(Counting(), path)
    for _ in range(2):
        rows = cached.embed(texts, kind="query")
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, plain)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 384])
def test_vectors_of_documents_are_kept_as_an_index_has_them(path, d):
    """A byte a number, and what is stored of them in the end is as without the cache."""
    texts = [f"text {i}" for i in range(300)]
    plain = HashEmbedder(d).embed(texts, kind="document")
    cached = CachedEmbedder(HashEmbedder(d), path)
    first = cached.embed(texts, kind="document")
    np.testing.assert_array_equal(cached.embed(texts, kind="document"), first)
    np.testing.assert_allclose(first, plain, atol=4e-3)
    codes, direct = (coding.encode(rows, 8)[:, :-4] for rows in (first, plain))
    np.testing.assert_array_equal(codes, direct)
    with closing(sqlite.connect(path, wait=1)) as database:
        sizes = [size for (size,) in database.execute("SELECT length(vector) FROM vectors")]
    assert set(sizes) == {d + 9}


def test_only_new_texts_are_sent_each_once(path):
    """Repeats cost nothing; a query's vector is never a document's, nor one model's another's."""
    CachedEmbedder(Counting(), path).embed(["a", "b"], kind="document")
    inner, other = Counting(), Counting("other", d=5)
    cached = CachedEmbedder(inner, path)
    cached.embed(["b", "c", "c", "a", "d"], kind="document")
    assert inner.asked == [["c", "d"]]
    assert (cached.hits, cached.misses) == (3, 2)
    CachedEmbedder(inner, path).embed(["a"], kind="query")
    assert CachedEmbedder(other, path).embed(["a"], kind="query").shape == (1, 5)
    assert (len(inner.asked), len(other.asked)) == (2, 1)
    assert CachedEmbedder(other, path).name == "other"


def test_a_full_cache_needs_no_model(path):
    """Not even the dimension is asked of the embedder, which may have to pay for it."""
    CachedEmbedder(Counting(), path).embed(["a"], kind="query")
    inner = Counting(d=99)
    cached = CachedEmbedder(inner, path)
    assert cached.dimension == 3
    assert cached.embed(["a"], kind="query").shape == (1, 3)
    assert cached.embed([], kind="query").shape == (0, 3)
    assert inner.asked == []


def test_what_was_paid_before_a_crash_is_kept(path):
    """Blocks are committed one by one, so a failure loses only its own."""
    texts = [f"{i}" for i in range(1500)]
    with pytest.raises(ConnectionError):
        CachedEmbedder(Counting(fails_on="1400"), path).embed(texts, kind="document")
    inner = Counting()
    CachedEmbedder(inner, path).embed(texts, kind="document")
    assert inner.asked == [texts[1024:]]


def test_several_processes_share_a_file(path):
    """Writers that start at the same moment neither fail nor harm each other."""
    program = """
import sys, numpy as np
from clew.models.cache import CachedEmbedder
from clew.testing import HashEmbedder

class Ones:
    name, dimension = "ones", 8
    def embed(self, texts, *, kind):
        return np.full((len(texts), 8), 8**-0.5, dtype=np.float32)

cached = CachedEmbedder(Ones(), sys.argv[1])
for i in range(10):
    rows = cached.embed([f"{i}-{j}" for j in range(20)], kind="document")
    assert rows.shape == (20, 8) and rows.all()
"""
    command = [sys.executable, "-c", program, str(path)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    assert [writer.communicate()[1].decode() for writer in writers] == [""] * 3
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM vectors").fetchone() == (200,)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_that_is_no_database_is_refused(path):
    """The wrong path is named, and the file is left as it was."""
    path.write_text("these are my notes, not a cache, " * 50)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"vectors.sqlite cannot be used: file is not a database"):
        CachedEmbedder(Counting(), path).embed(["a"], kind="query")
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused(path):
    """Somebody's browser history gets no new tables."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE history (url TEXT)")
    with pytest.raises(StoreError, match="belongs to another program"):
        CachedEmbedder(Counting(), path).embed(["a"], kind="query")


def test_a_file_that_was_cut_off_is_told(path):
    """Strange vectors are never given."""
    texts = [f"{i}" for i in range(2000)]
    CachedEmbedder(Counting(), path).embed(texts, kind="query")
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(StoreError, match="restore it from a backup"):
        CachedEmbedder(Counting(), path).embed(texts, kind="query")


def test_zeros_in_place_of_a_vector_are_embedded_again(path):
    """A page of zeros has the right checksum: a vector has one of its own."""
    expected = CachedEmbedder(Counting(), path).embed(["a", "b"], kind="query")
    with closing(sqlite.connect(path, wait=1)) as database:
        key = database.execute("SELECT key FROM vectors LIMIT 1").get
        kept = database.execute("SELECT vector FROM vectors WHERE key = ?", [key]).get
        zeros = bytes(len(kept))
        database.execute("UPDATE vectors SET vector = ? WHERE key = ?", [zeros[:-1] + b"\1", key])
    cached = CachedEmbedder(Counting(), path)
    np.testing.assert_array_equal(cached.embed(["a", "b"], kind="query"), expected)
    assert (cached.hits, cached.misses) == (1, 1)


def test_a_vector_of_another_dimension_is_refused(path):
    """An embedder that changed under its name is told of."""
    CachedEmbedder(Counting(), path).embed(["a"], kind="query")
    with pytest.raises(StoreError, match="holds a vector that is not of 3 numbers"):
        CachedEmbedder(Counting(d=2), path).embed(["b"], kind="query")
    with pytest.raises(StoreError, match="holds a vector that is not of 3 numbers"):
        CachedEmbedder(Counting(), path).embed(["b"], kind="query")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    """A cache in no folder is a mistake with one sentence."""
    with pytest.raises(StoreError, match=r"gone.vectors.sqlite cannot be used.*check its folder"):
        CachedEmbedder(Counting(), tmp_path / "gone" / "vectors.sqlite").embed(["a"], kind="query")
