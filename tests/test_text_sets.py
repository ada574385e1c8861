"""Sets of texts, scored as if each set were one text."""

import numpy as np

from clew.models import Models
from clew.models.rules import RuleTagger
from clew.steps import TextSets, cover, read_query
from clew.testing import HashEmbedder, HashTokenEmbedder, models

QUERY = "Who sailed the Comet to Cape Lund?"
TEXTS = ["Mira sailed the Comet.", "The Comet sank.", "It sank off Cape Lund.", "Fog hides ice."]


class Reading(HashTokenEmbedder):
    """An embedder that keeps each batch that it read."""

    batches: list[list[str]] = []  # noqa: RUF012 -- emptied by its tests

    def embed_tokens(self, texts):
        self.batches.append(list(texts))
        return super().embed_tokens(texts)


def test_a_set_of_one_scores_as_its_text():
    """Late interaction over one text is what the reranker itself says of it."""
    given = models()
    alone = TextSets(given, QUERY).score([[text] for text in TEXTS])
    np.testing.assert_allclose(alone, given.reranker.score(QUERY, TEXTS), atol=1e-6)


def test_texts_together_say_more_in_any_order():
    """A set is the best match of each word over its texts, and the mean of their vectors."""
    sets = TextSets(models(), QUERY)
    one, other = sets.score([[TEXTS[0], TEXTS[2]], [TEXTS[2], TEXTS[0]]])
    assert abs(one - other) < 1e-6
    assert one > max(sets.score([[TEXTS[0]], [TEXTS[2]]]))


def test_each_text_is_read_once():
    """The query with the first texts, or not at all where its tokens are given."""
    given = models(Reading())
    for tokens in (None, read_query(given, QUERY).tokens):
        Reading.batches.clear()
        sets = TextSets(given, QUERY, tokens)
        first = sets.score([[TEXTS[0]], [TEXTS[0], TEXTS[1]]])
        sets.score([[TEXTS[1], TEXTS[2]], TEXTS[:3]])
        again = sets.score([[TEXTS[0]], [TEXTS[0], TEXTS[1]]])
        np.testing.assert_array_equal(first, again)
        asked = [QUERY] if tokens is None else []
        assert Reading.batches == [[*asked, *TEXTS[:2]], TEXTS[2:3]]


class Lengths:
    """Scores a text by its length, and keeps what it read."""

    name = "lengths"

    def __init__(self):
        self.read = []

    def score(self, _query, texts):
        self.read += texts
        return np.array([float(len(text)) for text in texts])


def test_other_rerankers_read_the_texts_of_a_set_as_one():
    """Joined by spaces, in their order."""
    reranker = Lengths()
    given = Models(embedder=HashEmbedder(), tagger=RuleTagger(), reranker=reranker)
    scores = TextSets(given, QUERY).score([["a", "bc"], ["def"]])
    assert reranker.read == ["a bc", "def"]
    assert scores.tolist() == [4.0, 3.0]


def test_cover_takes_what_the_chosen_lack():
    """The second text is about the other half of the query."""
    assert cover(QUERY, TEXTS, models(), 2) == [0, 2]
    assert cover(QUERY, TEXTS, models(), 9)[:2] == [0, 2]
    assert cover(QUERY, [], models(), 2) == []
