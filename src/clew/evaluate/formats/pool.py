"""A corpus pooled from the contexts of all questions, as the papers build it.

It has each distinct (title, text) once, in order of first occurrence, so two texts under one title
are two documents. A document's id is a digest of its title and text: it stays the same whichever
questions are added or removed, in whatever order they stand, and in every data set that has the
paragraph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.evaluate.metrics import distinct
from clew.types import Document


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of one question's context."""

    title: str
    text: str
    supporting: bool  # a full answer to this question needs it

    @property
    def id(self) -> str:
        """The id of its document; a paragraph without words gives none, and goes by its title."""
        return paragraph_id(self.title, self.text) if self.has_words else self.title

    @property
    def has_words(self) -> bool:
        return any(character.isalnum() for character in self.text)


def paragraph_id(title: str, text: str) -> str:
    """Return 16 hexadecimal digits for a title and a text, whatever blanks stand around them."""
    return hashlib.sha256(json.dumps([title.strip(), text.strip()]).encode()).hexdigest()[:16]


def pool_paragraphs(contexts: Iterable[Sequence[Paragraph]], source: str) -> tuple[Document, ...]:
    """Return a document for each distinct paragraph that has words."""
    paragraphs = {(each.title, each.text): each for context in contexts for each in context}
    pool: dict[str, Document] = {}
    for (title, text), paragraph in paragraphs.items():
        if paragraph.has_words:
            id_ = paragraph.id
            pool.setdefault(id_, Document(id=id_, text=text, title=title, source=source))
    return tuple(pool.values())


def supporting(context: Sequence[Paragraph]) -> tuple[str, ...]:
    """Return the ids of what a full answer needs, each once."""
    return distinct(paragraph.id for paragraph in context if paragraph.supporting)
