"""Keys of labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.normalize import label_key


@pytest.mark.parametrize(
    "spelling",
    ["Sea ice", "sea  ICE", '"Sea ice".', "sea-ice", "Sea_Ice", "**sea ice**", "\tsea ice\n"],
)
def test_spellings_of_one_label(spelling):
    """Case, white space, joints and marks around a label do not matter."""
    assert label_key(spelling) == "sea ice"


def test_labels_that_differ_by_a_sign():
    """Signs that say something stay."""
    labels = ["C", "C++", "C#", "+1", "-1", "1", "+", "-", "...", "?!"]
    assert len({label_key(label) for label in labels}) == len(labels)


@given(st.text())
def test_a_key_is_its_own(text):
    """A key is a fixed point, and only white space has an empty one."""
    assert label_key(label_key(text)) == label_key(text)
    assert bool(label_key(text)) == bool(text.strip())
