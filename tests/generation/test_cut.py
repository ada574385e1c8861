"""Chunks are cut out of documents whose places and lines stay."""

from hypothesis import given
from hypothesis import strategies as st

from clew.generation.cut import mask_outside


@given(
    st.text(alphabet="ab \n\r", max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=3),
)
def test_places_and_lines_stay(text, pairs):
    """What is in a range stays as it is; of all else only the line breaks do."""
    ranges = sorted([min(each), min(max(each), len(text))] for each in pairs)
    ranges = [[start, end] for start, end in ranges if start <= end]
    masked = mask_outside(text, ranges)
    for start, end in ranges:
        assert masked[start:end] == text[start:end]
    inside = {place for start, end in ranges for place in range(start, end)}
    for place, (kept, was) in enumerate(zip(masked, text, strict=False)):
        assert kept == (was if place in inside or was in "\r\n" else " ")
