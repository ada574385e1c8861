"""What is left of a damaged index in a folder, so that what is sound need not be made again.

Where blocks of a segment are damaged, the rows in them are found, and the documents whose rows they
are. Stand-ins have zeros there: once these documents are read again from their texts, their old
rows are dead, and a compaction leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.algo.narrow import widened
from clew.errors import DamagedIndex
from clew.store import schema, segments
from clew.store.schema import TABLES, parent_column

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.store.catalogue import Segment
    from clew.store.segments import Arrays

    Spans = Sequence[tuple[int, int]]  # of rows, the second one is behind the last

TITLE = "document.title_entity"
_NAMES = ("name.entity", "name.vectors")
_DTYPES: Mapping[str, str] = {  # of columns that are no int32
    "mention.label": "uint8", "statement_mention.label": "uint8", "sentence.key": "uint64",
    "statement.key": "uint64", "triple.relation_key": "uint64", "triple.strength": "uint8",
    "extraction.kind": "uint8", "extraction.source": "uint8", "description.type": "uint8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StandIns:
    """The segments of an index, with zeros in place of what is damaged."""

    segments: Sequence[Arrays]
    documents: NDArray[np.int64]  # stored rows of those that have a damaged row
    unnamed: NDArray[np.int32]  # stored rows of entities whose name vector is gone
    is_damaged: bool  # any array is


@dataclass(slots=True)
class _Part:
    """A segment's arrays, and the rows of each that are damaged."""

    arrays: dict[str, NDArray[Any]]
    damaged: dict[str, Spans] = field(default_factory=dict)


def stand_ins(
    folder: Path, registered: Sequence[Segment], n_documents: int, named: Sequence[int]
) -> StandIns:
    """Return stand-ins for the `registered` segments in a folder.

    `n_documents` are stored, and the entities in `named` had a vector of their name.
    """
    found = [_read(folder / f"{each.name}{segments.SUFFIX}") for each in registered]
    sound = [part for part in found if part is not None]
    n_missing = n_documents - sum(len(part.arrays.get(TITLE, ())) for part in sound)
    parts = [
        part or _unread(each.counts, n_missing, [s.arrays for s in sound])
        for part, each in zip(found, registered, strict=True)
    ]
    lost = _Lost(parts)
    for layer in reversed([*TABLES]):
        lost.follow(layer)
    for part in parts:
        _drop_names(part)
    unnamed = np.setdiff1d(named, schema.concatenated([p.arrays for p in parts], "name.entity"))
    return StandIns(
        [part.arrays for part in parts],
        np.flatnonzero(lost.rows["document"]),
        unnamed.astype(np.int32),
        any(part is None or part.damaged for part in found),
    )


def _read(path: Path) -> _Part | None:
    """Return what can be read of a segment, None where nothing can."""
    try:
        mapped = segments.read(path)
    except DamagedIndex:
        return None
    part = _Part({})
    for name in mapped:
        array, spans = mapped.zeroed(name)
        part.arrays[name] = widened(array)
        if spans:
            part.damaged[name] = spans
    return part


def _unread(counts: Mapping[str, int], n_documents: int, others: Sequence[Arrays]) -> _Part:
    """Return a stand-in for a segment of which nothing can be read, with the arrays of others."""
    arrays: dict[str, NDArray[Any]] = {TITLE: np.full(n_documents, -1, np.int32)}
    known = {name: other[name] for other in others for name in other}
    for layer, n in counts.items():
        for name in schema.numbers(layer):
            arrays[name] = np.zeros(n, _DTYPES.get(name, "int32"))
        wide = dict.fromkeys(TABLES[layer].ragged.values(), 0)
        for name, n_rows in {f"{layer}.vectors": n, **wide}.items():
            if name in known:
                arrays[name] = np.zeros((n_rows, *known[name].shape[1:]), known[name].dtype)
        for count, array in TABLES[layer].ragged.items():
            if array in known:
                arrays[f"{layer}.{count}"] = np.zeros(n, np.int32)
    return _Part(arrays, {name: [(0, len(array))] for name, array in arrays.items() if len(array)})


class _Lost:
    """Which stored rows are damaged or hang on what is; rows count through all segments."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.parts = parts
        self.starts = {  # the first row of each layer in each segment, and behind the last
            layer: np.cumsum([0, *(len(p.arrays.get(_rows_of(layer), ())) for p in parts)])
            for layer in ("document", *TABLES)
        }
        self.rows = {layer: np.zeros(n[-1], dtype=bool) for layer, n in self.starts.items()}
        for i, part in enumerate(parts):
            self._mark("document", i, part.damaged.get(TITLE, ()))

    def follow(self, layer: str) -> None:
        """Mark the damaged rows of a layer, and the rows above all that are marked."""
        kind = TABLES[layer]
        for i, part in enumerate(self.parts):
            names = [*schema.numbers(layer), f"{layer}.vectors"]
            for name in names:
                self._mark(layer, i, part.damaged.get(name, ()))
            for count, wide in kind.ragged.items():
                self._mark(layer, i, _mended_counts(part, f"{layer}.{count}", wide))
            self._mend_parents(layer, i)
        parents = schema.concatenated([part.arrays for part in self.parts], parent_column(layer))
        self.rows[kind.above][parents[self.rows[layer]]] = True

    def _mark(self, layer: str, i: int, spans: Spans) -> None:
        first = self.starts[layer][i]
        for start, stop in spans:
            self.rows[layer][first + start : first + stop] = True

    def _mend_parents(self, layer: str, i: int) -> None:
        """Let damaged rows hang on rows that are marked: on their neighbours', and those between.

        Rows of a segment stand in the order of the rows above them, all in the same segment, but
        extractions, which may belong to any chunk.
        """
        name, above = parent_column(layer), TABLES[layer].above
        here, end = self.starts[above][i], self.starts[above][i + 1]
        column = self.parts[i].arrays.get(name)
        for start, stop in self.parts[i].damaged.get(name, ()):
            assert column is not None  # noqa: S101 -- it is damaged, so it is there
            before = int(column[start - 1]) if start else int(here)
            behind = int(column[stop]) if stop < len(column) else int(end) - 1
            first = min(before, len(self.rows[above]) - 1)
            column[start:stop] = first
            self.rows[above][first : max(behind, first) + 1] = True


def _rows_of(layer: str) -> str:
    """Return the column that has one value for each row of a layer."""
    return TITLE if layer == "document" else parent_column(layer)


def _mended_counts(part: _Part, count: str, wide: str) -> Spans:
    """Let the counts add up again, and return the rows whose range of `wide` is not known."""
    if wide not in part.arrays:
        return ()
    counts, n = part.arrays[count], len(part.arrays[wide])
    spans = list(part.damaged.get(count, ()))
    if spans:
        start, stop = spans[0][0], spans[-1][1]
        counts[start:stop] = 0
        counts[start] = n - int(counts.sum())
        spans = [(start, stop)]
    ends = np.cumsum(counts.astype(np.int64))
    for first, last in part.damaged.get(wide, ()):
        hit = np.flatnonzero((ends - counts < last) & (ends > first))
        if len(hit):
            spans.append((int(hit[0]), int(hit[-1]) + 1))
    return spans


def _drop_names(part: _Part) -> None:
    """Leave out the names whose row or vector is damaged; they are embedded again."""
    spans = [span for name in _NAMES for span in part.damaged.get(name, ())]
    if spans:
        sound = np.ones(len(part.arrays["name.entity"]), dtype=bool)
        for start, stop in spans:
            sound[start:stop] = False
        for name in _NAMES:
            part.arrays[name] = part.arrays[name][sound]
