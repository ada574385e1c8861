"""Plain text: the text is the whole file, the title its name."""

from __future__ import annotations

from collections.abc import Iterator

from clew.readers.decode import text_of
from clew.readers.titled import stem_title
from clew.readers.walk import File
from clew.types import Document


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a text file."""
    yield Document(id=file.id, text=text_of(file), title=stem_title(file), source=file.source)
