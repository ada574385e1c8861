"""Paths to files, in a fixed order.

A folder is read in the order of its names, hidden files and folders left out, and so are Clew's own
indexes: one may well stand among the documents. A link to a folder is followed once, and not at all
if it leads into the folder that is read anyway or above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from clew.readers.roots import Roots, shown
from clew.types import Skipped

_INDEX_FILES = ("index.sqlite", "writer.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A regular file, and what its document will be called."""

    path: Path
    id: str
    source: str  # the path as the caller gave it, joined with what lies below it
    named: bool = False  # the caller named this very file, not a folder above it


def files(paths: Iterable[Path], roots: Roots | None = None) -> Iterator[File | Skipped]:
    """Yield the files that are named or lie below a named folder, with their ids by the `roots`.

    Paths that lie below no root become roots.
    """
    paths, roots = list(paths), roots or Roots()
    for path in paths:
        roots.add(path)
    for path in paths:
        if path.is_dir():
            yield from _below(path, roots)
        else:
            yield _file(path, roots.id_of(path), named=True)


def _below(folder: Path, roots: Roots) -> Iterator[File | Skipped]:
    root = folder.resolve()
    seen: set[Path] = set()
    stack = [folder]
    while stack:
        path = stack.pop()
        try:
            if path.is_dir():
                if path == folder or not _leads_home(path, root):
                    stack += sorted(_visible(path, seen), reverse=True)
            else:
                yield _file(path, roots.id_of(root / path.relative_to(folder)))
        except OSError as error:
            yield Skipped(source=shown(path.as_posix()), reason=os_reason(error))


def _leads_home(path: Path, root: Path) -> bool:
    real = path.resolve()
    return path.is_symlink() and (real.is_relative_to(root) or root.is_relative_to(real))


def _visible(path: Path, seen: set[Path]) -> list[Path]:
    """Return what a folder holds, the first time that it is seen; nothing of an index."""
    real = path.resolve()
    if real in seen or all((path / name).exists() for name in _INDEX_FILES):
        return []
    seen.add(real)
    return [child for child in path.iterdir() if not child.name.startswith(".")]


def _file(path: Path, file_id: str, *, named: bool = False) -> File | Skipped:
    source = shown(path.as_posix())
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Skipped(source=source, reason=os_reason(error))
    if S_ISREG(mode):
        return File(path=path, id=file_id, source=source, named=named)
    return Skipped(source=source, reason="is not a regular file")


def os_reason(error: OSError) -> str:
    """Return what the operating system said, as the end of a sentence about the file."""
    return f"cannot be read: {error.strerror or error}"
