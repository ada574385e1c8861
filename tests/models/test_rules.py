"""The tagger that needs no model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import LABELS
from clew.models.rules import RuleTagger

PIECES = ["Fram ", "the ", "of ", "1910 ", "May ", '"', "“x y”", "北京", "مصر ", ". ", "J. ", "3 "]
TEXT = st.lists(st.text(max_size=6) | st.sampled_from(PIECES), max_size=20).map("".join)


def tagged(text):
    [mentions] = RuleTagger().tag([text])
    return [(text[m.start : m.end], m.label) for m in mentions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Fram left Oslo.", [("Fram", "NAME"), ("Oslo", "NAME")]),
        ("It sank in December 1912.", [("December 1912", "DATE")]),
        ("Amundsen's ship", [("Amundsen", "NAME")]),
        ('He read "the long night" twice.', [("the long night", "TITLE")]),
        ("看《雪国》", [("雪国", "TITLE")]),
        ("Isle of Man", [("Isle of Man", "NAME"), ("Man", "NAME")]),
        ("They saw Melville Bay in August.", [("Melville Bay", "NAME")]),
        ("From May to July the Gauss drifted.", [("Gauss", "NAME")]),
        ("It began on 05.03.26.", [("05.03.26", "DATE")]),
        ("Nine men died.", []),
        ("Unable to land, Scott went on.", [("Scott", "NAME")]),
        ("Finally the Fram sailed.", [("Fram", "NAME")]),
        (
            "Seven Samurai and Sally",
            [("Seven Samurai", "NAME"), ("Seven Samurai and Sally", "NAME"), ("Sally", "NAME")],
        ),
        ("nothing here", []),
        ("", []),
    ],
)
def test_what_is_tagged(text, expected):
    """Names, quotations, dates and terms get their labels; a name inside a date is none."""
    assert tagged(text) == expected


@given(st.lists(TEXT, max_size=3))
def test_the_contract(texts):
    """A list for each text: mentions in order, inside it, without repeats, with known labels."""
    found = RuleTagger().tag(texts)
    assert len(found) == len(texts)
    for text, mentions in zip(texts, found, strict=True):
        spans = [(m.start, m.end) for m in mentions]
        assert spans == sorted(set(spans))
        assert all(0 <= a < b <= len(text) for a, b in spans)
        assert {m.label for m in mentions} <= set(LABELS)
    assert found == [RuleTagger().tag([text])[0] for text in texts]


def test_the_name_carries_a_version():
    """An index built by other rules is told apart."""
    assert RuleTagger().name == "rules-3"
