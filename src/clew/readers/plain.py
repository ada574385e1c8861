"""Plain text, markup and source code: the text is the whole file.

The title is what the markup says it is, else the file name. Headings are those of the markup, and
what source code defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.readers.code import definitions
from clew.readers.decode import text_of
from clew.readers.markup import headings
from clew.readers.titled import stem_title, without_title
from clew.readers.walk import File
from clew.types import Document

_UNDERLINED = re.compile(r"^(\S.*)\r?\n([=\-~^\"'#*+])\2{2,}[ \t]*$", re.MULTILINE)
_TITLES = {
    ".rst": _UNDERLINED,
    ".org": re.compile(r"^#\+title:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE),
    ".adoc": re.compile(r"^=[ \t]+(.+)$", re.MULTILINE),
    ".asciidoc": re.compile(r"^=[ \t]+(.+)$", re.MULTILINE),
    ".tex": re.compile(r"\\title\{([^{}]+)\}"),
}


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a text file."""
    text, suffix = text_of(file), file.path.suffix.lower()
    pattern = _TITLES.get(suffix)
    found = pattern.search(text) if pattern else None
    title = " ".join(found[1].split()) if found else ""
    title = title or stem_title(file)
    found_headings = without_title(headings(text, suffix), title) or definitions(text, suffix)
    yield Document(
        id=file.id, text=text, title=title, source=file.source, headings=tuple(found_headings)
    )
