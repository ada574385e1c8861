"""Data sets for classification in the layouts of AGRAG's authors."""

import json

import pytest

from clew.errors import InputError
from clew.extras.evaluate.formats import labelled


@pytest.fixture
def rounds(tmp_path):
    """Two labels in round 2, one in round 10."""
    for name, train, test in [
        ("n10", "label 3\tThird  text\n", "label 3\tNew\n"),
        (
            "n2",
            "atrial_fibrillation\tAF is\ta burden.\n\ncrohn's_disease\tA gut.\n",
            "lymphoma\tB.",
        ),
    ]:
        folder = tmp_path / "wos" / "split" / name
        folder.mkdir(parents=True)
        (folder / "train.txt").write_text(train, encoding="utf-8")
        (folder / "test.txt").write_text(test, encoding="utf-8")
        (folder / "dev.txt").write_text("x\ty", encoding="utf-8")
    return tmp_path / "wos"


def shown(documents):
    return [(each.id, each.metadata["label"], each.text) for each in documents]


def test_rounds_are_read_in_their_order(rounds):
    found = labelled.read(rounds)
    assert shown(found.pool) == [
        ("split/n2/train:1", "atrial fibrillation", "AF is a burden."),
        ("split/n2/train:3", "crohn's disease", "A gut."),
        ("split/n10/train:1", "label 3", "Third  text"),
    ]
    asked = [(each.id, each.answers, each.text) for each in found.questions]
    assert asked == [
        ("split/n2/test:1", ("lymphoma",), "B."),
        ("split/n10/test:1", ("label 3",), "New"),
    ]
    assert labelled.read(rounds / "split" / "n10").pool[0].id == "train:1"
    (rounds / "split" / "n2" / "test.txt").unlink()
    (rounds / "split" / "n10" / "test.txt").unlink()
    assert labelled.read(rounds) is None


def test_json_lines_have_the_finer_label(tmp_path):
    records = [{"doc_token": "An electric machine.", "doc_label": ["ECE", "Machine design"]}]
    for split in ("train", "test"):
        lines = "\n".join(map(json.dumps, records))
        (tmp_path / f"wos_{split}.json").write_text(lines, encoding="utf-8")
    found = labelled.read(tmp_path)
    assert shown(found.pool) == [("wos_train:1", "Machine design", "An electric machine.")]
    assert found.questions[0].answers == ("Machine design",)


def test_other_files_are_no_such_data_set(tmp_path):
    """Questions and a corpus, and plain texts, are read as what they are."""
    for split in ("train", "test"):
        for suffix in ("jsonl", "txt"):
            file = tmp_path / f"{split}.{suffix}"
            text = (
                '{"id": "a", "text": "b", "label": "c"}' if suffix == "jsonl" else "A text.\nTwo."
            )
            file.write_text(text, encoding="utf-8")
    assert labelled.read(tmp_path) is None
    assert labelled.read(tmp_path / "gone") is None


@pytest.mark.parametrize("line", ["a text without a tab", "label\t  ", "\ttext"])
def test_a_line_without_a_label_or_a_text_is_named(tmp_path, line):
    file = tmp_path / "test.txt"
    file.write_text(f"label\ttext\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"test.txt: line 2: no label, tab and text"):
        labelled.read(tmp_path)
