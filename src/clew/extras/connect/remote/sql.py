"""Read the result of an SQL query as a table: SQLite, PostgreSQL and DuckDB.

    sqlite:///notes.db, postgresql://user@host/name, duckdb:///notes.duckdb

A database is opened for reading only, and asked by one SELECT. A row is a document as one of a CSV
file is: its columns are an id, a title and a text, or all of them its text.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from clew.base.runtime.lazy import needs
from clew.base.types import Skipped
from clew.errors import InputError, UnreadableSource
from clew.readers.remote import Entry, RemotePlace

IS_QUERIED = True
_NOT_ONE = "is asked by one SELECT alone"
Rows = tuple[Sequence[str], Iterable[Sequence[Any]]]  # names of columns, and rows


def list_entries(place: RemotePlace) -> Iterator[Entry | Skipped]:
    """Yield the table as a single entry; the query runs when it is fetched."""
    yield Entry(id=place.id, suffix=".csv", fetch=partial(_fetch, place))


def _fetch(place: RemotePlace, path: Path) -> Path:
    scheme = urlsplit(place.address).scheme
    read = {"sqlite": _read_sqlite, "duckdb": _read_duckdb}.get(scheme, _read_postgres)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)

        def write(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
            table.writerow(names)
            table.writerows(rows)

        read(place, write)
    return path


def _database(place: RemotePlace) -> str:
    """Return the database file. Raises InputError if it does not exist."""
    path = unquote(urlsplit(place.address).path).removeprefix("/")
    if not Path(path).is_file():
        raise InputError(f"there is no database {path!r}")
    return path


def _read_sqlite(place: RemotePlace, write: Callable[..., None]) -> None:
    import apsw

    reads = (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE)
    n_statements = count(1)
    try:
        database = apsw.Connection(_database(place), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            database.authorizer = lambda does, *_: (
                apsw.SQLITE_OK if does in reads else apsw.SQLITE_DENY
            )
            database.exec_trace = lambda *_: next(n_statements) == 1
            cursor = database.execute(place.sql)
            names = [name for name, _ in cursor.get_description()]
            write(names, cursor)
        except apsw.ExecutionCompleteError:  # so of a query without a row
            return
        finally:
            database.close()
    except apsw.ExecTraceAbort:
        raise UnreadableSource(place.id, _NOT_ONE) from None
    except apsw.AuthError:
        raise UnreadableSource(place.id, f"{_NOT_ONE}, which reads only") from None
    except apsw.Error as error:
        raise UnreadableSource(place.id, f"cannot be read: {error}") from None
    except UnicodeError:
        raise UnreadableSource(place.id, "has a text that is not valid UTF-8") from None


def _read_duckdb(place: RemotePlace, write: Callable[..., None]) -> None:
    with needs("duckdb", "duckdb", "reading a DuckDB database"):
        import duckdb
    try:
        closed = {"enable_external_access": False}  # a query reads no other file and no address
        with duckdb.connect(_database(place), read_only=True, config=closed) as database:
            kinds = [each.type for each in database.extract_statements(place.sql)]
            if kinds != [duckdb.StatementType.SELECT]:
                raise UnreadableSource(place.id, _NOT_ONE)
            cursor = database.execute(place.sql)
            names = [each[0] for each in cursor.description or ()]
            write(names, iter(cursor.fetchone, None))
    except duckdb.Error as error:
        reason = f"cannot be read: {str(error).splitlines()[0]}"
        raise UnreadableSource(place.id, reason) from None


def _read_postgres(place: RemotePlace, write: Callable[..., None]) -> None:
    with needs("psycopg", "postgres", "reading a PostgreSQL database"):
        import psycopg
    try:
        _, mark, rest = place.address.partition("://")
        with psycopg.connect(f"postgresql{mark}{rest}") as database:
            database.read_only = True
            with database.cursor("clew") as cursor:  # so that rows come as they are needed
                cursor.execute(place.sql.encode())
                rows = iter(cursor)
                first = next(rows, None)
                names = [each.name for each in cursor.description or ()]
                write(names, rows if first is None else chain([first], rows))
    except psycopg.Error as error:
        reason = f"cannot be read: {(str(error).splitlines() or [''])[0]}"
        raise UnreadableSource(place.id, reason) from None
