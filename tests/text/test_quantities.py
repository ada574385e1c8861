"""How many there are of something."""

import pytest

from clew.text.quantities import format_count


@pytest.mark.parametrize(
    ("n", "what", "words"),
    [(1, "triple", "1 triple"), (0, "entity", "0 entities"), (1, "entity", "1 entity")],
)
def test_one_is_not_many(n, what, words):
    """What is counted is named in the singular or the plural."""
    assert format_count(n, what) == words
    assert format_count(1_000 + n, "chunk") == f"{1_000 + n:,} chunks"
