"""Parsed datasets: questions, and a corpus pooled from their contexts."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from clew.base.types import Document
from clew.extras.evaluate.metrics import distinct
from clew.readers.triples import paragraph_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """A question with its gold answers and evidence."""

    id: str
    text: str
    answers: tuple[str, ...]  # any of them is right; empty: not measured on answers
    type: str
    supporting_ids: tuple[str, ...]  # documents; empty: not measured on retrieval
    hops: int | None = None
    split: str | None = None
    evidence: tuple[str, ...] = ()  # what a full context says, in other words; empty: not measured

    @property
    def digest(self) -> str:
        """A hash of the question and what is known of its answer, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The questions of a file, and the corpus if it is pooled from them."""

    format: str
    questions: tuple[DatasetQuestion, ...]
    pool: tuple[Document, ...] | None = None  # None: the corpus has a file or folder of its own
    sources: frozenset[str] = frozenset()  # ids of the documents that questions are about
    left_out: Mapping[str, int] = field(default_factory=dict)  # questions, by the reason


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a question's context."""

    title: str
    text: str
    supporting: bool  # a full answer to this question needs it

    @property
    def id(self) -> str:
        """Return the document id, or the title for a paragraph without words."""
        return paragraph_id(self.title, self.text) if self.has_words else self.title

    @property
    def has_words(self) -> bool:
        return any(character.isalnum() for character in self.text)


def join_sentences(sentences: Sequence[str]) -> str:
    """Join the sentences of a paragraph.

    HotpotQA's sentences begin with the blank before them, 2Wiki's do not.
    """
    has_blanks = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if has_blanks else " ").join(sentences).strip()


def pool_paragraphs(contexts: Iterable[Sequence[Paragraph]], source: str) -> tuple[Document, ...]:
    """Return a document for each distinct (title, text) with words, in first-seen order.

    So the papers build their corpora. Two texts under one title are two documents, and the id of
    each stays the same whichever questions are added or removed, in every data set that has it.
    """
    paragraphs = {(each.title, each.text): each for context in contexts for each in context}
    pool: dict[str, Document] = {}
    for (title, text), paragraph in paragraphs.items():
        if paragraph.has_words:
            id_ = paragraph.id
            pool.setdefault(id_, Document(id=id_, text=text, title=title, source=source))
    return tuple(pool.values())


def supporting(context: Sequence[Paragraph]) -> tuple[str, ...]:
    """Return the distinct ids of the supporting documents."""
    return distinct(paragraph.id for paragraph in context if paragraph.supporting)
