"""Files of graphs, and what other systems keep: documents, and statements about them.

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
from clew.extras.connect.imports.graph_files import graph_file, read_graph_file
from clew.extras.connect.imports.stated import Stated
from clew.index.graph import StatedGraph
from clew.index.layers.imported import Statements
from clew.limits import LIMITS, ReadingLimits
from clew.readers.archive import parts_of
from clew.readers.packed import plain_name
from clew.readers.roots import Roots
from clew.readers.walk import File, os_reason
from clew.text.normalize import entity_key


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


def read_statements(path: Path, limits: ReadingLimits = LIMITS) -> StatedGraph:
    """Return what a file states.

    Raises InputError where there is no such file, or of no known format, and UnreadableSource
    where nothing in it can be used.
    """
    lines, file = read_graph_file(path, limits), graph_file(path)
    read = gather_statements(file, lines)
    if not len(read.stated):
        why = f": {read.skipped[0]}" if read.skipped else ""
        raise UnreadableSource(file.source, f"contains no usable triples{why}")
    return read


def gather_statements(file: File, lines: Iterable[Stated | Skipped]) -> StatedGraph:
    """Return what a file or the folder of another system states, which may be nothing."""
    stated, skipped = Statements(), []
    for each in lines:
        if isinstance(each, Skipped):
            skipped.append(each)
        elif each.described is not None:
            stated.describe(each.described, _find_text(each, each.described.name))
        elif each.triple is not None:
            document_id = _find_text(each, each.triple.subject, each.triple.object)
            if not stated.add(each.triple, document_id):
                reason = f"relates {each.triple.subject!r} to itself, which is left out"
                skipped.append(Skipped(source=file.source, reason=reason, line=each.line))
    if file.path.is_dir():
        file = replace(file, source=f"{file.source}/")  # so that no subject looks like a file of it
    return StatedGraph(file, stated, skipped)


def _find_text(line: Stated, *names: str) -> str:
    """Return the document that a line names; none for names that texts do not have, such as "$"."""
    return line.document_id if line.document_id and all(map(entity_key, names)) else ""
