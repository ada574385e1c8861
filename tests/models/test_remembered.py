"""A search embeds its query once."""

from dataclasses import dataclass, field

import numpy as np

from clew.models import gives_tokens
from clew.models.bound import bind_models
from clew.models.run import start_question_run
from clew.testing import HashEmbedder, HashTokenEmbedder, models


@dataclass(frozen=True)
class Counted(HashEmbedder):
    read: list = field(default_factory=list)

    def embed(self, texts, *, kind):
        self.read.append((*texts, kind))
        return super().embed(texts, kind=kind)


@dataclass(frozen=True)
class CountedTokens(HashTokenEmbedder):
    read: list = field(default_factory=list)

    def embed_tokens(self, texts):
        self.read.append(tuple(texts))
        return super().embed_tokens(texts)


def test_a_lone_text_is_embedded_once():
    """By its kind, and its tokens too; texts that come together are passed on."""
    inner = Counted()
    embedder = bind_models(models(inner), start_question_run()).embedder
    for kind in ("query", "query", "document"):
        assert np.array_equal(embedder.embed(["Fram"], kind=kind), inner.embed(["Fram"], kind=kind))
    inner.read.clear()
    embedder.embed(["Fram"], kind="query")
    assert embedder.embed(["Fram", "Quest"], kind="query").shape == (2, inner.dimension)
    assert inner.read == [("Fram", "Quest", "query")]
    assert (embedder.name, embedder.dimension) == (inner.name, inner.dimension)
    assert not gives_tokens(embedder)
    inner = CountedTokens()
    embedder = bind_models(models(inner), start_question_run()).embedder
    assert gives_tokens(embedder)
    first, second = embedder.embed_tokens(["Fram"]), embedder.embed_tokens(["Fram"])
    assert first[0] is second[0]
    assert len(embedder.embed_tokens(["Fram", "Quest"])) == 2
    assert inner.read == [("Fram",), ("Fram", "Quest")]
