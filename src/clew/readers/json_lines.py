"""JSON lines: each line is a record. Lines are read one at a time, so a file may be of any size.

They are in UTF-8, as JSON must be, or have a byte order mark: one bad byte costs one line.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.readers import record
from clew.readers.decode import open_text
from clew.readers.walk import File
from clew.types import Document, Skipped


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each line; blank lines are passed over."""
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
