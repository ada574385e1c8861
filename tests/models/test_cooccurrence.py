"""Triples of entities that share a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models.cooccurrence import FALLBACK, LONGEST_RELATION, MOST_PAIRS, PRONOUNS, Cooccurrence
from clew.models.rules import RuleTagger
from clew.text.normalize import collapse, entity_key

PIECES = ["Fram ", "It ", "His ", "The ship ", "was a ship ", "of ", "in 1910 ", "Oslo", ". ", "\n"]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=25).map("".join)


def said(text):
    [extraction] = Cooccurrence(RuleTagger()).extract([text])
    return [(t.subject, t.relation, t.object) for t in extraction.triples]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nansen designed the Fram.", [("Nansen", "designed the", "Fram")]),
        ("Nansen met Scott in 1901.",
         [("Nansen", "met", "Scott"), ("Nansen", "met Scott in", "1901")]),
        ("In 1901, Nansen met Scott.",
         [("Nansen", FALLBACK, "1901"), ("Nansen", "met", "Scott")]),
        ("Nansen met Scott. Amundsen left.", [("Nansen", "met", "Scott")]),
        ("Nansen: Scott", [("Nansen", FALLBACK, "Scott")]),
        ("Nansen saw long before anyone else that even Scott failed.",
         [("Nansen", FALLBACK, "Scott")]),
        ("The Fram and Fram's sister", []),
        ("Bay of Whales is on Ross Ice Shelf.",
         [("Bay of Whales", "is on", "Ross Ice Shelf")]),
        ("Nansen and Scott in Oslo",
         [("Nansen", "and", "Scott"), ("Nansen", "and Scott in", "Oslo")]),
        ("nothing here", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_shares_a_sentence(text, expected):
    """The first entity is joined to the others by the words between, if they are few."""
    assert said(text) == expected


def test_dates_are_objects_only():
    """A date is no subject, wherever it stands; ends have the types of the tagger's labels."""
    assert said("On 3 May 1901 and in 1902, Nansen wrote.") == [
        ("Nansen", FALLBACK, "3 May 1901"),
        ("Nansen", FALLBACK, "1902"),
    ]
    assert said("From 3 May 1901 to June 1902.") == []
    [extraction] = Cooccurrence(RuleTagger()).extract(['Nansen wrote "the long night" in 1911.'])
    types = {entity.name: entity.type for entity in extraction.entities}
    assert types == {"Nansen": "other", "the long night": "work", "1911": "date"}


@pytest.mark.parametrize(
    ("sentence", "relation"),
    [
        ("It left Oslo.", "left"),
        ("Its captain lived in Oslo.", "captain lived in"),
        ("The ship left Oslo.", "left"),
        ("This ship left Oslo.", "left"),
    ],
)
def test_a_stand_in_is_the_title(sentence, relation):
    """A pronoun at the start, or a noun of the first sentence, stands for what the title names."""
    text = f"The Fram (1892 ship)\nFram was a ship. {sentence}"
    assert said(text) == [("Fram", relation, "Oslo")]


@pytest.mark.parametrize("sentence", ["The captain left Oslo.", "The ship of Oslo left."])
def test_other_nouns_are_not_the_title(sentence):
    """A noun that the text did not begin with, or that goes on with "of", stands for itself."""
    assert said(f"The Fram\nFram was a ship. {sentence}") == []


def test_a_table_does_not_explode():
    """The pairs of a sentence are at most linear in its entities."""
    names = "; ".join(f"{chr(65 + i % 26)}{chr(97 + i // 26)}x" for i in range(60))
    assert len(said(names)) <= MOST_PAIRS


@given(st.lists(TEXT, max_size=3))
def test_ends_are_of_the_text(texts):
    """No end is empty or a pronoun, each is in its text, and texts do not mix."""
    extractor = Cooccurrence(RuleTagger())
    extractions = extractor.extract(texts)
    assert extractions == [extractor.extract([text])[0] for text in texts]
    for text, extraction in zip(texts, extractions, strict=True):
        for triple in extraction.triples:
            keys = entity_key(triple.subject), entity_key(triple.object)
            assert all(keys)
            assert keys[0] != keys[1]
            assert triple.subject in collapse(text)
            assert triple.object in collapse(text)
            assert not {triple.subject.lower(), triple.object.lower()} & PRONOUNS
            assert triple.relation == FALLBACK or 0 < len(triple.relation.split()) <= (
                LONGEST_RELATION
            )
