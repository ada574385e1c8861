"""Back up an index as one archive of a committed generation, during writes.

A backup is a tar file, gzipped where its name says so. It holds the SQLite files and, behind them,
the segments of one generation. These have checksums of their own, and the database says which
segments there are, so a restored index tells whether it is whole. While a backup is written it
holds a read transaction and not the writer's lock, so a job of hours does not keep it out.
"""

import gzip
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clew.base.display.shown import Shown
from clew.base.runtime import sqlite
from clew.base.runtime.private import make_folder, make_inner_folder, open_file
from clew.errors import AlreadyExists, DamagedIndex, InputError, NotAnIndex, StoreError
from clew.index.store import opening, paid
from clew.index.store.database import FILE, Database
from clew.index.store.segments import SUFFIX, MissingSegment

_MEMBER = re.compile(rf"(?:index|calls|embeddings)\.sqlite|segments/[0-9]{{6,}}{re.escape(SUFFIX)}")
_PIECE = 1 << 20
_LEVEL = 1  # of gzip: vectors hardly shrink, and texts do at once
_TRIES = 50  # to open the segments of a generation while merges replace them
_BUSY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Backup(Shown):
    """An archive of an index, or the result of restoring one."""

    path: str
    generation: int
    n_documents: int
    n_bytes: int  # of the archive


def write_backup(folder: Path, target: Path) -> Backup:
    """Write the newest generation of an index to an archive, without blocking others.

    Raises InputError for a target that is there, or is no archive's, and for an index in
    PostgreSQL; NotAnIndex; and StoreError where it cannot be written.
    """
    if target.suffix not in (".tgz", ".tar") and not target.name.endswith(".tar.gz"):
        raise InputError(f"{target} is not a valid backup name: it must end in .tar.gz or .tar")
    _check_target(folder, target)
    place = opening.address_of(folder)
    if place is not None:
        raise InputError(place.explain_backup())
    try:
        with ExitStack() as stack:
            # Beside the target, so that it can be renamed; killed, only this folder is left.
            place = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            stack.callback(shutil.rmtree, place, ignore_errors=True)
            database, segments = stack.enter_context(_open_generation(folder))
            generation = int(database.meta("generation"))
            database.copy(place / FILE)
            for name in paid.FILES:  # later: they hold at least what the generation needs
                _copy_paid(folder / name, place / name, generation)
            target_path = place / target.name
            with open_file(target_path) as file:
                _write_archive(file, target_path, segments)
                file.flush()
                os.fsync(file.fileno())
            n, n_bytes = len(database.live_documents()), target_path.stat().st_size
            backup = Backup(path=str(target), generation=generation, n_documents=n, n_bytes=n_bytes)
            _check_target(folder, target)
            target_path.replace(target)
    except sqlite.Error as error:
        raise StoreError(f"{folder} cannot be copied ({error}): 'clew check' says more") from error
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written ({error.strerror or error}): name another place"
        ) from error
    return backup


def _check_target(folder: Path, target: Path) -> None:
    if target.exists():
        raise AlreadyExists(f"{target} exists and is not overwritten: choose another name")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent}: create it first")
    if folder.resolve() in target.resolve().parents:
        raise InputError(f"{target} is inside the index: choose another folder")


@contextmanager
def _open_generation(folder: Path) -> Iterator[tuple[Database, Mapping[str, BinaryIO]]]:
    """Yield a database in a read transaction, with its segments kept open."""
    for tries in range(_TRIES):
        with ExitStack() as stack:
            database = stack.enter_context(closing(Database(folder)))
            database.freeze()
            names = [f"segments/{each.name}{SUFFIX}" for each in database.segments()]
            try:
                segments = {name: stack.enter_context((folder / name).open("rb")) for name in names}
            except FileNotFoundError as error:
                if tries < _TRIES - 1:
                    continue  # a merge or a compaction came between
                raise MissingSegment(f"{error.filename} is missing: see 'clew check'") from error
            yield database, segments
            return


def _copy_paid(path: Path, copy: Path, generation: int) -> None:
    if not path.exists():
        return
    with closing(sqlite.connect(path, wait=_BUSY_S)) as connection:
        sqlite.copy(connection, copy)
    with closing(sqlite.connect(copy, wait=_BUSY_S)) as connection:
        # What later writes cost is not of this generation.
        if sqlite.rows(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'cost'"):
            connection.execute("DELETE FROM cost WHERE generation > ?", (generation,))


def _write_archive(file: BinaryIO, target: Path, segments: Mapping[str, BinaryIO]) -> None:
    """Write an archive of the files beside `target`, followed by segments."""
    with ExitStack() as stack:
        sink: BinaryIO | gzip.GzipFile = file
        if target.suffix != ".tar":
            sink = stack.enter_context(gzip.GzipFile("", "wb", _LEVEL, file, mtime=0))
        archive = stack.enter_context(
            tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT)
        )
        copies = [target.with_name(name) for name in (FILE, *paid.FILES)]
        opened = {p.name: stack.enter_context(p.open("rb")) for p in copies if p.exists()}
        for name, source in {**opened, **segments}.items():
            member = tarfile.TarInfo(name)
            member.size = source.seek(0, os.SEEK_END)
            member.mode = 0o600
            source.seek(0)
            archive.addfile(member, source)


# -- and back --------------------------------------------------------------------------------------


def check_new(folder: Path) -> None:
    """Raise InputError if a folder exists and is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AlreadyExists(f"{folder} exists, and is not overwritten: choose another name")


@contextmanager
def unpack(source: Path, folder: Path) -> Iterator[tuple[Path, Backup]]:
    """Yield a temporary folder with an archive's files, renamed to `folder` at the end.

    Raises InputError for what is no whole backup, or where anything is there; StoreError where it
    cannot be written. Where the block raises nothing is left.
    """
    check_new(folder)
    try:
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            backup = _unpack(source, place / "index")
            yield place / "index", backup
            check_new(folder)
            if folder.exists():
                folder.rmdir()
            (place / "index").rename(folder)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    except OSError as error:
        raise StoreError(
            f"{source} cannot be restored to {folder} ({error.strerror or error}): check the folder"
        ) from error


def _unpack(source: Path, place: Path) -> Backup:
    try:
        size = source.stat().st_size
        with tarfile.open(source, "r:*") as archive:
            _extract_files(archive, place)
    except FileNotFoundError as error:
        raise InputError(f"there is no backup {source}: name the file") from error
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(":")  # of all kinds of archives one is told
        raise InputError(
            f"{source} is not a complete backup ({reason}): it is damaged or truncated"
        ) from error
    try:
        with closing(Database(place)) as database:
            generation = int(database.meta("generation"))
            database.record_generation()
            n = len(database.live_documents())
    except (DamagedIndex, NotAnIndex) as error:
        raise InputError(f"{source} holds a damaged index ({error}): use another backup") from error
    return Backup(path=str(source), generation=generation, n_documents=n, n_bytes=size)


def _extract_files(archive: tarfile.TarFile, place: Path) -> None:
    """Extract an archive; every file must be part of an index."""
    make_folder(place)
    make_inner_folder(place / "segments")
    for member in archive:
        content = archive.extractfile(member) if member.isreg() else None
        path = place / member.name
        if content is None or not _MEMBER.fullmatch(member.name) or path.exists():
            raise InputError(
                f"{archive.name!s} is not a backup of an index: it has {member.name!r:.100}"
            )
        with open_file(path) as file:
            shutil.copyfileobj(content, file, _PIECE)
            file.flush()
            os.fsync(file.fileno())
