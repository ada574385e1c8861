"""The catalogue of an index in PostgreSQL, in a schema of its own, and its writer's lease."""

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Self, TypeVar

from clew.base.types import Scalar
from clew.errors import IndexLocked, InputError, NotAnIndex, StoreError
from clew.extras.cluster.postgres.address import IndexAddress
from clew.extras.cluster.postgres.connection import (
    Connection,
    ConnectionLost,
    convert_table,
    lock_number,
)
from clew.index.store.catalogue import SCHEMA, Catalogue
from clew.index.store.segments import SUFFIX

T = TypeVar("T")
_TELLING = ["generation", "identity", "numbering"]
_STATE = "SELECT name, value FROM meta WHERE name = ANY(?) ORDER BY name"

# Keys may be longer than a b-tree takes, and whoever writes adds none twice.
_BY_HASH = {"entity": "key", "term": "text"}
_DROPPED = "clew dropped "  # begins the names of schemas of indexes that were dropped
_OWN_TABLES = (
    # Objects that no row names: they were replaced, or are being written, by a process that may
    # have lost its lease. So their names are kept, and they are deleted again, until then.
    "unused (name TEXT PRIMARY KEY, until TIMESTAMPTZ NOT NULL)",
    "cached (name TEXT NOT NULL, generation INTEGER NOT NULL, PRIMARY KEY (name, generation))",
)


class PostgresCatalogue(Catalogue):
    """One session on the tables of an index.

    A lost session is reopened if that is safe: outside a transaction, and while its frozen
    generation is still the newest. The writer's lease is lost with it.
    """

    def __init__(self, address: IndexAddress) -> None:
        self.address = address
        self.place = address.shown
        self.is_writer = False
        self._lock = threading.RLock()
        self._connection = Connection(address)
        self._frozen_at: tuple[Any, ...] | None = None  # what then told the generation
        self._depth = 0  # of transactions

    @classmethod
    def open(cls, address: IndexAddress) -> Self:
        """Open an index. Raises NotAnIndex if there is none, StoreError."""
        opened = cls(address)
        try:
            opened._check()
        except BaseException:
            opened.close()
            raise
        return opened

    def _check(self) -> None:
        if not self.is_made():
            raise NotAnIndex(f"{self.place} is not a Clew index: create one with 'clew index PATH'")
        self.check_format(self.place)

    @classmethod
    def create(cls, address: IndexAddress, recipe: Mapping[str, Scalar]) -> Self:
        """Create an index, or open an existing one."""
        with closing(cls(address)) as opened:
            if not opened.is_made():
                opened._make(recipe)
        return cls.open(address)

    def is_made(self) -> bool:
        there = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'meta'"
        return bool(self._select(there, (self.address.schema,)))

    def _make(self, recipe: Mapping[str, Scalar]) -> None:
        if not self.address.objects:
            raise InputError(
                f"a new index in PostgreSQL needs a place for its arrays: add"
                f" ?objects=s3://BUCKET/PREFIX or ?objects=FOLDER to {self.place}"
            )
        self.sweep_dropped()
        with self.transaction():
            # Of several that find nothing, one makes the tables.
            self._select(*lock_for_making(self.address))
            if self.is_made():
                return
            self._select(f'CREATE SCHEMA IF NOT EXISTS "{self.address.schema}"')
            for each in (*SCHEMA, *_OWN_TABLES):
                self._select(f"CREATE TABLE {convert_table(each)}")
            self._select("CREATE INDEX ON document (id)")
            for name, column in _BY_HASH.items():
                self._select(f"CREATE INDEX ON {name} USING hash ({column})")
            identity = secrets.token_hex(8)
            self.begin_meta(recipe, objects=self.address.objects, identity=identity)

    def _select(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._retry_once(lambda: self._connection.execute(statement, values).fetchall())

    def _run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        values = list(rows)
        self._retry_once(lambda: self._connection.executemany(statement, values))

    def _select_among(self, statement: str, values: Sequence[Any]) -> Iterator[Any]:
        if values:
            yield from self._select(f"{statement} = ANY(?)", (list(values),))

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        self._retry_once(lambda: self._connection.copy(table, rows))

    def note_vectors(self, rows: Iterable[int]) -> None:
        self._select("UPDATE entity SET named = 1 WHERE row = ANY(?)", (list(rows),))

    def clear_work(self, kind: str, chunks: Iterable[int]) -> None:
        self._select("DELETE FROM work WHERE kind = ? AND chunk = ANY(?)", (kind, list(chunks)))

    def _retry_once(self, ask: Callable[[], T]) -> T:
        """Run a query, and once again if the session had to be reopened."""
        with self._lock:
            try:
                return ask()
            except ConnectionLost:
                if not self._connection.is_lost or not self._reopen():
                    raise
            return ask()

    def _reopen(self) -> bool:
        """Reopen a lost session if that is safe; return whether it was reopened."""
        self.is_writer = False  # the lease ended with the session
        if self._depth:
            return False
        self._connection.close()
        self._connection = Connection(self.address)
        before = self._frozen_at
        if before is not None:
            self.freeze()
            if self._frozen_at != before:
                self._frozen_at = before
                self._connection.close()
                raise StoreError(
                    f"the connection to {self.place} was lost, and with it the generation in use:"
                    f" ask again"
                )
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if not self._depth:
                self._ensure_session()
            self._depth += 1
            try:
                with self._connection.transaction():
                    yield
            finally:
                self._depth -= 1
                self.is_writer = self.is_writer and not self._connection.is_lost

    def _ensure_session(self) -> None:
        """Reopen a lost session, unless it held the lease."""
        was_writer = self.is_writer
        self._select("SELECT 1")
        if was_writer and not self.is_writer:
            raise StoreError(
                f"the connection to {self.place} was lost, and with it the lock for writing:"
                f" run the same command again; commits are kept"
            )

    def freeze(self) -> None:
        self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._frozen_at = tuple(self._connection.execute(_STATE, (_TELLING,)).fetchall())

    def state(self) -> dict[str, Any]:
        return {name: json.loads(value) for name, value in self._select(_STATE, (_TELLING,))}

    def take_lease(self) -> None:
        """Become the only writer for the rest of the session. Raises IndexLocked.

        The lease is a lock of the session that commits: whoever loses it can commit no more.
        """
        key = _key(self.address, "write")
        [(taken,)] = self._select("SELECT pg_try_advisory_lock(?)", (key,))
        if not taken:
            raise IndexLocked(
                f"another process is writing to {self.place}: wait until it is done, or stop it"
            )
        self.is_writer = True
        try:
            with self.transaction():
                self.set_meta("epoch", self.epoch + 1)
        except StoreError:
            self.give_lease()
            raise

    def give_lease(self) -> None:
        self.is_writer = False
        with suppress(StoreError):  # with its session it ends, too
            self._connection.execute("SELECT pg_advisory_unlock_all()")

    @property
    def epoch(self) -> int:
        """The number of writers so far, which prefixes object names to make them unique."""
        return int(self.meta("epoch") or 0)

    def note_unused(self, names: Iterable[str], seconds: int = 0) -> None:
        """Record unreferenced objects, in the current transaction or one of its own.

        `seconds` are how long one that is being written may still appear.
        """
        new = "INSERT INTO unused VALUES (?, now() + ? * interval '1 second')"
        self._run_many(f"{new} ON CONFLICT DO NOTHING", [(name, seconds) for name in names])

    def note_used(self, name: str) -> None:
        """Unmark an object as unused, in the transaction that references it."""
        self._select("DELETE FROM unused WHERE name = ?", (name,))

    def note_deleted(self, names: Iterable[str]) -> None:
        """Forget objects that were deleted for good."""
        gone = "DELETE FROM unused WHERE name = ? AND until <= now()"
        self._run_many(gone, [(name,) for name in names])

    def list_unused(self) -> list[str]:
        return [name for (name,) in self._select("SELECT name FROM unused ORDER BY name")]

    def drop_segments(self, names: Iterable[str]) -> None:
        gone = list(names)
        super().drop_segments(gone)
        self.note_unused(object_of(name) for name in gone)

    def replace_all(
        self, documents: Sequence[int], entities: Sequence[int], terms: Sequence[int]
    ) -> None:
        self.note_unused(object_of(segment.name) for segment in self.segments())
        super().replace_all(documents, entities, terms)

    def vacuum(self) -> None:
        """Free the space of deleted rows, so that PostgreSQL overwrites their texts."""
        self._select("VACUUM document, entity, term")

    def drop(self) -> None:
        """Delete the index at once, and its tables when nobody reads them any more."""
        aside = f"{_DROPPED}{secrets.token_hex(8)}"
        self._select(f'ALTER SCHEMA "{self.address.schema}" RENAME TO "{aside}"')
        self.sweep_dropped()

    def sweep_dropped(self) -> None:
        """Delete the tables of dropped indexes that nobody reads."""
        dropped = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, ?)"
        for (name,) in self._select(dropped, (_DROPPED,)):
            with suppress(StoreError), self.transaction():
                self._select("SET LOCAL lock_timeout = '200ms'")
                self._select(f'DROP SCHEMA "{name}" CASCADE')

    def size_bytes(self) -> int:
        tables = "FROM pg_tables WHERE schemaname = ?"
        size = "sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass))"
        [(n_bytes,)] = self._select(f"SELECT {size} {tables}", (self.address.schema,))
        return int(n_bytes or 0)

    def list_cached(self) -> list[tuple[str, int]]:
        return self._select("SELECT name, generation FROM cached ORDER BY name, generation")

    def add_cached(self, name: str, generation: int) -> None:
        self._select("INSERT INTO cached VALUES (?, ?) ON CONFLICT DO NOTHING", (name, generation))

    def drop_cached(self, name: str, generation: int) -> None:
        self._select("DELETE FROM cached WHERE name = ? AND generation = ?", (name, generation))

    def close(self) -> None:
        if self.is_writer:  # at once: the server notices the end of a session a little later
            self.give_lease()
        self._connection.close()


def object_of(segment: str) -> str:
    """Return the name of the object of a segment."""
    return f"segments/{segment}{SUFFIX}"


def lock_for_making(address: IndexAddress) -> tuple[str, tuple[int]]:
    """Return the statement that serializes the creation of an index's tables."""
    return "SELECT pg_advisory_xact_lock(?)", (_key(address, "make"),)


def _key(address: IndexAddress, use: str) -> int:
    return lock_number(f"clew {use} {address.schema}")
