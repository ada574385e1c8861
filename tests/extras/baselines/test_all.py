"""What holds of all baselines: bounds of their parameters, and searches in large layers."""

import pytest

from clew.algo import sketches
from clew.methods import load
from clew.testing import QUESTIONS, built, models, small_documents
from tests.methods import test_parameters as parameters

ONE_UP = {
    "e2graphrag": "hops",
    "hipporag2": "facts phrases",
    "ircot": "passages thoughts",
    "lightrag": "top_k",
    "linearrag": "levels sentences",
}
RANGES = [
    ("hipporag", "synonym", 0.8, 1),
    ("hipporag2", "synonym", 0.8, 1),
    ("linearrag", "threshold", 0, 1),
]
WORDS = [
    ("ircot", "search", ["lexical", "dense", "hybrid"]),
    ("lightrag", "mode", ["hybrid", "local", "global", "mix"]),
]


def test_parameters():
    for method, names in ONE_UP.items():
        for name in names.split():
            parameters.test_a_least_number(method, name, 1)
    for method, name, least, most in RANGES:
        parameters.test_two_ends(method, name, least, most)
    for method, name, words in WORDS:
        parameters.test_words(method, name, words)


@pytest.mark.parametrize(
    "name", ["e2graphrag", "hipporag", "hipporag2", "lightrag", "linearrag", "raptor_extractive"]
)
def test_layers_of_many_rows_are_searched_by_sketches(name, monkeypatch):
    """Here all rows are among the likeliest, so what is found is the same."""
    with built(small_documents(), triples=True) as few:
        found = [load(name)().retrieve(question, few, models()) for question in QUESTIONS]
    monkeypatch.setattr(sketches, "EXACT_UP_TO", 0)
    with built(small_documents(), triples=True) as many:
        again = [load(name)().retrieve(question, many, models()) for question in QUESTIONS]
    for one, other in zip(found, again, strict=True):  # cosines of sketched rows have six digits
        scores, others = ({hit.document_id: hit.score for hit in e.hits} for e in (one, other))
        assert others == pytest.approx(scores, abs=1e-5)
