"""Datasets: questions with known answers over a corpus, read from several formats.

`formats` has the formats and says what each makes of its files.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from clew.base.types import Document
from clew.errors import InputError
from clew.extras.evaluate import formats
from clew.extras.evaluate.formats.corpus import Corpus
from clew.extras.evaluate.formats.parsed import DatasetQuestion, Parsed
from clew.extras.evaluate.metrics import distinct, normalize_answer

__all__ = ["About", "Dataset", "DatasetQuestion", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Questions over a corpus, which is a file, a folder, or pooled from the questions.

    `corpus` is what `Index.add` takes.
    """

    name: str
    corpus: Path | tuple[Document, ...]
    questions: tuple[DatasetQuestion, ...]
    document_ids: frozenset[str] = field(repr=False)  # of the corpus
    format: str = "clew"  # what the files were taken for
    unknown_ids: tuple[str, ...] = ()  # supporting ids that the corpus lacks: never found
    dropped_answers: tuple[str, ...] = ()  # such as "A": nothing is left once normalised
    left_out: Mapping[str, int] = field(default_factory=dict)  # questions of the file, by reason

    @property
    def n_documents(self) -> int:
        return len(self.document_ids)

    @property
    def about(self) -> "About":
        """The description of this dataset for a report."""
        lines = (json.dumps(asdict(question), ensure_ascii=False) for question in self.questions)
        return About(
            name=self.name,
            n_questions=len(self.questions),
            n_documents=self.n_documents,
            n_without_gold=sum(not question.supporting_ids for question in self.questions),
            n_without_answers=sum(not question.answers for question in self.questions),
            unknown_ids=self.unknown_ids,
            dropped_answers=self.dropped_answers,
            digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
            format=self.format,
            left_out=self.left_out,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The description of a dataset in a report."""

    name: str
    n_questions: int
    n_documents: int
    n_without_gold: int
    n_without_answers: int
    unknown_ids: tuple[str, ...]
    dropped_answers: tuple[str, ...]
    digest: str  # of the questions and what is known of their answers, in hex
    format: str = "clew"
    left_out: Mapping[str, int] = field(default_factory=dict)


def load(
    path: str | Path,
    *,
    split: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    corpus: str | Path | None = None,
) -> Dataset:
    """Read a dataset from a file or folder: the questions of `split`, or a sample of them.

    These are the first `limit`, or a random `sample` of so many in the order of the file, which is
    part of every larger sample with the same `seed`. A pooled corpus has the paragraphs of all
    questions, wanted or not. `corpus` names another file or folder of documents to ask; what
    supports an answer keeps its ids. Raises InputError for a missing file, a malformed record (file
    and place are named), an id that occurs twice, a split that no question has, and where no
    question is left; MissingExtra for Parquet without the extra.
    """
    root, other = Path(path), None if corpus is None else Path(corpus)
    if limit is not None and sample is not None:
        raise InputError("give a limit or a sample size, not both")
    file, parsed, documents = formats.read(root, split, other)
    questions = choose_questions(parsed.questions, file, split, limit, sample, seed)
    whole = root.resolve()
    name = whole.name if whole.is_dir() else whole.stem
    if other is not None:  # which makes another dataset
        name = f"{name}-{other.resolve().stem}"
    return _dataset(name, questions, parsed, documents)


def _dataset(
    name: str, questions: Sequence[DatasetQuestion], parsed: Parsed, corpus: Corpus
) -> Dataset:
    supporting = distinct(id_ for question in questions for id_ in question.supporting_ids)
    return Dataset(
        name=name,
        corpus=corpus.documents,
        questions=tuple(
            replace(question, answers=tuple(filter(normalize_answer, question.answers)))
            for question in questions
        ),
        document_ids=corpus.ids,
        format=parsed.format,
        unknown_ids=tuple(id_ for id_ in supporting if id_ not in corpus.ids),
        dropped_answers=tuple(a for q in questions for a in q.answers if not normalize_answer(a)),
        left_out=parsed.left_out,
    )


def choose_questions(
    questions: Sequence[DatasetQuestion],
    file: Path,
    split: str | None,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> Sequence[DatasetQuestion]:
    """Return the questions of a split; a sample takes those with the lowest hashes."""
    if not questions:
        raise InputError(f"{file}: no questions")
    candidates = [question for question in questions if split in (None, question.split)]
    if not candidates:
        have = ", ".join(sorted({q.split for q in questions if q.split is not None}))
        raise InputError(f"{file}: no question of split {split!r}, only of {have or 'no split'}")
    for name, size in (("limit", limit), ("sample", sample)):
        if size is not None and size < 1:
            raise InputError(f"the {name} of questions must be at least 1, but is {size}")
    if sample is None:
        return candidates[:limit]

    def hash_of(question: DatasetQuestion) -> bytes:
        return hashlib.sha256(f"{seed} {question.id}".encode()).digest()

    drawn = {question.id for question in sorted(candidates, key=hash_of)[:sample]}
    return [question for question in candidates if question.id in drawn]
