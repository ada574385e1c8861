"""Results about an index: its themes, differences between two states, cost estimates, exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clew.base.display.shown import Shown
from clew.base.types import Scalar, Step


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ThemeRelation(Shown):
    """A relation between two entities of a theme."""

    subject: str
    relation: str  # "" where they only stand in the same sentences
    object: str
    count: int  # of the theme's passages that have it, or of its sentences with both


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Theme(Shown):
    """A group of related passages: a topic of the index."""

    id: str
    name: str  # its most telling entities and terms
    level: int  # 0 for the widest
    parent: str  # id, "" at the top
    children: tuple[str, ...]  # ids, the largest first
    n_documents: int
    n_chunks: int
    n_sentences: int
    documents: tuple[str, ...]  # ids, those with most of its passages first
    entities: tuple[str, ...]  # names, the most telling first
    terms: tuple[str, ...]
    sentences: tuple[Step, ...]  # that represent it together
    relations: tuple[ThemeRelation, ...] = ()  # the strongest first
    since: str = ""  # the earliest and the latest date of its documents, where they have some
    until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IndexState(Shown):
    """One of the two states of an index that are compared."""

    index: str  # its folder, or its address without a password
    generation: int
    written: str = ""  # when, ISO 8601 in UTC; "" where it was not noted
    where: str = ""  # the filter of the documents that are compared
    n_documents: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentChange(Shown):
    """A document that was added, removed, renamed or changed."""

    id: str
    title: str
    change: str  # "came", "went", "changed" or "renamed"
    former_id: str = ""  # of one that was renamed
    n_came: int = 0  # sentences
    n_went: int = 0
    came: tuple[Step, ...] = ()  # these sentences, of one that is changed
    went: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueChange(Shown):
    """Two sentences that give different values for the same fact."""

    before: Step
    after: Step
    was: str  # the number, date or name
    now: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EntityChange(Shown):
    """An entity, and how many sentences that mention it were added or removed."""

    id: str
    name: str
    change: str  # "came" or "went": nothing else has it; else "changed"
    n_came: int  # sentences that mention it
    n_went: int
    documents: tuple[str, ...]  # ids


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Changes(Shown):
    """The differences between two states of an index."""

    before: IndexState
    after: IndexState
    documents: tuple[DocumentChange, ...]  # by id
    values: tuple[ValueChange, ...]
    entities: tuple[EntityChange, ...]  # those of most sentences that came or went first
    n_documents: int  # of which there are at most as many above as were asked for
    n_values: int
    n_entities: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CostEstimate(Shown):
    """The estimated cost of one setting."""

    setting: str
    options: Mapping[str, Scalar]  # what `Index.add`, or a job, is told for it
    methods: tuple[str, ...]  # that read what it gives
    n_chunks: int
    n_known: int  # chunks of these that the ledger has: they cost nothing
    calls: int
    prompt_tokens: int
    completion_tokens: int  # estimated
    repair_tokens: int  # of replies that will have to be asked for again: estimated
    cost_usd: float | None  # None: the price is not known
    seconds: float | None  # None: no call of this model was recorded yet
    unpacked_prompt_tokens: int  # if every chunk had a prompt of its own

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens + self.repair_tokens


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EmbeddingEstimate(Shown):
    """The estimated cost of embedding chunks, sub-chunks, sentences and names."""

    model: str
    n_texts: int
    n_known: int  # texts of these that cost nothing: they came before, or stand there twice
    tokens: int  # of the others, counted by `cl100k_base`
    cost_usd: float | None  # None: the price is not known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Plan(Shown):
    """The estimated costs of each setting, for one corpus and one model."""

    model: str  # empty: none was named, so tokens are those of `cl100k_base` and have no price
    n_documents: int
    n_chunks: int
    n_tokens: int
    exact: bool  # the model itself counted the prompts' tokens
    basis: str  # of the completion tokens
    core_is_known: bool  # else a random sample stands for the core chunks
    n_known: Mapping[str, int]  # chunks whose units, and whose triples, the ledger has
    estimates: tuple[CostEstimate, ...]
    embedding: EmbeddingEstimate | None = None  # None: no endpoint bills the vectors
    batch: bool = False  # at the price of batches, which end within a day


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exported(Shown):
    """The result of an export."""

    file: str
    n_nodes: int
    n_edges: int
    edges_are: str = "triples"  # or "sentences": names that stand in one
