"""Score what another system found for the questions of a dataset, from its file of results.

A record is about one question, in one of three forms; other keys are ignored:

    HippoRAG 2   {"question", "docs": [PASSAGE, ...], "answer"}, its `QuerySolution.to_dict()`
    HippoRAG     {"id" or "_id", "retrieved": [PASSAGE, ...], "prediction"}, with IRCoT or without
    any system   {"method", "question_id", "retrieved_ids": [ID, ...], "answer"}

Answers may be missing. A passage, whose first line is its title, or [TITLE, TEXT], or {"title",
"text"}, has the id that pooling gives it. The method has the name of the file, unless it is said.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from clew.errors import InputError
from clew.extras.evaluate.datasets import Dataset
from clew.extras.evaluate.evaluation import score_answer, score_retrieval
from clew.extras.evaluate.formats.records import Record, records
from clew.extras.evaluate.metrics import DEEPEST, distinct
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.settings import Setting
from clew.extras.evaluate.summary import Row
from clew.readers.triples import paragraph_id, split_passage
from clew.text.normalize import collapse

_ANSWERS = {"docs": "answer", "retrieved": "prediction", "retrieved_ids": "answer"}  # by ranking

Results = dict[str, tuple[list[str], str | None]]  # ids of documents as ranked, and an answer, by
# the id of the question


def read_published(
    files: Sequence[Path], dataset: Dataset, ks: Sequence[int]
) -> dict[str, list[Row]]:
    """Return the rows of each method in the files, by label, in the order of the questions.

    The label is "peer: NAME", since a method of ours may have that name. The cost of these methods
    is not known, and there is no context to look into. If a method answers at all, a missing answer
    is wrong. Notes of the rows count results about other questions, which are ignored, and say
    where a list is too short for a metric, repeats an id or has one that the corpus lacks. Raises
    InputError for a malformed result, for two of one method and question, for a method that lacks
    some question or found no document of the corpus, and for a file without results.
    """
    rows: dict[str, list[Row]] = {}
    for file in files:
        found = _read_file(file, dataset)
        if not found:
            raise InputError(f"{file}: no results")
        for name, results in found.items():
            label, place = f"peer: {name}", f"{file}: method {name!r}"
            if label in rows:
                raise InputError(f"{place} is in an earlier file too: rename one of them")
            _check(place, results, dataset)
            rows[label] = _score(label, results, dataset, ks)
    return rows


def add_published(report: Report, published: Mapping[str, Sequence[Row]]) -> Report:
    """Return the report with the rows of other systems, given by label."""
    settings = (*report.settings, *map(Setting, published))
    joined = (*report.rows, *(row for rows in published.values() for row in rows))
    return replace(report, settings=settings, rows=joined)


def _read_file(file: Path, dataset: Dataset) -> dict[str, Results]:
    """Return the results of each method; those for no question have their place for its id."""
    asked = {question.id: [question.id] for question in dataset.questions}
    for question in reversed(dataset.questions):  # those in the same words come in order
        asked.setdefault(collapse(question.text), [""]).insert(0, question.id)
    found: dict[str, Results] = {}
    for record in _read_records(file):
        key = next((key for key in _ANSWERS if key in record.values), "retrieved_ids")
        own = key == "retrieved_ids"
        name = record.text("method") if own else file.stem
        values = record.value(key)
        if isinstance(values, list) and not own:
            values = [_passage_id(record, each) for each in values]
        result = record.strings(values, repr(key)), record.optional_text(_ANSWERS[key])
        id_ = _find_question(record, asked) or record.place
        if found.setdefault(name, {}).setdefault(id_, result) is not result:
            raise record.error(f"a second result of {name!r} for this question")
    return found


def _read_records(file: Path) -> Iterator[Record]:
    """Yield the records of a file; of one object without a ranking, those in its only list."""
    for record in records(file):
        values = record.values.values()
        lists = [v for v in values if isinstance(v, list) and v and isinstance(v[0], dict)]
        if len(lists) != 1 or _ANSWERS.keys() & record.values.keys():
            yield record
        else:
            yield from (Record(f"{file}, record {n}", each) for n, each in enumerate(lists[0], 1))


def _find_question(record: Record, asked: Mapping[str, list[str]]) -> str:
    """Return the id of a record's question by its id or, as in HippoRAG 2, its words; else ""."""
    own = next((key for key in ("question_id", "id", "_id") if key in record.values), None)
    key = collapse(record.text("question")) if own is None else record.text(own)
    ids = asked.get(key, [""])
    return ids.pop(0) if len(ids) > 1 else ids[0]


def _passage_id(record: Record, passage: object) -> str:
    if isinstance(passage, str):
        return paragraph_id(*split_passage(passage))
    pair = [passage.get(k) for k in ("title", "text")] if isinstance(passage, dict) else passage
    return paragraph_id(*(*record.strings(pair, "a passage"), "", "")[:2])


def _check(place: str, results: Results, dataset: Dataset) -> None:
    """Raise InputError for a method whose means could not be compared."""
    missing = [question.id for question in dataset.questions if question.id not in results]
    if missing:
        raise InputError(
            f"{place} has no result for {len(missing)} of {len(dataset.questions)} questions, "
            f"such as {missing[0]!r}: ask only those that it has, with --split or --limit"
        )
    ids = {id_ for listed, _ in results.values() for id_ in listed}
    if ids and ids.isdisjoint(dataset.document_ids):
        raise InputError(
            f"{place} found no document of the corpus, only such as {min(ids)!r}: "
            "give ids of documents, or passages with title and text as the corpus has them"
        )


def _score(label: str, results: Results, dataset: Dataset, ks: Sequence[int]) -> list[Row]:
    """Return a row for each question."""
    n_ignored = len(results) - len(dataset.questions)
    other = f"{n_ignored} results were ignored: no question is left for them"
    depth = max(len(distinct(listed)) for listed, _ in results.values())
    short = f"lists end at {depth} documents: measures that look further are lower bounds"
    common = {other: n_ignored > 0, short: depth < max((*ks, DEEPEST))}
    answers = any(answer for _, answer in results.values())
    rows = []
    for question in dataset.questions:
        listed, answer = results[question.id]
        ranked = distinct(listed)
        scores = score_retrieval(question, ranked, None, sorted(ks))
        notes = common | {
            "some documents found are not in the corpus": not dataset.document_ids >= set(ranked),
            "documents that the list repeats count once": len(ranked) < len(listed),
        }
        row = Row(
            question_id=question.id,
            label=label,
            type=question.type,
            hops=question.hops,
            document_ids=ranked,
            scores=scores | (score_answer(question, answer or "") if answers else {}),
            notes=tuple(note for note, holds in notes.items() if holds),
            answer=answer or "",
        )
        rows.append(row)
    return rows
