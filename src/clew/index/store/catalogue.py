"""Store an index's texts and metadata in an SQL database; the SQL common to all engines.

Array rows (chunks, sentences, mentions, counts) refer to these rows by number. A transaction here
is the only commit point of an index.
"""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import astuple
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

from clew.base.runtime.cached_values import Lazily
from clew.base.types import Apparatus, Document, Figure, Heading, Scalar, VocabularyEntry
from clew.errors import DamagedIndex, InputError, NotAnIndex
from clew.index.store import Touched

FORMAT = 10

SCHEMA = (
    "meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """segment (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, level INTEGER NOT NULL,
        counts TEXT NOT NULL)""",
    """document (row INTEGER PRIMARY KEY, id TEXT NOT NULL, live INTEGER NOT NULL,
        hash TEXT NOT NULL, title TEXT NOT NULL, source TEXT NOT NULL, body_start INTEGER NOT NULL,
        metadata TEXT NOT NULL, headings TEXT NOT NULL, pages TEXT NOT NULL,
        apparatus TEXT NOT NULL, text_crc32 INTEGER NOT NULL, text TEXT NOT NULL)""",
    "entity (row INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, named INTEGER NOT NULL)",
    "term (row INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    """work (kind TEXT NOT NULL, chunk INTEGER NOT NULL, pack INTEGER NOT NULL,
        PRIMARY KEY (kind, chunk)) WITHOUT ROWID""",
    """alias (key TEXT PRIMARY KEY, target TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
        apart INTEGER NOT NULL, listed INTEGER NOT NULL) WITHOUT ROWID""",
    # What each generation removed or brought back; -1 for anything else but what it added.
    """touched (generation INTEGER NOT NULL, document INTEGER NOT NULL,
        PRIMARY KEY (generation, document)) WITHOUT ROWID""",
    # What each generation did to documents; of -1 it has the time when it was written.
    """history (generation INTEGER NOT NULL, document INTEGER NOT NULL, change TEXT NOT NULL,
        PRIMARY KEY (generation, document)) WITHOUT ROWID""",
)
# Made for the first picture, since earlier indexes of this format lack it. SQLite takes any type.
_PICTURE = "picture (address TEXT PRIMARY KEY, data BYTEA NOT NULL)"
_ELSE = -1
_ADDED, _REMOVED, _RESTORED, _RENAMED = "added", "removed", "restored", "id:"  # and the old id
_LISTS = ("metadata", "headings", "pages", "apparatus")  # columns of JSON
_EMPTY: dict[str, Any] = {"{}": {}, "[]": ()}  # what most of these have
COLUMNS = ("id", "text", "title", "source", "body_start", *_LISTS)
_TABLES = {"document": "id", "entity": "key", "term": "text"}
_VARIABLES = 500  # per statement: old SQLite builds take 999


class Segment(NamedTuple):
    """A registered segment; its level counts its merges."""

    name: str
    level: int
    counts: Mapping[str, int]  # rows of each stored layer that it has


class Catalogue(ABC):
    """One thread-safe connection to the catalogue of an index.

    A subclass asks its engine: `?` stands for a value in a statement.
    """

    place: str  # what errors call it

    @abstractmethod
    def _select(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement and return the rows that it gives."""

    @abstractmethod
    def _run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    def _select_among(self, statement: str, values: Sequence[Any]) -> Iterator[Any]:
        """Yield the rows of a statement whose last column has one of many values."""
        for i in range(0, len(values), _VARIABLES):
            part = values[i : i + _VARIABLES]
            yield from self._select(f"{statement} IN ({placeholders(part)})", part)

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._run_many(f"INSERT INTO {table} VALUES ({placeholders(rows[0])})", rows)

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Run the block as one write transaction."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def vacuum(self) -> None:
        """Free the space of deleted rows, so that their texts are erased."""

    def begin_meta(self, recipe: Mapping[str, Scalar], **more: str) -> None:
        """Initialize the metadata of an empty index."""
        meta = {"format": FORMAT, "generation": 0, "numbering": 0, "recipe": dict(recipe)}
        for name, value in (meta | more).items():
            self.set_meta(name, value)

    def check_format(self, shown: object) -> None:
        """Raise NotAnIndex for another format version; `shown` names the index."""
        if (version := self.meta("format")) != FORMAT:
            raise NotAnIndex(
                f"{shown} has index format {version}, and this version of Clew reads {FORMAT}: "
                "index its documents into a new folder, where its calls.sqlite and "
                "embeddings.sqlite, copied first, keep what was paid for"
            )

    def meta(self, name: str) -> Any:  # noqa: ANN401 -- as JSON is
        """Return the JSON value under `name`, or None."""
        rows = self._select("SELECT value FROM meta WHERE name = ?", (name,))
        try:
            return json.loads(rows[0][0]) if rows else None
        except (TypeError, ValueError) as error:
            raise DamagedIndex(f"{self.place} has no readable {name!r}: index again") from error

    def set_meta(self, name: str, value: object) -> None:
        text = json.dumps(value, sort_keys=True)
        self._select(f"INSERT INTO meta VALUES (?, ?) {_replacing('name', 'value')}", (name, text))

    def segments(self) -> list[Segment]:
        """Return the registered segments, oldest first."""
        rows = self._select("SELECT name, level, counts FROM segment ORDER BY number")
        try:
            return [Segment(str(name), int(level), json.loads(c)) for name, level, c in rows]
        except (TypeError, ValueError) as error:
            raise DamagedIndex(
                f"{self.place} is damaged (its segments): 'clew check' says more"
            ) from error

    def add_segment(self, segment: Segment) -> None:
        self._select(
            "INSERT INTO segment (name, level, counts) VALUES (?, ?, ?)",
            (segment.name, segment.level, json.dumps(segment.counts, sort_keys=True)),
        )

    def drop_segments(self, names: Iterable[str]) -> None:
        """Unregister segments, whose rows must have moved."""
        self._run_many("DELETE FROM segment WHERE name = ?", [(name,) for name in names])

    def count(self, table: str) -> int:
        """Return the number of rows of `table`, dead ones included."""
        last = self._select(f"SELECT max(row) FROM {_check_table(table)}")[0][0]
        return 0 if last is None else int(last) + 1

    def add_documents(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        """Add live documents, each replacing the live one with its id."""
        self.kill([d.id for d in documents])
        rows, first = [], self.count("document")
        for row, (d, content) in enumerate(zip(documents, hashes, strict=True), first):
            headings = json.dumps([(h.start, h.level, h.title) for h in d.headings])
            lists = _metadata(d), headings, _pages(d), _apparatus(d)
            plain = row, d.id, 1, content, d.title, d.source, d.body_start
            rows.append((*plain, *lists, crc32(d.text.encode()), d.text))
        self._insert("document", rows)
        self._add_pictures(documents)
        self._record((row[0], _ADDED) for row in rows)

    def kill(self, ids: Sequence[str]) -> list[str]:
        """Mark live documents as removed; return their ids."""
        rows = self.rows("document", ids)
        gone = [i for i in dict.fromkeys(ids) if i in rows]
        self._run_many("UPDATE document SET live = 0 WHERE id = ?", [(i,) for i in gone])
        if gone:
            self._touch(rows.values())
            self._record((row, _REMOVED) for row in rows.values())
        return gone

    def _record(self, changes: Iterable[tuple[int, str]]) -> None:
        """Record the document changes of the next generation, by row."""
        generation = int(self.meta("generation")) + 1
        new = "INSERT INTO history VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        self._run_many(new, [(generation, row, change) for row, change in changes])

    def record_time(self) -> None:
        """Record the time of the next generation: now, or SOURCE_DATE_EPOCH."""
        given = os.environ.get("SOURCE_DATE_EPOCH", "")
        try:
            when = datetime.fromtimestamp(int(given or time.time()), UTC)
        except (ValueError, OverflowError, OSError):
            raise InputError(
                f"SOURCE_DATE_EPOCH must be seconds since 1970, not {given!r:.80}"
            ) from None
        self._record([(_ELSE, when.isoformat(timespec="seconds"))])

    def list_times(self) -> dict[int, str]:
        """Return the time of each generation, where known."""
        times = "SELECT generation, change FROM history WHERE document = ? ORDER BY generation"
        return dict(self._select(times, (_ELSE,)))

    @property
    def remembered(self) -> int:
        """Return the first generation whose documents are recorded."""
        return int(self.meta("remembered") or 0)

    def documents_at(self, generation: int) -> list[tuple[str, int]]:
        """Return ids and rows of the documents of a generation, sorted by id."""
        live = self.live_documents()
        if generation == int(self.meta("generation")):
            return live
        there = {row for _, row in live}
        later = """SELECT history.document, history.change, document.id FROM history
            JOIN document ON document.row = history.document WHERE history.generation > ?
            ORDER BY history.generation DESC"""
        changes = self._select(later, (generation,))
        ids = {row: i for i, row in live} | {row: i for row, _, i in changes}
        for row, change, _ in changes:
            if change in (_ADDED, _RESTORED):
                there.discard(row)
            elif change == _REMOVED:
                there.add(row)
            else:
                ids[row] = change.removeprefix(_RENAMED)
        return sorted((ids[row], row) for row in there)

    def _touch(self, rows: Iterable[int] = (_ELSE,)) -> None:
        """Record that the next generation removes or changes documents."""
        generation = int(self.meta("generation")) + 1
        noted = [(generation, row) for row in rows]
        self._run_many("INSERT INTO touched VALUES (?, ?) ON CONFLICT DO NOTHING", noted)

    def touched_documents(self, since: int, first: int) -> list[Touched] | None:
        """Return the documents removed since a generation, then those added or moved, by id.

        What was added stands in the rows from the `first` on. None where that is not known, or
        something else changed.
        """
        if since < int(self.meta("forgotten") or 0):
            return None
        since_then = "SELECT DISTINCT document FROM touched WHERE generation > ?"
        old = [row for (row,) in self._select(since_then, (since,)) if row < first]
        if _ELSE in old:
            return None
        state = "SELECT live, id FROM document WHERE row = ?"
        states = [(row, *self._select(state, (row,))[0]) for row in old]
        came = [(i, row) for row, live, i in states if live]
        came += self._select("SELECT id, row FROM document WHERE row >= ? AND live = 1", (first,))
        before = "SELECT row FROM document WHERE id < ? AND live = 1 ORDER BY id DESC LIMIT 1"
        return [
            *(Touched(row, live=False, after=-1) for row, live, _ in states if not live),
            *(
                Touched(row, live=True, after=next((r for (r,) in self._select(before, (i,))), -1))
                for i, row in sorted(came)
            ),
        ]

    def forget_touched(self, until: int) -> None:
        """Forget the removals of generations up to one."""
        if until > int(self.meta("forgotten") or 0):
            self._select("DELETE FROM touched WHERE generation <= ?", (until,))
            self.set_meta("forgotten", until)

    def known_ids(self, ids: Sequence[str]) -> set[str]:
        """Return the ids of live documents, and of those removed since the last compaction."""
        return {i for (i,) in self._select_among("SELECT DISTINCT id FROM document WHERE id", ids)}

    def revive(self, document_id: str, content: str) -> bool:
        """Restore the removed document with this id and hash, if any."""
        rows = self._select(
            "SELECT row, live FROM document WHERE id = ? AND hash = ? ORDER BY live DESC, row DESC",
            (document_id, content),
        )
        if not rows or rows[0][1]:
            return False
        self.kill([document_id])
        self._select("UPDATE document SET live = 1 WHERE row = ?", rows[0][:1])
        self._touch(rows[0][:1])
        self._record([(rows[0][0], _RESTORED)])
        return True

    def rename(self, document_id: str, new: Document) -> bool:
        question = "SELECT id, row FROM document WHERE live = 1 AND id IN (?, ?)"
        live = dict(self._select(question, (document_id, new.id)))
        if list(live) != [document_id]:
            return False
        self._select(
            "UPDATE document SET id = ?, source = ? WHERE row = ?",
            (new.id, new.source, live[document_id]),
        )
        self._touch([live[document_id]])
        self._record([(live[document_id], f"{_RENAMED}{document_id}")])
        return True

    def restate(self, documents: Sequence[Document], hashes: Sequence[str]) -> None:
        self._add_pictures(documents)
        self._run_many(
            "UPDATE document SET hash = ?, source = ?, metadata = ?, pages = ?, apparatus = ? "
            "WHERE id = ? AND live = 1",
            [
                (content, d.source, _metadata(d), _pages(d), _apparatus(d), d.id)
                for d, content in zip(documents, hashes, strict=True)
            ],
        )

    def _add_pictures(self, documents: Iterable[Document]) -> None:
        """Store the pictures of documents, deduplicated by content."""
        found = {address: d for d in documents for address in d.pictures}
        if found and not self.meta("pictures"):
            self._select(f"CREATE TABLE {_PICTURE}")
            self.set_meta("pictures", value=1)
        known = "SELECT address FROM picture WHERE address"
        there = {address for (address,) in self._select_among(known, list(found))}
        for address in sorted(found.keys() - there):
            with suppress(DamagedIndex):  # it is of an index that is repaired
                self._insert("picture", [(address, found[address].pictures[address])])

    def _read_picture(self, address: str) -> bytes:
        rows = self._select("SELECT data FROM picture WHERE address = ?", (address,))
        if not rows:
            raise DamagedIndex(f"{self.place} lacks the picture {address}: index again")
        return bytes(rows[0][0])

    def _erase_pictures(self) -> None:
        """Delete the pictures that no document has."""
        if self.meta("pictures"):
            pages = self._select("SELECT pages FROM document WHERE pages LIKE ?", ("{%",))
            used = {each[3] for (held,) in pages for each in json.loads(held)["figures"]}
            there = self._select("SELECT address FROM picture")
            gone = [(address,) for (address,) in there if address not in used]
            self._run_many("DELETE FROM picture WHERE address = ?", gone)

    def live_documents(self) -> list[tuple[str, int]]:
        """Return the ids and rows of live documents, sorted by id."""
        return self._select("SELECT id, row FROM document WHERE live = 1 ORDER BY id")

    def hashes(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return the content hashes of live documents by id, of all or some."""
        if ids is None:
            return dict(self._select("SELECT id, hash FROM document WHERE live = 1"))
        return dict(self._select_among("SELECT id, hash FROM document WHERE live = 1 AND id", ids))

    def source(self, document_id: str) -> str:
        """Return the source of a live document, "" if there is none."""
        question = "SELECT source FROM document WHERE live = 1 AND id = ?"
        return "".join(source for (source,) in self._select(question, (document_id,)))

    def documents(self, rows: Sequence[int], *, texts: bool = True) -> list[Document]:
        """Return the documents in some rows, without their texts unless `texts` is true."""
        columns = ", ".join(c if texts or c != "text" else "''" for c in COLUMNS)
        by_row: dict[int, Document] = {}
        statement = f"SELECT row, text_crc32, {columns} FROM document WHERE row"
        for row, checksum, *fields in self._select_among(statement, sorted(set(rows))):
            try:
                named = dict(zip(COLUMNS, fields, strict=True))
                by_row[row] = _document(named, self._read_picture)
            except (TypeError, ValueError) as error:
                raise DamagedIndex(
                    f"{self.place} is damaged (document {row}): 'clew check' says more"
                ) from error
            # A page of zeros has the right checksum: the end of a text may be one.
            if texts and crc32(by_row[row].text.encode()) != checksum:
                raise DamagedIndex(
                    f"{self.place} is damaged (the text of {by_row[row].id}): 'clew check' says "
                    f"what can be restored"
                )
        missing = next((row for row in rows if row not in by_row), None)
        if missing is not None:
            raise DamagedIndex(f"{self.place} has no document in row {missing}: index again")
        return [by_row[row] for row in rows]

    def rows(self, table: str, keys: Sequence[str]) -> dict[str, int]:
        """Return the rows of some keys of `table`; for documents, live ones."""
        column, live = _TABLES[table], "live = 1 AND " if table == "document" else ""
        statement = f"SELECT {column}, row FROM {_check_table(table)} WHERE {live}{column}"
        return dict(self._select_among(statement, keys))

    def keys(self, table: str, rows: Sequence[int]) -> list[str]:
        """Return the keys of some rows of "entity" or "term"."""
        column = _TABLES[table]
        statement = f"SELECT row, {column} FROM {_check_table(table)} WHERE row"
        by_row: dict[int, str] = dict(self._select_among(statement, sorted(set(rows))))
        missing = next((row for row in rows if row not in by_row), None)
        if missing is not None:
            raise DamagedIndex(f"{self.place} has no {table} in row {missing}: index again")
        return [by_row[row] for row in rows]

    def keys_with_vectors(self, keys: Sequence[str]) -> set[str]:
        statement = "SELECT key FROM entity WHERE named = 1 AND key"
        return {key for (key,) in self._select_among(statement, keys)}

    def note_vectors(self, rows: Iterable[int]) -> None:
        self._run_many("UPDATE entity SET named = 1 WHERE row = ?", [(row,) for row in rows])

    def add_keys(self, table: str, keys: Sequence[str]) -> list[int]:
        """Return the row of each key, adding missing keys to `table`."""
        row_by_key = self.rows(table, keys)
        new = [key for key in keys if key not in row_by_key]
        first = self.count(table)
        placed = {key: first + i for i, key in enumerate(new)}
        unnamed = (0,) if table == "entity" else ()
        self._insert(_check_table(table), [(row, key, *unnamed) for key, row in placed.items()])
        row_by_key.update(placed)
        return [row_by_key[key] for key in keys]

    def work(self, kind: str) -> dict[int, int]:
        """Return the pack of each queued chunk (stored row)."""
        packs = "SELECT chunk, pack FROM work WHERE kind = ? ORDER BY chunk"
        return dict(self._select(packs, (kind,)))

    def set_work(self, kind: str, packs: Mapping[int, int]) -> None:
        self._run_many(
            f"INSERT INTO work VALUES (?, ?, ?) {_replacing('kind, chunk', 'pack')}",
            [(kind, chunk, pack) for chunk, pack in packs.items()],
        )

    def clear_work(self, kind: str, chunks: Iterable[int]) -> None:
        rows = [(kind, chunk) for chunk in chunks]
        self._run_many("DELETE FROM work WHERE kind = ? AND chunk = ?", rows)

    def aliases(self) -> dict[str, str]:
        """Return the key of the entity that each alias stands for."""
        return dict(self._select("SELECT key, target FROM alias WHERE target <> '' ORDER BY key"))

    def vocabulary(self) -> dict[str, VocabularyEntry]:
        """Return the vocabulary: entries by entity key."""
        columns = "key, target, name, type, apart, listed"
        return {
            key: VocabularyEntry(target, name, type_, apart=bool(apart), listed=bool(listed))
            for key, target, name, type_, apart, listed in self._select(
                f"SELECT {columns} FROM alias ORDER BY key"
            )
        }

    def set_vocabulary(self, entries: Mapping[str, VocabularyEntry]) -> None:
        """Replace vocabulary entries by entity key; an empty entry removes one."""
        before = self.aliases()
        self._run_many("DELETE FROM alias WHERE key = ?", [(key,) for key in entries])
        rows = [
            (key, *texts, int(apart), int(listed))
            for key, (*texts, apart, listed) in (
                (key, astuple(entry)) for key, entry in entries.items() if entry
            )
        ]
        self._insert("alias", rows)
        if any(before.get(key, "") != entry.target for key, entry in entries.items()):
            self._touch()

    def replace_all(
        self, documents: Sequence[int], entities: Sequence[int], terms: Sequence[int]
    ) -> None:
        """Replace all rows by the given ones, renumbered; segments and name vectors are cleared."""
        self._select("DELETE FROM segment")
        self._erase_history()
        if list(documents) != list(range(self.count("document"))):
            self._number_anew("history", "document", documents)
        self._select("UPDATE entity SET named = 0")
        for table, rows in (("document", documents), ("entity", entities), ("term", terms)):
            if list(rows) != list(range(self.count(table))):
                self._number_anew(table, "row", rows)
        self._erase_pictures()

    def _erase_history(self) -> None:
        """Forget the history of removed documents, and record that it is incomplete."""
        erased = "document IN (SELECT row FROM document WHERE live = 0)"
        removed = f"SELECT max(generation) FROM history WHERE change = ? AND {erased}"
        [(last,)] = self._select(removed, (_REMOVED,))
        self.set_meta("remembered", max(self.remembered, last or 0))
        self._select(f"DELETE FROM history WHERE {erased}")

    def replace_work(self, chunks: Sequence[int]) -> None:
        """Renumber the chunks of queued work, dropping deleted ones."""
        self._number_anew("work", "chunk", chunks)

    def _number_anew(self, table: str, column: str, numbers: Sequence[int]) -> None:
        """Keep the rows of a table with some numbers in a column, renumbered in order."""
        self._select("CREATE TEMP TABLE place (old INTEGER PRIMARY KEY, new INTEGER)")
        self._insert("place", [(int(old), new) for new, old in enumerate(numbers)])
        gone = f"{column} >= 0 AND {column} NOT IN (SELECT old FROM place)"
        self._select(f"DELETE FROM {table} WHERE {gone}")
        # Two steps, since a new number may still be another row's old one; -1 is no row's.
        new = f"(SELECT new FROM place WHERE old = {column})"
        self._select(f"UPDATE {table} SET {column} = -2 - {new} WHERE {column} >= 0")
        self._select(f"UPDATE {table} SET {column} = -2 - {column} WHERE {column} < -1")
        self._select("DROP TABLE place")


def _metadata(document: Document) -> str:
    return json.dumps(dict(document.metadata), sort_keys=True, ensure_ascii=False)


def _pages(document: Document) -> str:
    """Return the pages as JSON; with figures, an object that has both."""
    figures = [astuple(each) for each in document.figures]
    return json.dumps({"pages": document.pages, "figures": figures} if figures else document.pages)


def _apparatus(document: Document) -> str:
    return json.dumps([(a.start, a.end, a.kind) for a in document.apparatus])


def _document(columns: dict[str, Any], read: Callable[[str], bytes]) -> Document:
    """Return the document in some columns, whose pictures are read when they are wanted."""
    lists = (columns.pop(name) for name in _LISTS)
    values, headings, pages, apparatus = (
        _EMPTY[text] if text in _EMPTY else json.loads(text) for text in lists
    )
    held = pages if isinstance(pages, dict) else {"pages": pages, "figures": ()}
    figures = tuple(Figure(*each) for each in held["figures"])
    return Document(
        **columns,
        metadata={k: tuple(v) if isinstance(v, list) else v for k, v in values.items()},
        headings=tuple(Heading(*heading) for heading in headings),
        pages=tuple(held["pages"]),
        figures=figures,
        pictures=Lazily({each.address: partial(read, each.address) for each in figures}),
        apparatus=tuple(Apparatus(*entry) for entry in apparatus),
    )


def _check_table(table: str) -> str:
    if table not in _TABLES:  # table names are ours, never a user's; this keeps it so
        raise KeyError(table)
    return table


def _replacing(key: str, column: str) -> str:
    """Return an SQL upsert clause that replaces the row with the same key."""
    return f"ON CONFLICT ({key}) DO UPDATE SET {column} = excluded.{column}"


def placeholders(values: Sequence[Any]) -> str:
    """Return SQL placeholders, one for each value."""
    return ", ".join("?" * len(values))
