"""Every embedder that needs no download keeps the contract for embedders."""

from importlib.util import find_spec

import pytest

from clew.models.cache import CachedEmbedder
from clew.testing import EmbedderContract, HashEmbedder, HashTokenEmbedder


class TestHash(EmbedderContract):
    @pytest.fixture(params=[1, 7, 64])
    def embedder(self, request):
        return HashEmbedder(request.param)


class TestHashTokens(EmbedderContract):
    @pytest.fixture(params=[1, 64])
    def embedder(self, request):
        return HashTokenEmbedder(request.param)


class TestCached(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path):
        return CachedEmbedder(HashEmbedder(), tmp_path / "cache.sqlite")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ctranslate2"), reason="the extra [models] is missing")
class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        from clew.models.minilm import MiniLM

        return MiniLM()
