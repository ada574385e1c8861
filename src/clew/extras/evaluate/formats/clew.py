"""Clew's own layout: a corpus and `questions.jsonl`.

corpus.jsonl     {"id", "title", "text"}, a document a line; or, where there is no such file, the
                 one folder beside the questions, whose readable files are the documents
questions.jsonl  {"id", "question", "answers", "type", "supporting_ids", "hop_count", "split",
                 "evidence", "gold_sure"}; all but the first two may be missing, and other keys are
                 ignored. Supporting ids whose "gold_sure" is false are a guess, and are left out

KET-RAG's `qa-pairs.json` has one "answer" to a question; its documents are `document.txt`, beside
it or in the folder `input`.
"""

from collections.abc import Iterable
from pathlib import Path

from clew.errors import InputError
from clew.extras.evaluate.formats.parsed import DatasetQuestion, Parsed
from clew.extras.evaluate.formats.records import Record, unique


def read(records: Iterable[Record], _source: str) -> Parsed:
    """Return the questions, which lie beside their corpus."""
    return Parsed(format="clew", questions=tuple(_question(record) for record in unique(records)))


def corpus_path(root: Path) -> Path:
    """Return the corpus of the questions in a folder. Raises InputError if it is ambiguous."""
    for name in ("corpus.jsonl", "document.txt", "input/document.txt"):
        if (root / name).is_file():
            return root / name
    folders = [p for p in root.glob("*") if p.is_dir() and not p.name.startswith((".", "_"))]
    if not folders:
        raise InputError(
            f"{root}: no documents, neither corpus.jsonl nor a folder: name them with --corpus"
        )
    if len(folders) > 1:
        number = "two" if len(folders) == 2 else str(len(folders))
        *others, last = sorted(folder.name for folder in folders)
        raise InputError(
            f"{root}: {number} folders of documents, {', '.join(others)} and {last}: "
            "name one with --corpus"
        )
    return folders[0]


def _question(record: Record) -> DatasetQuestion:
    key = "answers" if "answers" in record.values else "answer"
    is_text = key == "answer" and not isinstance(record.values.get(key), list)
    answers = (record.optional_text(key) or "",) if is_text else record.texts(key)
    return DatasetQuestion(
        id=record.id,
        text=record.text("question"),
        answers=tuple(filter(None, answers)),
        type=record.optional_text("type") or "",
        supporting_ids=_supporting_ids(record),
        hops=record.optional_count("hop_count"),
        split=record.optional_text("split"),
        evidence=record.texts("evidence"),
    )


def _supporting_ids(record: Record) -> tuple[str, ...]:
    """Return a question's supporting ids, none if they are uncertain."""
    sure = record.values.get("gold_sure", True)
    if not isinstance(sure, bool):
        raise record.error(f"'gold_sure' must be true or false, but is {sure!r}")
    ids = record.texts("supporting_ids")
    return ids if sure else ()
