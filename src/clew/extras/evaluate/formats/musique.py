"""MuSiQue: each question has twenty paragraphs, some flagged as supporting.

{"id": "2hop__...", "question", "answer", "answer_aliases", "answerable",
 "paragraphs": [{"title", "paragraph_text" or "text", "is_supporting"}, ...]}

The id says how many hops there are, and in which shape ("3hop1"), which is the type. Answers and
flags may be missing, as in the test set. MuSiQue-Full asks each question twice under one id, once
without a paragraph that it needs: questions that are not `answerable` are left out and counted, and
their paragraphs are not pooled, so that it gives the same data set as MuSiQue-Ans.
"""

import re
from collections.abc import Iterable, Iterator

from clew.extras.evaluate.formats.parsed import (
    DatasetQuestion,
    Paragraph,
    Parsed,
    pool_paragraphs,
    supporting,
)
from clew.extras.evaluate.formats.records import Record, unique
from clew.extras.evaluate.metrics import distinct

_SHAPE = re.compile(r"(([0-9]+)hop[0-9]*)__")


def read(records: Iterable[Record], source: str) -> Parsed:
    """Return the answerable questions, and the corpus pooled from their paragraphs."""
    questions, contexts = [], []
    n_unanswerable = 0

    def answerable() -> Iterator[Record]:
        nonlocal n_unanswerable
        for record in records:
            if record.values.get("answerable") is False:
                n_unanswerable += 1
            else:
                yield record

    for record in unique(answerable()):
        context = _context(record)
        contexts.append(context)
        questions.append(_question(record, supporting(context)))
    return Parsed(
        format="musique",
        questions=tuple(questions),
        pool=pool_paragraphs(contexts, source),
        left_out={"not answerable": n_unanswerable} if n_unanswerable else {},
    )


def _question(record: Record, gold: tuple[str, ...]) -> DatasetQuestion:
    shape = _SHAPE.match(record.id)
    answer = record.optional_text("answer")
    aliases = record.strings(record.values.get("answer_aliases") or [], "'answer_aliases'")
    return DatasetQuestion(
        id=record.id,
        text=record.text("question"),
        answers=distinct(text for text in (answer, *aliases) if text and text.strip()),
        type=shape[1] if shape else "",
        supporting_ids=gold,
        hops=int(shape[2]) if shape else None,
    )


def _context(record: Record) -> list[Paragraph]:
    values = record.value("paragraphs")
    if not isinstance(values, list):
        raise record.error(f"'paragraphs' must be a list, but is {type(values).__name__}")
    return [_paragraph(record, value, number) for number, value in enumerate(values, 1)]


def _paragraph(record: Record, value: object, number: int) -> Paragraph:
    name = f"paragraph {number}"
    if not isinstance(value, dict):
        raise record.error(f"{name} must be a JSON object, but is {type(value).__name__}")
    flag = value.get("is_supporting")
    if flag not in (True, False, None):
        raise record.error(f"'is_supporting' of {name} must be true or false, but is {flag!r}")
    given = value.get("paragraph_text", value.get("text"))
    title, text = record.strings([value.get("title"), given], name)
    return Paragraph(title, text, bool(flag))
