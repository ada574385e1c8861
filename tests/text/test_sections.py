"""The section and the page of a character."""

from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Heading
from clew.text.sections import SEPARATOR, format_head, page_at, page_range, section_at

HEADINGS = st.lists(
    st.builds(Heading, st.integers(0, 40), st.integers(1, 6), st.sampled_from("ABCDEFGH")),
    max_size=12,
).map(lambda found: sorted(found, key=lambda heading: heading.start))


def by_reading(headings, place):
    """Read the document from its start, and keep the headings that are open."""
    path = []
    for heading in headings:
        if heading.start <= place:
            path = [above for above in path if above.level < heading.level]
            path.append(heading)
    return SEPARATOR.join(heading.title for heading in path)


@given(HEADINGS, st.integers(0, 50))
def test_a_section_is_what_is_open_when_one_reads_there(headings, place):
    """Walking back from a place finds what reading up to it has."""
    assert section_at(headings, place) == by_reading(headings, place)


def test_the_title_is_no_section():
    """A heading that repeats the title of the document is left out; a long one is cut."""
    headings = [
        Heading(0, 1, "Fram"),
        Heading(10, 2, "Voyages  of\nice"),
        Heading(20, 3, "x" * 101),
    ]
    assert section_at(headings, 5, "Fram") == ""
    assert section_at(headings, 15, "Fram") == "Voyages of ice"
    assert section_at(headings, 25, "Fram") == f"Voyages of ice > {'x' * 99}…"


def test_pages_and_heads():
    """A page begins where the one before ends; above a passage stands what there is."""
    assert [page_at((0, 10, 10, 30), place) for place in (0, 9, 10, 29, 30, 99)] == [
        1, 1, 3, 3, 4, 4,
    ]  # fmt: skip
    assert page_at((), 5) is None
    assert page_range(None, None) == ""
    assert page_range(3, 3) == "p. 3"
    assert format_head("Fram", "Ice > Drift", 3, 4) == "Fram > Ice > Drift, pp. 3-4"
    assert format_head("", "Ice", None, None) == "Ice"
    assert format_head("Fram", "", None, None) == "Fram"
    assert format_head("", "", 3, None) == "p. 3"
