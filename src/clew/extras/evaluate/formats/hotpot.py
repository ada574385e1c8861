"""HotpotQA and 2WikiMultiHopQA: each question has ten paragraphs, titled lists of sentences.

{"_id", "question", "answer", "type", "supporting_facts": [[title, sentence], ...],
 "context": [[title, [sentence, ...]], ...]}; in 2Wiki also "evidences".

Hugging Face has {"id", ..., "supporting_facts": {"title": [...], "sent_id": [...]},
"context": {"title": [...], "sentences": [[...], ...]}}, or these two as JSON in a text. Answers and
supporting facts may be missing, as in the test sets. The documents that a question needs are those
of its own context whose titles are in its supporting facts; such a title that its context lacks is
kept as the id of a document that no corpus has. There are as many hops as titles.
"""

import json
from collections.abc import Iterable, Sequence

from clew.extras.evaluate.formats.parsed import (
    DatasetQuestion,
    Paragraph,
    Parsed,
    join_sentences,
    pool_paragraphs,
    supporting,
)
from clew.extras.evaluate.formats.records import Record, unique
from clew.extras.evaluate.metrics import distinct

_TWO_WIKI_TYPES = ("compositional", "inference", "bridge_comparison")


def read(records: Iterable[Record], source: str) -> Parsed:
    """Return the questions, and the corpus pooled from their paragraphs."""
    questions, contexts, n_two_wiki = [], [], 0
    for record in unique(records):
        titles = _supporting_titles(record)
        context = _context(record, titles)
        lost = set(titles) - {paragraph.title for paragraph in context}
        gold = (*supporting(context), *(title for title in titles if title in lost))
        values = record.values
        n_two_wiki += "evidences" in values or values.get("type") in _TWO_WIKI_TYPES
        contexts.append(context)
        answer = record.optional_text("answer")
        questions.append(
            DatasetQuestion(
                id=record.id,
                text=record.text("question"),
                answers=() if answer is None else (answer,),
                type=record.optional_text("type") or "",
                supporting_ids=gold,
                hops=len(titles) or None,
            )
        )
    return Parsed(
        format="2wiki" if n_two_wiki else "hotpotqa",
        questions=tuple(questions),
        pool=pool_paragraphs(contexts, source),
    )


def _supporting_titles(record: Record) -> tuple[str, ...]:
    """Return the distinct titles of the supporting facts."""
    facts = _parse_value(record, "supporting_facts", record.values.get("supporting_facts"))
    if facts is None:
        return ()
    if isinstance(facts, dict):
        return distinct(record.strings(facts.get("title"), "the titles of 'supporting_facts'"))
    pairs = _pairs(record, facts, "supporting_facts", "[title, sentence]")
    return distinct(record.strings([title for title, _ in pairs], "'supporting_facts'"))


def _context(record: Record, gold: Sequence[str]) -> list[Paragraph]:
    value = _parse_value(record, "context", record.value("context"))
    if isinstance(value, dict):
        titles = record.strings(value.get("title"), "the titles of 'context'")
        texts = value.get("sentences")
        if not isinstance(texts, list) or len(texts) != len(titles):
            raise record.error("'context' must have as many lists of sentences as titles")
    else:
        pairs = _pairs(record, value, "context", "[title, [sentence, ...]]")
        titles = record.strings([title for title, _ in pairs], "the titles of 'context'")
        texts = [sentences for _, sentences in pairs]
    paragraphs = []
    for title, given in zip(titles, texts, strict=True):
        text = join_sentences(record.strings(given, f"{title!r} in 'context'"))
        paragraphs.append(Paragraph(title, text, title in gold))
    return paragraphs


def _parse_value(record: Record, key: str, value: object) -> object:
    """Return the value of a key, decoded if it is a string of JSON."""
    if not isinstance(value, str):
        return value
    try:
        parsed: object = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise record.error(f"{key!r} is a text that is not JSON: {error}") from error
    return parsed


def _pairs(record: Record, value: object, key: str, form: str) -> list[tuple[object, object]]:
    if not isinstance(value, list):
        raise record.error(f"{key!r} must be a list of {form}, but is {type(value).__name__}")
    for each in value:
        if not isinstance(each, list) or len(each) != 2:
            raise record.error(f"{key!r} must contain {form}, but has {each!r:.100}")
    return [(first, second) for first, second in value]
