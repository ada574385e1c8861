"""Import other systems' data as documents and statements.

A package registers a module for each system (`clew.importers`):

    SYSTEM              what it is called
    locate(path)        where its files are, at or below a path; None where they are not
    read(place)         a `System`: documents, statements, and what is not taken

The ids of documents begin with the id of the place, as those of files do. A statement names the
document that it came from, where the system knows it.
"""

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clew import plugins
from clew.base.types import Document, Skipped
from clew.errors import InputError, UnreadableSource
from clew.limits import LIMITS, ReadingLimits
from clew.readers.archive import parts_of
from clew.readers.packed import plain_name
from clew.readers.roots import Roots
from clew.readers.triples import Stated
from clew.readers.walk import File, os_reason


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The contents of another system; both iterables are read once, in this order."""

    name: str
    documents: Iterable[Document | Skipped] = ()
    statements: Iterable[Stated | Skipped] = ()
    left: tuple[str, ...] = ()  # what is there and is not taken, such as "3 community reports"


@contextmanager
def open_system(
    path: Path, roots: Roots, limits: ReadingLimits = LIMITS
) -> Iterator[tuple[File, System] | None]:
    """Yield a system's folder and contents, None for an unsupported file.

    The place becomes a root. Zip files are unpacked into a temporary folder. Raises InputError for
    a folder that is of no system which is known here, or has the files of several.
    """
    given = File(path=path, id="", source=path.as_posix(), named=True, limits=limits)
    with _unzip(given) as opened:
        modules = plugins.load_all("importers")
        pairs = ((module, module.locate(opened.path)) for module in modules)
        module, place = next((pair for pair in pairs if pair[1] is not None), (None, None))
        if module is None or place is None:
            if opened.path.is_dir():
                raise InputError(_explain_unknown(path, [each.SYSTEM for each in modules]))
            yield None
            return
        roots.add(path)
        below = place.relative_to(opened.path).as_posix() if place != opened.path else ""
        id_, source = (f"{of}/{below}".rstrip("/") for of in (roots.id_of(path), opened.source))
        file = replace(opened, path=place, id=id_, source=source)
        yield file, module.read(file)


@contextmanager
def _unzip(file: File) -> Iterator[File]:
    """Yield a file, or the folder unpacked from a zip file."""
    if plain_name(file.path).suffix.lower() != ".zip" or not file.path.is_file():
        yield file
        return
    with TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as folder:
        with parts_of(file, "zip file"), zipfile.ZipFile(file.path) as archive:
            try:
                archive.extractall(folder)  # which leads no name out of the folder
            except OSError as error:  # such as a name that is too long
                raise UnreadableSource(file.source, os_reason(error)) from None
        yield replace(file, path=Path(folder))


def _explain_unknown(path: Path, names: Sequence[str]) -> str:
    if not names:
        return f"{path} is a folder, and no installed package imports folders of other systems"
    return (
        f"{path} is not a folder of {', '.join(names[:-1])} or {names[-1]}. Hint: name the folder "
        "in which the system keeps its files; 'clew index' reads a folder of documents"
    )


def only_folder(path: Path, name: str, below: Iterable[str] = ()) -> Path | None:
    """Return the only folder with a file of this name: `path`, one `below` it, or one inside.

    Names may be patterns. Raises InputError where several folders in `path` have one.
    """
    if not path.is_dir():
        return None
    if any(path.glob(name)):
        return path
    others: list[Path] = []
    for part in (*below, "*"):
        others = others or sorted({each.parent for each in path.glob(f"{part}/{name}")})
    if len(others) > 1:
        names = ", ".join(each.relative_to(path).as_posix() for each in others)
        raise InputError(f"{path} has several folders with {name}: choose one of {names}")
    return others[0] if others else None
