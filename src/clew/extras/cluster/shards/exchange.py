"""The requests to a shard and its replies, made of arrays and strings.

A row is one of the shard's own, in the state that both name. An entity or term that several shards
may have is named by 64 bits of a hash of its key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew import Snapshot, steps
from clew.base.types import Scalar, VocabularyEntry
from clew.extras.cluster.shards.salient_merging import SalientTerms
from clew.index.snapshot.batch import Batch

Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardDescription:
    """The description of a shard: the reply to `Describe`."""

    generation: int
    state: str  # a digest of what it has: the same of all copies that may reply to one question
    recipe: Mapping[str, Scalar]
    vocabulary: Mapping[str, VocabularyEntry]
    n_documents: int
    of_graphs: bool  # it has chunks of an imported graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """Ask for a description of a shard's newest generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Keys with counts for each."""

    hashes: Hashes  # (n,)
    numbers: NDArray[np.int64]  # (3, n) or (2, n); see `count_entities` and `TERM_NUMBERS`


TERM_NUMBERS = ("chunks", "capitals")  # in how many; how much oftener with a capital


def count_entities(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return (3, n): the chunks that mention each entity, have it as title, or either."""
    link = steps.entity_chunks(snapshot)
    ways, n = link.whole.data, link.shape[0]
    each = [(ways & steps.MENTIONED) > 0, (ways & steps.TITLED) > 0, np.ones(len(ways), bool)]
    owners = np.repeat(np.arange(n), link.counts)
    counts = np.array([np.bincount(owners[has], minlength=n) for has in each])
    return counts.reshape(3, n).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The counts of a shard's chunks, entities and terms."""

    n_chunks: int
    n_words: float  # of all chunks
    entities: Counted
    terms: Counted
    fields: Sequence[str] = ()  # that documents have, where a filter was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Ask for the counts of a shard, restricted to documents that match a filter."""

    state: str
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedQuestion:
    """A question as sent to shards, with global counts of its terms."""

    state: str
    where: str
    vector: NDArray[np.float32]  # (d,)
    terms: Sequence[str]  # distinct
    df: NDArray[np.int64]  # (n_terms,) chunks of all shards, -1: the shard's own number is that
    n_chunks: int
    mean_length: float
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldChunks:
    """Chunks with their entities, as a shard reports them."""

    rows: Rows  # (m,)
    dense: Scores  # (m,) cosines to the question
    lexical: Scores  # (m,) by BM25
    begins: Rows  # (m + 1,) where the entities of each begin in the next two
    entities: NDArray[np.int32]  # places in `counted`
    ways: NDArray[np.uint8]  # `clew.steps.MENTIONED`, `TITLED` or both
    counted: Counted  # the entities of these chunks, with the shard's own numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Ask for the nearest chunks, units and facts of a question, and entities by name."""

    asked: SharedQuestion
    chunks: int  # by cosine, and as many by BM25
    units: int
    triples: int
    keys: Sequence[str]  # of entities that the question may name


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeds:
    """Seed entities: the score of each unit, fact or name, and its entities."""

    scores: Scores  # (n,), cosines
    begins: Rows  # (n + 1,)
    entities: Hashes


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What is nearest to a question in one shard: the reply to `Near`."""

    rows: Rows  # (m,) chunks that are nearest by some ranking
    dense: Scores  # (m,) cosines to the question
    lexical: Scores  # (m,) by BM25
    units: Seeds
    triples: Seeds  # the ends of facts
    unit_chunks: Rows  # (n_units,) the chunk of each
    triple_chunks: Rows  # (n_triples,)
    named: Hashes  # entities of the shard that have one of the keys
    named_keys: NDArray[np.int64]  # the places of these keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Ask for the entities whose names are most similar to names that no shard has exactly."""

    state: str
    where: str
    names: NDArray[np.float32]  # (n, d)
    most: int  # entities of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Ask for the chunks of each entity that are most similar to the question."""

    asked: SharedQuestion
    entities: Hashes
    most: int  # chunks of each


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAround:
    """The chunks of some entities in one shard: the reply to `Around`."""

    owners: NDArray[np.int32]  # (m,) places among the entities that were asked for, ascending
    rows: Rows  # (m,)
    worth: Scores  # (m,) the higher, the rather is a chunk to be taken for that entity


@dataclass(frozen=True, slots=True, kw_only=True)
class Towards:
    """Ask for the chunks of entities' units that are nearest to a vector."""

    asked: SharedQuestion
    entities: Hashes  # (n,), ascending; one may come several times
    directions: NDArray[np.float32]  # (n, d)
    most: int  # units of each
    titles: bool  # see `clew.index.snapshot.layers.UnitsSought`


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Ask for the entities of some chunks."""

    asked: SharedQuestion
    chunks: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """Ask for all rows of some chunks."""

    state: str
    where: str
    chunks: Rows
    salient: bool = False  # with their salient terms, which a method needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Chunks as a batch, with the shard's own entity and term numbers: the reply to `Take`."""

    batch: Batch
    entities: Counted
    terms: Counted
    salient: SalientTerms | None = None


Request = Describe | Count | Near | Alike | Around | Towards | Tell | Take
Reply = ShardDescription | Counts | Nearest | Seeds | FoundAround | ToldChunks | Taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """Limits on what to gather from all shards together for a question."""

    chunks: int = 60  # nearest by cosine, and as many by BM25
    units: int = 12  # nearest
    triples: int = 12  # nearest
    alike: int = 3  # entities with a name like one in the question
    named: int = 12  # chunks of each of these, and of each entity that the question names
    rounds: int = 2  # in which the chunks of entities are fetched
    around: int = 150  # chunks that are fetched in each
    most: int = 40  # chunks of one entity
    shards: float = 0.2  # the share of shards that are searched: those most likely to matter
