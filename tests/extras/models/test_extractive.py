"""Extractive readers: a tiny ONNX model that this test makes, and what cannot be loaded."""

import struct
import sys

import pytest

from clew.errors import MissingExtra, ModelError
from clew.extras.models.extractive import ExtractiveReader

WORDS = ["[CLS]", "[SEP]", "[UNK]", *"who built the fram was by colin archer in larvik .".split()]


def field(number, value):
    """Return a field of a protocol buffer: a number, or bytes."""
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(value):
    head, rest = value & 127, value >> 7
    return bytes([head | 128]) + varint(rest) if rest else bytes([head])


def named(name, kind):
    """Return what ONNX calls a ValueInfo: a name, and a table of any size."""
    dimensions = b"".join(field(1, field(2, each)) for each in ("rows", "tokens"))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dimensions)))


def onnx(outputs):
    """Return a model that looks up two numbers for each token, from `outputs` by name."""
    nodes = b""
    for name, numbers in outputs.items():
        table = struct.pack(f"<{len(numbers)}f", *numbers)
        tensor = field(1, len(numbers)) + field(2, 1) + field(8, f"{name} table") + field(9, table)
        node = field(1, f"{name} table") + field(1, "input_ids") + field(2, name)
        nodes += field(1, node + field(4, "Gather")) + field(5, tensor)
    nodes += field(2, "lookup") + field(11, named("input_ids", 7))
    nodes += b"".join(field(12, named(name, 1)) for name in outputs)
    return field(1, 8) + field(8, field(2, 13)) + field(7, nodes)


def likes(*words):
    return [8.0 if word in words else 0.0 for word in WORDS]


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("onnxruntime")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tables = {"end_logits": likes("archer"), "start_logits": likes("colin")}
    (tmp_path / "model.onnx").write_bytes(onnx(tables))
    return tmp_path


def test_the_likeliest_range_of_all_texts_is_read(folder):
    """It begins where the model says, also in a text of many windows, and not in the question."""
    long = "The Fram. " * 400 + "She was built by Colin Archer in Larvik."
    texts = ["The Fram was in Larvik.", long, ""]
    reader = ExtractiveReader(str(folder))
    found = reader.read("Who built the Fram, Colin Archer " + "the " * 100, texts)
    assert texts[found.text][found.start : found.end] == "Colin Archer"
    assert found.text == 1
    assert 0.5 < found.probability < 1
    unlikely = reader.read("Who?", texts[:1])
    assert unlikely.probability < 0.2
    assert reader.read("Who?", ["", " "]) is None


def test_no_answer_has_the_score_of_the_first_token(folder):
    tables = {"start_logits": likes("colin", "[CLS]"), "end_logits": likes("archer", "[CLS]")}
    (folder / "model.onnx").write_bytes(onnx(tables))
    found = ExtractiveReader(str(folder)).read("Who?", ["Built by Colin Archer."])
    assert found.probability == pytest.approx(0.5, abs=0.01)


def test_what_a_folder_lacks_is_said(folder):
    (folder / "model.onnx").write_bytes(onnx({"states": likes("colin")}))
    with pytest.raises(ModelError, match="export it for question answering"):
        ExtractiveReader(str(folder)).read("Who?", ["Colin Archer"])
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        ExtractiveReader(str(folder)).read("Who?", ["Colin Archer"])


def test_a_model_of_the_hub_needs_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match="sentence-transformers"):
        ExtractiveReader("some/model").read("Who?", ["Colin Archer"])
