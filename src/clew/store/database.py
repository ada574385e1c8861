"""The rows of an index that are text, in one SQLite file; the only module with SQL of the store.

Array rows (chunks, sentences, mentions, counts) refer to these rows by number. A transaction here
is the only commit point of an index.
"""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw

from clew import sqlite
from clew.errors import DamagedIndex, IndexLocked, NotAnIndex, StoreError
from clew.private import open_file
from clew.store import Touched
from clew.types import Apparatus, Document, Heading, Scalar

FORMAT = 8
# Of 6 vectors are float32 and int8, of 7 in more bits, until they are written anew.
_READABLE = (6, 7, FORMAT)
FILE = "index.sqlite"
NEWEST = "generation.json"  # beside the database: the newest generation that was committed
LOCK = "writer.lock"

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE segment (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, level INTEGER NOT NULL,
    counts TEXT NOT NULL
);
CREATE TABLE document (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL, live INTEGER NOT NULL, hash TEXT NOT NULL,
    title TEXT NOT NULL, source TEXT NOT NULL, body_start INTEGER NOT NULL,
    metadata TEXT NOT NULL, headings TEXT NOT NULL, pages TEXT NOT NULL, apparatus TEXT NOT NULL,
    text_crc32 INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE INDEX document_by_id ON document (id);
CREATE TABLE entity (row INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, named INTEGER NOT NULL);
CREATE TABLE term (row INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE work (
    kind TEXT NOT NULL, chunk INTEGER NOT NULL, pack INTEGER NOT NULL, PRIMARY KEY (kind, chunk)
) WITHOUT ROWID;
CREATE TABLE alias (key TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
"""
# What each generation removed or brought back; -1 for anything else but what it added.
_TOUCHED = """
CREATE TABLE IF NOT EXISTS touched (
    generation INTEGER NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (generation, document)
) WITHOUT ROWID
"""
_ELSE = -1
_COLUMNS = (
    "id", "text", "title", "source", "body_start", "metadata", "headings", "pages", "apparatus",
)  # fmt: skip
_TABLES = {"document": "id", "entity": "key", "term": "text"}
_COPY = "copy the whole folder, while nobody writes to it"
_NOT_NOTES = (
    "format", "generation", "numbering", "recipe", "next_segment", "compacted", "forgotten",
)  # fmt: skip
_MOST_ROWS = 1 << 40
_BUSY_S = 30.0  # how long a transaction waits for another process
_LOG = (
    4 << 20
)  # bytes of the write-ahead log that readers let be, and that are kept of a larger one
_AGAIN_S = 1.0  # between two tries to get readers out of the log
_VARIABLES = 500  # per statement: old SQLite builds take 999


@dataclass(frozen=True, slots=True)
class Segment:
    """A registered segment; its level is how many merges it went through."""

    name: str
    level: int
    counts: Mapping[str, int]  # rows of each stored layer that it has


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """What can be read of a damaged database."""

    documents: Sequence[tuple[Document, str]]  # the live ones, with their hashes
    lost: Sequence[str]  # ids of live documents whose texts cannot be read, as far as known
    notes: Mapping[str, Any]
    aliases: Mapping[str, str]


def is_blank(path: Path) -> bool:
    """Say whether there is no database, or one that a killed process left without tables."""
    try:
        if not path.exists():
            return True
    except PermissionError as error:
        raise StoreError(f"{path.parent} may not be read: ask its owner to allow it") from error
    try:
        with closing(sqlite.connect(path, wait=_BUSY_S)) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except sqlite.Error:
        return False  # opening it will say what is wrong


class Database:
    """One connection, for any number of threads; its lock lets them in one after the other.

    It closes when nothing refers to it any more, if nobody closed it before.
    """

    def __init__(self, folder: Path, *, recipe: Mapping[str, Scalar] | None = None) -> None:
        """Open the database in `folder`, or make it there when `recipe` is given."""
        self.path = folder / FILE
        if recipe is None and is_blank(self.path):
            if _newest(folder) > 0:
                raise DamagedIndex(f"{folder} is an index without its {FILE}-wal: {_COPY}")
            raise NotAnIndex(f"{folder} is not a Clew index: make one with 'clew index PATH'")
        self._lock = threading.RLock()
        self._finalizer: weakref.finalize[..., Database] | None = None
        with _explained(self.path):
            self._hold(sqlite.connect(self.path, wait=_BUSY_S))
        self._tried = 0.0  # when this reader last tried to get out of the log
        try:
            if recipe is not None:
                self._create(recipe)
            newest = _newest(folder)  # before: another process may commit meanwhile
            self._check_format(folder)
            self._check_generation(newest)
            self._set_up()
        except BaseException:
            self._connection.close()
            raise

    def _hold(self, connection: sqlite.Connection) -> None:
        """Use a connection from now on, and close the former one."""
        if self._finalizer is not None:
            self._finalizer()
        self._connection = connection
        self._finalizer = weakref.finalize(self, connection.close)
        self._finalizer.atexit = False

    def _let_go(self) -> sqlite.Connection:
        """Return the connection, which is another one's now."""
        if self._finalizer is not None:
            self._finalizer.detach()
        return self._connection

    def _set_up(self) -> None:
        self._all("PRAGMA synchronous = FULL")
        self._all(f"PRAGMA journal_size_limit = {_LOG}")

    def _create(self, recipe: Mapping[str, Scalar]) -> None:
        if self._all("SELECT 1 FROM sqlite_master"):  # ours or not: nothing to make
            return
        self._all("PRAGMA journal_mode = WAL")
        with self.transaction():
            if not self._all("SELECT 1 FROM sqlite_master"):  # nobody else made it meanwhile
                sqlite.mark(self._connection)
                for statement in (*_SCHEMA.split(";"), _TOUCHED):
                    self._all(statement)
                self.set_meta("format", FORMAT)
                self.set_meta("generation", 0)
                self.set_meta("numbering", 0)
                self.set_meta("recipe", dict(recipe))

    def _check_format(self, folder: Path) -> None:
        try:
            with _explained(self.path):
                sqlite.check(self._connection, self.path)
            found = self.meta("format")
        except DamagedIndex as error:
            if isinstance(error.__cause__, apsw.SQLError):  # no such table
                raise NotAnIndex(f"{self.path} is not a Clew index ({error.__cause__})") from error
            raise
        if found is None:
            raise NotAnIndex(f"{self.path} is not a Clew index (it has no format)")
        if found not in _READABLE:
            raise NotAnIndex(
                f"{folder} has index format {found}, this version reads {FORMAT}: index again"
            )

    def set_format(self, recipe: Mapping[str, Scalar]) -> None:
        """Say that the index is of this version's format, inside a transaction."""
        if self.meta("format") != FORMAT:
            self.set_meta("format", FORMAT)
            self.set_meta("recipe", dict(recipe))

    def _check_generation(self, newest: int) -> None:
        """Raise DamagedIndex where commits that were made are not in the database any more."""
        found = int(self.meta("generation"))
        if found < newest:
            raise DamagedIndex(
                f"{self.path} has generation {found} and {NEWEST} says {newest}: "
                f"{FILE}-wal, which held the others, is missing or damaged: {_COPY}, or delete "
                f"{NEWEST} to go on with what there is"
            )

    def close(self) -> None:
        with self._lock:
            if self._finalizer is not None:
                self._finalizer()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block as one write transaction."""
        with self._lock, _explained(self.path), sqlite.transaction(self._connection):
            yield

    def tell_generation(self) -> None:
        """Note beside the database which generation was committed, so that a loss is seen."""
        told = {"generation": int(self.meta("generation"))}
        told["crc32"] = crc32(json.dumps(told).encode())
        path = self.path.with_name(NEWEST)
        own = path.with_name(f"{NEWEST}.tmp")
        with suppress(OSError):  # it says less than there is, then: nothing is lost
            with open_file(own) as file:
                file.write(json.dumps(told).encode())
            own.replace(path)

    def copy(self, path: Path) -> None:
        """Write what the open read transaction sees to a new file."""
        with self._lock, _explained(self.path):
            sqlite.copy(self._connection, path)

    def freeze(self) -> None:
        """Begin a read transaction: later commits of others stay unseen until `close`."""
        self._all("BEGIN")
        self.meta("generation")

    def leave_log(self) -> None:
        """Read this generation without the write-ahead log, if that is long and not needed for it.

        SQLite begins its log anew only where no reader is in it, and a process that always reads,
        as a server does, would be in it forever. For a connection that is frozen.
        """
        if self._log_bytes() <= _LOG or time.monotonic() < self._tried + _AGAIN_S:
            return
        with self._lock:
            self._tried = time.monotonic()
            if not sqlite.may_be_written(self.path):
                return
            other = Database(self.path.parent)
            try:
                [(_, logged, done)] = other._all("PRAGMA wal_checkpoint(PASSIVE)")
                other.freeze()
                if done < logged or other.meta("generation") != self.meta("generation"):
                    return
                self._hold(other._let_go())
            finally:
                other.close()

    def _log_bytes(self) -> int:
        with suppress(OSError):
            return self.path.with_name(f"{self.path.name}-wal").stat().st_size
        return 0

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, _explained(self.path):
            return self._connection.execute(statement, values).fetchall()

    def _many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._lock, _explained(self.path):
            self._connection.executemany(statement, rows)

    # -- facts about the index ------------------------------------------------------------

    def meta(self, name: str) -> Any:  # noqa: ANN401 -- as JSON is
        """Return the JSON value kept under `name`, None where there is none."""
        rows = self._all("SELECT value FROM meta WHERE name = ?", (name,))
        try:
            return json.loads(rows[0][0]) if rows else None
        except (TypeError, ValueError) as error:
            raise DamagedIndex(f"{self.path} has no readable {name!r}: index again") from error

    def set_meta(self, name: str, value: object) -> None:
        """Keep a JSON value under `name`."""
        text = json.dumps(value, sort_keys=True)
        self._all("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))

    def segments(self) -> list[Segment]:
        """Return the registered segments, oldest first."""
        rows = self._all("SELECT name, level, counts FROM segment ORDER BY number")
        try:
            return [Segment(str(name), int(level), json.loads(c)) for name, level, c in rows]
        except (TypeError, ValueError) as error:
            raise DamagedIndex(
                f"{self.path} is damaged (its segments): 'clew check' says more"
            ) from error

    def add_segment(self, segment: Segment) -> None:
        """Register a segment behind all others."""
        self._all(
            "INSERT INTO segment (name, level, counts) VALUES (?, ?, ?)",
            (segment.name, segment.level, json.dumps(segment.counts, sort_keys=True)),
        )

    def drop_segments(self, names: Iterable[str]) -> None:
        """Forget segments; their rows must have moved."""
        self._many("DELETE FROM segment WHERE name = ?", [(name,) for name in names])

    def count(self, table: str) -> int:
        """Return how many rows `table` has, dead ones included; they are numbered from 0."""
        last = self._all(f"SELECT max(row) FROM {_known(table)}")[0][0]
        return 0 if last is None else int(last) + 1

    # -- documents ----------------------------------------------------------------------------

    def add_documents(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        """Add live documents; each replaces the live one of its id."""
        self.kill([d.id for d in documents])
        first = self.count("document")
        self._many(
            "INSERT INTO document VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    first + i,
                    d.id,
                    content,
                    d.title,
                    d.source,
                    d.body_start,
                    _metadata(d),
                    json.dumps([(h.start, h.level, h.title) for h in d.headings]),
                    json.dumps(d.pages),
                    _apparatus(d),
                    crc32(d.text.encode()),
                    d.text,
                )
                for i, (d, content) in enumerate(zip(documents, hashes, strict=True))
            ],
        )

    def kill(self, ids: Sequence[str]) -> list[str]:
        """Mark live documents as removed; return the ids that were live."""
        live = "SELECT row FROM document WHERE id = ? AND live"
        rows = {i: row for i in dict.fromkeys(ids) for (row,) in self._all(live, (i,))}
        gone = list(rows)
        self._many("UPDATE document SET live = 0 WHERE id = ?", [(i,) for i in gone])
        if gone:
            self._touch(rows.values())
        return gone

    def _touch(self, rows: Iterable[int] = (_ELSE,)) -> None:
        """Note that the next generation removes documents, or changes something else."""
        self._all(_TOUCHED)
        generation = int(self.meta("generation")) + 1
        self._many("INSERT OR IGNORE INTO touched VALUES (?, ?)", [(generation, r) for r in rows])

    def touched(self, since: int, first: int) -> list[Touched] | None:
        """Return what was removed since a generation; then what came, came back or moved, by id.

        What was added stands in the rows from the `first` on. None where that is not known, or
        something else changed.
        """
        if since < int(self.meta("forgotten") or 0):
            return None
        old: list[int] = []
        if self._all("SELECT 1 FROM sqlite_master WHERE name = 'touched'"):
            since_then = "SELECT DISTINCT document FROM touched WHERE generation > ?"
            old = [row for (row,) in self._all(since_then, (since,)) if row < first]
        if _ELSE in old:
            return None
        state = "SELECT live, id FROM document WHERE row = ?"
        known = [(row, *self._all(state, (row,))[0]) for row in old]
        came = [(i, row) for row, live, i in known if live]
        came += self._all("SELECT id, row FROM document WHERE row >= ? AND live", (first,))
        before = "SELECT row FROM document WHERE id < ? AND live ORDER BY id DESC LIMIT 1"
        return [
            *(Touched(row, live=False, after=-1) for row, live, _ in known if not live),
            *(
                Touched(row, live=True, after=next((r for (r,) in self._all(before, (i,))), -1))
                for i, row in sorted(came)
            ),
        ]

    def forget_touched(self, until: int) -> None:
        """Forget what generations up to one removed."""
        if until > int(self.meta("forgotten") or 0):
            self._all(_TOUCHED)
            self._all("DELETE FROM touched WHERE generation <= ?", (until,))
            self.set_meta("forgotten", until)

    def revive(self, document_id: str, content: str) -> bool:
        """Bring the removed document of this id and hash back, if there is one."""
        rows = self._all(
            "SELECT row, live FROM document WHERE id = ? AND hash = ? ORDER BY live DESC, row DESC",
            (document_id, content),
        )
        if not rows or rows[0][1]:
            return False
        self.kill([document_id])
        self._all("UPDATE document SET live = 1 WHERE row = ?", rows[0][:1])
        self._touch(rows[0][:1])
        return True

    def rename(self, document_id: str, new: Document) -> bool:
        """Give a live document another id and source, unless a live one has that id."""
        live = dict(
            self._all(
                "SELECT id, row FROM document WHERE live AND id IN (?, ?)", (document_id, new.id)
            )
        )
        if list(live) != [document_id]:
            return False
        self._all(
            "UPDATE document SET id = ?, source = ? WHERE row = ?",
            (new.id, new.source, live[document_id]),
        )
        self._touch([live[document_id]])
        return True

    def restate(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        """Replace what live documents say of themselves beside their texts."""
        self._many(
            "UPDATE document SET hash = ?, source = ?, metadata = ?, pages = ?, apparatus = ? "
            "WHERE id = ? AND live",
            [
                (content, d.source, _metadata(d), json.dumps(d.pages), _apparatus(d), d.id)
                for d, content in zip(documents, hashes, strict=True)
            ],
        )

    def faults(self) -> list[str]:
        """Return what SQLite finds wrong in the file, nothing where it is sound."""
        try:
            found = [str(row[0]) for row in self._all("PRAGMA integrity_check(20)")]
        except (DamagedIndex, StoreError) as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def salvaged(self) -> Salvaged:
        """Return what can be read of a damaged file.

        Raises DamagedIndex where that is not even what the index was made with.
        """
        found = sqlite.readable(self._connection, "document", "row", (0, _MOST_ROWS))
        rows = {row: fields for row, *fields in found}
        documents, lost = [], []
        for row in range(max(rows, default=-1) + 1):
            try:
                [document] = self.documents([row])
            except DamagedIndex:
                lost += self._name_of(row)
            else:
                content, is_live = rows[row][2], rows[row][1]
                if is_live:
                    documents.append((document, content))
        notes = self._all(
            f"SELECT name, value FROM meta WHERE name NOT IN ({_marks(_NOT_NOTES)})", _NOT_NOTES
        )
        return Salvaged(
            documents=documents,
            lost=lost,
            notes={name: json.loads(value) for name, value in notes},
            aliases=self._readable_aliases(),
        )

    def _name_of(self, row: int) -> list[str]:
        """Return the id of a live document whose text cannot be read, if that can be."""
        with suppress(DamagedIndex):
            found = self._all("SELECT id FROM document WHERE row = ? AND live", (row,))
            return [name for (name,) in found]
        return []

    def _readable_aliases(self) -> dict[str, str]:
        with suppress(DamagedIndex):
            return self.aliases()
        return {}

    def live_documents(self) -> list[tuple[str, int]]:
        """Return (id, row) of every live document, by id."""
        rows: list[tuple[str, int]] = self._all(
            "SELECT id, row FROM document WHERE live ORDER BY id"
        )
        return rows

    def hashes(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return the content hash of each live document by id, or of some of them."""
        if ids is None:
            return dict(self._all("SELECT id, hash FROM document WHERE live"))
        found: dict[str, str] = {}
        for part in _parts(list(ids)):
            found |= self._all(
                f"SELECT id, hash FROM document WHERE live AND id IN ({_marks(part)})",
                part,
            )
        return found

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        """Return the documents in `rows`, in that order; their texts are empty without `texts`."""
        columns = ", ".join(c if texts or c != "text" else "''" for c in _COLUMNS)
        found: dict[int, Document] = {}
        for part in _parts(sorted(set(rows))):
            for row, checksum, *fields in self._all(
                f"SELECT row, text_crc32, {columns} FROM document WHERE row IN ({_marks(part)})",
                part,
            ):
                try:
                    found[row] = _document(dict(zip(_COLUMNS, fields, strict=True)))
                except (TypeError, ValueError) as error:
                    raise DamagedIndex(
                        f"{self.path} is damaged (document {row}): 'clew check' says more"
                    ) from error
                # A page of zeros has the right checksum: the end of a text may be one.
                if texts and crc32(found[row].text.encode()) != checksum:
                    raise DamagedIndex(
                        f"{self.path} is damaged (the text of {found[row].id}): 'clew check' says "
                        f"what can be restored"
                    )
        missing = next((row for row in rows if row not in found), None)
        if missing is not None:
            raise DamagedIndex(f"{self.path} has no document in row {missing}: index again")
        return [found[row] for row in rows]

    # -- entities and terms -------------------------------------------------------------------

    def rows(self, table: str, keys: Sequence[str]) -> dict[str, int]:
        """Return the row of each key that `table` has, of live documents only."""
        column, live = _TABLES[table], "live AND " if table == "document" else ""
        found: dict[str, int] = {}
        for part in _parts(list(keys)):
            found.update(
                self._all(
                    f"SELECT {column}, row FROM {_known(table)} "
                    f"WHERE {live}{column} IN ({_marks(part)})",
                    part,
                )
            )
        return found

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        """Return the key in each of `rows`."""
        column = _TABLES[table]
        found: dict[int, str] = {}
        for part in _parts(sorted(set(rows))):
            found.update(
                self._all(
                    f"SELECT row, {column} FROM {_known(table)} WHERE row IN ({_marks(part)})", part
                )
            )
        missing = next((row for row in rows if row not in found), None)
        if missing is not None:
            raise DamagedIndex(f"{self.path} has no {table} in row {missing}: index again")
        return [found[row] for row in rows]

    def named(self, keys: Sequence[str]) -> set[str]:
        """Return those entity keys that have a name vector."""
        found: set[str] = set()
        for part in _parts(list(keys)):
            rows = self._all(
                f"SELECT key FROM entity WHERE named AND key IN ({_marks(part)})", part
            )
            found.update(key for (key,) in rows)
        return found

    def all_named(self) -> list[int]:
        """Return the rows of all entities that have a name vector."""
        return [row for (row,) in self._all("SELECT row FROM entity WHERE named")]

    def set_named(self, rows: Iterable[int]) -> None:
        """Note that these entities have a name vector now."""
        self._many("UPDATE entity SET named = 1 WHERE row = ?", [(row,) for row in rows])

    def add_keys(self, table: str, keys: Sequence[str]) -> list[int]:
        """Return the row of each key, adding those that `table` lacks, in order."""
        found = self.rows(table, keys)
        new = [key for key in keys if key not in found]
        first = self.count(table)
        placed = {key: first + i for i, key in enumerate(new)}
        extra = ", 0" if table == "entity" else ""
        self._many(
            f"INSERT INTO {_known(table)} VALUES (?, ?{extra})",
            [(row, key) for key, row in placed.items()],
        )
        found.update(placed)
        return [found[key] for key in keys]

    # -- what waits for an extraction ---------------------------------------------------------

    def work(self, kind: str) -> dict[int, int]:
        """Return the pack of each chunk (stored row) that was considered and not extracted."""
        return dict(
            self._all("SELECT chunk, pack FROM work WHERE kind = ? ORDER BY chunk", (kind,))
        )

    def set_work(self, kind: str, packs: Mapping[int, int]) -> None:
        """Keep the packs of chunks."""
        self._many(
            "INSERT OR REPLACE INTO work VALUES (?, ?, ?)",
            [(kind, chunk, pack) for chunk, pack in packs.items()],
        )

    def drop_work(self, kind: str, chunks: Iterable[int]) -> None:
        """Forget chunks that wait no more."""
        rows = [(kind, chunk) for chunk in chunks]
        self._many("DELETE FROM work WHERE kind = ? AND chunk = ?", rows)

    # -- aliases ------------------------------------------------------------------------------

    def aliases(self) -> dict[str, str]:
        """Return which entity key stands for which other one."""
        return dict(self._all("SELECT key, target FROM alias ORDER BY key"))

    def set_alias(self, key: str, target: str | None) -> None:
        """Let `key` stand for `target`, or for itself again."""
        if target is None:
            self._all("DELETE FROM alias WHERE key = ?", (key,))
        else:
            self._all("INSERT OR REPLACE INTO alias VALUES (?, ?)", (key, target))
        self._touch()

    # -- compaction ---------------------------------------------------------------------------

    def replace_all(
        self, documents: Sequence[int], entities: Sequence[int], terms: Sequence[int]
    ) -> None:
        """Keep these rows only, numbered anew in the given order; no segment, no name vector."""
        self._all("DELETE FROM segment")
        self._all("UPDATE entity SET named = 0")
        for table, rows in (("document", documents), ("entity", entities), ("term", terms)):
            if list(rows) == list(range(self.count(table))):
                continue
            self._place(rows)
            kept = "row IN (SELECT old FROM place)"
            self._all(f"DELETE FROM {table} WHERE NOT {kept}")
            # Two steps, since a new number may still be another row's old one.
            self._all(f"UPDATE {table} SET row = -1 - (SELECT new FROM place WHERE old = row)")
            self._all(f"UPDATE {table} SET row = -1 - row")
            self._all("DROP TABLE place")

    def replace_work(self, chunks: Sequence[int]) -> None:
        """Let the work go on with chunks numbered anew, and forget that of chunks that are gone."""
        self._place(chunks)
        self._all("DELETE FROM work WHERE chunk NOT IN (SELECT old FROM place)")
        self._all("UPDATE work SET chunk = -1 - (SELECT new FROM place WHERE old = chunk)")
        self._all("UPDATE work SET chunk = -1 - chunk")
        self._all("DROP TABLE place")

    def _place(self, rows: Sequence[int]) -> None:
        """Make a temporary table of the old and the new number of each of `rows`."""
        self._all("CREATE TEMP TABLE place (old INTEGER PRIMARY KEY, new INTEGER)")
        numbered = ((int(old), new) for new, old in enumerate(rows))
        self._many("INSERT INTO place VALUES (?, ?)", numbered)

    def vacuum(self) -> None:
        """Give freed pages back and empty the write-ahead log, so that deleted text is gone.

        Where another process still reads an older generation, the next compaction does it.
        """
        with self._lock, _explained(self.path):
            self._connection.set_busy_timeout(0)
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite.Error as error:
                if sqlite.is_damage(error):
                    raise
            finally:
                self._connection.set_busy_timeout(round(_BUSY_S * 1000))


class WriterLock:
    """Held by the one process that writes; the system frees it when that process dies."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with _explained(path):
            self._connection = sqlite.connect(path, wait=0.0)
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite.Error as error:
            self._connection.close()
            if not isinstance(error, apsw.BusyError):
                raise StoreError(
                    f"{path} cannot be locked ({error}): check its folder, or delete that file"
                ) from error
            raise IndexLocked(
                f"another process is writing to {folder}: wait until it is done, or stop it"
            ) from error

    def release(self) -> None:
        self._connection.close()


def _newest(folder: Path) -> int:
    """Return the generation that was noted beside the database, -1 where that is not known."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        told = json.loads((folder / NEWEST).read_text(encoding="utf-8"))
        checksum = told.pop("crc32")
        if crc32(json.dumps(told).encode()) == checksum:
            return int(told["generation"])
    return -1


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except (apsw.ConnectionClosedError, apsw.BindingsError):
        raise  # a mistake of ours
    except sqlite.Error as error:
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            raise IndexLocked(f"another process uses {path}: try again when it is done") from error
        if isinstance(error, apsw.ReadOnlyError):
            raise StoreError(
                f"{path.parent} may not be written: ask its owner to allow it, or copy the folder"
            ) from error
        if isinstance(error, apsw.NotADBError):
            raise NotAnIndex(f"{path} is not a Clew index ({error}): name another") from error
        if isinstance(error, _UNUSABLE) and not sqlite.is_damage(error):
            raise StoreError(
                f"{path} cannot be used ({error}): check its folder and the free space"
            ) from error
        raise DamagedIndex(
            f"{path} is damaged ({error}): 'clew check' says what can be restored"
        ) from error


_UNUSABLE = (apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.PermissionsError)


def _metadata(document: Document) -> str:
    return json.dumps(dict(document.metadata), sort_keys=True, ensure_ascii=False)


def _apparatus(document: Document) -> str:
    return json.dumps([(a.start, a.end, a.kind) for a in document.apparatus])


def _document(columns: Mapping[str, Any]) -> Document:
    values = json.loads(columns["metadata"])
    return Document(
        id=columns["id"],
        text=columns["text"],
        title=columns["title"],
        source=columns["source"],
        body_start=columns["body_start"],
        metadata={k: tuple(v) if isinstance(v, list) else v for k, v in values.items()},
        headings=tuple(Heading(*heading) for heading in json.loads(columns["headings"])),
        pages=tuple(json.loads(columns["pages"])),
        apparatus=tuple(Apparatus(*found) for found in json.loads(columns["apparatus"])),
    )


def _known(table: str) -> str:
    if table not in _TABLES:  # table names are ours, never a user's; this keeps it so
        raise KeyError(table)
    return table


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _parts(values: list[Any]) -> Iterator[list[Any]]:
    for i in range(0, len(values), _VARIABLES):
        yield values[i : i + _VARIABLES]
