"""Text classification datasets in the layout of AGRAG's WOS and IFS-Rel: texts with labels.

FOLDER/.../n1/train.txt     rounds n1, n2, ..., whose labels are different ones; a line is a label,
FOLDER/.../n1/test.txt      a tab and a text, in which further tabs are blanks
FOLDER/NAME_train.json      JSON lines of {"doc_token": a text, "doc_label": [a field, its part]},
FOLDER/NAME_test.json       of which the part is the label

An underscore in a label is a blank. Texts to index are those of `train`, those to classify `test`.
Labels with equal keys are one, as the first text spells it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from clew.base.types import Document
from clew.errors import InputError
from clew.extras.evaluate.formats.parsed import DatasetQuestion, Parsed
from clew.extras.evaluate.formats.records import records
from clew.text.normalize import collapse, label_key

FORMAT = "labels"


def read(root: Path) -> Parsed | None:
    """Read a folder of labelled texts as questions answered by labels; None for another folder.

    Raises InputError for a line without a label or a text.
    """
    train, test = (list(_read_split(root, split)) for split in ("train", "test"))
    if not (train and test):
        return None
    names: dict[str, str] = {}  # by their keys
    pool = [
        replace(
            each, metadata={"label": names.setdefault(label_key(label_of(each)), label_of(each))}
        )
        for each in train
    ]
    questions = (
        DatasetQuestion(
            id=each.id, text=each.text, answers=(label_of(each),), type=FORMAT, supporting_ids=()
        )
        for each in test
    )
    return Parsed(format=FORMAT, questions=tuple(questions), pool=tuple(pool))


def label_of(text: Document) -> str:
    """Return the label of a text of such a data set."""
    return str(text.metadata["label"])


def _read_split(root: Path, split: str) -> Iterator[Document]:
    """Yield the texts of a split over all rounds; none if the folder has another layout.

    A file is read whole, if its name ends with the split.
    """
    for file in sorted(root.rglob(f"*{split}.*"), key=_key):
        if file.is_file() and (file.stem == split or file.stem.endswith(f"_{split}")):
            for number, label, text in _read_file(file):
                yield Document(
                    id=f"{file.relative_to(root).with_suffix('').as_posix()}:{number}",
                    text=text,
                    metadata={"label": collapse(label.replace("_", " "))},
                    source=str(file),
                )


def _key(file: Path) -> list[tuple[str, int]]:
    """Return a natural sort key: n2 precedes n10."""
    pieces = re.findall(r"(\D*)(\d*)", str(file))
    return [(letters, int(digits or 0)) for letters, digits in pieces]


def _read_file(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line number, label and text of each line; nothing if the file has another layout."""
    if file.suffix == ".txt":
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
        if "\t" not in next(filter(str.strip, lines), ""):
            return
        for number, line in enumerate(lines, 1):
            label, *texts = line.split("\t")
            text = " ".join(texts).strip()
            if line.strip() and not (label.strip() and text):
                raise InputError(f"{file}: line {number}: no label, tab and text")
            if text:
                yield number, label, text
    elif file.suffix in {".json", ".jsonl"}:
        for number, record in enumerate(records(file), 1):
            if "doc_token" not in record.values:
                return
            labels = record.texts("doc_label")
            if not labels:
                raise record.error("'doc_label' must hold a label")
            yield number, labels[-1], record.text("doc_token")
