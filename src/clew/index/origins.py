"""Track the origin of documents: the roots of their ids, and their files."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.base.runtime.lazy import compile_re
from clew.base.types import IMPORTED_MARK, OCR, Skipped
from clew.errors import InputError
from clew.readers.inputs import Page, Remote, StandardInput, locate_input
from clew.readers.part import ShardPart
from clew.readers.roots import Roots

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from clew.base.types import Document
    from clew.index.adding import AddReport
    from clew.index.options import AddOptions
    from clew.index.snapshot import Snapshot
    from clew.index.store.segmented import Store
    from clew.readers.formats import FindKnown
    from clew.readers.selection import Selection
    from clew.readers.sources import Source
    from clew.readers.unchanged import UnchangedFiles

DESCRIBED = "figures"  # what a store keeps under it: the LLM that described figures last
IMPORTED = "imported"  # what a store keeps under it: the ids of places that imports look after
_READ = "fetched"  # what a store keeps under it: which files and remote entries were read
_PART = "part"  # what a store keeps under it: which of several shards it is
NOTE = "roots"  # what a store keeps the roots under
_LINE = compile_re(r":\d+$")  # behind the file of a record
_UNWRITABLE = "\ufffd"  # what `clew.readers.roots.shown` writes for a byte that is no text


def get_roots(store: Store, folder: Path) -> dict[str, Path]:
    """Return the stored roots of an index in `folder`, at their present places.

    A root that moved together with the index is found by the way from one to the other.
    """
    roots = {}
    for name, place in store.note(NOTE).items():
        beside = Path(os.path.normpath(folder.resolve() / place["relative"]))
        roots[name] = beside if place["relative"] and beside.exists() else Path(place["path"])
    return roots


def store_roots(
    store: Store, folder: Path, roots: Mapping[str, Path], part: ShardPart | None = None
) -> None:
    """Store roots, absolute and relative to the index in `folder`, and its shard number."""
    if part is not None and get_part(store) != part:
        set_part(store, part)
    noted = {}
    for name, place in sorted(roots.items()):
        relative = ""
        with suppress(ValueError):  # another drive
            relative = Path(os.path.relpath(place, folder.resolve())).as_posix()
        noted[name] = {"path": str(place), "relative": relative}
    if noted != store.note(NOTE):
        store.set_note(NOTE, noted)


def get_unchanged(store: Store | None, options: AddOptions) -> UnchangedFiles:
    """Return what an index knows of the files that it has read by these options.

    All are read where `again` says so, and where figures are described: a reply may be there now.
    """
    from clew.readers.unchanged import LOCAL, UnchangedFiles  # which no question needs

    rules = options.columns, options.limits, options.ocr
    if store is None:
        return UnchangedFiles(rules)
    reads_all = options.again or options.describe_figures or store.note(DESCRIBED)
    none: dict[str, Any] = {LOCAL: {}} if reads_all else {}
    return UnchangedFiles(rules, cache(lambda: {**store.note(_READ), **none}), cache(store.hashes))


def store_unchanged(
    store: Store, unchanged: UnchangedFiles, read: dict[str, str], report: AddReport
) -> None:
    """Store which files need no reading as they are now, and report missing remote entries."""
    if report.stopped:
        return
    report.gone += unchanged.find_gone()
    noted = unchanged.to_note(read, store.hashes)
    if noted is not None and noted != store.note(_READ):
        store.set_note(_READ, noted)


def record_imported(store: Store, place_id: str) -> None:
    """Record that the documents of a source are managed by an import."""
    noted = store.note(IMPORTED)
    if place_id not in noted:
        store.set_note(IMPORTED, {**noted, place_id: {}})


def list_file_documents(store: Store) -> list[str]:
    """Return the ids of stored documents that come from files, not from imports."""
    above = tuple(f"{each}/" for each in store.note(IMPORTED))
    return [
        own
        for own, content in store.hashes().items()
        if not (content.startswith(IMPORTED_MARK) or own.startswith(above))
    ]


def get_part(store: Store) -> ShardPart | None:
    """Return the shard number of an index, None if it is not a shard."""
    noted = store.note(_PART)
    return ShardPart(noted["number"], noted["of"]) if noted else None


def set_part(store: Store, part: ShardPart) -> None:
    """Store the shard number of an index."""
    store.set_note(_PART, {"number": part.number, "of": part.n})


def choose_part(store: Store | None, given: ShardPart | None, shown: str) -> ShardPart | None:
    """Return the shard number of an index: the stored one, else the `given` one.

    Raises InputError, which calls the index `shown`, where it remembers another one or has
    documents of other shards.
    """
    part = None if store is None else get_part(store)
    if part is not None and given not in (None, part):
        raise InputError(f"{shown} is shard {part}, not {given}")
    if part is None and given is not None and store is not None:
        other = next((each for each in sorted(store.hashes()) if not given.has(each)), None)
        if other is not None:
            why = f"has the document {other!r:.80}, which is not of the part {given}"
            raise InputError(f"{shown} {why}: name another index")
    return part if given is None else given


def name_roots(store: Store | None, folder: Path, source: Source, name: str) -> Roots:
    """Return the id roots of an index, with a `name` for a new source."""
    roots = Roots({} if store is None else get_roots(store, folder))
    if not name:
        return roots
    if not isinstance(source, str | Path):
        raise InputError(f"the name {name!r} can be given to one folder or file only, not several")
    place = locate_input(source)
    if isinstance(place, Page | Remote):
        raise InputError(f"the name {name!r} is not for a remote source, whose id is its address")
    if isinstance(place, StandardInput):
        return roots
    if not os.path.lexists(place):
        raise InputError(f"there is no file or folder {str(source)!r}")
    roots.add(place, name)
    return roots


def find_gone(
    ids: Iterable[str],
    roots: Roots,
    paths: Iterable[Path],
    selection: Selection | None = None,
    read: Collection[str] = (),
    skipped: Iterable[Skipped] = (),
) -> list[str]:
    """Return the ids below some paths whose files no longer exist.

    With a `selection` through which they were read, also those of files that it left out or that
    are empty now, and those of records that were neither `read` nor `skipped` of a file of which
    others were read.
    """
    folders = {roots.id_of(path): path.resolve() for path in paths}
    above = tuple(folders.values())
    places = roots.places.items()
    folders |= {name: at for name, at in places if any(map(at.is_relative_to, above))}
    files_read = {_LINE.sub("", each) for each in read if _LINE.search(each)}
    lines = [(each.source, each.line) for each in skipped if each.line is not None]
    skipped_files = {source: roots.id_of(Path(source)) for source in {each for each, _ in lines}}
    broken = {f"{skipped_files[source]}:{line}" for source, line in lines}

    def is_gone(each: str) -> bool:
        record_of = _LINE.sub("", each)  # the id of a record ends with its line
        files = {each, record_of}
        places = [(file, place) for file in files for place in _possible_places(file, folders)]
        if record_of in files_read and each not in read and each not in broken:
            return all(_is_missing(place) for place in _possible_places(each, folders))
        return bool(places) and all(
            _is_missing(place, or_empty=selection is not None)
            or (selection is not None and selection.excludes(file))
            for file, place in places
        )

    return [each for each in ids if is_gone(each)] if folders else []


def _possible_places(file_id: str, folders: Mapping[str, Path]) -> list[str]:
    """Return the possible paths of a file, in the folders whose names its id begins with."""
    return [
        f"{folder}{file_id.removeprefix(name)}"
        for name, folder in folders.items()
        if file_id == name or file_id.startswith(f"{name}/")
    ]


def _is_missing(path: str, *, or_empty: bool = False) -> bool:
    """Check whether a file certainly does not exist, rather than being inaccessible or renamed."""
    if _UNWRITABLE in path:
        return False
    try:
        return not os.lstat(path).st_size and or_empty
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def find_recognized(open_newest: Callable[[], Snapshot]) -> FindKnown:
    """Return a function from an id to its document if that was read by OCR.

    It looks into the generation that is the newest when it is asked first.
    """
    newest = cache(open_newest)

    def find(document_id: str) -> Document | None:
        [row] = newest().document_layer.rows([document_id])
        document = newest().documents([row])[0] if row >= 0 else None
        known = document if document and document.metadata.get(OCR) else None
        return known and replace(known, pictures={})

    return find


def refuse_replacing(store: Store, document: Document) -> Skipped | None:
    """Return why a document may not replace the one with its id, which has another file.

    It may where either came from no file, or the other file is gone.
    """
    mine, theirs = (_source_file(each) for each in (document.source, store.source(document.id)))
    if mine is None or theirs is None or mine.samefile(theirs):
        return None
    reason = f"its id {document.id!r} is that of a document from {theirs}, which it is not"
    return Skipped(source=document.source, reason=f"{reason}: give one of them another id")


def _source_file(source: str) -> Path | None:
    """Return the file of a source, or None."""
    for name in (source, _LINE.sub("", source)):
        if name and Path(name).is_file():
            return Path(name)
    return None
