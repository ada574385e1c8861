"""The late-interaction reranker over a double whose tokens are words."""

import zlib

import numpy as np
import pytest

from clew.algo import coding
from clew.models import TokenVectors, gives_tokens, is_late
from clew.models.maxsim import COSINE_WEIGHT, MaxSim, best_matches, blend, unit_rows

DIMENSION = 64


class Words:
    """Each word has a direction of its own, of length three; a text is their mean."""

    name = "words"
    dimension = DIMENSION

    def embed(self, texts, *, kind):  # noqa: ARG002 -- the protocol's
        rows = [tokens.pooled for tokens in self.embed_tokens(texts)]
        return np.stack(rows) if rows else np.zeros((0, DIMENSION), dtype=np.float32)

    def embed_tokens(self, texts):
        return [self._read(text) for text in texts]

    def _read(self, text):
        words = text.lower().split()
        vectors = np.zeros((len(words), DIMENSION), dtype=np.float32)
        for i, word in enumerate(words):
            row = np.random.default_rng(zlib.crc32(word.encode())).normal(size=DIMENSION)
            vectors[i] = 3 * row / np.linalg.norm(row)
        pooled = np.ones(DIMENSION) + vectors.sum(axis=0)
        pooled = (pooled / np.linalg.norm(pooled)).astype(np.float32)
        ids = np.arange(len(words), dtype=np.int32)
        return TokenVectors(vectors, ids, np.zeros((len(words), 2), dtype=np.int32), pooled)


@pytest.fixture
def reranker():
    return MaxSim(Words())


def test_it_keeps_the_protocols(reranker):
    """It can score stored tokens, its name holds its model's."""
    assert gives_tokens(reranker.embedder)
    assert is_late(reranker)
    assert reranker.name == "maxsim/words"
    texts = ["gauss sank", "drygalski", "ice"]
    alone = [reranker.score("gauss", [text])[0] for text in texts]
    np.testing.assert_allclose(reranker.score("gauss", texts), alone, atol=1e-6)


def test_a_score_is_late_interaction_plus_half_a_cosine(reranker):
    """Both parts by hand, for one text."""
    query, text = "gauss sailed", "the gauss sank"
    [asked], [read] = Words().embed_tokens([query]), Words().embed_tokens([text])
    cosines = (asked.vectors / 3) @ (read.vectors / 3).T
    expected = cosines.max(axis=1).mean() + COSINE_WEIGHT * float(asked.pooled @ read.pooled)
    np.testing.assert_allclose(reranker.score(query, [text]), [expected], atol=1e-5)
    np.testing.assert_allclose(blend(np.array([1.0]), np.array([0.5])), [1.25])


def test_stored_tokens_match_as_read_ones(reranker):
    """Scoring an index's tokens gives the late part of the score, up to rounding."""
    query, texts = "drygalski led gauss", ["gauss sank", "", "drygalski led it"]
    [asked], read = Words().embed_tokens([query]), Words().embed_tokens(texts)
    coded = [coding.encode(unit_rows(t.vectors), 8) for t in read]
    stored = [coding.decode(rows, asked.vectors.shape[1], 8) for rows in coded]
    late = reranker.matches(asked, stored).mean(axis=1)
    cosines = np.array([t.pooled @ asked.pooled for t in read])
    np.testing.assert_allclose(blend(late, cosines), reranker.score(query, texts), atol=0.02)


def test_no_texts_no_words_and_no_direction(reranker):
    """Empty batches, texts and queries have finite scores."""
    assert reranker.score("gauss", []).shape == (0,)
    assert np.isfinite(reranker.score("", ["gauss", ""])).all()
    assert np.isfinite(reranker.score("gauss", [""])).all()
    rows = unit_rows(np.array([[0, 0], [3, 4]], dtype=np.float32))
    np.testing.assert_allclose(rows, [[0, 0], [0.6, 0.8]], atol=1e-6)


class SmallProducts(np.ndarray):
    """Vectors that are multiplied in parts of up to 2^18 multiplications."""

    def __matmul__(self, other):
        assert len(self) * other.size <= 2**18
        return np.asarray(self) @ np.asarray(other)


def test_a_long_text_wakes_no_second_thread():
    """BLAS takes one from there on, which spins for longer than the product takes."""
    draw = np.random.default_rng(1)
    query, text = (unit_rows(draw.normal(size=(n, 384)).astype(np.float32)) for n in (12, 300))
    expected = (text @ query.T).max(axis=0)
    found = best_matches(query, [text.view(SmallProducts)])
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
