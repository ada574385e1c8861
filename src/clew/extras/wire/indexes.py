"""A server's replies about an index, its documents and its entities.

Offsets count characters as Python does: code points, not UTF-16 units.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clew.base.types import Apparatus, Figure, Heading, Scalar, Usage, Value, VocabularyEntry

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Generic[T]):
    """A page of a list, and the length of the whole list."""

    items: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLine:
    """An index in a list."""

    name: str
    title: str  # what people call it, "" where that is its name
    n_documents: int
    n_chunks: int
    is_own: bool  # made here, so that it may be deleted here
    problem: str  # why it cannot be read, "" where it can


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """A field of the documents' metadata, with its first values."""

    name: str
    n_documents: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """The contents of an index; None hides a value from callers who see only a part of it."""

    name: str
    n_documents: int
    n_chunks: int
    layers: Mapping[str, int]
    links: Mapping[str, int]
    recipe: Mapping[str, Scalar]
    fields: tuple[FieldView, ...]
    generation: int | None = None
    size_bytes: int | None = None
    wasted: float | None = None
    extraction: Mapping[str, Any] | None = None
    cost: Mapping[str, Any] | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """What one write of an index cost."""

    kind: str
    before: int  # the generation before it
    generation: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLine:
    """A document in a list."""

    id: str
    title: str
    metadata: Mapping[str, Value]
    n_chunks: int
    n_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlace:
    """A chunk, as a range of its document's text."""

    id: str
    start: int
    end: int
    n_tokens: int
    section: str
    page: int | None
    last_page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """A document with its text, headings, pages and chunks."""

    id: str
    title: str
    source: str
    metadata: Mapping[str, Value]
    text: str
    body_start: int
    headings: tuple[Heading, ...]
    pages: tuple[int, ...]
    apparatus: tuple[Apparatus, ...]
    figures: tuple[Figure, ...]
    chunks: tuple[ChunkPlace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLine:
    """An entity in a list."""

    id: str
    name: str
    type: str
    n_texts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityText:
    """A sentence or unit that mentions an entity, and its first position."""

    id: str
    text: str
    document_id: str
    title: str
    start: int
    end: int
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NearEntity:
    """An entity that occurs in the same texts as another one."""

    id: str
    name: str
    n_texts: int  # in which both stand


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTriple:
    """A triple of an entity."""

    id: str
    subject: str
    relation: str
    object: str
    validity: tuple[str, ...] = ()  # when it holds, where the texts say so
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityView:
    """An entity with its texts, neighbours and triples."""

    id: str
    name: str
    type: str
    entry: VocabularyEntry  # what was said of it by hand or by a list
    linkable: bool
    title_of: tuple[str, ...]
    descriptions: tuple[str, ...]
    triples: tuple[StatedTriple, ...]
    neighbours: tuple[NearEntity, ...]
    texts: Listed[EntityText]


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyView:
    """The manual edits and vocabulary entries of entities, by key."""

    entries: Mapping[str, VocabularyEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedAlias:
    """Two names that may be aliases."""

    name: str
    into: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView:
    """The merged names by key, and possible aliases."""

    merged: Mapping[str, str]
    names: Mapping[str, str]  # the keys of `merged` as they are first written
    proposed: tuple[ProposedAlias, ...]
