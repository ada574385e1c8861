"""Put segments together into the rows and links of one generation.

Rows come in the order of their documents' ids, whatever the order in which they were added, and
entities and terms in the order of first occurrence. So the arrays of an updated index are, byte
for byte, those of a fresh build of the same documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from clew.types import DATE, TERM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Segment = Mapping[str, NDArray[Any]]

# A statistical term (scripts without capitals) is an entity where it joins a few chunks.
_TERM_MIN_CHUNKS = 2
_TERM_MAX_SHARE = 0.05
_COMMON_WORD_SHARE = 0.5  # written in lower case more often than this: no name


@dataclass(frozen=True, slots=True)
class Assembly:
    """Small arrays that say what is where; vectors stay in the segments until they are asked for.

    `stored_*` map a row of this generation to the row in the store.
    """

    stored_documents: Rows
    stored_chunks: Rows
    stored_sentences: Rows  # of each unit: the sentence that it was first written as
    stored_entities: Rows
    stored_terms: Rows
    columns: Mapping[str, NDArray[Any]]
    links: Mapping[tuple[str, str], csr_array]


def assemble(segments: Sequence[Segment], documents: Rows) -> Assembly:
    """Return the generation of live `documents`, stored rows in the order of their ids.

    O(rows log rows); the vectors are not touched.
    """
    table = {name: concatenated(segments, name) for name in NUMBERS}
    n_stored = len(table["document.title_entity"])
    chunks, chunk_document = follow(table["chunk.document"], documents, n_stored)
    sentences, sentence_chunk = follow(
        table["sentence.chunk"], chunks, len(table["chunk.document"])
    )
    units, sentence_unit = first_of_equal(table["sentence.key"][sentences])
    unit_sentences = sentences[units]

    mentions, mention_unit = follow(
        table["mention.sentence"], unit_sentences, len(table["sentence.chunk"])
    )
    labels = table["mention.label"][mentions]
    entities = table["mention.entity"][mentions]
    counts, count_chunk = follow(table["count.chunk"], chunks, len(table["chunk.document"]))
    keep = _useful(labels, entities, sentence_chunk[units][mention_unit], len(chunks))
    keep &= ~_is_common_word(
        table["mention.term"][mentions],
        table["count.term"][counts],
        table["count.n"][counts],
        table["count.n_lower"][counts],
    )
    mentions, mention_unit = mentions[keep], mention_unit[keep]
    labels, entities = labels[keep], entities[keep]
    titles = table["document.title_entity"][documents]
    entity_rows, entities, titles = number_entities(
        entities, sentence_chunk[units][mention_unit], chunk_document, titles
    )
    term_rows, terms = renumber(table["count.term"][counts])

    linkable = np.zeros(len(entity_rows), dtype=bool)
    linkable[entities[labels != DATE]] = True
    linkable[titles[titles >= 0]] = True
    first_mention = np.full(len(entity_rows), -1, dtype=np.int64)
    first_mention[entities[::-1]] = np.arange(len(entities))[::-1]

    n_lower = np.bincount(terms, weights=table["count.n_lower"][counts], minlength=len(term_rows))
    n_all = np.bincount(terms, weights=table["count.n"][counts], minlength=len(term_rows))

    columns: dict[str, NDArray[Any]] = {
        "term.common": n_lower > _COMMON_WORD_SHARE * n_all,
        "document.title_entity": titles.astype(np.int32),
        "chunk.document": chunk_document.astype(np.int32),
        "unit.chunk": sentence_chunk[units].astype(np.int32),
        "entity.linkable": linkable,
        "entity.mention": first_mention.astype(np.int32),
        "mention.unit": mention_unit.astype(np.int32),
        "mention.entity": entities.astype(np.int32),
        "mention.label": labels.astype(np.uint8),
    }
    for name in ("chunk.start", "chunk.end", "chunk.n_tokens"):
        columns[name] = table[name][chunks]
    for name in ("start", "end"):
        columns[f"unit.{name}"] = table[f"sentence.{name}"][unit_sentences]
    for name in ("first_token", "last_token"):
        if len(units) and len(table[f"sentence.{name}"]) == len(table["sentence.chunk"]):
            columns[f"unit.{name}"] = table[f"sentence.{name}"][unit_sentences]
    for name in ("mention.start", "mention.end"):
        columns[name] = table[name][mentions]

    titled = np.flatnonzero(titles >= 0)
    links = {
        ("chunk", "unit"): _link(sentence_chunk, sentence_unit, len(chunks), len(units)),
        ("unit", "entity"): _link(mention_unit, entities, len(units), len(entity_rows)),
        ("document", "entity"): _link(titled, titles[titled], len(documents), len(entity_rows)),
        ("chunk", "term"): _link(
            count_chunk, terms, len(chunks), len(term_rows), table["count.n"][counts]
        ),
    }
    return Assembly(documents, chunks, unit_sentences, entity_rows, term_rows, columns, links)


NUMBERS = (
    "document.title_entity",
    "chunk.document", "chunk.start", "chunk.end", "chunk.n_tokens",
    "sentence.chunk", "sentence.start", "sentence.end", "sentence.key",
    "sentence.first_token", "sentence.last_token",
    "mention.sentence", "mention.entity", "mention.start", "mention.end", "mention.label",
    "mention.term",
    "count.chunk", "count.term", "count.n", "count.n_lower",
)  # fmt: skip


def concatenated(segments: Sequence[Segment], name: str) -> NDArray[Any]:
    """Return a column of all segments end to end; empty where none has it."""
    parts = [segment[name] for segment in segments if name in segment]
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def follow(parent: NDArray[Any], parents: Rows, n_stored: int) -> tuple[Rows, Rows]:
    """Return the stored rows whose parent is one of `parents`, in the parents' order.

    `parent` holds the stored parent of each row. The second array holds each returned row's
    parent as a position in `parents`.
    """
    place = np.full(n_stored, -1, dtype=np.int64)
    place[parents] = np.arange(len(parents))
    position = place[parent.astype(np.int64)]
    rows = np.flatnonzero(position >= 0)
    if len(rows) and np.any(np.diff(position[rows]) < 0):
        rows = rows[np.argsort(position[rows], kind="stable")]
    return rows, position[rows]


def first_of_equal(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return where each distinct key first stands, in that order, and each row's group."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order].astype(np.int64), rank[inverse]


def renumber(values: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return the distinct `values` by first occurrence, and each value's place among them."""
    first, groups = first_of_equal(values)
    return values[first].astype(np.int64), groups


def _useful(
    labels: NDArray[Any], entities: NDArray[Any], chunks: Rows, n_chunks: int
) -> NDArray[np.bool_]:
    """Drop statistical terms that stand in one chunk only, or in too many."""
    is_term = labels == TERM
    if not is_term.any():
        return np.ones(len(labels), dtype=bool)
    pairs = np.unique(np.stack([entities.astype(np.int64), chunks]), axis=1)
    df = np.bincount(pairs[0], minlength=int(entities.max()) + 1)[entities]
    most = max(_TERM_MAX_SHARE * n_chunks, _TERM_MIN_CHUNKS)
    return np.asarray(~is_term | ((df >= _TERM_MIN_CHUNKS) & (df <= most)))


def _is_common_word(
    mention_terms: NDArray[Any],
    terms: NDArray[Any],
    counts: NDArray[Any],
    lower_counts: NDArray[Any],
) -> NDArray[np.bool_]:
    """Say which mentions are words that only begin a sentence: mostly written in lower case."""
    doubtful = mention_terms >= 0
    if not doubtful.any():
        return np.asarray(doubtful)
    size = int(max(mention_terms.max(), terms.max(initial=0))) + 1
    n = np.bincount(terms, weights=counts, minlength=size)
    n_lower = np.bincount(terms, weights=lower_counts, minlength=size)
    common = n_lower > _COMMON_WORD_SHARE * n
    return np.asarray(doubtful & common[np.maximum(mention_terms, 0)])


def number_entities(
    entities: NDArray[Any], chunks: Rows, chunk_document: Rows, titles: NDArray[Any]
) -> tuple[Rows, Rows, Rows]:
    """Number entities by first occurrence, a document's title before its text.

    Returns the stored row of each entity, and both inputs in the new numbers.
    """
    titled = np.flatnonzero(titles >= 0)
    place = np.concatenate([2 * titled, 2 * chunk_document[chunks] + 1])
    values = np.concatenate([titles[titled], entities]).astype(np.int64)
    order = np.argsort(place, kind="stable")
    rows, groups = renumber(values[order])
    numbers = np.empty(len(values), dtype=np.int64)
    numbers[order] = groups
    new_titles = np.full(len(titles), -1, dtype=np.int64)
    new_titles[titled] = numbers[: len(titled)]
    return rows, numbers[len(titled) :], new_titles


def _link(
    a: NDArray[Any],
    b: NDArray[Any],
    n_a: int,
    n_b: int,
    weights: NDArray[Any] | None = None,
) -> csr_array:
    """Return the (n_a, n_b) link of the pairs; a repeated pair is one of weight 1."""
    data = np.ones(len(a), dtype=np.float32) if weights is None else weights.astype(np.float32)
    index: type[Any] = np.int32 if max(n_a, n_b, len(a)) < 2**31 else np.int64
    link = csr_array((data, (a.astype(index), b.astype(index))), shape=(n_a, n_b))
    link.sum_duplicates()
    link.sort_indices()
    if weights is None:
        link.data[:] = 1.0
    return link
