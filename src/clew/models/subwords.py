"""Vectors of words by what they are made of, for scripts that a model was not trained on.

A word is the sum of its runs of characters, each of them a fixed random direction, so that forms
of a word are alike and other words are not: the subwords of Bojanowski et al. (2017), "Enriching
Word Vectors with Subword Information", arXiv:1607.04606, hashed and untrained. Vectors that a model
gives for such scripts are noise, which led `walk` astray.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.lazy import compile_re
from clew.models import TokenVectors
from clew.text.analyze import IDEOGRAPHS, UNSPACED, term_spans

_RUNS = (3, 4)  # characters of a run of a word, whose ends are marked
_SYLLABLE_RUNS = (2, 3)  # of one in Hangul
_PART = 0.5  # the weight of an ideograph or kana of a pair
_FOREIGN = 0.3  # the share of letters, and more, by which a text is in another script than Latin
_LATIN = compile_re(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_SYLLABLES = compile_re(r"[\u1100-\u11ff\uac00-\ud7af]")  # of Hangul
_KANA = compile_re(r"[\u3040-\u309f]+")  # hiragana: mostly endings and particles
_ENDING = 0.3  # the weight of a term of them in a text
_LONG = 8  # characters of a word that counts whole in a text


def is_foreign(text: str) -> bool:
    """Say whether much of a text is in another script than the Latin one.

    A character that stands for a syllable or a word counts twice.
    """
    if text.isascii():
        return False
    letters = [c for c in text if c.isalpha()]
    others = [c for c in letters if not _LATIN.match(c)]
    dense = sum(1 for c in others if UNSPACED.match(c) or _SYLLABLES.match(c))
    return len(others) + dense > _FOREIGN * (len(letters) + dense)


def read_subwords(text: str, dimension: int) -> TokenVectors:
    """Return the vectors of a text's terms, and their weighted mean, by their subwords."""
    spans = list(term_spans(text))
    vectors = np.array([_embed_term(term, dimension) for term, _, _ in spans], dtype=np.float32)
    vectors = vectors.reshape(-1, dimension)
    weights = np.array([_weigh_term(term) for term, _, _ in spans], dtype=np.float32)
    total = weights @ vectors if spans else np.ones(dimension, dtype=np.float32)
    return TokenVectors(
        vectors,
        np.full(len(spans), -1, dtype=np.int32),
        np.array([span for _, *span in spans], dtype=np.int32).reshape(-1, 2),
        np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32),
    )


@lru_cache(maxsize=20_000)
def _embed_term(term: str, dimension: int) -> NDArray[np.float32]:
    """Return the (d,) unit vector of a term."""
    total = _hash_run(term, dimension).astype(np.float64)
    for run, weight in _find_runs(term):
        total += weight * _hash_run(run, dimension)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def _find_runs(term: str) -> Iterator[tuple[str, float]]:
    if UNSPACED.match(term):
        yield from ((c, _PART) for c in term if len(term) > 1 and IDEOGRAPHS.match(c))
        return
    marked = f"<{term}>"
    sizes = _SYLLABLE_RUNS if _SYLLABLES.search(term) else _RUNS
    runs = [marked[i : i + n] for n in sizes for i in range(len(marked) - n + 1)]
    yield from ((run, 1.0) for run in runs)


@lru_cache(maxsize=50_000)
def _hash_run(run: str, dimension: int) -> NDArray[np.int8]:
    """Return (d,) signs that depend on the run alone."""
    digests = (
        blake2b(run.encode("utf-8", "surrogatepass"), digest_size=64, salt=bytes([i])).digest()
        for i in range(-(-dimension // 512))
    )
    bits = np.unpackbits(np.frombuffer(b"".join(digests), dtype=np.uint8))[:dimension]
    return np.asarray(bits.astype(np.int8) * 2 - 1)


def _weigh_term(term: str) -> float:
    if UNSPACED.match(term):
        return _ENDING if _KANA.fullmatch(term) else 1.0
    return min(len(term), _LONG) / _LONG
