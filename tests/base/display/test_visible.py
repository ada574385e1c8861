"""Characters that nobody sees, as escapes."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.display.visible import (
    drop_hidden,
    escape_unseen,
    has_hidden,
    restore_unseen,
    visible,
)

HIDDEN = [
    "\x00", "\x1b", "\x7f", "\x9b", "\u00ad", "\u034f", "\u061c", "\u115f", "\u200b", "\u200c",
    "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069",
    "\u3164", "\ufe0f", "\ufeff", "\ufff9", "\ufffe", "\ud800", "\U000e0001", "\U000e0041",
    "\U000e007f", "\U000e0101",
]  # fmt: skip
NEEDED = [
    "می‌خواهم",  # Persian: without a joiner between two letters
    "क्‍ष र्‌य র‍্য ශ්‍රී",  # Devanagari, Bengali, Sinhala: behind or before a virama
    "👩🏽\u200d❤\ufe0f\u200d👨 👩\u200d🚀 ☺\ufe0f 1\ufe0f\u20e3 #\ufe0f\u20e3",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # Scotland
    "葛\U000e0100城",  # a form of a Han character
    "Larvik, 東京, שלום, e\u0301, 🧶\n\tand a line",
]
ANY = st.text(st.characters(max_codepoint=sys.maxunicode) | st.sampled_from("".join(HIDDEN)))


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_what_nobody_sees_is_shown(hidden):
    """Between letters of a script that needs no such thing, and twice in a row."""
    shown = f"<U+{ord(hidden):04X}>"
    assert visible(f"Fr{hidden}am{hidden}{hidden}") == f"Fr{shown}am{shown}{shown}"
    assert has_hidden(f"Fr{hidden}am")
    assert drop_hidden(f"Fr{hidden}am") == "Fram"


@pytest.mark.parametrize("text", NEEDED)
def test_scripts_and_emoji_stay_readable(text):
    assert escape_unseen(text) == text
    assert drop_hidden(text) == text
    assert not has_hidden(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("م\u200c\u200cم", "م<U+200C><U+200C>م"),
        ("😀\ufe0f\ufe0f", "😀\ufe0f<U+FE0F>"),
        ("\U0001f3f4\U000e0068\U000e007f", "\U0001f3f4<U+E0068><U+E007F>"),
        ("a\u200d😀", "a<U+200D>😀"),
        ("1\ufe0f2", "1<U+FE0F>2"),
        ("\u200dक्", "<U+200D>क्"),
    ],
)
def test_only_one_beside_what_needs_it_stays(text, shown):
    """A run of them may hide a message, and one in another place has no meaning."""
    assert visible(text) == shown


def test_lines_and_escapes_of_others_stay():
    assert visible("a\n\tb\r") == "a<U+000A><U+0009>b<U+000D>"
    assert escape_unseen("a\n\tb\r") == "a\n\tb\r"
    for text in ("<U+0041>", "<U+00200B>", "<U+FFFFFF>", "<U+200b>"):
        assert restore_unseen(text) == text


@given(ANY)
def test_shown_twice_is_shown_once(text):
    shown = visible(text)
    assert visible(shown) == shown
    assert not has_hidden(shown)
    assert not any(unicodedata.category(c) in {"Cc", "Cs"} for c in shown)


@given(ANY | st.lists(st.sampled_from(["<U+200B>", "<", "\u200b", "U+003C>", "x"])).map("".join))
def test_escapes_are_taken_back(text):
    assert restore_unseen(escape_unseen(text)) == text
