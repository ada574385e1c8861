"""Score ranked lists that another system made for the same questions.

{"method", "question_id", "retrieved_ids"[, "answer"]}, a line for each question of each method;
other keys are ignored. What it cost is not known, and there is no context to look into. So are
HippoRAG's result files, {"id" or "_id", "retrieved": [PASSAGE, ...]} of each question: the method
has the name of the file, and a passage the id of its title and text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew.errors import InputError
from clew.extras.evaluate.datasets import Dataset, DatasetQuestion
from clew.extras.evaluate.evaluation import score_answer, score_retrieval
from clew.extras.evaluate.formats.records import Record, records
from clew.extras.evaluate.metrics import DEEPEST, distinct
from clew.extras.evaluate.report import Report
from clew.extras.evaluate.settings import Scoring, Setting
from clew.extras.evaluate.summary import Row
from clew.readers.triples import paragraph_id, split_passage


def load_peers(file: str | Path, dataset: Dataset, scoring: Scoring) -> dict[str, list[Row]]:
    """Return the rows of each method in a file, by label, in question order.

    The label is "peer: NAME", since a peer may have the name of a method of ours. Lines about
    questions that the dataset lacks are ignored and counted in the notes of the rows, where one
    also finds ids that the corpus lacks or the list repeats, and lists that are too short for a
    metric. Raises InputError for a malformed line, for two of one method and question, for a method
    that lacks some question (with the split that would fit), has answers to only some, or found no
    document of the corpus, and for a file without lines.
    """
    path = Path(file)
    lines = [_line(record, path) for record in records(path)]
    if not lines:
        raise InputError(f"{path}: no lines")
    methods: dict[str, dict[str, _Line]] = {}
    for line in lines:
        of_method = methods.setdefault(line.method, {})
        if line.question_id in of_method:
            raise line.error(f"a second line of {line.method!r} for this question")
        of_method[line.question_id] = line
    peers = [_peer(path, name, by_id, dataset) for name, by_id in methods.items()]
    return {peer.label: peer.rows(tuple(sorted(scoring.ks))) for peer in peers}


def add_peers(report: Report, peers: Mapping[str, Sequence[Row]]) -> Report:
    """Return the report with the rows of other systems added, by label.

    Raises InputError for rows of other questions, whose means could not be compared.
    """
    questions = {row.question_id for row in report.rows}
    for label, rows in peers.items():
        if {row.question_id for row in rows} != questions:
            raise InputError(
                f"{label!r} is not measured on the {len(questions)} questions of this report"
            )
    settings = (*report.settings, *map(Setting, peers))
    joined = (*report.rows, *(row for each in peers.values() for row in each))
    return replace(report, settings=settings, rows=joined)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    method: str
    question_id: str
    retrieved_ids: tuple[str, ...]  # each once
    repeats: bool  # some id came more than once
    answer: str | None  # None: the method does not answer
    error: Callable[[str], InputError]


def _line(record: Record, path: Path) -> _Line:
    if "retrieved" in record.values:  # where "answer" is the right one
        passages = record.texts("retrieved")
        ids = tuple(paragraph_id(*split_passage(passage)) for passage in passages)
        method, question, answer, listed = path.stem, record.id, None, ids
    else:
        method, question = record.text("method"), record.text("question_id")
        answer = record.values.get("answer")
        if answer is not None:
            (answer,) = record.strings([answer], "'answer'")
        listed, ids = record.value("retrieved_ids"), record.texts("retrieved_ids")
    return _Line(
        method=method,
        question_id=question,
        retrieved_ids=ids,
        repeats=isinstance(listed, list) and len(listed) > len(ids),
        answer=answer,
        error=record.error,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Peer:
    """A method with a ranked list for each question."""

    label: str
    questions: Sequence[DatasetQuestion]
    lines: Sequence[_Line]  # of these questions
    n_ignored: int
    document_ids: frozenset[str]

    def rows(self, ks: Sequence[int]) -> list[Row]:
        common: tuple[str, ...] = ()
        if self.n_ignored:
            common += (f"{self.n_ignored} lines about other questions were ignored",)
        depth = max(len(line.retrieved_ids) for line in self.lines)
        if depth < max((*ks, DEEPEST)):
            end = f"lists end at {depth} documents"
            common += (f"{end}: measures that look further are lower bounds",)
        return [
            self._row(question, line, common, ks)
            for question, line in zip(self.questions, self.lines, strict=True)
        ]

    def _row(
        self, question: DatasetQuestion, line: _Line, notes: tuple[str, ...], ks: Sequence[int]
    ) -> Row:
        scores = score_retrieval(question, line.retrieved_ids, None, ks)
        if line.answer is not None:
            scores |= score_answer(question, line.answer)
        if not self.document_ids.issuperset(line.retrieved_ids):
            notes = (*notes, "some documents found are not in the corpus")
        if line.repeats:
            notes = (*notes, "documents that the list repeats count once, where they came first")
        return Row(
            question_id=question.id,
            label=self.label,
            type=question.type,
            hops=question.hops,
            document_ids=line.retrieved_ids,
            scores=scores,
            notes=notes,
            answer=line.answer or "",
        )


def _peer(path: Path, name: str, by_id: Mapping[str, _Line], dataset: Dataset) -> _Peer:
    place = f"{path}: method {name!r}"
    missing = [question for question in dataset.questions if question.id not in by_id]
    if missing:
        splits = distinct(q.split for q in dataset.questions if q.split is not None)
        lacking = {question.split for question in missing}
        whole = " or ".join(repr(split) for split in splits if split not in lacking)
        hint = f"it has all of split {whole}" if whole else "a peer must have one for each question"
        raise InputError(
            f"{place} has no line for {len(missing)} of {len(dataset.questions)} questions, such "
            f"as {missing[0].id!r}: {hint}"
        )
    lines = [by_id[question.id] for question in dataset.questions]
    if len({line.answer is None for line in lines}) > 1:
        raise InputError(f"{place} has answers to some questions only: give all or none")
    ids = {id_ for line in lines for id_ in line.retrieved_ids}
    if ids and ids.isdisjoint(dataset.document_ids):
        raise InputError(
            f"{place} found no document of the corpus, only such as {min(ids)!r}: "
            "'retrieved_ids' takes ids of documents"
        )
    return _Peer(
        label=f"peer: {name}",
        questions=dataset.questions,
        lines=lines,
        n_ignored=len(by_id) - len(lines),
        document_ids=dataset.document_ids,
    )
