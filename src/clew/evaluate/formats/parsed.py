"""What a format makes of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clew.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """A question with what is known of its answer."""

    id: str
    text: str
    answers: tuple[str, ...]  # any of them is right; empty: not measured on answers
    type: str
    supporting_ids: tuple[str, ...]  # documents; empty: not measured on retrieval
    hops: int | None = None
    split: str | None = None
    evidence: tuple[str, ...] = ()  # what a full context says, in other words; empty: not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The questions of a file, and the corpus where it is pooled from them."""

    format: str
    questions: tuple[DatasetQuestion, ...]
    pool: tuple[Document, ...] | None = None  # None: the corpus has a file or folder of its own
    sources: frozenset[str] = frozenset()  # ids of the documents that questions are about
    left_out: Mapping[str, int] = field(default_factory=dict)  # questions, by the reason
