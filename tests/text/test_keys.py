"""Keys of names in a graph."""

import pytest

from clew.text.keys import has_key, name_key
from clew.text.normalize import entity_key


@pytest.mark.parametrize("name", ["Pourquoi-Pas?", "Shackleton’s", "北京", "C++", "1984"])
def test_a_name_with_a_letter_or_digit(name):
    """It has the key that it has as a name in a text."""
    assert name_key(name) == entity_key(name) != ""


@pytest.mark.parametrize(("name", "key"), [("$", "$"), (" !  ! ", "! !"), ("ⓧ\t", "x"), (" ", "")])
def test_a_name_of_marks(name, key):
    """It has itself for a key, without the white space around it."""
    assert name_key(name) == key


@pytest.mark.parametrize(
    ("text", "name", "stands"),
    [
        ("Colin Archer built the Fram.", "colin archer", True),
        ("Colin Archer built the Fram.", "archer", True),
        ("Colin Archer built the Fram.", "arch", False),
        ("雪龙号破冰船", "破冰船", True),
        ("雪龙号破冰船", "龙船", False),
    ],
)
def test_a_key_stands_as_whole_words(text, name, stands):
    """But anywhere in a script without capitals."""
    assert has_key(f" {entity_key(text)} ", name_key(name)) is stands
