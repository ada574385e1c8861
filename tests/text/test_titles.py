"""Which first lines are titles, and what a text is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.names import split_title
from clew.text.normalize import title_head


@pytest.mark.parametrize(
    ("text", "topic", "body"),
    [
        ("The Endurance (1912 ship)\nIt sank.", "Endurance", "It sank."),
        ("# Fram\n\nIt sank.", "Fram", "\nIt sank."),
        ("It sank.\nIt was found.", "", None),
        ("Nansen sailed with the\nice to the north.", "", None),
        ("Fram", "", None),
        ("", "", None),
        ("\nIt sank.", "", None),
        ("Fram was a ship.", "Fram", None),
        ("The Fram (1892) was a ship.", "Fram", None),
        ('"Bay of Whales" is a film.', "Bay of Whales", None),
        ("In Norway was a ship.", "", None),
        ("Fram sank.", "", None),
    ],
)
def test_the_title_is_told_from_the_text(text, topic, body):
    """A short first line is a title; without one, a text may begin with what it is about."""
    found, start = split_title(text)
    assert found == topic
    assert text[start:] == (text if body is None else body)


@given(st.sampled_from(["Fram", "Bay of Whales", "Maud (ship)"]), st.text(max_size=30))
def test_titles_that_models_read_are_found(title, text):
    """What `title_head` puts in front of a text is taken off again."""
    body = f"Later {text}"
    _, start = split_title(title_head(title, body) + body)
    assert start == len(title) + 1


@given(st.text(max_size=60))
def test_the_topic_is_of_the_text(text):
    """What a text is about stands in it, and the text begins at the title or behind it."""
    topic, start = split_title(text)
    assert topic in " ".join(text.split())
    assert start == 0 or text[start - 1] == "\n"
