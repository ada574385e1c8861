"""Read the corpus of a dataset: a file of records, or a folder of files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clew import readers
from clew.base.types import Document
from clew.errors import InputError
from clew.extras.evaluate.formats.parsed import Paragraph, join_sentences, pool_paragraphs
from clew.extras.evaluate.formats.records import Record, records, unique
from clew.readers.triples import split_passage

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sources for `Index.add`, and the ids of their documents."""

    documents: Path | tuple[Document, ...]
    ids: frozenset[str]
    is_long: bool = False  # GraphRAG-Bench's


def read(path: Path) -> Corpus:
    """Return the corpus in a file or folder.

    A folder is the `corpus.jsonl` in it, or else all its readable files. GraphRAG-Bench's
    {"corpus_name", "context"} becomes a document of that id, without a title. Records of which the
    first has no id, and the one object {title: [sentence, ...]} that HippoRAG has of HotpotQA, get
    the ids of a pool (see `parsed`), so a corpus that was published beside its questions has the
    documents that pooling them gives; so do the passages of HippoRAG's results of OpenIE. Raises
    InputError for a record without an id or with one that came before, and for a corpus without
    documents.
    """
    if path.is_dir() and (path / "corpus.jsonl").is_file():
        path /= "corpus.jsonl"
    corpus = _read(path)
    if not corpus.ids:
        raise InputError(f"{path}: no documents")
    return corpus


def make_corpus(documents: tuple[Document, ...]) -> Corpus:
    """Return the corpus of documents already read."""
    return Corpus(documents, frozenset(document.id for document in documents))


def is_long(values: Mapping[str, object]) -> bool:
    """Check whether a record is a GraphRAG-Bench document."""
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
    return make_corpus(pool_paragraphs([list(_read_paragraphs(path, first))], str(path)))


def _read_paragraphs(path: Path, first: Record) -> Iterator[Paragraph]:
    """Yield the paragraphs of a corpus without ids."""
    if isinstance(docs := first.values.get("docs"), list):
        passages = (str(each.get("passage") or "") for each in docs if isinstance(each, dict))
        yield from (Paragraph(*split_passage(each), supporting=False) for each in passages)
        return
    if all(isinstance(value, list) for value in first.values.values()):
        for title, sentences in first.values.items():
            text = join_sentences(first.strings(sentences, repr(title)))
            yield Paragraph(title, text, supporting=False)
        return
    for record in records(path):
        title = record.optional_text("title") or ""
        yield Paragraph(title, record.text("text"), supporting=False)
