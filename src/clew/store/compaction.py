"""Rewrite what is live as one segment: what a fresh build of the same documents would store.

Dead rows go, rows come in the order of their documents' ids, and entities and terms are numbered
by first occurrence, so the bytes do not depend on how the index came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.store.assemble import (
    NUMBERS,
    concatenated,
    follow,
    number_entities,
    renumber,
)
from clew.store.segments import Blocks
from clew.types import DATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.store.assemble import Rows, Segment

_BLOCK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Compacted:
    """The one new segment, and which stored rows its numbers stand for."""

    arrays: Mapping[str, NDArray[Any] | Blocks]
    documents: Rows
    entities: Rows
    terms: Rows
    named: list[int]  # the new rows of entities that have a name vector


def compacted(segments: Sequence[Segment], documents: Rows) -> Compacted:
    """Return the live `documents` (stored rows in id order) of `segments` as one segment."""
    table = {name: concatenated(segments, name) for name in NUMBERS}
    n_documents, n_chunks = len(table["document.title_entity"]), len(table["chunk.document"])
    chunks, chunk_document = follow(table["chunk.document"], documents, n_documents)
    sentences, sentence_chunk = follow(table["sentence.chunk"], chunks, n_chunks)
    mentions, mention_sentence = follow(
        table["mention.sentence"], sentences, len(table["sentence.chunk"])
    )
    counts, count_chunk = follow(table["count.chunk"], chunks, n_chunks)
    entities, mention_entity, titles = number_entities(
        table["mention.entity"][mentions],
        sentence_chunk[mention_sentence],
        chunk_document,
        table["document.title_entity"][documents],
    )
    terms, count_term = renumber(table["count.term"][counts])
    term_places = np.full(int(terms.max(initial=-1)) + 2, -1)  # the last one stands for -1
    term_places[terms] = np.arange(len(terms))
    layer_rows = {"chunk": chunks, "sentence": sentences, "mention": mentions, "count": counts}
    arrays: dict[str, NDArray[Any] | Blocks] = {
        name: column[layer_rows[name.partition(".")[0]]]
        for name, column in table.items()
        if name != "document.title_entity" and any(name in segment for segment in segments)
    }
    numbered = {
        "document.title_entity": titles,
        "chunk.document": chunk_document,
        "sentence.chunk": sentence_chunk,
        "mention.sentence": mention_sentence,
        "mention.entity": mention_entity,
        "mention.term": term_places[table["mention.term"][mentions]],
        "count.chunk": count_chunk,
        "count.term": count_term,
    }
    arrays |= {name: column.astype(np.int32) for name, column in numbered.items()}
    arrays |= _vectors(segments, chunks, sentences)
    names = np.zeros(len(entities), dtype=bool)
    names[mention_entity[table["mention.label"][mentions] != DATE]] = True
    names[titles[titles >= 0]] = True
    named = _names(segments, entities, np.flatnonzero(names))
    rows = np.asarray(named.get("name.entity", ())).tolist()
    return Compacted(arrays | named, documents, entities, terms, rows)


def _vectors(
    segments: Sequence[Segment], chunks: Rows, sentences: Rows
) -> dict[str, NDArray[Any] | Blocks]:
    arrays: dict[str, NDArray[Any] | Blocks] = {}
    for name, rows in (("chunk.vectors", chunks), ("sentence.vectors", sentences)):
        if any(name in segment for segment in segments):
            arrays[name] = _gathered([s[name] for s in segments], rows)
    if any("token.vectors" in segment for segment in segments):
        counts = concatenated(segments, "chunk.n_stored").astype(np.int64)
        arrays["chunk.n_stored"] = counts[chunks].astype(np.int32)
        ends = np.cumsum(counts)
        ranges = np.stack([ends[chunks] - counts[chunks], ends[chunks]], axis=1)
        arrays["token.vectors"] = _ranges([s["token.vectors"] for s in segments], ranges)
    return arrays


def _names(
    segments: Sequence[Segment], entities: Rows, wanted: Rows
) -> dict[str, NDArray[Any] | Blocks]:
    """Return the name vectors of those of `entities` (stored rows) that are `wanted`."""
    parts = [s for s in segments if "name.entity" in s]
    if not parts:
        return {}
    owner = np.concatenate([s["name.entity"] for s in parts]).astype(np.int64)
    place = np.full(max(int(owner.max(initial=-1)), int(entities.max(initial=-1))) + 1, -1)
    place[owner] = np.arange(len(owner))
    named = wanted[place[entities[wanted]] >= 0]
    return {
        "name.entity": named.astype(np.int32),
        "name.vectors": _gathered([s["name.vectors"] for s in parts], place[entities[named]]),
    }


def _gathered(parts: Sequence[NDArray[Any]], rows: Rows) -> Blocks:
    """Return `rows` of the parts put end to end."""
    return _ranges(parts, np.stack([rows, rows + 1], axis=1))


def _ranges(parts: Sequence[NDArray[Any]], ranges: NDArray[np.int64]) -> Blocks:
    """Return the row ranges of the parts put end to end; no range crosses a part's end."""
    n = int((ranges[:, 1] - ranges[:, 0]).sum())
    return Blocks((n, *parts[0].shape[1:]), parts[0].dtype, _pieces(parts, ranges))


def _pieces(parts: Sequence[NDArray[Any]], ranges: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    ends = np.cumsum([len(part) for part in parts])
    owners = np.searchsorted(ends, ranges[:, 0], side="right")
    starts = ends - [len(part) for part in parts]
    for begin in range(0, len(ranges), _BLOCK_ROWS):
        block = slice(begin, begin + _BLOCK_ROWS)
        yield np.concatenate(
            [
                parts[owner][a - starts[owner] : b - starts[owner]]
                for owner, (a, b) in zip(owners[block], ranges[block], strict=True)
                if b > a
            ]
            or [parts[0][:0]]
        )
