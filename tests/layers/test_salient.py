"""Salient terms of texts: which are kept, and in what order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.layers.salient import as_written, hints, salient_terms

TEXTS = [
    "The Fram drifted with the pack ice. The Fram was built to drift.",
    "Pack ice closed in, and the pack ice held the ship.",
    "Penguins nest on the shore, and there are penguins along the shore.",
]
WORDS = st.sampled_from(["sea", "ice", "fog", "ship", "the", "drift", "seal", "."])
TEXT = st.lists(WORDS, max_size=12).map(" ".join)


def test_terms_by_hand():
    """What no other text has comes first; among equals, what stands first in the text."""
    assert salient_terms(TEXTS, threshold=0.3) == [
        ["fram", "fram drifted", "built", "drift"],
        ["pack ice closed", "pack ice held", "ship", "pack ice"],
        ["penguins", "shore", "penguins nest"],
    ]


def test_a_higher_threshold_keeps_fewer():
    """Half as often as the best is not above one half."""
    assert salient_terms(TEXTS)[0] == ["fram"]
    assert salient_terms(TEXTS, threshold=1.0) == [[], [], []]


def test_longest_and_most_limit_the_terms():
    """Words alone, and no more of them than wanted."""
    assert salient_terms(TEXTS, longest=1, most=2, threshold=0.3) == [
        ["fram", "drifted"],
        ["closed", "held"],
        ["penguins", "shore"],
    ]


def test_nested_terms_stay_if_wanted():
    """The parts of a name come with it."""
    assert salient_terms(TEXTS, nested=True, threshold=0.3)[2] == [
        "penguins",
        "shore",
        "penguins nest",
        "nest",
    ]


def test_the_equation_as_printed_keeps_nothing():
    """Its rates fall with the length of a text, far below one half."""
    assert salient_terms(TEXTS, score="eq2") == [[], [], []]
    assert salient_terms(TEXTS, score="eq2", threshold=0.06)[0] == ["fram"]


def test_tfidf_prefers_the_same_words():
    """Another score, another scale: the most salient term is the same here."""
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


def test_terms_as_the_text_spells_them():
    """Names have their capitals, and of what cuts through a name the name is left."""
    text = "Colin Archer built the Fram's\nhull. The hull was round."
    terms = ["colin archer built", "hull", "colin archer", "fram", "ice anchor"]
    assert as_written(terms, text) == ["Colin Archer", "hull", "Fram", "ice anchor"]


def test_hints_are_terms_as_written():
    """A prompt is given salient terms in the spelling of its text."""
    [first, _] = hints(["Colin Archer built a hull.", "Snow fell on the quay all day."])
    assert "Colin Archer" in first
    assert not any("Archer built" in hint for hint in first)
