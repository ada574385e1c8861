"""Verify every byte of an index in a folder, and list damage with the affected documents."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.base.types import IMPORTED_MARK, Document
from clew.errors import DamagedIndex
from clew.index.store import paid, schema, segments
from clew.index.store.cache import FOLDER as CACHED
from clew.index.store.catalogue import Catalogue
from clew.index.store.database import FILE, NEWEST, Database

_OWNERS = schema.parent_column("chunk")
_NONE = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged file or part, with the affected documents."""

    file: str  # seen from the folder of the index
    what: str
    documents: tuple[str, ...] = ()  # ids whose rows or texts it concerns
    is_cached: bool = False  # it is made again by itself: nothing is lost
    is_paid: bool = False  # it was paid for, and is again where it cannot be read


def find_damages(folder: Path, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return the damage in an index folder and its paid files.

    What can be computed again is deleted if it is damaged. Raises NotAnIndex where there is no
    index, or where its database cannot be opened at all.
    """
    damages = [*find_cache_damages(folder)]
    for each in damages:
        segments.unlink(folder / each.file)
    try:
        opened = Database(folder)
    except DamagedIndex as error:
        if error.__cause__ is None:  # it is sound, and not the one that belongs to the rest
            raise
        damages.append(Damage(file=FILE, what=str(error)))
        return [*damages, *_find_paid_damages(folder, set())]
    with closing(opened) as database:
        names: set[str] = set()
        with suppress(DamagedIndex):  # which is told of the database itself
            names = paid.noted_files(database.meta(paid.NOTE))
        fault = database.newest_fault()
        if fault:
            damages.append(Damage(file=NEWEST, what=fault, is_cached=True))
            database.record_generation()
        database.freeze()
        damages += [Damage(file=FILE, what=each) for each in database.faults()]
        damages += find_generation_damages(folder, database, FILE, hash_of)
        return [*damages, *_find_paid_damages(folder, names)]


def _find_paid_damages(folder: Path, names: set[str]) -> Iterator[Damage]:
    for name, what in paid.find_faults(folder, names):
        yield Damage(file=name, what=what, is_paid=True)


def find_generation_damages(
    folder: Path, catalogue: Catalogue, file: str, hash_of: Callable[[Document], str]
) -> list[Damage]:
    """Return the damage in a catalogue (named `file` in messages) and its segments."""
    damages: list[Damage] = []
    try:
        live = {row: document_id for document_id, row in catalogue.live_documents()}
        damages += _find_text_damages(catalogue, live, file, hash_of)
        damages += _find_segment_damages(folder, catalogue, live)
    except DamagedIndex as error:
        damages.append(Damage(file=file, what=str(error)))
    return damages


def find_cache_damages(folder: Path) -> Iterator[Damage]:
    """Yield the damage in cached arrays, which can be recomputed."""
    for path in sorted((folder / CACHED).glob(f"*{segments.SUFFIX}")):
        fault = next(_find_faults(path), None)
        if fault is not None:
            yield Damage(file=f"{CACHED}/{path.name}", what=fault, is_cached=True)


def _find_text_damages(
    catalogue: Catalogue, live: dict[int, str], file: str, hash_of: Callable[[Document], str]
) -> Iterator[Damage]:
    """Yield the documents whose text does not match its hash."""
    hashes = catalogue.hashes()
    for row, document_id in live.items():
        try:
            [document] = catalogue.documents([row])
        except DamagedIndex as error:
            yield Damage(file=file, what=str(error), documents=(document_id,))
            continue
        written = hashes[document_id]
        if not written.startswith(IMPORTED_MARK) and hash_of(document) != written:
            what = "the document is not what was written"
            yield Damage(file=file, what=what, documents=(document_id,))


def _find_segment_damages(
    folder: Path, catalogue: Catalogue, live: dict[int, str]
) -> Iterator[Damage]:
    """Yield the damaged arrays, with the documents of the damaged rows."""
    names = [f"{segment.name}{segments.SUFFIX}" for segment in catalogue.segments()]
    owners = [_read_column(folder / "segments" / name, _OWNERS) for name in names]
    whole = None if any(each is None for each in owners) else np.concatenate([*owners, _NONE])
    for segment, name, own in zip(catalogue.segments(), names, owners, strict=True):
        path, concerned = folder / "segments" / name, {*live}
        extracted = _read_column(path, schema.parent_column("extraction"))
        if own is not None and len(own):
            concerned = concerned & {*own.tolist()}
        elif whole is not None and extracted is not None:
            concerned = concerned & {*whole[extracted].tolist()}
        documents = tuple(live[row] for row in sorted(concerned))
        for what in _find_faults(path, segment.counts):
            yield Damage(file=f"segments/{name}", what=what, documents=documents)


def _read_column(path: Path, name: str) -> NDArray[np.int32] | None:
    """Return a column of a segment, empty if missing, None if unreadable."""
    try:
        return segments.open_segment(path).get(name, _NONE)
    except DamagedIndex:
        return None


def _find_faults(path: Path, counts: Mapping[str, int] | None = None) -> Iterator[str]:
    """Yield the faults of a file or of its arrays.

    A segment has to have as many rows as were committed: `counts`.
    """
    try:
        segment = segments.open_segment(path)
    except DamagedIndex as error:
        yield str(error)
        return
    if counts not in (None, schema.count_rows_unread(segment)):
        yield "it is not the file that was committed"
        return
    for name in segment:
        try:
            segment[name]
        except DamagedIndex:
            yield f"the array {name!r} is not what was written"
