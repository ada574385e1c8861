"""Tables of an index by columns, gathered over postings: those in texts, and files of records."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clew.derived import Derived
from clew.steps.rankings import lexical_ranking
from clew.text.amounts import is_empty
from clew.text.counting import read_tokens
from clew.text.forms import list_forms
from clew.text.normalize import collapse
from clew.text.tables import find_tables, read_table_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.snapshot import Snapshot
    from clew.types import Document

_CHUNKS = 200  # the best by BM25, whose tables are looked at
_SUMMED = frozenset(
    "total totals sum subtotal all average mean overall summe gesamt total: sum:".split()
)


class DataRow(NamedTuple):
    """A row: its cells, and where it stands."""

    cells: tuple[str, ...]
    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows with the same columns, of a table or of several that have these."""

    columns: tuple[str, ...]
    caption: str  # titles, sections and names of files above it
    rows: tuple[DataRow, ...]
    files: tuple[str, ...]  # that have it
    parts: tuple[DataTable, ...] = ()  # the tables that it was made of, where these are several

    def column(self, i: int) -> list[str]:
        """Return the cells of a column."""
        return [row.cells[i] for row in self.rows]


def gather_tables(snapshot: Snapshot, question: str) -> list[DataTable]:
    """Return the tables that have words of a question, each with all of its rows.

    Tables with the same columns are one; a row that several documents have is in it once. Rows of
    sums are left out. Read are the documents of the 200 best chunks, and of files of records all.
    """
    best = lexical_ranking(snapshot, _add_forms(question), _CHUNKS).best(_CHUNKS, positive=True)
    owners = snapshot.layer("chunk").columns["document"][best]
    files = snapshot.get(_FILES)
    bases = dict.fromkeys(token.base for token in read_tokens(question))
    named = [files.rows[place][0] for base in bases for place in files.named.get(base, ())]
    rows = list(dict.fromkeys([*named, *owners.tolist()]))
    parts: dict[tuple[str, ...], list[DataTable]] = {}
    done: set[str] = set()
    for document in snapshot.documents(rows):
        if is_record(document):
            for place in files.alike[document.source.rpartition(":")[0]]:
                if place not in done:
                    done.add(place)
                    _add(parts, _read_records(snapshot, place, files.rows[place]))
        else:
            for table in _read_tables(document):
                _add(parts, table)
    return [join_tables(tables) for tables in parts.values()]


@dataclass(frozen=True, slots=True)
class _Files:
    """Files of records, by their places."""

    rows: Mapping[str, list[int]]  # of their documents
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
    return _Files(rows, named, alike)


_FILES = Derived("files of records", _find_files)


def split_name(name: str) -> str:
    """Return the words of a name as programs write it: "homePort", "sales-2024.csv"."""
    return _WORDS.sub(" ", name)


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.-]")


def is_record(document: Document) -> bool:
    """Say whether a document is a row of a table: "code: SH-7; shares: 1,200"."""
    first = next(iter(document.metadata), None)
    return (
        first is not None
        and document.source.rpartition(":")[2].isdecimal()
        and (": " in document.text and "\n" not in document.text and bool(_record_names(document)))
    )


def _record_names(document: Document) -> list[str]:
    """Return the columns of a record that its text names, none where it is another text."""
    names = [collapse(name) for name in document.metadata]
    full = [
        f"{name}: "
        for name, (key, value) in zip(names, document.metadata.items(), strict=True)
        if value not in (None, "")
    ]
    if not full or not all(each in document.text for each in full):
        return []
    titles = [t for t in _TITLE.findall(document.text) if t not in names]
    return [*titles[:1], *names]


_TITLE = re.compile(r"(?:^|; )((?i:title|name|heading)): ")


def _add_forms(question: str) -> str:
    """Return a question with the forms of its words."""
    words = dict.fromkeys(re.findall(r"\w+", question.casefold()))
    return " ".join([question, *dict.fromkeys(form for word in words for form in list_forms(word))])


def _add(parts: dict[tuple[str, ...], list[DataTable]], table: DataTable | None) -> None:
    if table is not None and table.rows:
        parts.setdefault(tuple(name.casefold() for name in table.columns), []).append(table)


def join_tables(tables: Sequence[DataTable]) -> DataTable:
    """Return tables of the same columns as one: of equal rows, as many as one of them has."""
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
    parts = tuple(tables) if len(tables) > 1 else ()
    return DataTable(tables[0].columns, " ".join(captions), tuple(rows), tuple(files), parts)


def _plain(cell: str) -> str:
    """Return a cell without the marks in its numbers: "1,000" and "1000" are the same."""
    return _THOUSANDS.sub("", cell.casefold())


_THOUSANDS = re.compile(r"(?<=\d)[,\s](?=\d{3}(?!\d))")


def _read_tables(document: Document) -> Iterator[DataTable]:
    """Yield the tables of a text whose columns have names."""
    for table in find_tables(document.text):
        columns, rows = read_table_rows(document.text, table)
        if not table.n_head or sum(map(bool, columns)) < 2:
            continue
        places = table.rows[table.n_head :]
        width = len(columns)
        read = (
            DataRow(
                (*cells, *[""] * (width - len(cells))), document.id, *_trim(document.text, *place)
            )
            for cells, place in zip(rows, places, strict=True)
        )
        caption = " ".join([document.title, document.section_at(table.start), document.id])
        own = tuple(r for r in read if not _is_sum(r.cells))
        yield DataTable(tuple(columns), caption, own, (_file_name(document.source or document.id),))


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    line = text[start:end]
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def _is_sum(cells: Sequence[str]) -> bool:
    """Say whether a row sums others up: "Total", or "Total cars" with numbers alone behind it."""
    first, *others = [cell.casefold() for cell in cells if not is_empty(cell)] or [""]
    word, _, more = first.partition(" ")
    if word not in _SUMMED or (more and word == "all"):
        return False
    return not more or all(any(map(str.isdigit, cell)) for cell in others)


def _read_records(snapshot: Snapshot, place: str, rows: Sequence[int]) -> DataTable | None:
    """Return the rows of a file, in its order. None where none of its documents is a record."""
    documents = snapshot.documents(rows)
    names = next(filter(None, map(_record_names, documents)), None)
    if names is None:
        return None
    columns = dict.fromkeys(names, "")
    for name in dict.fromkeys(name for each in documents for name in each.metadata):
        columns[collapse(name)] = name
    pattern = re.compile(
        rf"(?:^|; )({'|'.join(map(re.escape, sorted(columns, key=len, reverse=True)))}): "
    )
    read = (
        DataRow(tuple(_split_record(each, pattern, columns)), each.id, 0, len(each.text))
        for each in sorted(documents, key=lambda each: int(each.source.rpartition(":")[2]))
    )
    file = _file_name(place)
    return DataTable(tuple(columns), file, tuple(r for r in read if not _is_sum(r.cells)), (file,))


def _file_name(place: str) -> str:
    return re.split(r"[/\\]", place)[-1]


def _split_record(
    document: Document, pattern: re.Pattern[str], columns: Mapping[str, str]
) -> list[str]:
    """Return a record's values by columns, of which it is given what the metadata call them.

    Where a name is there twice, a value has words like one: then it is the one with the value that
    the metadata have, and none of a column that is empty.
    """
    text, metadata = document.text, document.metadata
    found: dict[str, re.Match[str]] = {}
    for match in pattern.finditer(text):
        value = metadata.get(columns[match[1]], _TITLED)
        if value in {None, ""}:
            continue
        first = found.setdefault(match[1], match)
        if first is not match and value is not _TITLED:
            said = collapse(str(value))
            if not text.startswith(said, first.end()) and text.startswith(said, match.end()):
                found[match[1]] = match
    matches = sorted(found.values(), key=re.Match.start)
    ends = [match.start() for match in matches[1:]] + [len(text)]
    values = {m[1]: text[m.end() : end] for m, end in zip(matches, ends, strict=True)}
    return [values.get(name, "") for name in columns]


_TITLED = object()  # the value of a column of titles, which is not among the metadata
