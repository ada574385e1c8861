"""What nobody sees parts no word, and places are those of the text as it stands."""

import pytest

from clew.models.rules import RuleTagger
from clew.text.analyze import term_spans, terms
from clew.text.keys import name_key
from clew.text.normalize import entity_key
from clew.text.unseen import blank_codes, drop_and_place, drop_unseen

WORDS = [
    ("co\u00adop\u00aderative", "cooperative"),
    ("zero\u200bwidth", "zerowidth"),
    ("\ufeffLarvik", "larvik"),
    ("har\u2060bour", "harbour"),
    ("\x1b[1mstarted\x1b[0m", "started"),
    ("\x1b[38;5;208mwarning\x1b[m", "warning"),
    ("\x1b]8;;http://a.example\x1b\\link", "link"),
    ("\u202bשלום\u202c", "שלום"),
]


@pytest.mark.parametrize(("written", "term"), WORDS)
def test_a_word_is_found_by_what_is_seen_of_it(written, term):
    """Its place has all of it."""
    text = f"The {written} is red."
    assert terms(text) == [term, "red"]
    [(_, start, end), _] = term_spans(text)
    assert drop_unseen(text[start:end]).casefold() == term
    assert text[end:].lstrip("\x1b[0m\u202c") == " is red."


@pytest.mark.parametrize(
    "text", ["می\u200cخواهم", "क्\u200dष", "ภาษา\u200bไทย", "plain words"]
)  # fmt: skip
def test_what_a_script_needs_stays(text):
    """Joiners of letters, and what parts words where no space does."""
    assert drop_unseen(text) == text
    assert drop_and_place(text)[0] == text


def test_names_are_one_however_they_are_divided():
    """Mentions have the places of the text."""
    text = "It was built by Ma\u00adrit Sol\u00adheim. In \x1b[1mLarvik\x1b[0m, too."
    found = [text[m.start : m.end] for m in RuleTagger().tag([text])[0]]
    assert found == ["Ma\u00adrit Sol\u00adheim", "Larvik"]
    assert entity_key(found[0]) == name_key("Marit Solheim") == "marit solheim"


def test_places_lead_back():
    """For each character that stays, and the end."""
    text = "a\u00adb\x1b[0mc\u200b"
    seen, places = drop_and_place(text)
    assert seen == "abc"
    assert [text[place] for place in places[:-1]] == list(seen)
    assert places[-1] == len(text)


def test_models_read_spaces_for_colour_codes():
    """As many, so that places of words stay."""
    text = "The \x1b[1mpump\x1b[0m started."
    assert blank_codes(text) == "The     pump     started."
