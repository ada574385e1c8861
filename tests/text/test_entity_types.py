"""Which type a name is of, by its own words and by those around it."""

import pytest

from clew.text.entity_types import is_joined, type_in_text, type_in_title, type_of_name


@pytest.mark.parametrize(
    ("key", "type_"),
    [
        ("oslo university", "organization"),
        ("university of oslo", "organization"),
        ("acme ltd", "organization"),
        ("bay of whales", "place"),
        ("lake vann", "place"),
        ("norway", "place"),
        ("siege of bakken", "event"),
        ("second world war", "event"),
        ("dr toll", "person"),
        ("1,204", "number"),
        ("e101", "code"),
        ("v2 1", "code"),
        ("19th", ""),
        ("island", ""),
        ("mira toll", ""),
        ("leader of the labour party", ""),
        ("karluk for the arctic expedition", ""),
        ("king of norway", ""),
    ],
)
def test_types_of_names(key, type_):
    assert type_of_name(key) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("*Ada Lund* was a Norwegian explorer and writer.", "person"),
        ("*Ada Lund* (born 3 May 1902) sang.", "person"),
        ("*Ada Lund* (16 July 1872 – 18 June 1928) led it.", "person"),
        ("*Ada Lund*, born in Bakken in 1902, left.", "person"),
        ("They met *Ada Lund*, who led it.", "person"),
        ("It was directed by *Ada Lund*.", "person"),
        ("The explorer *Ada Lund* came, and went.", "person"),
        ("Bo, the son of *Ada Lund*, left.", "person"),
        ("*Verle* is a small town in the north.", "place"),
        ("He lived in the city of *Verle* then.", "place"),
        ("*The Comet* is a 1990 American drama film directed by Bo.", "work"),
        ("They sang the song *Comet* twice.", "work"),
        ("*Kite* are a rock band from Verle.", "organization"),
        ("*The Fram* was a ship.", "product"),
        # What says nothing, or something of another name.
        ("*Ada Lund* is the owner of a ship.", ""),
        ("The mother of *Verle* is a town.", ""),
        ("The editor of *The Comet* was a man.", ""),
        ("The *Kite* guitarist is a man.", ""),
        ("Ada of *Verle*, born in 1902, left.", ""),
        ("*Ada Lund* has a town house.", ""),
        ("He saw *Ada*, a newspaper owner, twice.", ""),
    ],
)
def test_types_by_sentences(text, type_):
    start, end = text.index("*"), text.rindex("*") - 1
    assert type_in_text(text.replace("*", ""), start, end) == type_


def test_titles_and_joined_names():
    assert type_in_title("Comet (2014 film)") == "work"
    assert type_in_title("Comet (disambiguation)") == ""
    assert is_joined("bo and ada")
    assert not is_joined("bay of whales")
