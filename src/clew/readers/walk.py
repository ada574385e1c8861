"""Walk paths to files, in a fixed order.

A folder is read in the order of its names, without what a `Selection` leaves out and without Clew's
own indexes: one may well stand among the documents. A link that leads out of the folder is skipped
unless the `Selection` follows links, and one within it is read where nothing else leads there.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from clew.base.types import Document, Skipped, Value
from clew.limits import LIMITS, ReadingLimits
from clew.readers.roots import Roots, show_name
from clew.readers.selection import Selection

if TYPE_CHECKING:
    from clew.readers.gitignore import Ignored

_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')  # what Windows takes in no name of a file
_INDEX_FILES = ("index.sqlite", "writer.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The table columns or record fields to use, if their names do not show it."""

    text: str = ""
    title: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A regular file, with the id of its document."""

    path: Path
    id: str
    source: str  # the path as the caller gave it, joined with what lies below it
    named: bool = False  # the caller named this very file, not a folder above it
    folder: Path | None = None  # that the caller named, above this file
    columns: Columns = Columns()  # what was said of its columns
    size: int = 0  # bytes
    limits: ReadingLimits = LIMITS
    modified: float = 0.0  # when it was written last, in seconds since 1970; 0: not known
    changed: float = 0.0  # the same, or when it was moved or its times were set
    ocr: bool = False  # pages and pictures without text are read by OCR
    place: str = ""  # the address that it was fetched from; see `clew.readers.remote`
    fingerprint: str = ""  # another one where the content is another; empty: not known
    metadata: Mapping[str, Value] = field(default_factory=dict, compare=False)  # of its documents
    known: Document | None = field(default=None, compare=False)  # the index's, if OCR read it
    # What its reader saw and does not read: a note for each. The next document gets them.
    partly: list[str] = field(default_factory=list, compare=False)
    # What turns its next document into the one that is given.
    after: list[Callable[[Document], Document]] = field(default_factory=list, compare=False)


def files(
    paths: Iterable[Path], roots: Roots | None = None, selection: Selection | None = None
) -> Iterator[File | Skipped]:
    """Yield the files at or below some paths, with ids by the `roots`.

    Paths that lie below no root become roots. Of folders what the `selection` takes is read.
    """
    paths, roots, selection = list(paths), roots or Roots(), selection or Selection()
    for path in paths:
        roots.add(path)
    for path in paths:
        if path.is_dir():
            yield from _walk_below(path, roots, selection)
        else:
            file_id = roots.id_of(path)
            selection.name(file_id)
            yield _file(path, file_id, named=True)


class _Found(NamedTuple):
    """A file or folder below one that was named, whose names go on from those of its folder."""

    path: Path  # as the caller gave it
    place: Path  # without the links above the folder that was named
    real: Path  # without any links
    id: str
    ignored: Ignored | None
    is_folder: bool = True  # of what is no link
    is_link: bool = False


def _walk_below(folder: Path, roots: Roots, selection: Selection) -> Iterator[File | Skipped]:
    root = folder.resolve()
    seen: set[Path] = set()  # where files and folders are that were read, without links
    stack = [_Found(folder, root, root, roots.id_of(root), selection.ignored_above(root))]
    inner: deque[_Found] = deque()  # links to what is below the root
    while stack or inner:
        is_again = not stack
        at = stack.pop() if stack else inner.popleft()
        path, real = at.path, at.real
        try:
            if path is not folder:
                if not selection.takes(path, at.place, folder, at.id, at.ignored):
                    continue
                is_link = at.is_link and path.exists()
                if is_link and (why := _explain_skip(real, root, selection)):
                    selection.leave(at.id)
                    yield Skipped(source=show_name(path.as_posix()), reason=why)
                    continue
                if is_link and not is_again and real.is_relative_to(root):
                    inner.append(at)
                    continue
            if real in seen:
                selection.leave(at.id)
                continue
            seen.add(real)
            if not (path.is_dir() if at.is_link else at.is_folder):
                yield _file(path, at.id, folder)
                continue
            children = list(_enter(at, roots))
            names = (each.path.name for each in children)
            if path is folder or not selection.is_marked(at.id, names):
                stack += children
        except OSError as error:
            yield Skipped(source=show_name(path.as_posix()), reason=os_reason(error))


def _explain_skip(real: Path, root: Path, selection: Selection) -> str:
    """Return why a link is skipped, or ""."""
    if real.is_relative_to(root):
        return ""
    if root.is_relative_to(real):
        return f"links to {show_name(str(real))}, a folder above this one"
    if selection.follow_links:
        return ""
    return f"links to {show_name(str(real))}, outside the folder: read it with --follow-links"


def _enter(at: _Found, roots: Roots) -> Iterator[_Found]:
    """Yield the entries of a folder in reverse order, none for an index."""
    with os.scandir(at.path) as found:
        entries = sorted(found, key=lambda each: each.name, reverse=True)
    if {each.name for each in entries}.issuperset(_INDEX_FILES):
        return
    ignored = at.ignored and at.ignored.enter(at.place)
    named = set(roots.places.values())
    for entry in entries:
        path, place, is_link = at.path / entry.name, at.place / entry.name, entry.is_symlink()
        real = place if at.real is at.place else at.real / entry.name
        yield _Found(
            path,
            place,
            Path(os.path.realpath(path)) if is_link else real,
            roots.id_of(place) if place in named else f"{at.id}/{show_name(entry.name)}",
            ignored,
            entry.is_dir(follow_symlinks=False),
            is_link,
        )


def _file(
    path: Path, file_id: str, folder: Path | None = None, *, named: bool = False
) -> File | Skipped:
    source = show_name(path.as_posix())
    try:
        status = path.stat()
    except OSError as error:
        return Skipped(source=source, reason=os_reason(error))
    if S_ISREG(status.st_mode):
        return File(
            path=path,
            id=file_id,
            source=source,
            named=named,
            folder=folder,
            size=status.st_size,
            modified=status.st_mtime,
            changed=max(status.st_mtime, status.st_ctime),
            fingerprint=f"{path.name}/{status.st_size}/{status.st_mtime_ns}/{status.st_ctime_ns}"
            f"/{status.st_ino}",
        )
    return Skipped(source=source, reason="is not a regular file")


def file_stem(name: str) -> str:
    """Return a file name stem that is valid on any system."""
    name = name.encode(errors="replace")[-200:].decode(errors="ignore")
    return _NO_NAME.sub("_", name) or "file" if os.name == "nt" else name or "file"


def os_reason(error: OSError) -> str:
    """Return the operating system's message, as the end of a sentence."""
    return f"cannot be read: {error.strerror or error}"
