"""Salient terms of texts: which are kept, and in what order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.algo.topk import top_k
from clew.errors import InputError
from clew.index.layers.salient import find_hints, salient_rates, spell_terms

TEXTS = [
    "The Fram drifted with the pack ice. The Fram was built to drift.",
    "Pack ice closed in, and the pack ice held the ship.",
    "Penguins nest on the shore, and there are penguins along the shore.",
]
WORDS = st.sampled_from(["sea", "ice", "fog", "ship", "the", "drift", "seal", "."])
TEXT = st.lists(WORDS, max_size=12).map(" ".join)


def salient_terms(texts, *, most=12, **settings):
    """The terms of each text, most salient first."""
    rates, terms = salient_rates(texts, **settings)
    return [
        [terms[rates.indices[start + row]] for row in top_k(rates.data[start:end], most).tolist()]
        for start, end in pairwise(rates.indptr.tolist())
    ]


def test_terms_by_hand():
    """What no other text has comes first; among equals, what stands first in the text."""
    assert salient_terms(TEXTS, threshold=0.3) == [
        ["fram", "fram drifted", "built", "drift"],
        ["pack ice closed", "pack ice held", "ship", "pack ice"],
        ["penguins", "shore", "penguins nest"],
    ]


def test_settings_of_terms():
    """Half as often as the best is not above one half; words alone; the parts of a name with it."""
    assert salient_terms(TEXTS)[0] == ["fram"]
    assert salient_terms(TEXTS, threshold=1.0) == [[], [], []]
    assert salient_terms(TEXTS, longest=1, most=2, threshold=0.3) == [
        ["fram", "drifted"],
        ["closed", "held"],
        ["penguins", "shore"],
    ]
    assert salient_terms(TEXTS, nested=True, threshold=0.3)[2] == [
        "penguins",
        "shore",
        "penguins nest",
        "nest",
    ]


def test_other_scores():
    """The printed rates fall with the length of a text; the most salient term is the same."""
    assert salient_terms(TEXTS, score="eq2") == [[], [], []]
    assert salient_terms(TEXTS, score="eq2", threshold=0.06)[0] == ["fram"]
    assert [found[0] for found in salient_terms(TEXTS, score="tfidf", threshold=0.1)] == [
        "fram",
        "pack ice",
        "penguins",
    ]


@pytest.mark.parametrize("texts", [[], [""], ["the", "of"], ["a lone text"]])
def test_texts_without_rare_terms(texts):
    """No text, no content words, or nothing to be rarer than: no terms, and no error."""
    assert salient_terms(texts) == [[] for _ in texts]


@given(st.lists(TEXT, max_size=5))
def test_the_order_of_texts_does_not_matter(texts):
    """Each text has its terms wherever it stands among the others."""
    assert salient_terms(texts[::-1], threshold=0.2) == salient_terms(texts, threshold=0.2)[::-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pack ice", ["pack", "pack ice", "ice"]),
        ("ship of ice", ["ship", "ice"]),
        ("ship, ice", ["ship", "ice"]),
        ("ship 1910 ice", ["ship", "ice"]),
        ("ship 1910-12 ice", ["ship", "ice"]),
        ("ship x ice", ["ship", "ice"]),
        ("ship\nice", ["ship", "ship ice", "ice"]),
        ("Ship\n\nice", ["ship", "ice"]),
        ("Nansen's ship", ["nansen", "nansen ship", "ship"]),
        ("B-52 pack-ice", ["b-52", "b-52 pack-ice", "pack-ice"]),
        ("北京大学", ["北京", "北京大", "北京大学", "京大", "京大学", "大学"]),
        ("北京 京大", ["北京", "北京 京大", "京大"]),
        ("Oslo市場", ["oslo", "市場"]),
        ("在 Oslo", ["oslo"]),
        ("the 1910", []),
        ("", []),
    ],
)
def test_ngrams_of_a_text(text, expected):
    """Neighbours join only across white space inside a paragraph."""
    assert salient_rates([text], threshold=-1, nested=True)[1] == expected


def test_lengths_of_terms_and_texts():
    """One word gives words, four give n-grams of four; marks and stop words count in a text."""
    text = "old wooden sealing ship"
    assert salient_rates([text], threshold=-1, longest=1)[1] == text.split()
    assert salient_rates([text], threshold=-1, longest=4)[1] == [text]
    with pytest.raises(InputError, match="the longest cannot have 0"):
        salient_rates([text], longest=0)
    rates = [
        salient_rates([text, "Snow fell"], score="eq2", threshold=0, longest=1)[0].data[0]
        for text in ("Fram drifted", "The Fram, it drifted.")
    ]
    assert rates[0] == pytest.approx(3 * rates[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sea ice. sea", ["sea", "sea ice"]),
        ("old ship fram, fram", ["old ship fram", "fram"]),
        ("pack ice, ice floe", ["pack ice", "ice", "ice floe"]),
        ("edition, old expedition", ["edition", "old expedition"]),
        ("北京大, 京大", ["北京大", "京大"]),
        ("sea sea sea sea", ["sea", "sea sea", "sea sea sea"]),
    ],
)
def test_ngrams_inside_longer_ones_go(text, expected):
    """Only whole words count as inside, and only where both stand equally often."""
    assert salient_rates([text], threshold=-1)[1] == expected


@given(st.lists(TEXT, max_size=5))
def test_terms_are_numbered_by_occurrence(texts):
    """Terms are numbered as they first stand in the texts, and have rates above the threshold."""
    rates, terms = salient_rates(texts, threshold=0.2)
    assert list(dict.fromkeys(rates.indices.tolist())) == list(range(len(terms)))
    assert (rates.data > 0.2).all()


def test_terms_as_the_text_spells_them():
    """Names have their capitals; of what cuts through a name the name is left, also in a prompt."""
    text = "Colin Archer built the Fram's\nhull. The hull was round."
    terms = ["colin archer built", "hull", "colin archer", "fram", "fram hull", "ice anchor"]
    expected = ["Colin Archer", "hull", "Colin Archer", "Fram", "Fram", "ice anchor"]
    assert spell_terms(terms, text) == expected
    [first, _] = find_hints(["Colin Archer built a hull.", "Snow fell on the quay all day."])
    assert "Colin Archer" in first
    assert not any("Archer built" in hint for hint in first)
    assert len(set(first)) == len(first)


@pytest.mark.parametrize(
    ("term", "text", "expected"),
    [
        ("pack ice", "PACK\n ICE", "PACK ICE"),
        ("ice", "Icebergs and Ice", "Ice"),
        ("ice", "Pack-Ice and ice", "Ice"),
        ("ice", "Icebergs", "ice"),
        ("grosse", "Die Große Straße", "Große"),
        ("oslo", "Große Straße in Oslo", "Oslo"),
        ("北京", "北京大学", "北京"),
        ("patron medal", "He won the Patron's  Medal.", "Patron's Medal"),
        ("women magazine", "a weekly women’s magazine", "women’s magazine"),
        ("jack hill blaxploitation", "Jack Hill's blaxploitation films", "Jack Hill"),
        ("rights women", "women's rights", "rights women"),
    ],
)
def test_spellings(term, text, expected):
    """Case, line breaks and endings do not matter; a part of a word is no occurrence."""
    assert spell_terms([term], text) == [expected]
