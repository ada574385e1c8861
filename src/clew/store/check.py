"""Look at every byte of an index in a folder: what is damaged, and which documents it concerns."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import DamagedIndex
from clew.store import segments
from clew.store.cache import FOLDER as CACHED
from clew.store.database import FILE, Database
from clew.store.repair import stand_ins
from clew.types import IMPORTED_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clew.store.catalogue import Catalogue
    from clew.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is not as it was written."""

    file: str  # seen from the folder of the index
    what: str
    documents: tuple[str, ...] = ()  # ids whose rows or texts it concerns
    is_cached: bool = False  # it is computed again when it is asked for: nothing is lost


def damages(folder: Path, hash_of: Callable[[Document], str]) -> list[Damage]:
    """Return what is damaged in the index in a folder.

    Raises NotAnIndex where there is none, or where its database cannot be opened at all.
    """
    found = [*of_cache(folder)]
    with closing(Database(folder)) as database:
        database.freeze()
        found += [Damage(file=FILE, what=each) for each in database.faults()]
        return found + of_generation(folder, database, FILE, hash_of)


def of_generation(
    folder: Path, catalogue: Catalogue, file: str, hash_of: Callable[[Document], str]
) -> list[Damage]:
    """Return what is damaged in a catalogue, which is called `file`, and its segments."""
    found: list[Damage] = []
    try:
        live = {row: document_id for document_id, row in catalogue.live_documents()}
        found += _of_texts(catalogue, live, file, hash_of)
        found += _of_segments(folder, catalogue, live)
    except DamagedIndex as error:
        found.append(Damage(file=file, what=str(error)))
    return found


def of_cache(folder: Path) -> Iterator[Damage]:
    """Yield what is damaged of what can be computed again."""
    for path in sorted((folder / CACHED).glob(f"*{segments.SUFFIX}")):
        fault = next(_faults(path), None)
        if fault is not None:
            yield Damage(file=f"{CACHED}/{path.name}", what=fault[1], is_cached=True)


def _of_texts(
    catalogue: Catalogue, live: dict[int, str], file: str, hash_of: Callable[[Document], str]
) -> Iterator[Damage]:
    """Yield the documents that are not those whose hash was written beside them."""
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


def _of_segments(folder: Path, catalogue: Catalogue, live: dict[int, str]) -> Iterator[Damage]:
    """Yield the arrays that are damaged, with the documents whose rows are."""
    sound: set[int] = set()
    broken = []
    registered = catalogue.segments()
    for segment in registered:
        path = folder / "segments" / f"{segment.name}{segments.SUFFIX}"
        rows, faults = _owners(path), list(_faults(path))
        if faults:
            broken.append((path, rows, faults))
        elif rows is not None:
            sound |= rows
    if not broken:
        return
    n_documents, named = catalogue.count("document"), catalogue.all_named()
    lost = stand_ins(folder / "segments", registered, n_documents, named).documents.tolist()
    for path, rows, faults in broken:
        concerned = live.keys() - sound if rows is None else live.keys() & rows & {*lost}
        documents = tuple(live[row] for row in sorted(concerned))
        for _, what in faults:
            yield Damage(file=f"segments/{path.name}", what=what, documents=documents)


def _owners(path: Path) -> set[int] | None:
    """Return the stored documents whose chunks stand in a segment; None: it cannot be told."""
    try:
        found = segments.read(path)
        return set(found["chunk.document"].tolist()) if "chunk.document" in found else set()
    except DamagedIndex:
        return None


def _faults(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each array of a file that is damaged, or the file itself, and what is wrong."""
    try:
        found = segments.read(path)
    except DamagedIndex as error:
        yield "", str(error)
        return
    for name in found:
        try:
            found[name]
        except DamagedIndex:
            yield name, f"the array {name!r} is not what was written"
