"""JSON: a list of records. The line number of a record is its place in the list, from 1."""

from __future__ import annotations

from collections.abc import Iterator

from clew.errors import UnreadableSource
from clew.readers import record
from clew.readers.decode import text_of
from clew.readers.walk import File
from clew.types import Document, Skipped


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each record of the list."""
    try:
        values = record.parse(text_of(file))
    except ValueError as error:
        raise UnreadableSource(file.source, str(error)) from None
    if not isinstance(values, list):
        raise UnreadableSource(file.source, "is not a list of records")
    for number, value in enumerate(values, 1):
        if isinstance(value, dict):
            yield record.document(file, value, number)
        else:
            yield Skipped(source=file.source, reason="is not a JSON object", line=number)
