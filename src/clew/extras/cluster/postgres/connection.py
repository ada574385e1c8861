"""A connection to PostgreSQL that accepts the store's SQLite statements."""

import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import Any

from clew.errors import DamagedIndex, InputError, StoreError, StoreUnavailable, write_install
from clew.extras.cluster.postgres.address import IndexAddress

try:
    import psycopg
    from psycopg import errors
except ImportError as error:
    raise InputError(
        f"an index in PostgreSQL needs psycopg: install it with {write_install('postgres')}"
    ) from error


# A host that is gone is noticed within half a minute, by both sides.
LIBPQ = {
    "connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5",
    "keepalives_count": "4", "tcp_user_timeout": "30000", "application_name": "clew",
}  # fmt: skip
_SESSION = {
    "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4",
    "client_connection_check_interval": "5s", "client_min_messages": "warning", "TimeZone": "UTC",
    # A lease lasts as long as its session, and what is read as long as its transaction.
    "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
    "transaction_timeout": "0", "statement_timeout": "0", "lock_timeout": "0",
}  # fmt: skip
# Of those, the ones that this version of PostgreSQL has.
_SET = (
    "SELECT set_config('search_path', %s, false) UNION ALL SELECT set_config(name, value, false)"
    " FROM pg_settings JOIN unnest(%s::text[], %s::text[]) AS wanted (wanted, value)"
    " ON name = wanted"
)
# PostgreSQL keeps no NUL in a text: it stands behind this character, which is doubled otherwise.
_MARK, _NUL, _ITSELF = "\ue400", "\ue400\ue401", "\ue400\ue402"
_ESCAPED = re.compile(f"{_MARK}.")


class QueryResult:
    """The rows of a statement, with the interface of APSW's cursors."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None

    @property
    def get(self) -> Any:  # noqa: ANN401 -- as a column is
        return self._rows[0][0] if self._rows else None


class ConnectionLost(StoreUnavailable):
    """A connection to PostgreSQL failed or was lost."""


class Connection:
    """One session, shared by threads one after another. `?` is a placeholder.

    It ends when nothing refers to it any more, if nobody closed it before.

    Raises Lost where the session ends, StoreError where a statement cannot be run.
    """

    def __init__(self, address: IndexAddress) -> None:
        self._shown = address.shown
        self.lock = threading.RLock()
        self._changed = 0
        with self._translate_errors():
            conninfo = psycopg.conninfo.conninfo_to_dict(address.database)
            options: dict[str, Any] = {**LIBPQ, **conninfo}
            self._session = psycopg.connect(**options, autocommit=True)
            self._finalizer = weakref.finalize(self, self._session.close)
            self._finalizer.atexit = False
            if self._session.info.parameter_status("server_encoding") != "UTF8":
                raise StoreError(
                    f"the database of {self._shown} is not in UTF-8: create one with"
                    f" createdb --encoding UTF8"
                )
            path = f'"{address.schema}"'
            self._session.execute(_SET, (path, [*_SESSION], [*_SESSION.values()]))

    def execute(self, statement: str, values: Sequence[Any] = ()) -> QueryResult:
        with self.lock, self._translate_errors():
            cursor = self._session.execute(
                _convert_statement(statement), [to_database(v) for v in values]
            )
            self._changed = max(cursor.rowcount, 0)
            rows = cursor.fetchall() if cursor.description else []
        return QueryResult([tuple(from_database(value) for value in row) for row in rows])

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.lock, self._translate_errors(), self._session.cursor() as cursor:
            cursor.executemany(
                _convert_statement(statement), [[to_database(v) for v in row] for row in rows]
            )
            self._changed = max(cursor.rowcount, 0)

    def copy(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Copy rows into a table, much faster than one by one."""
        into = f"COPY {name} FROM STDIN"
        with (
            self.lock,
            self._translate_errors(),
            self._session.cursor() as cursor,
            cursor.copy(into) as copy,
        ):
            for row in rows:
                copy.write_row([to_database(value) for value in row])

    def changes(self) -> int:
        """Return the number of rows that the last statement changed."""
        return self._changed

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.lock, self._translate_errors(), self._session.transaction():
            yield

    @property
    def is_lost(self) -> bool:
        return self._session.closed

    def close(self) -> None:
        self._finalizer()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._to_store_error(error) from error

    def _to_store_error(self, error: psycopg.Error) -> StoreError:
        # What PostgreSQL guesses, and which statement it was, stands on further lines.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(". ")
        where = self._shown
        if isinstance(error, (errors.UndefinedTable, errors.UndefinedColumn)):
            return DamagedIndex(f"{where} lacks a table or a column ({reason}): restore a dump")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(f"{where} refused this ({reason}): ask the owner of the database")
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return StoreError(f"{where} is read-only ({reason}): name the primary server to write")
        if isinstance(error, (errors.DiskFull, errors.OutOfMemory)):
            return StoreError(f"{where} has no room ({reason}): free some, and try again")
        if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            return ConnectionLost(
                f"PostgreSQL does not answer at {where} ({reason}): see that it runs, and that"
                f" database, user and password are right; commits are kept"
            )
        return StoreError(f"{where} cannot be used ({reason})")


def lock_number(use: str) -> int:
    """Return the signed 64-bit number of an advisory lock by name."""
    return int.from_bytes(sha256(use.encode()).digest()[:8], signed=True)


@lru_cache(maxsize=256)
def _convert_statement(statement: str) -> bytes:
    """Convert a statement to psycopg's placeholders."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


def convert_table(definition: str) -> str:
    """Return a SQLite table definition in PostgreSQL's form."""
    native = definition.replace("WITHOUT ROWID", "").replace("BLOB", "BYTEA")
    native = native.replace("key TEXT NOT NULL UNIQUE", "key TEXT NOT NULL")  # see `_BY_HASH`
    native = native.replace("text TEXT NOT NULL UNIQUE", "text TEXT NOT NULL")
    native = native.replace("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGSERIAL PRIMARY KEY")
    native = re.sub(r"\bnumber INTEGER PRIMARY KEY", "number BIGSERIAL PRIMARY KEY", native)
    native = re.sub(r"\bINTEGER\b", "BIGINT", native)
    native = re.sub(r"\bREAL\b", "DOUBLE PRECISION", native)
    return re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', native)


def to_database(value: Any) -> Any:  # noqa: ANN401 -- as a column is
    """Return a value in the form that PostgreSQL stores."""
    if isinstance(value, list):
        return [to_database(each) for each in value]
    if isinstance(value, str) and (_MARK in value or "\0" in value):
        return value.replace(_MARK, _ITSELF).replace("\0", _NUL)
    return value


def from_database(value: Any) -> Any:  # noqa: ANN401 -- as a column is
    """Return the value that `to_database` stored."""
    if isinstance(value, Decimal):  # a sum of integers
        return int(value)
    if isinstance(value, str) and _MARK in value:
        return _ESCAPED.sub(lambda match: "\0" if match[0] == _NUL else _MARK, value)
    return value
