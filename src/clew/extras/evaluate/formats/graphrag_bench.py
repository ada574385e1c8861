"""GraphRAG-Bench: questions about a few long documents, with evidence in other words.

questions  {"id", "source", "question", "answer", "question_type", "evidence"}
corpus     {"corpus_name", "context"}: a list of them, or one (see `corpus`)

`evidence` is a list of texts, or one text in which they are joined by ";". `source` names the
document that the question is about, which the corpus must have. It is not taken for gold: each of
the benchmark's corpora has so few documents that to find the right one says little. A question
whose id came before is left out and counted, since the official novel part has such a one.
"""

from collections.abc import Iterable

from clew.extras.evaluate.formats.parsed import DatasetQuestion, Parsed
from clew.extras.evaluate.formats.records import Record
from clew.extras.evaluate.metrics import distinct


def read(records: Iterable[Record], _source: str) -> Parsed:
    """Return the questions; the corpus is a separate file."""
    questions: dict[str, DatasetQuestion] = {}
    sources: set[str] = set()
    n_repeated = 0
    for record in records:
        sources.add(record.text("source"))
        question = _question(record)
        n_repeated += question.id in questions
        questions.setdefault(question.id, question)
    return Parsed(
        format="graphrag-bench",
        questions=tuple(questions.values()),
        sources=frozenset(sources),
        left_out={"the id came before": n_repeated} if n_repeated else {},
    )


def _question(record: Record) -> DatasetQuestion:
    answer, evidence = record.optional_text("answer"), record.values.get("evidence")
    parts = evidence.split(";") if isinstance(evidence, str) else evidence
    stated = [] if evidence is None else record.strings(parts, "'evidence'")
    return DatasetQuestion(
        id=record.id,
        text=record.text("question"),
        answers=() if answer is None else (answer,),
        type=record.optional_text("question_type") or "",
        supporting_ids=(),
        evidence=distinct(part.strip() for part in stated if part.strip()),
    )
