"""Data sets for classification in the layouts of AGRAG's authors."""

import json

import pytest

from clew.errors import InputError
from clew.extras.evaluate.formats.labelled import read_labelled


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
    assert shown(read_labelled(rounds, "train")) == [
        ("split/n2/train:1", "atrial fibrillation", "AF is a burden."),
        ("split/n2/train:3", "crohn's disease", "A gut."),
        ("split/n10/train:1", "label 3", "Third  text"),
    ]
    assert [label for _, label, _ in shown(read_labelled(rounds, "test"))] == [
        "lymphoma",
        "label 3",
    ]
    alone = rounds / "split" / "n10" / "test.txt"
    assert shown(read_labelled(alone, "test")) == [("test:1", "label 3", "New")]
    assert read_labelled(alone, "train") == ()


def test_json_lines_have_the_finer_label(tmp_path):
    records = [{"doc_token": "An electric machine.", "doc_label": ["ECE", "Machine design"]}]
    for split in ("train", "test"):
        lines = "\n".join(map(json.dumps, records))
        (tmp_path / f"wos_{split}.json").write_text(lines, encoding="utf-8")
    found = shown(read_labelled(tmp_path, "test"))
    assert found == [("wos_test:1", "Machine design", "An electric machine.")]


def test_other_files_are_no_such_data_set(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "b"}', encoding="utf-8")
    (tmp_path / "test.jsonl").write_text('{"id": "a", "text": "b", "label": "c"}', encoding="utf-8")
    assert read_labelled(tmp_path, "test") == ()
    assert read_labelled(tmp_path / "test.jsonl", "test") == ()
    assert (
        read_labelled(tmp_path / "gone", "test")
        == read_labelled(tmp_path / "test.txt", "test")
        == ()
    )
    (tmp_path / "test.txt").write_text("A plain text.\nOf two\tlines.", encoding="utf-8")
    assert read_labelled(tmp_path, "test") == ()


@pytest.mark.parametrize("line", ["a text without a tab", "label\t  ", "\ttext"])
def test_a_line_without_a_label_or_a_text_is_named(tmp_path, line):
    file = tmp_path / "test.txt"
    file.write_text(f"label\ttext\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"test.txt: line 2: no label, tab and text"):
        read_labelled(tmp_path, "test")
