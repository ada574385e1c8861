"""Find tables of records in texts and record files, by the terms of a question."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from clew.base.derived import Derived
from clew.steps.rankings import lexical_ranking
from clew.text.apparatus import kind_in_heading
from clew.text.columns import (
    TableColumn,
    are_records,
    caption_key,
    read_columns,
    skip_totals,
    split_name,
)
from clew.text.counting import find_token_base, read_tokens
from clew.text.forms import list_forms
from clew.text.normalize import collapse
from clew.text.sections import SEPARATOR
from clew.text.tables import TextTable, find_tables, read_table_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.base.types import Document
    from clew.index.snapshot import Snapshot

_CHUNKS = 200  # the best by BM25, whose tables are looked at
_TABULAR = 0.75  # of a document's text: with so much in tables it is about what they have
_PARTS = re.compile(r"\s*[,;/&]\s*|\s+and\s+")  # of a cell that lists several values
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)$")  # "Options Index (zsh)"
_LEAST_ROWS = 3  # of a table among other text: fewer are an example
LONGEST_VALUE = 8  # words of a value
_WORDS_LISTED = 3  # words of a value that a cell lists with others


class DataRow(NamedTuple):
    """A row: its cells and its location."""

    cells: tuple[str, ...]
    document_id: str
    start: int
    end: int


@dataclass(frozen=True)
class DataTable:
    """Records with the same columns, from one table or several."""

    names: tuple[str, ...]  # of the columns
    caption: str  # what it is called: headings, titles and names of files
    rows: tuple[DataRow, ...]
    files: tuple[str, ...]  # that have it
    is_tabular: bool = True  # whether its documents are tables, with little text around them
    parts: tuple[DataTable, ...] = ()  # the tables that it was made of, where these are several

    def cells(self, i: int) -> list[str]:
        """Return the cells of a column."""
        return [row.cells[i] for row in self.rows]

    @cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        """The kind of content of each column."""
        return read_columns(self.names, [row.cells for row in self.rows])

    @cached_property
    def caption_words(self) -> frozenset[str]:
        """The forms of the caption's words, to match with those of questions."""
        return frozenset(map(caption_key, read_tokens(split_name(self.caption)))) - {""}

    @cached_property
    def values(self) -> Mapping[tuple[str, ...], Mapping[int, list[str]]]:
        """The values in cells, by the bases of their words and by column."""
        values: dict[tuple[str, ...], dict[int, list[str]]] = {}
        for column in range(len(self.names)):
            cells = dict.fromkeys(self.cells(column))
            parts = dict.fromkeys(part for cell in cells for part in split_cell(cell))
            for part in parts:
                bases = tuple(find_token_base(word.base) for word in read_tokens(part))
                if 0 < len(bases) <= LONGEST_VALUE:
                    values.setdefault(bases, {}).setdefault(column, []).append(part)
        return values


def split_cell(cell: str) -> tuple[str, ...]:
    """Return a cell and the short values that it lists."""
    parts = _PARTS.split(cell)
    is_list = len(parts) > 1 and all(len(part.split()) <= _WORDS_LISTED for part in parts)
    return (cell, *parts) if is_list else (cell,)


# The tables that questions to a snapshot have read, by their documents, and joined, by their parts.
_READ: Derived[dict[int | str, tuple[DataTable, ...]]] = Derived("tables", lambda _snapshot: {})
_JOINED: Derived[dict[tuple[int, ...], DataTable]] = Derived("joined tables", lambda _snapshot: {})


def gather_tables(snapshot: Snapshot, question: str) -> Iterator[DataTable]:
    """Yield the tables of records that share words with a question, with all their rows.

    Tables with the same columns are merged, in texts those below the same heading; rows that
    several documents repeat count once, totals are left out. Only the documents of the 200 best
    chunks are read, but record files completely.
    """
    best = lexical_ranking(snapshot, _add_forms(question), _CHUNKS).best(_CHUNKS, positive=True)
    owners = snapshot.layer("chunk").columns["document"][best]
    files, known = snapshot.get(_FILES), snapshot.get(_READ)
    bases = dict.fromkeys(token.base for token in read_tokens(question))
    named = [place for base in bases for place in files.named.get(base, ())]
    rows = list(dict.fromkeys(owners.tolist()))
    named += [files.place_of[row] for row in rows if row in files.place_of]
    alike = dict.fromkeys(other for place in dict.fromkeys(named) for other in files.alike[place])
    for place in alike:
        if place not in known:
            known[place] = tuple(_read_records(snapshot, place, files.rows[place]))
    texts = [row for row in rows if not known.get(files.place_of.get(row, ""))]
    new = [row for row in texts if row not in known]
    for row, document in zip(new, snapshot.documents(new), strict=True):
        known[row] = tuple(_read_tables(document))
    groups: dict[tuple[object, ...], list[DataTable]] = {}
    for table in (table for each in (*alike, *texts) for table in known[each]):
        heading = None if table.is_tabular else table.caption_words
        groups.setdefault((*map(str.casefold, table.names), heading), []).append(table)
    joined = snapshot.get(_JOINED)
    for tables in groups.values():
        key = tuple(map(id, tables))  # which stay, as the snapshot keeps them
        if key not in joined:
            joined[key] = join_tables(tables)
        yield joined[key]


class _Files(NamedTuple):
    """Record files by location."""

    rows: Mapping[str, list[int]]  # of their documents
    place_of: Mapping[int, str]  # of each of these
    named: Mapping[str, list[str]]  # by the words of their names
    alike: Mapping[str, list[str]]  # those with the same columns


def _find_files(snapshot: Snapshot) -> _Files:
    rows: dict[str, list[int]] = {}
    columns: dict[str, set[str]] = {}
    for row, header in enumerate(snapshot.document_layer.headers()):
        place, _, line = header.source.rpartition(":")
        if line.isdecimal() and header.metadata:
            rows.setdefault(place, []).append(row)
            columns.setdefault(place, set()).update(header.metadata)
    named: dict[str, list[str]] = {}
    with_columns: dict[frozenset[str], list[str]] = {}
    for place, own in columns.items():
        with_columns.setdefault(frozenset(own), []).append(place)
        for base in dict.fromkeys(t.base for t in read_tokens(split_name(_file_name(place)))):
            named.setdefault(base, []).append(place)
    alike = {place: places for places in with_columns.values() for place in places}
    place_of = {row: place for place, own in rows.items() for row in own}
    return _Files(rows, place_of, named, alike)


_FILES = Derived("files of records", _find_files)


def read_record(document: Document) -> dict[str, str]:
    """Return the cells of a document that is a row of a table, by columns in the file's order.

    The cells are its non-empty metadata without the title. There are none if the document's text
    differs from them.
    """
    text = document.text
    if not document.source.rpartition(":")[2].isdecimal() or "\n" in text:
        return {}
    pairs = ((collapse(name), value) for name, value in document.metadata.items())
    cells = {name: collapse(str(value)) for name, value in pairs if value not in {None, ""}}
    titles = [name for name in _TITLE.findall(text) if name not in cells]
    cells |= dict.fromkeys(titles[:1], document.title)
    places = {name: text.find(f"{name}: {value}") for name, value in cells.items()}
    if not document.metadata or min(places.values(), default=-1) < 0:
        return {}
    return {name: cells[name] for name in sorted(places, key=places.__getitem__)}


_TITLE = re.compile(r"(?:^|; )((?i:title|name|heading)): ")


def _add_forms(question: str) -> str:
    """Return a question with the forms of its words."""
    words = dict.fromkeys(re.findall(r"\w+", question.casefold()))
    return " ".join([question, *dict.fromkeys(form for word in words for form in list_forms(word))])


def join_tables(tables: Sequence[DataTable]) -> DataTable:
    """Merge tables with the same columns; a row is repeated as often as in any one of them."""
    if len(tables) == 1:
        return tables[0]
    rows: list[DataRow] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for table in tables:
        own: Counter[tuple[str, ...]] = Counter()
        for row in table.rows:
            key = tuple(map(_plain, row.cells))
            own[key] += 1
            if own[key] > seen[key]:
                rows.append(row)
        seen |= own
    captions = dict.fromkeys(table.caption for table in tables)
    files = dict.fromkeys(name for table in tables for name in table.files)
    return DataTable(
        tables[0].names,
        " ".join(captions),
        tuple(rows),
        tuple(files),
        all(table.is_tabular for table in tables),
        tuple(tables),
    )


def _plain(cell: str) -> str:
    """Return a cell without the marks in its numbers: "1,000" and "1000" are the same."""
    return _THOUSANDS.sub("", cell.casefold())


_THOUSANDS = re.compile(r"(?<=\d)[,\s](?=\d{3}(?!\d))")


def _read_tables(document: Document) -> Iterator[DataTable]:
    """Yield the tables of records in a text, but no index or table of contents."""
    tables = find_tables(document.text)
    covered = sum(table.end - table.start for table in tables)
    n_headings = sum(len(heading.title) for heading in document.headings)
    is_tabular = covered >= _TABULAR * (len(document.text) - n_headings)
    for table in tables:
        section = document.section_at(table.start)
        headings = (document.title, *section.split(SEPARATOR))
        if any(kind_in_heading(_IN_BRACKETS.sub("", heading)) for heading in headings):
            continue
        names, rows = _read_records_of(document, table)
        if len(rows) >= (1 if is_tabular else _LEAST_ROWS):
            near = section.rpartition(SEPARATOR)[2] or document.title
            caption = f"{document.title} {section} {document.id}" if is_tabular else near
            file = _file_name(document.source or document.id)
            yield DataTable(tuple(names), caption, tuple(rows), (file,), is_tabular)


def _read_records_of(document: Document, table: TextTable) -> tuple[list[str], list[DataRow]]:
    """Return a table's column names and records, or none if it holds no records."""
    names, lines = read_table_rows(document.text, table)
    width = len(names)
    filled = [(*cells, *[""] * (width - len(cells))) for cells in lines]
    if not table.n_head or not are_records(names, filled):
        return names, []
    places = table.rows[table.n_head :]
    return names, [
        DataRow(filled[i], document.id, *_trim(document.text, *places[i]))
        for i in skip_totals(filled)
    ]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    line = text[start:end]
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def _read_records(snapshot: Snapshot, place: str, rows: Sequence[int]) -> Iterator[DataTable]:
    """Yield the rows of a file in order, if its documents are records."""
    read = [(each, read_record(each)) for each in snapshot.documents(rows)]
    records = sorted(
        ((document, record) for document, record in read if record),
        key=lambda each: int(each[0].source.rpartition(":")[2]),
    )
    if not records:
        return
    names = _order_columns([record for _, record in records])
    cells = [tuple(record.get(name, "") for name in names) for _, record in records]
    documents = [document for document, _ in records]
    kept = (
        DataRow(cells[i], documents[i].id, 0, len(documents[i].text)) for i in skip_totals(cells)
    )
    file = _file_name(place)
    yield DataTable(tuple(names), file, tuple(kept), (file,))


def _order_columns(records: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the columns in the order of the file, which metadata do not keep.

    A record names those that it fills, in this order; the fullest record comes first.
    """
    names: list[str] = []
    for record in sorted(records, key=len, reverse=True):
        place = 0
        for name in record:
            if name not in names:
                names.insert(place, name)
            place = names.index(name) + 1
    return names


def _file_name(place: str) -> str:
    return re.split(r"[/\\]", place)[-1]
