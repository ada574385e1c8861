"""CSV and TSV: the first line names the columns, each further row is a record.

Without a column of texts a row is a document that says all its cells: "code: SH-7; shares: 1,200".
A first line with a number names nothing, and is a row itself. A .csv file may use commas,
semicolons, tabs or bars: whichever its first line has most of. The line number of a record is that
of its first line in the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain

from clew.errors import UnreadableSource
from clew.readers import record
from clew.readers.decode import SURROGATE, Lines, open_text
from clew.readers.walk import File
from clew.text.tables import is_number
from clew.types import Document, Skipped


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each row. Raises UnreadableSource where a column is not there."""
    csv.field_size_limit(file.limits.text_characters)
    with open_text(file, guess=True) as stream:
        rows = _rows(file, stream)
        header = next(rows, None)
        if header is None:
            return
        if isinstance(header, Skipped):
            raise UnreadableSource(header.source, header.reason, header.line)
        columns = [name.strip() for name in header[1]]
        missing = record.lacking(columns, file.columns)
        in_rows = record.is_in_rows(columns, file.columns)
        if missing and not in_rows:
            raise UnreadableSource(file.source, missing)
        if in_rows and any(map(is_number, columns)):
            rows, columns = chain([header], rows), [""] * len(columns)
        for row in rows:
            yield row if isinstance(row, Skipped) else _read_row(file, columns, *row)


def _rows(file: File, stream: Lines) -> Iterator[tuple[int, list[str]] | Skipped]:
    """Yield each row that is not blank with the number of its first line."""
    first = stream.readline()
    delimiter = "\t" if file.path.suffix.lower() == ".tsv" else max(",;\t|", key=first.count)
    rows = csv.reader(chain([first], stream), delimiter=delimiter, strict=True)
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            reason = f"is not valid CSV: {error}"
            if "field limit" in reason:
                reason = f"has a field of {file.limits.more_than('text_characters', 'characters')}"
            yield Skipped(source=file.source, reason=reason, line=line)
            continue
        if any(map(str.strip, row)):
            yield line, row


def _read_row(file: File, columns: list[str], line: int, row: list[str]) -> Document | Skipped:
    if len(row) > len(columns):
        reason = f"has {len(row)} fields, where the first line has {len(columns)}"
        return Skipped(source=file.source, reason=reason, line=line)
    if any(SURROGATE.search(value) for value in row):
        return Skipped(source=file.source, reason="is not valid UTF-8 text", line=line)
    pairs = list(zip(columns, row, strict=False))
    if record.is_in_rows(columns, file.columns):
        return record.row_document(file, pairs, line)
    values = {name: value for name, value in pairs if name}
    return record.document(file, values, line)
