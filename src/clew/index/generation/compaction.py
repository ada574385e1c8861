"""Rewrite the live rows as one segment, equal to a fresh build of the same documents.

Dead rows go, rows come in the order of their documents' ids, and entities and terms are numbered
by first occurrence, so the bytes do not depend on how the index came about. The history forgets the
documents that are erased here, since whoever compacts wants them gone.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.coding import narrow, narrow_type
from clew.base.types import DATE
from clew.index.generation.rows import Live, Rows, follow_rows, place_by_row, renumber
from clew.index.store import Compacted, schema
from clew.index.store.columns import StoredColumns
from clew.index.store.schema import Segment
from clew.index.store.segments import Blocks, let_go

Arrays = dict[str, NDArray[Any] | Blocks]


_BLOCK_ROWS = 4096
_RELEASE_ROWS = 16 * _BLOCK_ROWS  # after so many rows those that were read take no memory any more
_BATCH_SIZE = 2**20  # numbers


def compact_segments(segments: Sequence[Segment], documents: Rows) -> Compacted:
    """Return one segment with the rows of the live `documents`.

    They are stored rows of `segments`, in the order of their ids.
    """
    stored = StoredColumns(segments)
    live = follow_rows(stored, Live({"document": documents}))
    titles = stored.take("document.title_entity", documents)
    entities = _entities(stored, live, titles)
    doubtful = stored.take("statement_mention.term", live.rows["statement_mention"])
    counted = stored.take("count.term", live.rows["count"])
    terms, _ = renumber(np.concatenate([counted, doubtful[doubtful >= 0]]))
    new = {"entity": _numbers(entities), "term": _numbers(terms)}
    titles = new["entity"][titles]
    arrays: Arrays = {"document.title_entity": narrow(titles.astype(np.int32))}
    for layer in schema.TABLES:
        arrays |= _columns(stored, live, layer, new)
        arrays |= _wide_arrays(segments, layer, live.rows[layer])
    nameable = _find_nameable(stored, live, new["entity"], titles)
    names = _name_vectors(segments, entities, nameable)
    rows = np.asarray(names.get("name.entity", ())).tolist()
    return Compacted(arrays | names, documents, live.rows["chunk"], entities, terms, rows)


def _entities(stored: StoredColumns, live: Live, titles: NDArray[Any]) -> Rows:
    """Return the live entities by first occurrence; a document's title precedes its text."""
    titled = np.flatnonzero(titles >= 0)
    entities, places = [titles[titled]], [2 * titled]
    for layer in ("mention", "statement_mention", "description"):
        entities.append(stored.take(f"{layer}.entity", live.rows[layer]))
        places.append(2 * live.above["chunk"][live.chunks_of(layer)] + 1)
    order = np.argsort(np.concatenate(places), kind="stable")
    return renumber(np.concatenate(entities)[order])[0]


def _numbers(rows: Rows) -> Rows:
    """Return the new number of each stored entity or term; the last element maps -1 to itself."""
    return place_by_row(rows, int(rows.max(initial=-1)) + 2)


def _columns(stored: StoredColumns, live: Live, layer: str, new: Mapping[str, Rows]) -> Arrays:
    """Return a layer's live integer columns, with row references renumbered."""
    arrays: Arrays = {}
    for name in schema.number_columns(layer):
        if not stored.sizes(name):
            continue
        if name == schema.parent_column(layer):
            arrays[name] = narrow(live.above[layer].astype(np.int32))
            continue
        numbers = new.get(schema.REFERENCES.get(name, ""))
        read = partial(_values, stored, name, live.rows[layer], numbers)
        arrays[name] = Blocks((len(live.rows[layer]),), _common_dtype(read()), read())
    return arrays


def _common_dtype(pieces: Iterator[NDArray[Any]]) -> np.dtype[Any]:
    """Return the smallest type that holds every piece of a column."""
    low, high, dtype = 0, 0, np.dtype(np.int32)
    for piece in pieces:
        dtype = piece.dtype
        low, high = min(low, int(piece.min(initial=0))), max(high, int(piece.max(initial=0)))
    return narrow_type(low, high) if dtype == np.int32 else dtype


def _values(
    stored: StoredColumns, name: str, rows: Rows, numbers: Rows | None
) -> Iterator[NDArray[Any]]:
    """Yield some rows of a column in pieces, mapped through `numbers` if given."""
    for start in range(0, max(len(rows), 1), _BATCH_SIZE):
        values = stored.take(name, rows[start : start + _BATCH_SIZE])
        yield values if numbers is None else numbers[values].astype(np.int32)


def _wide_arrays(segments: Sequence[Segment], layer: str, rows: Rows) -> Arrays:
    arrays: Arrays = {}
    name = f"{layer}.vectors"
    if schema.TABLES[layer].vectors and any(name in segment for segment in segments):
        arrays[name] = _gather(segments, name, rows, rows + 1)
    for count, wide in schema.TABLES[layer].ragged.items():
        if any(wide in segment for segment in segments):
            lengths = schema.concatenate_column(segments, f"{layer}.{count}").astype(np.int64)
            arrays[f"{layer}.{count}"] = narrow(lengths[rows].astype(np.int32))
            ends = np.cumsum(lengths)[rows]
            arrays[wide] = _gather(segments, wide, ends - lengths[rows], ends)
    return arrays


def _find_nameable(stored: StoredColumns, live: Live, new: Rows, titles: Rows) -> Rows:
    """Return the new numbers of the entities that need a name vector: see `named` in `layers`."""
    has_name = np.zeros(len(new), dtype=bool)
    for layer in ("mention", "statement_mention"):
        rows = live.rows[layer]
        undated = rows[stored.take(f"{layer}.label", rows) != DATE]
        has_name[new[stored.take(f"{layer}.entity", undated)]] = True
    has_name[new[stored.take("description.entity", live.rows["description"])]] = True
    has_name[titles[titles >= 0]] = True
    return np.flatnonzero(has_name)


def _name_vectors(segments: Sequence[Segment], entities: Rows, wanted: Rows) -> Arrays:
    """Return the name vectors of the `wanted` ones among `entities`, which are stored rows."""
    parts = [s for s in segments if "name.entity" in s]
    if not parts:
        return {}
    owner = np.concatenate([s["name.entity"] for s in parts]).astype(np.int64)
    place = np.full(max(int(owner.max(initial=-1)), int(entities.max(initial=-1))) + 1, -1)
    place[owner] = np.arange(len(owner))
    owners = wanted[place[entities[wanted]] >= 0]
    rows = place[entities[owners]]
    return {
        "name.entity": narrow(owners.astype(np.int32)),
        "name.vectors": _gather(parts, "name.vectors", rows, rows + 1),
    }


def _gather(segments: Sequence[Segment], name: str, starts: Rows, stops: Rows) -> Blocks:
    """Concatenate row ranges of the segments' arrays; no range crosses a segment."""
    ranges = np.stack([starts, stops], axis=1)
    parts = [segment for segment in segments if name in segment]
    empty, n = parts[0][name][:0], int((ranges[:, 1] - ranges[:, 0]).sum())
    return Blocks((n, *empty.shape[1:]), empty.dtype, _pieces(parts, name, ranges))


def _pieces(
    segments: Sequence[Segment], name: str, ranges: NDArray[np.int64]
) -> Iterator[NDArray[Any]]:
    parts = [segment[name] for segment in segments]
    ends = np.cumsum([len(part) for part in parts])
    owners = np.searchsorted(ends, ranges[:, 0], side="right")
    starts = ends - [len(part) for part in parts]
    for begin in range(0, len(ranges), _BLOCK_ROWS):
        block = slice(begin, begin + _BLOCK_ROWS)
        runs = _join_ranges(ranges[block], owners[block])
        pieces = [parts[owner][a - starts[owner] : b - starts[owner]] for owner, a, b in runs]
        yield np.concatenate(pieces or [parts[0][:0]])
        for segment in segments if begin % _RELEASE_ROWS == 0 else ():
            let_go(segment, name)


def _join_ranges(ranges: NDArray[np.int64], owners: Rows) -> list[list[int]]:
    """Return the owner, begin and end of ranges, with adjacent ranges joined."""
    some = ranges[:, 0] < ranges[:, 1]
    (begins, ends), owners = ranges[some].T, owners[some]
    apart = (begins[1:] != ends[:-1]) | (owners[1:] != owners[:-1])
    first = np.concatenate([[True], apart])[: len(begins)]
    last = np.concatenate([apart, [True]])[: len(begins)]
    runs: list[list[int]] = np.stack([owners[first], begins[first], ends[last]], axis=1).tolist()
    return runs
