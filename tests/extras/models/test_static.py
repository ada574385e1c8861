import json

import numpy as np
import pytest

from clew.errors import InputError, MissingExtra
from clew.extras.models.packaged import StaticEmbedder
from clew.testing import EmbedderContract

VECTORS = np.array([[0, 0, 0], [3, 0, 0], [0, 4, 0], [1, 1, 1]], dtype=np.float32)
WORDS = {"[UNK]": 0, "red": 1, "blue": 2, "green": 3}


@pytest.fixture
def folder(tmp_path):
    """Make the smallest model: four words, three dimensions."""
    pytest.importorskip("model2vec")
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_file({"embeddings": VECTORS}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"normalize": True}))
    return tmp_path


def test_a_text_is_the_mean_of_its_words_at_length_one(folder):
    """Two words of different strength give the direction between them, and so does a long text."""
    rows = StaticEmbedder(folder).embed(["red", "red blue", "red xyzzy"], kind="document")
    expected = [[1, 0, 0], [0.6, 0.8, 0], [1, 0, 0]]
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert rows.dtype == np.float32
    (row,) = StaticEmbedder(folder).embed(["red " * 2000 + "blue " * 2000], kind="document")
    np.testing.assert_allclose(row, [0.6, 0.8, 0], atol=1e-6)


@pytest.mark.parametrize("text", ["", "xyzzy", " \n"])
def test_a_text_without_known_words_still_has_a_direction(folder, text):
    """No vector is zero or NaN, so similarities stay finite."""
    row = StaticEmbedder(folder).embed([text], kind="query")[0]
    np.testing.assert_allclose(row, np.full(3, 3**-0.5), atol=1e-6)


class TestStatic(EmbedderContract):
    texts = ("red green", "blue", "", "green green blue", "red green")
    tolerance = 0

    @pytest.fixture
    def embedder(self, folder):
        return StaticEmbedder(str(folder))


def test_the_name_follows_the_weights(folder):
    """A model that was trained again has another name, in the same folder."""
    from safetensors.numpy import save_file

    before = StaticEmbedder(folder).name
    assert before == StaticEmbedder(folder).name
    save_file({"embeddings": VECTORS * 2}, folder / "model.safetensors")
    assert StaticEmbedder(folder).name != before


def test_a_folder_without_a_model_is_named(tmp_path):
    """A wrong path is no reason to look on the hub."""
    with pytest.raises(InputError, match=r"has no model.safetensors"):
        StaticEmbedder(tmp_path).embed(["a"], kind="query")


def test_a_missing_package_says_what_to_install(tmp_path, monkeypatch):
    """The extra is named in the error."""
    monkeypatch.setitem(__import__("sys").modules, "model2vec", None)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(MissingExtra, match=r"pip install 'clew\[static\]'"):
        StaticEmbedder(tmp_path).embed(["a"], kind="query")
