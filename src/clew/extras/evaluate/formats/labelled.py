"""Text classification datasets in the layout of AGRAG's WOS and IFS-Rel: texts with labels.

FOLDER/.../n1/train.txt     rounds n1, n2, ..., whose labels are different ones; a line is a label,
FOLDER/.../n1/test.txt      a tab and a text, in which further tabs are blanks
FOLDER/NAME_train.json      JSON lines of {"doc_token": a text, "doc_label": [a field, its part]},
FOLDER/NAME_test.json       of which the part is the label

An underscore in a label is a blank. Texts to index are those of `train`, those to classify `test`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from clew.base.types import Document
from clew.errors import InputError
from clew.extras.evaluate.formats.records import records


def read_labelled(path: Path, split: str) -> tuple[Document, ...]:
    """Return the texts of one split over all rounds; none if the path has another layout.

    Each has its label in its metadata. A file is read whole, if its name ends with the split.
    Raises InputError for a line without a label or a text.
    """
    files = sorted(path.rglob(f"*{split}.*"), key=_key) if path.is_dir() else [path]
    root = path if path.is_dir() else path.parent
    return tuple(
        Document(
            id=f"{file.relative_to(root).with_suffix('').as_posix()}:{number}",
            text=text,
            metadata={"label": label.replace("_", " ").strip()},
            source=str(file),
        )
        for file in files
        if file.is_file() and (file.stem == split or file.stem.endswith(f"_{split}"))
        for number, label, text in _read_file(file)
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
