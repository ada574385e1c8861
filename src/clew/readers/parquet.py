"""Parquet: each row is a record; its line number is its row, from 1. Needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from clew.errors import UnreadableSource
from clew.readers import record
from clew.readers.walk import File
from clew.runtime.lazy import needs
from clew.types import Document, Skipped

_BATCH_ROWS = 1024


def read(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each row. Raises UnreadableSource where a column is not there."""

    def refuse(columns: Sequence[str]) -> str:
        return record.lacking(columns, file.columns)

    for line, row in enumerate(read_rows(file.path, file.source, refuse), 1):
        yield record.document(file, row, line)


def read_rows(
    path: Path, source: str, refuse: Callable[[Sequence[str]], str] = lambda _: ""
) -> Iterator[dict[str, object]]:
    """Yield the rows of a file; `refuse` says of its columns why they are of no use, or nothing.

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
