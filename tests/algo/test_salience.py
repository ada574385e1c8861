"""Rates of terms against the formula, and values worked out by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clew.algo.salience import count_ngrams, entity_rates, keep_entries, mark_salient

CHUNKS = ["ice drift slows ice", "ice work", "pack floes carry seals and seals rest"]
COUNTS = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 3), min_size=width, max_size=width), min_size=1, max_size=8
    )
).map(np.array)  # fmt: skip


def counted(chunks):
    """Return the counts of words and pairs of neighbours, the chunks' words, and the terms."""
    terms = {}
    cells = []
    for i, words in enumerate(chunk.split() for chunk in chunks):
        pairs = [" ".join(pair) for pair in pairwise(words)]
        cells += [(i, terms.setdefault(term, len(terms))) for term in words + pairs]
    counts = np.zeros((len(chunks), len(terms)), dtype=np.int64)
    np.add.at(counts, tuple(np.transpose(cells)), 1)
    return csr_array(counts), np.array([len(chunk.split()) for chunk in chunks]), list(terms)


def salient(rates, threshold):
    return keep_entries(rates, mark_salient(rates, threshold))


def by_formula(counts, score):
    """Return the rates of dense counts, chunks being as long as their counts say."""
    n, df = len(counts), (counts > 0).sum(axis=0)
    rarity = np.log((n + 1) / (df + 1))
    rates = np.zeros(counts.shape)
    for i, chunk in enumerate(counts):
        if score == "eq2":
            rates[i] = chunk / (max(chunk.sum(), 1) * np.log(n + 1)) * rarity
        elif score == "normalised":
            rates[i] = chunk * rarity / (max(chunk * rarity) or 1)
        else:
            rates[i] = chunk * (rarity + 1) / (np.linalg.norm(chunk * (rarity + 1)) or 1)
    return rates


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("eq2", {"work": 0.25, "ice work": 0.25, "ice": 0.103759}),
        ("normalised", {"work": 1, "ice work": 1, "ice": 0.415037}),
    ],
)
def test_a_chunk_by_hand(score, expected):
    """Of "ice work" the word that another chunk has too rates lower."""
    counts, lengths, terms = counted(CHUNKS)
    rates = entity_rates(counts, lengths, score=score).toarray()
    found = {term: rate for term, rate in zip(terms, rates[1], strict=True) if rate}
    assert found == pytest.approx(expected, abs=5e-7)


def test_a_term_at_the_threshold_is_not_salient():
    """At one half the common word stays where it stands twice, and halves of the best go."""
    counts, lengths, terms = counted(CHUNKS)
    kept = salient(entity_rates(counts, lengths), 0.5)
    assert kept.shape == counts.shape
    found = [
        {terms[j] for j in kept.indices[kept.indptr[i] : kept.indptr[i + 1]]} for i in (0, 1, 2)
    ]
    assert found == [
        {"ice", "drift", "slows", "ice drift", "drift slows", "slows ice"},
        {"work", "ice work"},
        {"seals"},
    ]


@pytest.mark.parametrize("score", ["eq2", "normalised", "tfidf"])
@given(counts=COUNTS)
def test_rates_are_those_of_the_formula(score, counts):
    """For every small collection, with empty chunks and terms that all chunks have."""
    rates = entity_rates(csr_array(counts), counts.sum(axis=1), score=score)
    np.testing.assert_allclose(rates.toarray(), by_formula(counts, score), atol=1e-12)


@given(COUNTS, st.floats(0, 1))
def test_what_is_above_is_kept(counts, threshold):
    """Exactly the entries above the threshold stay, as they were."""
    rates = entity_rates(csr_array(counts), counts.sum(axis=1))
    dense = rates.toarray()
    expected = np.where(np.round(dense, 6) > threshold, dense, 0)
    np.testing.assert_array_equal(salient(rates, threshold).toarray(), expected)


def test_few_chunks_have_no_rare_terms():
    """What all chunks have rates nothing, also when there is one chunk only, or none."""
    counts = csr_array(np.array([[2, 1]]))
    assert entity_rates(counts, np.array([3])).toarray().tolist() == [[0, 0]]
    assert salient(entity_rates(counts, np.array([3])), 0.0).nnz == 0
    assert entity_rates(csr_array((0, 3)), np.empty(0, dtype=np.int64)).shape == (0, 3)
    assert salient(csr_array((0, 3)), 0.5).shape == (0, 3)


WORD = st.tuples(st.integers(0, 3), st.booleans())  # its number, and if it goes on
WORDS = st.lists(st.lists(WORD, max_size=9), max_size=5)


def by_hand(texts, longest):
    """Return for each text its n-grams: how often, the first place, how long, if inside one."""
    found, begin = [], 0
    for text in texts:
        places = {}
        for i in range(len(text)):
            gram = ()
            for word, joins in text[i : i + longest]:
                if gram and not joins:
                    break
                gram += (word,)
                places.setdefault(gram, []).append(begin + i)
        inside = {
            part
            for gram, at in places.items()
            for n in range(1, len(gram))
            for part in (gram[i : i + n] for i in range(len(gram) - n + 1))
            if len(places[part]) == len(at)
        }
        found.append([(len(at), at[0], len(g), g in inside) for g, at in places.items()])
        begin += len(text)
    return found


@given(WORDS, st.integers(1, 4))
def test_ngrams_are_those_of_a_count_by_hand(texts, longest):
    """In the order of the text, with their places; equal ones of several texts are one column."""
    words = np.array([word for text in texts for word, _ in text], dtype=np.int64)
    joins = np.array([joins for text in texts for _, joins in text], dtype=bool)
    begins = np.cumsum([0, *map(len, texts)])
    joins[begins[:-1][begins[:-1] < len(joins)]] = False
    texts = [[(w, j and i > 0) for i, (w, j) in enumerate(text)] for text in texts]
    found = count_ngrams(words, words + 10, joins, begins, longest)
    cells = list(zip(found.counts.data, found.places, found.sizes, found.inside, strict=True))
    ends = found.counts.indptr
    expected = by_hand(texts, longest)
    assert [cells[a:b] for a, b in pairwise(ends)] == expected
    grams = [tuple(words[p : p + n]) for _, p, n, _ in cells]
    assert len(set(zip(grams, found.counts.indices.tolist(), strict=True))) == len(set(grams))


def test_many_texts_are_counted_like_few():
    """Texts are taken some thousand at a time, which shows nowhere."""
    n = 5_000
    words = np.tile([0, 1, 0, 1, 2], n)
    joins = np.tile([False, True, True, True, False], n)
    found = count_ngrams(words, words, joins, np.arange(0, 5 * n + 1, 5), 2)
    assert found.counts.shape == (n, 5)
    assert (found.counts.toarray() == found.counts.toarray()[0]).all()
    assert found.counts[[n - 1]].data.tolist() == [2, 2, 2, 1, 1]
    assert found.places[-5:].tolist() == [5 * n - 5, 5 * n - 5, 5 * n - 4, 5 * n - 4, 5 * n - 1]


def test_an_added_word_may_differ_from_itself():
    """What a word adds to an n-gram has a number of its own, which tells n-grams apart."""
    words, joins = np.array([0, 1, 0, 1]), np.array([False, True, False, True])
    same = count_ngrams(words, np.array([0, 1, 0, 1]), joins, np.array([0, 4]), 2)
    other = count_ngrams(words, np.array([0, 1, 0, 2]), joins, np.array([0, 4]), 2)
    assert same.counts.data.tolist() == [2, 2, 2]
    assert other.counts.data.tolist() == [2, 1, 2, 1]
