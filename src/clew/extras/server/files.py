"""Uploaded files: valid names, paths, and removal with their documents.

The files of an index are a folder of the home, `files/NAME`, which is indexed as a folder of that
name: the document of `files/notes/2024/a.md` is `notes/2024/a.md`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from clew import Index, Snapshot
from clew.base.display.shown import Shown
from clew.base.display.visible import visible
from clew.base.types import Document
from clew.errors import InputError
from clew.readers.selection import BY_DEFAULT, MARKS

_LONGEST_PART = 240  # bytes of a name; most file systems take 255
_LONGEST = 1_000  # bytes of a path
_DEEPEST = 32  # folders
_LINE = re.compile(r":\d+$")  # behind the file of a record
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})


def check_file_name(text: str) -> str:
    """Return the path of an uploaded file below the folder of its index.

    Raises InputError for one that leads elsewhere, that no file system or index takes, or that is
    shown as another one than it is.

    >>> check_file_name("2024/March notes.md")
    '2024/March notes.md'
    """
    if not text:
        raise _make_error(text, "is empty")
    if any(unicodedata.category(c) in _CONTROL or c in _TURNING for c in text):
        raise _make_error(text, "has control characters")
    if "\\" in text:
        raise _make_error(text, "has a backslash: folders are parted by /")
    if text.startswith("/") or _DRIVE.match(text):
        raise _make_error(text, "is not relative: name it from the folder on")
    parts = text.split("/")
    if len(text.encode()) > _LONGEST or len(parts) > _DEEPEST:
        raise _make_error(text, "is too long")
    for part in parts:
        _check_part(text, part)
    return text


def _check_part(text: str, part: str) -> None:
    if part in {"", ".", ".."}:
        raise _make_error(text, f"has the part {part!r}, which names no file")
    if len(part.encode()) > _LONGEST_PART:
        raise _make_error(text, "is too long")
    if part[-1] in " ." or part[0] == " ":
        raise _make_error(text, "has a part that begins or ends with a space, or ends with a dot")
    if _DEVICES.match(part):
        raise _make_error(text, f"has the part {part!r}, which is a device on some systems")
    if part in MARKS or any(fnmatchcase(part, each) for each in BY_DEFAULT):
        raise _make_error(text, f"has the part {part!r}, which indexing leaves out")


def _make_error(name: str, why: str) -> InputError:
    shown = visible(name if len(name) <= 80 else f"{name[:79]}…")
    return InputError(f"the name {shown!r} of a file {why}")


def check_places(names: Sequence[str], folder: Path) -> None:
    """Raise InputError if a file and a folder would have the same name.

    The names are among one another's folders, too.
    """
    among = set(names)
    for name in names:
        path = PurePosixPath(name)
        above = (each.as_posix() for each in path.parents)
        if any(each in among or (folder / each).is_file() for each in above):
            raise _make_error(name, "has a folder that is a file here: delete that one first")
        if (folder / name).is_dir():
            raise _make_error(name, "is that of a folder here")


def find_origin(document: Document, folder: Path) -> tuple[Path, bool] | None:
    """Return a document's uploaded file, and whether other documents may come from it.

    None where it came from none below `folder`, or that file is gone.
    """
    for source, is_record in ((document.source, False), (_LINE.sub("", document.source), True)):
        path = Path(source)
        if source and path.is_relative_to(folder) and ".." not in path.parts and path.is_file():
            return path, is_record
    return None


def find_document(snapshot: Snapshot, document_id: str) -> Document | None:
    """Return a document of a snapshot, or None."""
    [row] = snapshot.document_layer.rows([document_id])
    return None if row < 0 else snapshot.documents([row])[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Removal(Shown):
    """The documents and the uploaded files to remove."""

    documents: list[str]
    files: list[str]  # by their names


def plan_removal(snapshot: Snapshot, folder: Path, document_ids: Sequence[str]) -> Removal:
    """Plan the removal of documents and of their uploaded files.

    A file that stayed would bring its document back when the folder is read again. Raises
    InputError for an id that is no document's, and for records of a file that has others, which
    are not named.
    """
    rows = snapshot.document_layer.rows(list(document_ids))
    missing = next((i for i, row in zip(document_ids, rows, strict=True) if row < 0), None)
    if missing is not None:
        raise InputError(f"there is no document {missing!r:.200} in this index")
    pairs = [(d.id, find_origin(d, folder)) for d in snapshot.documents(rows)] if rows else []
    origins = {document_id: file for document_id, file in pairs if file is not None}
    if any(may_have_others for _, may_have_others in origins.values()):
        _check_whole(snapshot, folder, origins)
    paths = sorted({path for path, _ in origins.values()})
    names = [PurePosixPath(path.relative_to(folder)).as_posix() for path in paths]
    return Removal(documents=list(document_ids), files=names)


def remove_documents(index: Index, folder: Path, removal: Removal) -> None:
    """Remove documents, then their files below `folder`; missing files are ignored.

    Raises IndexLocked, and removes nothing, while another process writes.
    """
    present = set(index.documents())
    if left := [each for each in removal.documents if each in present]:
        index.remove(left)
    for name in removal.files:
        path = folder / name
        path.unlink(missing_ok=True)
        for above in path.relative_to(folder).parents[:-1]:  # which may be empty now
            try:
                (folder / above).rmdir()
            except OSError:
                break


def _check_whole(snapshot: Snapshot, folder: Path, origins: dict[str, tuple[Path, bool]]) -> None:
    """Raise InputError if a file would lose only some of its documents."""
    headers = snapshot.document_layer.headers()
    all_of = Counter(origin[0] for each in headers if (origin := find_origin(each, folder)))
    counts = Counter(path for path, _ in origins.values())
    for document_id, (path, _) in origins.items():
        if counts[path] < all_of[path]:
            name = path.relative_to(folder).as_posix()
            raise InputError(
                f"{document_id!r:.200} is one of {all_of[path]:,} documents of the uploaded file"
                f" {name!r:.200}: remove all of them, or upload the file without it"
            )


def write_disposition(name: str) -> str:
    """Return the Content-Disposition header for a download by name (RFC 6266).

    >>> write_disposition('na\u00efve "a".txt')
    "attachment; filename*=utf-8''na%C3%AFve%20%22a%22.txt"
    """
    return f"attachment; filename*=utf-8''{quote(name, safe='', errors='replace')}"


def find_upload_id(names: Iterable[str], folder: Path, index_name: str) -> str | None:
    """Return the first document id that belongs to an uploaded file, or None."""
    # The ids of an index that has another folder of that name begin as the second one says.
    for prefix in (f"{index_name}/", f"{folder.parent.name}/{index_name}/"):
        for each in names:
            below = each.removeprefix(prefix)
            is_inside = each.startswith(prefix) and ".." not in below.split("/")
            if is_inside and (folder / below).is_file():
                return each
    return None
