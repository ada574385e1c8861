"""Jupyter notebooks: the text is that of the cells, joined by blank lines; outputs are left out.

The title is the first heading of the first Markdown cells, else the file name.
"""

from collections.abc import Iterator
from itertools import accumulate

from clew.base.types import Document, Heading, Value
from clew.errors import UnreadableSource
from clew.readers import record
from clew.readers.decode import replace_surrogates, text_of
from clew.readers.degenerate import without_data
from clew.readers.markdown import headings
from clew.readers.properties import properties
from clew.readers.titled import make_document
from clew.readers.walk import File


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a notebook."""
    try:
        value = record.parse_json(text_of(file))
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    cells = value.get("cells") if isinstance(value, dict) else None
    about = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise UnreadableSource(file.source, "is not a notebook: it has no list of cells")
    texts = [(cell.get("cell_type"), _source(cell)) for cell in cells if isinstance(cell, dict)]
    texts = [(kind, text) for kind, text in texts if text.strip()]
    starts = accumulate((len(text) + 2 for _, text in texts), initial=0)
    titles = [
        Heading(start + heading.start, heading.level, heading.title)
        for (kind, text), start in zip(texts, starts, strict=False)
        if kind == "markdown"
        for heading in headings(text)
    ]
    title = titles[0].title if titles else ""
    yield make_document(file, [text for _, text in texts], title, _about(about), headings=titles)


def _about(given: object) -> dict[str, Value]:
    """Return the kernel and the authors that a notebook names."""
    about = given if isinstance(given, dict) else {}
    authors = about.get("authors")
    pairs = [("kernel", about.get("kernelspec"))]
    pairs += [("author", each) for each in authors] if isinstance(authors, list) else []
    return properties((name, each.get("name")) for name, each in pairs if isinstance(each, dict))


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return replace_surrogates(without_data(text.strip("\n")))
