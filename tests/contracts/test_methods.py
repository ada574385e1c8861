"""Every method of `clew.methods`, and every embedder without a download, keeps its contract."""

import json
import shutil
from contextlib import closing, contextmanager
from importlib.util import find_spec
from itertools import count

import pytest

from clew import methods
from clew.api import open_index
from clew.index.generation import open_snapshot
from clew.index.recipe import Settings
from clew.index.store.embedded import EmbeddedStore
from clew.models.cache import CachedEmbedder
from clew.testing import (
    EmbedderContract,
    HashEmbedder,
    HashTokenEmbedder,
    MethodContract,
    models,
    small_documents,
)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """Return what gives the folder of indexed documents, which are indexed once for all methods."""
    kept = {}

    def folder_of(documents, triples):
        key = (*(document.id for document in documents), triples)
        if key not in kept:
            kept[key] = tmp_path_factory.mktemp("indexed") / "index"
            settings = Settings(unit_bits=8, token_bits=8)
            with open_index(kept[key], models=models(), settings=settings) as index:
                index.add(documents, triples=triples)
        return kept[key]

    return folder_of


NEED_AN_LLM = ("graphrag_global", "ircot", "raptor")


class TestMethods(MethodContract):
    @pytest.fixture(params=[n for n in methods.names() if n not in NEED_AN_LLM])
    def method(self, request):
        return methods.load(request.param)()

    @pytest.fixture(autouse=True)
    def _folders(self, indexed, tmp_path):
        self.indexed = indexed
        self.copies = (tmp_path / str(number) for number in count())

    @contextmanager
    def _index(self, method, documents):
        """Open a copy, so that no method finds what an earlier one has cached."""
        triples = "cooccurrence" if "triple" in method.layers else None
        copy = shutil.copytree(self.indexed(documents, triples), next(self.copies))
        with EmbeddedStore.open(copy) as store:
            snapshot = open_snapshot(store)
        with closing(snapshot):
            yield snapshot

    def test_a_question_of_nothing_is_no_accident(self, method):
        with self._index(method, small_documents()) as snapshot:
            for question in ("", " ", "of the", "?!", "\n\n", "$question"):
                first, second = (method.retrieve(question, snapshot, models()) for _ in range(2))
                assert first == second
                json.dumps(first.to_dict(), allow_nan=False)


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
