"""An index of 32 bits finds for each paper's preset what float32 vectors in memory find."""

import numpy as np
import pytest

from benchmarks.exact import PRESETS, first_chunks, in_memory, indexed
from clew.index.recipe import PAPERS
from clew.testing import QUESTIONS, models, small_documents


@pytest.fixture(scope="module")
def snapshots():
    with (
        indexed(small_documents(), models(), PAPERS) as stored,
        in_memory(small_documents(), models()) as oracle,
    ):
        yield stored, oracle


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_first_chunks(snapshots, preset):
    stored, oracle = (first_chunks(preset, QUESTIONS, each, models()) for each in snapshots)
    assert any(stored)
    assert stored == oracle


@pytest.mark.parametrize("layer", ["chunk", "subchunk", "unit", "entity", "triple"])
def test_the_same_vectors(snapshots, layer):
    """Nothing of a number is lost on the way to disk and back."""
    stored, oracle = (each.layer(layer).vectors for each in snapshots)
    assert isinstance(oracle, np.ndarray)
    assert len(stored)
    np.testing.assert_array_equal(stored[:], oracle)
