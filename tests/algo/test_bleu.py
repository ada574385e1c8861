"""BLEU of each chunk against all others: the definition, the library sacrebleu, the edges."""

import math
from collections import Counter

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.bleu import leave_one_out_bleu
from clew.errors import InputError

CHUNKS = [
    "the seal lay on the floe",
    "the seal lay on the rock",
    "a sledge ran in the snow today",
    "winds dropped sharply on monday",
]


def flat(chunks):
    """Return chunks of integers as one array, and where each starts."""
    offsets = np.cumsum([0, *map(len, chunks)])
    return np.array([token for chunk in chunks for token in chunk], dtype=np.int64), offsets


def of_words(chunks):
    rows = {}
    ids = [[rows.setdefault(word, len(rows)) for word in chunk.split()] for chunk in chunks]
    return leave_one_out_bleu(*flat(ids))


def grams(chunk, n):
    return Counter(tuple(chunk[i : i + n]) for i in range(len(chunk) - n + 1))


def by_definition(chunks):
    """Compare each chunk with every other one, as the formula is written."""
    scores = []
    for i, chunk in enumerate(chunks):
        others = [other for j, other in enumerate(chunks) if j != i]
        precisions, any_match = [], False
        for n in range(1, min(4, len(chunk)) + 1):
            clip = Counter()
            for other in others:
                clip |= grams(other, n)
            matches = (grams(chunk, n) & clip).total()
            any_match |= matches > 0
            precisions.append((matches or 0.1) / (len(chunk) - n + 1))
        if not any_match:
            scores.append(0.0)
            continue
        mean = math.prod(precisions) ** (1 / len(precisions))
        nearest = min(map(len, others), key=lambda length: (abs(length - len(chunk)), length))
        scores.append(mean * min(1.0, math.exp(1 - nearest / len(chunk))))
    return scores


def test_four_chunks_by_hand():
    """The first has 5/6, 4/5, 3/4 and 2/3 in common with the second, and no penalty."""
    expected = [0.759836, 0.759836, 0.033032, 0.043989]
    np.testing.assert_allclose(of_words(CHUNKS), expected, atol=5e-7)


@given(chunks=st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=7))
def test_scores_are_those_of_the_definition(chunks):
    """For every small collection, with repeated words, empty chunks and equal ones."""
    scores = leave_one_out_bleu(*flat(chunks))
    np.testing.assert_allclose(scores, by_definition(chunks), rtol=1e-12)


def test_scores_are_those_of_sacrebleu():
    """A hundred chunks of words that the library's tokenizer leaves as they are."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(300)])
    lengths = rng.integers(1, 25, 100)
    chunks = [" ".join(words[np.minimum(rng.zipf(1.3, n), 300) - 1]) for n in lengths]
    expected = []
    for i, chunk in enumerate(chunks):
        others = chunks[:i] + chunks[i + 1 :]
        bleu = sacrebleu.sentence_bleu(chunk, others, lowercase=True, smooth_method="floor")
        expected.append(bleu.score / 100)
    np.testing.assert_allclose(of_words(chunks), expected, rtol=1e-9)


def test_numbers_of_tokens_do_not_matter():
    """Any integers name words: scattered ones give what small ones give."""
    rng = np.random.default_rng(1)
    tokens, offsets = rng.integers(0, 50, 400), np.array([0, 90, 90, 250, 400])
    scattered = rng.choice(2**62, 50, replace=False)[tokens] - 2**61
    np.testing.assert_array_equal(
        leave_one_out_bleu(scattered, offsets), leave_one_out_bleu(tokens, offsets)
    )


def test_arguments_stay_as_they_are():
    """Scoring writes into none of its arguments."""
    tokens, offsets = flat([[1, 2, 3], [2, 3, 4]])
    tokens.flags.writeable = offsets.flags.writeable = False
    assert leave_one_out_bleu(tokens, offsets).shape == (2,)
    assert of_words([]).tolist() == []


@pytest.mark.parametrize("offsets", [[], [1, 3], [0, 2], [0, 3, 2, 3]])
def test_offsets_that_do_not_fit_are_refused(offsets):
    """Chunks that overlap or leave tokens out would give wrong scores."""
    with pytest.raises(InputError, match="must ascend from 0 to the 3 tokens"):
        leave_one_out_bleu(np.arange(3), np.array(offsets, dtype=np.int64))
