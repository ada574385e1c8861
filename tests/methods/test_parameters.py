"""What parameters of methods may be: ends are allowed, and what lies beyond is named."""

import math

import pytest

from clew.errors import InputError
from clew.methods import load

_ONE_UP = {
    "agrag": "chunks facts kept states",
    "auto": "chunks",
    "bubble": "chunks anchors found hops candidates width states",
    "ket": "tokens seed_entities",
    "paths": "hops facts",
    "walk": "candidates followed",
}
_ZERO_UP = {"agrag": "passages rounds longest", "auto": "constant", "bubble": "shown depth seconds"}
_RANGES = [
    ("agrag", "passage_factor", 0, 1),
    ("agrag", "threshold", 0, 1),
    ("agrag", "synonym", 0, 1),
    ("agrag", "joint", 0, 1000),
    ("bubble", "alpha", 0, 100),
    ("bubble", "penalty", 1, 100),
    ("ket", "core_share", 0, 1),
    ("ket", "graph_share", 0, 1),
    ("walk", "onward", 0, 1),
]
_WORDS = [
    ("agrag", "costs", "released", "paper"),
    ("agrag", "rule", "released", "eq15", "mean"),
    ("agrag", "score", "eq2", "normalised", "tfidf"),
    ("agrag", "entities", "statistical", "extracted"),
    ("agrag", "order", "fused", "graph"),
    ("bubble", "semantics", "auto", "default", "and", "or", "comparison"),
    ("bubble", "order", "fused", "graph"),
    ("clue", "ranking", "sets", "chunks"),
    ("ket", "core", "pagerank", "random"),
    ("ket", "order", "walk", "cosine", "channels"),
    ("ket", "budgets", "graph", "apart", "texts"),
    ("clue", "ways", "union", "last", "separate"),
    ("ket", "rest", "walk", "keywords", "nearest", "neighbours"),
    ("hybrid", "fusion", "mean", "rrf"),
    ("paths", "reading", "words", "text"),
    ("walk", "select", "none", "llm", "reranker"),
]
_OTHERS = [
    ("agrag", {"damping": 1}, r"damping must be in \[0, 1\), not 1"),
    ("agrag", {"damping": math.nan}, r"damping must be in \[0, 1\), not nan"),
    ("agrag", {"subgraph": False, "hybrid": False}, "subgraph and hybrid are both off"),
    ("auto", {"fused": " , "}, "fused must contain at least one method, not ' , '"),
    ("auto", {"fused": "clue,auto"}, "auto cannot fuse itself"),
    ("auto", {"fused": "clue,clou"}, "there is no method 'clou'"),
    ("ket", {"k": 3}, "k must be even and at least 2, .*not 3"),
    ("ket", {"k": 0}, "k must be even and at least 2, .*not 0"),
]


def _each(bounds, least):
    return [(method, name, least) for method, names in bounds.items() for name in names.split()]


@pytest.mark.parametrize(("method", "name", "least"), _each(_ONE_UP, 1) + _each(_ZERO_UP, 0))
def test_a_least_number(method, name, least):
    """The message says which, and what was given; the least one is taken."""
    for value in (least - 1, math.nan):
        with pytest.raises(InputError, match=rf"{name} is at least {least}, not {value}"):
            load(method)(**{name: value})
    assert getattr(load(method)(**{name: least}), name) == least


@pytest.mark.parametrize(("method", "name", "least", "most"), _RANGES)
def test_two_ends(method, name, least, most):
    """Both ends are taken; nothing beyond them is."""
    for value in (least - 0.1, most + 0.1, math.inf, math.nan):
        with pytest.raises(InputError, match=f"^{name} is from {least} to {most:,}, not {value}$"):
            load(method)(**{name: value})
    for value in (least, most):
        assert getattr(load(method)(**{name: value}), name) == value


@pytest.mark.parametrize(("method", "name", "words"), [(m, n, w) for m, n, *w in _WORDS])
def test_words(method, name, words):
    """Each is taken, and the message lists them."""
    for word in words:
        assert getattr(load(method)(**{name: word}), name) == word
    listed = " or ".join(map(repr, words))
    with pytest.raises(InputError, match=f"{name} is {listed}, not 'other'"):
        load(method)(**{name: "other"})


@pytest.mark.parametrize(("method", "parameters", "message"), _OTHERS)
def test_what_makes_no_sense(method, parameters, message):
    """It is refused before anything is searched."""
    with pytest.raises(InputError, match=message):
        load(method)(**parameters)
