"""Jupyter notebooks: the text is that of the cells, joined by blank lines; outputs are left out.

The title is the first heading of the first Markdown cells, else the file name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.errors import UnreadableSource
from clew.readers import record
from clew.readers.decode import SURROGATE, text_of
from clew.readers.titled import extracted
from clew.readers.walk import File
from clew.types import Document

_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a notebook."""
    try:
        value = record.parse(text_of(file))
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise UnreadableSource(file.source, "is not a notebook: it has no list of cells")
    texts = [(cell.get("cell_type"), _source(cell)) for cell in cells if isinstance(cell, dict)]
    headings = (_HEADING.search(text) for kind, text in texts if kind == "markdown")
    title = next((found[1] for found in headings if found), "")
    yield extracted(file, [text for _, text in texts if text.strip()], title)


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text.strip("\n"))
