"""Salvage a damaged index in a folder, so that its intact part is not made again.

Where blocks of a segment are damaged, the rows in them are found, and the documents whose rows they
are. Stand-ins have zeros there: once these documents are read again from their texts, their old
rows are dead, and a compaction leaves them out. What was extracted from a chunk may be damaged
while the chunk is sound: it is put below a chunk that no document has, and so is dead as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.algo.narrow import widen
from clew.base.types import KINDS
from clew.errors import DamagedIndex
from clew.index.store import schema, segments
from clew.index.store.catalogue import Catalogue
from clew.index.store.schema import TABLES, parent_column
from clew.index.store.segments import Arrays

Spans = Sequence[tuple[int, int]]  # of rows, the second one is behind the last

TITLE = "document.title_entity"
_DOCUMENT = "chunk.document"
_EXTRACTION = "extraction"
_LAYERS = ("document", *TABLES)
_NAMES = ("name.entity", "name.vectors")
_DTYPES: Mapping[str, str] = {  # of columns that are no int32
    "mention.label": "uint8", "statement_mention.label": "uint8", "sentence.key": "uint64",
    "sentence.is_context": "uint8",
    "statement.key": "uint64", "triple.relation_key": "uint64", "triple.strength": "uint8",
    "extraction.kind": "uint8", "extraction.source": "uint8", "description.type": "uint8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StandIns:
    """The segments of an index with zeros in place of damaged rows."""

    segments: Sequence[Arrays]  # and a last one, with the chunk of no document
    documents: NDArray[np.int64]  # stored rows of those that have a damaged row of their own
    unnamed: NDArray[np.int32]  # stored rows of entities whose name vector is gone
    is_damaged: bool  # any array is
    owners: NDArray[np.int64]  # the stored document of each stored chunk
    # By kind, what made each stored chunk's extraction, as a place in SOURCES, as far as known.
    sources: Mapping[str, NDArray[np.uint8]]
    lost: Mapping[str, NDArray[np.bool_]]  # by kind, of which of these chunks that is damaged
    is_unsure: bool  # there are damaged extractions of which it is not known what they were of

    @property
    def extracted(self) -> set[int]:
        """The stored rows of documents with damaged extractions, as far as known."""
        return {row for lost in self.lost.values() for row in self.owners[lost].tolist()}


@dataclass(slots=True)
class _Part:
    """A segment's arrays, and the rows of each that are damaged."""

    arrays: dict[str, NDArray[Any]]
    damaged: dict[str, Spans] = field(default_factory=dict)


def stand_ins(folder: Path, catalogue: Catalogue) -> StandIns:
    """Return stand-ins for the segments in a folder that a catalogue registers."""
    registered, n_documents = catalogue.segments(), catalogue.count("document")
    stored_parts = [
        _read_part(folder / f"{each.name}{segments.SUFFIX}", each.counts) for each in registered
    ]
    sizes = _sizes(stored_parts, ["chunk" in each.counts for each in registered], n_documents)
    sound = [part.arrays for part in stored_parts if part is not None]
    parts = [
        part or _stand_in(each.counts, n, sound)
        for part, each, n in zip(stored_parts, registered, sizes, strict=True)
    ]
    lost = _DamagedRows(parts)
    for layer in reversed([*TABLES]):
        lost.follow(layer)
    for part in parts:
        _drop_names(part)
    arrays = [part.arrays for part in parts]
    rows = catalogue.rows_with_vectors()
    unnamed = np.setdiff1d(rows, schema.concatenate_column(arrays, "name.entity"))
    sources, gone = lost.extractions()
    nobodys = {TITLE: np.full(1, -1, np.int32), _DOCUMENT: np.full(1, n_documents, np.int32)}
    return StandIns(
        segments=[*arrays, nobodys],
        documents=np.flatnonzero(lost.rows["document"]),
        unnamed=unnamed.astype(np.int32),
        is_damaged=any(part is None or part.damaged for part in stored_parts),
        owners=schema.concatenate_column(arrays, _DOCUMENT).astype(np.int64),
        sources=sources,
        lost=gone,
        is_unsure=lost.is_unsure,
    )


def _sizes(
    parts: Sequence[_Part | None], has_chunks: Sequence[bool], n_documents: int
) -> list[int]:
    """Return the number of documents of each segment, unreadable segments included.

    Where a segment's first chunk can be read it says how many documents there are before. Those of
    several others that stand between two such segments are all lost, and the first one has them.
    """
    sizes = [0 if part is None else len(part.arrays.get(TITLE, ())) for part in parts]
    open_, place = None, 0  # the unread segment that has the documents before the next one
    for i, part in enumerate(parts):
        if part is None:
            open_ = i if open_ is None and has_chunks[i] else open_
            continue
        begin = _first_document(part)
        if open_ is not None and begin is not None and begin >= place:
            sizes[open_] = begin - place
            place, open_ = begin, None
        place += sizes[i]
    missing = n_documents - sum(sizes)
    unread = [i for i, part in enumerate(parts) if part is None]
    if missing < 0 or (missing and not unread):
        raise DamagedIndex(
            f"the segments have {sum(sizes)} documents and the database {n_documents}: take a"
            f" backup or a copy of the folder, or index the documents into a new one"
        )
    if missing:
        sizes[open_ if open_ is not None else unread[-1]] += missing
    return sizes


def _first_document(part: _Part) -> int | None:
    """Return the stored row of a segment's first document, or None if it is unreadable."""
    owners = part.arrays.get(_DOCUMENT, np.zeros(0, np.int32))
    if not len(owners) or any(start == 0 for start, _ in part.damaged.get(_DOCUMENT, ())):
        return None
    return int(owners[0])


def _read_part(path: Path, counts: Mapping[str, int]) -> _Part | None:
    """Return the readable rows of a segment, or None if it is unreadable or another one."""
    try:
        mapped = segments.open_segment(path)
    except DamagedIndex:
        return None
    if schema.count_rows_unread(mapped) != counts:
        return None
    part = _Part({})
    for name in mapped:
        array, spans = mapped.read_with_zeros(name)
        part.arrays[name] = widen(array)
        if spans:
            part.damaged[name] = spans
    return part


def _stand_in(counts: Mapping[str, int], n_documents: int, others: Sequence[Arrays]) -> _Part:
    """Return a stand-in for an unreadable segment, with the arrays that others have."""
    arrays: dict[str, NDArray[Any]] = {TITLE: np.full(n_documents, -1, np.int32)}
    own = {name: other[name] for other in others for name in other}
    for layer, n in counts.items():
        for name in schema.number_columns(layer):
            if name == parent_column(layer) or name in own:
                arrays[name] = np.zeros(n, _DTYPES.get(name, "int32"))
        wide = dict.fromkeys(TABLES[layer].ragged.values(), 0)
        for name, n_rows in {f"{layer}.vectors": n, **wide}.items():
            if name in own:
                arrays[name] = np.zeros((n_rows, *own[name].shape[1:]), own[name].dtype)
        for count, array in TABLES[layer].ragged.items():
            if array in own:
                arrays[f"{layer}.{count}"] = np.zeros(n, np.int32)
    return _Part(arrays, {name: [(0, len(array))] for name, array in arrays.items() if len(array)})


class _DamagedRows:
    """The stored rows that are damaged or depend on damaged rows, counted through all segments."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.parts = parts
        # The first row of each layer in each segment, and behind the last.
        self.starts = {layer: np.cumsum([0, *self._sizes(layer)]) for layer in _LAYERS}
        self.rows = {layer: np.zeros(n[-1], dtype=bool) for layer, n in self.starts.items()}
        self._extractions = (np.zeros(0, np.int64),) * 4
        self.is_unsure = False
        for i, part in enumerate(parts):
            self._mark("document", i, part.damaged.get(TITLE, ()))

    def _sizes(self, layer: str) -> list[int]:
        return [len(part.arrays.get(schema.size_column(layer), ())) for part in self.parts]

    def follow(self, layer: str) -> None:
        """Mark the damaged rows of a layer, and the rows above all that are marked.

        Of an extraction nothing is marked above: it goes below the chunk of no document.
        """
        if layer == _EXTRACTION:
            self._part_from_chunks()
            return
        for i, part in enumerate(self.parts):
            for name in (*schema.number_columns(layer), f"{layer}.vectors"):
                self._mark(layer, i, part.damaged.get(name, ()))
            for count, wide in TABLES[layer].ragged.items():
                self._mark(layer, i, _mend_counts(part, f"{layer}.{count}", wide))
            self._mend_parents(layer, i)
        arrays = [part.arrays for part in self.parts]
        parents = schema.concatenate_column(arrays, parent_column(layer))
        self.rows[TABLES[layer].above][parents[self.rows[layer]]] = True

    def _part_from_chunks(self) -> None:
        """Put the extractions that are damaged, or have a damaged row, below no document's chunk.

        What they were of is noted before, where that can be read.
        """
        below = self.rows[_EXTRACTION]
        unknown = self.rows[_EXTRACTION] = np.zeros(len(below), dtype=bool)
        for i, part in enumerate(self.parts):
            for name in schema.number_columns(_EXTRACTION):
                self._mark(_EXTRACTION, i, part.damaged.get(name, ()))
        self.rows[_EXTRACTION] = below | unknown
        self.is_unsure = bool(unknown.any())
        rows = np.flatnonzero(~unknown)
        columns = [self._full_column(name) for name in schema.number_columns(_EXTRACTION)]
        chunks, kinds, sources = (column[rows] for column in columns)
        self._extractions = (rows, chunks, kinds, sources)
        # Those before damaged ones are damaged too, so that they do not count again.
        _, lost = self.extractions()
        for number, kind in enumerate(KINDS):
            inside = (kinds == number) & (chunks < len(lost[kind]))
            gone = lost[kind][chunks[inside]]
            self.rows[_EXTRACTION][rows[inside][gone]] = True
        nobodys = int(self.starts["chunk"][-1])
        for i, part in enumerate(self.parts):
            column = part.arrays.get(parent_column(_EXTRACTION))
            if column is not None:
                first, behind = self.starts[_EXTRACTION][i : i + 2]
                chunks = column.astype(np.int32)
                chunks[self.rows[_EXTRACTION][first:behind]] = nobodys
                part.arrays[parent_column(_EXTRACTION)] = chunks

    def _full_column(self, name: str) -> NDArray[Any]:
        """Return a column of extractions, with zeros where a segment lacks it."""
        sizes = zip(self.parts, np.diff(self.starts[_EXTRACTION]), strict=True)
        columns = [part.arrays.get(name, np.zeros(n)) for part, n in sizes]
        return np.concatenate([np.zeros(0), *columns]).astype(np.int64)

    def extractions(self) -> tuple[dict[str, NDArray[np.uint8]], dict[str, NDArray[np.bool_]]]:
        """Return by kind what made each chunk's newest extraction, and whether that is damaged."""
        n_chunks = int(self.starts["chunk"][-1])
        rows, chunks, kinds, sources = self._extractions
        made_by = {kind: np.zeros(n_chunks, np.uint8) for kind in KINDS}
        lost = {kind: np.zeros(n_chunks, dtype=bool) for kind in KINDS}
        for number, kind in enumerate(KINDS):
            of_kind = (kinds == number) & (chunks < n_chunks)
            made_by[kind][chunks[of_kind]] = sources[of_kind]  # of several the last one stays
            lost[kind][chunks[of_kind]] = self.rows[_EXTRACTION][rows[of_kind]]
        return made_by, lost

    def _mark(self, layer: str, i: int, spans: Spans) -> None:
        first = self.starts[layer][i]
        for start, stop in spans:
            self.rows[layer][first + start : first + stop] = True

    def _mend_parents(self, layer: str, i: int) -> None:
        """Attach damaged rows to marked neighbours, and all rows between them.

        Rows of a segment stand in the order of the rows above them, all in the same segment.
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


def _mend_counts(part: _Part, count: str, wide: str) -> Spans:
    """Make the counts add up again; return the rows whose range of `wide` is unknown."""
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
    """Drop the names whose row or vector is damaged; they are embedded again."""
    spans = [span for name in _NAMES for span in part.damaged.get(name, ())]
    if spans:
        sound = np.ones(len(part.arrays["name.entity"]), dtype=bool)
        for start, stop in spans:
            sound[start:stop] = False
        for name in _NAMES:
            part.arrays[name] = part.arrays[name][sound]
