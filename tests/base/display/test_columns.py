"""Texts in the columns of a terminal, of which some characters take two."""

import textwrap

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clew.base.display.columns import align, shorten, wrap

WORDS = st.sampled_from(["ice", "Larvik-on-Sea", "探", "南极探险", "🧊", "x" * 30, "e\u0301", "ｆ"])
TEXTS = st.lists(WORDS).map(" ".join)


@given(TEXTS, st.integers(2, 40))
def test_no_line_is_wider_and_nothing_is_lost(text, width):
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["ice", "Larvik-on-Sea", "a", "Nansen,"]), min_size=1))
def test_words_of_letters_are_wrapped_as_python_does(words):
    """Where each character takes a column and each word a line at most."""
    text = " ".join(words)
    assert wrap(text, 20) == textwrap.wrap(text, 20, break_on_hyphens=False)


def test_wide_characters_take_two_columns():
    """Chinese has no spaces between words: a line of it is not left half empty."""
    assert wrap("Fram: 弗拉姆号探险船", 10) == ["Fram: 弗拉", "姆号探险船"]
    rows = [("船", "1"), ("ship", "10")]
    assert align(rows) == ["船     1", "ship  10"]
    assert align(rows, left=2) == ["船    1 ", "ship  10"]
    assert align([]) == []


@given(TEXTS, st.integers(6, 40))
def test_what_is_shortened_fits(text, width):
    found = shorten(text, width, " …")
    assert cell_len(found) <= width
    assert text.startswith(found.removesuffix(" …"))
    assert found.endswith(" …")
