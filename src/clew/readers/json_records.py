"""Read JSON: a list of records, one object, or JSON lines.

The line number of a record is its place in the list, from 1. An object is a record if it has a
text, a mapping if each of its values has one (then its keys are their ids), an envelope if one of
its values is a list of such objects, and else text as it stands. Lines are read one at a time, so
their file may be of any size, and one bad byte costs one line.

The text of a Jupyter notebook is that of its cells and of their short outputs, joined by blank
lines. Its title is the first heading of the first Markdown cells, else the file name.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate

from clew.base.types import Document, Heading, Skipped, Value
from clew.errors import UnreadableSource
from clew.readers import chats, record
from clew.readers.decode import open_text, replace_surrogates, text_of
from clew.readers.degenerate import drop_data_urls
from clew.readers.properties import properties
from clew.readers.titled import make_document, stem_title
from clew.readers.walk import Columns, File

_LONGEST_OUTPUT = 1_000  # characters that a cell of a notebook printed


def read_list(file: File) -> Iterator[Document | Skipped]:
    """Yield a document for each record of a list."""
    text = text_of(file)
    try:
        values = record.parse_json(text)
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    with suppress(RecursionError):  # what is nested too deeply is no message
        messages = chats.find_messages(values)
        if messages is not None:
            yield chats.read_messages(file, messages)
            return
    if isinstance(values, dict):
        inside = _records(values, file.columns)
        if inside is None:
            yield Document(id=file.id, text=text, title=stem_title(file), source=file.source)
            return
        values = inside
    if not isinstance(values, list):
        raise UnreadableSource(file.source, "is neither a list of records nor an object")
    for number, value in enumerate(values, 1):
        if isinstance(value, dict):
            yield record.document(file, value, number)
        else:
            yield Skipped(source=file.source, reason="is not a JSON object", line=number)


def _records(value: dict[str, object], columns: Columns) -> list[object] | None:
    """Return the records in an object, itself or a list in it, or None."""
    if record.has_text(value, columns):
        return [value]
    if value and all(
        isinstance(each, dict) and record.has_text(each, columns) for each in value.values()
    ):
        return [{"id": name, **each} for name, each in value.items() if isinstance(each, dict)]
    lists = [
        inner
        for inner in value.values()
        if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner)
    ]
    return lists[0] if len(lists) == 1 and record.has_text(lists[0][0], columns) else None


def read_lines(file: File) -> Iterator[Document | Skipped]:
    """Yield a document for each non-blank line."""
    with open_text(file, guess=True) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _read_line(file, line, number)


def _read_line(file: File, line: str, number: int) -> Document | Skipped:
    try:
        value = record.parse_json(line.rstrip())
    except ValueError as error:
        return Skipped(source=file.source, reason=str(error), line=number)
    if not isinstance(value, dict):
        return Skipped(source=file.source, reason="is not a JSON object", line=number)
    return record.document(file, value, number)


def read_notebook(file: File) -> Iterator[Document]:
    """Yield a notebook as one document."""
    from clew.readers.markdown import headings  # with the parser

    try:
        value = record.parse_json(text_of(file))
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    cells = value.get("cells") if isinstance(value, dict) else None
    about = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise UnreadableSource(file.source, "is not a notebook: it has no list of cells")
    texts = [
        part
        for cell in cells
        if isinstance(cell, dict)
        for part in ((cell.get("cell_type"), _join(cell.get("source", ""))), *_find_outputs(cell))
    ]
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
    """Return the kernel and authors of a notebook."""
    about = given if isinstance(given, dict) else {}
    authors = about.get("authors")
    pairs = [("kernel", about.get("kernelspec"))]
    pairs += [("author", each) for each in authors] if isinstance(authors, list) else []
    return properties((name, each.get("name")) for name, each in pairs if isinstance(each, dict))


def _find_outputs(cell: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the short text outputs of a code cell."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict) or output.get("name") == "stderr":
            continue
        data = output.get("data")
        shown = data.get("text/plain") if isinstance(data, dict) else None
        said = _join(shown or output.get("text") or "")
        if len(said) <= _LONGEST_OUTPUT:
            yield "output", said


def _join(source: object) -> str:
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return replace_surrogates(drop_data_urls(text.strip("\n")))
