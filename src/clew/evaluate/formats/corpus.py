"""The documents that questions are asked of: a file of records, or a folder of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clew import readers
from clew.errors import InputError
from clew.evaluate.formats.parsed import paragraph_id
from clew.evaluate.formats.records import records, unique
from clew.types import Document

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class Corpus:
    """What `Index.add` takes, and the ids of its documents."""

    documents: Path | tuple[Document, ...]
    ids: frozenset[str]
    is_long: bool = False  # GraphRAG-Bench's


def read(path: Path) -> Corpus:
    """Return the corpus in a file or folder.

    A folder is the `corpus.jsonl` in it, or else all its readable files. GraphRAG-Bench's
    {"corpus_name", "context"} becomes a document of that id, without a title. Records of which the
    first has no id get the ids of a pool (see `parsed`), so a corpus that was published beside its
    questions has the documents that pooling them gives. Raises InputError for a record without an
    id or with one that came before, and for a corpus without documents.
    """
    if path.is_dir() and (path / "corpus.jsonl").is_file():
        path /= "corpus.jsonl"
    corpus = _read(path)
    if not corpus.ids:
        raise InputError(f"{path}: no documents")
    return corpus


def make_corpus(documents: tuple[Document, ...]) -> Corpus:
    """Return the corpus of documents that were read."""
    return Corpus(documents, frozenset(document.id for document in documents))


def is_long(values: Mapping[str, object]) -> bool:
    """Say whether a record is a document of GraphRAG-Bench."""
    return "corpus_name" in values and "context" in values and "question" not in values


def _read(path: Path) -> Corpus:
    if path.is_dir() or path.suffix.lower() not in SUFFIXES:
        if not path.exists():
            raise InputError(f"{path}: No such file or folder")
        read_ = (item for item in readers.read([path]) if isinstance(item, Document))
        return Corpus(path, frozenset(document.id for document in read_))
    first = next(records(path), None)
    if first is None:
        raise InputError(f"{path}: no documents")
    if is_long(first.values):
        long: dict[str, Document] = {}
        for record in records(path):
            name, text = record.text("corpus_name"), record.text("context")
            if name in long:
                raise record.error(f"the corpus {name!r} came before")
            long[name] = Document(id=name, text=text, source=record.place)
        return Corpus(tuple(long.values()), frozenset(long), is_long=True)
    if "id" in first.values or "_id" in first.values:
        return Corpus(path, frozenset(record.id for record in unique(records(path))))
    pool = {}
    for record in records(path):
        title, text = record.optional_text("title") or "", record.text("text")
        id_ = paragraph_id(title, text)
        pool[id_] = Document(id=id_, text=text, title=title, source=record.place)
    return make_corpus(tuple(pool.values()))
