"""Read the parts of zip-based documents, with limits against zip bombs."""

import posixpath
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, ZipFile, is_zipfile

from clew.errors import UnreadableSource
from clew.limits import LimitMet
from clew.readers.walk import File
from clew.readers.xml_page import parse_xml


class ArchiveParts:
    """The parts of an open zip file."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.names = dict.fromkeys(archive.namelist())  # in their order

    def data(self, name: str) -> bytes:
        """Return a part. Raises ValueError if it does not exist."""
        try:
            return self._archive.read(name)
        except KeyError:
            raise ValueError(f"has no part {name!r}") from None

    def xml(self, name: str) -> Element:
        """Return the root of an XML part. Raises ValueError."""
        return parse_xml(self.data(name))

    def read_relations(self, name: str) -> dict[str, str]:
        """Return the parts that an Office part refers to, by relation id."""
        return {own: part for own, _, part in self._relations(name)}

    def find_related(self, name: str, *kinds: str) -> list[str]:
        """Return the parts of some kinds that a part ("" for the file) refers to."""
        return [
            part for _, kind, part in self._relations(name) if kind in kinds and part in self.names
        ]

    def _relations(self, name: str) -> Iterator[tuple[str, str, str]]:
        """Yield id, kind and target of a part's relations."""
        folder, own = posixpath.split(name)
        relations = posixpath.join(folder, "_rels", f"{own}.rels")
        for each in self.xml(relations).iter("Relationship") if relations in self.names else ():
            if (target := each.get("Target")) and each.get("TargetMode") != "External":
                part = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                yield each.get("Id", ""), each.get("Type", "").rpartition("/")[2], part


@contextmanager
def parts_of(file: File, kind: str) -> Iterator[ArchiveParts]:
    """Open a zip file; damage, or a ValueError in the block, raises UnreadableSource.

    A file whose parts say that they unpack to more than the limit is refused. None is unpacked
    beyond the size that is said of it.
    """
    try:
        with ZipFile(file.path) as archive:
            size = sum(part.file_size for part in archive.infolist())
            if size > file.limits.unpacked_bytes:
                raise LimitMet(f"unpacks to {file.limits.more_than('unpacked_bytes', 'bytes')}")
            yield ArchiveParts(archive)
    except (BadZipFile, EOFError, zlib.error, RuntimeError, ValueError):
        # zipfile does not decrypt nor unpack by all methods: these are RuntimeErrors
        raise UnreadableSource(
            file.source, f"is a broken or encrypted {kind}, or not one"
        ) from None


def check_zip_bomb(file: File, kind: str) -> None:
    """Raise UnreadableSource for a zip file that is broken or unpacks to too much data."""
    if is_zipfile(file.path):
        with parts_of(file, kind):
            pass
