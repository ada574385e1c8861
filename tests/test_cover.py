"""The texts that together say most about a query."""

import pytest

from clew.models import Models
from clew.models.rules import RuleTagger
from clew.steps import cover
from clew.testing import HashEmbedder, models
from tests.methods.memory import SharedWords

QUERY = "Who sailed the Comet to Cape Lund?"
TEXTS = ["Mira sailed the Comet.", "The Comet sank.", "It sank off Cape Lund.", "Fog hides ice."]


@pytest.mark.parametrize("is_late", [True, False])
def test_the_second_text_says_what_the_first_lacks(is_late):
    """Whether the reranker scores sets of what it read once, or joined texts."""
    joined = Models(embedder=HashEmbedder(), tagger=RuleTagger(), reranker=SharedWords())
    given = models() if is_late else joined
    assert cover(QUERY, TEXTS, given, 2) == [0, 2]
    assert cover(QUERY, TEXTS, given, 9)[:2] == [0, 2]
    assert sorted(cover(QUERY, TEXTS, given, 9)) == [0, 1, 2, 3]
    assert cover(QUERY, [], given, 2) == []
