"""Read CSV, TSV and Parquet tables: each row is a record.

Without a column of texts a row is a document that says all its cells: "code: SH-7; shares: 1,200".
A first line with a number names nothing, and is a row itself. A .csv file may use commas,
semicolons, tabs or bars: the separator that a first line such as `sep=;` names, else the one that
cuts most of the first lines into equally many cells. Titles and notes above the header, which fill
fewer columns than the rows below, are left out. The line number of a record is that of its first
line in the file. Parquet: each row is a record, and its line number is its row;
this needs the extra `parquet`.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path

from clew.base.runtime.arguments import SURROGATE
from clew.base.runtime.lazy import needs
from clew.base.types import Document, Skipped
from clew.errors import UnreadableSource
from clew.readers import record
from clew.readers.decode import Lines, open_text
from clew.readers.walk import File
from clew.text.tables import is_number

_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r"\"?sep=(.)\"?\s*", re.IGNORECASE)  # as Excel writes and reads it
_LINES_AHEAD = 24  # that are looked at for the header
_BATCH_ROWS = 1024


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield a document for each row. Raises UnreadableSource for a missing column."""
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
        if missing:
            raise UnreadableSource(file.source, missing)
        if record.is_in_rows(columns, file.columns) and any(map(is_number, columns)):
            rows, columns = chain([header], rows), [""] * len(columns)
        for row in rows:
            yield row if isinstance(row, Skipped) else _read_row(file, columns, *row)


def _rows(file: File, stream: Lines) -> Iterator[tuple[int, list[str]] | Skipped]:
    """Yield the header and each non-blank row with its first line number."""
    delimiter, n_above = _find_header(file)
    for _ in range(n_above):
        stream.readline()
    rows = csv.reader(stream, delimiter=delimiter, strict=True)
    while True:
        line = n_above + rows.line_num + 1
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


def _find_header(file: File) -> tuple[str, int]:
    """Return the delimiter, and the number of lines above the header."""
    with open_text(replace(file, partly=[]), guess=True) as stream:
        lines = list(islice(stream, _LINES_AHEAD))
    named = _SEPARATOR.fullmatch(lines[0]) if lines else None
    n_above = 1 if named else 0
    if file.path.suffix.lower() == ".tsv":
        delimiter = "\t"
    else:
        delimiter = named[1] if named else _choose_delimiter(lines)
    return delimiter, n_above + _count_above(lines[n_above:], delimiter)


def _choose_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that makes most lines equally long.

    Of several it is the one that the first line has most of.
    """

    def rate(delimiter: str) -> tuple[int, int]:
        widths = [len(cells) for _, cells in _read_ahead(lines, delimiter)]
        return sum(a == b > 1 for a, b in pairwise(widths)), lines[0].count(delimiter)

    return max(_DELIMITERS, key=rate) if lines else ","


def _count_above(lines: Sequence[str], delimiter: str) -> int:
    """Return the number of lines above the header: titles, notes and blank lines.

    The header is the first line that fills all of the columns that most lines have, or most of
    them without a digit.
    """
    rows = _read_ahead(lines, delimiter)
    widths = Counter(len(cells) for _, cells in rows if len(cells) > 1)
    width, n = max(widths.items(), key=lambda pair: (pair[1], pair[0]), default=(1, 0))
    for place, cells in rows if n > 1 else ():
        n_filled = sum(map(bool, map(str.strip, cells)))
        is_named = 2 * n_filled > width and not any(map(str.isdigit, "".join(cells)))
        if len(cells) == width and (n_filled == width or is_named):
            return place
    return 0


def _read_ahead(lines: Sequence[str], delimiter: str) -> list[tuple[int, list[str]]]:
    """Return the rows of some lines, each with the number of lines above it."""
    reader = csv.reader(lines, delimiter=delimiter)
    rows: list[tuple[int, list[str]]] = []
    place = 0
    with suppress(csv.Error):  # which is told where the rows are read
        for row in reader:
            rows.append((place, row))
            place = reader.line_num
    return rows


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


def read_parquet(file: File) -> Iterator[Document | Skipped]:
    """Yield a document for each row. Raises UnreadableSource for a missing column."""

    def refuse(columns: Sequence[str]) -> str:
        return record.lacking(columns, file.columns)

    for line, row in enumerate(read_rows(file.path, file.source, refuse), 1):
        yield record.document(file, row, line)


def read_rows(
    path: Path, source: str, refuse: Callable[[Sequence[str]], str] = lambda _: ""
) -> Iterator[dict[str, object]]:
    """Yield the rows of a file; `refuse` returns why its columns are unusable, or "".

    Raises UnreadableSource for that, and where the file is broken.
    """
    with needs("pyarrow", "parquet", "reading a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    with path.open("rb") as stream:
        try:
            table = pq.ParquetFile(stream)
            columns = table.schema_arrow
            if missing := refuse(columns.names):
                raise UnreadableSource(source, missing)
            schema = pa.schema(  # Python's times have no nanoseconds
                column.with_type(pa.timestamp("us", column.type.tz))
                if pa.types.is_timestamp(column.type)
                else column
                for column in columns
            )
            for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                yield from batch.cast(schema, safe=False).to_pylist()
        except pa.ArrowMemoryError:
            raise MemoryError from None  # the process may take no more: that is its limit
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            # pyarrow raises a bare OSError for damage too; ValueError for values Python cannot hold
            reason = " ".join(str(error).split())[:120]
            raise UnreadableSource(source, f"is a broken Parquet file: {reason}") from None
